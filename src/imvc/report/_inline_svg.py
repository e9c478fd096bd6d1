"""Small plots as SVG text inside a page; colours come from the page's style sheet."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 46
_LABELLED = 16  # points up to which each is labelled

Scale = Callable[[float], float]


def line_plot(
    x: np.ndarray,
    y: np.ndarray,
    *,
    title: str,
    x_label: str,
    y_label: str,
    marked: float | None = None,
    levels: Mapping[float, str] | None = None,
    reach: Sequence[float] = (),
) -> str:
    """A line with dots, a dashed line at `marked`, and named heights, `levels`.

    Points that are not finite are left out; the y axis spans `reach` at least. The
    title is what readers who cannot see the picture are told.
    """
    points = np.array([x, y], dtype=float)
    x, y = points[:, np.isfinite(points).all(axis=0)]
    x_ticks = _labelled(x, marked)
    y_ticks = ticks(float(min([*reach, *y])), float(max([*reach, *y])))
    at_x = scale(x.min(), x.max(), LEFT + 10, WIDTH - RIGHT - 10)
    at_y = scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    marks = []
    if marked is not None:
        place = at_x(marked)
        marks.append(
            f'<line class="marked" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" '
            f'y2="{HEIGHT - BOTTOM}"/>'
        )
    path = " ".join(f"{at_x(a):.1f},{at_y(b):.1f}" for a, b in zip(x, y))
    marks.append(f'<polyline class="curve" points="{path}"/>')
    if len(x) <= 60:
        marks += [
            f'<circle class="dot" cx="{at_x(a):.1f}" cy="{at_y(b):.1f}" r="3.5"/>'
            for a, b in zip(x, y)
        ]
    for value, name in (levels or {}).items():
        height, right = at_y(value), WIDTH - RIGHT
        marks += [
            f'<line class="level" x1="{LEFT}" x2="{right}" y1="{height:.1f}" '
            f'y2="{height:.1f}"/>',
            f'<text class="level" x="{right}" y="{height - 5:.1f}" text-anchor="end">'
            f"{escape(name)}</text>",
        ]
    frame = axes(x_ticks, y_ticks, at_x, at_y, x_label, y_label)
    return picture(title, frame + marks)


def histogram(
    counts: Sequence[int],
    flagged: Sequence[int],
    *,
    title: str,
    x_label: str,
    y_label: str,
) -> str:
    """Bars over equal parts of 0 to 1; the hollow foot of each counts flagged ones."""
    y_ticks = ticks(0, max(1, *counts), whole=True)
    x_ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    at_x = scale(0, 1, LEFT + 4, WIDTH - RIGHT - 10)
    at_y = scale(0, y_ticks[-1], HEIGHT - BOTTOM, TOP)
    width = at_x(1 / len(counts)) - at_x(0) - 2
    marks = []
    for i, (total, low) in enumerate(zip(counts, flagged)):
        left = at_x(i / len(counts)) + 1
        for name, foot, top in (("flagged", 0, low), ("column", low, total)):
            if top > foot:
                marks.append(
                    f'<rect class="{name}" x="{left:.1f}" y="{at_y(top):.1f}" '
                    f'width="{width:.1f}" height="{at_y(foot) - at_y(top):.1f}"/>'
                )
    frame = axes(x_ticks, y_ticks, at_x, at_y, x_label, y_label)
    return picture(title, frame + marks)


def ticks(low: float, high: float, whole: bool = False) -> list[float]:
    """About five round numbers that span `low` to `high`."""
    span = high - low if high > low else max(abs(high), 1.0)
    step = 10.0 ** np.floor(np.log10(span / 5))
    step *= next(f for f in (1, 2, 5, 10) if span / (f * step) <= 6)
    if whole:
        step = max(1.0, np.ceil(step))
    first, last = np.floor(low / step), np.ceil(high / step)
    last = max(last, first + 1)
    return [float(i * step) for i in np.arange(first, last + 1)]


def _labelled(x: np.ndarray, marked: float | None) -> list[float]:
    """Points of the x axis with a label; the marked one is always among them."""
    if len(x) <= _LABELLED:
        return list(x)
    if marked is None:
        return ticks(x.min(), x.max(), whole=True)
    step = -(-len(x) // _LABELLED)  # rounded up
    return list(x[np.searchsorted(x, marked) % step :: step])


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """From values between `low` and `high` to places between `start` and `end`."""
    span = high - low
    if span == 0:
        return lambda _: (start + end) / 2
    return lambda value: start + (value - low) / span * (end - start)


def axes(
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    at_x: Scale,
    at_y: Scale,
    x_label: str,
    y_label: str,
) -> list[str]:
    """Grid, ticks and names of two axes."""
    foot, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    marks = []
    for value in y_ticks:
        y = at_y(value)
        marks += [
            f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{number(value)}</text>",
        ]
    for value in x_ticks:
        if LEFT <= at_x(value) <= right:
            marks.append(
                f'<text x="{at_x(value):.1f}" y="{foot + 18}" text-anchor="middle">'
                f"{number(value)}</text>"
            )
    middle = (TOP + foot) / 2
    return [
        *marks,
        f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{foot}" y2="{foot}"/>',
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x_label)}</text>",
        f'<text x="14" y="{middle}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle})">{escape(y_label)}</text>',
    ]


def picture(
    title: str, marks: Sequence[str], size: tuple[int, int] = (WIDTH, HEIGHT)
) -> str:
    """Marks as one picture; the title is for readers who cannot see it."""
    return (
        f'<svg class="plot" role="img" viewBox="0 0 {size[0]} {size[1]}" '
        f'aria-label="{escape(title)}">' + "".join(marks) + "</svg>"
    )


def number(value: float) -> str:
    """Four digits, with a true minus sign."""
    return f"{value:.4g}".replace("-", "\u2212")
