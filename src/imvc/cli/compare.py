"""``imvc compare``: several methods on the same files."""

from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._option_texts import names
from imvc.cli._options import Files, InputOptions, Json, Quiet, Seed, complete_method
from imvc.cli._printing import print_json, print_text, print_warnings
from imvc.cli._progress_bars import stage_progress

ORDER = 4
EXAMPLES = (
    "imvc compare rna.csv protein.csv -k 4 --methods rise,daimc,bridge",
    "imvc compare rna.csv protein.csv -k 4 --methods rise,bridge \\",
    "    --labels clinical.csv:subtype -o table.csv",
)


def compare(
    *,
    files: Files = None,
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
    inputs: InputOptions,
    seed: Seed = 0,
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
    from imvc._files import check_target
    from imvc.workflow import compare_methods

    if output is not None:
        check_target(output)
    source = inputs.input_files(files or ())
    with stage_progress(quiet) as progress:
        found = compare_methods(
            source,
            names(methods) or [],
            clusters,
            labels=labels,
            random_state=seed,
            force=force,
            progress=progress,
        )
    if output is not None:
        found.save(output)
    if json:
        print_json({**found.to_dict(), "output": str(output) if output else None})
    else:
        print_warnings(found.warnings, stderr=True)
        typer.echo(found.comparison.tables())
        remarks = found.comparison.remarks()
        for text in ["", *remarks] if remarks else ():
            print_text(text)
        if output is not None:
            typer.echo(str(output))
    if found.failed:
        raise typer.Exit(1)
