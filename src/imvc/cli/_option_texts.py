"""What the texts of options say: lists, pairs, numbers, columns and files."""

import ast
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def parameter_values(texts: Sequence[str] | None) -> dict[str, Any]:
    """``--set name=value`` as a dict; values as in JSON or Python, else as text."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--set {text!r} must be name=value.")
        if name.strip() in found:
            raise ValueError(f"--set {name.strip()!r} is given twice.")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return text


def names(text: str | None) -> list[str] | None:
    """The names in an option such as ``--methods rise,daimc``."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise ValueError(f"{text!r} names nothing; separate names by commas.")
    return found


def numbers(
    text: str | None, option: str, kind: Callable[[str], Any]
) -> list[Any] | None:
    """The numbers in an option such as ``--rates 0.1,0.5``."""
    found = names(text)
    try:
        return None if found is None else [kind(number) for number in found]
    except ValueError:
        raise ValueError(
            f"{option} {text!r} must be numbers separated by commas."
        ) from None


def names_of(name: Sequence[str] | None, files: Sequence[Path]) -> list[str] | None:
    """The names of the views, one for every file."""
    if name and len(name) != len(files):
        raise ValueError(
            f"--name is given {len(name)} times for {len(files)} files; give it once "
            f"per file, in their order."
        )
    return list(name) if name else None


def view_names(
    name: Sequence[str] | None, files: Sequence[Path], stacked: Sequence[str]
) -> list[str | None] | None:
    """The names of the views: of the files, then of the views of several files."""
    own: Sequence[str | None] | None = names_of(name, files)
    if own is None and not any(stacked):
        return None
    return [*(own or [None] * len(files)), *(name or None for name in stacked)]


def name_and_files(text: str) -> tuple[str, list[str]]:
    """Name, which may be empty, and files of ``--rows VIEW=A,B``."""
    name, sign, rest = text.partition("=")
    if not sign or Path(text.split(",")[0]).exists():
        name, rest = "", text
    paths = [path.strip() for path in rest.split(",") if path.strip()]
    if len(paths) < 2:
        raise ValueError(f"--rows {text!r} must name two files or more: A,B,...")
    return name, paths


def by_column(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``COLUMN=VALUE`` texts as a dict; a column may have an equals sign in it."""
    found: dict[str, str] = {}
    for text in texts or ():
        column, sign, value = text.rpartition("=")
        if not sign or not column or not value:
            raise ValueError(f"{option.split()[0]} {text!r} must be {option}.")
        if found.setdefault(column, value) != value:
            raise ValueError(
                f"{option.split()[0]} says both {found[column]!r} and {value!r} of "
                f"column {column!r}; keep one."
            )
    return found


def columns_of_views(texts: Sequence[str] | None, option: str) -> dict[str, list[str]]:
    """``VIEW=COLUMN`` texts as columns by view."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        view, sign, column = text.partition("=")
        if not sign or not view or not column:
            raise ValueError(f"{option} {text!r} must be VIEW=COLUMN.")
        found.setdefault(view, []).append(column)
    return found


def id_columns(
    given: Sequence[str] | None, files: Sequence[Path], name: Sequence[str] | None
) -> str | dict[str, str] | None:
    """``--id`` as one column for all files, or a column by view."""
    if not given:
        return None
    known = {*(name or ()), *(start for path in files for start in _starts(path.name))}
    by_view = {}
    for text in given:
        view, sign, column = text.partition("=")
        # A column may well have an equals sign in its name.
        if sign and (view in known or len(given) > 1):
            by_view[view] = column
        elif len(given) == 1:
            return text
        else:
            raise ValueError(
                f"--id {text!r} stands beside others; give one column for all files, "
                f"or VIEW=COLUMN for each."
            )
    return by_view


def _starts(name: str) -> list[str]:
    """What a view may be called by its file: text.csv.gz, text.csv, text."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


def all_or_some(given: Sequence[str] | None) -> bool | tuple[str, ...]:
    """The views that are named, or True for all."""
    return True if "all" in (given or ()) else tuple(given or ())


def for_all_or_each(
    given: Sequence[str] | None,
    option: str,
    kind: Callable[[str, str], Any] = lambda text, option: text,
) -> Any:
    """One value for all views, or VIEW=value for some."""
    if not given:
        return None
    by_view = {}
    for text in given:
        view, sign, value = text.rpartition("=")
        if not sign and len(given) == 1:
            return kind(text, option)
        if not sign or not view or not value:
            raise ValueError(
                f"{option} {text!r} stands beside others; give one value for all "
                f"views, or VIEW=value for each."
            )
        by_view[view] = kind(value, option)
    return by_view


def whole_number(text: str, option: str) -> int:
    """A positive whole number, or an error that names the option."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"{option} {text!r} must be a whole number, at least 1.")
    return number
