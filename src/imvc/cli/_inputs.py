"""The options for files of views, shared by inspect, cluster and compare."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from imvc.workflow import InputFiles

KINDS = "CSV, TSV (.gz, ...), Parquet, Feather, .npy, .npz, .mat, .mtx, .h5ad, .h5mu"

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES",
        help=f"One file per view, joined by sample id: {KINDS}.",
        show_default=False,
    ),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column of sample ids, or VIEW=COLUMN (repeat it). Otherwise a first "
        "column named like ids or not at all, or the first text column whose values "
        "all differ.",
    ),
]
Name = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        metavar="VIEW",
        help="Name of a view, once per file. Otherwise the files' own names.",
    ),
]
NonNumeric = Annotated[
    str,
    typer.Option(
        metavar="drop|onehot|error", help="What to do with columns that are text."
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute", help="Fill empty cells of a present row with column means."
    ),
]
Log1p = Annotated[
    list[str] | None,
    typer.Option(
        "--log1p", metavar="VIEW", help="Take log(1 + x) of this view; all: of all."
    ),
]
Scale = Annotated[
    list[str] | None,
    typer.Option(
        metavar="standard|none",
        help="Standardise the columns of all views, or VIEW=standard (repeat it).",
    ),
]
TopVariance = Annotated[
    list[str] | None,
    typer.Option(
        metavar="N",
        help="Keep the N columns of largest variance, or VIEW=N (repeat it).",
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="In .h5ad and .h5mu files: what to read instead of X."
    ),
]
Transpose = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VIEW", help="The file of this view has samples in columns; all: all."
    ),
]
Metadata = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Table with ids and what is known, to colour the report."
    ),
]


def input_files(
    files: Sequence[Path],
    *,
    id: Sequence[str] | None = None,
    name: Sequence[str] | None = None,
    non_numeric: str = "drop",
    impute: bool = False,
    log1p: Sequence[str] | None = None,
    scale: Sequence[str] | None = None,
    top_variance: Sequence[str] | None = None,
    transpose: Sequence[str] | None = None,
    layer: str | None = None,
    metadata: Path | None = None,
) -> InputFiles:
    """The options as `imvc.workflow.InputFiles`."""
    if not files:
        raise ValueError("no files are given; name one file per view.")
    from imvc.io import Preparation
    from imvc.workflow import InputFiles

    return InputFiles(
        paths=[os.fspath(path) for path in files],
        id_columns=id_columns(id, files, name),
        names=names_of(name, files),
        non_numeric=non_numeric,
        transpose=transposed(transpose),
        preparation=Preparation(
            impute=impute,
            log1p=True if "all" in (log1p or ()) else tuple(log1p or ()),
            scale=for_all_or_each(scale, "--scale"),
            top_variance=for_all_or_each(top_variance, "--top-variance", whole_number),
        ),
        metadata=None if metadata is None else os.fspath(metadata),
        layer=layer,
    )


def names_of(name: Sequence[str] | None, files: Sequence[Path]) -> list[str] | None:
    """The names of the views, one for every file."""
    if name and len(name) != len(files):
        raise ValueError(
            f"--name is given {len(name)} times for {len(files)} files; give it once "
            f"per file, in their order."
        )
    return list(name) if name else None


def id_columns(
    given: Sequence[str] | None, files: Sequence[Path], name: Sequence[str] | None
) -> str | dict[str, str] | None:
    """``--id`` as one column for all files, or a column by view."""
    if not given:
        return None
    known = {*(name or ()), *(start for path in files for start in starts(path.name))}
    by_view = {}
    for text in given:
        view, sign, column = text.partition("=")
        # A column may well have an equals sign in its name.
        if sign and (view in known or len(given) > 1):
            by_view[view] = column
        elif len(given) == 1:
            return text
        else:
            raise ValueError(
                f"--id {text!r} stands beside others; give one column for all files, "
                f"or VIEW=COLUMN for each."
            )
    return by_view


def starts(name: str) -> list[str]:
    """What a view may be called by its file: text.csv.gz, text.csv, text."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


def transposed(given: Sequence[str] | None) -> bool | tuple[str, ...]:
    """``--transpose``: the views, or True for all."""
    return True if "all" in (given or ()) else tuple(given or ())


def for_all_or_each(
    given: Sequence[str] | None, option: str, kind: Any = None
) -> Any | dict[str, Any] | None:
    """One value for all views, or VIEW=value for some."""
    if not given:
        return None
    by_view = {}
    for text in given:
        view, sign, value = text.rpartition("=")
        if not sign and len(given) == 1:
            return text if kind is None else kind(text, option)
        if not sign or not view or not value:
            raise ValueError(
                f"{option} {text!r} stands beside others; give one value for all "
                f"views, or VIEW=value for each."
            )
        by_view[view] = value if kind is None else kind(value, option)
    return by_view


def whole_number(text: str, option: str) -> int:
    """A positive whole number, or an error that names the option."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"{option} {text!r} must be a whole number, at least 1.")
    return number
