"""docs/tutorial.md: its blocks run, one after the other, in a folder of their own."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")

from imvc.cli import main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def test_every_block_of_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "tutorial"}
    for kind, text in BLOCK.findall(PAGE.read_text()):
        assert kind in ("sh", "python")
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), names)
            continue
        for line in text.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line)
            if program == "imvc":
                assert main(arguments) == 0, capsys.readouterr().err
    table = PAGE.read_text().split("| file in `out/` |")[1].split("\n\n")[0]
    promised = set(re.findall(r"`([a-z]+\.[a-z]+)`", table))
    assert promised == {path.name for path in Path("out").iterdir()}
    assert Path("again/labels.csv").read_bytes() == Path("out/labels.csv").read_bytes()
    assert len(Path("new_labels.csv").read_text().splitlines()) == 21
    assert "acc" in capsys.readouterr().out
