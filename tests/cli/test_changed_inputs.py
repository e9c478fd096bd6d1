"""Inputs that change under a command: one line that names them, and no result."""

import json

import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from changing_files import append, rewrite, touch
from imvc.cli import main
from imvc.io import _read_file, _read_views
from imvc.methods import anchor_model
from imvc.workflow import _input_files, _save
from out_of_core_files import BUDGET, write_npy, write_parquet
from study_files import write_classes, write_study

FILES = ["rna.csv", "protein.tsv", "clinical.csv"]
QUICK = [
    *("--method", "rise", "-k", "3", "-j", "1", "--memory-budget", str(BUDGET)),
    *("--set", "n_anchors=20", "--set", "n_init=2", "--out-of-core", "-q"),
]
ARRAYS = ["cluster", "a.npy", "b.npy", "--mask", "mask.npy", *QUICK, "-o", "out"]
TABLES = ["cluster", "a", "b.parquet", "--id", "patient", *QUICK, "-o", "out"]
COMMANDS = {
    "inspect": ["inspect", *FILES, "--svg", "new.svg"],
    "cluster": ["cluster", *FILES, "-k", "3", "--refits", "0", "-o", "new"],
    "compare": ["compare", *FILES, "-k", "3", "--methods", "rise", "-o", "new.csv"],
    "predict": ["predict", "old", *FILES, "-o", "new.csv"],
}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The current folder, with the files of a study and its clusters in ``old``."""
    _, classes = write_study(tmp_path)
    write_classes(tmp_path / "known.csv", classes)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def large_study(tmp_path, monkeypatch):
    """The current folder, with views that are read by blocks."""
    write_npy(tmp_path)
    write_parquet(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def once(monkeypatch, module, name, change):
    """Let something happen when a function has done its work for the first time."""
    function, left = getattr(module, name), [change]

    def then_change(*given, **options):
        found = function(*given, **options)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(module, name, then_change)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_changed_file_is_named_and_nothing_is_written(
    study, monkeypatch, capsys, command
):
    if command == "predict":
        options = ["-k", "3", "--refits", "0", "--no-report", "-q", "-o", "old"]
        assert main(["cluster", *FILES, *options]) == 0
    before = sorted(study.iterdir())
    once(monkeypatch, _read_views, "read_raw", lambda: rewrite("protein.tsv"))
    capsys.readouterr()
    assert main([*COMMANDS[command], "-q"]) == 2
    out, err = capsys.readouterr()
    text = (
        "imvc: protein.tsv: changed while it was read (its content is another; it was"
    )
    assert err.splitlines()[-1].startswith(text)
    assert "then run the same command again." in err
    assert out == ""
    assert sorted(study.iterdir()) == before


def test_a_touched_file_changes_nothing(study, monkeypatch):
    once(monkeypatch, _read_views, "read_raw", lambda: touch("rna.csv"))
    assert main([*COMMANDS["inspect"], "-q"]) == 0


def test_a_changed_table_of_classes_is_named(study, monkeypatch, capsys):
    once(monkeypatch, _read_file, "id_columns_of", lambda: append("known.csv"))
    options = ["-k", "3", "--methods", "rise", "--labels", "known.csv"]
    assert main(["compare", *FILES, *options]) == 2
    assert "imvc: known.csv: changed while it was read" in capsys.readouterr().err


def test_checksums_in_a_record_are_those_of_what_was_read(study, monkeypatch, capsys):
    once(monkeypatch, _input_files, "read_views", lambda: rewrite("rna.csv"))
    assert main(COMMANDS["cluster"]) == 2
    assert "imvc: rna.csv: changed while it was read" in capsys.readouterr().err
    assert not (study / "new").exists()


def test_a_changed_file_out_of_core_is_named_and_nothing_is_left(
    large_study, monkeypatch, capsys
):
    before = sorted(large_study.iterdir())
    once(monkeypatch, anchor_model, "total_statistics", lambda: rewrite("b.npy"))
    assert main(ARRAYS) == 2
    err = capsys.readouterr().err
    assert f"imvc: {large_study}/b.npy: changed while it was read" in err
    assert "Finished stages are kept" not in err
    assert sorted(large_study.iterdir()) == before
    assert main(ARRAYS) == 0


def test_a_file_that_changes_before_its_ids_are_written_is_named(
    large_study, monkeypatch, capsys
):
    """Ids are read once more when the labels are."""
    once(monkeypatch, _save, "save_rows", lambda: rewrite("b.parquet"))
    assert main(TABLES) == 2
    assert "b.parquet: changed while it was read" in capsys.readouterr().err
    assert not (large_study / "out" / "labels.parquet").exists()


def test_the_record_of_a_run_out_of_core_has_the_stamps(large_study):
    assert main(TABLES) == 0
    views = json.loads((large_study / "out" / "run.json").read_text())["data"]["views"]
    parts = [part for view in views for part in view["parts"]]
    assert [part["path"] for part in parts] == [
        str(large_study / name) for name in ("a/1.parquet", "a/2.parquet", "b.parquet")
    ]
    assert all(len(part["digest"]) == 32 and part["size"] > 0 for part in parts)
