"""Parameters of an estimator, declared once: type, constraint and default on a line.

    @estimator
    class Method(MultiViewClusterer):
        n_anchors: AtLeastTwo | None = None
        init: Literal["svd", "identity"] = "svd"

From that come the signature of the constructor, which only stores, and scikit-learn's
parameter constraints, which `fit` checks. What bases document of inherited parameters
and of attributes joins the docstring.
"""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from imvc.methods._sklearn import Interval, StrOptions

Count = Annotated[int, Interval(Integral, 1, None, closed="left")]
AtLeastTwo = Annotated[int, Interval(Integral, 2, None, closed="left")]
Positive = Annotated[float, Interval(Real, 0, None, closed="neither")]
NonNegative = Annotated[float, Interval(Real, 0, None, closed="left")]
AboveOne = Annotated[float, Interval(Real, 1, None, closed="neither")]
AtLeastOne = Annotated[float, Interval(Real, 1, None, closed="left")]
Seed = Annotated[int | np.random.RandomState | None, "random_state"]
Verbosity = Annotated[int | bool, "verbose"]
Callback = Callable[[int, float], object] | None
MemorySize = Count | str | None
PathLike = str | os.PathLike | None
_Class = TypeVar("_Class", bound=type)

# scikit-learn's words for types that mean more than one class.
_CONSTRAINTS = {bool: "boolean", int: Integral, float: Real, NoneType: None}


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def estimator(cls: _Class) -> _Class:
    """Turn a class with declared parameters into a scikit-learn estimator.

    ``field(kw_only=False)`` declares a parameter that may be given without its name.
    """
    _complete(dataclass(kw_only=True, eq=False, repr=False)(cls))
    return cls


def _complete(cls):
    """What `estimator` adds to a dataclass."""
    hints = {parameter.name: parameter.type for parameter in fields(cls)}
    cls._parameter_constraints = {name: _constraints(h) for name, h in hints.items()}
    cls.__init__.__annotations__ = {**hints, "return": None}
    cls.__init__.__signature__ = _readable_signature(cls)
    cls.__init__ = _checked_names(cls.__init__)
    if cls.__doc__:
        cls.__doc__ = _documented(cls)


def _checked_names(store):
    """The constructor, with errors that name the class and the nearest parameter."""
    _, *known = inspect.signature(store).parameters.values()
    names = [parameter.name for parameter in known]
    needed = [p.name for p in known if p.default is p.empty]

    @wraps(store)
    def __init__(self, *given, **named):
        own = type(self).__name__
        for name in named:
            if name not in names:
                near = get_close_matches(name, names, n=1)
                all_names = f"it has: {', '.join(names)}."
                hint = f"did you mean {near[0]!r}?" if near else all_names
                raise TypeError(f"{own} has no parameter {name!r}; {hint}")
        for name in needed[len(given) :]:
            if name not in named:
                raise TypeError(f"{own} needs {name}, as in {own}({name}=3).")
        store(self, *given, **named)

    return __init__


def _readable_signature(cls):
    """For help(): own parameters before inherited ones, types without our notes."""
    parameters = inspect.signature(cls.__init__).parameters
    types = get_type_hints(cls.__init__)
    order = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    for base in cls.__mro__:
        if is_dataclass(base):
            order += [name for name in base.__annotations__ if name in parameters]
    plain = {
        name: p.replace(annotation=types.get(name, p.empty))
        for name, p in parameters.items()
    }
    return inspect.Signature(
        [plain[name] for name in dict.fromkeys(order)], return_annotation=None
    )


def _constraints(hint):
    """scikit-learn's list of constraints for a type hint."""
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return [c for part in get_args(hint) for c in _constraints(part)]
    if kind is Annotated:
        return [hint.__metadata__[0]]
    if kind is Literal:
        return [StrOptions(set(get_args(hint)))]
    if kind is Callable:
        return [callable]
    return [_CONSTRAINTS.get(hint, hint)]


def _documented(cls):
    """The docstring, with what it leaves to the docstrings of its bases."""
    text = inspect.cleandoc(cls.__doc__)
    defaults = {parameter.name: parameter.default for parameter in fields(cls)}
    for section in ("Parameters", "Attributes"):
        found = _section(text, section)
        if found is None:
            continue
        entries = dict(_entries(found[1]))
        own = {name for names in entries for name in names.split(", ")}
        for base in cls.__mro__[1:]:
            inherited = _section(inspect.cleandoc(base.__doc__ or ""), section)
            for name, entry in _entries(inherited[1]) if inherited else ():
                if name not in own and (section == "Attributes" or name in defaults):
                    entries[name] = _with_default(entry, defaults.get(name))
                    own.add(name)
        text = (
            text[: found.start(1)] + "\n".join(entries.values()) + text[found.end() :]
        )
    return text


def _section(text, name):
    """The match of a section of a docstring; its first group is what it says."""
    pattern = rf"^{name}\n-+\n(.*?)(?=\n\n\w[\w ]*\n---|\Z)"
    return re.search(pattern, text, re.MULTILINE | re.DOTALL)


def _entries(text):
    """``(names, entry)`` of the parameters or attributes of a section."""
    for entry in re.split(r"\n(?=\S)", text):
        yield entry.partition(" : ")[0], entry


def _with_default(entry, default):
    """An entry whose first line states the default that a class has, if any."""
    head, line_end, rest = entry.partition("\n")
    if default is MISSING or default is None or "default=" not in head:
        return entry
    return re.sub(r"default=.*", f"default={default}", head) + line_end + rest
