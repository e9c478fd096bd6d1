"""Read suites from TOML files; every error names file, key, value and remedy."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from imvc.experiments._config import FIGURES, METRICS, TABLES, MethodSpec, Suite
from imvc.experiments._config import SuiteError as SuiteError

_FOLDER = Path(__file__).parent / "_suites"
SIZES = ("quick", "full")
_TOP = {
    *("title", "description", "extends", "tables", "figures", "metrics", "parameter"),
    *("method", "stands_for", *SIZES),
}
_SIZE = {
    *("datasets", "rates", "mask_seeds", "seeds", "methods", "grid"),
    *("search_samples", "time_limit", "memory_limit"),
}
_UNITS = {
    "search_samples": "samples",
    "time_limit": "seconds",
    "memory_limit": "gigabytes",
}
_METHOD = {
    *("name", "label", "parameters", "grid", "grid_for", "constraints", "default"),
    "parameter_free",
}


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
    return _Reader(path).suite(_content(path, ()), size)


def _content(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    """The file with what it extends underneath; its own tables win key by key."""
    if path in seen:
        raise SuiteError(f"{path.name}: extends itself; remove the circle.")
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(f"{path.name} is not valid TOML: {error}.") from error
    base = content.pop("extends", None)
    if base is None:
        return content
    if not isinstance(base, str):
        raise SuiteError(f"{path.name}: extends={base!r} must be the name of a suite.")
    beside = path.parent / base
    below = _content(beside if beside.is_file() else suite_path(base), (*seen, path))
    for key, value in content.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            below[key] = {**below[key], **value}
        else:
            below[key] = value
    return below


class _Reader:
    """Turns the content of one file into a `Suite`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def wrong(self, key: str, value: Any, remedy: str) -> SuiteError:
        return SuiteError(f"{self.path.name}: {key} = {value!r}: {remedy}")

    def suite(self, content: dict[str, Any], size: str) -> Suite:
        self.known(content, _TOP, "")
        if size not in content:
            raise SuiteError(
                f"{self.path.name} has no table [{size}]; add one with datasets, "
                f"rates, mask_seeds and seeds."
            )
        part = self.table(content[size], size)
        self.known(part, _SIZE, f"{size}.")
        return Suite(
            name=self.path.stem,
            size=size,
            title=self.text(content.get("title", self.path.stem), "title"),
            description=self.text(content.get("description", ""), "description"),
            datasets=self.several(part, size, "datasets", _is_text, "names"),
            rates=self.several(part, size, "rates", _is_rate, "numbers from 0 to 1"),
            mask_seeds=self.several(part, size, "mask_seeds", _is_seed, "seeds >= 0"),
            seeds=self.several(part, size, "seeds", _is_seed, "seeds >= 0"),
            methods=self.methods(content, part, size),
            tables=self.among(content, "tables", TABLES),
            figures=self.among(content, "figures", FIGURES),
            metrics=self.among(content, "metrics", METRICS) or Suite.metrics,
            parameter=self.text(content.get("parameter", ""), "parameter"),
            stands_for=self.table(content.get("stands_for", {}), "stands_for"),
            search_samples=self.limit(part, size, "search_samples"),
            time_limit=self.limit(part, size, "time_limit"),
            memory_limit=self.limit(part, size, "memory_limit"),
            source=str(self.path),
        )

    def methods(self, content, part, size) -> tuple[MethodSpec, ...]:
        entries = content.get("method", [])
        if not isinstance(entries, list) or not entries:
            raise self.wrong("method", entries, "write one [[method]] per method.")
        grids = self.table(part.get("grid", {}), f"{size}.grid")
        specs = [self.method(entry, grids, size) for entry in entries]
        labels = [spec.label for spec in specs]
        for label in labels:
            if labels.count(label) > 1:
                raise self.wrong("method.label", label, "labels must differ.")
        for label in grids:
            if label not in labels:
                raise self.wrong(
                    f"{size}.grid", label, f"no such method; {_are(labels)}"
                )
        wanted = part.get("methods", labels)
        for label in wanted:
            if label not in labels:
                raise self.wrong(
                    f"{size}.methods", label, f"no such method; {_are(labels)}"
                )
        return tuple(spec for spec in specs if spec.label in wanted)

    def method(self, entry, grids, size) -> MethodSpec:
        entry = self.table(entry, "method")
        self.known(entry, _METHOD, "method.")
        name = self.text(entry.get("name", ""), "method.name")
        if not name:
            raise self.wrong("method.name", name, "every [[method]] needs a name.")
        label = self.text(entry.get("label", name), "method.label")
        own = grids.get(label)
        grid = self.grid(entry.get("grid", {}) if own is None else own, label)
        special = self.table(entry.get("grid_for", {}), f"{label}.grid_for")
        free = self.truth(entry, "parameter_free", False)
        if free and (grid or special):
            raise self.wrong(
                f"{label}.parameter_free", free, "leave it out, or leave out the grid."
            )
        constraints = entry.get("constraints", [])
        for text in constraints:
            if not isinstance(text, str) or len(text.split()) != 3:
                raise self.wrong(
                    "method.constraints", text, 'write them as "a < b" or "a <= b".'
                )
        return MethodSpec(
            name=name,
            label=label,
            parameters=self.table(entry.get("parameters", {}), f"{label}.parameters"),
            grid=grid,
            # A size that has a grid of its own means that grid, for every dataset.
            grid_for={}
            if own is not None
            else {k: self.grid(v, f"{label}.grid_for.{k}") for k, v in special.items()},
            constraints=tuple(constraints),
            default=self.truth(entry, "default", True),
            parameter_free=free,
        )

    def truth(self, entry: dict[str, Any], key: str, otherwise: bool) -> bool:
        value = entry.get(key, otherwise)
        if not isinstance(value, bool):
            raise self.wrong(f"method.{key}", value, "write true or false.")
        return value

    def grid(self, value: Any, label: str) -> dict[str, tuple[Any, ...]]:
        grid = self.table(value, f"{label}.grid")
        for key, values in grid.items():
            if not isinstance(values, list) or not values:
                raise self.wrong(
                    f"{label}.grid.{key}", values, "write a list of values in brackets."
                )
        return {key: tuple(values) for key, values in grid.items()}

    def known(self, table: Mapping[str, Any], keys: Iterable[str], where: str) -> None:
        for key, value in table.items():
            if key not in keys:
                raise self.wrong(where + key, value, f"unknown key; {_are(keys)}")

    def table(self, value: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(key, value, "must be a table.")
        return value

    def text(self, value: Any, key: str) -> str:
        if not isinstance(value, str):
            raise self.wrong(key, value, "must be a text in quotes.")
        return value

    def several(
        self,
        part: dict[str, Any],
        size: str,
        key: str,
        good: Callable[[Any], bool],
        what: str,
    ) -> tuple[Any, ...]:
        values = part.get(key)
        if not isinstance(values, list) or not values or not all(map(good, values)):
            raise self.wrong(
                f"{size}.{key}", values, f"must be a list of {what}, at least one."
            )
        if len(set(values)) < len(values):
            raise self.wrong(f"{size}.{key}", values, "has an entry twice; remove it.")
        return tuple(values)

    def among(self, content, key, known) -> tuple[str, ...]:
        values = content.get(key, [])
        for value in values if isinstance(values, list) else [values]:
            if value not in known:
                raise self.wrong(key, value, f"unknown; {_are(known)}")
        return tuple(values)

    def limit(self, part: dict[str, Any], size: str, key: str) -> float | None:
        value = part.get(key)
        if value is None or (_is_number(value) and value > 0):
            return value
        raise self.wrong(
            f"{size}.{key}", value, f"must be a positive number ({_UNITS[key]})."
        )


def _are(names: Iterable[str]) -> str:
    return f"there are: {', '.join(sorted(names))}."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_rate(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
