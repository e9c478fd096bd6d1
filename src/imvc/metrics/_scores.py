"""Scores that count samples or pairs of samples: exact integers up to one division."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from imvc.metrics._information import Contingency, contingency, contingency_of, nmi_of


class PairScores(NamedTuple):
    """F-score, precision and recall over pairs of samples."""

    fscore: float
    precision: float
    recall: float


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that agree under the best one-to-one map of clusters to classes.

    The map is the maximum-weight assignment (Hungarian method) on the contingency
    table, padded with zeros to a square: with more clusters than classes, the clusters
    left over count as errors. Symmetric in its arguments.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.

    Returns
    -------
    float
        Between 0 (exclusive) and 1.

    Examples
    --------
    >>> from imvc.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    return _accuracy(contingency(labels_true, labels_pred))


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that belong to the majority class of their cluster.

    Grows with the number of clusters: one cluster per sample has purity 1. A partition
    with nearly everything in one cluster has the share of the largest class.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.

    Returns
    -------
    float
        Between 0 (exclusive) and 1.

    See Also
    --------
    inverse_purity : The same with the roles exchanged.

    Examples
    --------
    >>> from imvc.metrics import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    return _purity(contingency(labels_true, labels_pred))


def inverse_purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples that sit in the main cluster of their class.

    Equal to ``purity(labels_pred, labels_true)``. A partition with everything in one
    cluster has inverse purity 1, whatever the classes; some published "purity" columns
    are this number because the arguments were exchanged.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.

    Returns
    -------
    float
        Between 0 (exclusive) and 1.

    Examples
    --------
    >>> from imvc.metrics import inverse_purity
    >>> inverse_purity([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return _inverse_purity(contingency(labels_true, labels_pred))


def adjusted_rand(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Rand index over pairs of samples, adjusted for chance (Hubert and Arabie).

    1 for equal partitions, 0 on average for unrelated ones, at worst -0.5. Symmetric in
    its arguments. Two equal trivial partitions (one cluster, or all singletons) give 1.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.

    Returns
    -------
    float
        Between -0.5 and 1.

    References
    ----------
    L. Hubert and P. Arabie, "Comparing partitions", Journal of Classification 2 (1985)
    193-218. https://doi.org/10.1007/BF01908075

    Examples
    --------
    >>> from imvc.metrics import adjusted_rand
    >>> adjusted_rand([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return _adjusted_rand(contingency(labels_true, labels_pred))


def adjusted_rand_of(counts: ArrayLike) -> float:
    """Adjusted Rand index from a table of counts, classes x clusters."""
    return _adjusted_rand(contingency_of(counts))


def pairwise_fscore(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, beta: float = 1.0
) -> PairScores:
    """F-score, precision and recall over the pairs of samples put together.

    A pair counts as found when both samples share a cluster and as relevant when they
    share a class. Precision = relevant among found, recall = found among relevant, and
    F = (1 + beta^2) P R / (beta^2 P + R). Pairs are counted from the contingency table
    in whole numbers, exact for any number of samples.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.
    beta : float, default=1.0
        Weight of recall against precision, positive.

    Returns
    -------
    PairScores
        Named tuple ``(fscore, precision, recall)``. A share of no pairs at all (every
        cluster, or every class, a singleton) is 0, unless both labelings consist of
        singletons: then they are equal and all three are 1.

    Examples
    --------
    >>> from imvc.metrics import pairwise_fscore
    >>> scores = pairwise_fscore([0, 0, 1, 1], [0, 0, 0, 1])
    >>> round(scores.precision, 3), scores.recall, scores.fscore
    (0.333, 0.5, 0.4)
    """
    if not (isinstance(beta, Real) and 0 < beta < float("inf")):
        raise ValueError(
            f"beta={beta!r} must be a positive number; 1 weighs precision and recall "
            "alike."
        )
    return _pair_scores(contingency(labels_true, labels_pred), float(beta))


def score_all(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """All scores of one clustering, from one contingency table.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, integers or strings.
    labels_pred : array-like of shape (n_samples,)
        Clusters, integers or strings.

    Returns
    -------
    dict of str to float
        In this order: ``acc``, ``nmi`` (normalised by the larger entropy),
        ``nmi_arithmetic``, ``ari``, ``purity``, ``inverse_purity``, ``fscore``,
        ``precision``, ``recall``.

    Examples
    --------
    >>> from imvc.metrics import score_all
    >>> scores = score_all([0, 0, 1, 1], [1, 1, 0, 0])
    >>> list(scores)[:4], set(scores.values())
    (['acc', 'nmi', 'nmi_arithmetic', 'ari'], {1.0})
    """
    table = contingency(labels_true, labels_pred)
    pairs = _pair_scores(table, 1.0)
    return {
        "acc": _accuracy(table),
        "nmi": nmi_of(table, "max"),
        "nmi_arithmetic": nmi_of(table, "arithmetic"),
        "ari": _adjusted_rand(table),
        "purity": _purity(table),
        "inverse_purity": _inverse_purity(table),
        "fscore": pairs.fscore,
        "precision": pairs.precision,
        "recall": pairs.recall,
    }


def _accuracy(table: Contingency) -> float:
    if table.is_bijection:
        return 1.0
    dense = table.toarray()
    # The rectangular assignment leaves the surplus labels unmatched, which is what the
    # zero padding to a square would do.
    row, col = linear_sum_assignment(dense, maximize=True)
    return int(dense[row, col].sum()) / table.n_samples


def _purity(table: Contingency) -> float:
    return _largest_cells(table.count, table.col) / table.n_samples


def _inverse_purity(table: Contingency) -> float:
    return _largest_cells(table.count, table.row) / table.n_samples


def _largest_cells(count: NDArray[np.int64], group: NDArray[np.int64]) -> int:
    largest = np.zeros(int(group.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, group, count)
    return int(largest.sum())


def _n_pairs(sizes: NDArray[np.int64]) -> int:
    """Pairs within groups of these sizes; int64 holds them up to n = 3e9."""
    return int((sizes * (sizes - 1)).sum()) // 2


def _adjusted_rand(table: Contingency) -> float:
    if table.is_bijection:
        return 1.0
    n = table.n_samples
    both = _n_pairs(table.count)
    relevant, found = _n_pairs(table.classes), _n_pairs(table.clusters)
    total = n * (n - 1) // 2
    # (both - expected) / (mean - expected), multiplied out: Python integers, no loss.
    numerator = 2 * (both * total - relevant * found)
    return numerator / ((relevant + found) * total - 2 * relevant * found)


def _pair_scores(table: Contingency, beta: float) -> PairScores:
    both = _n_pairs(table.count)
    relevant, found = _n_pairs(table.classes), _n_pairs(table.clusters)
    if relevant == found == 0:
        return PairScores(1.0, 1.0, 1.0)
    return PairScores(
        fscore=(1 + beta**2) * both / (beta**2 * relevant + found),
        precision=both / found if found else 0.0,
        recall=both / relevant if relevant else 0.0,
    )
