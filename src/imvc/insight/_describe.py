"""describe: what is special about a selection of samples, against all others."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from imvc._plain import cut, plain
from imvc.insight._associate import associate
from imvc.insight._associations import ColumnAssociation
from imvc.insight._column_kinds import day_text
from imvc.insight._explain import FeatureEffect, strongest_effects
from imvc.insight._sentences import joined, left_out, p_text, percent, short_number
from imvc.insight._survival import ALPHA, Survival
from imvc.insight._view_columns import group_moments, without_empty_cells
from imvc.scale import threaded_map
from imvc.views import IncompleteViews, as_views

OTHERS, SELECTED = 0, 1  # as clusters
_LEVELS = 12  # of a category that are listed
_VALUE = 40  # characters of a value in a sentence
_MEDIAN = 2  # among the quantiles
_NOTE = (
    "These numbers tell how the selection differs. They are no test of a question "
    "that was there before it: whoever looks for samples that differ finds some."
)


@dataclass(frozen=True)
class ViewShare:
    """How many samples are observed in a view: selected ones, and others."""

    view: str
    n_selected: int
    n_others: int


@dataclass(frozen=True)
class ColumnDifference:
    """How a column of metadata differs between selected and other samples.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "text", "constant"}
    text : str
        The difference in words, or why there is none.
    p : float or None
        Adjusted for the number of columns.
    effect : float or None
        As in `imvc.associate`.
    rows : tuple of (level, share of the selected, share of the others)
        Of a category: at most 12 levels, the largest difference first.
    """

    name: str
    kind: str
    text: str
    p: float | None
    effect: float | None
    rows: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Description:
    """What `describe` found.

    Parameters
    ----------
    n_selected, n_others : int
    views : tuple of ViewShare
    features : tuple of FeatureEffect
        Of all views together, the largest effect first; their ``cluster`` is 1, the
        selection.
    metadata : tuple of ColumnDifference
        The clearest difference first.
    survival : Survival or None
        Of the selected samples (cluster 1) and the others (cluster 0).
    survival_text : str or None
        The difference in words.
    note : str
        How to take all this.
    """

    n_selected: int
    n_others: int
    views: tuple[ViewShare, ...]
    features: tuple[FeatureEffect, ...]
    metadata: tuple[ColumnDifference, ...] = ()
    survival: Survival | None = None
    survival_text: str | None = None
    note: str = _NOTE

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON; null where a number is not known."""
        return plain(asdict(self), otherwise=lambda _: None)


def describe(
    Xs: Any,
    selected: Any,
    *,
    mask: Any = None,
    metadata: Mapping[str, Any] | None = None,
    survival: tuple[Any, Any] | None = None,
    n_features: int = 30,
) -> Description:
    """Tell what is special about some samples, against all others.

    Parameters
    ----------
    Xs : as in ``fit``
        The views. Empty cells count as the mean of their column.
    selected : array-like of bool, shape (n_samples,), or of int
        The selection: a flag for every sample, or the numbers of its samples.
    mask : array-like of bool, shape (n_samples, n_views), optional
    metadata : mapping of str to array-like of shape (n_samples,), optional
        What is known of the samples beside the views, as in `imvc.associate`.
    survival : (time, event), optional
        As in `imvc.associate`.
    n_features : int, default=30
        Features to list, of all views together.

    Returns
    -------
    Description

    Notes
    -----
    Features are compared as in `imvc.explain` (Hedges' g), columns of metadata and
    survival as in `imvc.associate`, with the selection and the rest for clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc import describe
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> X[:20, 1] += 3
    >>> site = np.where(np.arange(100) < 20, "north", "south")
    >>> found = describe({"lab": X}, np.arange(20), metadata={"site": site})
    >>> found.features[0].feature, found.features[0].effect > 2
    ('lab[1]', True)
    >>> print(found.metadata[0].text)
    100 % 'north' among the selected samples, 0 % among the others (Cramer's V 1.00, \
adjusted p < 0.001).
    """
    if not isinstance(n_features, Integral) or n_features < 0:
        raise ValueError(
            f"n_features={n_features!r} must be a whole number, 0 or more."
        )
    views, _ = without_empty_cells(as_views(Xs, mask, missing_values="keep"))
    chosen = _flags(selected, views.n_samples)
    sides = chosen.astype(np.int64)
    n = int(chosen.sum())
    columns: tuple[ColumnDifference, ...] = ()
    lasting = None
    if metadata is not None or survival is not None:
        found = associate(sides, metadata or {}, survival=survival)
        columns, lasting = tuple(map(_difference, found.columns)), found.survival
    return Description(
        n_selected=n,
        n_others=len(chosen) - n,
        views=_shares(views, chosen),
        features=_features(views, sides, int(n_features)),
        metadata=columns,
        survival=lasting,
        survival_text=None if lasting is None else _lasting_words(lasting),
        note=_NOTE
        if n < len(chosen)
        else "All samples are selected: there are none to compare them with.",
    )


