"""``imvc compare``: several methods on the same files."""

from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._common import (
    Json,
    Quiet,
    complete_method,
    examples,
    names,
    print_json,
    print_table,
)
from imvc.cli._inputs import (
    Files,
    Id,
    Impute,
    Layer,
    Log1p,
    Name,
    NonNumeric,
    Scale,
    TopVariance,
    Transpose,
    input_files,
)
from imvc.cli._progress import stage_progress

ORDER = 4


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "imvc compare rna.csv protein.csv -k 4 --methods rise,daimc,bridge",
            "imvc compare rna.csv protein.csv -k 4 --methods rise,bridge \\",
            "    --labels clinical.csv:subtype -o table.csv",
        )
    )(compare)


def compare(
    files: Files,
    clusters: Annotated[
        int,
        typer.Option(
            "--clusters", "-k", min=2, metavar="INT", help="Number of clusters."
        ),
    ],
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Methods, separated by commas; imvc methods lists them.",
            autocompletion=complete_method,
        ),
    ] = "impute-kmeans,rise,bridge",
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:COLUMN]",
            help="Table with ids and known classes, to score against.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Also write the table here (CSV)."
        ),
    ] = None,
    id: Id = None,
    name: Name = None,
    non_numeric: NonNumeric = "drop",
    impute: Impute = False,
    log1p: Log1p = None,
    scale: Scale = None,
    top_variance: TopVariance = None,
    transpose: Transpose = None,
    layer: Layer = None,
    seed: Annotated[int, typer.Option(min=0, metavar="INT", help="Random seed.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Try what the estimate says cannot fit.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the same files by several methods and show where they agree.

    What each method will take is told first. The table has seconds, pattern leakage
    (do clusters follow what is missing?), the agreement of the methods (adjusted Rand
    index) and, with --labels, scores. Ends with code 1 if a method failed.
    """
    from imvc.workflow import compare_methods, read_classes

    inputs = input_files(
        files,
        id=id,
        name=name,
        non_numeric=non_numeric,
        impute=impute,
        log1p=log1p,
        scale=scale,
        top_variance=top_variance,
        transpose=transpose,
        layer=layer,
    )
    with stage_progress(quiet) as progress:
        found = compare_methods(
            inputs,
            names(methods) or [],
            clusters,
            labels=None if labels is None else read_classes(labels),
            random_state=seed,
            force=force,
            progress=progress,
        )
    if output is not None:
        found.save(output)
    if json:
        print_json({**found.to_dict(), "output": str(output) if output else None})
    else:
        print_table("", *found.cells())
        if output is not None:
            typer.echo(str(output))
    if found.failed:
        raise typer.Exit(1)
