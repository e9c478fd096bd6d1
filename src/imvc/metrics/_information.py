"""The contingency table that every metric reads, and scores from its information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.cluster import expected_mutual_information

from imvc.metrics._labels import encode_labels, encode_patterns

Average = Literal["max", "arithmetic", "geometric", "min"]
_EXACT_SAMPLES = 1_000_000
_EXACT_PER_CELL = 5_000  # samples


@dataclass(frozen=True, eq=False)
class Contingency:
    """N_ij = number of samples of class i in cluster j, the nonzero cells only.

    Sparse by construction, so that two labelings of a million singletons need a million
    cells, not their square.
    """

    row: NDArray[np.int64]
    col: NDArray[np.int64]
    count: NDArray[np.int64]
    classes: NDArray[np.int64]
    """Samples per class, the row sums."""
    clusters: NDArray[np.int64]
    """Samples per cluster, the column sums."""

    @property
    def n_samples(self) -> int:
        """Number of samples counted."""
        return int(self.classes.sum())

    @property
    def is_bijection(self) -> bool:
        """Whether the two labelings are the same partition."""
        return len(self.count) == len(self.classes) == len(self.clusters)

    def toarray(self) -> NDArray[np.int64]:
        """Return the dense table, classes in rows and clusters in columns."""
        return sp.coo_array((self.count, (self.row, self.col))).toarray()


def contingency(labels_true: ArrayLike, labels_pred: ArrayLike) -> Contingency:
    """Count the samples of every (class, cluster) pair; O(n log n)."""
    true = encode_labels(labels_true, "labels_true")
    pred = encode_labels(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise ValueError(
            f"labels_true has {len(true)} labels and labels_pred has {len(pred)}; "
            "pass one label per sample in both, in the same order."
        )
    n_clusters = int(pred.max()) + 1
    cells, count = np.unique(true * n_clusters + pred, return_counts=True)
    return Contingency(
        row=cells // n_clusters,
        col=cells % n_clusters,
        count=count.astype(np.int64),
        classes=np.bincount(true).astype(np.int64),
        clusters=np.bincount(pred).astype(np.int64),
    )


def contingency_of(counts: ArrayLike) -> Contingency:
    """Contingency of a table of counts, without its empty rows and columns."""
    table = np.asarray(counts, np.int64)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    row, col = np.nonzero(table)
    return Contingency(row, col, table[row, col], table.sum(axis=1), table.sum(axis=0))


def nmi(
    labels_true: ArrayLike, labels_pred: ArrayLike, average: Average = "max"
) -> float:
    """Mutual information divided by an average of the two entropies.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.
    average : {"max", "arithmetic", "geometric", "min"}, default="max"
        What to divide by. ``"max"`` is the choice of the RISE paper's tables and never
        larger than the others; ``"arithmetic"`` is that of scikit-learn and of most
        competing papers. Do not compare numbers of different averages.

    Returns
    -------
    float
        Between 0 and 1. If both labelings have a single cluster they are equal: 1. If
        only one has, it says nothing about the other: 0.

    Examples
    --------
    >>> from imvc.metrics import nmi
    >>> nmi([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> nmi([0, 0, 1, 1], [0, 1, 2, 3]), nmi([0, 0, 1, 1], [0, 1, 2, 3], average="min")
    (0.5, 1.0)
    """
    if average not in get_args(Average):
        raise ValueError(
            f"average={average!r} is unknown; use one of "
            f"{', '.join(repr(name) for name in get_args(Average))}."
        )
    return nmi_of(contingency(labels_true, labels_pred), average)


def pattern_leakage(labels: ArrayLike, mask: ArrayLike) -> float:
    """Adjusted mutual information between a clustering and the missing pattern.

    The pattern of a sample is the set of views it was observed in. A clustering that
    groups samples by *which* views they have, instead of by what the views say, has a
    leakage near 1. When views are missing at random it should be near 0; when they are
    missing more often in some classes, a correct clustering leaks as well. Needs no
    known classes.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Clusters, integers or strings.
    mask : array-like of shape (n_samples, n_views)
        True (or 1) where a sample was observed.

    Returns
    -------
    float
        At most 1. The expectation under chance is subtracted, so unrelated labelings
        scatter around 0 and may be slightly negative; the value is not clipped, because
        a clipped mean over many runs would be biased upwards. 0 when there is only one
        pattern or one cluster.

    Notes
    -----
    The entropies are averaged arithmetically. The cost of the expectation grows like
    the number of samples times the smaller of the numbers of clusters and patterns.

    Examples
    --------
    >>> from imvc.metrics import pattern_leakage
    >>> mask = [[1, 1], [1, 1], [1, 0], [1, 0]]
    >>> round(pattern_leakage([0, 0, 1, 1], mask), 6)
    1.0
    >>> pattern_leakage([0, 0, 1, 1], [[1, 1]] * 4)
    0.0
    """
    codes = encode_labels(labels, "labels")
    patterns = encode_patterns(mask, len(codes))
    return adjusted_information_of(contingency(codes, patterns))


def pattern_leakage_of(counts: ArrayLike) -> float:
    """Pattern leakage from a table of counts, patterns x clusters."""
    return adjusted_information_of(contingency_of(counts))


def adjusted_information_of(table: Contingency) -> float:
    """Adjusted mutual information of a table; 0 if it has one row or column.

    Beyond a million samples, or 5000 for each cell, the expectation under chance is
    taken from its leading term, (r - 1)(c - 1) / 2n for r rows and c columns: the next
    one is of order 1/n^2, and the exact sum would grow with n.
    """
    if len(table.classes) == 1 or len(table.clusters) == 1:
        return 0.0
    n = table.n_samples
    cells = len(table.classes) * len(table.clusters)
    if n <= min(_EXACT_SAMPLES, _EXACT_PER_CELL * cells):
        counts = sp.csr_matrix((table.count, (table.row, table.col)))
        chance = float(expected_mutual_information(counts, n))
    else:
        chance = (len(table.classes) - 1) * (len(table.clusters) - 1) / (2 * n)
    most = _average(_entropy(table.classes), _entropy(table.clusters), "arithmetic")
    least = float(np.finfo(np.float64).eps)
    room = most - chance
    room = min(room, -least) if room < 0 else max(room, least)
    return (_mutual_information(table) - chance) / room


def nmi_of(table: Contingency, average: Average) -> float:
    """Normalised mutual information of a contingency table."""
    if table.is_bijection:
        return 1.0
    if len(table.classes) == 1 or len(table.clusters) == 1:
        return 0.0
    h_true, h_pred = _entropy(table.classes), _entropy(table.clusters)
    value = _mutual_information(table) / _average(h_true, h_pred, average)
    return float(np.clip(value, 0.0, 1.0))


def _average(a: float, b: float, average: Average) -> float:
    if average == "arithmetic":
        return (a + b) / 2
    if average == "geometric":
        return float(np.sqrt(a * b))
    return max(a, b) if average == "max" else min(a, b)


def _entropy(sizes: NDArray[np.int64]) -> float:
    share = sizes / sizes.sum()
    return float(-(share @ np.log(share)))


def _mutual_information(table: Contingency) -> float:
    n = table.n_samples
    share = table.count / n
    independent = (table.classes[table.row] / n) * (table.clusters[table.col] / n)
    return float(share @ np.log(share / independent))
