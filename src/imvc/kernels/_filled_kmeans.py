"""k-means where many rows are filled with the mean: quick starts for factorisations."""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices
from imvc.kernels._kmeans import START_ROWS, assign

_DENSE_CLUSTERS = 32  # up to here a dense product sums the members faster (measured)


def filled_kmeans(
    X, n_filled, k, *, n_init, rng, max_iter=100, tol=1e-4, start_rows=START_ROWS
):
    """k-means of the rows of ``X`` and of ``n_filled`` more rows at their mean.

    The filled rows are one row with a weight, so they cost nothing, and a sparse ``X``
    stays sparse. Every start takes k random rows as centres; all starts run side by
    side, on at most ``start_rows`` random rows (at least 20 a cluster). An empty
    cluster restarts at the row that is farthest from its centre. The start of least
    inertia wins.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p), n >= 1
    n_filled : int
    k : int, at most n + n_filled
    n_init : int
    rng : RandomState
    max_iter, tol : int, float
        Lloyd steps, and the movement of the centres, as a share of the mean column
        variance, below which a start rests.

    Returns
    -------
    centers : float64 array of shape (k, p)
    labels : int64 array of shape (n,)
        Nearest centre of the rows of ``X``.
    filled_label : int
        Nearest centre of the mean.

    Notes
    -----
    O(steps n_init k p min(n, start_rows)) and one pass over ``X``.
    """
    n, total = X.shape[0], X.shape[0] + n_filled
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    chosen, size = np.arange(total), max(start_rows, 20 * k)
    if total > size:
        chosen = np.sort(rng.choice(total, size, replace=False))
    own = chosen[chosen < n]
    rows = X if len(own) == n else X[own]
    if not sp.issparse(X):  # around the mean no digits are lost to a common offset
        rows, middle = rows - mean.astype(X.dtype), np.zeros_like(mean)
    else:
        middle = mean
    weight = len(chosen) - len(own)
    first = np.stack([rng.choice(len(chosen), k, replace=False) for _ in range(n_init)])
    C = _take(rows, middle, first)
    C = lloyd_together(rows, middle, weight, C, max_iter=max_iter, tol=tol)
    inertia = _statistics(rows, middle, weight, C)[2]
    centers = C[inertia.argmin()] + (mean - middle)
    filled_label = assign(mean[None], centers)[0][0]
    return centers, assign(X, centers)[0], int(filled_label)


def lloyd_together(X, mean, weight, C, *, max_iter, tol):
    """Lloyd steps of several starts at once, C (n_init, k, p), each until it rests."""
    C = C.copy()
    live = np.arange(len(C))
    limit = tol * _mean_variance(X, mean, weight)
    for _ in range(max_iter):
        sums, counts, _ = _statistics(X, mean, weight, C[live])
        moved = sums / np.maximum(counts, 1)[..., None]
        for i in np.flatnonzero((counts == 0).any(axis=1)):
            empty = np.flatnonzero(counts[i] == 0)
            distances = assign(X, C[live[i]])[1]
            far = np.argsort(-distances, kind="stable")[: len(empty)]
            moved[i, empty[: len(far)]] = _take(X, mean, far)
        shift = np.square(moved - C[live]).sum(axis=(1, 2))
        C[live] = moved
        live = live[shift > limit]
        if not live.size:
            break
    return C


def _statistics(X, mean, weight, C):
    """Member sums (R, k, p), counts (R, k) and inertia up to a constant (R,)."""
    R, k, p = C.shape
    flat = C.reshape(R * k, p)
    half_norms = np.einsum("ij,ij->i", flat, flat) / 2
    sums, counts = np.zeros((R * k, p)), np.zeros(R * k)
    gain, first = np.zeros(R), np.arange(R) * k
    for rows in block_slices(X.shape[0], max(R * k, p)):
        block = X[rows]
        scores = np.asarray(block @ flat.T.astype(X.dtype, copy=False)) - half_norms
        codes = scores.reshape(-1, R, k).argmax(axis=2) + first
        gain += np.take_along_axis(scores, codes, axis=1).sum(axis=0)
        counts += np.bincount(codes.ravel(), minlength=R * k)
        sums += _member_sums(block, codes, R * k, dense=k <= _DENSE_CLUSTERS)
    scores = (flat @ mean - half_norms).reshape(R, k)
    codes = scores.argmax(axis=1) + first
    sums[codes] += weight * mean
    counts[codes] += weight
    gain += weight * scores.max(axis=1)
    return sums.reshape(C.shape), counts.reshape(R, k), -2 * gain


def _member_sums(block, codes, n_codes, *, dense):
    if dense and not sp.issparse(block):
        members = np.zeros((len(codes), n_codes), block.dtype)
        np.put_along_axis(members, codes, 1, axis=1)
        return members.T @ block
    starts = np.arange(0, codes.size + 1, codes.shape[1])
    ones = np.ones(codes.size)
    members = sp.csr_array((ones, codes.ravel(), starts), (len(codes), n_codes))
    added = members.T @ block
    return added.toarray() if sp.issparse(added) else added


def _mean_variance(X, mean, weight):
    """Of the rows and the filled ones around ``mean``, averaged over the columns."""
    squares = X.multiply(X).sum() if sp.issparse(X) else np.einsum("ij,ij->", X, X)
    n, p = X.shape
    return max((float(squares) - n * (mean @ mean)) / (p * (n + weight)), 0.0)


def _take(X, mean, index):
    """Rows of ``X``, and the mean where the index lies beyond them, in float64."""
    flat = index.ravel()
    result = np.empty((flat.size, X.shape[1]))
    own = flat < X.shape[0]
    rows = X[flat[own]]
    result[own] = rows.toarray() if sp.issparse(rows) else rows
    result[~own] = mean
    return result.reshape(*index.shape, X.shape[1])
