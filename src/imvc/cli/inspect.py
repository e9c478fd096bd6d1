"""``imvc inspect``: what is missing where, before anything is clustered."""

from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._options import Files, InputOptions, Json, Quiet
from imvc.cli._printing import print_json
from imvc.cli._progress_bars import stage_progress

ORDER = 1
EXAMPLES = (
    "imvc inspect rna.csv protein.tsv.gz clinical.parquet",
    "imvc inspect rna.csv protein.csv --id patient --svg patterns.svg",
    "imvc inspect study.h5mu --json",
)


def inspect(
    *,
    files: Files = None,
    inputs: InputOptions,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the picture of patterns here."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show how files of views match: samples, patterns, overlap, odd columns.

    Nothing is clustered. What was decided about the files (separators, id columns,
    columns left out) is told on stderr, the tables on stdout.
    """
    from imvc._files import atomic_write, check_target
    from imvc.workflow import inspect_source

    if svg is not None:
        check_target(svg)
    source = inputs.input_files(files or ())
    with stage_progress(quiet) as progress:
        found, notes = inspect_source(source, progress=progress)
    if svg is not None:
        with atomic_write(svg) as file:
            file.write(found.to_svg().encode())
    if json:
        written = None if svg is None else str(svg)
        print_json({**found.to_dict(), "notes": list(notes), "svg": written})
        return
    typer.echo(str(found))
    if svg is not None:
        typer.echo(f"\npicture: {svg}")
