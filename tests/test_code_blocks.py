"""Every block of code in README.md and docs/ runs, or says why it does not.

The blocks of a page run in order, in one namespace and one empty folder. Lines of a
```text block must be among what the block before it printed. On a page may stand

    <!-- not run: the reason -->        directly before a block
    <!-- not compared: the reason -->   directly before a text block
    <!-- run                            Python that readers do not need to see
    ... -->
"""

import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
pytest.importorskip("zarr")

import matplotlib
import sklearn
import typer

from imvc.cli import main
from imvc.cli._app import build_app

ROOT = Path(__file__).resolve().parents[1]
GENERATED = ("_build", "api", "gallery")
BLOCK = re.compile(
    r"^<!-- run\n(?P<hidden>.*?)-->$"
    r"|(?:^ *<!-- not (?:run|compared): (?P<why>[^>]+) -->\n)?"
    r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.M | re.S,
)
SHELL = ("sh", "bash", "console")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


def blocks(page):
    """``(kind, text, why it is not run)`` of what is on a page."""
    for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        if found["hidden"]:
            yield "python", found["hidden"], None
            continue
        kind, text = found["kind"], textwrap.dedent(found["text"])
        bare = not kind and re.search(r"^imvc \w", text, re.M)
        yield ("sh" if bare or kind in SHELL else kind), text, found["why"]


def commands(text):
    """The words of every line of a shell block."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if not set(GENERATED) & set(path.relative_to(ROOT).parts)
)
WITH_CODE = [
    p for p in PAGES if any(kind in ("python", "sh") for kind, *_ in blocks(p))
]


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__", "__file__": str(ROOT / page)}
    printed = None
    with sklearn.config_context(), matplotlib.rc_context():
        for kind, text, why_not in blocks(page):
            if why_not:
                printed = None
            elif kind == "python":
                exec(compile(text, page, "exec"), names)
                printed = said(capsys)
            elif kind == "sh":
                run(commands(text), capsys)
                printed = said(capsys)
            elif kind == "text" and printed is not None:
                for line in re.split(r"\n|\.\.\.", text):
                    assert " ".join(line.split()) in printed


def run(lines, capsys):
    """Run `imvc`; of what is to be installed, look whether it exists."""
    for program, *arguments in lines:
        if program == "pip":
            extras = ",".join(re.findall(r"\[(.*)\]", " ".join(arguments)))
            assert not extras or set(extras.split(",")) <= set(EXTRAS)
            continue
        assert program == "imvc", f"{program}: write <!-- not run: why --> before it"
        assert main(arguments) == 0, capsys.readouterr().err


def said(capsys):
    """What was printed, with single spaces."""
    return " ".join(" ".join(capsys.readouterr()).split())


@pytest.mark.parametrize("page", WITH_CODE)
def test_commands_that_are_not_run_exist_with_their_options(page):
    for kind, text, why_not in blocks(page):
        for program, *words in commands(text) if kind == "sh" and why_not else ():
            command = typer.main.get_command(build_app())
            while program == "imvc" and (inner := getattr(command, "commands", None)):
                command = inner[words.pop(0)]
            if program == "imvc":
                known = {name for p in command.params for name in p.opts}
                assert {word for word in words if word.startswith("-")} <= known
