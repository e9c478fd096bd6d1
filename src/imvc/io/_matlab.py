"""MATLAB files (.mat, versions 4 to 7.3) in the layouts usual for multi-view data.

Views: a cell array (`X`, `data`, `fea`, `views`), numbered matrices (`X1`, `X2`, ...),
or one matrix per view under names of their own. Labels: `Y`, `gt`, `truth`, `labels`,
... Samples may be in rows or columns; the number of labels tells which.
"""

import mmap
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._checked_table import matrix_table, to_object_array
from imvc.io._errors import input_error, reading
from imvc.io._file_bytes import memory_limit
from imvc.io._file_table import FileTable, Request
from imvc.io._mat5 import major_version, sound_variables

VIEWS = ("x", "data", "fea", "views", "view", "features", "feature")
LABELS = ("y", "gt", "truth", "labels", "label", "truelabel", "gnd", "true_labels")
_NUMBERED = re.compile(r"(?:x|fea|view|data)_?(\d+)", re.IGNORECASE)
_NOT_VIEWS = ("mask", "folds", "index", "idx")


def read_matlab(file: Request) -> list[FileTable]:
    """Read the views of a .mat file; known labels become metadata."""
    source = file.source
    with reading(source, kind_of_mat(file.path)):
        variables = read_variables(file.path)
        if not variables:
            raise input_error(source, "holds no variable that can be read.")
        labels = find_labels(variables)
        n = _n_samples(variables, source) if labels is None else len(labels)
        views = find_views(variables, n, source)
        metadata = {} if labels is None else {"label": to_object_array(labels)}
        several = len(views) > 1
        return [
            matrix_table(
                X,
                key if several else file.name,
                f"{source}::{key}" if several else source,
                metadata=metadata,
            )
            for key, X in views.items()
        ]


def kind_of_mat(path: Path) -> str:
    """How messages call a file: version 7.3 is HDF5, and other readers apply."""
    with open(path, "rb") as file:
        version = major_version(file.read(128))
    return "a MATLAB 7.3 file" if version == 2 else "a MATLAB file"


def read_variables(path: Path) -> dict[str, Any]:
    """Variables by name; of version 5 those whose structure was found sound."""
    with open(path, "rb") as file:
        version = major_version(file.read(128))
        if version == 2:
            return _read_hdf5(path)
        if version == 1:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                sound = sound_variables(data, memory_limit())
                parts = [_load(variable) for variable in sound]
        else:
            parts = [_load(path)]
    found = {key: value for part in parts for key, value in part.items()}
    return {key: value for key, value in found.items() if not key.startswith("__")}


def _load(file: Any) -> dict[str, Any]:
    from scipy.io import loadmat

    with warnings.catch_warnings():
        # Of sparse matrices that will be sparse arrays, which is what we make of both.
        warnings.simplefilter("ignore", DeprecationWarning)
        return loadmat(file)


