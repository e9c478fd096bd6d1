"""stability_curve, view_agreement, confidence: how far clusters can be relied on."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from imvc._plain import cut
from imvc.insight import Confidence, Explanation
from imvc.insight._drawn import (
    NumberCurve,
    confidence_counts,
    number_curves,
    number_taken,
)
from imvc.insight._upset import NAME
from imvc.plot._look import (
    Look,
    axes_or_new,
    checked_axes,
    legend,
    look_of,
    only_axis,
    plain_rows,
    pyplot,
)
from imvc.plot._taken import fitted, part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORDS = 15  # characters of a line beside a level
_DOTS = 60  # numbers of clusters up to which each has a dot


@overload
def stability_curve(
    result: Any, *, ax: Sequence[Axes] | None = None
) -> Sequence[Axes]: ...
@overload
def stability_curve(result: Any, *, ax: Axes) -> Axes: ...
def stability_curve(
    result: Any, *, ax: Axes | Sequence[Axes] | None = None
) -> Axes | Sequence[Axes]:
    """Draw what was tried to find the number of clusters.

    Parameters
    ----------
    result : ClusterRun or fitted estimator
        That chose the number of clusters itself.
    ax : matplotlib Axes, or two of them, optional
        Two: how much of the worst cluster comes back from run to run, where every
        cluster does so from 0.75 on; and valleys between the clusters, which are clear
        up to 0.5 and none from 1 on. One: both curves in it.

    Returns
    -------
    matplotlib Axes, or two of them
        As given; two without `ax`. The number taken is dashed.

    Examples
    --------
    >>> import imvc
    >>> from imvc.datasets import make_views
    >>> data = make_views(90, (5, 4), 3, random_state=0)
    >>> model = imvc.AnchorBridge([2, 3, 4], random_state=0).fit(data.Xs)
    >>> left, right = imvc.plot.stability_curve(model)
    >>> left.lines[0].get_xdata().astype(int).tolist()
    [2, 3, 4]
    """
    model = fitted(result)
    curves = number_curves(getattr(model, "stability_curve_", None))
    if not curves:
        raise ValueError(
            f"the {type(model).__name__} has no stability_curve_, as its number of "
            "clusters was given; fit AnchorBridge with n_clusters=None, or with a list "
            "of numbers."
        )
    taken = number_taken(getattr(model, "candidates_", None), model.labels_)
    if ax is None:
        size = (7.2, 2.7)
        ax = tuple(pyplot().subplots(1, 2, figsize=size, layout="constrained")[1])
    if not isinstance(ax, Sequence | np.ndarray):
        _both(checked_axes(ax), curves, taken)
        return ax
    if len(ax) != 2:
        raise ValueError(f"ax holds {len(ax)} axes; pass two, or one for both curves.")
    for own, curve in zip(ax, curves):
        look = look_of(checked_axes(own))
        _curve(own, look, curve, look.mark, "o-")
        own.set_ylabel(curve.unit)
        own.set_title(curve.name, fontsize="medium", loc="left")
        _number_axis(own, look, [curve], taken)
    for own in ax[len(curves) :]:
        checked_axes(own).set_axis_off()
    return ax


def _both(ax: Any, curves: Sequence[NumberCurve], taken: int) -> None:
    look = look_of(ax)
    for curve, colour, line in zip(curves, (look.mark, look.hot), ("o-", "s--")):
        _curve(ax, look, curve, colour, line)
    _number_axis(ax, look, curves, taken)
    legend(ax, look, "above", ncols=1)


def _curve(ax: Any, look: Look, curve: NumberCurve, colour: str, line: str) -> None:
    known = np.isfinite(curve.y)
    ms = 4 if known.sum() <= _DOTS else 0
    k, y = curve.k[known], curve.y[known]
    ax.plot(k, y, line, color=colour, ms=ms, label=curve.name, zorder=3)
    for height, meaning in curve.levels.items():
        ax.axhline(height, color=colour, lw=0.8, ls=(0, (2, 3)))
        ax.annotate(
            fill(meaning, _WORDS),
            (1, height),
            xytext=(4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize="x-small",
            color=look.ink,
        )


def _number_axis(
    ax: Any, look: Look, curves: Sequence[NumberCurve], taken: int
) -> None:
    """Whole numbers of clusters, the one taken, and room for all levels."""
    low = min(curve.reach[0] for curve in curves)
    high = max([*(c.reach[1] for c in curves), *(np.nanmax(c.y) for c in curves)])
    ax.set_ylim(low, high * 1.04)
    if taken in curves[0].k:
        ax.axvline(taken, color=look.muted, ls=(0, (5, 4)), lw=1.2, zorder=1)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel(f"number of clusters ({taken} taken)")
    only_axis(ax, "left", "bottom")


def view_agreement(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how well each view alone tells the clusters.

    Parameters
    ----------
    result : ClusterRun or Explanation
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        0 is no better than chance, 1 perfect. Diamonds are what the method gave the
        views, where it weighs them.

    Examples
    --------
    >>> import imvc
    >>> from imvc.datasets import make_views
    >>> data = make_views(90, (5, 4), 3, random_state=0)
    >>> model = imvc.AnchorBridge(3, random_state=0).fit(data.Xs)
    >>> ax = imvc.plot.view_agreement(imvc.explain(model, data.Xs))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['view0 (90)', 'view1 (90)']
    """
    found: Explanation = part(result, "explanation", Explanation)
    panel = axes_or_new(ax, 5.0, 1.1 + 0.3 * len(found.views))
    look = look_of(panel)
    agreement = np.array([view.agreement for view in found.views])
    weights = [np.nan if v.weight is None else v.weight for v in found.views]
    bars = panel.barh(range(len(agreement)), agreement, 0.62, color=look.mark)
    texts = ["not known" if np.isnan(x) else f"{x:.2f}" for x in agreement]
    panel.bar_label(bars, texts, padding=3, fontsize="small", color=look.ink)
    if not np.isnan(weights).all():
        edges = {"color": look.clusters[1], "markeredgecolor": look.ground, "ms": 7}
        rows = range(len(weights))
        (signs,) = panel.plot(weights, rows, ls="", marker="D", **edges)
        keys = {"handles": [bars, signs], "labels": ["agreement", "weight"]}
        legend(panel, look, "above", ncols=2, **keys)
    names = [f"{cut(view.view, NAME)} ({view.n_observed})" for view in found.views]
    plain_rows(panel, names)
    panel.set_xlim(0, 1.08)
    panel.set_xticks(np.linspace(0, 1, 6))
    panel.set_xlabel("agreement with the clusters")
    only_axis(panel, "bottom")
    return panel


