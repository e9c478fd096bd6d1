"""k-means by blocks of rows: the one way from an embedding to labels.

Everything that touches the data is a function of a block, and the results of the
blocks are added up in their order, so the outcome depends neither on the number of
threads nor, beyond rounding, on the cutting into blocks.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from imvc.kernels._distances import block_slices, squared_distances

__all__ = ["KMeansResult", "assign", "kmeans", "kmeans_statistics", "lloyd"]

START_ROWS = 10_000  # rows that the starts are tried on; all rows polish the best
_BLOCK_ROWS = 16_384


@dataclass(frozen=True)
class KMeansResult:
    """Centres, labels, and the sum of squared distances to the own centre."""

    centers: np.ndarray
    labels: np.ndarray
    inertia: float
    n_iter: int


def assign(X, centers):
    """Nearest centre of every row, lowest index on ties: ``(labels, distances^2)``."""
    n = X.shape[0]
    labels, distances = np.empty(n, np.int64), np.empty(n, X.dtype)
    for rows in block_slices(n, max(len(centers), X.shape[1])):
        D = squared_distances(X[rows], centers)
        labels[rows] = D.argmin(axis=1)
        distances[rows] = D[np.arange(D.shape[0]), labels[rows]]
    return labels, distances


def kmeans_statistics(X, centers):
    """What one Lloyd step needs of a block: additive over blocks.

    Returns
    -------
    sums : float64 array of shape (k, p)
    counts : int64 array of shape (k,)
    inertia : float
    """
    labels, distances = assign(X, centers)
    k, n = len(centers), X.shape[0]
    members = sp.csc_matrix(
        (np.ones(n), labels, np.arange(n + 1)), shape=(k, n), dtype=np.float64
    )
    sums = members @ X
    sums = sums.toarray() if sp.issparse(sums) else sums
    counts = np.bincount(labels, minlength=k)
    return sums, counts, float(distances.sum(dtype=np.float64))


def lloyd(X, centers, *, max_iter, tol=1e-4, map=map):
    """Lloyd's iteration from given centres.

    Stops when the centres move by less than ``tol`` times the mean column variance
    (scikit-learn's rule). A cluster that runs empty restarts at the row that is
    farthest from its centre.

    Returns
    -------
    centers : float64 array of shape (k, p)
    n_iter : int
    """
    blocks = [X[rows] for rows in _row_blocks(X.shape[0])]
    limit = tol * _mean_variance(X)
    centers = np.asarray(centers, dtype=np.float64)
    n_iter, shift = 0, np.inf
    while n_iter < max_iter and shift > limit:
        n_iter += 1
        parts = list(map(lambda block: kmeans_statistics(block, centers), blocks))
        sums, counts = sum(p[0] for p in parts), sum(p[1] for p in parts)
        moved = sums / np.maximum(counts, 1)[:, None]
        empty = np.flatnonzero(counts == 0)
        if empty.size:
            moved[empty] = _farthest_rows(X, centers, empty.size)
        shift = np.square(moved - centers).sum()
        centers = moved
    return centers, n_iter


def kmeans(X, k, *, n_init, random_state, max_iter=300, start_rows=START_ROWS, map=map):
    """k-means++ with ``n_init`` starts; the best by inertia, polished on all rows.

    The starts run on at most ``start_rows`` random rows (at least 20 a cluster), since
    a start only has to find the right basin; their best then runs on everything.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    map : callable
        Like the built-in; a threaded one uses several cores with the same result.

    Returns
    -------
    KMeansResult
    """
    rng = check_random_state(random_state)
    n, size = X.shape[0], max(start_rows, 20 * k)
    sample = X if n <= size else X[np.sort(rng.choice(n, size, replace=False))]
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_init)

    def start(seed):
        first = kmeans_plusplus(sample, k, random_state=seed)[0]
        first = first.toarray() if sp.issparse(first) else first
        centers, n_iter = lloyd(sample, first, max_iter=max_iter)
        return assign(sample, centers)[1].sum(dtype=np.float64), centers, n_iter

    _, centers, n_iter = min(map(start, seeds), key=lambda result: result[0])
    if sample is not X:
        centers, n_iter = lloyd(X, centers, max_iter=max_iter, map=map)
    parts = list(map(lambda rows: assign(X[rows], centers), _row_blocks(n)))
    labels = np.concatenate([labels for labels, _ in parts])
    inertia = sum(float(d.sum(dtype=np.float64)) for _, d in parts)
    return KMeansResult(centers.astype(X.dtype), labels, inertia, n_iter)


def _row_blocks(n):
    return [slice(i, min(i + _BLOCK_ROWS, n)) for i in range(0, n, _BLOCK_ROWS)]


def _mean_variance(X):
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel()
        return float(np.mean(square - mean**2))
    return float(np.var(X, axis=0, dtype=np.float64).mean())


def _farthest_rows(X, centers, count):
    _, distances = assign(X, centers)
    rows = X[np.argsort(-distances, kind="stable")[:count]]
    return rows.toarray() if sp.issparse(rows) else rows