def _read_hdf5(path: Path) -> dict[str, Any]:
    """Variables of version 7.3 as SciPy's reader would give them."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"{path} is a MATLAB 7.3 (HDF5) file, which needs h5py: "
            "pip install 'imvc[io]'."
        ) from error
    with h5py.File(path, "r") as file:
        return {
            name: _read_node(node, file)
            for name, node in file.items()
            if not name.startswith("#")
        }


def _read_node(node: Any, file: Any) -> Any:
    """A matrix, an object array of cells, or a sparse array."""
    if hasattr(node, "keys"):
        return _read_sparse(node) if "MATLAB_sparse" in node.attrs else None
    if "MATLAB_empty" in node.attrs:
        return np.zeros((0, 0))
    # MATLAB stores columns first, so HDF5 sees every matrix transposed.
    values = node[()].T
    if values.dtype != object:
        return values
    cells = np.empty(values.shape, dtype=object)
    for position, reference in np.ndenumerate(values):
        cells[position] = _read_node(file[reference], file)
    return cells


def _read_sparse(group: Any) -> Any:
    """Compressed columns: values `data`, row numbers `ir`, column starts `jc`."""
    starts = group["jc"][()].astype(np.int64)
    shape = (int(group.attrs["MATLAB_sparse"]), len(starts) - 1)
    if "data" not in group:
        return sp.csc_array(shape)
    rows = group["ir"][()].astype(np.int64)
    matrix = sp.csc_array((group["data"][()], rows, starts), shape=shape)
    # SciPy trusts what it is given; an index out of bounds would crash the process.
    matrix.check_format(full_check=True)
    return matrix


def find_labels(variables: dict[str, Any]) -> np.ndarray | None:
    """The vector of labels, under any of its usual names."""
    by_name = {key.casefold(): key for key in variables}
    for name in LABELS:
        if name in by_name:
            vector = _as_vector(variables[by_name[name]])
            if vector is not None:
                return vector
    return None


def _as_vector(value: Any) -> np.ndarray | None:
    """Labels as a vector, from a cell of text or a wrapped or sparse vector."""
    if _is_cell(value):
        cells = _cells(value)
        if len(cells) > 1:
            text = [str(np.squeeze(cell)) for cell in cells]
            return np.array(text) if all(np.size(c) == 1 for c in cells) else None
        value = cells[0]
    if sp.issparse(value):
        value = value.toarray()
    if not isinstance(value, np.ndarray) or value.size == 0:
        return None
    if value.size == max(value.shape):
        return value.ravel()
    # A 0/1 indicator matrix, classes in columns or in rows.
    for axis in (1, 0):
        if np.isin(value, (0, 1)).all() and (value.sum(axis=axis) == 1).all():
            return value.argmax(axis=axis)
    return None


def _n_samples(variables: dict[str, Any], source: str) -> int:
    """The size that all matrices share: of their rows or, failing that, columns."""
    flat = []
    for value in variables.values():
        flat += _cells(value) if _is_cell(value) else [value]
    shapes = [m.shape for m in flat if _is_matrix(m) and min(m.shape) > 1]
    for axis in (0, 1):
        sizes = {shape[axis] for shape in shapes}
        if len(sizes) == 1:
            return int(sizes.pop())
    raise input_error(
        source,
        "its matrices share neither a number of rows nor of columns: "
        f"{describe_variables(variables)}; keep one matrix per view with the samples "
        "in rows.",
    )


def find_views(variables: dict[str, Any], n: int, source: str) -> dict[str, Any]:
    """Name -> matrix with samples in rows, in the order of the views."""
    found = _named_views(variables, n)
    if not found:
        raise input_error(
            source,
            f"has no views for its {n} labels; expected a cell array named "
            f"{', '.join(VIEWS[:4])}, or one matrix per view, among its variables: "
            f"{describe_variables(variables)}.",
        )
    for name, X in found.items():
        if not _is_matrix(X) or n not in X.shape:
            raise input_error(
                source,
                f"view {name!r} is {_describe(X)}, which does not fit the {n} labels: "
                "neither rows nor columns are the samples.",
            )
    # A square view follows the views that are not square.
    clear = [X.shape[1] == n for X in found.values() if X.shape[0] != X.shape[1]]
    in_columns = bool(clear) and all(clear)
    return {name: _samples_in_rows(X, n, in_columns) for name, X in found.items()}


def _named_views(variables: dict[str, Any], n: int) -> dict[str, Any]:
    by_name = {key.casefold(): key for key in variables}
    for name in VIEWS:
        if name in by_name and _is_cell(variables[by_name[name]]):
            cells = _cells(variables[by_name[name]])
            return {f"view{v}": cell for v, cell in enumerate(cells)}
    numbered = {
        int(match[1]): key for key in variables if (match := _NUMBERED.fullmatch(key))
    }
    if numbered:
        return {key: variables[key] for _, key in sorted(numbered.items())}
    return {
        key: value
        for key, value in variables.items()
        if key.casefold() not in _NOT_VIEWS
        and _is_matrix(value)
        and n in value.shape
        and min(value.shape) > 1
    }


def _samples_in_rows(X: Any, n: int, square_in_columns: bool) -> Any:
    square = X.shape[0] == X.shape[1]
    if square_in_columns if square else X.shape[1] == n:
        X = X.T
    return sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)


def _is_cell(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object and value.size > 0


def _cells(value: np.ndarray) -> list[Any]:
    """Flatten a cell array, and cells that only wrap another cell array."""
    flat: list[Any] = []
    for cell in value.ravel(order="F"):
        flat.extend(_cells(cell) if _is_cell(cell) else [cell])
    return flat


def _is_matrix(value: Any) -> bool:
    return (
        sp.issparse(value)
        or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
    ) and value.ndim == 2


def _describe(value: Any) -> str:
    shape = "x".join(str(size) for size in np.shape(value))
    return f"{getattr(value, 'dtype', type(value).__name__)} {shape}"


def describe_variables(variables: dict[str, Any]) -> str:
    """``X (float64 5x4), ...`` for messages."""
    parts = [f"{key} ({_describe(value)})" for key, value in variables.items()]
    return ", ".join(parts) or "none"
