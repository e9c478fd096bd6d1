"""explain: which features and views carry a clustering."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np

from imvc._notebook import (
    bar,
    box,
    first_few,
    import_pandas,
    sizes_text,
    table,
    warned,
    wrapped,
)
from imvc._plain import cut, plain
from imvc.insight._agreement import view_agreement
from imvc.insight._fitted import check_same_samples, model_views
from imvc.insight._profiles import (
    FeatureProfile,
    standard_means,
    strongest_profiles,
)
from imvc.insight._sentences import percent
from imvc.insight._view_columns import GroupMoments, feature_name, group_moments
from imvc.metrics import pattern_leakage
from imvc.scale import threaded_map
from imvc.views import IncompleteViews

# Random labels and random gaps stay below 0.1 + 5/n (2000 draws, 40 to 1000 samples,
# 2 to 6 views; largest 0.22 at n = 40 and 0.013 at n = 1000). AnchorBridge stays below
# 0.01 on planted clusters; RISE with raw rows and beta = 1, which follows the pattern
# and finds 60 % of the planted clusters, has 0.23 to 0.29.
_LEAKAGE, _LEAKAGE_SMALL = 0.1, 5.0
_SD_FLOOR = 0.01  # of the feature's standard deviation over all samples
_FEWEST = 2  # samples on either side of a comparison
_TOLD, _NAME = 3, 24  # features of a cluster in a line, and characters of a name
_SEEN = 10  # views in the table of clusters


@dataclass(frozen=True)
class ClusterSummary:
    """One cluster: how many samples, and the share of them seen in each view."""

    label: int
    size: int
    share: float
    observed: dict[str, float]


@dataclass(frozen=True)
class FeatureEffect:
    """How a feature differs inside and outside of a cluster.

    Parameters
    ----------
    view : str
    cluster : int
    feature : str
    effect : float
        Hedges' g: the difference of the means, inside minus outside, in pooled standard
        deviations, corrected for small samples. About 0.2 is small and 0.8 large.
    mean_inside, mean_outside : float
        In the units of the data.
    n_inside : int
        Samples of the cluster that are observed in the view.
    """

    view: str
    cluster: int
    feature: str
    effect: float
    mean_inside: float
    mean_outside: float
    n_inside: int


@dataclass(frozen=True)
class ViewAgreement:
    """How well a view alone tells the clusters.

    Parameters
    ----------
    view : str
    n_observed : int
    agreement : float
        0 (no better than chance) to 1 (perfectly); see `explain`.
    weight : float or None
        What the method gave the view (``view_weights_``), where it weighs views.
    """

    view: str
    n_observed: int
    agreement: float
    weight: float | None


@dataclass(frozen=True)
class Explanation:
    """What `explain` found.

    Parameters
    ----------
    clusters : tuple of ClusterSummary
        By label.
    features : tuple of FeatureEffect
        By cluster, then view, then the size of the effect, largest first.
    views : tuple of ViewAgreement
    pattern_leakage : float
        Adjusted mutual information of clusters and missing pattern.
    leakage_warning : str or None
        A sentence where the clusters follow the missing pattern.
    profiles : tuple of FeatureProfile
        At most 30 of the strongest features of all clusters and views, with their means
        in every cluster; those that set the same cluster apart stand together.
    """

    clusters: tuple[ClusterSummary, ...]
    features: tuple[FeatureEffect, ...]
    views: tuple[ViewAgreement, ...]
    pattern_leakage: float
    leakage_warning: str | None
    profiles: tuple[FeatureProfile, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON."""
        return plain(asdict(self), otherwise=float)  # a mean may be infinite

    def to_frame(self) -> Any:
        """The features as a pandas DataFrame, one row each."""
        names = [f.name for f in fields(FeatureEffect)]
        return import_pandas().DataFrame(map(asdict, self.features), columns=names)

    def strongest(self, cluster: int) -> str:
        """The largest effects of a cluster over all views, in a line."""
        own = [effect for effect in self.features if effect.cluster == cluster]
        own.sort(key=lambda effect: -abs(effect.effect))
        return ", ".join(
            f"{cut(effect.feature, _NAME)} {effect.effect:+.1f}"
            for effect in own[:_TOLD]
        )

    def __repr__(self) -> str:
        views = first_few(f"{cut(v.view, _NAME)} {v.agreement:.2f}" for v in self.views)
        sizes = sizes_text([cluster.size for cluster in self.clusters])
        return wrapped(f"<Explanation of {sizes}: agreement {views}>")

    def _repr_html_(self) -> str:
        names = [view.view for view in self.views[:_SEEN]]
        warning = [] if self.leakage_warning is None else [self.leakage_warning]
        return box(
            sizes_text([cluster.size for cluster in self.clusters]),
            warned(warning),
            table(
                "rr" + "r" * len(names) + "l",
                ["cluster", "samples", *names, "strongest features (Hedges' g)"],
                (
                    [c.label, c.size, *(percent(c.observed[name]) for name in names)]
                    + [self.strongest(c.label)]
                    for c in self.clusters
                ),
                title="how many samples of each cluster are seen in the views",
            ),
            table(
                "lrrlr",
                ["view", "observed", "agreement", "", "weight"],
                (
                    [v.view, v.n_observed, v.agreement, bar(v.agreement), v.weight]
                    for v in self.views
                ),
            ),
        )


