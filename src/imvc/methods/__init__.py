"""The methods, one file each."""

from imvc.methods._base import MultiViewClusterer
from imvc.methods._registry import get_method, list_methods
from imvc.methods.rise import RISE

__all__ = ["RISE", "MultiViewClusterer", "get_method", "list_methods"]
