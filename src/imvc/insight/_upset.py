"""The patterns of an inspection as a picture in the manner of UpSet plots."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from imvc.insight._inspect_text import cut

if TYPE_CHECKING:
    from imvc.insight._inspect import Inspection


PATTERNS = 20  # columns of the picture
NAME = 22  # characters of a name beside its dots
_COLUMN, _ROW = 30, 24  # pixels per pattern and per view
_BARS = 130  # height of the tallest bar
_SIZES = 110  # width of the longest bar of a view
_NAMES = 165  # width of the names
_EDGE, _START = 14, 52  # margins; the left one holds the sizes in numbers

_STYLE = """
.imvc-upset{font:12px system-ui,sans-serif;color-scheme:light dark}
.imvc-upset text{fill:#222}
.imvc-upset .quiet{fill:#666}
.imvc-upset .bar,.imvc-upset .on{fill:#0072B2}
.imvc-upset .size{fill:#777}
.imvc-upset .off{fill:#d9d9d9}
.imvc-upset .link{stroke:#0072B2;stroke-width:3}
.imvc-upset .band{fill:#0000000a}
@media screen and (prefers-color-scheme:dark){
.imvc-upset text{fill:#eee}
.imvc-upset .quiet{fill:#aaa}
.imvc-upset .bar,.imvc-upset .on{fill:#56B4E9}
.imvc-upset .size{fill:#999}
.imvc-upset .off{fill:#444}
.imvc-upset .link{stroke:#56B4E9}
.imvc-upset .band{fill:#ffffff10}
}
"""


def upset_svg(found: Inspection) -> str:
    """Bars of pattern counts above a matrix of dots, sizes of views to the left.

    A whole SVG document without external references. Colours follow the reader's light
    or dark setting; every mark has a title that a pointer shows.
    """
    shown = found.patterns[:PATTERNS]
    rest = found.patterns[PATTERNS:]
    left = _START + _SIZES + _NAMES
    width = left + max(_COLUMN * len(shown), 120) + _EDGE
    top = 52 + _BARS
    height = top + _ROW * len(found.views) + (30 if rest else 0) + _EDGE
    parts = [
        _opening(found, width, height),
        f'<text x="{_EDGE}" y="22" font-weight="600">Samples by the views they have'
        "</text>",
        *_view_rows(found, top, width),
        *(
            mark
            for i, pattern in enumerate(shown)
            for mark in _pattern_column(found, pattern, left + _COLUMN * i, top)
        ),
    ]
    if rest:
        total = sum(p.count for p in rest)
        parts.append(
            f'<text class="quiet" x="{left}" y="{height - _EDGE}">and {len(rest)} more '
            f"patterns, {total} samples together</text>"
        )
    return "\n".join([*parts, "</svg>\n"])


def _opening(found: Inspection, width: int, height: int) -> str:
    names = ", ".join(f"{view.name}: {view.n_observed}" for view in found.views)
    text = (
        f"{found.n_samples} samples in {len(found.views)} views; {found.n_complete} "
        f"have every view. Samples per view: {names}."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="imvc-upset" role="img" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'aria-labelledby="imvc-upset-title imvc-upset-text">\n'
        f'<title id="imvc-upset-title">Samples by the views they have</title>\n'
        f'<desc id="imvc-upset-text">{_escaped(text)}</desc>\n<style>{_STYLE}</style>'
    )


def _view_rows(found: Inspection, top: int, width: int) -> list[str]:
    """Name, number of samples and its bar for every view."""
    marks, end = [], _START + _SIZES
    for v, view in enumerate(found.views):
        y = top + _ROW * v
        length = _SIZES * view.n_observed / max(1, found.n_samples)
        if v % 2 == 0:
            marks.append(
                f'<rect class="band" x="0" y="{y}" width="{width}" height="{_ROW}"/>'
            )
        marks += [
            f'<rect class="size" x="{end - length:.1f}" y="{y + 5}" '
            f'width="{length:.1f}" height="{_ROW - 10}"><title>'
            f"{_escaped(view.name)}: {view.n_observed} of {found.n_samples} samples"
            f"</title></rect>",
            f'<text class="quiet" x="{end - length - 5:.1f}" y="{y + 16}" '
            f'text-anchor="end" font-size="10">{short_count(view.n_observed)}</text>',
            f'<text x="{end + 8}" y="{y + 16}">{_escaped(cut(view.name, NAME))}</text>',
        ]
    return marks


def _pattern_column(found: Inspection, pattern, x: int, top: int) -> list[str]:
    """The bar of one pattern and its dots below."""
    most = found.patterns[0].count
    height = max(1.0, _BARS * pattern.count / most)
    middle = x + _COLUMN / 2
    label = _escaped(" + ".join(pattern.views))
    inside = [v for v, view in enumerate(found.views) if view.name in pattern.views]
    rows = [top + _ROW * v + _ROW / 2 for v in range(len(found.views))]
    marks = [
        f'<rect class="bar" x="{x + 5}" y="{top - 8 - height:.1f}" '
        f'width="{_COLUMN - 10}" height="{height:.1f}"><title>{label}: {pattern.count} '
        f"samples</title></rect>",
        f'<text x="{middle}" y="{top - 12 - height:.1f}" text-anchor="middle" '
        f'font-size="10">{short_count(pattern.count)}</text>',
        *(
            f'<circle class="{"on" if v in inside else "off"}" cx="{middle}" '
            f'cy="{y}" r="6"/>'
            for v, y in enumerate(rows)
        ),
    ]
    if len(inside) > 1:
        marks.append(
            f'<line class="link" x1="{middle}" x2="{middle}" y1="{rows[inside[0]]}" '
            f'y2="{rows[inside[-1]]}"/>'
        )
    return marks


def short_count(count: int) -> str:
    """A count in at most five characters."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if count >= limit:
            value = count / (1e3 if unit == "k" else limit)
            return f"{value:.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"
    return str(count)


def _escaped(text: str) -> str:
    """Text safe inside SVG: no markup, and no character that XML forbids."""
    return escape("".join(c if c.isprintable() else " " for c in text))
