"""What clusters mean, drawn: shares, quantiles and survival per cluster."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

from imvc._plain import cut
from imvc.insight import ColumnAssociation, Survival, SurvivalCurve
from imvc.insight._drawn import drawn_levels, level_places
from imvc.report._inline_svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    axes,
    picture,
    scale,
    ticks,
)
from imvc.report.cluster_page._cluster_words import percent

Looks = Mapping[int, tuple[int, int]]

_WIDE = 400  # a small picture: readable on a phone without a scale of its own
_ROW, _BAR = 22, 15
_START, _END = 40, 352  # of the bars
CLUSTERS = 40  # drawn in one picture
_NAME = 40  # characters of the time's name
_BANDS = 4  # clusters up to which confidence bands are drawn
_STEPS = 500  # of one curve
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "10 4")  # by shape


def level_colours(column: ColumnAssociation, n: int) -> list[str]:
    """Colours of `n` drawn levels, which are none of the clusters' own."""
    places = level_places(column, n)
    return ["var(--line)" if i is None else f"var(--r{i})" for i in places]


def share_bars(column: ColumnAssociation, looks: Looks) -> str:
    """A bar per cluster, cut by the shares of a category's levels; first all."""
    levels, counts = drawn_levels(column)
    colours = level_colours(column, len(levels))
    at = scale(0, 1, _START, _END)
    marks = []
    for i, (name, own) in enumerate(_rows(column, counts, counts.sum(axis=0))):
        y, shares = i * _ROW + 4, own / own.sum()
        edges = np.concatenate([[0.0], np.cumsum(shares)])
        for level, colour, share, n, left, right in zip(
            levels, colours, shares, own, edges, edges[1:]
        ):
            if n:
                marks.append(
                    f'<rect class="share" x="{at(left):.1f}" y="{y}" '
                    f'width="{at(right) - at(left):.1f}" height="{_BAR}" '
                    f'style="fill:{colour}"><title>{_head(name)}: {percent(share)} '
                    f"{escape(level)} ({n} of {own.sum()})</title></rect>"
                )
        marks += _row_names(name, y, int(own.sum()), looks)
    return _rows_picture(f"Shares of {column.name} in every cluster", marks, column)


def quantile_strips(
    column: ColumnAssociation, looks: Looks, text: Callable[[float], str]
) -> str:
    """A box per cluster: 5 to 95 % as a line, 25 to 75 % as a box, the median."""
    *own, every = column.quantiles
    low = min(quantiles[0] for quantiles in column.quantiles)
    high = max(quantiles[-1] for quantiles in column.quantiles)
    is_date = column.kind == "date"
    marked = list(np.linspace(low, high, 3)) if is_date else ticks(low, high)[:7]
    at = scale(min(low, marked[0]), max(high, marked[-1]), _START + 6, _END)
    foot = (_shown(column) + 1) * _ROW + 4
    marks = [_tick(at(value), foot, text(value)) for value in marked]
    rows = _rows(column, np.array(own), np.array(every))
    for i, (name, quantiles) in enumerate(rows):
        y = i * _ROW + 4
        a, b, middle, c, d = (at(value) for value in quantiles)
        said = [text(value) for value in quantiles]
        colour = "var(--muted)" if name is None else f"var(--c{looks[name][0]})"
        marks += [
            f'<g style="color:{colour}"><title>{_head(name)}: median {said[2]}; half '
            f"from {said[1]} to {said[3]}; nine of ten from {said[0]} to {said[4]}"
            f'</title><line class="reach" x1="{a:.1f}" x2="{d:.1f}" '
            f'y1="{y + _BAR / 2}" y2="{y + _BAR / 2}"/><rect class="box" x="{b:.1f}" '
            f'y="{y}" width="{max(c - b, 1):.1f}" height="{_BAR}"/><line '
            f'class="median" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y}" '
            f'y2="{y + _BAR}"/></g>',
            *_row_names(name, y, None, looks),
        ]
    title = f"Quantiles of {column.name} in every cluster"
    return _rows_picture(title, marks, column, below=20)


