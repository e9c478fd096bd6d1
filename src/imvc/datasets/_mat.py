"""Datasets in MATLAB files, in the layouts that are usual for multi-view data.

Views: a cell array (`X`, `data`, `fea`, `views`), numbered matrices (`X1`, `X2`, ...),
or one matrix per view under names of their own. Labels: `Y`, `gt`, `truth`, `labels`,
... Samples may be in rows or columns; the number of labels tells which.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat

from imvc.datasets._dataset import default_view_names
from imvc.datasets._mat73 import read_hdf5_variables

VIEWS = ("x", "data", "fea", "views", "view", "features", "feature")
LABELS = ("y", "gt", "truth", "labels", "label", "truelabel", "gnd", "true_labels")
NUMBERED = re.compile(r"(?:x|fea|view|data)_?(\d+)", re.IGNORECASE)
NOT_VIEWS = ("mask", "folds", "index", "idx")


def read_mat(path: Path) -> dict[str, Any]:
    """Read `Xs`, `y`, `names` of a .mat file; cells that are sparse stay sparse."""
    variables = _read_variables(path)
    y = _find_labels(variables, path)
    named = _find_views(variables, len(y), path)
    return {"Xs": _orient(named, len(y), path), "y": y, "names": tuple(named)}


def _read_variables(path: Path) -> dict[str, Any]:
    try:
        content = loadmat(path)
    except NotImplementedError:
        return read_hdf5_variables(path)
    except PermissionError:
        raise
    # SciPy's reader meets damage in many places, and each raises in its own way.
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as a MATLAB file ({error}); it may be damaged: "
            "fetch it again."
        ) from error
    return {key: value for key, value in content.items() if not key.startswith("__")}


def _find_labels(variables: dict[str, Any], path: Path) -> NDArray[Any]:
    by_name = {key.casefold(): key for key in variables}
    for name in LABELS:
        if name in by_name:
            vector = _as_vector(variables[by_name[name]])
            if vector is not None:
                return vector
    raise ValueError(
        f"{path} has no vector of labels; expected one of {', '.join(LABELS)} among "
        f"its variables: {_summary(variables)}."
    )


def _as_vector(value: Any) -> NDArray[Any] | None:
    """Return labels as a vector, from a cell of text or a wrapped or sparse vector."""
    if _is_cell(value):
        cells = _cells(value)
        if len(cells) > 1:
            text = [str(np.squeeze(cell)) for cell in cells]
            return np.array(text) if all(np.size(c) == 1 for c in cells) else None
        value = cells[0]
    if sparse.issparse(value):
        value = value.toarray()
    if not isinstance(value, np.ndarray) or value.size == 0:
        return None
    if value.size == max(value.shape):
        return value.ravel()
    return _from_indicators(value)


def _from_indicators(value: NDArray[Any]) -> NDArray[Any] | None:
    """Return the labels of a 0/1 indicator matrix, classes in rows or in columns."""
    for axis in (1, 0):
        if np.isin(value, (0, 1)).all() and (value.sum(axis=axis) == 1).all():
            return value.argmax(axis=axis)
    return None


def _find_views(variables: dict[str, Any], n: int, path: Path) -> dict[str, Any]:
    """Return name -> matrix in the order of the views."""
    by_name = {key.casefold(): key for key in variables}
    for name in VIEWS:
        if name in by_name and _is_cell(variables[by_name[name]]):
            cells = _cells(variables[by_name[name]])
            return dict(zip(default_view_names(len(cells)), cells))
    numbered = {
        int(match[1]): key for key in variables if (match := NUMBERED.fullmatch(key))
    }
    if numbered:
        return {key: variables[key] for _, key in sorted(numbered.items())}
    views = {
        key: value
        for key, value in variables.items()
        if key.casefold() not in NOT_VIEWS and _is_view(value, n)
    }
    if not views:
        raise ValueError(
            f"{path} has no views for its {n} labels; expected a cell array named "
            f"{', '.join(VIEWS[:4])}, or one matrix per view, among its variables: "
            f"{_summary(variables)}."
        )
    return views


def _orient(named: dict[str, Any], n: int, path: Path) -> list[Any]:
    """Put samples in rows; a square view follows the views that are not square."""
    for name, X in named.items():
        if not _is_matrix(X) or n not in X.shape:
            raise ValueError(
                f"{path}: view {name!r} is {_describe(X)}, which does not fit the {n} "
                "labels: neither rows nor columns are the samples."
            )
    clear = [X.shape[1] == n for X in named.values() if X.shape[0] != X.shape[1]]
    in_columns = bool(clear) and all(clear)
    return [_samples_in_rows(X, n, in_columns) for X in named.values()]


def _samples_in_rows(X: Any, n: int, square_in_columns: bool) -> Any:
    square = X.shape[0] == X.shape[1]
    if square_in_columns if square else X.shape[1] == n:
        X = X.T
    return sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X)


def _is_cell(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object and value.size > 0


def _cells(value: NDArray[Any]) -> list[Any]:
    """Flatten a cell array, and cells that only wrap another cell array."""
    flat: list[Any] = []
    for cell in value.ravel(order="F"):
        flat.extend(_cells(cell) if _is_cell(cell) else [cell])
    return flat


def _is_matrix(value: Any) -> bool:
    return (
        sparse.issparse(value)
        or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
    ) and value.ndim == 2


def _is_view(value: Any, n: int) -> bool:
    return _is_matrix(value) and n in value.shape and min(value.shape) > 1


def _describe(value: Any) -> str:
    shape = "x".join(str(size) for size in np.shape(value))
    return f"{getattr(value, 'dtype', type(value).__name__)} {shape}"


def _summary(variables: dict[str, Any]) -> str:
    parts = [f"{key} ({_describe(value)})" for key, value in variables.items()]
    return ", ".join(parts) or "none"
