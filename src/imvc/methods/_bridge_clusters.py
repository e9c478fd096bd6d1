"""Stability of AnchorBridge's clusters, and the number of clusters it suggests.

Each single graph (variant x anchor seed) is clustered alone; the stability of k
clusters is the mean adjusted Rand index between these partitions. The curve over k is
what the data say about the number of clusters: it is shown, not only its top.
"""

from functools import partial
from itertools import combinations

import numpy as np

from imvc.kernels._kmeans import assign, kmeans_centers
from imvc.metrics import adjusted_rand_of
from imvc.scale import in_turn

__all__ = ["mean_agreement", "stability_curve", "suggest"]

_STARTS = 5
_STRONG = 0.6  # a stability below this says that partitions differ for every k
_MARGIN = 0.05  # what the score of a suggested k must be ahead of all others


def mean_agreement(runner, partitions):
    """Mean and standard deviation of the adjusted Rand index over pairs.

    Parameters
    ----------
    partitions : list of KeptRows
        Labels.
    """
    scores = [
        adjusted_rand_of(merge_tables(runner.collect(cross_table, a.items, b.items)))
        for a, b in combinations(partitions, 2)
    ]
    return float(np.mean(scores)), float(np.std(scores))


def cross_table(a, b):
    """How many samples of a block have which pair of labels."""
    shape = (int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1)
    cells = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def merge_tables(tables):
    """Sum of tables that may differ in size."""
    total = np.zeros(np.max([table.shape for table in tables], axis=0), np.int64)
    for table in tables:
        total[: table.shape[0], : table.shape[1]] += table
    return total


def partition(runner, space, k, seed):
    """Labels of a single graph's embedding: k-means with five starts; KeptRows."""
    centers, _ = kmeans_centers(
        space, k, n_init=_STARTS, random_state=seed, map=runner.map
    )
    place = partial(assign_in_turn, functions=space.functions, centers=centers)
    return runner.rows(None, place, space.items, width=None, dtype=np.int64)[0]


def assign_in_turn(rows, functions, centers):
    """Labels of a block, without a summary."""
    return assign(in_turn(rows, functions), centers)[0], 0


def stability_curve(runner, spaces, candidates, seed):
    """Rows (k, stability, spread) for every candidate.

    Parameters
    ----------
    spaces : list of callable
        One per graph: k -> the KeptRows that k-means works on.
    """
    curve = []
    for k in candidates:
        partitions = [partition(runner, space(k), k, seed) for space in spaces]
        curve.append((k, *mean_agreement(runner, partitions)))
    return np.array(curve, dtype=np.float64)


def suggest(curve):
    """``(k, evidence)`` from a stability curve.

    Coarse partitions agree more easily than fine ones, so the k with the largest
    stability times (1 - 1/k)^(1/3) is suggested. The evidence is "strong" when its
    stability is high and its score clearly above that of every other candidate.
    """
    k, stability = curve[:, 0].astype(int), curve[:, 1]
    score = stability * np.cbrt(1 - 1 / k)
    top = int(score.argmax())
    ahead = score[top] - np.delete(score, top).max(initial=0)
    strong = stability[top] >= _STRONG and ahead >= _MARGIN
    return int(k[top]), "strong" if strong else "weak"
