"""The sparse graph between samples and anchors."""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import nearest_anchors

__all__ = ["anchor_rows", "inverse_sqrt_degrees", "knn_weights", "weights_to_csr"]


def knn_weights(D, k):
    """Eq. (1): closed-form weights of the k nearest anchors from k + 1 distances.

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


def anchor_rows(X, A, k, *, squared=True):
    """Graph rows of a block of samples, ``(indices, weights, nearest)``.

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
    indices : ndarray of shape (n, k'), in the smallest unsigned type that holds m - 1
    weights : ndarray of shape (n, k')
    nearest : ndarray of shape (m, 2)
        How many samples an anchor is the nearest of, and their squared distances'
        sum; adds up over blocks.
    """
    m = A.shape[0]
    indices, distances = nearest_anchors(X, A, min(k + 1, m), squared=squared)
    first, squares = indices[:, 0], distances[:, 0].astype(np.float64)
    squares = squares if squared else squares**2
    count = np.bincount(first, minlength=m)
    nearest = np.column_stack([count, np.bincount(first, squares, minlength=m)])
    if m == 1:
        return indices.astype(np.uint8), np.ones_like(distances), nearest
    k = min(k, m - 1)
    small = np.min_scalar_type(m - 1)
    return indices[:, :k].astype(small), knn_weights(distances, k), nearest


def weights_to_csr(indices, weights, m):
    """CSR matrix (n, m) of graph rows with the same number of entries each."""
    n, k = indices.shape
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    return sp.csr_matrix((weights.ravel(), indices.ravel(), indptr), shape=(n, m))


def inverse_sqrt_degrees(column_sums):
    """Lambda^{-1/2}; an anchor that nobody uses gets 0 and so drops out."""
    scale = np.zeros_like(column_sums, dtype=np.float64)
    np.divide(1, np.sqrt(column_sums), out=scale, where=column_sums > 0)
    return scale
