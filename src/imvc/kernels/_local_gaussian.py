"""Similarities of samples: Gaussians as wide as the distances around both of them."""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import squared_distances

_ROUNDING = 1e-13  # of the squared lengths of two rows, which their distance comes from


def pairwise_squares(X):
    """Squared Euclidean distances (n, n) of the rows, symmetric, 0 on the diagonal.

    O(n^2 p) for dense rows; sparse ones stay sparse. What may be rounding counts as 0,
    so that duplicates are duplicates.
    """
    if sp.issparse(X):
        D = (X @ X.T).toarray()
        lengths = D.diagonal().copy()
        D *= -2
        D += lengths[:, None]
        D += lengths
    else:
        D = squared_distances(X, X)
        centred = X - X.mean(axis=0)
        lengths = np.einsum("ij,ij->i", centred, centred)
    D = (D + D.T) / 2
    D[D <= _ROUNDING * (lengths[:, None] + lengths)] = 0
    D[np.diag_indices_from(D)] = 0
    return D


def local_scale(D, k):
    """``(near_i + near_j + D_ij) / 3``, near_i the mean distance of i to its k nearest.

    ``D`` is (n, n) with zeros on the diagonal. A sample is not its own neighbour; at
    most n - 1 neighbours are taken. O(n^2).
    """
    k = min(k, len(D) - 1)
    # The zero of the sample itself is among the smallest, and adds nothing to the sum.
    near = np.partition(D, k, axis=1)[:, : k + 1].sum(axis=1) / max(k, 1)
    scale = D + near[:, None]
    scale += near
    scale /= 3
    return scale


def normal_density(squares, variance):
    """``exp(-squares / (2 variance)) / sqrt(2 pi variance)``, entry by entry.

    Where the variance is 0, among duplicates, the smallest positive one stands for it.
    """
    positive = variance > 0
    least = variance.min(where=positive, initial=np.inf)
    variance = np.where(positive, variance, least if np.isfinite(least) else 1)
    density = squares / variance
    density *= -0.5
    np.exp(density, out=density)
    variance *= 2 * np.pi
    density /= np.sqrt(variance, out=variance)
    return density


def largest_columns(W, k):
    """Columns of the ``k`` largest entries of every row, (n, min(k, n)); O(n^2)."""
    n = W.shape[1]
    k = min(k, n)
    return np.argpartition(W, min(n - k, n - 1), axis=1)[:, n - k :]


def row_shares(W, columns):
    """The given columns (n, k) of every row, in shares of one; CSR. Zero rows stay."""
    n, k = columns.shape
    entries = np.take_along_axis(W, columns, axis=1)
    sums = entries.sum(axis=1, keepdims=True)
    np.divide(entries, sums, out=entries, where=sums > 0)
    indptr = np.arange(n + 1) * k
    return sp.csr_matrix((entries.ravel(), columns.ravel(), indptr), shape=W.shape)
