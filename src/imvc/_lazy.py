"""Packages whose public names are loaded when they are touched.

Type checkers follow imports only, so such a package says its names twice:

    if TYPE_CHECKING:
        from imvc.room._module import name as name
    else:
        __all__, __getattr__, __dir__ = lazy_names(__name__, {"_module": "name"})
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, places: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
    places : mapping of str to str
        Path of a module below the package -> its public names, with spaces between
        them; "" -> modules of the package that are public themselves.
    """
    where = {name: module for module, names in places.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not where[name]:
            return import_module(f"{package}.{name}")
        found = getattr(import_module(f"{package}.{where[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return sorted(where), __getattr__, lambda: sorted(where)
