"""Zarr arrays as stores, from an array that is open or from a path or URL."""

import os
from typing import Any

import numpy as np

from imvc.scale._paths import folder_stamp, local_path, need
from imvc.scale._stores import Store, check_real

__all__ = [
    "ZarrStore",
    "array_folder",
    "is_zarr_array",
    "is_zarr_path",
    "open_zarr",
]


class ZarrStore(Store):
    """Rows of a zarr array of one or two dimensions.

    Parameters
    ----------
    array : zarr.Array
    label : str
    """

    def __init__(self, array: Any, label: str, ndim: int = 2) -> None:
        if len(array.shape) != ndim:
            raise ValueError(
                f"{label}: is a zarr array of shape {array.shape}, expected {ndim} "
                "dimensions; pass the path of such an array."
            )
        self.label, self._array = label, array
        self.dtype = np.dtype(array.dtype)
        self.shape = (int(array.shape[0]), int(array.shape[1]) if ndim == 2 else 1)
        # Elsewhere nothing tells cheaply whether chunks were written anew.
        self.traced = array_folder(array) is not None
        check_real(self)

    def read(self, start, stop):
        return np.asarray(self._array[start:stop]).reshape(stop - start, self.shape[1])

    def take(self, rows):
        if len(rows) == 0 or 4 * len(rows) > rows[-1] - rows[0]:
            return super().take(rows)
        some = np.asarray(self._array.oindex[rows])
        return some.reshape(len(rows), self.shape[1])

    def boundaries(self):
        step = int(self._array.chunks[0])
        return np.append(
            np.arange(0, self.shape[0], step, dtype=np.int64), self.shape[0]
        )

    @property
    def fingerprint(self):
        found = {
            "kind": "zarr",
            "shape": list(self.shape),
            "dtype": self.dtype.str,
            "chunks": [int(c) for c in self._array.chunks],
        }
        folder = array_folder(self._array)
        where = {"path": place_of(self._array)}
        if folder is not None and os.path.isdir(folder):
            where = folder_stamp(os.path.abspath(folder))
        return {**found, **where}


def is_zarr_array(x: Any) -> bool:
    """Tell whether `x` is a zarr array, without importing zarr."""
    return type(x).__module__.split(".")[0] == "zarr" and hasattr(x, "chunks")


def is_zarr_path(path: str) -> bool:
    """Tell whether a path or URL is meant to be zarr."""
    local = local_path(path)
    if local is not None and os.path.isdir(local):
        markers = ("zarr.json", ".zarray", ".zgroup")
        return any(os.path.exists(os.path.join(local, mark)) for mark in markers)
    return ".zarr" in path


def open_zarr(path: str, ndim: int = 2) -> ZarrStore:
    """The zarr array at a path or URL."""
    zarr = need("zarr", "dask", path)
    local = local_path(path)
    # Workers may run in another folder.
    where = path if local is None else os.path.abspath(local)
    try:
        node = zarr.open(where, mode="r")
    except FileNotFoundError:
        raise
    # Metadata that is damaged fails in many ways.
    except Exception as error:
        raise ValueError(
            f"{path}: cannot be opened as a zarr array ({error}); write it anew."
        ) from error
    if not is_zarr_array(node):
        arrays = sorted(node.array_keys())
        example = arrays[0] if arrays else "name"
        raise ValueError(
            f"{path}: is a zarr group with the arrays {arrays[:5]}; pass the path of "
            f"one array, like '{path}/{example}'."
        )
    return ZarrStore(node, path, ndim)


def place_of(array: Any) -> str:
    """Path or URL of an open zarr array, as text."""
    folder = array_folder(array)
    if folder is not None:
        return folder
    return str(getattr(array, "store_path", "")) or f"{array.store}/{array.path}"


def array_folder(array: Any) -> str | None:
    """The folder of an array on this machine; None where it is elsewhere."""
    root = getattr(array.store, "root", None)  # zarr 3
    if root is None:
        root = getattr(array.store, "path", None)  # zarr 2
    if root is None or "://" in str(root):
        return None
    return os.path.join(str(root), array.path) if array.path else str(root)