def explain(
    model: Any, Xs: Any, *, mask: Any = None, n_features: int = 10
) -> Explanation:
    """Tell which features and views carry a clustering.

    Parameters
    ----------
    model : fitted estimator
    Xs : as in ``fit``
        The data of the fit.
    mask : array-like of bool, shape (n_samples, n_views), optional
    n_features : int, default=10
        Features to list per view and cluster, by the size of their effect.

    Returns
    -------
    Explanation

    Notes
    -----
    Effects compare a cluster's samples with those of all other clusters, among the
    samples observed in the view. The pooled standard deviation is at least 1 % of the
    feature's standard deviation over all of them, so that a feature which is constant
    inside and outside has a large effect and not an infinite one. Features without any
    effect are left out, as is a cluster with fewer than two samples in the view or
    outside of it.

    The clusters were found on the same data, so effects describe them and are no test
    of them: p-values from these numbers would be far too small.

    The agreement of a view: every sample (at most 5000 of them) is given the cluster
    that most of its ten nearest other samples in this view have; the agreement is the
    adjusted mutual information of these and the model's labels, 0 where it is
    negative. Measured: 0.00 for a view of noise, 0.75 to 0.94 for the digits views.

    Examples
    --------
    >>> from imvc import AnchorBridge
    >>> from imvc.datasets import make_views
    >>> from imvc.insight import explain
    >>> data = make_views(200, (5, 4), 3, incomplete=0.5, random_state=0)
    >>> model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> found = explain(model, data.Xs, mask=data.mask, n_features=1)
    >>> [(effect.cluster, effect.view) for effect in found.features[:2]]
    [(0, 'view0'), (0, 'view1')]
    >>> [view.agreement > 0.8 for view in found.views], found.leakage_warning
    ([True, True], None)
    """
    if not isinstance(n_features, Integral) or n_features < 0:
        raise ValueError(
            f"n_features={n_features!r} must be a whole number, 0 or more."
        )
    views = model_views(model, Xs, mask)
    check_same_samples(model, views, "pass the data of the fit")
    labels = np.asarray(model.labels_)
    leakage = pattern_leakage(labels, views.mask)
    found = [
        pair
        for v in range(views.n_views)
        for pair in _effects(views, v, labels, int(n_features))
    ]
    effects = [effect for effect, _ in found]
    return Explanation(
        clusters=_clusters(views, labels),
        features=tuple(sorted(effects, key=lambda effect: effect.cluster)),
        views=_agreements(model, views, labels),
        pattern_leakage=leakage,
        leakage_warning=leakage_warning(leakage, views.n_samples),
        profiles=strongest_profiles(_by_cluster(found)),
    )


def _by_cluster(
    found: list[tuple[FeatureEffect, FeatureProfile]],
) -> list[list[FeatureProfile]]:
    """Features of each cluster over all views, the largest effect first."""
    ranked = sorted(found, key=lambda pair: -abs(pair[0].effect))
    return [
        [profile for effect, profile in ranked if effect.cluster == cluster]
        for cluster in sorted({effect.cluster for effect, _ in found})
    ]


