"""MATLAB 7.3 files, which are HDF5: variables as SciPy's reader would give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


def read_hdf5_variables(path: Path) -> dict[str, Any]:
    """Return name -> matrix, object array of cells, or sparse array."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"{path} is a MATLAB 7.3 (HDF5) file, which needs h5py: "
            "pip install 'imvc[io]'."
        ) from error
    try:
        with h5py.File(path, "r") as file:
            return {
                name: _read(node, file)
                for name, node in file.items()
                if not name.startswith("#")
            }
    except (OSError, KeyError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be read as a MATLAB 7.3 file ({error}); it may be damaged: "
            "fetch it again."
        ) from error


def _read(node: Any, file: Any) -> Any:
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
        cells[position] = _read(file[reference], file)
    return cells


def _read_sparse(group: Any) -> Any:
    """Compressed columns: values `data`, row numbers `ir`, column starts `jc`."""
    starts = group["jc"][()].astype(np.int64)
    shape = (int(group.attrs["MATLAB_sparse"]), len(starts) - 1)
    if "data" not in group:
        return sparse.csc_array(shape)
    rows = group["ir"][()].astype(np.int64)
    return sparse.csc_array((group["data"][()], rows, starts), shape=shape)
