"""Clustering of samples described by several views when many views are missing."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imvc import datasets, experiments, io, metrics, report, testing, workflow
    from imvc.insight import confidence, explain, inspect
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
        estimate_cost,
        get_method,
        list_methods,
        load_model,
    )
    from imvc.views import IncompleteViews, as_views
    from imvc.workflow import compare

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
    "confidence",
    "datasets",
    "estimate_cost",
    "experiments",
    "explain",
    "get_method",
    "inspect",
    "io",
    "list_methods",
    "load_model",
    "metrics",
    "report",
    "testing",
    "workflow",
]

_ROOMS = ("datasets", "experiments", "io", "metrics", "report", "testing", "workflow")
# Where names come from that are not in `methods`.
_FROM = {
    "IncompleteViews": "views",
    "as_views": "views",
    "compare": "workflow",
    "confidence": "insight",
    "explain": "insight",
    "inspect": "insight",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are asked for, so that ``imvc --help`` is quick."""
    if name in _ROOMS:
        return import_module(f"imvc.{name}")
    if name in __all__:
        room = import_module(f"imvc.{_FROM.get(name, 'methods')}")
        globals()[name] = getattr(room, name)
        return globals()[name]
    raise AttributeError(f"module 'imvc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
