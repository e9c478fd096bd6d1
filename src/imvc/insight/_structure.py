"""structure: are there clusters at all, or would noise look the same?

Clusters of noise do not come back when other samples are drawn. How much comes back by
chance depends on n, on the number of clusters, on the features and on the method, so it
is measured: on the same data with every column shuffled over its observed rows. No
feature then knows of any other, in its view or in another one.

Halves of the samples are drawn, not larger parts: two draws that share most of their
samples also share what is accidental in them (over 96 sets of noise the mean agreement
of draws of 80 % went up to 0.99, of halves to 0.78). The rule and what it was measured
on: benchmarks/RESULTS.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc._notebook import box
from imvc._plain import plain
from imvc.insight._confidence import refit_labels
from imvc.insight._fitted import check_same_samples, model_views
from imvc.metrics import adjusted_rand
from imvc.views import IncompleteViews, with_observed

# Found: better than shuffled data by the margin and some of the spread of both, half of
# it with eight draws; or so stable that it is not called noise whatever shuffled data
# do, since single columns may tell clusters (topics of documents). Where it is far more
# or far more stable after the first few draws, the others are spared.
_MARGIN = 0.05
_STABLE = 0.8
_FIRST_FEW, _FAR_MORE, _VERY_STABLE = 4, 1.5, 0.9
_PER_SHUFFLE = 4  # draws from one shuffle of the data
_LEAST = 10  # samples per cluster that a draw should have
_Draw = tuple[np.ndarray, np.ndarray]  # samples and their labels


@dataclass(frozen=True)
class Structure:
    """Whether clusters are more than noise would give.

    Parameters
    ----------
    found : bool or None
        False where the clusters come back no better than those of shuffled data; None
        where it cannot be told (`reason` says why).
    stability : float
        Mean agreement (adjusted Rand index) of clusterings of random halves of the
        samples, on the samples that two halves share; NaN if not known.
    shuffled : float
        The same for the data with every column shuffled.
    n_samples : int
        Samples that the halves were drawn from.
    n_fits : int
        Fits that were made.
    reason : str
        What was found in words; goes on after "No cluster structure was found:".
    """

    found: bool | None
    stability: float
    shuffled: float
    n_samples: int
    n_fits: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON; None for what is not known."""
        return plain(vars(self), otherwise=lambda _: None)

    def __repr__(self) -> str:
        told = {True: "found", False: "not found", None: "not known"}[self.found]
        return (
            f"<Structure: {told}, stability {self.stability:z.2f}, "
            f"shuffled {self.shuffled:z.2f}, {self.n_fits} fits>"
        )

    def _repr_html_(self) -> str:
        told = {True: "was found", False: "was not found", None: "is not known"}
        return box(f"Cluster structure {told[self.found]}:", f"{self.reason}.")


