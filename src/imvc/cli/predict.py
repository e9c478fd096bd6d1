"""``imvc predict``: clusters of new samples."""

from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._options import Files, Json, LayoutOptions, Quiet
from imvc.cli._printing import print_json, print_warnings
from imvc.cli._progress_bars import stage_progress

ORDER = 3
EXAMPLES = (
    "imvc predict out/model.imvc new_rna.csv --name rna",
    "imvc predict out/model.imvc rna.csv protein.csv -o new_labels.csv",
)


def predict(
    *,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="A model.imvc of imvc cluster, or its folder."
        ),
    ],
    files: Files = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the labels here, .csv or .parquet. Otherwise CSV on stdout.",
        ),
    ] = None,
    layout: LayoutOptions,
    metadata: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table with ids and the batches of the samples, for a model made with "
            "--adjust.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put new samples into the clusters of a saved model.

    Files are matched with the views of the model by name (--name, or the file's own
    name); views may be absent. Columns are read and prepared exactly as they were for
    the model; other columns are ignored, and some may be absent. A model made with
    --adjust COLUMN removes the effects of batches also here: it needs that column in
    the files or in --metadata.
    """
    from imvc import workflow
    from imvc.io import check_labels_path

    if output is not None:
        check_labels_path(output)
    options = layout.layout(files or ())
    with stage_progress(quiet) as progress:
        found = workflow.predict(
            model, **options, metadata=metadata, guard=True, progress=progress
        )
    if output is not None:
        found.save(output)
    if not json:
        print_warnings(found.warnings, stderr=True)
    if json:
        print_json({**found.to_dict(), "output": str(output) if output else None})
    elif output is None:
        typer.echo(found.to_csv(), nl=False)
    else:
        typer.echo(str(output))
