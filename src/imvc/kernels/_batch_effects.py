"""Two-way additive least squares: cluster means and batch effects of rows.

    x_i = m_c(i) + b_t(i) + noise        c(i) the cluster of row i, t(i) its batch

Clusters are eliminated from the normal equations. What is left is a Laplacian L of the
batches, joined where they share clusters:

    L b = T - N' S / n_c,    L = diag(n_t) - N' diag(1 / n_c) N

    N  (k, q)  rows of cluster c in batch t; n_c, n_t its sums
    S  (k, d)  sums of the rows of a cluster;  T  (q, d)  of a batch
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from imvc.kernels._distances import block_slices
from imvc.kernels._kmeans import kmeans

_ROWS_PER_CENTER = 5  # fewer say nothing about a cluster of a batch
_STARTS = 5  # of k-means in one batch, which need not be the best


class TwoWay(NamedTuple):
    """Means and effects of `two_way_means`; ``centers[c] + effects[t]`` fits a row.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        Cluster means without batch effects; zero for clusters without a row.
    effects : ndarray of shape (q, d)
        Zero on average over the rows of every component of batches.
    component : ndarray of int64, shape (q,)
        Batches of one number are joined by clusters that they share; effects between
        components are not identifiable and count as differences of clusters. -1 for
        batches without a row.
    residual : ndarray of shape (d,)
        Sum of squares that is left in every column.
    """

    centers: np.ndarray
    effects: np.ndarray
    component: np.ndarray
    residual: np.ndarray


def two_way_means(X, clusters, batches, k, q, *, shrink=False):
    """Least squares of ``x = center of the cluster + effect of the batch``; O(n d).

    Effects are identified by a mean of zero over the rows of every component, so that
    the mean of all rows stays what it was when they are subtracted.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    clusters : ndarray of int64, shape (n,)
        In 0..k-1.
    batches : ndarray of int64, shape (n,)
        In 0..q-1.
    k, q : int
        Numbers of clusters and of batches; some may have no row.
    shrink : bool, default=False
        Multiply the effects of a batch by 1 - s / z, not below 0: z is their mean
        square in units of the columns' noise, s what noise alone would give (positive
        part James-Stein, the mean part of empirical Bayes). Nothing of the effects is
        left where they are noise; small batches are corrected with caution.

    Returns
    -------
    TwoWay
    """
    origin = X.mean(axis=0, dtype=np.float64) if len(X) else np.zeros(X.shape[1])
    sums, squares = _cell_sums(X, clusters * q + batches, k * q, origin)
    N = np.bincount(clusters * q + batches, minlength=k * q).reshape(k, q)
    sums = sums.reshape(k, q, -1)
    S, T = sums.sum(axis=1), sums.sum(axis=0)
    n_c, n_t = N.sum(axis=1), N.sum(axis=0)
    component = _components(N)
    share = N / np.maximum(n_c, 1)[:, None]
    L = np.diag(n_t.astype(np.float64)) - N.T @ share
    inverse = np.linalg.inv(L + _anchored(component, n_t))
    effects = inverse @ (T - share.T @ S)
    centers = (S - N @ effects) / np.maximum(n_c, 1)[:, None]
    left = squares - (centers * S).sum(axis=0) - (effects * T).sum(axis=0)
    residual = np.maximum(left, 0)
    if shrink:
        free = len(X) - np.count_nonzero(n_c) - np.count_nonzero(n_t) + 1
        noise = residual / max(free, 1)
        variance = np.einsum("tu,uw,wt->t", inverse, L, inverse)
        effects = _shrunk(effects, noise, variance)
        # What shrinking each batch by its own factor did to the mean over rows.
        effects -= _component_means(effects, component, n_t)
        centers = (S - N @ effects) / np.maximum(n_c, 1)[:, None]
    centers = np.where(n_c[:, None] > 0, centers + origin, 0.0)
    return TwoWay(centers, effects, component, residual)


def middle_effects(X, batches, k, q, *, random_state=0):
    """Effects (q, d) that bring the middles of all batches together; O(n k d) a step.

    The middle of a batch is the mean of its ``k`` k-means centres, each counted once.
    Unlike the mean of its rows it does not move with the sizes of the clusters. A batch
    with fewer than 5 k rows has its mean for a middle. Effects are zero on average over
    rows, and zero for batches without a row.
    """
    n_t = np.bincount(batches, minlength=q)
    middles = np.zeros((q, X.shape[1]))
    for t in np.flatnonzero(n_t):
        rows = X[batches == t]
        own = k if len(rows) >= _ROWS_PER_CENTER * k else 1
        found = kmeans(rows, own, n_init=_STARTS, random_state=random_state)
        middles[t] = found.centers.mean(axis=0)
    effects = middles - n_t @ middles / max(len(X), 1)
    return np.where(n_t[:, None] > 0, effects, 0.0)


def mixed_rows(R, seen, mixing):
    """Signed sums of random rows: nearly Gaussian, with the covariance of the rows.

    Clusters are gone from them, correlations are not: what a clustering finds in such
    rows it finds in noise. O(terms n d).

    Parameters
    ----------
    R : ndarray of shape (n, d)
        Rows around zero; zeros where not observed.
    seen : ndarray of bool, shape (n,)
    mixing : CSR of shape (n, n)
        A few entries of 1 and -1 in every row, the same for all views.

    Returns
    -------
    ndarray of shape (n, d)
        Zeros where none of the rows that were drawn is observed.
    """
    terms = abs(mixing) @ seen.astype(np.float64)
    return (mixing @ R) / np.sqrt(np.maximum(terms, 1))[:, None]


def _cell_sums(X, cells, n_cells, origin):
    """Sums (n_cells, d) of rows by cell, and of squares by column, about an origin."""
    sums, squares = np.zeros((n_cells, X.shape[1])), np.zeros(X.shape[1])
    for rows in block_slices(*X.shape):
        block = X[rows] - origin
        count = len(block)
        ones = (np.ones(count), (cells[rows], np.arange(count)))
        sums += sp.csr_array(ones, shape=(n_cells, count)) @ block
        squares += np.einsum("ij,ij->j", block, block)
    return sums, squares


def _components(N):
    """Which batches (columns of a table) are joined by clusters (its rows)."""
    k, q = N.shape
    graph = sp.block_array([[None, sp.csr_array(N)], [sp.csr_array(N.T), None]])
    _, found = connected_components(graph, directed=False)
    own = np.full(q, -1, np.int64)
    seen = N.any(axis=0)
    own[seen] = np.unique(found[k:][seen], return_inverse=True)[1]
    return own


def _anchored(component, n_t):
    """What makes the Laplacian regular: sum of n n' / n'1 over components, (q, q).

    The right-hand side adds up to zero over every component, so the solution has
    n'b = 0 there. Batches without a row get an effect of zero.
    """
    weights = np.where(component[:, None] == component, n_t[:, None] * n_t, 0.0)
    total = np.where(component[:, None] == component, n_t, 0).sum(axis=1)
    return weights / np.maximum(total, 1)[:, None] + np.diag(component < 0)


def _component_means(effects, component, n_t):
    """Mean effect over the rows of the component of every batch, (q, d)."""
    same = np.where(component[:, None] == component, n_t, 0.0)
    return same @ effects / np.maximum(same.sum(axis=1), 1)[:, None]


def _shrunk(effects, noise, variance):
    """Effects (q, d) times 1 - variance / mean square in units of the noise."""
    varied = noise > 0
    if not varied.any():
        return effects
    mean_square = np.mean(effects[:, varied] ** 2 / noise[varied], axis=1)
    ratio = np.divide(
        variance, mean_square, out=np.ones_like(variance), where=mean_square > 0
    )
    return effects * np.maximum(0.0, 1.0 - ratio)[:, None]
