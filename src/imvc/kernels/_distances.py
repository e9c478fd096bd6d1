"""Distances from samples to anchors, a bounded block at a time."""

import numpy as np
import scipy.sparse as sp

__all__ = ["block_slices", "nearest_anchors", "squared_distances"]

_BLOCK_ENTRIES = 1 << 18  # entries of one samples x anchors block
_ARGMIN_ROUNDS = 12  # up to here repeated argmin beats argpartition (measured)


def block_slices(n_rows, width, entries=_BLOCK_ENTRIES):
    """Slices that cut ``n_rows`` into blocks of about ``entries / width`` rows."""
    step = max(16, entries // max(1, width))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def squared_distances(X, A):
    """Squared Euclidean distances (n, m) between rows of ``X`` and of ``A``, never < 0.

    Both are shifted by the mean of ``A`` first where ``X`` is dense: the distances do
    not change and the cancellation in |x|^2 - 2 x'a + |a|^2 shrinks.
    """
    A = np.asarray(A, dtype=X.dtype)
    if sp.issparse(X):
        products = np.asarray(X @ A.T)
        x_norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        centre = A.mean(axis=0)
        X, A = X - centre, A - centre
        products = X @ A.T
        x_norms = np.einsum("ij,ij->i", X, X)
    products *= -2
    products += x_norms[:, None]
    products += np.einsum("ij,ij->i", A, A)
    return np.maximum(products, 0, out=products)


def nearest_anchors(X, A, k, *, squared=True):
    """The ``k`` nearest rows of ``A`` for every row of ``X``, nearest first.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    A : ndarray of shape (m, p)
    k : int, at most m
    squared : bool
        Squared or plain Euclidean distances.

    Returns
    -------
    indices : int32 array of shape (n, k)
    distances : array of shape (n, k), in the dtype of ``X``

    Notes
    -----
    O(n m p) time; beside the result at most one bounded block of the n x m distances
    exists. Of equal distances the lower index comes first.
    """
    n, m = X.shape[0], A.shape[0]
    if not 1 <= k <= m:
        raise ValueError(f"k={k} must lie between 1 and the number of anchors, {m}.")
    indices = np.empty((n, k), dtype=np.int32)
    distances = np.empty((n, k), dtype=X.dtype)
    for rows in block_slices(n, max(m, X.shape[1] if not sp.issparse(X) else m)):
        D = squared_distances(X[rows], A)
        indices[rows], distances[rows] = _smallest(D, k)
    if not squared:
        np.sqrt(distances, out=distances)
    return indices, distances


def _smallest(D, k):
    """Column indices and values of the ``k`` smallest entries per row; spoils ``D``."""
    rows = np.arange(D.shape[0])
    if k <= _ARGMIN_ROUNDS:
        indices = np.empty((D.shape[0], k), dtype=np.int32)
        values = np.empty((D.shape[0], k), dtype=D.dtype)
        for j in range(k):
            column = D.argmin(axis=1)
            indices[:, j], values[:, j] = column, D[rows, column]
            D[rows, column] = np.inf
        return indices, values
    part = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(D, part, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return (
        np.take_along_axis(part, order, axis=1).astype(np.int32),
        np.take_along_axis(values, order, axis=1),
    )
