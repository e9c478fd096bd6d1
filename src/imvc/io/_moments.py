"""Means and variances of the columns of a matrix with NaN, in blocks of rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.views import count_nonfinite

_BLOCK_BYTES = 8 * 2**20


def _blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK_BYTES // max(1, 8 * X.shape[1]))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


def column_moments(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count, mean and variance of the numbers of each column, NaN left out.

    Two passes, so that a large mean does not swallow a small variance. Entries that a
    sparse matrix does not store count as zeros.
    """
    return _sparse_moments(X) if sp.issparse(X) else _dense_moments(X)


def column_counts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `column_moments`, for those who only need the counts: the rest is zero."""
    if sp.issparse(X):
        holes = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    else:
        n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
        holes = np.isnan(X[n_nan > 0]).sum(axis=0)
    zeros = np.zeros(X.shape[1])
    return X.shape[0] - holes, zeros, zeros


def _dense_moments(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    d = X.shape[1]
    count, total = np.zeros(d, np.int64), np.zeros(d)
    for block in _blocks(X):
        known = ~np.isnan(block)
        count += known.sum(axis=0)
        total += np.sum(block, axis=0, where=known, dtype=np.float64)
    mean = total / np.maximum(count, 1)
    squares = np.zeros(d)
    for block in _blocks(X):
        centred = np.nan_to_num(block - mean, nan=0.0)
        squares += np.einsum("ij,ij->j", centred, centred)
    return count, mean, squares / np.maximum(count, 1)


def _sparse_moments(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = X.shape
    hole = np.isnan(X.data)
    columns, data = X.indices[~hole], X.data[~hole].astype(np.float64)
    count = n - np.bincount(X.indices[hole], minlength=d)
    safe = np.maximum(count, 1)
    mean = np.bincount(columns, weights=data, minlength=d) / safe
    centred = np.bincount(columns, weights=(data - mean[columns]) ** 2, minlength=d)
    zeros = count - np.bincount(columns, minlength=d)
    return count, mean, (centred + zeros * mean**2) / safe
