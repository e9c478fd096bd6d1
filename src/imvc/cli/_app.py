"""The application: all command modules of this package, found by name."""

import importlib
import pkgutil
from typing import Annotated

import typer

import imvc.cli


def build_app() -> typer.Typer:
    """The typer application with every command registered."""
    app = typer.Typer(
        name="imvc",
        help="Clustering of samples described by several views, many of them missing.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for module in sorted(pkgutil.iter_modules(imvc.cli.__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            importlib.import_module(f"imvc.cli.{module.name}").register(app)
    return app


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", is_eager=True),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(version_of("imvc"))
        raise typer.Exit
