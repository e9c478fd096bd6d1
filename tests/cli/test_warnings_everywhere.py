"""Warnings on the terminal: once, together, and the same as everywhere else."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")

from imvc.cli import main
from imvc.cli._printing import print_warnings
from imvc.workflow import _predict


@pytest.fixture
def noise(tmp_path, monkeypatch):
    """Two files of noise, each with a column twice and one of a single value."""
    rng = np.random.default_rng(0)
    ids = [f"p{i:03d}" for i in range(120)]
    for name in ("a", "b"):
        X = rng.standard_normal((120, 12))
        X[:, 1] = X[:, 0]
        X[:, 2] = 3
        head = ",".join(["id", *(f"{name}{j}" for j in range(12))])
        rows = [",".join([i, *map(str, x)]) for i, x in zip(ids, X.tolist())]
        Path(tmp_path, f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return ["cluster", "a.csv", "b.csv", "-k", "3"]


def shown(out):
    """The warnings on a terminal as they are in the list."""
    texts = out.split("\n cluster ")[0].splitlines()
    return [text.rstrip().removeprefix("warning: ") for text in texts]


def test_terminal_json_record_and_page_warn_of_the_same_in_the_same_order(
    noise, capsys
):
    assert main([*noise, "-o", "out"]) == 0
    out, err = capsys.readouterr()
    assert main([*noise, "-o", "again", "--json", "--quiet"]) == 0
    document, silence = capsys.readouterr()
    told = json.loads(document)["warnings"]
    assert told[0].startswith("No cluster structure was found: the clusters are ")
    assert (
        "View 'a' has 1 copy of other features (a0 = a1): what is repeated " in told[-4]
    )
    assert told[-1].endswith("leave out with --drop b=b2.")
    assert shown(out) == told
    assert json.loads(Path("out/run.json").read_text())["warnings"] == told
    page = unescape(re.sub("<[^>]*>", "", Path("out/report.html").read_text()))
    places = [page.index(text) for text in told]
    assert places == sorted(places)
    assert "warning" not in err
    assert silence == ""


def test_quiet_hides_notes_but_not_warnings(noise, capsys):
    assert main([*noise, "-o", "out", "--refits", "0", "--quiet", "--no-report"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(shown(out)) == 4


def test_that_there_are_no_clusters_is_bold_and_red_and_first(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    words = "No cluster structure was found: " + "nothing comes back " * 6
    print_warnings([words.strip() + ".", "Odd."], alarm=True)
    out = capsys.readouterr().out
    assert out.startswith("\x1b[1;31mNo cluster structure was found: ")
    plain = re.sub("\x1b\\[[0-9;]*m", "", out)
    assert "\nwarning: Odd.\n" in plain
    assert max(map(len, plain.splitlines())) <= 60
    assert " ".join(plain.split()).startswith(words.strip())  # wrapped at words


def test_more_than_twelve_warnings_end_with_where_all_of_them_are(capsys):
    texts = [f"Number {i}." for i in range(17)]
    print_warnings(texts, more="report.html and run.json")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:12] == [f"warning: Number {i}." for i in range(12)]
    assert lines[12:] == ["and 5 more in report.html and run.json"]


def test_no_warnings_print_nothing(capsys):
    print_warnings([])
    assert capsys.readouterr().out == ""


def test_compare_and_predict_warn_on_stderr_though_quiet(noise, capsys, monkeypatch):
    compare = ["compare", *noise[1:], "--methods", "impute-kmeans", "--quiet"]
    assert main(compare) == 0
    out, err = capsys.readouterr()
    assert "warning" not in out
    assert "warning: View 'a' has 1 copy" in err
    assert main([*compare, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["warnings"]
    assert [f"warning: {text}" for text in told] == err.splitlines()

    assert main([*noise, "-o", "out", "--refits", "0", "-q", "--no-report"]) == 0
    monkeypatch.setattr(_predict, "no_structure", lambda model: "No clusters.")
    capsys.readouterr()
    assert main(["predict", "out/model.imvc", "a.csv", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("id,cluster,")
    assert err.startswith("warning: No clusters. The model's clusters are one way")


def test_inspect_lists_the_warnings_of_reading_and_data(noise, capsys):
    assert main(["inspect", "a.csv", "b.csv", "--quiet"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "warnings - View 'a' has 1 copy of other features (a0 = a1)" in out
