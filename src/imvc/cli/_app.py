"""The application: all command modules of this package, found by name."""

import importlib
import pkgutil
from typing import Annotated

import typer

import imvc.cli
from imvc._version import __version__
from imvc.cli._options import with_groups
from imvc.cli._printing import examples


def build_app() -> typer.Typer:
    """The typer application with every command registered."""
    app = typer.Typer(
        name="imvc",
        help="Clustering of samples described by several views, many of them missing.",
        epilog="imvc COMMAND --help shows the options of a command and examples.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Plain help: names in brackets are no markup, and rich need not be loaded.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for module in _command_modules():
        name = module.__name__.rpartition(".")[2]
        if hasattr(module, "group"):
            app.add_typer(module.group(), name=name)
        else:
            command = with_groups(getattr(module, name))
            app.command(epilog=examples(*module.EXAMPLES))(command)
    return app


def _command_modules():
    """Modules with a command; those with an ``ORDER`` come first, in that order."""
    modules = [
        importlib.import_module(f"imvc.cli.{module.name}")
        for module in pkgutil.iter_modules(imvc.cli.__path__)
        if not module.name.startswith("_")
    ]
    return sorted(modules, key=lambda m: (getattr(m, "ORDER", 100), m.__name__))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and stop.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Options of the program itself; commands have their own."""
