"""Read suites from TOML files; every error names file, key, value and remedy.

What may stand in a file, and how each value is checked, is in the tables `_SUITE`,
`_DRAWS`, `_LIMITS`, `_METHOD` and `_SEARCH` below.
"""

import os
import tomllib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from imvc.datasets import list_protocols
from imvc.experiments._suite import (
    FIGURES,
    METRICS,
    PAIRED_SHARE,
    ROW_ORDERS,
    TABLES,
    MethodSpec,
    Suite,
    SuiteError,
)
from imvc.methods import list_methods

_FOLDER = Path(__file__).parent / "_suites"
SIZES = ("quick", "full")


def list_suites() -> tuple[str, ...]:
    """Names of the suites that come with the package.

    Examples
    --------
    >>> from imvc.experiments import list_suites
    >>> "table2" in list_suites()
    True
    """
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def suite_path(suite: str | os.PathLike[str]) -> Path:
    """The TOML file of a suite, by name or by path; copy it to make one's own.

    Parameters
    ----------
    suite : str or path-like
        One of `list_suites`, or the path of a ``.toml`` file.

    Returns
    -------
    Path

    Examples
    --------
    >>> from imvc.experiments import suite_path
    >>> suite_path("table2").name
    'table2.toml'
    """
    packaged = _FOLDER / f"{suite}.toml"
    if str(suite) in list_suites():
        return packaged
    path = Path(suite)
    if path.suffix == ".toml":
        if path.is_file():
            return path
        raise SuiteError(f"there is no suite file {str(path)!r}; check the path.")
    raise SuiteError(
        f"unknown suite {str(suite)!r}; there are: {', '.join(list_suites())}; "
        f"or give the path of a .toml file."
    )


def load_suite(suite: str | os.PathLike[str], size: str = "quick") -> Suite:
    """Read a suite in one of its sizes.

    Parameters
    ----------
    suite : str or path-like
        One of `list_suites`, or the path of a ``.toml`` file.
    size : {"quick", "full"}

    Returns
    -------
    Suite

    Examples
    --------
    >>> from imvc.experiments import load_suite
    >>> load_suite("fig-beta").parameter
    'beta'
    """
    if size not in SIZES:
        raise SuiteError(f"size={size!r} must be one of: {', '.join(SIZES)}.")
    path = suite_path(suite)
    try:
        return _suite(path, _content(path, ()), size)
    except _Wrong as error:
        raise SuiteError(f"{path.name}: {error}") from None


def _content(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    """The file with what it extends underneath; its own tables win key by key."""
    if path in seen:
        raise SuiteError(f"{path.name}: extends itself; remove the circle.")
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path.name} is not valid TOML: {error}.") from error
    base = content.pop("extends", None)
    if base is None:
        return content
    if not isinstance(base, str):
        raise SuiteError(f"{path.name}: extends={base!r} must be the name of a suite.")
    beside = path.parent / base
    try:
        found = beside if beside.is_file() else suite_path(base)
    except (SuiteError, ValueError) as error:
        raise SuiteError(f"{path.name}: extends: {error}") from error
    below = _content(found, (*seen, path))
    for key, value in content.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            below[key] = {**below[key], **value}
        else:
            below[key] = value
    return below


class _Wrong(Exception):
    """A value that cannot be; the file it stands in is not known yet."""

    def __init__(self, key: str, value: Any, remedy: str) -> None:
        super().__init__(f"{key} = {value!r}: {remedy}")


class _Rule(NamedTuple):
    """What a value has to be, and what its author is told otherwise."""

    good: Callable[[Any], bool]
    remedy: str
    each: bool = False  # of every entry of a list, not of the list


def _among(known: Collection[str]) -> _Rule:
    return _Rule(lambda value: value in known, f"unknown; {_are(known)}", each=True)


def _list_of(good: Callable[[Any], bool], what: str) -> _Rule:
    return _Rule(
        lambda values: _is_list(values) and all(map(good, values)),
        f"must be a list of {what}, at least one.",
    )


def _positive(unit: str) -> _Rule:
    remedy = f"must be a positive number ({unit})."
    return _Rule(lambda value: _is_number(value) and value > 0, remedy)