def _clusters(views: IncompleteViews, labels: np.ndarray) -> tuple[ClusterSummary, ...]:
    found = []
    for label in np.unique(labels):
        own = views.mask[labels == label]
        found.append(
            ClusterSummary(
                label=int(label),
                size=len(own),
                share=len(own) / len(labels),
                observed=dict(zip(views.names, own.mean(axis=0).tolist())),
            )
        )
    return tuple(found)


def _effects(
    views: IncompleteViews, v: int, labels: np.ndarray, count: int
) -> Iterator[tuple[FeatureEffect, FeatureProfile]]:
    """The strongest features of every cluster in view `v`, with all their means."""
    if count == 0 or len(views.rows(v)) == 0:
        return
    moments = group_moments(views, v, labels, int(labels.max()) + 1)
    present = np.unique(labels)
    for label in range(len(moments.counts)):
        for j, effect in strongest_effects(views, v, moments, label, count):
            means = tuple(standard_means(moments, j)[present].tolist())
            yield effect, FeatureProfile(effect.view, effect.feature, means)


def strongest_effects(
    views: IncompleteViews, v: int, moments: GroupMoments, label: int, count: int
) -> Iterator[tuple[int, FeatureEffect]]:
    """Number and effect of the features that set a group apart, the largest first.

    None where fewer than two samples of view `v` are in the group, or not in it.
    """
    n_inside = int(moments.counts[label])
    if min(n_inside, moments.counts.sum() - n_inside) < _FEWEST:
        return
    effect, outside = hedges_g(moments, label)
    strongest = np.argsort(-np.abs(effect), kind="stable")[:count]
    for j in strongest[effect[strongest] != 0].tolist():
        found = FeatureEffect(
            view=views.names[v],
            cluster=label,
            feature=feature_name(views, v, j),
            effect=float(effect[j]),
            mean_inside=float(moments.means[label, j] * moments.scale[j]),
            mean_outside=float(outside[j] * moments.scale[j]),
            n_inside=n_inside,
        )
        yield j, found


def hedges_g(moments: GroupMoments, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Hedges' g (d,) of one group against all others, and the others' means (d,)."""
    others = moments.counts.astype(np.float64)
    inside, others[label] = others[label], 0
    n_others = others.sum()
    outside = others @ moments.means / n_others
    squares = np.delete(moments.squares, label, axis=0).sum(axis=0)
    squares += others @ np.square(moments.means - outside)
    pooled = (squares + moments.squares[label]) / (inside + n_others - 2)
    difference = moments.means[label] - outside
    n = inside + n_others
    between = np.square(difference) * inside * n_others / n
    total = (squares + moments.squares[label] + between) / (n - 1)
    sd = np.maximum(np.sqrt(pooled), _SD_FLOOR * np.sqrt(total))
    varies = moments.varies & (sd > 0)
    g = np.divide(difference, sd, out=np.zeros_like(sd), where=varies)
    return g * (1 - 3 / (4 * n - 9)), outside


def _agreements(
    model: Any, views: IncompleteViews, labels: np.ndarray
) -> tuple[ViewAgreement, ...]:
    weights = getattr(model, "view_weights_", None)
    with threaded_map() as map:
        numbers = [
            *map(lambda v: view_agreement(views, v, labels), range(views.n_views))
        ]
    return tuple(
        ViewAgreement(
            view=name,
            n_observed=len(views.rows(v)),
            agreement=numbers[v],
            weight=None if weights is None else float(weights[v]),
        )
        for v, name in enumerate(views.names)
    )


def leakage_warning(leakage: float, n: int) -> str | None:
    """A sentence where the clusters of `n` samples follow the missing pattern."""
    if leakage <= _LEAKAGE + _LEAKAGE_SMALL / n:
        return None
    return (
        f"The clusters follow which views were measured (pattern leakage "
        f"{leakage:.2f}; 0 is none, 1 is completely): some samples may be together "
        f"because they lack the same views, not because they are alike. Compare the "
        f"clusters with what is missing before reading anything into them, and cluster "
        f"once more without the view that is missing most. Where a view was left out "
        f"for a reason that has to do with the samples, some of this is to be expected."
    )
