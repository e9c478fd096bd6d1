"""Steps 6 and 7 of AnchorBridge: k-means, or a guard for clusters of unequal size.

    F_a = sum_k |S_k|^2 / n_k^a     S_k sum of the rows of cluster k, n_k their number

a = 1 is k-means on unit rows; a smaller a tolerates larger clusters.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import block_slices
from imvc.kernels._kmeans import kmeans_centers
from imvc.methods.anchor_model import find_centers
from imvc.methods.bridge.number import apply_and_assign

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


def cluster_component(runner, component, Y, partition, n_init, seed):
    """Learn where a component's clusters are, from the unit rows of ``Y``."""
    unit = Y.then(unit_rows)
    component.centers = find_centers(runner, unit, component.c, n_init, seed)
    if partition == "guarded" and 1 < component.c <= len(component.values) + 1:
        labels = label_component(runner, component, Y)
        component.guard = guarded_partition(
            runner, Y, component, labels, n_init=n_init, seed=seed
        )
        labels = label_component(runner, component, Y)
        function = partial(sums_of, c=component.c, function=unit_rows)
        sums, counts = runner.total(None, function, Y.items, labels.items)
        centers = sums / np.maximum(counts, 1)[:, None]
        component.centers = centers.astype(component.centers.dtype)


def label_component(runner, component, Y):
    """Labels by the rule as it is now; KeptRows."""
    function = partial(place_unit_rows, component=component)
    return runner.rows(None, function, Y.items, width=None, dtype=np.int64)


def place_unit_rows(Y, component):
    return component.place(unit_rows(Y))


def guarded_partition(runner, Y, component, labels, *, n_init, seed):
    """Step 7: the better of two ascents of F_a, as a rule that new samples can follow.

    Parameters
    ----------
    runner : Runner
    Y : KeptRows
        The embedding, its constant column first.
    component : ComponentModel
        Of it: squared singular values, decay and the number of clusters.
    labels : KeptRows
        Of step 6.
    """
    c = component.c
    skew = (c - 2) / (c - 1)
    vectors = partial(singular_vectors, decay=component.decay)
    leading = Y.then(vectors).then(partial(first_columns, count=c - 1))
    centers, _ = kmeans_centers(
        leading, c, n_init=n_init, random_state=seed, map=runner.map
    )
    place = partial(apply_and_assign, functions=leading.functions, centers=centers)
    spectral = runner.rows(None, place, Y.items, width=None, dtype=np.int64)
    u, r = (ascend(runner, Y, start, c, 1 - 0.2 * skew) for start in (labels, spectral))
    strict = [
        clusters_of(runner, Y, found, c, 1 - 0.4 * skew).value() for found in (u, r)
    ]
    sums = [
        runner.total(None, partial(sums_of, c=c, function=vectors), Y.items, y.items)
        for y in (u, r)
    ]
    likelihood = [block_likelihood(HU, counts, component.values) for HU, counts in sums]
    better = strict[1] > strict[0] and likelihood[1] > likelihood[0]
    return clusters_of(runner, Y, r if better else u, c, 1 - 0.2 * skew)


def ascend(runner, Y, labels, c, exponent):
    """Batch moves by exact single-move gains; the best partition on the way."""
    best, best_value, idle = labels, -np.inf, 0
    for _ in range(_MAX_ROUNDS):
        clusters = clusters_of(runner, Y, labels, c, exponent)
        value = clusters.value()
        idle = 0 if value > best_value else idle + 1
        if value > best_value:
            best, best_value = labels, value
        moved, count = runner.rows_and_total(
            None,
            partial(move, clusters=clusters),
            Y.items,
            labels.items,
            width=None,
            dtype=np.int64,
        )
        if idle >= _PATIENCE or not count:
            break
        labels = moved
    return best


def clusters_of(runner, Y, labels, c, exponent):
    """SizeTolerant of a partition of the unit rows."""
    function = partial(sums_of, c=c, function=unit_directions)
    sums, counts = runner.total(None, function, Y.items, labels.items)
    return SizeTolerant(sums, counts.astype(float), exponent)


def unit_directions(Y):
    """Unit rows of the embedding, without the constant column."""
    return unit_rows(Y)[:, 1:]


def singular_vectors(Y, decay):
    """Singular vectors without the constant one."""
    return Y[:, 1:] / decay.astype(Y.dtype)


def first_columns(U, count):
    return U[:, :count]


def sums_of(Y, labels, c, function):
    """``(sums of the rows of every cluster, sizes)`` of a block; they add up."""
    n = len(labels)
    members = sp.csc_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(c, n))
    return members @ function(Y), np.bincount(labels, minlength=c)


def move(Y, labels, clusters):
    """Every row in the cluster where it is worth most, by the sums as they are.

    Returns the labels, and how many changed.
    """
    X, moved = unit_directions(Y), labels.copy()
    for rows in block_slices(len(X), max(len(clusters.counts), X.shape[1])):
        x, own = X[rows], labels[rows]
        gains = clusters.join(x)
        gains[np.arange(len(x)), own] = clusters.stay(x, own)
        moved[rows] = gains.argmax(axis=1)
    return moved, int((moved != labels).sum())


def block_likelihood(HU, counts, squares):
    """J: degree-corrected block-model likelihood less the cost of the labels.

    Parameters
    ----------
    HU : ndarray of shape (c, K)
        Sums of the singular vectors over the samples of every cluster.
    counts : ndarray of shape (c,)
    squares : ndarray of shape (K,)
        Squared singular values.
    """
    n = counts.sum()
    share = counts / n
    used = share > 0
    HU, share = HU[used], share[used]
    expected = np.outer(share, share)
    M = np.maximum(expected + (HU * squares) @ HU.T / n, 1e-12)
    return float((M * np.log(M / expected)).sum() + share @ np.log(share) / 12)
