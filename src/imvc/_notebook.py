"""How results look in notebooks: HTML in the reader's own colours, and DataFrames.

A notebook that is not trusted yet is shown without scripts, style sheets and SVG, so
there are none: tables, bars and dots, with a few styles on the elements themselves.
"""

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from imvc._plain import cut

__all__ = [
    "Html",
    "bar",
    "box",
    "first_few",
    "import_pandas",
    "pattern_table",
    "sizes_text",
    "table",
    "warned",
    "wrapped",
]

_WIDTH = 79  # of a repr
_FEW, _SIZES = 5, 8  # views and sizes in a repr
_ROWS = 20  # of a table
_TEXT = 60  # characters of a cell
_PATTERNS, _NAMED, _DOTS = 12, 10, 40  # patterns; views by name, and with dots
_BLUE, _AMBER = "#3d8ecf", "#c98a00"  # on white and on black they are seen alike
_BAR = 120  # pixels
_SIDES = {"l": "left", "c": "center", "r": "right"}


class Html(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()


def box(title: str, *parts: str) -> str:
    """A title and what is below it: Html as it is, any other text in paragraphs."""
    below = (part if isinstance(part, Html) else _paragraph(part) for part in parts)
    return "\n".join(
        ["<div>", f"<div><strong>{escape(title)}</strong></div>", *below, "</div>"]
    )


def warned(texts: Iterable[str]) -> Html:
    """Paragraphs with a mark beside them."""
    edge = f"border-left:4px solid {_AMBER};padding-left:8px;"
    return Html("\n".join(_paragraph(text, edge) for text in texts))


def _paragraph(text: str, style: str = "") -> str:
    return f'<p style="{style}margin:6px 0;max-width:60em">{escape(text)}</p>'


def table(
    sides: str,
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    title: str | None = None,
    most: int = _ROWS,
) -> Html:
    """Rows under a head; `sides` has a letter for every column: l, c or r."""
    every = list(rows)
    styles = [f"text-align:{_SIDES[side]}" for side in sides]

    def line(cells: Sequence[Any], tag: str) -> str:
        inner = "".join(
            f'<{tag} style="{style}">{_cell(cell)}</{tag}>'
            for style, cell in zip(styles, cells, strict=True)
        )
        return f"<tr>{inner}</tr>"

    lines = [line(head, "th"), *(line(row, "td") for row in every[:most])]
    if len(every) > most:
        lines.append(
            f'<tr><td colspan="{len(head)}" style="text-align:left">and '
            f"{len(every) - most} more</td></tr>"
        )
    top = "" if title is None else f'<div style="opacity:.75">{escape(title)}</div>'
    # Side by side where there is room.
    return Html(
        '<div style="display:inline-block;vertical-align:top;margin:6px 28px 6px 0">'
        f"{top}<table>\n" + "\n".join(lines) + "\n</table></div>"
    )


def bar(share: float) -> Html:
    """A bar as long as a share of one."""
    width = round(_BAR * share)
    style = f"display:inline-block;width:{width}px;height:10px;background-color:{_BLUE}"
    # What is empty takes no room in some notebooks.
    return Html(
        f'<div style="width:{_BAR}px"><span style="{style}">&#8203;</span></div>'
    )


def pattern_table(
    names: Sequence[str], patterns: Sequence[tuple[Sequence[int], int]]
) -> Html:
    """Which views samples have together: dots, numbers of samples, and bars.

    Parameters
    ----------
    names : sequence of str
        Of the views.
    patterns : sequence of (numbers of views, number of samples)
        The most frequent first.
    """
    if len(names) > _DOTS:
        head = ["views"]
        dots = [[f"{len(own)} of {len(names)}"] for own, _ in patterns]
    else:
        numbers = range(1, len(names) + 1)
        head = [*names] if len(names) <= _NAMED else [*map(str, numbers)]
        dots = [
            ["●" if v in own else "○" for v in range(len(names))] for own, _ in patterns
        ]
    most = max((count for _, count in patterns), default=1)
    rows = (
        [*seen, count, bar(count / most)] for seen, (_, count) in zip(dots, patterns)
    )
    return table(
        "c" * len(head) + "rl",
        [*head, "samples", ""],
        rows,
        title="samples by the views they have (● has it, ○ lacks it)",
        most=_PATTERNS,
    )


def import_pandas() -> Any:
    """pandas, or an error that names the extra."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "tables need pandas: pip install 'imvc[io]'", name=error.name
        ) from error
    return pandas


def wrapped(text: str) -> str:
    """A repr in lines of less than 80 characters."""
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def first_few(texts: Iterable[Any], most: int = _FEW) -> str:
    """The first of some texts, and how many more there are."""
    every = [str(text) for text in texts]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def sizes_text(sizes: Sequence[int]) -> str:
    """``3 clusters (60, 50, 40)``."""
    return f"{len(sizes)} clusters ({first_few(sizes, _SIZES)})"


def _cell(value: Any) -> str:
    if isinstance(value, Html):
        return value
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        fixed = value == 0 or 0.005 <= abs(value) < 1e5
        return f"{value:.2f}" if fixed else f"{value:.2g}"
    return escape(cut(value, _TEXT))
