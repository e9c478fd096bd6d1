"""What commands print: JSON, tables, durations, examples."""

import json
from collections.abc import Sequence
from typing import Any

import typer

from imvc._plain import plain

_MOST_WARNINGS = 12


def print_json(value: Any) -> None:
    """Indented JSON on stdout; null where a number is not finite."""
    strict = plain(value, lambda odd: None if isinstance(odd, float) else str(odd))
    typer.echo(json.dumps(strict, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]):
    """A table on stdout, as wide as it needs where stdout is not a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left", box=None)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        # Names of datasets and methods are no markup.
        table.add_row(*(Text(cell) for cell in row))
    _console().print(table)


def print_text(text: str, style: str = "") -> None:
    """A paragraph on stdout, wrapped at words where stdout is a terminal."""
    from rich.text import Text

    _console().print(Text(text, style=style))


def print_warnings(
    texts: Sequence[str], *, alarm: bool = False, more: str = "", stderr: bool = False
) -> None:
    """Warnings, one a paragraph and no more than twelve; of an alarm the first is red.

    `more` says where all of them are. They are shown whether the user wants it quiet or
    not: on stdout before a table, on stderr where stdout is for programs.
    """
    from rich.text import Text

    console = _console(stderr)
    for i, text in enumerate(texts[:_MOST_WARNINGS]):
        red = alarm and i == 0
        shown = Text(text, "bold red") if red else Text(f"warning: {text}", "yellow")
        console.print(shown)
    left = len(texts) - _MOST_WARNINGS
    if left > 0:
        console.print(Text(f"and {left} more{f' in {more}' if more else ''}", "yellow"))


def _console(stderr: bool = False):
    from rich.console import Console

    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=2000)


def clock(seconds: float) -> str:
    """A duration for people: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def examples(*lines: str) -> str:
    """An epilogue with example commands, one a line, not wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
