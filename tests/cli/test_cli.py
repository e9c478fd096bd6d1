"""The command line: results on stdout, the rest on stderr, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from imvc.cli import main
from imvc.datasets import make_views

SUITE = """
title = "small"
tables = ["scores"]
figures = ["missing-rate"]
metrics = ["acc"]
[quick]
datasets = ["planted", "unheard-of"]
rates = [0.5]
mask_seeds = [0]
seeds = [0]
[full]
datasets = ["planted"]
rates = [0.5]
mask_seeds = [0]
seeds = [0]
[[method]]
name = "rise"
parameters = { n_anchors = 12 }
[method.grid]
beta = [1, 100]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a suite and a dataset; the current one."""
    data = make_views(60, (4, 5, 6), 3, random_state=0)
    arrays = {f"X{v}": np.asarray(X) for v, X in enumerate(data.Xs)}
    np.savez(tmp_path / "planted.npz", y=data.y, **arrays)
    (tmp_path / "small.toml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMVC_DATA", str(tmp_path))
    return tmp_path


def run(*arguments, **environment):
    command = [sys.executable, "-m", "imvc.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment
    )


@pytest.mark.parametrize(
    "command",
    [(), ("reproduce",), ("report",), ("methods",), ("data",), ("data", "import")],
)
def test_every_command_has_help(command, capsys):
    assert main([*command, "--help"]) == 0
    assert "Usage: imvc" in capsys.readouterr().out


def test_help_loads_nothing_heavy_beyond_the_package_itself():
    """What `import imvc` loads is tested in test_architecture."""
    code = (
        "import sys, imvc; before = set(sys.modules)\n"
        "from imvc.cli import main\n"
        "main(['--help'])\n"
        "heavy = {'sklearn', 'scipy', 'matplotlib', 'jinja2', 'pandas', 'sqlite3'}\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(heavy & new))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_without_typer_the_extra_is_named():
    code = (
        "import sys; sys.modules['typer'] = None\n"
        "from imvc.cli import main; sys.exit(main(['methods']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        done.stderr == "imvc: the command line needs typer: pip install 'imvc[cli]'\n"
    )


def test_a_suite_runs_resumes_and_ends_with_what_it_wrote(folder):
    done = run("reproduce", "small.toml", "--output", "out", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["suites"][0]["ok"] == told["suites"][0]["runs"] == 3
    assert "unheard-of is not there, left out" in done.stderr
    assert Path(told["report"]).is_file()
    assert (folder / "out" / "quick-small-acc.md").is_file()
    again = run("reproduce", "small.toml")
    assert again.returncode == 0
    assert again.stdout.splitlines()[-1].startswith("tables and figures: imvc report")
    report = run("report", "records.sqlite", "-o", "other", "--formats", "svg")
    assert report.stdout.strip() == str(Path("other") / "report.html")
    assert not list((folder / "other").glob("*.png"))


def test_a_failed_run_gives_code_1(folder, capsys):
    text = SUITE.replace("n_anchors = 12", "n_anchors = 12, n_neighbors = 30")
    (folder / "small.toml").write_text(text.replace("beta = [1, 100]", "beta = [1]"))
    done = run("reproduce", "small.toml", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["suites"][0]["failed"] == 2


def test_a_dry_run_counts_and_writes_nothing(folder, capsys):
    assert main(["reproduce", "small.toml", "--dry-run", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["runs"], told["done"]) == (3, 0)
    assert told["seconds"] > 0
    assert not (folder / "records.sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "tabel2"], "unknown suite 'tabel2'; there are: "),
        (["reproduce", "small.toml", "--methods", "x"], "no 'x' among its methods"),
        (["reproduce", "small.toml", "--size", "big"], "must be one of: quick, full"),
        (["report", "none.sqlite"], "there is no records file 'none.sqlite'"),
        (["report", "small.toml"], "is not a records file of imvc"),
        (["data", "info", "nothing"], "unknown dataset 'nothing'"),
        (["data", "import", "none.mat"], "there is no file 'none.mat'"),
        (["data", "import", "small.toml"], "'small.toml' must end in .mat or .npz"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(folder, capsys, arguments, message):
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("imvc: ")
    assert told.count("\n") == 1
    assert message in told


def test_an_unknown_option_gives_code_2(capsys):
    assert main(["reproduce", "--nonsense"]) == 2


def test_debug_shows_the_error_itself(folder):
    with pytest.raises(ValueError, match="unknown suite"):
        main(["--debug", "reproduce", "tabel2"])


def test_no_dataset_at_all_says_where_to_put_them(folder, capsys):
    text = SUITE.replace('["planted", "unheard-of"]', '["unheard-of"]')
    (folder / "small.toml").write_text(text)
    assert main(["reproduce", "small.toml"]) == 2
    assert "none of the datasets is there; name their folder" in capsys.readouterr().err


def test_methods_lists_the_registry(capsys):
    assert main(["methods", "--json"]) == 0
    assert "rise" in {line["name"] for line in json.loads(capsys.readouterr().out)}


def test_datasets_are_listed_described_and_imported(folder, capsys):
    assert main(["data", "list", "--json"]) == 0
    found = {e["name"]: e["file"] for e in json.loads(capsys.readouterr().out)}
    assert found["planted"] == "planted.npz"
    assert found["webkb"] is None
    arguments = ["data", "import", "planted.npz", "--name", "copy", "--data", "new"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(Path("new") / "copy.npz")
    assert main(["data", "info", "copy", "--data", "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 60
    assert main(arguments) == 2
    assert "replace it (--force)" in capsys.readouterr().err


def test_no_colour_where_none_is_wanted(folder):
    done = run("methods", NO_COLOR="1", FORCE_COLOR="1")
    assert "\x1b[3" not in done.stdout
