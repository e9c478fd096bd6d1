"""From a path, URL or object that holds rows to their RowReader."""

import os
from typing import Any

import numpy as np

from imvc.io._anndata_rows import AnnDataReader, open_h5ad
from imvc.io._npy import open_memmap, open_npy
from imvc.io._parquet import ParquetRows, has_parquet, open_parquet
from imvc.io._row_reader import PATHS, ArrayReader, RowReader, local_path, must_exist
from imvc.io._zarr import (
    ZarrReader,
    array_folder,
    is_zarr_array,
    is_zarr_path,
    open_zarr,
)
from imvc.views import is_annotated, read_table


def needs_no_file(x: Any) -> bool:
    """Tell whether a view is in memory."""
    if isinstance(x, np.ndarray):
        return x.ndim == 0 or open_memmap(x) is None
    on_disk = isinstance(x, (*PATHS, ParquetRows, RowReader))
    return not (on_disk or is_zarr_array(x) or _is_backed(x) or hasattr(x, "dask"))


def _is_backed(x: Any) -> bool:
    return is_annotated(x) and getattr(x, "isbacked", False)


def open_rows(name: str, x: Any, ids_needed: bool = True) -> RowReader:
    """The rows of one view, whatever it is given as."""
    if isinstance(x, RowReader):
        return x
    if isinstance(x, PATHS):
        return _open_path(name, os.fspath(x), ids_needed)
    if isinstance(x, ParquetRows):
        must_exist(x.path, name)
        return open_parquet(x, ids_needed)
    if is_zarr_array(x):
        return ZarrReader(x, array_folder(x) or f"view {name!r}")
    if _is_backed(x):
        if getattr(x, "is_view", False):
            raise ValueError(
                f"view {name!r}: is a part of a backed AnnData; pass the whole of it."
            )
        return AnnDataReader(str(x.filename), str(x.filename))
    if hasattr(x, "dask"):
        raise TypeError(
            f"view {name!r}: is a Dask array among other views; pass all views as Dask "
            "arrays, or none."
        )
    table = read_table(name, x)
    mapped = open_memmap(table.X) if isinstance(table.X, np.ndarray) else None
    if mapped is not None:
        return mapped
    ids = None if table.index is None else table.index.to_numpy()
    return ArrayReader(table.X, f"view {name!r}", ids, table.feature_names)


def _open_path(name: str, path: str, ids_needed: bool) -> RowReader:
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


def open_numbers(label: str, name: str, x: Any) -> RowReader:
    """Numbers of samples as rows of one column."""
    reader: RowReader
    if isinstance(x, PATHS):
        must_exist(x, name)
        path = os.fspath(x)
        npy = path.endswith(".npy")
        reader = open_npy(str(local_path(path)), path, 1) if npy else open_zarr(path, 1)
    elif is_zarr_array(x):
        reader = ZarrReader(x, array_folder(x) or label, 1)
    else:
        numbers = x if isinstance(x, np.ndarray) else np.asarray(x)
        if numbers.ndim != 1:
            raise ValueError(f"{label}: has shape {numbers.shape}, expected 1-D.")
        mapped = open_memmap(numbers, ndim=1)
        reader = ArrayReader(numbers[:, None], label) if mapped is None else mapped
    if reader.dtype.kind not in "iu" and reader.shape[0]:
        raise TypeError(
            f"{reader.label}: holds {reader.dtype}; store the numbers of samples as "
            "integers."
        )
    return reader
