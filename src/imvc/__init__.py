"""Clustering of samples described by several views when many views are missing."""

from importlib.metadata import version

from imvc import datasets, metrics
from imvc.methods import RISE, get_method, list_methods
from imvc.views import IncompleteViews, as_views

__version__ = version("imvc")

__all__ = [
    "RISE",
    "IncompleteViews",
    "as_views",
    "datasets",
    "get_method",
    "list_methods",
    "metrics",
]
