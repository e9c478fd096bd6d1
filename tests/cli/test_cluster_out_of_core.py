"""imvc cluster --out-of-core: options, output, kills and errors."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

import pandas as pd

from imvc.cli import main
from out_of_core_files import BUDGET, small_data, write_npy, write_parquet

QUICK = [
    *("--method", "rise", "-k", "3", "-j", "1", "--memory-budget", str(BUDGET)),
    *("--set", "n_anchors=20", "--set", "n_init=2"),
]
ARRAYS = ["cluster", "a.npy", "b.npy", "--mask", "mask.npy", "--out-of-core", *QUICK]
# Runs the command and kills the process, as a power cut would, after a stage.
KILLED_AFTER = """
import os, signal, sys
from imvc.scale import _folder
save = _folder.save_state
def save_and_die(path, value):
    save(path, value)
    if path.stem == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
_folder.save_state = save_and_die
from imvc.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The current folder, with the files of two views and their mask."""
    write_npy(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_of_parquet_files_is_clustered(tmp_path, monkeypatch, capsys):
    _, mask = write_parquet(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = ["a", "b.parquet", "--id", "patient"]
    assert main(["cluster", *files, "--out-of-core", *QUICK, "-o", "out"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["cluster", "samples", "share"]
    assert sum(int(line.split()[1]) for line in lines[1:4]) == len(mask)
    assert lines[4] == "wrote embedding.parquet, labels.parquet, model.imvc, run.json"
    assert lines[5] == "out/labels.parquet"
    assert "report.html need all samples in memory; they are left out" in err
    table = pd.read_parquet("out/labels.parquet")
    assert set(table["id"]) == {f"p{i}" for i in range(len(mask))}


def test_zarr_arrays_are_clustered_into_zarr_arrays(study, capsys):
    zarr = pytest.importorskip("zarr")
    for name in "ab":
        X = np.load(f"{name}.npy")
        array = zarr.create_array(
            store=f"{name}.zarr", shape=X.shape, dtype=X.dtype, chunks=(200, 3)
        )
        array[:] = X
    files = ["a.zarr", "b.zarr", "--mask", "mask.npy", "--out-of-core"]
    formats = ["--result-format", "zarr"]
    assert main(["cluster", *files, *QUICK, *formats, "-o", "out"]) == 0
    assert main([*ARRAYS, "--result-format", "npy", "-o", "plain"]) == 0
    labels = zarr.open_array("out/labels.zarr", mode="r")[:]
    np.testing.assert_array_equal(labels, np.load("plain/labels.npy"))
    embedding = zarr.open_array("out/embedding.zarr", mode="r")[:]
    np.testing.assert_allclose(embedding, np.load("plain/embedding.npy"), atol=1e-5)


def test_json_is_one_document_and_quiet_is_silent(study, capsys):
    assert main([*ARRAYS, "-o", "out", "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert err == ""
    assert sum(told["sizes"]) == told["n_samples"] == 1200
    assert told["files"]["labels.parquet"] == "out/labels.parquet"
    assert told["resumed"] == []
    assert set(told["seconds"]) == {"open", "fit", "write"}


def test_stages_are_told_on_stderr(study, capsys):
    assert main([*ARRAYS, "-o", "out"]) == 0
    err = capsys.readouterr().err
    assert err.index("open\n") < err.index("[RISE] kmeans: ") < err.index("write\n")


def test_a_killed_run_goes_on_with_the_same_command(study):
    assert main([*ARRAYS, "-o", "whole", "--quiet"]) == 0
    command = [*ARRAYS, "-o", "out"]
    killed = subprocess.run([sys.executable, "-c", KILLED_AFTER, "anchors", *command])
    assert killed.returncode == -signal.SIGKILL
    assert not (study / "out" / "labels.parquet").exists()
    again = subprocess.run(
        [sys.executable, "-m", "imvc.cli", *command], capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert "going on with the run that was interrupted" in again.stderr
    assert "finished: survey, values, empty cells, seeds, anchors." in again.stderr
    names = sorted(file.name for file in (study / "out").iterdir())
    assert names == sorted(file.name for file in (study / "whole").iterdir())
    for name in ("labels.parquet", "embedding.parquet"):
        once, resumed = (study / folder / name for folder in ("whole", "out"))
        assert resumed.read_bytes() == once.read_bytes()


def test_bad_rows_are_an_input_error_that_names_file_block_and_row(study, capsys):
    Xs, mask = small_data()
    row = int(np.flatnonzero(mask[:, 1])[-1])
    Xs[1][row, 2] = np.inf
    np.save("b.npy", Xs[1])
    assert main([*ARRAYS, "-o", "out", "--quiet"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"imvc: b.npy, block 4, row {row}: infinite in column 2;")
    assert err.endswith(
        "Finished stages are kept in out/.imvc-work; the same command goes on from "
        "them.\n"
    )


def test_empty_cells_are_filled_and_an_error_when_asked_for(study, capsys):
    X = np.load("a.npy")
    mask = np.load("mask.npy")
    row = int(np.flatnonzero(mask[:, 0])[5])
    X[row, 1] = np.nan
    np.save("a.npy", X)
    assert main([*ARRAYS, "-o", "refused", "--empty-cells", "error", "-q"]) == 2
    assert "partly NaN" in capsys.readouterr().err
    assert main([*ARRAYS, "-o", "filled", "-q"]) == 0


@pytest.mark.parametrize(
    "option",
    [
        ["--log1p", "a"],
        ["--scale", "standard"],
        ["--top-variance", "3"],
        ["--metadata", "known.csv"],
        ["--non-numeric", "drop"],
        ["--transpose", "a"],
        ["--layer", "counts"],
        ["--refits", "2"],
    ],
    ids=lambda option: option[0],
)
def test_options_that_need_all_samples_are_refused(study, capsys, option):
    assert main([*ARRAYS, "-o", "out", *option]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"imvc: {option[0]} needs all samples in memory")
    assert not (study / "out").exists()


def test_no_refits_and_no_report_may_be_asked_for(study):
    assert main([*ARRAYS, "-o", "out", "--refits", "0", "--no-report", "-q"]) == 0


@pytest.mark.parametrize(
    "option",
    [
        ["--memory-budget", "1GiB"],
        ["--mask", "mask.npy"],
        ["--work-dir", "work"],
        ["--result-format", "npy"],
    ],
    ids=lambda option: option[0],
)
def test_options_of_out_of_core_runs_need_it(study, capsys, option):
    assert main(["cluster", "a.npy", "b.npy", "-k", "3", *option]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"imvc: {option[0]} goes with --out-of-core only")


def test_other_methods_are_refused_with_those_that_can(study, capsys):
    command = ["cluster", "a.npy", "b.npy", "-k", "3", "--out-of-core"]
    assert main([*command, "--method", "daimc"]) == 2
    assert "out of core there are bridge and rise" in capsys.readouterr().err


def test_a_file_of_a_kind_that_has_no_blocks_is_named(study, capsys):
    (study / "a.csv").write_text("id,x\np1,1\n")
    assert main(["cluster", "a.csv", "--out-of-core", *QUICK, "-o", "out"]) == 2
    assert "'a.csv' cannot be read by blocks" in capsys.readouterr().err
    assert not (study / "out").exists()


def test_a_run_out_of_core_is_not_repeated_from_its_record(study, capsys):
    assert main([*ARRAYS, "-o", "out", "-q"]) == 0
    assert main(["cluster", "--from", "out/run.json", "-o", "again"]) == 2
    err = capsys.readouterr().err
    assert "tells of an out-of-core run" in err
    assert "imvc cluster a.npy b.npy --mask mask.npy --out-of-core" in err


def test_from_refuses_out_of_core_beside_it(study, capsys):
    assert main(["cluster", "--from", "run.json", "--out-of-core"]) == 2
    assert "--out-of-core cannot stand beside --from" in capsys.readouterr().err


def test_new_samples_are_placed_by_the_model_of_the_run(tmp_path, monkeypatch, capsys):
    write_parquet(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = ["a", "b.parquet", "--id", "patient"]
    assert main(["cluster", *files, "--out-of-core", *QUICK, "-o", "out", "-q"]) == 0
    (tmp_path / "a" / "1.parquet").rename("a.parquet")
    new = ["a.parquet", "b.parquet", "--id", "patient", "-o", "new.csv"]
    assert main(["predict", "out/model.imvc", *new, "-q"]) == 0
    known = pd.read_parquet("out/labels.parquet").set_index("id")["cluster"]
    found = pd.read_csv("new.csv").set_index("id")
    both = found["n_views"] == 2
    assert both.sum() > 100
    assert (found["cluster"] == known.loc[found.index])[both].all()
