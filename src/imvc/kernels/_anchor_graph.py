"""From the rows of a view to its anchors, and to the sparse graph between both.

In the order in which a fit needs them: rows are scaled, a few anchors are chosen that
cover them, and every row gets weights on its nearest anchors.
"""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import nearest_anchors
from imvc.kernels._kmeans import (
    ArrayRows,
    dense_rows,
    kmeans_plusplus,
    lloyd,
    random_rows,
)

_LLOYD_STEPS = 10  # anchors must cover the data, not minimise the inertia
_SEED_ROWS = 5  # rows per anchor that k-means++ draws from: its cost is rows x m x p


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
        from sklearn.utils.sparsefuncs import mean_variance_axis  # slow to load

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


def kmeans_anchors(X, m, rng, *, max_iter=_LLOYD_STEPS):
    """At most ``m`` distinct k-means centres of the rows of ``X``.

    One k-means++ start on a few of the rows, then ``max_iter`` Lloyd steps on all.
    O(max_iter n m p).
    """
    size = max(_SEED_ROWS * m, 300)
    few = X if X.shape[0] <= size else X[random_rows(X.shape[0], size, rng)]
    first = dense_rows(few, kmeans_plusplus(few, m, rng))
    centers, _ = lloyd(ArrayRows(X), distinct_rows(first), max_iter=max_iter)
    return distinct_rows(centers.astype(X.dtype))


def das_rows(scores, m):
    """Directly alternate sampling: the ``m`` rows it picks by their scores, ascending.

    Repeats: take the largest score, replace every s by s (1 - s), rescale to
    maximum one. Where all scores vanish, the rest is filled with the first unused
    rows. O(n m).
    """
    scores = np.array(scores, dtype=np.float64)
    picked: list[int] = []
    for _ in range(m):
        largest = scores.max()
        if largest == 0 or not np.isfinite(largest):
            unused = np.setdiff1d(np.arange(len(scores)), picked)
            picked.extend(unused[: m - len(picked)])
            break
        scores /= largest
        picked.append(int(scores.argmax()))
        with np.errstate(over="ignore"):  # negative scores run off to -inf, unpicked
            scores *= 1 - scores
    return np.unique(picked)


def das_anchors(X, m, *, cosine=False):
    """Rows of ``X`` chosen by directly alternate sampling; O(n p + n m).

    The score of a row is the sum of its features after shifting every feature to
    minimum zero; with ``cosine``, its summed inner products with all rows, X (X'1).
    """
    if cosine:
        scores = X @ np.asarray(X.sum(axis=0)).ravel()
    else:
        lowest = X.min(axis=0)
        lowest = lowest.toarray() if sp.issparse(lowest) else lowest
        scores = np.asarray(X.sum(axis=1)).ravel() - lowest.sum()
    return distinct_rows(dense_rows(X, das_rows(scores, m)))


def distinct_rows(A):
    """Rows of ``A`` without repeats, in their order."""
    _, first = np.unique(A, axis=0, return_index=True)
    return A if len(first) == len(A) else A[np.sort(first)]


def knn_weights(D, k):
    """Closed-form weights of the k nearest anchors from k + 1 distances.

    ``b_q = (d_{k+1} - d_q) / (k d_{k+1} - sum_{j<=k} d_j)``, the minimiser of
    ``sum_q d_q b_q + gamma b_q^2`` on the simplex with exactly k non-zero weights.

    Parameters
    ----------
    D : ndarray of shape (n, k + 1), ascending along the rows
    k : int

    Returns
    -------
    ndarray of shape (n, k), rows non-negative with sum one.

    Notes
    -----
    Where all k + 1 distances are equal up to rounding, numerator and denominator are
    both noise; such a row gets 1/k everywhere, so that no sample is disconnected.
    """
    D = np.ascontiguousarray(D.T)  # rows of k numbers would be short for NumPy
    gaps = D[k] - D[:k]
    total = np.zeros(D.shape[1], D.dtype)
    for gap in gaps:  # in this order, which NumPy's sum does not keep for all shapes
        total += gap
    tied = total <= 64 * np.finfo(D.dtype).eps * k * D[k]
    total[tied] = 1
    gaps /= total
    gaps[:, tied] = 1 / k
    return np.ascontiguousarray(gaps.T)


def anchor_weights(X, A, k, *, squared=True):
    """Weights of a block of samples over their nearest anchors.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    A : ndarray of shape (m, p)
    k : int
        ``k' = min(k, m - 1)`` anchors get a weight, since the closed form needs the
        distance to one anchor more than it connects; a single anchor takes all of it.
    squared : bool
        Whether weights follow squared distances.

    Returns
    -------
    indices : int32 array of shape (n, k')
    weights : ndarray of shape (n, k')
    distances : ndarray of shape (n,)
        To the nearest anchor; squared or not, as told.
    """
    m = A.shape[0]
    indices, distances = nearest_anchors(X, A, min(k + 1, m), squared=squared)
    if m == 1:
        return indices, np.ones_like(distances), distances[:, 0]
    k = min(k, m - 1)
    return indices[:, :k], knn_weights(distances, k), distances[:, 0]


def anchor_rows(X, A, k, *, squared=True):
    """`anchor_weights` to be kept: ``(indices, weights, nearest)``.

    Indices are in the smallest unsigned type that holds m - 1; nearest (m, 2) tells how
    many samples an anchor is the nearest of, and their squared distances' sum, which
    adds up over blocks.
    """
    m = A.shape[0]
    indices, weights, distances = anchor_weights(X, A, k, squared=squared)
    first, squares = indices[:, 0], distances.astype(np.float64)
    squares = squares if squared else squares**2
    count = np.bincount(first, minlength=m)
    nearest = np.column_stack([count, np.bincount(first, squares, minlength=m)])
    indices = indices.astype(np.min_scalar_type(m - 1), order="C")
    return indices, weights, nearest


def weights_to_csr(indices, weights, m):
    """CSR matrix (n, m) of graph rows with the same number of entries each."""
    n, k = indices.shape
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    return sp.csr_matrix((weights.ravel(), indices.ravel(), indptr), shape=(n, m))
