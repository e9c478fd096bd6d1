"""An inspection as plain text: tables, and a picture of the patterns in dots."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from imvc._plain import aligned
from imvc._plain import cut as cut_off

if TYPE_CHECKING:
    from imvc.insight._inspect import Inspection


WIDTH = 80
_PATTERNS = 12  # rows of the picture
_NAME = 24  # characters of a name in the tables
_BAR = 30
_HEADING = 10  # characters of a view's name over its dots
_COLUMNS = 30  # columns that are listed
_DOTS = 40  # views up to which dots are drawn


def cut(name: str, width: int) -> str:
    """`name` on one line of at most `width` characters, with an ellipsis if cut."""
    name = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return cut_off(name, width)


def inspection_text(found: Inspection) -> str:
    """The text that ``str(inspection)`` gives, at most 88 characters wide."""
    share = 100 * found.n_complete / max(1, found.n_samples)
    parts = [
        f"{_many(found.n_samples, 'sample')}, {_many(len(found.views), 'view')}; "
        f"{found.n_complete} "
        f"({share:.1f} %) have every view",
        _view_table(found),
        _picture(found),
    ]
    if len(found.views) > 1:
        parts.append(_overlap_table(found))
    if found.join is not None:
        parts.append(_join_table(found))
    if found.columns:
        parts.append(_column_table(found))
    parts.append(_warning_list(found))
    return "\n\n".join(parts)


def _many(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _view_table(found: Inspection) -> str:
    """The table of views, with names cut until it fits."""
    tables = (_views_with_names(found, width) for width in range(_NAME, 5, -1))
    for table in tables:
        if max(map(len, table.splitlines())) <= WIDTH:
            break
    return table


def _views_with_names(found: Inspection, width: int) -> str:
    lines = [
        ["", "view", "features", "observed", "", "constant", "repeated", "sd"],
        *(
            [
                str(i),
                cut(view.name, width),
                str(view.n_features),
                str(view.n_observed),
                f"{100 * view.n_observed / max(1, found.n_samples):.1f} %",
                str(len(view.constant)),
                str(sum(len(group) - 1 for group in view.duplicates)),
                f"{view.sd_range[0]:.2g} to {view.sd_range[1]:.2g}",
            ]
            for i, view in enumerate(found.views, 1)
        ),
    ]
    return aligned(lines, left=(1, 7))


def _picture(found: Inspection) -> str:
    """One line per pattern: a dot per view, the count and a bar."""
    names = [view.name for view in found.views]
    shown = found.patterns[:_PATTERNS]
    most = max((p.count for p in shown), default=1)
    digits = len(str(most))
    lines = ["samples by the views they have (● has it, ○ lacks it)"]
    headings = _headings(names, WIDTH - digits - _BAR - 4)
    if headings:
        lines.append("  ".join(headings).rstrip())
    for pattern in shown:
        bar = "█" * max(1, round(_BAR * pattern.count / most))
        dots = _dots(pattern, names, headings)
        lines.append(f"{dots}  {pattern.count:>{digits}} {bar}")
    rest = found.patterns[_PATTERNS:]
    if rest:
        total = sum(p.count for p in rest)
        lines.append(f"and {len(rest)} more, with {total} samples together")
    return "\n".join(lines)


def _headings(names: list[str], room: int) -> list[str]:
    """What stands above the dots: names, numbers of views, or nothing."""
    width = min(_HEADING, room // len(names) - 2)
    if max(map(len, names)) <= width or width >= 6:
        short = [cut(name, width) for name in names]
    else:
        short = [str(i) for i in range(1, len(names) + 1)]
    widest = max(map(len, short))
    if (widest + 2) * len(names) > room:
        return []
    return [text.center(widest) for text in short]


def _dots(pattern, names: list[str], headings: list[str]) -> str:
    if len(names) > _DOTS:
        return f"{len(pattern.views):>4} of {len(names)} views"
    dots = ["●" if name in pattern.views else "○" for name in names]
    if not headings:
        return "".join(dots)
    return "  ".join(dot.center(len(text)) for dot, text in zip(dots, headings))


def _overlap_table(found: Inspection) -> str:
    names = [cut(view.name, _HEADING) for view in found.views]
    cells = [[str(count) for count in row] for row in found.overlap.tolist()]
    table = aligned([["", *names], *([n, *row] for n, row in zip(names, cells))])
    title = "samples that two views share"
    if max(map(len, table.splitlines())) <= WIDTH:
        return f"{title}\n{table}"
    lines = [["view", "most", "with", "fewest", "with"]]
    for v, view in enumerate(found.views):
        others = [(int(n), u) for u, n in enumerate(found.overlap[v]) if u != v]
        (most, a), (least, b) = max(others, key=lambda o: o[0]), min(others)
        a_name, b_name = found.views[a].name, found.views[b].name
        row = [cut(view.name, 20), str(most), cut(a_name, 20), str(least)]
        lines.append([*row, cut(b_name, 20)])
    return f"{title}\n{aligned(lines, left=(0, 2, 4))}"


def _join_table(found: Inspection) -> str:
    join = found.join
    assert join is not None
    lines = [["table", "ids", "only here"]]
    for name, count in join.ids_per_table.items():
        lines.append([cut(name, _NAME), str(count), str(join.unmatched[name])])
    head = (
        f"joined by id: {_many(join.n_samples, 'id')} in "
        f"{_many(len(join.ids_per_table), 'table')}, "
        f"{join.in_all} of them in all"
    )
    return f"{head}\n{aligned(lines)}"


def _column_table(found: Inspection) -> str:
    """How each column was read and why; plain numbers come after the others."""
    rows = sorted(
        found.columns, key=lambda c: (c.kind == "number", -c.n_empty / max(1, c.n_rows))
    )
    lines = [["view", "column", "read as", "empty", "why"]]
    for c in rows[:_COLUMNS]:
        name = f"{c.column} ({c.n_columns})" if c.n_columns > 1 else c.column
        share = f"{100 * c.n_empty / max(1, c.n_rows):.0f} %" if c.n_empty else "-"
        lines.append([cut(c.view, 12), cut(name, _NAME), c.kind, share, cut(c.why, 30)])
    table = "how columns were read\n" + aligned(lines, left=(0, 1, 2, 4))
    more = sum(c.n_columns for c in rows[_COLUMNS:])
    return f"{table}\nand {more} more columns (--json lists all)" if more else table


def _warning_list(found: Inspection) -> str:
    if not found.warnings:
        return "no warnings"
    wrapped = [
        textwrap.fill(
            cut(text, 1000),
            WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for text in found.warnings
    ]
    return "\n".join(["warnings", *wrapped])
