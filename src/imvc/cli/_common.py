"""What commands share: printing, and lists in options."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import typer


def names(text: str | None) -> list[str] | None:
    """The names in an option such as ``--methods rise,daimc``."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise ValueError(f"{text!r} names nothing; separate names by commas.")
    return found


def numbers(
    text: str | None, option: str, kind: Callable[[str], Any]
) -> list[Any] | None:
    """The numbers in an option such as ``--rates 0.1,0.5``."""
    found = names(text)
    try:
        return None if found is None else [kind(number) for number in found]
    except ValueError:
        raise ValueError(
            f"{option} {text!r} must be numbers separated by commas."
        ) from None


def print_json(value: Any) -> None:
    """Indented JSON on stdout."""
    typer.echo(json.dumps(value, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]):
    """A table on stdout, as wide as it needs where stdout is not a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=1000)
    table = Table(title=Text(title) if title else None, title_justify="left", box=None)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        # Names of datasets and methods are no markup.
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def clock(seconds: float) -> str:
    """A duration for people: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
