"""Do methods differ over datasets? Ranks, Friedman, Nemenyi, paired Wilcoxon."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


@dataclass(frozen=True)
class Ranking:
    """Methods over datasets.

    Attributes
    ----------
    labels : tuple of str
        Best mean rank first.
    ranks : tuple of float
        Mean ranks, 1 is best; ties share.
    n_datasets : int
    friedman_p : float
        Probability of such ranks if all methods were equally good.
    critical_difference : float
        Nemenyi: mean ranks nearer than this do not differ at the 5 % level.
    wilcoxon_p : dict of str to float
        Best method against each other, paired over datasets, corrected by Holm. With
        few datasets it cannot be small: at best 2 / 2**n_datasets before correction.

    References
    ----------
    J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7
    (2006) 1-30.
    """

    labels: tuple[str, ...]
    ranks: tuple[float, ...]
    n_datasets: int
    friedman_p: float
    critical_difference: float
    wilcoxon_p: dict[str, float]


def rank_methods(scores: ArrayLike, labels: Sequence[str]) -> Ranking:
    """Rank methods by their scores on several datasets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Higher is better; no gaps.
    labels : sequence of str

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from imvc.experiments import rank_methods
    >>> ranking = rank_methods([[0.9, 0.5, 0.4], [0.8, 0.6, 0.7]], ["a", "b", "c"])
    >>> ranking.labels, ranking.ranks
    (('a', 'b', 'c'), (1.0, 2.5, 2.5))
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(labels) or not np.isfinite(table).all():
        raise ValueError(
            f"scores of shape {table.shape} must be a full table of datasets x "
            f"{len(labels)} methods without gaps."
        )
    n, k = table.shape
    if n < 2 or k < 2:
        raise ValueError(
            f"{n} datasets and {k} methods: ranks need at least two of each."
        )
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    names = [labels[i] for i in order]
    best = table[:, order[0]]
    return Ranking(
        labels=tuple(names),
        ranks=tuple(float(ranks[i]) for i in order),
        n_datasets=n,
        friedman_p=_friedman(table),
        critical_difference=nemenyi_factor(k) * sqrt(k * (k + 1) / (6 * n)),
        wilcoxon_p=_holm({labels[i]: _wilcoxon(best, table[:, i]) for i in order[1:]}),
    )


@cache
def nemenyi_factor(k: int) -> float:
    """Of the critical difference of `k` methods at the 5 % level."""
    return float(stats.studentized_range.ppf(0.95, k, inf) / sqrt(2))


def _friedman(table: np.ndarray) -> float:
    if table.shape[1] < 3 or (table == table[:, :1]).all():
        return 1.0 if table.shape[1] > 2 else _wilcoxon(table[:, 0], table[:, 1])
    return float(stats.friedmanchisquare(*table.T).pvalue)


def _wilcoxon(a: np.ndarray, b: np.ndarray) -> float:
    if (a == b).all():
        return 1.0
    return float(stats.wilcoxon(a, b).pvalue)


def _holm(p: dict[str, float]) -> dict[str, float]:
    corrected, largest = {}, 0.0
    for i, name in enumerate(sorted(p, key=lambda name: p[name])):
        largest = max(largest, min(1.0, (len(p) - i) * p[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p}
