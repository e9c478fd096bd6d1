"""What commands share: printing, and lists in options."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No notes and no progress on stderr.")
]
# The registry itself takes a second to load, too long for a completion.
METHOD_NAMES = (
    "bridge",
    "rise",
    "ueaf",
    "pimvc",
    "hcls-cgl",
    "gsrimc",
    "imvtsc-mvi",
    "daimc",
    "sfsr-imvc",
    "psimvc-pg",
    "imvc-cbg",
    "simvc-sa",
    "impute-kmeans",
)


def complete_method(incomplete: str) -> list[str]:
    """Names of methods that start so, for the shell."""
    return [name for name in METHOD_NAMES if name.startswith(incomplete)]


Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Method; imvc methods lists them.",
        autocompletion=complete_method,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Parameter of the method (repeat it)."
    ),
]


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
    """Indented JSON on stdout; null where a number is not finite."""
    typer.echo(json.dumps(_strict(value), indent=2, allow_nan=False))


def _strict(value: Any) -> Any:
    """``value`` in the types of JSON, which knows neither NaN nor NumPy."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


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


def examples(*lines: str) -> str:
    """An epilogue with example commands, one a line, not wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def parameter_values(texts: Sequence[str] | None) -> dict[str, Any]:
    """``--set name=value`` as a dict; values as in JSON or Python, else as text."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--set {text!r} must be name=value.")
        if name.strip() in found:
            raise ValueError(f"--set {name.strip()!r} is given twice.")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    import ast

    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return text


def command_line(context: typer.Context) -> list[str]:
    """The command as it was given, for the record of a run."""
    return ["imvc", *(context.obj or {}).get("arguments", ())]
