"""What is wrong with the options is told before any file is read."""

import os
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from imvc import workflow
from imvc.cli import main
from imvc.io import read_views
from imvc.workflow import InputFiles
from study_files import write_study

FILES = ["rna.csv", "protein.tsv", "clinical.csv"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with a study and, in ``made``, a model of it."""
    folder = tmp_path_factory.mktemp("study")
    paths, _ = write_study(folder)
    run = workflow.cluster(InputFiles(paths), n_clusters=3, n_refits=0)
    run.save(folder / "made", report=False)
    return folder


@pytest.fixture
def unread(study, monkeypatch):
    """The study, in which no test may read a file."""

    def read(*_, **__):
        raise AssertionError("a file was read")

    monkeypatch.chdir(study)
    monkeypatch.setattr("imvc.workflow._input_files.read_views", read)
    monkeypatch.setattr("imvc.workflow._predict.read_views", read)
    monkeypatch.setattr("imvc.workflow._compare.read_metadata", read)
    return study


CLUSTER = ["cluster", *FILES]
BLOCKS = ["cluster", "no.npy", "--out-of-core"]
COMPARE = ["compare", *FILES, "-k", "3"]
PREDICT = ["predict", "made/model.imvc", *FILES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*CLUSTER, "--set", "n_anchors=lots"], "(--set n_anchors=VALUE)"),
        ([*CLUSTER, "--set", "n_init=0"], "(--set n_init=VALUE)"),
        (
            [*CLUSTER, "--method", "rise", "-k", "3", "--set", "beta=x"],
            "'beta' parameter of RISE must be a float",
        ),
        ([*CLUSTER, "--set", "n_clusters=9"], "(-k); leave it out"),
        ([*CLUSTER, "--set", "random_state=9"], "(--seed); leave it out"),
        ([*CLUSTER, "--refits", "-1"], "'--refits'"),
        ([*CLUSTER, "--refits", "many"], "'--refits'"),
        ([*CLUSTER, "--metadata", "none.csv"], "none.csv: no such file"),
        (["cluster", *FILES, "none.csv"], "none.csv: no such file"),
        ([*CLUSTER, "-o", "rna.csv"], "rna.csv: is a file; give a folder"),
        ([*CLUSTER, "-o", "rna.csv/out"], "cannot be written, since rna.csv is a file"),
        ([*BLOCKS, "--work-dir", "rna.csv"], "rna.csv is a file; give a folder"),
        ([*BLOCKS, "--mask", "none.npy"], "mask (--mask) 'none.npy' is not there"),
        ([*BLOCKS, "--memory-budget", "lots"], "memory_budget='lots' is no size"),
        ([*COMPARE, "--methods", "rise,raise"], "no method named 'raise'"),
        ([*COMPARE, "--methods", "rise,rise"], "(--methods) names 'rise' twice"),
        (
            [*COMPARE, "--labels", "known.csv", "--methods", "raise"],
            "no method named 'raise'",
        ),
        ([*COMPARE, "-o", "nowhere/table.csv"], "the folder 'nowhere' does not exist"),
        ([*COMPARE, "-o", "made"], "made is a folder; give the name of a file in it"),
        ([*PREDICT, "-o", "labels.xlsx"], "must end in .csv or .parquet"),
        ([*PREDICT, "-o", "nowhere/labels.csv"], "the folder 'nowhere' does not exist"),
        (["predict", "made/model.imvc", "rna.csv", "none.csv"], "none.csv: no such"),
        (
            ["inspect", *FILES, "--svg", "nowhere/x.svg"],
            "the folder 'nowhere' does not exist",
        ),
        (["inspect", *FILES, "--svg", "made"], "made is a folder"),
        (["reproduce", "-o", "rna.csv"], "rna.csv is a file; give a folder"),
        (["report", "none.sqlite", "-o", "rna.csv/x"], "rna.csv is a file; give a"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_wrong_option_is_told_before_files_are_read(
    unread, capsys, arguments, message
):
    before = sorted(unread.rglob("*"))
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]
    assert sorted(unread.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [*CLUSTER, "-o", "made/deep/out"],
        [*COMPARE, "-o", "made/table.csv"],
        [*PREDICT, "-o", "made/labels.csv"],
        ["inspect", *FILES, "--svg", "made/x.svg"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_that_may_not_be_written_to_is_told_before_files_are_read(
    unread, capsys, monkeypatch, arguments
):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(arguments) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert "may not be written to" in err or "(Permission denied)" in err
    assert "choose another" in err


def test_the_first_file_is_not_read_where_the_last_is_missing(tmp_path, monkeypatch):
    paths, _ = write_study(tmp_path)
    read = []

    def watch(files, **options):
        read.extend(files)
        return read_views(files, **options)

    monkeypatch.setattr("imvc.workflow._input_files.read_views", watch)
    with pytest.raises(ValueError, match=r"gone\.csv: no such file"):
        InputFiles([*paths, tmp_path / "gone.csv"]).read()
    assert read == []


def test_two_kinds_of_one_column_are_refused(unread, capsys):
    twice = ["--as", "age=category", "--as", "age=ordinal"]
    assert main(["cluster", *FILES, *twice]) == 2
    assert "--as says both 'category' and 'ordinal'" in capsys.readouterr().err
