"""adjust_batches: clusters of views without the effects of batches."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from imvc.insight._associations import FOLLOWED
from imvc.kernels._batch_effects import TwoWay
from imvc.metrics._batch_labels import batch_codes, batch_leakage
from imvc.views import IncompleteViews, as_views
from imvc.workflow._batch_effects import BatchEffects, refuse_sparse
from imvc.workflow._batch_search import BatchSearch


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Views without batch effects, and how they were found.

    Parameters
    ----------
    effects : BatchEffects
        All zero where nothing was removed.
    views : IncompleteViews
        Without the effects.
    n_rounds : int
        Rounds of the start that was taken; 0 where nothing was removed.
    leakage_before, leakage_after : float
        Adjusted mutual information of batches and clusters, without and with the
        adjustment.
    removed : dict of str to float
        By view, the share of its variance that the effects were.
    apart : dict of str to tuple
        By view, groups of batches that share no cluster; differences between groups
        count as differences of clusters and were not removed.
    reason : str, optional
        Why nothing was removed.
    confounded : bool
        Nothing was removed, though the clusters follow the batches and others would
        have come of it: the two cannot be told apart.
    model : estimator, optional
        Fitted on the adjusted views, with the attribute ``batch_effects_``.
    """

    effects: BatchEffects
    views: IncompleteViews
    n_rounds: int
    leakage_before: float
    leakage_after: float
    removed: dict[str, float]
    apart: dict[str, tuple[tuple[str, ...], ...]]
    reason: str | None = None
    confounded: bool = False
    model: Any = None

    def with_model(self, model: Any, batch: Any) -> "Adjustment":
        """The same with a model fitted on the views, which gets the effects."""
        if self.reason is None:
            # `save` keeps attributes that end so; new samples get the same treatment.
            model.batch_effects_ = self.effects.to_dict()
        codes, _ = batch_codes(batch, self.views.n_samples, self.views.sample_ids)
        after = batch_leakage(model.labels_, codes)
        return replace(self, model=model, leakage_after=after)


def adjust_batches(
    estimator: Any,
    Xs: Any,
    batch: Any,
    *,
    mask: Any = None,
    n_rounds: int = 5,
    column: str = "batch",
) -> Adjustment:
    """Cluster without what is explained by batches, keeping what clusters explain.

    Where no batch effect is worth removing, or where clusters and batches cannot be
    told apart, the result is that of the estimator alone, and ``reason`` says why.

    Parameters
    ----------
    estimator : estimator
        Of any method; left as it is. Without a number of clusters it is decided on the
        adjusted views.
    Xs : as in ``fit``
        Dense views.
    batch : array-like of shape (n_samples,), or pandas Series
        As in ``fit``. Samples of unknown batch stay as they are.
    mask : array-like of bool, shape (n_samples, n_views), optional
    n_rounds : int, default=5
        At most so many rounds from every start.
    column : str, default="batch"
        What the batches are of, for texts.

    Returns
    -------
    Adjustment

    Notes
    -----
    About ten fits, and four more where the clusters change.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc import RISE
    >>> from imvc.datasets import make_views
    >>> from imvc.metrics import adjusted_rand
    >>> from imvc.workflow import adjust_batches
    >>> data = make_views(200, (8, 9), 3, random_state=0)
    >>> site = np.arange(200) % 2
    >>> Xs = [X + 5 * site[:, None] for X in data.Xs]
    >>> found = adjust_batches(RISE(3, random_state=0), Xs, site)
    >>> round(adjusted_rand(data.y, found.model.labels_), 2)
    1.0
    >>> found.leakage_before > 0.3, abs(found.leakage_after) < 0.05
    (True, True)
    """
    views = as_views(Xs, mask)
    found = find_adjustment(estimator, views, batch, n_rounds=n_rounds, column=column)
    model = clone(estimator).fit(found.views, batch=batch)
    return found.with_model(model, batch)


def find_adjustment(
    estimator: Any,
    views: IncompleteViews,
    batch: Any,
    *,
    n_rounds: int = 5,
    column: str = "batch",
    tell: Callable[[int], None] | None = None,
) -> Adjustment:
    """`adjust_batches` without its last fit; ``tell`` gets the number of fits."""
    if not isinstance(n_rounds, Integral) or n_rounds < 1:
        raise ValueError(f"n_rounds={n_rounds!r} must be a whole number, at least 1.")
    codes, names = batch_codes(batch, views.n_samples, views.sample_ids)
    if len(names) < 2:
        raise ValueError(
            f"{column} has {len(names)} known batches; two are needed to adjust for it."
        )
    refuse_sparse(views)
    search = BatchSearch(estimator, views, codes, len(names), column, tell)
    plain, best = search.start_and_best(n_rounds)
    refusal = search.refusal(plain, best)
    before = batch_leakage(plain, codes)
    nothing = BatchEffects(
        column,
        names,
        {
            name: np.zeros((len(names), d))
            for name, d in zip(views.names, views.n_features)
        },
    )
    if refusal is not None:
        # Fits differ by chance too; only clusters that follow batches are in doubt.
        doubtful = refusal.confounded and before > FOLLOWED
        return Adjustment(
            nothing, views, 0, before, before, {}, {}, refusal.reason, doubtful
        )
    effects = replace(nothing, views=dict(zip(views.names, best.effects)))
    parts = search.two_way(best.labels)
    return Adjustment(
        effects,
        search.without(best.effects),
        best.number,
        before,
        batch_leakage(best.labels, codes),
        dict(zip(views.names, search.shares(best.effects))),
        _apart(views.names, parts, names),
    )


def _apart(
    names: tuple[str, ...], parts: list[TwoWay], batches: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Views in which some batches share no cluster; groups of those that do."""
    found = {}
    for name, part in zip(names, parts):
        groups = [
            tuple(b for b, own in zip(batches, part.component) if own == c)
            for c in range(int(part.component.max()) + 1)
        ]
        if len(groups) > 1:
            found[name] = tuple(groups)
    return found
