"""Datasets in NumPy archives: X0, X1, ..., y and, if incomplete, mask."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from imvc.datasets._dataset import default_view_names


def read_npz(path: Path) -> dict[str, Any]:
    """Read `Xs`, `y`, `mask` (or None), `names` and `description` from an archive.

    Never unpickles. View names and notes come from a sidecar ``<stem>.json`` with the
    keys ``view_names`` and ``notes``, where there is one.
    """
    arrays = _read_arrays(path)
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


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except PermissionError:
        raise
    except (
        AttributeError,  # a single .npy array under the name of an archive
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(
            f"{path} cannot be read as a NumPy archive of plain arrays ({error}); "
            "it may be damaged: fetch it again."
        ) from error


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
