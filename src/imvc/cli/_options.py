"""The options that commands share, and the groups of them that belong together."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imvc.cli._option_texts import (
    all_or_some,
    by_column,
    columns_of_views,
    for_all_or_each,
    id_columns,
    name_and_files,
    names_of,
    view_names,
    whole_number,
)

if TYPE_CHECKING:
    from imvc.workflow import BlockFiles, InputFiles

KINDS = (
    "CSV, TSV (.gz, ...), Excel, Parquet, Feather, .npy, .npz, .mat, .mtx, .h5ad, .h5mu"
)


def complete_method(incomplete: str) -> list[str]:
    """Names of methods that start so, for the shell."""
    from imvc.methods import list_methods

    return [name for name in list_methods() if name.startswith(incomplete)]


Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.")
]
PrintJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No notes and no progress on stderr.")
]
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
Seed = Annotated[int, typer.Option(min=0, metavar="INT", help="Random seed.")]
Files = Annotated[  # --rows may stand for all of them
    list[Path] | None,
    typer.Argument(
        metavar="FILES", help=f"One file per view, joined by sample id: {KINDS}."
    ),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column of sample ids, or VIEW=COLUMN (repeat it); @row: rows of all "
        "files are the same samples in the same order. Otherwise the column whose "
        "values are in the other files too, that is named like ids, or text that never "
        "repeats.",
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
Transpose = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VIEW", help="The file of this view has samples in columns; all: all."
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="In .h5ad and .h5mu files: what to read instead of X."
    ),
]


MatchIds = Annotated[
    str,
    typer.Option(
        metavar="exact|loose",
        help="loose also joins ids that differ only in case, spaces, leading zeros, "
        "or what all ids of a file begin or end with.",
    ),
]
IdMap = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Table of two columns, old and new sample ids."),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Sheet of workbooks (or BOOK.xlsx::NAME as the file); all: each is a "
        "view.",
    ),
]


@dataclass(frozen=True)
class LayoutOptions:
    """Where samples and views are in files."""

    id: Id = None
    name: Name = None
    match_ids: MatchIds = "exact"
    id_map: IdMap = None
    rows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Files that are rows of one view, such as batches of patients, or "
            "VIEW=A,B,... (repeat it).",
        ),
    ] = None
    sheet: Sheet = None
    transpose: Transpose = None
    layer: Layer = None

    def layout(self, files: Sequence[Path]) -> dict[str, Any]:
        """Where samples and views are in the files: all that new samples need."""
        stacked = [name_and_files(text) for text in self.rows or ()]
        if not files and not stacked:
            raise ValueError("no files are given; name one file per view.")
        known = [*files, *(Path(path) for _, parts in stacked for path in parts)]
        return {
            "paths": [*map(os.fspath, files), *(parts for _, parts in stacked)],
            "id_columns": id_columns(self.id, known, self.name),
            "names": view_names(self.name, files, [name for name, _ in stacked]),
            "match_ids": self.match_ids,
            "id_map": None if self.id_map is None else os.fspath(self.id_map),
            "transpose": all_or_some(self.transpose),
            "layer": self.layer,
            "sheet": self.sheet,
        }


@dataclass(frozen=True)
class InputOptions(LayoutOptions):
    """How files of views are read and their columns prepared."""

    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="VIEW=COLUMN", help="Leave this column out (repeat it)."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VIEW=COLUMN",
            help="Use only the columns of this view that are named so (repeat it).",
        ),
    ] = None
    as_: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="COLUMN=KIND",
            help="Read a column as number, category, ordinal, date or metadata; "
            "VIEW=COLUMN=KIND for one view (repeat it).",
        ),
    ] = None
    ordinal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=A,B,...",
            help="A column with ordered values, from low to high (repeat it).",
        ),
    ] = None
    non_numeric: Annotated[
        str,
        typer.Option(
            metavar="use|drop|error",
            help="Text columns: use them as categories, ranks or dates, keep them as "
            "metadata only, or refuse them.",
        ),
    ] = "use"
    empty_cells: Annotated[
        str,
        typer.Option(
            metavar="fill|mean|error",
            help="Empty cells of a row that is there: fill them from the rest of the "
            "row, by column means, or refuse them.",
        ),
    ] = "fill"
    log1p: Annotated[
        list[str] | None,
        typer.Option(
            "--log1p", metavar="VIEW", help="Take log(1 + x) of this view; all: of all."
        ),
    ] = None
    scale: Annotated[
        list[str] | None,
        typer.Option(
            metavar="standard|none",
            help="Standardise the columns of all views, or VIEW=standard (repeat it).",
        ),
    ] = None
    top_variance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Keep the N columns of largest variance, or VIEW=N (repeat it).",
        ),
    ] = None

    def input_files(
        self,
        files: Sequence[Path],
        metadata: Path | None = None,
        describing: Sequence[str] = (),
    ) -> "InputFiles":
        """The files of a command; columns named in `describing` are no features."""
        from imvc.io import ColumnOptions, Preparation
        from imvc.workflow import InputFiles

        return InputFiles(
            **self.layout(files),
            columns=ColumnOptions(
                kinds=by_column(self.as_, "--as COLUMN=KIND"),
                ordinals={
                    column: values.split(",")
                    for column, values in by_column(
                        self.ordinal, "--ordinal COLUMN=A,B,..."
                    ).items()
                },
                drop=columns_of_views(self.drop, "--drop"),
                keep=columns_of_views(self.keep, "--keep"),
                metadata=tuple(describing),
                text=self.non_numeric,
            ),
            preparation=Preparation(
                empty_cells=self.empty_cells,
                log1p=all_or_some(self.log1p),
                scale=for_all_or_each(self.scale, "--scale"),
                top_variance=for_all_or_each(
                    self.top_variance, "--top-variance", whole_number
                ),
            ),
            metadata=None if metadata is None else os.fspath(metadata),
            guard=True,
        )


@dataclass(frozen=True)
class BlockOptions:
    """What goes with files that are read by blocks."""

    out_of_core: Annotated[
        bool,
        typer.Option(
            "--out-of-core",
            help="Read by blocks what does not fit into memory: Parquet files or "
            "folders of them, zarr arrays, .npy, .h5ad, .h5mu. Methods bridge and "
            "rise.",
        ),
    ] = False
    memory_budget: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Memory of an out-of-core run, apart from the labels: 512MiB, 4GB.",
        ),
    ] = "1GiB"
    mask: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Out of core: .npy or zarr array, a row per sample and a column per "
            "file, False where the sample is missing. Otherwise rows of NaN are "
            "missing.",
        ),
    ] = None
    work_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Out of core: where unfinished work is kept, and stays. Otherwise in "
            "the output folder, until the run is finished.",
        ),
    ] = None
    result_format: Annotated[
        str,
        typer.Option(
            metavar="parquet|zarr|npy|csv",
            help="Out of core: format of labels and embedding.",
        ),
    ] = "parquet"

    def block_files(
        self, files: Sequence[Path], inputs: InputOptions, quiet: bool
    ) -> "BlockFiles":
        """The files of a command, to be read by blocks."""
        from imvc.workflow import BlockFiles

        return BlockFiles(
            paths=[os.fspath(path) for path in files],
            names=names_of(inputs.name, files),
            id_columns=id_columns(inputs.id, files, inputs.name),
            mask=self.mask,
            empty_cells=inputs.empty_cells,
            memory_budget=self.memory_budget,
            result_format=self.result_format,
            work_dir=self.work_dir,
            verbose=0 if quiet else 1,
            guard=True,
        )


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer can read it: groups of options taken apart into options."""
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in signature(command).parameters.values():
        group = parameter.annotation
        if not is_dataclass(group):
            parameters.append(parameter)
            continue
        groups[parameter.name] = group
        parameters += [
            Parameter(
                f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type
            )
            for f in fields(group)
        ]

    @wraps(command)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            own = {f.name: given.pop(f.name) for f in fields(group)}
            given[name] = group(**own)
        command(**given)

    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call