def _flags(selected: Any, n: int) -> np.ndarray:
    """The selection as one flag per sample."""
    given = np.asarray(selected)
    if given.dtype == bool and given.shape == (n,):
        flags = given
    elif given.ndim == 1 and (given.dtype.kind in "iu" or len(given) == 0):
        outside = given[(given < 0) | (given >= n)]
        if len(outside):
            raise ValueError(
                f"selected has the sample number {outside[0]}, but there are {n} "
                f"samples; give numbers from 0 to {n - 1}."
            )
        flags = np.zeros(n, bool)
        flags[given.astype(np.int64)] = True
    else:
        raise ValueError(
            f"selected has shape {given.shape} and dtype {given.dtype}; give a bool "
            f"for each of the {n} samples, or the numbers of some of them."
        )
    if not flags.any():
        raise ValueError("selected names no sample; select at least one.")
    return flags


def _shares(views: IncompleteViews, chosen: np.ndarray) -> tuple[ViewShare, ...]:
    inside, outside = views.mask[chosen].sum(axis=0), views.mask[~chosen].sum(axis=0)
    return tuple(map(ViewShare, views.names, inside.tolist(), outside.tolist()))


def _features(
    views: IncompleteViews, sides: np.ndarray, count: int
) -> tuple[FeatureEffect, ...]:
    """The strongest features of all views."""

    def of_view(v: int) -> list[FeatureEffect]:
        if count == 0 or len(np.unique(sides[views.rows(v)])) < 2:
            return []
        moments = group_moments(views, v, sides, 2)
        found = strongest_effects(views, v, moments, SELECTED, count)
        return [effect for _, effect in found]

    with threaded_map() as map:
        effects = [own for part in map(of_view, range(views.n_views)) for own in part]
    return tuple(sorted(effects, key=lambda effect: -abs(effect.effect))[:count])


def _difference(column: ColumnAssociation) -> ColumnDifference:
    """A tested column in words that speak of a selection."""
    words = ""
    rows: tuple[tuple[str, float, float], ...] = ()
    if column.p is None:
        text = column.sentence
        if column.kind not in ("text", "constant") and column.n_known:
            text = f"{column.name} is known on one side only: not tested."
            text += left_out(column.n_unknown, "a value")
    else:
        if column.kind == "category":
            rows = _levels(column)
            level, inside, outside = rows[0]
            words = (
                f"{percent(inside)} {cut(level, _VALUE)!r} among the selected samples, "
                f"{percent(outside)} among the others"
            )
        else:
            shown = day_text if column.kind == "date" else short_number
            outside, inside = (own[_MEDIAN] for own in column.quantiles[:2])
            words = (
                f"median {shown(inside)} of the selected samples, {shown(outside)} of "
                f"the others"
            )
        assert column.adjusted_p is not None
        p = p_text(column.adjusted_p, "adjusted p")
        sure = "" if column.adjusted_p < ALPHA else "no clear difference; "
        text = f"{words} ({sure}{column.effect_name} {column.effect:.2f}, {p})."
        text = text[0].upper() + text[1:] + left_out(column.n_unknown, "a value")
    return ColumnDifference(
        column.name, column.kind, text, column.adjusted_p, column.effect, rows
    )


def _levels(column: ColumnAssociation) -> tuple[tuple[str, float, float], ...]:
    """Levels with the shares of both sides, the largest difference first."""
    counts = np.array(column.counts, dtype=np.float64)
    outside, inside = counts / counts.sum(axis=1, keepdims=True)
    # Of two levels both differ by as much: the one that the selection has more of.
    order = np.lexsort((-(inside - outside), -np.abs(inside - outside).round(12)))
    return tuple(
        (column.levels[j], float(inside[j]), float(outside[j])) for j in order[:_LEVELS]
    )


def _lasting_words(survival: Survival) -> str:
    """Whether the selected samples survive as long as the others, in words."""
    rest = left_out(survival.n_unknown, "time or event")
    sides = {curve.cluster: curve for curve in survival.curves}
    if len(sides) < 2:
        return f"Survival is not known on both sides: not tested.{rest}"
    if survival.p is None:
        return f"No event happened: survival was not tested.{rest}"
    told = []
    for side, whose in ((SELECTED, "the selected samples"), (OTHERS, "the others")):
        median = sides[side].median
        told.append(
            f"more than half of {whose} survive the time observed"
            if median is None
            else f"the median is {short_number(median)} of {whose}"
        )
    verdict = "differs" if survival.p < ALPHA else "does not clearly differ"
    test = p_text(survival.p)
    return (
        f"Survival {verdict} between the selected samples and the others (log-rank "
        f"test, {test}): {joined(told)}.{rest}"
    )
