"""Parts of a dataset from its file: views, labels, mask, names and a description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from imvc.datasets._dataset import default_view_names
from imvc.io._errors import input_error
from imvc.io._matlab import (
    LABELS,
    describe_variables,
    find_labels,
    find_views,
    kind_of_mat,
    read_variables,
)
from imvc.io._npz import read_archive


def read_dataset_file(path: Path) -> dict[str, Any]:
    """`Xs`, `y`, `names` and, where the file has them, `mask` and `description`."""
    return _read_npz(path) if path.suffix.lower() == ".npz" else _read_mat(path)


def _read_npz(path: Path) -> dict[str, Any]:
    """Parts of a dataset: the views X0, X1, ..., y and, if incomplete, mask.

    View names and notes come from a sidecar ``<stem>.json`` with the keys
    ``view_names`` and ``notes``, where there is one.
    """
    with _reading(path, "a NumPy archive of plain arrays"):
        arrays = read_archive(path, str(path))
    Xs: list[NDArray[Any]] = []
    while f"X{len(Xs)}" in arrays:
        Xs.append(arrays[f"X{len(Xs)}"])
    if not Xs or "y" not in arrays:
        raise ValueError(
            f"{path} has the arrays {', '.join(sorted(arrays)) or 'none'}; expected "
            "the views as X0, X1, ... and the labels as y."
        )
    sidecar = _read_sidecar(path.with_suffix(".json"))
    names = sidecar.get("view_names") or default_view_names(len(Xs))
    return {
        "Xs": Xs,
        "y": arrays["y"],
        "mask": arrays.get("mask"),
        "names": tuple(str(name) for name in names),
        "description": str(sidecar.get("notes", "")),
    }


def _read_sidecar(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path} is not valid JSON ({error}); mend or remove it."
        ) from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object; mend or remove it.")
    return content


def _read_mat(path: Path) -> dict[str, Any]:
    """Parts of a dataset; cells that are sparse stay sparse."""
    with _reading(path, kind_of_mat(path)):
        variables = read_variables(path)
    y = find_labels(variables)
    if y is None:
        raise input_error(
            str(path),
            f"has no vector of labels; expected one of {', '.join(LABELS)} among its "
            f"variables: {describe_variables(variables)}.",
        )
    views = find_views(variables, len(y), str(path))
    return {"Xs": list(views.values()), "y": y, "names": tuple(views)}


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises on damage into an error that names the file."""
    try:
        yield
    except (PermissionError, ImportError):
        raise
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as {kind} ({error}); it may be damaged: fetch it "
            "again."
        ) from error
