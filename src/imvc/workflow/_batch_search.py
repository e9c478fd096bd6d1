"""BatchSearch: clusters and batch effects, each found with the help of the other.

    clusters from the views without batch effects
    -> batch effects as differences between batches within clusters -> ...

Two starts: the clusters as they are, and those of views whose batches have a common
middle (which also helps where the clusters are the batches). Of all rounds the one is
taken whose additive model, cluster means plus batch effects, leaves the least residual.

Batch effects are worth removing where k clusters and q - 1 effects describe the data
better than k + q - 1 clusters without any. If the clusters change by it, they must do
so clearly, and be more than what the method finds in noise of the same covariance:
where clusters and batches coincide, nothing tells one from the other.
"""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from imvc.insight._fitted import labels_of_copy
from imvc.kernels._batch_effects import (
    TwoWay,
    middle_effects,
    mixed_rows,
    two_way_means,
)
from imvc.metrics import adjusted_rand
from imvc.views import IncompleteViews, with_observed
from imvc.workflow._batch_effects import subtract_effects

_SAME = 0.99  # adjusted Rand index of clusters that have come to rest
_ALIKE = 0.9  # of clusters that tell the same story
_LEAST_GAIN = 0.1  # of what clusters explain, to change them (measured)
_NOISE_FITS, _NOISE_TERMS = 4, 16


class Round(NamedTuple):
    """Effects, the clusters of the views without them, and what both leave."""

    residual: float
    number: int
    effects: list[np.ndarray]
    labels: np.ndarray


class Refusal(NamedTuple):
    """Why no batch effects are removed; confounded: they may be there all the same."""

    reason: str
    confounded: bool


