"""associations, survival: what clusters have to do with what is known of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imvc._plain import cut
from imvc.insight import Associations, ColumnAssociation, Survival
from imvc.insight._drawn import drawn_levels, level_places
from imvc.insight._sentences import p_text, short_number
from imvc.insight._survival import ALPHA
from imvc.plot._look import (
    DASHES,
    MARKERS,
    Look,
    axes_or_new,
    date_axis,
    legend,
    look_of,
    only_axis,
    plain_rows,
)
from imvc.plot._taken import looks_of, part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Looks = dict[int, tuple[int, int]]

_NAME = 32  # characters of a column's name
_BANDS = 4  # clusters up to which confidence bands are drawn


def associations(
    result: Any, column: str | None = None, *, most: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw how metadata differ between the clusters.

    Parameters
    ----------
    result : ClusterRun or Associations
    column : str, optional
        A column to draw by cluster: shares of a category's levels; of numbers and dates
        5 to 95 % as a line, 25 to 75 % as a box, and the median. By default the effect
        sizes of all columns.
    most : int, default=15
        Effect sizes to draw, the clearest differences first.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Bars of effects are hollow where the adjusted p value is 0.05 or more.

    Examples
    --------
    >>> import numpy as np
    >>> import imvc
    >>> labels = np.repeat([0, 1, 2], 40)
    >>> age = np.tile(np.linspace(40, 80, 40), 3)
    >>> stage = np.where(labels == 2, "III", "I")
    >>> found = imvc.associate(labels, {"age": age, "stage": stage})
    >>> ax = imvc.plot.associations(found)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['stage', 'age']
    >>> ax = imvc.plot.associations(found, "age")
    >>> ax.get_xlabel()
    'age'
    """
    found: Associations = part(result, "associations", Associations)
    tested = [one for one in found.columns if one.effect is not None]
    if not tested:
        raise ValueError(
            "the Associations hold no column that was tested; give metadata with "
            "numbers or categories."
        )
    if column is None:
        return _effects(tested[: max(1, most)], ax)
    names = [one.name for one in tested]
    if column not in names:
        raise ValueError(
            f"column={column!r} is none that was tested; choose one of "
            f"{', '.join(map(repr, names[:20]))}."
        )
    chosen = tested[names.index(column)]
    panel = axes_or_new(ax, 4.8, 1.3 + 0.26 * len(chosen.clusters))
    look = look_of(panel)
    if chosen.kind == "category":
        _shares(panel, look, chosen)
    else:
        _quantiles(panel, look, chosen, looks_of(result, chosen.clusters))
    plain_rows(panel, ["all", *(str(cluster) for cluster in chosen.clusters)])
    panel.set_ylabel("cluster")
    only_axis(panel, "bottom")
    return panel


def _effects(tested: list[ColumnAssociation], ax: Axes | None) -> Axes:
    panel = axes_or_new(ax, 5.0, 0.9 + 0.27 * len(tested))
    look = look_of(panel)
    sizes = [one.effect or 0.0 for one in tested]
    adjusted = [1.0 if one.adjusted_p is None else one.adjusted_p for one in tested]
    fills = [look.mark if p < ALPHA else look.ground for p in adjusted]
    rows = range(len(tested))
    bars = panel.barh(
        rows, sizes, 0.62, color=fills, edgecolor=look.mark, linewidth=1.0
    )
    texts = [f"{size:.2f}, {p_text(p)}" for size, p in zip(sizes, adjusted)]
    panel.bar_label(bars, texts, padding=3, fontsize="small", color=look.ink)
    plain_rows(panel, [cut(one.name, _NAME) for one in tested])
    panel.set_xlim(0, 1.35 * max(0.1, *sizes))
    measures = sorted({_measure(one) for one in tested})
    panel.set_xlabel(f"effect size, adjusted p\n({'; '.join(measures)})")
    only_axis(panel, "bottom")
    return panel


def _measure(one: ColumnAssociation) -> str:
    of = "categories" if one.kind == "category" else "numbers"
    return f"{one.effect_name} of {of}"


def _shares(ax: Any, look: Look, column: ColumnAssociation) -> None:
    """A bar per cluster, cut by the shares of the levels."""
    from matplotlib.ticker import PercentFormatter

    levels, counts = drawn_levels(column)
    counts = np.vstack([counts.sum(axis=0), counts])
    shares = counts / counts.sum(axis=1, keepdims=True)
    left, rows = np.zeros(len(shares)), range(len(shares))
    for level, place, own in zip(levels, level_places(column, len(levels)), shares.T):
        fill = look.rest if place is None else look.ramp[place]
        edge = {"edgecolor": look.ground, "linewidth": 0.8}
        ax.barh(rows, own, 0.72, left=left, color=fill, label=level, **edge)
        left = left + own
    for row, n in zip(rows, counts.sum(axis=1).tolist()):
        ax.text(1.02, row, str(n), va="center", fontsize="small", color=look.ink)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel(f"share of samples by {cut(column.name, _NAME)}")
    legend(ax, look, "above", ncols=min(4, len(levels)), handlelength=1)