def structure(
    model: Any,
    Xs: Any,
    *,
    mask: Any = None,
    n_draws: int = 8,
    max_samples: int = 2000,
    random_state: int = 0,
    callback: Callable[[int], Any] | None = None,
) -> Structure:
    """Tell whether clusters are more stable than those of shuffled data.

    Parameters
    ----------
    model : fitted estimator
        Of any method.
    Xs : as in ``fit``
        The data of the fit.
    mask : array-like of bool, shape (n_samples, n_views), optional
    n_draws : int, default=8
        Random halves of the samples that are clustered, into as many clusters as the
        model has; of shuffled data twice as many. Where clusters are clear after four
        of them, the others are left out.
    max_samples : int, default=2000
        Samples that halves are drawn from, at random where there are more; the first
        four halves from half as many.
    random_state : int, default=0
        The answer is the same for the same number.
    callback : callable, optional
        Called with the number of draws made so far, at most `n_draws`.

    Returns
    -------
    Structure

    Notes
    -----
    Shuffled columns have no ties left, so clusters that come back better owe it to ties
    between features. These need not be clusters: data whose features go together along
    one strong factor (a continuum) are cut in the same way again and again, and are not
    called noise. Clusters that single columns tell, which shuffling leaves as they are,
    are known by their stability alone (0.8 or more).

    Examples
    --------
    >>> from imvc import ImputeKMeans
    >>> from imvc.datasets import make_views
    >>> from imvc.insight import structure
    >>> data = make_views(120, (5, 4), 3, incomplete=0.3, random_state=0)
    >>> model = ImputeKMeans(3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> structure(model, data.Xs, mask=data.mask, n_draws=4).found
    True
    """
    for name, value in (("n_draws", n_draws), ("max_samples", max_samples)):
        if not isinstance(value, Integral) or value < 4:
            raise ValueError(f"{name}={value!r} must be a whole number, 4 or more.")
    views = model_views(model, Xs, mask)
    check_same_samples(model, views, "pass the data of the fit")
    clusters = len(np.unique(model.labels_))
    if clusters < 2 or views.n_samples // 2 <= clusters:
        return _unknown(views.n_samples, "there are too few samples or clusters")
    rng = np.random.default_rng(random_state)
    order = rng.permutation(views.n_samples)
    sizes = [
        min(views.n_samples, max(int(most), 2 * _LEAST * clusters))
        for most in (max_samples // 2, max_samples)
    ]
    few, many = (views.select(np.sort(order[:size])) for size in sizes)
    try:
        return _look_twice(model, few, many, int(n_draws), rng, callback)
    except ValueError as error:  # such as more anchors than a half has samples
        reason = f"halves of the samples could not be clustered ({error})"
        return _unknown(sizes[1], reason)


def _look_twice(
    model: Any,
    few: IncompleteViews,
    many: IncompleteViews,
    n_draws: int,
    rng: Any,
    callback: Callable[[int], Any] | None,
) -> Structure:
    """A first look at few samples, and where these leave it open a closer one."""
    seen, done = _Comparison(model, few, rng), 0
    while len(seen.draws) < n_draws:
        seen.add_draw()
        done += 1
        if callback is not None:
            callback(min(done, n_draws))
        if len(seen.draws) == _FIRST_FEW and seen.views is few:
            if seen.stands_out(_FAR_MORE, _VERY_STABLE):
                return seen.answer(True)
            if many.n_samples > few.n_samples:
                seen = _Comparison(model, many, rng, seen.n_fits)
    return seen.answer(seen.stands_out(float(np.sqrt(2 / n_draws)), _STABLE))


class _Comparison:
    """Draws of views and of shuffled views, and how well either agree."""

    def __init__(
        self, model: Any, views: IncompleteViews, rng: Any, n_fits: int = 0
    ) -> None:
        self.model, self.views, self.rng, self.n_fits = model, views, rng, n_fits
        self.draws: list[_Draw] = []
        self.by_chance: list[float] = []

    def add_draw(self) -> None:
        """One draw more; every other time those of another shuffle, too."""
        self.draws.append(self._draw(self.views))
        if len(self.draws) % 2:
            other = shuffled(self.views, self.rng)
            same = [self._draw(other) for _ in range(_PER_SHUFFLE)]
            self.by_chance += agreements(same, other.n_samples)

    def _draw(self, views: IncompleteViews) -> _Draw:
        """A random half of the samples and its clusters."""
        self.n_fits += 1
        rows = np.sort(self.rng.permutation(views.n_samples)[: views.n_samples // 2])
        seed = int(self.rng.integers(2**31 - 1))
        return rows, refit_labels(self.model, views.select(rows), seed)

    @property
    def values(self) -> list[float]:
        return agreements(self.draws, self.views.n_samples)

    def stands_out(self, spreads: float, stable: float) -> bool:
        """Whether draws agree better than those of shuffled data, or very well."""
        mean, spread = np.mean(self.values), np.std(self.values)
        margin = _MARGIN + spreads * np.hypot(spread, np.std(self.by_chance))
        return bool(mean - np.mean(self.by_chance) > margin or mean >= stable)

    def answer(self, found: bool) -> Structure:
        stability, by_chance = np.mean(self.values), np.mean(self.by_chance)
        return Structure(
            found=found,
            stability=float(stability),
            shuffled=float(by_chance),
            n_samples=self.views.n_samples,
            n_fits=self.n_fits,
            reason=_in_words(found, float(stability), float(by_chance)),
        )


def _unknown(n_samples: int, reason: str) -> Structure:
    return Structure(None, np.nan, np.nan, n_samples, 0, reason)


def agreements(draws: list[_Draw], n: int) -> list[float]:
    """Adjusted Rand index of any two draws of `n`, on the samples that they share."""
    labels = np.full((len(draws), n), -1)
    for row, (samples, found) in zip(labels, draws):
        row[samples] = found
    return [_agree(a, b) for a, b in combinations(labels, 2)]


def _agree(a: np.ndarray, b: np.ndarray) -> float:
    shared = (a >= 0) & (b >= 0)
    a, b = a[shared], b[shared]
    # Where all that is shared is in one cluster, nothing was put apart twice.
    if len(a) == 0 or a.min() == a.max() or b.min() == b.max():
        return 0.0
    return float(adjusted_rand(a, b))


def shuffled(views: IncompleteViews, rng: Any) -> IncompleteViews:
    """The same views with every column shuffled over its observed rows."""
    every = range(views.n_views)
    return with_observed(
        views, [_shuffle_columns(views.observed(v), rng) for v in every]
    )


def _shuffle_columns(X: Any, rng: Any) -> Any:
    if not sp.issparse(X):
        return rng.permuted(X, axis=0)
    columns = sp.csc_array(X, copy=True)
    for start, end in pairwise(columns.indptr.tolist()):
        columns.indices[start:end] = rng.permutation(X.shape[0])[: end - start]
    columns.has_sorted_indices = False
    return columns.tocsr()


def _in_words(found: bool, stability: float, by_chance: float) -> str:
    if found:
        return (
            f"clusterings of random halves of the samples agree by {stability:z.2f}, "
            f"those of the same data with every column shuffled by {by_chance:z.2f}"
        )
    how = "no" if stability - by_chance < _MARGIN else "hardly"
    return (
        f"the clusters are {how} more stable ({stability:z.2f}) than those of the same "
        f"data with every column shuffled ({by_chance:z.2f})"
    )
