"""docs/cli.md from the help texts: ``python docs/make_cli_page.py > docs/cli.md``."""

import sys
from collections.abc import Iterator

import typer

from imvc.cli._app import build_app

_HEAD = """\
# The command line

Made from the help texts by `python docs/make_cli_page.py > docs/cli.md`; a test checks
that it is up to date. The program comes with `pip install 'imvc[cli,io,report]'`.

- Results go to stdout, notes and progress to stderr; `--quiet` silences the notes,
  `--json` prints one JSON document.
- Exit code 0: done; 1: a run failed; 2: wrong usage or input that cannot be used;
  130: interrupted (143: by SIGTERM). Errors are one line that names the file and the
  remedy.
- Files are written whole or not at all, also when a command is interrupted. A file that
  changes while it is read is an error (code 2) that names it.
- `NO_COLOR=1` turns colours off. `imvc --install-completion` sets up the shell.
"""


def command_page() -> str:
    """The text of docs/cli.md."""
    root = typer.main.get_command(build_app())
    parts = [_HEAD]
    for path, command in _commands(root, "imvc"):
        parts.append("\n".join(_section(path, command)))
    return "\n".join(parts)


def _commands(command, path: str) -> Iterator[tuple[str, object]]:
    """Every command that does something, with its full name."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, child in inner.items():
        yield from _commands(child, f"{path} {name}")


def _section(path: str, command) -> Iterator[str]:
    yield f"## {path}\n"
    yield (command.help or "").strip() + "\n"
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    yield from _table("argument", [(f"`{_value(p)}`", _help(p)) for p in arguments])
    yield from _table("option", [(_option(p), _help(p)) for p in options])
    if command.epilog:
        lines = command.epilog.replace("\b\n", "").splitlines()
        yield "<!-- not run: a test compares the options with those above -->"
        yield "```sh"
        yield from (line.removeprefix("  ") for line in lines if line != "Examples:")
        yield "```\n"


def _table(head: str, rows) -> Iterator[str]:
    if rows:
        yield f"| {head} | meaning |"
        yield "|---|---|"
        yield from (f"| {name} | {text} |" for name, text in rows)
        yield ""


def _value(parameter) -> str:
    return parameter.metavar or parameter.name.upper()


def _option(parameter) -> str:
    names = ", ".join(f"`{name}`" for name in sorted(parameter.opts, key=len))
    if getattr(parameter, "is_flag", False):
        return names
    return f"{names} `{_escaped(_value(parameter))}`"


def _help(parameter) -> str:
    text = getattr(parameter, "help", None) or ""
    default = parameter.default
    if default not in (None, False, (), []) and not callable(default):
        text += f" Default: `{default}`."
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    """A bar would end a cell of the table."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(command_page())