def _quantiles(ax: Any, look: Look, column: ColumnAssociation, looks: Looks) -> None:
    """A box per cluster: 5, 25, 50, 75 and 95 %."""
    colours = [look.muted, *(look.clusters[looks[c][0]] for c in column.clusters)]
    rows = [column.quantiles[-1], *column.quantiles[:-1]]
    for i, (colour, (a, b, middle, c, d)) in enumerate(zip(colours, rows)):
        ax.hlines(i, a, d, color=colour, lw=1.5, zorder=0.9)
        edge = {"edgecolor": colour, "linewidth": 1.0}
        ax.barh(i, c - b, 0.6, left=b, color=look.ground, **edge)
        ax.barh(i, c - b, 0.6, left=b, color=colour, alpha=0.45)
        ax.vlines(middle, i - 0.3, i + 0.3, color=look.ink, lw=2)
    if column.kind == "date":
        date_axis(ax.xaxis)
    ax.set_xlabel(cut(column.name, _NAME))


def survival(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the Kaplan-Meier curves of the clusters, and how many are at risk.

    Parameters
    ----------
    result : ClusterRun, Associations or Survival
        With survival that was asked for.
    ax : matplotlib Axes, optional
        Numbers of samples at risk stand below it, the key and the p value of the
        log-rank test beside it.

    Returns
    -------
    matplotlib Axes
        Bands are 95 % confidence limits, of up to four clusters.

    Examples
    --------
    >>> import numpy as np
    >>> import imvc
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 60)
    >>> days, died = rng.exponential(100 + 400 * labels), rng.random(120) < 0.7
    >>> found = imvc.associate(labels, {}, survival=(days, died))
    >>> ax = imvc.plot.survival(found)
    >>> ax.get_legend().get_title().get_text()
    'log-rank test\\np < 0.001'
    """
    found = result
    if not isinstance(result, Survival):
        found = part(result, "associations", Associations, Survival).survival
    if found is None or not found.curves:
        raise ValueError(
            "survival is not known here; name its columns: imvc.associate(..., "
            "survival=(time, event)), or survival=(time, event) of the run."
        )
    curves = found.curves
    panel = axes_or_new(ax, 5.6, 3.1 + 0.17 * len(curves))
    look = look_of(panel)
    looks = looks_of(result, [curve.cluster for curve in curves])
    for curve in curves:
        colour, shape = look.clusters[looks[curve.cluster][0]], looks[curve.cluster][1]
        times = [*curve.times, curve.last]
        name = f"Cluster {curve.cluster} ({curve.n_samples})"
        how = {"color": colour, "ls": DASHES[shape], "lw": 1.8, "label": name}
        ends = (*curve.survival, curve.survival[-1])
        panel.step(times, ends, where="post", **how)
        if len(curves) <= _BANDS:
            low, high = (np.array([*x, x[-1]]) for x in (curve.low, curve.high))
            band = {"color": colour, "alpha": 0.15, "linewidth": 0}
            panel.fill_between(times, low, high, step="post", **band)
    panel.set_xlim(0, max(curve.last for curve in curves) or 1.0)
    panel.set_ylim(0, 1.02)
    panel.set_xticks(found.marks, [short_number(mark) for mark in found.marks])
    panel.set(xlabel=cut(found.time, _NAME), ylabel="share that survives")
    only_axis(panel, "left", "bottom")
    title = f"log-rank test\n{'not possible' if found.p is None else p_text(found.p)}"
    legend(panel, look, "beside", title=title, alignment="left", handlelength=1.6)
    _at_risk(panel, look, found, looks)
    return panel


def _at_risk(ax: Any, look: Look, found: Survival, looks: Looks) -> None:
    """Samples still observed at the marks, a line per cluster, below the axes."""
    size = 0.83 * ax.xaxis.label.get_fontsize()
    where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "fontsize": size}
    where |= {"textcoords": "offset points", "va": "center", "color": look.ink}
    start, wide = -4.2 * size, max(len(str(curve.cluster)) for curve in found.curves)
    beside = -(3.7 + 0.7 * wide) * size
    ax.annotate("samples at risk", (0, 0), (0, start), ha="left", **where)
    for i, curve in enumerate(found.curves):
        y = start - 1.4 * size * (i + 1)
        colour, shape = looks[curve.cluster]
        ax.annotate(str(curve.cluster), (0, 0), (-2.8 * size, y), ha="right", **where)
        sign = {"marker": MARKERS[shape], "color": look.clusters[colour]}
        _sign(ax, beside, y, **sign)
        for mark, n in zip(found.marks, curve.at_risk):
            ax.annotate(str(n), (mark, 0), (0, y), ha="center", **where)


def _sign(ax: Any, x: float, y: float, **look: Any) -> None:
    """A mark so many points beside and below the lower left corner."""
    from matplotlib.transforms import ScaledTranslation

    scale = ax.figure.dpi_scale_trans
    place = ax.transAxes + ScaledTranslation(x / 72, y / 72, scale)
    ax.plot(0, 0, ls="", ms=5, transform=place, clip_on=False, **look)
