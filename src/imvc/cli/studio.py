"""``imvc studio``: the whole way in a browser page on this machine."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

ORDER = 6
EXAMPLES = (
    "imvc studio",
    "imvc studio rna.csv protein.csv clinical.csv",
    "imvc studio demo_output",
    "imvc studio tables --project study --port 9000 --no-browser",
)


def studio(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATHS",
            help="Files, read where they are; a folder of tables; or a project or the "
            "output folder of imvc cluster or imvc demo, which is opened.",
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where uploads, choices and runs are kept; imvc_studio if not given.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="INT",
            help="Port of the page; 8765 or the next free one if not given.",
        ),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser.")
    ] = False,
) -> None:
    """Go the whole way in the browser: files, clusters, map, new samples, results.

    The page is served on this machine and to nobody else: it needs the address that is
    printed, which holds a secret. Nothing is sent anywhere. Everything is kept in a
    folder of files that the other commands read; finished runs stay when the studio is
    ended (Ctrl-C) or killed, and are there when it is started again.
    """
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"imvc studio needs {' and '.join(missing)}: pip install 'imvc[studio]'"
        )
    from imvc.studio import open_project, serve

    opened = open_project(paths or (), project)
    folder = opened.folder

    def say(url: str) -> None:
        typer.echo(f"The project is in {folder}")
        typer.echo("Ctrl-C ends the studio; finished runs stay.")
        typer.echo(f"Open this in a browser: {url}")

    serve(opened, port=port, browser=not no_browser, say=say)
    typer.echo(f"The studio is closed; what is finished is in {folder}")
