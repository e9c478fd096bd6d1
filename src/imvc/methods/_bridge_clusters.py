"""Stability of AnchorBridge's clusters, and the number of clusters it suggests.

Each single graph (variant x anchor seed) is clustered alone; the stability of k
clusters is the mean adjusted Rand index between these partitions. The curve over k is
what the data say about the number of clusters: it is shown, not only its top.
"""

from itertools import combinations

import numpy as np

from imvc.kernels._kmeans import kmeans
from imvc.metrics import adjusted_rand

__all__ = ["mean_agreement", "stability_curve", "suggest"]

_STARTS = 5
_STRONG = 0.6  # a stability below this says that partitions differ for every k
_MARGIN = 0.05  # what the score of a suggested k must be ahead of all others


def mean_agreement(partitions):
    """Mean and standard deviation of the adjusted Rand index over pairs."""
    scores = [adjusted_rand(a, b) for a, b in combinations(partitions, 2)]
    return float(np.mean(scores)), float(np.std(scores))


def partition(X, k, seed, map):
    """Labels of a single graph's embedding: k-means with five starts."""
    return kmeans(X, k, n_init=_STARTS, random_state=seed, map=map).labels


def stability_curve(spaces, candidates, seed, map):
    """Rows (k, stability, spread) for every candidate.

    Parameters
    ----------
    spaces : list of callable
        One per graph: k -> the rows that k-means works on.
    """
    curve = []
    for k in candidates:
        partitions = [partition(space(k), k, seed, map) for space in spaces]
        curve.append((k, *mean_agreement(partitions)))
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