def _are(names: Iterable[str]) -> str:
    return f"there are: {', '.join(sorted(names))}."


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_seed(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and 0 <= value < 2**31


_TEXT = _Rule(lambda value: isinstance(value, str), "must be a text in quotes.")
_TABLE = _Rule(lambda value: isinstance(value, dict), "must be a table.")
_TRUTH = _Rule(lambda value: isinstance(value, bool), "write true or false.")
_VALUES = _Rule(_is_list, "write a list of values in brackets.")
_COMPARISONS = _Rule(
    lambda text: isinstance(text, str) and len(text.split()) == 3,
    'write them as "a < b" or "a <= b".',
    each=True,
)
_SUITE = {
    "title": _TEXT,
    "description": _TEXT,
    "tables": _among(TABLES),
    "figures": _among(FIGURES),
    "metrics": _among(METRICS),
    "parameter": _TEXT,
    "stands_for": _TABLE,
    "kinds": _TABLE,
}
_DRAWS = {
    "datasets": _list_of(lambda v: isinstance(v, str) and v != "", "names"),
    "rates": _list_of(lambda v: _is_number(v) and 0 <= v <= 1, "numbers from 0 to 1"),
    "mask_seeds": _list_of(_is_seed, "seeds >= 0"),
    "seeds": _list_of(_is_seed, "seeds >= 0"),
}
_CHOICES = {
    "row_orders": _list_of(lambda v: v in ROW_ORDERS, f"{' and '.join(ROW_ORDERS)}"),
}
_LIMITS = {
    "give_up_after": _Rule(
        lambda value: _is_seed(value) and value > 0, "must be a number of runs >= 1."
    ),
    "search_samples": _positive("samples"),
    "time_limit": _positive("seconds"),
    "memory_limit": _positive("gigabytes"),
}
_METHOD = {
    "name": _TEXT,
    "label": _TEXT,
    "constraints": _COMPARISONS,
    "default": _TRUTH,
    "parameter_free": _TRUTH,
}
_SEARCH = {"parameters": _TABLE, "grid": _TABLE, "grid_for": _TABLE}


def _suite(path: Path, content: dict[str, Any], size: str) -> Suite:
    _refuse_unknown(content, {*_SUITE, *SIZES, "method", "extends"}, "")
    if size not in content:
        raise SuiteError(
            f"{path.name} has no table [{size}]; add one with datasets, rates, "
            f"mask_seeds and seeds."
        )
    _checked(content, {size: _TABLE}, "")
    part = dict.fromkeys(_DRAWS) | content[size]
    _refuse_unknown(
        part, {*_DRAWS, *_LIMITS, *_CHOICES, "protocols", "methods", "grid"}, f"{size}."
    )
    draws = _checked(part, _DRAWS, f"{size}.")
    for key, values in draws.items():
        if len(set(values)) < len(values):
            remedy = "has an entry twice; remove it."
            raise _Wrong(f"{size}.{key}", part[key], remedy)
    about = {"title": path.stem} | _checked(content, _SUITE, "")
    about["metrics"] = about.get("metrics") or Suite.metrics
    return Suite(
        name=path.stem,
        size=size,
        methods=_methods(content.get("method", []), part, size),
        source=str(path),
        **about,
        protocols=_protocols(part, draws["rates"], f"{size}.protocols"),
        **draws,
        **_checked(part, _LIMITS | _CHOICES, f"{size}."),
    )


def _protocols(
    part: dict[str, Any], rates: tuple[float, ...], where: str
) -> dict[str, tuple[float, ...]]:
    """The rates of each protocol: a list of names, or a table of names and rates."""
    given = part.get("protocols", [PAIRED_SHARE])
    if not isinstance(given, dict):
        if not _is_list(given):
            raise _Wrong(where, given, "write a list of names, or a table of rates.")
        given = {name: list(rates) for name in given}
    known = [protocol.name for protocol in list_protocols()]
    for name in given:
        if name not in known:
            raise _Wrong(where, name, f"unknown; {_are(known)}")
    own = _list_of(lambda rate: rate in rates, f"rates, each among {list(rates)}")
    return _checked(given, dict.fromkeys(given, own), f"{where}.")


def _methods(entries: Any, part: dict[str, Any], size: str) -> tuple[MethodSpec, ...]:
    if not _is_list(entries):
        raise _Wrong("method", entries, "write one [[method]] per method.")
    grids = _checked(part, {"grid": _TABLE}, f"{size}.").get("grid", {})
    specs = [_method(entry, grids) for entry in _spelt_out(entries)]
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise _Wrong("method.label", label, "labels must differ.")
    wanted = part.get("methods", labels)
    for key, named in (("grid", grids), ("methods", wanted)):
        for label in named:
            if label not in labels:
                remedy = f"no such method; {_are(labels)}"
                raise _Wrong(f"{size}.{key}", label, remedy)
    return tuple(spec for spec in specs if spec.label in wanted)


def _spelt_out(entries: list[Any]) -> list[Any]:
    """The entries, with all methods of the library in place of the name ``*``."""
    named = {entry.get("name") for entry in entries if isinstance(entry, dict)}
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == "*":
            others = [name for name in list_methods() if name not in named]
            found += [{**entry, "name": name} for name in others]
        else:
            found.append(entry)
    return found


def _method(entry: Any, grids: dict[str, Any]) -> MethodSpec:
    _checked({"method": entry}, {"method": _TABLE}, "")
    _refuse_unknown(entry, {*_METHOD, *_SEARCH}, "method.")
    values = _checked({"name": ""} | entry, _METHOD, "method.")
    if not values["name"]:
        raise _Wrong("method.name", "", "every [[method]] needs a name.")
    label = values.setdefault("label", values["name"])
    values |= _checked(entry, _SEARCH, f"{label}.")
    own = grids.get(label)
    grid = values.get("grid", {}) if own is None else own
    values["grid"] = _grid(grid, label)
    special = values.get("grid_for", {})
    if values.get("parameter_free") and (grid or special):
        remedy = "leave it out, or leave out the grid."
        raise _Wrong(f"{label}.parameter_free", True, remedy)
    # A size that has a grid of its own means that grid, for every dataset.
    values["grid_for"] = {
        dataset: _grid(grid, f"{label}.grid_for.{dataset}")
        for dataset, grid in special.items()
        if own is None
    }
    return MethodSpec(**values)


def _grid(grid: Any, where: str) -> dict[str, tuple[Any, ...]]:
    _checked({"grid": grid}, {"grid": _TABLE}, f"{where}.")
    return _checked(grid, dict.fromkeys(grid, _VALUES), f"{where}.grid.")


def _refuse_unknown(table: dict[str, Any], known: Iterable[str], where: str) -> None:
    for key, value in table.items():
        if key not in known:
            raise _Wrong(where + key, value, f"unknown key; {_are(known)}")


def _checked(
    table: dict[str, Any], rules: dict[str, _Rule], where: str
) -> dict[str, Any]:
    """Those values of a table that there are rules for; lists become tuples."""
    found = {}
    for key, (good, remedy, each) in rules.items():
        if key not in table:
            continue
        value = table[key]
        if each and not isinstance(value, list):
            value = [value]
        for item in value if each else [value]:
            if not good(item):
                raise _Wrong(where + key, item, remedy)
        found[key] = tuple(value) if isinstance(value, list) else value
    return found
