"""Views written anew: in the order of the samples, or out of chunks too large."""

import numpy as np

from imvc.scale._spool import ColumnWriter, RowsWriter, WorkFolder, open_rows
from imvc.scale._store_file import open_npy
from imvc.scale._stores import Store

__all__ = ["rewrite", "sort_rows"]

_BUCKET_BYTES = 64 * 2**20
_MOST_BUCKETS = 100  # their files are open at the same time


def rewrite(store: Store, folder: WorkFolder, name: str) -> Store:
    """The same rows in files that can be read from anywhere."""
    if not (store.traced and folder.is_done(name)):
        writer = RowsWriter(
            folder.fresh(name), store.dtype, store.shape[1], store.sparse
        )
        for X in store.stream():
            writer.append(X)
        writer.close()
        folder.done(name)
    return _like(open_rows(folder.file(name), store.shape[1], store.label), store)


def sort_rows(store, index, n_samples, folder, name):
    """Rewrite the rows of a view in the order of the samples.

    Rows are dealt into buckets of consecutive samples, then sorted bucket by bucket:
    every file is written and read from front to back.

    Returns
    -------
    The rows, and the sample of each, as stores.
    """
    path = folder.file(name)
    if not folder.is_done(name):
        path = folder.fresh(name)
        n_bytes = store.shape[0] * store.row_bytes
        count = int(min(_MOST_BUCKETS, max(1, n_bytes // _BUCKET_BYTES)))
        buckets = _deal(store, index, n_samples, count, folder, name)
        rows = RowsWriter(path, store.dtype, store.shape[1], store.sparse)
        samples = ColumnWriter(path / "samples.npy", np.dtype(np.int64))
        for own_rows, own_samples in buckets:
            X = own_rows.read(0, own_rows.shape[0])
            numbers = own_samples.read(0, own_samples.shape[0])[:, 0]
            order = np.argsort(numbers)
            rows.append(X[order])
            samples.append(numbers[order])
        rows.close()
        samples.close()
        folder.fresh(f"{name}-buckets").rmdir()
        folder.done(name)
    rewritten = _like(open_rows(path, store.shape[1], store.label), store)
    return rewritten, open_npy(str(path / "samples.npy"), store.label, 1)


def _deal(store, index, n_samples, count, folder, name):
    """Rows and their samples in buckets, each of consecutive samples."""
    root, size = folder.fresh(f"{name}-buckets"), -(-n_samples // count)
    writers = []
    for k in range(count):
        (root / str(k)).mkdir()
        writers.append(
            (
                RowsWriter(root / str(k), store.dtype, store.shape[1], store.sparse),
                ColumnWriter(root / str(k) / "samples.npy", np.dtype(np.int64)),
            )
        )
    at = 0
    for X in store.stream():
        samples = index.read(at, at + X.shape[0])[:, 0]
        at += X.shape[0]
        bucket = samples // size
        for k in np.unique(bucket).tolist():
            own = np.flatnonzero(bucket == k)
            writers[k][0].append(X[own])
            writers[k][1].append(samples[own])
    label = store.label
    return [(rows.store(label), samples.store(label)) for rows, samples in writers]


def _like(rewritten: Store, store: Store) -> Store:
    rewritten.feature_names = store.feature_names
    return rewritten
