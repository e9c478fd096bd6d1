"""Clustering of samples described by several views when many views are missing."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imvc import datasets, experiments, metrics, report, testing
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
    "experiments",
    "get_method",
    "list_methods",
    "metrics",
    "report",
    "testing",
]

_ROOMS = ("datasets", "experiments", "metrics", "report", "testing")
_FROM_VIEWS = ("IncompleteViews", "as_views")


def __getattr__(name: str) -> Any:
    """Load public names when they are asked for, so that ``imvc --help`` is quick."""
    if name in _ROOMS:
        return import_module(f"imvc.{name}")
    if name in __all__:
        room = import_module("imvc.views" if name in _FROM_VIEWS else "imvc.methods")
        globals()[name] = getattr(room, name)
        return globals()[name]
    raise AttributeError(f"module 'imvc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
