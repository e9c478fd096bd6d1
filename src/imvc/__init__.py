"""Clustering of samples described by several views when many views are missing."""

from importlib.metadata import version

from imvc import datasets, metrics
from imvc.methods import (
    DAIMC,
    GSRIMC,
    HCLSCGL,
    IMVCCBG,
    IMVTSCMVI,
    PIMVC,
    PSIMVCPG,
    RISE,
    SFSRIMVC,
    SIMVCSA,
    UEAF,
    AnchorBridge,
    ImputeKMeans,
    compare,
    get_method,
    list_methods,
)
from imvc.views import IncompleteViews, as_views

__version__ = version("imvc")

__all__ = [
    "AnchorBridge",
    "DAIMC",
    "GSRIMC",
    "HCLSCGL",
    "IMVCCBG",
    "IMVTSCMVI",
    "ImputeKMeans",
    "IncompleteViews",
    "PIMVC",
    "PSIMVCPG",
    "RISE",
    "SFSRIMVC",
    "SIMVCSA",
    "UEAF",
    "as_views",
    "compare",
    "datasets",
    "get_method",
    "list_methods",
    "metrics",
]
