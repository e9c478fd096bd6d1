"""The methods, one file or folder each; a class is imported when it is touched."""

from typing import TYPE_CHECKING, Any

from imvc.methods._registry import METHODS, get_method, list_methods

if TYPE_CHECKING:
    from imvc.methods._base import MultiViewClusterer as MultiViewClusterer
    from imvc.methods._cost import Cost as Cost
    from imvc.methods._cost import check_fits as check_fits
    from imvc.methods._cost import estimate_cost as estimate_cost
    from imvc.methods._registry import *  # noqa: F403
    from imvc.methods.persistence import load_model as load_model

_CLASSES = {method.class_name: method for method in METHODS.values()}
_FROM = {
    "Cost": "_cost",
    "MultiViewClusterer": "_base",
    "check_fits": "_cost",
    "estimate_cost": "_cost",
    "load_model": "persistence",
}

__all__ = ["get_method", "list_methods", *_FROM, *_CLASSES]


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return _CLASSES[name].estimator
    if name in _FROM:
        from importlib import import_module

        return getattr(import_module(f"imvc.methods.{_FROM[name]}"), name)
    raise AttributeError(f"module 'imvc.methods' has no attribute {name!r}")
