"""Step 8 of AnchorBridge: k-means, and a guard for clusters of unequal size.

    F_a = sum_k |S_k|^2 / n_k^a     S_k sum of the rows of cluster k, n_k their number

a = 1 is k-means on unit rows; a smaller a tolerates larger clusters.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices
from imvc.kernels._kmeans import ArrayRows, assign, kmeans_centers
from imvc.methods.bridge.spectrum import diffused

_MAX_ROUNDS, _PATIENCE = 60, 5
_LABEL_COST = 1 / 10  # of the entropy of the sizes, in the block-model score
_SLACK = 0.005  # share of F that the plain start may fall behind in pass 1
_LESS_EVEN = 0.1  # nats that the sizes must be less even to be called unequal


@dataclass(frozen=True)
class SizeTolerant:
    """Clusters by their sums and sizes; a sample joins where F_a gains most."""

    sums: np.ndarray  # float64, (c, K)
    counts: np.ndarray  # float64, (c,)
    exponent: float

    @classmethod
    def of(cls, X, labels, c, exponent):
        sums, counts = sums_of(X, labels, c)
        return cls(sums, counts.astype(np.float64), exponent)

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

    def value(self):
        """F_a."""
        squares = np.square(self.sums).sum(axis=1)
        return float((squares / np.maximum(self.counts, 1) ** self.exponent).sum())

    def assign(self, X):
        """The cluster that gains most by every row: for samples old and new."""
        labels = np.empty(len(X), np.int64)
        for rows in block_slices(len(X), max(len(self.counts), X.shape[1])):
            labels[rows] = self.join(X[rows]).argmax(axis=1)
        return labels

    def move(self, X, labels):
        """Every row in the cluster where it is worth most, by the sums as they are."""
        moved = np.empty_like(labels)
        for rows in block_slices(len(X), max(len(self.counts), X.shape[1])):
            x, own = X[rows], labels[rows]
            gains = self.join(x)
            gains[np.arange(len(x)), own] = self.stay(x, own)
            moved[rows] = gains.argmax(axis=1)
        return moved


def sums_of(X, labels, c):
    """Sums of the rows of every cluster, and its size."""
    n = len(labels)
    members = sp.csc_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(c, n))
    return members @ X, np.bincount(labels, minlength=c)


def unit_centers(X, c, n_init, seed, map):
    """Step 6: k-means centres of unit rows."""
    rows = ArrayRows(X, map)
    return kmeans_centers(rows, c, n_init=n_init, random_state=seed, map=map)[0]


def guarded_partition(passes, centers, c, n_init, seed, map):
    """The rule of the better of two ascents of F_a: from unit rows, or plain vectors.

    Unit rows split a large cluster where sizes are very unequal; plain singular vectors
    keep it whole, but fail where sizes are alike. The plain start is taken only if both
    passes speak for it (docs/methods/bridge.md).

    Returns
    -------
    SizeTolerant
    """
    starts = {"n_init": n_init, "seed": seed, "map": map}
    second = Ascents.of(passes.second, centers, c, **starts)
    plain = False
    if second.unevenness > _LESS_EVEN:
        X = diffused(passes.first.U, passes.first.spectrum.values, c)
        first = Ascents.of(passes.first, unit_centers(X, c, **starts), c, **starts)
        relative_F, J = first.compare()
        plain = relative_F > -_SLACK and J > 1e-6 and J + second.compare()[1] > 0
    return SizeTolerant.of(
        second.X, second.plain if plain else second.unit, c, _exponent(c, 0.2)
    )


@dataclass(frozen=True)
class Ascents:
    """What both starts of one pass end in."""

    found: Any  # Pass
    X: np.ndarray  # unit rows without the constant column
    c: int
    unit: np.ndarray  # labels
    plain: np.ndarray

    @classmethod
    def of(cls, found, centers, c, n_init, seed, map):
        Y = diffused(found.U, found.spectrum.values, c)
        leading = np.ascontiguousarray(found.U[:, 1:c])
        plain = unit_centers(leading, c, n_init, seed, map)
        starts = assign(Y, centers)[0], assign(leading, plain)[0]
        # In the constant column every sum grows with the size: with a < 1 one cluster
        # would take all where little else is in the rows.
        X = np.ascontiguousarray(Y[:, 1:])
        return cls(found, X, c, *(ascend(X, y, c, _exponent(c, 0.2)) for y in starts))

    @property
    def unevenness(self):
        """How much less entropy the sizes of the plain start have, in nats."""
        return entropy(self.unit) - entropy(self.plain)

    def compare(self):
        """Plain start minus unit start: a stricter F_a, relative, and block-model J."""
        a = _exponent(self.c, 0.4)
        F, J = [], []
        for labels in (self.unit, self.plain):
            F.append(SizeTolerant.of(self.X, labels, self.c, a).value())
            sums, counts = sums_of(self.found.U[:, 1:], labels, self.c)
            J.append(block_likelihood(sums, counts, self.found.spectrum.values))
        return F[1] / F[0] - 1, J[1] - J[0]


def _exponent(c, strength):
    """a of F_a: below 1 the more, the more clusters there are; 1 for two clusters."""
    return 1 - strength * (c - 2) / (c - 1)


def entropy(labels):
    """Of the sizes of the clusters, in nats."""
    counts = np.bincount(labels)
    share = counts[counts > 0] / len(labels)
    return float(-share @ np.log(share))


def ascend(X, labels, c, exponent):
    """Batch moves by exact single-move gains; the best partition on the way."""
    best, best_value, idle = labels, -np.inf, 0
    for _ in range(_MAX_ROUNDS):
        clusters = SizeTolerant.of(X, labels, c, exponent)
        value = clusters.value()
        idle = 0 if value > best_value else idle + 1
        if value > best_value:
            best, best_value = labels, value
        moved = clusters.move(X, labels)
        if idle >= _PATIENCE or (moved == labels).all():
            break
        labels = moved
    return best


def block_likelihood(sums, counts, squares):
    """J: degree-corrected block-model likelihood less the cost of the labels.

    Parameters
    ----------
    sums : ndarray of shape (c, K)
        Of the singular vectors over the samples of every cluster.
    counts : ndarray of shape (c,)
    squares : ndarray of shape (K,)
        Squared singular values.
    """
    n = counts.sum()
    share = counts / n
    used = share > 0
    sums, share = sums[used], share[used]
    expected = np.outer(share, share)
    M = np.maximum(expected + (sums * squares) @ sums.T / n, 1e-12)
    return float((M * np.log(M / expected)).sum() + _LABEL_COST * share @ np.log(share))