def survival_plot(survival: Survival, looks: Looks) -> str:
    """Kaplan-Meier curves of all clusters; with confidence bands where few."""
    last = max(curve.last for curve in survival.curves)
    at_x = scale(0, last or 1.0, LEFT, WIDTH - RIGHT)
    at_y = scale(0, 1, HEIGHT - BOTTOM, TOP)
    bands, curves = [], []
    for curve in survival.curves:
        colour, shape = looks[curve.cluster]
        look = f'style="color:var(--c{colour})"'
        times = [at_x(t) for t in (*curve.times, curve.last)]
        path = _steps(times, [at_y(s) for s in curve.survival])
        dashes = f' stroke-dasharray="{_DASHES[shape]}"' if shape else ""
        curves.append(
            f'<path class="survival" {look}{dashes} d="{path}">'
            f"<title>Cluster {curve.cluster}</title></path>"
        )
        if len(survival.curves) <= _BANDS:
            bands += [
                f'<path class="band" {look} d="{path}"/>'
                for path in _band(curve, times, at_y)
            ]
    frame = axes(
        list(survival.marks),
        [0, 0.2, 0.4, 0.6, 0.8, 1],
        at_x,
        at_y,
        cut(survival.time, _NAME),
        "share that survives",
    )
    title = f"Survival of {len(survival.curves)} clusters. {survival.sentence}"
    return picture(cut(title, 400), frame + bands + curves)


def _steps(x: Sequence[float], y: Sequence[float]) -> str:
    """A path that keeps each height until the next place; one place more at the end."""
    parts = [f"M{x[0]:.1f} {y[0]:.1f}"]
    parts += [f"H{x[i]:.1f}V{y[i]:.1f}" for i in _thinned(len(y))[1:].tolist()]
    return "".join([*parts, f"H{x[-1]:.1f}"])


def _thinned(n: int) -> np.ndarray:
    """Places of so many of `n` steps as are drawn, the first and the last of them."""
    return np.unique(np.linspace(0, n - 1, min(n, _STEPS)).astype(int))


def _band(
    curve: SurvivalCurve, times: Sequence[float], at_y: Callable[[float], float]
) -> list[str]:
    """The area between the limits of a curve, where both are known."""
    known = np.flatnonzero(np.isfinite(curve.low) & np.isfinite(curve.high))
    if not len(known):
        return []
    some = known[_thinned(len(known))].tolist()
    ends = [times[i] for i in some[1:]] + [times[some[-1] + 1]]
    upper = "".join(
        f"V{at_y(curve.high[i]):.1f}H{end:.1f}" for i, end in zip(some, ends)
    )
    starts = [times[i] for i in reversed(some)]
    lower = "".join(
        f"V{at_y(curve.low[i]):.1f}H{start:.1f}"
        for i, start in zip(reversed(some), starts)
    )
    first = some[0]
    return [f"M{times[first]:.1f} {at_y(curve.high[first]):.1f}{upper}{lower}Z"]


def _shown(column: ColumnAssociation) -> int:
    return min(len(column.clusters), CLUSTERS)


def _rows(
    column: ColumnAssociation, own: np.ndarray, every: np.ndarray
) -> list[tuple[int | None, np.ndarray]]:
    """All samples (None), then every cluster, with what is drawn of them."""
    clusters = column.clusters[: _shown(column)]
    return [(None, every), *zip(clusters, own)]


def _head(cluster: int | None) -> str:
    return "All samples" if cluster is None else f"Cluster {cluster}"


def _row_names(cluster: int | None, y: int, n: int | None, looks: Looks) -> list[str]:
    """The cluster's sign and number to the left, samples to the right."""
    middle = y + _BAR - 3
    count = "" if n is None else f'<text x="{_END + 8}" y="{middle}">{n}</text>'
    if cluster is None:
        return [f'<text x="2" y="{middle}">All</text>', count]
    colour, shape = looks[cluster]
    return [
        f'<use class="sign" href="#shape-{shape}" x="0" y="{y + 1}" width="13" '
        f'height="13" style="color:var(--c{colour})"/>'
        f'<text x="17" y="{middle}">{cluster}</text>',
        count,
    ]


def _tick(x: float, foot: float, text: str) -> str:
    anchor = "end" if x > _END - 20 else "start" if x < _START + 20 else "middle"
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{foot}"/>'
        f'<text x="{x:.1f}" y="{foot + 14}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _rows_picture(
    title: str, marks: Sequence[str], column: ColumnAssociation, below: int = 0
) -> str:
    height = (_shown(column) + 1) * _ROW + 4 + below
    return picture(cut(title, 200), marks, (_WIDE, height))
