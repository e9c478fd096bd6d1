"""Step 7 of AnchorBridge: a partition that tolerates clusters of unequal size.

    F_a = sum_k |S_k|^2 / n_k^a     S_k sum of the rows of cluster k, n_k their number

a = 1 is k-means on unit rows; a smaller a tolerates larger clusters.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices
from imvc.kernels._kmeans import kmeans

_MAX_ROUNDS, _PATIENCE = 60, 5


@dataclass(frozen=True)
class SizeTolerant:
    """Clusters by their sums and sizes; a sample joins where F_a gains most.

    Parameters
    ----------
    sums : float64 array of shape (c, K)
    counts : float64 array of shape (c,)
    exponent : float
    """

    sums: np.ndarray
    counts: np.ndarray
    exponent: float

    def join(self, X):
        """Gain of F_a for every row if it joined each cluster, (n, c)."""
        S, n, a = self.sums, self.counts, self.exponent
        squares = np.square(S).sum(axis=1)
        own = np.einsum("ij,ij->i", X, X, dtype=np.float64)[:, None]
        now = squares / np.maximum(n, 1) ** a
        return (squares + 2 * (X @ S.T) + own) / (n + 1) ** a - now

    def stay(self, X, labels):
        """What every row is worth to its own cluster; infinite where it is alone."""
        S, n, a = self.sums, self.counts[labels], self.exponent
        squares = np.square(S).sum(axis=1)[labels]
        dots = np.einsum("ij,ij->i", X, S[labels])
        own = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        rest = (squares - 2 * dots + own) / np.maximum(n - 1, 1) ** a
        return np.where(n > 1, squares / n**a - rest, np.inf)

    def value(self, exponent=None):
        """F_a."""
        a = self.exponent if exponent is None else exponent
        squares = np.square(self.sums).sum(axis=1)
        return float((squares / np.maximum(self.counts, 1) ** a).sum())

    def assign(self, X):
        """The cluster that gains most by every row: for samples old and new."""
        labels = np.empty(len(X), np.int64)
        for rows in block_slices(len(X), max(len(self.counts), X.shape[1])):
            labels[rows] = self.join(X[rows]).argmax(axis=1)
        return labels


def clusters_of(X, labels, c, exponent):
    """SizeTolerant of a partition."""
    counts = np.bincount(labels, minlength=c).astype(float)
    return SizeTolerant(_sums(X, labels, c), counts, exponent)


def _sums(X, labels, c):
    """Sum of the rows of every cluster, in float64."""
    n = len(labels)
    members = sp.csc_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(c, n))
    return members @ X


def guarded_partition(X, U, squares, labels, c, *, n_init, seed, map):
    """Step 7: the better of two ascents of F_a, as a rule that new samples can follow.

    Parameters
    ----------
    X : ndarray of shape (n, K)
        Unit rows of the embedding without the constant column.
    U : ndarray of shape (n, K)
        Singular vectors without the constant one.
    squares : ndarray of shape (K,)
        Squared singular values.
    labels : ndarray
        Of step 6.
    """
    skew = (c - 2) / (c - 1)
    spectral = kmeans(
        U[:, : c - 1], c, n_init=n_init, random_state=seed, map=map
    ).labels
    u, r = (ascend(X, start, c, 1 - 0.2 * skew) for start in (labels, spectral))
    strict = [clusters_of(X, found, c, 1 - 0.4 * skew).value() for found in (u, r)]
    likelihood = [block_likelihood(U, squares, found, c) for found in (u, r)]
    better = strict[1] > strict[0] and likelihood[1] > likelihood[0]
    return clusters_of(X, r if better else u, c, 1 - 0.2 * skew)


def ascend(X, labels, c, exponent):
    """Batch moves by exact single-move gains; the best partition on the way."""
    best, best_value, idle = labels, -np.inf, 0
    for _ in range(_MAX_ROUNDS):
        clusters = clusters_of(X, labels, c, exponent)
        value = clusters.value()
        idle = 0 if value > best_value else idle + 1
        if value > best_value:
            best, best_value = labels, value
        moved = _move(X, labels, clusters)
        if idle >= _PATIENCE or np.array_equal(moved, labels):
            break
        labels = moved
    return best


def _move(X, labels, clusters):
    """Every row in the cluster where it is worth most, by the sums as they are."""
    moved = labels.copy()
    for rows in block_slices(len(X), max(len(clusters.counts), X.shape[1])):
        x, own = X[rows], labels[rows]
        gains = clusters.join(x)
        gains[np.arange(len(x)), own] = clusters.stay(x, own)
        moved[rows] = gains.argmax(axis=1)
    return moved


def block_likelihood(U, squares, labels, c):
    """J: degree-corrected block-model likelihood less the cost of the labels."""
    n = len(labels)
    HU = _sums(U, labels, c)
    share = np.bincount(labels, minlength=c) / n
    used = share > 0
    HU, share = HU[used], share[used]
    expected = np.outer(share, share)
    M = np.maximum(expected + (HU * squares) @ HU.T / n, 1e-12)
    return float((M * np.log(M / expected)).sum() + share @ np.log(share) / 12)
