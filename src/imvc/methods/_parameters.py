"""Parameters of an estimator, declared once: type, constraint and default on a line.

    @estimator
    class Method(MultiViewClusterer):
        n_anchors: AtLeastTwo | None = None
        init: Literal["svd", "identity"] = "svd"

From that come the signature of the constructor, which only stores, and scikit-learn's
parameter constraints, which `fit` checks. What bases document of inherited parameters
and of attributes joins the docstring. Nothing else of ours imports scikit-learn's
private validation.
"""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

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

# scikit-learn's words for types that mean more than one class.
_CONSTRAINTS = {bool: "boolean", int: Integral, float: Real, NoneType: None}


def positional(default: Any = MISSING) -> Any:
    """A parameter that may be given without its name."""
    return field(kw_only=False, default=default)


@dataclass_transform(
    eq_default=False, kw_only_default=True, field_specifiers=(field, positional)
)
def estimator(cls):
    """Turn a class with declared parameters into a scikit-learn estimator."""
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    hints = {parameter.name: parameter.type for parameter in fields(cls)}
    cls._parameter_constraints = {name: _constraints(h) for name, h in hints.items()}
    cls.__init__.__annotations__ = hints
    cls.__init__.__signature__ = _readable_signature(cls)
    if cls.__doc__:
        cls.__doc__ = _documented(cls)
    return cls


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
    return inspect.Signature([plain[name] for name in dict.fromkeys(order)])


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
