"""docs/cli.md is made from the help texts and up to date."""

import runpy
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer")

import typer

from imvc.cli._app import build_app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
MAKER = runpy.run_path(str(PAGE.with_name("make_cli_page.py")))


def commands(command, path=()):
    inner = getattr(command, "commands", None)
    if inner is None:
        return {path: command}
    return {
        name: found
        for key, child in inner.items()
        for name, found in commands(child, (*path, key)).items()
    }


COMMANDS = commands(typer.main.get_command(build_app()))


def test_the_page_is_up_to_date():
    remedy = "run: python docs/make_cli_page.py > docs/cli.md"
    assert PAGE.read_text() == MAKER["command_page"](), remedy


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_parameter_has_a_help_text(path):
    command = COMMANDS[path]
    assert command.help
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), parameter.name


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_an_example(path):
    assert " ".join(["imvc", *path]) in (COMMANDS[path].epilog or "")


def example_lines():
    for path, command in COMMANDS.items():
        text = (command.epilog or "").replace("\b\n", "").replace("\\\n", " ")
        for line in text.splitlines():
            if line.strip().startswith("imvc "):
                yield path, line.strip()


@pytest.mark.parametrize(("path", "line"), list(example_lines()))
def test_the_examples_are_commands_with_options_that_exist(path, line):
    words = shlex.split(line)[1 + len(path) :]
    known = {name for p in COMMANDS[path].params for name in p.opts}
    assert tuple(shlex.split(line)[1 : 1 + len(path)]) == path
    assert {word for word in words if word.startswith("-")} <= known
