"""confidence: how sure the cluster of each sample is.

Measured on seven sets (digits views, planted clusters, WebKB, Prokaryotic, Wikipedia,
3Sources; 50 % incomplete or as published) with AnchorBridge, RISE and ImputeKMeans, by
how well a number tells rightly from wrongly clustered samples (area under the ROC
curve, mean of 21 fits): margin 0.76, stability 0.65, mean of both 0.784, product 0.779.
So the score is the mean (AnchorBridge alone: 0.81; on the digits views 0.92). Of the
rules that flag about 15 % of the samples, the one below had the most errors among the
flagged: 56 %, against 21 % among the others. Score and rule were chosen on these 21
fits, so the figures flatter them a little.

It tells how sure the *cluster* is, not whether clusters are the classes one has in
mind: where they split or join classes it hardly tells right from wrong (AnchorBridge on
Prokaryotic 0.54; on Caltech101-7, looked at afterwards, 0.58, guarded 0.45).
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from imvc._notebook import bar, box, import_pandas, table
from imvc.insight._fitted import (
    check_same_samples,
    cluster_centers,
    clustering_space,
    labels_of_copy,
    model_views,
)
from imvc.kernels._distances import block_slices, squared_distances
from imvc.scale import threaded_map
from imvc.views import IncompleteViews

_SMALL_MARGIN = 0.1
_MEDIAN_SHARE = 1 / 3  # in wide noisy spaces all margins are small
_MOVED = 0.5  # stability at which a sample is flagged
_BARS = 10  # in notebooks


@dataclass(frozen=True, eq=False)
class Confidence:
    """How sure the cluster of every sample is.

    Parameters
    ----------
    margin : ndarray of shape (n_samples,)
        1 - d1/d2 with the distances to the own and to the nearest other centre: 1 at
        the own centre, 0 half way between two (or nearer to the other).
    stability : ndarray of shape (n_samples,)
        Share of refits with other seeds that put the sample into the same cluster;
        NaN without refits.
    score : ndarray of shape (n_samples,)
        Mean of the two, 0 to 1; the margin alone without refits.
    low : ndarray of bool, shape (n_samples,)
        Samples whose cluster should not be relied on.
    rule : str
        When a sample is `low`, in words.
    """

    margin: np.ndarray
    stability: np.ndarray
    score: np.ndarray
    low: np.ndarray
    rule: str

    def to_frame(self) -> Any:
        """A pandas DataFrame of margin, stability, score and low, a row per sample."""
        names = ("margin", "stability", "score", "low")
        return import_pandas().DataFrame({name: getattr(self, name) for name in names})

    def _counted(self) -> str:
        return (
            f"{len(self.score)} samples: median {np.median(self.score):.2f}, "
            f"{int(self.low.sum())} low"
        )

    def __repr__(self) -> str:
        return f"<Confidence of {self._counted()}>"

    def _repr_html_(self) -> str:
        edges = np.linspace(0, 1, _BARS + 1)
        every, low = (
            np.histogram(x, edges)[0] for x in (self.score, self.score[self.low])
        )
        rows = zip(edges, edges[1:], every.tolist(), low.tolist())
        return box(
            f"Confidence of {self._counted()}",
            table(
                "lrlr",
                ["score", "samples", "", "low"],
                (
                    [f"{a:.1f} to {b:.1f}", n, bar(n / every.max()), flagged]
                    for a, b, n, flagged in rows
                ),
            ),
            self.rule,
        )


def confidence(
    model: Any, Xs: Any, *, mask: Any = None, n_refits: int = 4
) -> Confidence:
    """Tell how sure the cluster of every sample is.

    Parameters
    ----------
    model : fitted estimator
        Of any method; one that was loaded from a file will do.
    Xs : as in ``fit``
        The data of the fit. Without refits also new samples, for methods that place
        them (``predict``).
    mask : array-like of bool, shape (n_samples, n_views), optional
    n_refits : int, default=4
        How often the model is fitted again with other seeds, which come from its
        ``random_state`` and so are always the same. Each costs as much as the fit.
        Clusters of a refit are matched to the model's by the most samples in common.
        A method without randomness is perfectly stable: that says nothing about it.

    Returns
    -------
    Confidence
        The score of the samples of the fit is also noted on the model, as
        ``confidence_``, for its ``results_``.

    Notes
    -----
    It tells how sure the cluster is, not whether clusters are the classes one has in
    mind. A sample deep inside a cluster that joins two classes is confidently placed.

    Examples
    --------
    >>> from imvc import AnchorBridge
    >>> from imvc.datasets import make_views
    >>> from imvc.insight import confidence
    >>> data = make_views(200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> found = confidence(model, data.Xs, mask=data.mask, n_refits=2)
    >>> found.score.shape, float(found.low.mean()) < 0.1
    ((200,), True)
    """
    if not isinstance(n_refits, Integral) or n_refits < 0:
        raise ValueError(f"n_refits={n_refits!r} must be a whole number, 0 or more.")
    views = model_views(model, Xs, mask)
    centers = cluster_centers(model)
    fitted = None
    if hasattr(model, "embedding_"):  # not if it was fitted out of core and loaded
        X = clustering_space(model, model.embedding_)
        fitted = margins(X, model.labels_, centers)
    if fitted is None or (n_refits == 0 and hasattr(model, "transform")):
        X = clustering_space(model, np.asarray(model.transform(views)))
        margin = margins(X, np.asarray(model.predict(views)), centers)
    else:
        check_same_samples(
            model, views, "pass the data of the fit, or n_refits=0 for new samples"
        )
        margin = fitted
    stability = refit_stability(model, views, int(n_refits))
    limit = _SMALL_MARGIN if fitted is None else margin_limit(fitted)
    low = (margin <= limit) | (stability <= _MOVED)
    score = margin if n_refits == 0 else (margin + stability) / 2
    if fitted is not None and margin.shape == fitted.shape:
        if np.allclose(margin, fitted):  # else they may be new samples
            model.confidence_ = score
    return Confidence(margin, stability, score, low, _rule(limit, int(n_refits)))


def margin_limit(fitted: np.ndarray) -> float:
    """The margin up to which a sample is flagged, by those of the fit."""
    return min(_SMALL_MARGIN, _MEDIAN_SHARE * float(np.median(fitted)))


def margins(X: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """1 - d1/d2 for every row of `X` (n, d), between 0 and 1."""
    n, c = len(X), len(centers)
    if c == 1:
        return np.ones(n)

    def block(rows: slice) -> np.ndarray:
        D = np.sqrt(squared_distances(X[rows].astype(np.float64), centers))
        own = np.arange(len(D)), labels[rows]
        mine = D[own]
        D[own] = np.inf
        other = D.min(axis=1)
        # Where both centres coincide with the sample nothing tells them apart.
        ratio = np.divide(mine, other, out=np.ones_like(mine), where=other > 0)
        return np.clip(1 - ratio, 0, 1)

    with threaded_map() as map:
        return np.concatenate([*map(block, block_slices(n, max(c, X.shape[1])))])


def refit_stability(model: Any, views: IncompleteViews, count: int) -> np.ndarray:
    """Share of `count` refits that agree with the model, per sample; NaN for none."""
    labels = np.asarray(model.labels_)
    if count == 0:
        return np.full(views.n_samples, np.nan)
    agree = np.zeros(len(labels))
    for seed in _other_seeds(model, count):
        agree += _same_cluster(labels, refit_labels(model, views, seed))
    return agree / count


def _other_seeds(model: Any, count: int) -> list[int]:
    """Seeds that follow from the model's own, and are none of them."""
    own = getattr(model, "random_state", None)
    start = int(own) if isinstance(own, Integral) else 0
    drawn = np.random.RandomState(start).randint(2**31 - 1, size=count + 1).tolist()
    return [seed for seed in drawn if seed != start][:count]


def refit_labels(model: Any, views: IncompleteViews, seed: int) -> np.ndarray:
    """Labels of a fresh fit with another seed, into as many clusters as were found."""
    # The number that the model settled for, not the candidates it chose from.
    n_clusters = getattr(model, "n_clusters_", None) or model.n_clusters
    return labels_of_copy(model, views, random_state=seed, n_clusters=n_clusters)


def _same_cluster(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Where two labelings agree, after the best one-to-one match of their clusters."""
    k = int(max(labels.max(), others.max())) + 1
    common = np.bincount(labels * k + others, minlength=k * k).reshape(k, k)
    mine, theirs = linear_sum_assignment(common, maximize=True)
    partner = np.empty(k, np.int64)
    partner[theirs] = mine
    return partner[others] == labels


def _rule(limit: float, n_refits: int) -> str:
    near = (
        f"its margin is {limit:.3f} or less (its distance to the own centre is at "
        f"least {100 * (1 - limit):.0f} % of that to the nearest other one; the limit "
        f"is {_SMALL_MARGIN:g}, or a third of the median margin where that is less)"
    )
    if n_refits == 0:
        return f"A sample is flagged when {near}."
    return (
        f"A sample is flagged when at least half of the {n_refits} refits with other "
        f"seeds put it into another cluster, or when {near}."
    )