def confidence(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how sure the clusters of the samples are, as a histogram.

    Parameters
    ----------
    result : ClusterRun or Confidence
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The hollow foot of a bar are the samples flagged as uncertain (first
        container), the rest stands on it (second container).

    Examples
    --------
    >>> import imvc
    >>> from imvc.datasets import make_views
    >>> data = make_views(90, (5, 4), 3, random_state=0)
    >>> model = imvc.AnchorBridge(3, random_state=0).fit(data.Xs)
    >>> ax = imvc.plot.confidence(imvc.confidence(model, data.Xs, n_refits=1))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('confidence', 'samples')
    """
    found: Confidence = part(result, "confidence", Confidence)
    edges, every, flagged = confidence_counts(found)
    panel = axes_or_new(ax, 4.6, 2.8)
    from matplotlib.patches import Patch

    look = look_of(panel)
    low, n = int(np.count_nonzero(found.low)), len(found.score)
    how: dict[str, Any] = {"edgecolor": look.mark, "align": "edge"}
    keys = []
    for counts, foot, colour in (
        (flagged, 0 * flagged, look.ground),
        (every - flagged, flagged, look.mark),
    ):
        how |= {"facecolor": colour, "linewidth": np.where(counts > 0, 1.0, 0.0)}
        width = np.diff(edges) - 0.006
        panel.bar(edges[:-1] + 0.003, counts, width, bottom=foot, **how)
        keys.append(Patch(facecolor=colour, edgecolor=look.mark))
    panel.set(xlim=(0, 1.005), xlabel="confidence", ylabel="samples")
    panel.yaxis.get_major_locator().set_params(integer=True)
    only_axis(panel, "left", "bottom")
    names = [f"uncertain ({low})", f"others ({n - low})"]
    legend(panel, look, "above", ncols=2, handles=keys, labels=names)
    return panel
