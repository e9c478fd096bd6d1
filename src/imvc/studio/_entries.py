"""Files and runs as ``studio.json`` has them, and what may be chosen for them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from imvc._plain import cut, wrong_key
from imvc.io._file_bytes import PACKED
from imvc.io._read_file import KNOWN_ENDINGS

ROLES = ("view", "metadata", "new", "off")
_NAME = 200  # characters of a name
# What may be chosen for one file, and what stands for no choice.
OPTIONS: dict[str, Any] = {
    "id_column": None,
    "sheet": None,
    "transpose": False,
    "log1p": False,
    "scale": None,
    "top_variance": None,
    "drop": [],
    "keep": [],
    "kinds": {},
    "ordinals": {},
}
_OPTION_KINDS = {
    "id_column": str | None,
    "sheet": str | None,
    "transpose": bool,
    "log1p": bool,
    "scale": str | None,
    "top_variance": int | None,
    "drop": list[str],
    "keep": list[str],
    "kinds": dict[str, str],
    "ordinals": dict[str, list[str]],
}
FILE_KINDS = {
    "id": str,
    "name": str,
    "path": str,
    "view": str,
    "role": str,
    "uploaded": bool,
    "options": dict[str, Any],
    "more": list[str],
    "views": list[str] | None,
}
RUN_KINDS = {"id": str, "name": str, "folder": str, "request": dict[str, Any] | None}
# What files have in common. Only `match_ids` is chosen in the page; the rest comes
# from a run of the command line.
JOINT: dict[str, Any] = {
    "match_ids": "exact",
    "empty_cells": "fill",
    "text": "use",
    "layer": None,
    "id_map": None,
    "kinds": {},
    "ordinals": {},
}
JOINT_KINDS = {
    "match_ids": str,
    "empty_cells": str,
    "text": str,
    "layer": str | None,
    "id_map": str | None,
    "kinds": dict[str, str],
    "ordinals": dict[str, list[str]],
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
    options: dict[str, Any] = field(default_factory=lambda: no_options())
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


def ending(name: str) -> str:
    """The ending of a name if it is one that is known; never any other text."""
    parts = name.lower().split(".")
    last = f".{parts[-1]}" if len(parts) > 1 else ""
    inner = f".{parts[-2]}" if len(parts) > 2 else ""
    if last in PACKED:
        return f"{inner}{last}" if inner in KNOWN_ENDINGS else last
    return last if last in KNOWN_ENDINGS else ""


def no_options() -> dict[str, Any]:
    return json.loads(json.dumps(OPTIONS))


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they are kept: empty texts are no choice."""
    if not isinstance(options, Mapping):
        raise ValueError(f"options={options!r} must be an object.")
    given = {
        key: OPTIONS[key] if value in (None, "") and key in OPTIONS else value
        for key, value in options.items()
    }
    unknown = sorted(set(given) - set(OPTIONS))
    wrong = (
        unknown[0]
        if unknown
        else wrong_key(given, {k: _OPTION_KINDS[k] for k in given})
    )
    if wrong is not None:
        raise ValueError(f"options: {wrong!r} is unknown or of a wrong kind.")
    if given.get("scale") not in (None, "standard", "none"):
        raise ValueError(
            f"scale={given['scale']!r} is unknown; pass 'standard' or 'none'."
        )
    if given.get("top_variance") is not None and given["top_variance"] < 1:
        raise ValueError(
            f"top_variance={given['top_variance']!r} must be an integer of at least 1."
        )
    return json.loads(json.dumps(given))


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
