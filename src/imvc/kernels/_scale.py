"""Scaling of feature rows: unit length, or unit column deviation."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

__all__ = [
    "column_moments",
    "inverse",
    "merge_moments",
    "row_norms",
    "scale_rows",
    "unit_rows",
]


def row_norms(X):
    """Euclidean length of every row, (n,), in the dtype of ``X``; O(nnz)."""
    if sp.issparse(X):
        return np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()).astype(X.dtype)
    if X.shape[0] == 1:  # einsum adds up a single long row in another order
        return row_norms(np.repeat(X, 2, axis=0))[:1]
    return np.sqrt(np.einsum("ij,ij->i", X, X))


def unit_rows(X):
    """Rows of ``X`` scaled to length one, as a new array; zero rows stay zero.

    Rows are first divided by their largest magnitude, so that no square over- or
    underflows. Dense stays dense, CSR stays CSR.
    """
    if sp.issparse(X):
        largest = np.asarray(abs(X).max(axis=1).todense()).ravel()
        scaled = _multiply_rows(X, inverse(largest))
        return _multiply_rows(scaled, inverse(row_norms(scaled)))
    norms = row_norms(X)
    tiny, huge = np.finfo(X.dtype).tiny ** 0.5, np.finfo(X.dtype).max ** 0.5
    doubtful = np.flatnonzero((norms < tiny * X.shape[1]) | ~(norms < huge))
    result = X * inverse(norms)[:, None]
    if doubtful.size:
        rows = X[doubtful]
        rows = rows * inverse(np.abs(rows).max(axis=1, initial=0))[:, None]
        result[doubtful] = rows * inverse(row_norms(rows))[:, None]
    return result


def scale_rows(X, kind, deviation=None):
    """Scale a block of rows: ``"unit"``, ``"standard"`` (by ``deviation``) or None.

    ``"standard"`` only divides: everything built on it depends on differences of
    rows, which a shift of the columns leaves as they are, and sparse rows stay sparse.
    """
    if kind == "unit":
        return unit_rows(X)
    if kind == "standard":
        factors = (1.0 / deviation).astype(X.dtype)
        return X.multiply(factors).tocsr() if sp.issparse(X) else X * factors
    return X


def column_moments(X):
    """``(count, mean, sum of squared deviations)`` of the columns, in float64."""
    count = X.shape[0]
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64), axis=0)
        return count, mean, variance * count
    mean = X.mean(axis=0, dtype=np.float64)
    return count, mean, np.square(X - mean).sum(axis=0)


def merge_moments(a, b):
    """Column moments of two stacked blocks from the moments of each."""
    (n_a, mean_a, dev_a), (n_b, mean_b, dev_b) = a, b
    n = n_a + n_b
    shift = mean_b - mean_a
    return (
        n,
        mean_a + shift * (n_b / n),
        dev_a + dev_b + np.square(shift) * (n_a * n_b / n),
    )


def inverse(x):
    """1/x with 0 where x is 0."""
    return np.divide(1, x, out=np.zeros_like(x), where=x != 0)


def _multiply_rows(X, factors):
    scaled = X.copy()
    scaled.data *= np.repeat(factors.astype(X.dtype), np.diff(X.indptr))
    return scaled
