"""The options that commands share, and the groups of them that belong together."""

import ast
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
        stacked = [_stacked(text) for text in self.rows or ()]
        if not files and not stacked:
            raise ValueError("no files are given; name one file per view.")
        known = [*files, *(Path(path) for _, parts in stacked for path in parts)]
        return {
            "paths": [*map(os.fspath, files), *(parts for _, parts in stacked)],
            "id_columns": _id_columns(self.id, known, self.name),
            "names": _view_names(self.name, files, [name for name, _ in stacked]),
            "match_ids": self.match_ids,
            "id_map": None if self.id_map is None else os.fspath(self.id_map),
            "transpose": _all_or_some(self.transpose),
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
                kinds=_by_column(self.as_, "--as COLUMN=KIND"),
                ordinals={
                    column: values.split(",")
                    for column, values in _by_column(
                        self.ordinal, "--ordinal COLUMN=A,B,..."
                    ).items()
                },
                drop=_columns_of_views(self.drop, "--drop"),
                keep=_columns_of_views(self.keep, "--keep"),
                metadata=tuple(describing),
                text=self.non_numeric,
            ),
            preparation=Preparation(
                empty_cells=self.empty_cells,
                log1p=_all_or_some(self.log1p),
                scale=_for_all_or_each(self.scale, "--scale"),
                top_variance=_for_all_or_each(
                    self.top_variance, "--top-variance", _whole_number
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
            names=_names_of(inputs.name, files),
            id_columns=_id_columns(inputs.id, files, inputs.name),
            mask=self.mask,
            empty_cells=inputs.empty_cells,
            memory_budget=self.memory_budget,
            result_format=self.result_format,
            work_dir=self.work_dir,
            verbose=0 if quiet else 1,
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
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return text


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


def _names_of(name: Sequence[str] | None, files: Sequence[Path]) -> list[str] | None:
    """The names of the views, one for every file."""
    if name and len(name) != len(files):
        raise ValueError(
            f"--name is given {len(name)} times for {len(files)} files; give it once "
            f"per file, in their order."
        )
    return list(name) if name else None


def _view_names(
    name: Sequence[str] | None, files: Sequence[Path], stacked: Sequence[str]
) -> list[str | None] | None:
    """The names of the views: of the files, then of the views of several files."""
    own: Sequence[str | None] | None = _names_of(name, files)
    if own is None and not any(stacked):
        return None
    return [*(own or [None] * len(files)), *(name or None for name in stacked)]


def _stacked(text: str) -> tuple[str, list[str]]:
    """Name, which may be empty, and files of ``--rows VIEW=A,B``."""
    name, sign, rest = text.partition("=")
    if not sign or Path(text.split(",")[0]).exists():
        name, rest = "", text
    paths = [path.strip() for path in rest.split(",") if path.strip()]
    if len(paths) < 2:
        raise ValueError(f"--rows {text!r} must name two files or more: A,B,...")
    return name, paths


def _by_column(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``COLUMN=VALUE`` texts as a dict; a column may have an equals sign in it."""
    found: dict[str, str] = {}
    for text in texts or ():
        column, sign, value = text.rpartition("=")
        if not sign or not column or not value:
            raise ValueError(f"{option.split()[0]} {text!r} must be {option}.")
        if found.setdefault(column, value) != value:
            raise ValueError(
                f"{option.split()[0]} says both {found[column]!r} and {value!r} of "
                f"column {column!r}; keep one."
            )
    return found


def _columns_of_views(texts: Sequence[str] | None, option: str) -> dict[str, list[str]]:
    """``VIEW=COLUMN`` texts as columns by view."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        view, sign, column = text.partition("=")
        if not sign or not view or not column:
            raise ValueError(f"{option} {text!r} must be VIEW=COLUMN.")
        found.setdefault(view, []).append(column)
    return found


def _id_columns(
    given: Sequence[str] | None, files: Sequence[Path], name: Sequence[str] | None
) -> str | dict[str, str] | None:
    """``--id`` as one column for all files, or a column by view."""
    if not given:
        return None
    known = {*(name or ()), *(start for path in files for start in _starts(path.name))}
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


def _starts(name: str) -> list[str]:
    """What a view may be called by its file: text.csv.gz, text.csv, text."""
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


def _all_or_some(given: Sequence[str] | None) -> bool | tuple[str, ...]:
    """The views that are named, or True for all."""
    return True if "all" in (given or ()) else tuple(given or ())


def _for_all_or_each(
    given: Sequence[str] | None,
    option: str,
    kind: Callable[[str, str], Any] = lambda text, option: text,
) -> Any:
    """One value for all views, or VIEW=value for some."""
    if not given:
        return None
    by_view = {}
    for text in given:
        view, sign, value = text.rpartition("=")
        if not sign and len(given) == 1:
            return kind(text, option)
        if not sign or not view or not value:
            raise ValueError(
                f"{option} {text!r} stands beside others; give one value for all "
                f"views, or VIEW=value for each."
            )
        by_view[view] = kind(value, option)
    return by_view


def _whole_number(text: str, option: str) -> int:
    """A positive whole number, or an error that names the option."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"{option} {text!r} must be a whole number, at least 1.")
    return number