class BatchSearch:
    """Alternation over the samples whose batch is known; all samples are clustered."""

    def __init__(
        self,
        estimator: Any,
        views: IncompleteViews,
        codes: np.ndarray,
        n_batches: int,
        column: str,
        tell: Callable[[int], None] | None,
    ) -> None:
        self.estimator, self.views, self.codes = estimator, views, codes
        self.n_batches, self.column, self.tell = n_batches, column, tell
        self.n_fits = 0
        seen = [views.rows(v) for v in range(views.n_views)]
        self.known = [rows[codes[rows] >= 0] for rows in seen]
        everybody = np.zeros(views.n_samples, np.int64)
        self.totals = [part.residual.sum() for part in self.two_way(everybody, False)]
        self.n_clusters = estimator.n_clusters
        if not isinstance(self.n_clusters, Integral):
            # Decided on the views without the means of their batches.
            means = [part.effects for part in self.two_way(everybody)]
            self._decide_number(means)

    def _decide_number(self, effects: list[np.ndarray]) -> None:
        """Let the estimator choose the number on the views without some effects."""
        self.n_clusters = self.estimator.n_clusters
        self.n_clusters = int(self.fit(self.without(effects)).max()) + 1

    def start_and_best(self, n_rounds: int) -> tuple[np.ndarray, Round]:
        """Plain clusters, and the best round.

        Means of batches hold something of their clusters too. So a number that was not
        given is decided again without the effects of the best round.
        """
        plain = self.fit(self.views)
        best = self.best_round(plain, n_rounds)
        if not isinstance(self.estimator.n_clusters, Integral):
            before = self.n_clusters
            self._decide_number(best.effects)
            if self.n_clusters != before:
                plain = self.fit(self.views)
                best = self.best_round(plain, n_rounds)
        return plain, best

    def fit(self, views: IncompleteViews, n_clusters: Any = None) -> np.ndarray:
        """Clusters of views by a copy of the estimator, which keeps its peace."""
        k = self.n_clusters if n_clusters is None else n_clusters
        labels = labels_of_copy(self.estimator, views, n_clusters=k)
        self.n_fits += 1
        if self.tell is not None:
            self.tell(self.n_fits)
        return labels

    def two_way(
        self, labels: np.ndarray, batches: bool = True, *, shrink: bool = False
    ) -> list[TwoWay]:
        """Cluster means and batch effects of every view; without batches, means."""
        k, q = int(labels.max()) + 1, self.n_batches if batches else 1
        codes = self.codes if batches else np.zeros_like(self.codes)
        return [
            two_way_means(
                self.views.take(v, rows), labels[rows], codes[rows], k, q, shrink=shrink
            )
            for v, rows in enumerate(self.known)
        ]

    def residual(self, labels: np.ndarray, batches: bool = True) -> float:
        """What cluster means (and batch effects) leave: mean share over views."""
        parts = zip(self.two_way(labels, batches), self.totals)
        return float(np.mean([_share(p.residual.sum(), total) for p, total in parts]))

    def without(self, effects: list[np.ndarray]) -> IncompleteViews:
        """The views without batch effects."""
        named = dict(zip(self.views.names, effects))
        return subtract_effects(self.views, named, self.codes)

    def shares(self, effects: list[np.ndarray]) -> list[float]:
        """Share of the variance of every view that the effects are."""
        found = []
        for rows, own, total in zip(self.known, effects, self.totals):
            sizes = np.bincount(self.codes[rows], minlength=self.n_batches)
            found.append(_share(sizes @ (own**2).sum(axis=1), total))
        return found

    def best_round(self, plain: np.ndarray, n_rounds: int) -> Round:
        """The round of least residual, from either start."""
        middles = [
            middle_effects(
                self.views.take(v, rows),
                self.codes[rows],
                self.n_clusters,
                self.n_batches,
            )
            for v, rows in enumerate(self.known)
        ]
        rounds = [
            step
            for start in (plain, self.fit(self.without(middles)))
            for step in self._rounds(start, n_rounds)
        ]
        return min(rounds, key=lambda step: step.residual)

    def _rounds(self, labels: np.ndarray, n_rounds: int) -> Iterator[Round]:
        """Rounds from clusters on, until these no longer change."""
        for number in range(1, n_rounds + 1):
            before = labels
            effects = [p.effects for p in self.two_way(labels, shrink=True)]
            labels = self.fit(self.without(effects))
            yield Round(self.residual(labels), number, effects, labels)
            if adjusted_rand(before, labels) > _SAME:
                return

    def refusal(self, plain: np.ndarray, best: Round) -> Refusal | None:
        """Why nothing should be removed; None if it should."""
        alike = adjusted_rand(plain, best.labels) > _ALIKE
        explained = self.residual(np.zeros_like(plain)) - best.residual
        gain = self._residual_of_clusters(plain) - best.residual
        if gain <= (0 if alike else _LEAST_GAIN * explained):
            return Refusal(
                f"without effects of {self.column}, a few more clusters describe the "
                f"data as well",
                confounded=not alike,
            )
        if not alike and not self._beats_noise(best):
            return Refusal(
                f"no clusters are left without what {self.column} explains",
                confounded=True,
            )
        return None

    def _residual_of_clusters(self, plain: np.ndarray) -> float:
        """The least that clusters leave without batch effects, with as many means."""
        more = min(self.n_clusters + self.n_batches - 1, self.views.n_samples)
        try:
            labels = self.fit(self.views, more)
        except ValueError:
            # Parameters that allow k clusters need not allow more of them.
            labels = plain
        return min(self.residual(own, batches=False) for own in (plain, labels))

    def _beats_noise(self, best: Round) -> bool:
        """Whether the clusters leave less than those of noise, by more than noise does.

        The noise has the mask of the views, and their covariance without the effects.
        """
        own = _residual_share(self.without(best.effects), best.labels)
        noise = []
        for seed in range(_NOISE_FITS):
            views = self._noise(best, np.random.default_rng(seed))
            noise.append(_residual_share(views, self.fit(views)))
        return own < min(noise) - (max(noise) - min(noise))

    def _noise(self, best: Round, rng: np.random.Generator) -> IncompleteViews:
        views, n = self.without(best.effects), self.views.n_samples
        drawn = rng.integers(n, size=n * _NOISE_TERMS)
        signs = rng.choice([-1.0, 1.0], size=n * _NOISE_TERMS)
        starts = np.arange(0, n * _NOISE_TERMS + 1, _NOISE_TERMS)
        mixing = sp.csr_array((signs, drawn, starts), shape=(n, n))
        mixed = []
        for v in range(views.n_views):
            X, rows = views.observed(v), views.rows(v)
            mean = X.mean(axis=0)
            R = np.zeros((n, X.shape[1]))
            R[rows] = X - mean
            found = mixed_rows(R, views.mask[:, v], mixing)[rows] + mean
            mixed.append(found.astype(X.dtype))
        return with_observed(views, mixed)


def _residual_share(views: IncompleteViews, labels: np.ndarray) -> float:
    """Share of the variance that cluster means leave, mean over views."""
    k, shares = int(labels.max()) + 1, []
    for v in range(views.n_views):
        X, own = views.observed(v), labels[views.rows(v)]
        one = np.zeros_like(own)
        total = two_way_means(X, one, one, 1, 1).residual.sum()
        shares.append(_share(two_way_means(X, own, one, k, 1).residual.sum(), total))
    return float(np.mean(shares))


def _share(part: float, total: float) -> float:
    """A share of a total, 0 of nothing."""
    return float(part / total) if total > 0 else 0.0
