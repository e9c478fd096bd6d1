"""``imvc demo``: handwritten digits, half of the samples incomplete."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from imvc.cli._options import Json, Quiet
from imvc.cli._printing import print_json, print_table, print_warnings
from imvc.cli._progress_bars import stage_progress

ORDER = 5
EXAMPLES = ("imvc demo", "imvc demo -o digits --refits 0")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")
    ] = Path("demo_output"),
    refits: Annotated[
        int, typer.Option(min=0, metavar="INT", help="Fits for the confidence.")
    ] = 4,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cluster five views of handwritten digits, half of the samples incomplete.

    Three methods side by side with their scores, since the digits are known here; then
    everything that imvc cluster writes, for AnchorBridge. The views are written as
    CSV files too, to try other commands on. Ends with the path of the report, and how
    to look at it all in the browser.
    """
    from imvc import workflow

    with stage_progress(quiet) as progress:
        found = workflow.demo(output, n_refits=refits, progress=progress)
    if json:
        print_json(found.to_dict())
        return
    print_warnings(found.run.warnings, alarm=found.run.no_structure is not None)
    print_table("", *found.cells())
    typer.echo("The same by hand: " + found.command)
    typer.echo(str(found.files["report.html"]))
    typer.echo(f"Look at it in the browser: imvc studio {shlex.quote(str(output))}")
