"""Files and runs as ``studio.json`` has them, and what may be chosen for them."""

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from imvc._plain import cut, fits, wrong_key
from imvc.io._file_bytes import PACKED
from imvc.io._read_file import KNOWN_ENDINGS

FORMAT, VERSION = "imvc-studio", 1
ROLES = ("view", "metadata", "new", "off")
_NAME = 200  # characters of a name
# What may be chosen for one file: kind, and what stands for no choice.
OPTIONS: dict[str, tuple[Any, Any]] = {
    "id_column": (str | None, None),
    "sheet": (str | None, None),
    "transpose": (bool, False),
    "log1p": (bool, False),
    "scale": (str | None, None),
    "top_variance": (int | None, None),
    "drop": (list[str], []),
    "keep": (list[str], []),
    "kinds": (dict[str, str], {}),
    "ordinals": (dict[str, list[str]], {}),
}
# What files have in common. Only `match_ids` is chosen in the page; the rest comes
# from a run of the command line.
JOINT: dict[str, tuple[Any, Any]] = {
    "match_ids": (str, "exact"),
    "empty_cells": (str, "fill"),
    "text": (str, "use"),
    "layer": (str | None, None),
    "id_map": (str | None, None),
    "kinds": (dict[str, str], {}),
    "ordinals": (dict[str, list[str]], {}),
}


@dataclass
class StudioFile:
    """A file of a project and how it is read.

    Parameters
    ----------
    id : str
        ``f1``, ``f2``, ...
    name : str
        As the user calls it; only ever shown.
    path : str
        Of an upload relative to the project, otherwise absolute.
    view : str
        Name of the view; of a file with several, what their names start with.
    role : {"view", "metadata", "new", "off"}
    uploaded : bool
    options : dict
        See `OPTIONS`.
    more : list of str
        Other files with rows of the same view.
    views : list of str, optional
        The views that were found in it when it was last read, if not just `view`.
    """

    id: str
    name: str
    path: str
    view: str
    role: str = "view"
    uploaded: bool = False
    options: dict[str, Any] = field(default_factory=lambda: defaults(OPTIONS))
    more: list[str] = field(default_factory=list)
    views: list[str] | None = None


@dataclass
class StudioRun:
    """A run of a project: a folder as ``imvc cluster`` writes it, and a name.

    Parameters
    ----------
    id : str
        ``r1``, ``r2``, ..., or ``main``.
    name : str
    folder : str
        Relative to the project.
    request : dict, optional
        What was asked for, so that an interrupted run can be started again.
    """

    id: str
    name: str
    folder: str
    request: dict[str, Any] | None = None


def saved_entries(
    files: Sequence[StudioFile], runs: Sequence[StudioRun], joint: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of ``studio.json``."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "files": [asdict(file) for file in files],
        "joint": joint,
        "runs": [asdict(run) for run in runs],
    }


def load_entries(
    path: Path,
) -> tuple[list[StudioFile], list[StudioRun], dict[str, Any]]:
    """Files, runs and joint choices of a ``studio.json``, or an error that names it."""
    content = read_json(path)
    if content.get("format") != FORMAT:
        raise ValueError(
            f"{path}: is not a studio.json of imvc; move it away, and its files and "
            f"runs are found anew."
        )
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path}: has version {content.get('version')!r}, this imvc reads "
            f"{VERSION}; upgrade imvc."
        )
    try:
        files = [_checked(StudioFile, entry) for entry in content["files"]]
        runs = [_checked(StudioRun, entry) for entry in content["runs"]]
        joint = defaults(JOINT) | content.get("joint", {})
        _check_kinds(joint, kinds_of(JOINT))
        for file in files:
            if file.uploaded and not re.fullmatch(r"files/f\d+[.\w]*", file.path):
                raise ValueError(f"{file.path!r} is no place of an upload")
            file.options = defaults(OPTIONS) | checked_options(file.options)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: is not as imvc writes it ({error}); move it away, and its runs "
            f"are found anew."
        ) from error
    return files, runs, joint


def _checked(kind: Any, entry: Any) -> Any:
    """A file or run from its entry."""
    _check_kinds(entry, get_type_hints(kind))
    return kind(**entry)


def _check_kinds(entry: Any, kinds: Mapping[str, Any]) -> None:
    if not isinstance(entry, dict) or set(entry) != set(kinds):
        raise ValueError("an entry lacks something, or has too much")
    key = wrong_key(entry, kinds)
    if key is not None:
        raise ValueError(f"{key!r} is of a wrong kind")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object, or an error that names it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON ({error}); move it away.") from error
    return content if isinstance(content, dict) else {}


def ending(name: str) -> str:
    """The ending of a name if it is one that is known; never any other text."""
    parts = name.lower().split(".")
    last = f".{parts[-1]}" if len(parts) > 1 else ""
    inner = f".{parts[-2]}" if len(parts) > 2 else ""
    if last in PACKED:
        return f"{inner}{last}" if inner in KNOWN_ENDINGS else last
    return last if last in KNOWN_ENDINGS else ""


def defaults(table: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """What stands for no choice, in values that may be changed."""
    return {name: deepcopy(default) for name, (_, default) in table.items()}


def kinds_of(table: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The kinds of the values of a table such as `OPTIONS`."""
    return {name: kind for name, (kind, _) in table.items()}


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they are kept: empty texts are no choice."""
    if not isinstance(options, Mapping):
        raise ValueError(f"options={options!r} must be an object.")
    empty = defaults(OPTIONS)
    given = {
        key: empty.get(key) if value in (None, "") else value
        for key, value in options.items()
    }
    kinds = kinds_of(OPTIONS)
    for key, value in given.items():
        if key not in kinds or not fits(value, kinds[key]):
            raise ValueError(f"options: {key!r} is unknown or of a wrong kind.")
    if given.get("scale") not in (None, "standard", "none"):
        raise ValueError(
            f"scale={given['scale']!r} is unknown; pass 'standard' or 'none'."
        )
    top = given.get("top_variance")
    if top is not None and top < 1:
        raise ValueError(f"top_variance={top!r} must be an integer of at least 1.")
    return deepcopy(given)


def clean_name(text: Any) -> str:
    """A name as one short line without control characters."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} must be a text.")
    kept = "".join(c if c.isprintable() else " " for c in text)
    return cut(" ".join(kept.split()), _NAME)


def stem_of(name: str) -> str:
    """A name without folders and endings, to call a view by."""
    last = name.replace("\\", "/").rpartition("/")[2]
    end = ending(last)
    return (last[: -len(end)] if end else last.rpartition(".")[0]) or last or "table"
