"""NumPy archives (.npz). Nothing is ever unpickled."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._checked_table import id_strings, matrix_table, to_object_array
from imvc.io._errors import input_error, reading, shown
from imvc.io._file_bytes import check_size
from imvc.io._file_table import FileTable, Request
from imvc.io._npy import check_header

_NUMBERED = re.compile(r"^[Xx]_?(\d+)$")
_SPARSE_KEYS = {"format", "data", "shape"}
_INDEX_KEYS = {"indices", "indptr", "row", "col", "offsets", "shape"}
_ID_KEYS = ("ids", "sample_ids")


def read_npz(file: Request) -> list[FileTable]:
    """Read an archive: X0, X1, ..., or named matrices, or one SciPy sparse matrix.

    Optional arrays: ``ids`` (or ``sample_ids``) for the rows of all views, ``mask``
    (samples x views, 1 = observed), ``features0``, ... for the names of columns.
    Vectors as long as the views, such as ``y``, become metadata.
    """
    source = file.source
    with reading(source, "a NumPy archive"):
        arrays = read_archive(file.path, source)
        if _SPARSE_KEYS <= set(arrays):
            _check_sparse_parts(arrays, source)
            return [matrix_table(_sparse(file.path), file.name, source)]
        keys = _view_keys(arrays, source)
        n = len(arrays[keys[0]])
        ids = next((id_strings(arrays[k]) for k in _ID_KEYS if k in arrays), None)
        metadata = {
            key: to_object_array(array)
            for key, array in arrays.items()
            if array.ndim == 1 and len(array) == n and key not in _ID_KEYS
        }
        several = len(keys) > 1
        return [
            matrix_table(
                _masked(arrays, key, v, len(keys), source),
                _NUMBERED.sub(r"view\1", key) if several else file.name,
                f"{source}::{key}" if several else source,
                ids=ids,
                features=_stored_features(arrays, key, v),
                metadata=metadata,
            )
            for v, key in enumerate(keys)
        ]


def read_archive(path: Path, source: str) -> dict[str, np.ndarray]:
    """All arrays of an archive, none of them of objects."""
    with np.load(path, allow_pickle=False) as archive:
        if isinstance(archive, np.ndarray):
            raise input_error(source, "is a single array; rename it to .npy.")
        check_size(source, float(sum(m.file_size for m in archive.zip.infolist())))
        arrays = {}
        for key in archive.files:
            _check_member(archive.zip, key, f"{source}::{key}")
            arrays[key] = np.asarray(archive[key])
    if not arrays:
        raise input_error(source, "is an archive without arrays.")
    return arrays


def _check_member(archive: Any, key: str, source: str) -> None:
    member = f"{key}.npy" if f"{key}.npy" in archive.namelist() else key
    with archive.open(member) as file:
        if file.peek(6)[:6] != b"\x93NUMPY":
            raise input_error(source, "is no NumPy array; leave it out of the archive.")
        check_header(file, source)


def _check_sparse_parts(arrays: dict[str, np.ndarray], source: str) -> None:
    for key in _INDEX_KEYS & set(arrays):
        if arrays[key].dtype.kind not in "iu":
            raise input_error(
                f"{source}::{key}",
                f"is of type {arrays[key].dtype}, where the places of a sparse matrix "
                "should be; save it again with scipy.sparse.save_npz.",
            )


def _sparse(path: Path) -> Any:
    matrix = sp.load_npz(path)
    # SciPy trusts what it is given; an index out of bounds would crash the process.
    if hasattr(matrix, "indptr"):
        matrix.check_format(full_check=True)
    return matrix


def _view_keys(arrays: dict[str, np.ndarray], source: str) -> list[str]:
    """Arrays that are views: X0, X1, ... if there are such, else every matrix."""
    numbered = {int(m[1]): key for key in arrays if (m := _NUMBERED.fullmatch(key))}
    if numbered:
        return [key for _, key in sorted(numbered.items())]
    keys = [
        key
        for key, array in arrays.items()
        if array.ndim == 2 and array.dtype.kind in "biuf" and key != "mask"
    ]
    if not keys:
        held = [f"{key} {array.dtype} {array.shape}" for key, array in arrays.items()]
        raise input_error(
            source,
            f"holds no matrix of numbers, only {shown(held, 5)}; save the views as "
            "X0, X1, ...",
        )
    return keys


def _masked(
    arrays: dict[str, np.ndarray], key: str, v: int, n_views: int, source: str
) -> np.ndarray:
    """The view with NaN rows where a stored mask says that it was not observed."""
    values, mask = arrays[key], arrays.get("mask")
    if mask is None or values.ndim != 2:
        return values
    if mask.shape != (len(values), n_views) or not np.isin(mask, (0, 1)).all():
        raise input_error(
            f"{source}::mask",
            f"has shape {mask.shape}; expected {(len(values), n_views)} (samples, "
            "views) with 1 = observed and 0 = not.",
        )
    if mask[:, v].all() or values.dtype.kind not in "biuf":
        return values
    values = np.array(values, dtype=np.result_type(values.dtype, np.float32))
    values[~mask[:, v].astype(bool)] = np.nan
    return values


def _stored_features(
    arrays: dict[str, np.ndarray], key: str, v: int
) -> tuple[str, ...] | None:
    stored = arrays.get(f"features{v}")
    if stored is None or stored.shape != arrays[key].shape[1:]:
        return None
    return tuple(id_strings(stored).tolist())
