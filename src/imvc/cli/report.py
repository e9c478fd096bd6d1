"""``imvc report``: from records to tables, figures and a page."""

from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._option_texts import names
from imvc.cli._options import PrintJson
from imvc.cli._printing import print_json

EXAMPLES = (
    "imvc report records.sqlite -o report",
    "imvc report records.sqlite --suites table2 --formats svg",
)


def report(
    records: Annotated[Path, typer.Argument(help="A records file of imvc reproduce.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write to.")
    ] = Path("report"),
    suites: Annotated[
        str | None, typer.Option(help="Only these suites, separated by commas.")
    ] = None,
    formats: Annotated[
        str, typer.Option(help="Formats of figures, separated by commas.")
    ] = "svg,pdf,png",
    json: PrintJson = False,
) -> None:
    """Write tables (Markdown, CSV, LaTeX), figures and one page from records."""
    from imvc.report import write_report

    kinds = names(formats) or []
    for kind in kinds:
        if kind not in ("svg", "pdf", "png"):
            raise ValueError(f"format {kind!r} is unknown; there are: svg, pdf, png.")
    page = write_report(records, output, suites=names(suites), formats=kinds)
    if json:
        print_json({"page": str(page)})
    else:
        typer.echo(str(page))
