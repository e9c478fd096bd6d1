"""Clustering of samples described by several views when many views are missing."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from imvc.methods._registry import METHODS as _METHODS

if TYPE_CHECKING:
    from imvc import datasets as datasets
    from imvc import experiments as experiments
    from imvc import io as io
    from imvc import metrics as metrics
    from imvc import plot as plot
    from imvc import report as report
    from imvc import testing as testing
    from imvc import workflow as workflow
    from imvc.insight import associate as associate
    from imvc.insight import confidence as confidence
    from imvc.insight import explain as explain
    from imvc.insight import inspect as inspect
    from imvc.insight import structure as structure
    from imvc.methods import estimate_cost as estimate_cost
    from imvc.methods import load_model as load_model
    from imvc.methods._registry import *  # noqa: F403 - the classes of all methods
    from imvc.views import IncompleteViews as IncompleteViews
    from imvc.views import as_views as as_views
    from imvc.workflow import compare as compare

__version__ = version("imvc")

_ROOMS = (
    "datasets",
    "experiments",
    "io",
    "metrics",
    "plot",
    "report",
    "testing",
    "workflow",
)
_FROM = {
    "IncompleteViews": "views",
    "as_views": "views",
    "associate": "insight",
    "compare": "workflow",
    "confidence": "insight",
    "estimate_cost": "methods",
    "explain": "insight",
    "get_method": "methods",
    "inspect": "insight",
    "list_methods": "methods",
    "load_model": "methods",
    "structure": "insight",
    **{entry.class_name: "methods" for entry in _METHODS.values()},
}
__all__ = sorted([*_ROOMS, *_FROM])


def __getattr__(name: str) -> Any:
    """Load public names when they are asked for, so that ``imvc --help`` is quick."""
    if name in _ROOMS:
        return import_module(f"imvc.{name}")
    if name in _FROM:
        globals()[name] = getattr(import_module(f"imvc.{_FROM[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module 'imvc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
