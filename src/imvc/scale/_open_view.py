"""One view, a row index or a mask, whatever it is given as, to a store."""

import os
from typing import Any

import numpy as np

from imvc.scale._paths import local_path, must_exist
from imvc.scale._store_file import open_memmap, open_npy
from imvc.scale._store_hdf5 import Hdf5Store, open_h5ad
from imvc.scale._store_parquet import ParquetRows, has_parquet, open_parquet
from imvc.scale._store_zarr import (
    ZarrStore,
    array_folder,
    is_zarr_array,
    is_zarr_path,
    open_zarr,
)
from imvc.scale._stored import StoredView
from imvc.scale._stores import ArrayStore, Store
from imvc.views import is_annotated, read_table

__all__ = ["PATHS", "ObservedRows", "open_mask", "open_view"]

PATHS = (str, os.PathLike)


class ObservedRows:
    """A view of which only the observed rows are stored.

    Parameters
    ----------
    values : array, memory map, zarr array, path or URL
        The observed rows, as any view can be given.
    rows : array of int, memory map, zarr array or path of a ``.npy`` file
        The sample of every row of `values`, ascending.
    n_samples : int, optional
        Number of samples; by default that of the other views.
    """

    def __init__(self, values: Any, rows: Any, n_samples: int | None = None) -> None:
        self.values, self.rows, self.n_samples = values, rows, n_samples

    def __repr__(self) -> str:
        return f"ObservedRows({self.values!r}, {self.rows!r}, {self.n_samples!r})"


def open_view(name: str, x: Any) -> StoredView:
    if isinstance(x, ObservedRows):
        store = _open_store(name, x.values, ids_needed=False)
        index = _open_index(name, x.rows)
        if index.shape[0] != store.shape[0]:
            raise ValueError(
                f"{index.label}: has {index.shape[0]} entries, but {store.label} has "
                f"{store.shape[0]} rows; give the sample of every row."
            )
        made = {**store.fingerprint, "rows": index.fingerprint}
    else:
        store, index = _open_store(name, x), None
        made = store.fingerprint
    if store.shape[1] == 0:
        raise ValueError(f"{store.label}: has no features; leave it out.")
    listed = index is not None
    return StoredView(name, store, store.shape[1], index, listed, made)


def _open_store(name: str, x: Any, ids_needed: bool = True) -> Store:
    """The store of one view, whatever it is given as."""
    if isinstance(x, Store):
        return x
    if isinstance(x, PATHS):
        return _open_path(name, os.fspath(x), ids_needed)
    if isinstance(x, ParquetRows):
        must_exist(x.path, name)
        return open_parquet(x, ids_needed)
    if is_zarr_array(x):
        return ZarrStore(x, array_folder(x) or f"view {name!r}")
    if is_annotated(x) and getattr(x, "isbacked", False):
        if getattr(x, "is_view", False):
            raise ValueError(
                f"view {name!r}: is a part of a backed AnnData; pass the whole of it."
            )
        return Hdf5Store(str(x.filename), str(x.filename))
    if hasattr(x, "dask"):
        raise TypeError(
            f"view {name!r}: is a Dask array among other views; pass all views as Dask "
            "arrays, or none."
        )
    table = read_table(name, x)
    stored = open_memmap(table.X) if isinstance(table.X, np.ndarray) else None
    if stored is not None:
        return stored
    ids = None if table.index is None else table.index.to_numpy()
    return ArrayStore(table.X, f"view {name!r}", ids, table.feature_names)


def _open_path(name: str, path: str, ids_needed: bool) -> Store:
    must_exist(path, name)
    local = local_path(path)
    if path.endswith(".npy") and local is not None:
        return open_npy(local, path)
    if path.endswith(".h5ad"):
        return open_h5ad(path)
    if is_zarr_path(path):
        return open_zarr(path)
    if has_parquet(path) or (local is None and not path.endswith(".npy")):
        return open_parquet(ParquetRows(path), ids_needed)
    raise ValueError(
        f"view {name!r}: {path!r} cannot be read by blocks; pass a .npy or .h5ad file, "
        "a zarr array, or a folder of .parquet files."
    )


def _open_index(name: str, rows: Any) -> Store:
    """Sample numbers as a store with one column."""
    label = f"view {name!r}, rows"
    store: Store
    if isinstance(rows, PATHS):
        must_exist(rows, name)
        path = os.fspath(rows)
        npy = path.endswith(".npy")
        store = open_npy(str(local_path(path)), path, 1) if npy else open_zarr(path, 1)
    elif is_zarr_array(rows):
        store = ZarrStore(rows, array_folder(rows) or label, 1)
    else:
        numbers = rows if isinstance(rows, np.ndarray) else np.asarray(rows)
        if numbers.ndim != 1:
            raise ValueError(f"{label}: has shape {numbers.shape}, expected 1-D.")
        found = open_memmap(numbers, ndim=1)
        store = ArrayStore(numbers[:, None], label) if found is None else found
    if store.dtype.kind not in "iu" and store.shape[0]:
        raise TypeError(
            f"{store.label}: holds {store.dtype}; store the numbers of samples as "
            "integers."
        )
    return store


def open_mask(mask: Any) -> Store:
    if isinstance(mask, PATHS) and not os.fspath(mask).endswith((".npy", ".zarr")):
        raise ValueError(f"mask={os.fspath(mask)!r} is neither .npy nor .zarr.")
    return _open_store("mask", mask)
