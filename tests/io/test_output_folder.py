"""Results appear whole or not at all, and writers keep out of each other's way."""

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from imvc.io import InputError, OutputFolder, write_labels

HOLD = """
import sys, time
from imvc.io import OutputFolder
with OutputFolder(sys.argv[1], overwrite=True) as folder:
    folder.write("a.txt", "from the holder")
    print("ready", flush=True)
    {wait}
"""


def listing(path):
    return sorted(entry.name for entry in path.iterdir())


def start(path, wait):
    """A process that holds the folder until it is told to go on, or killed."""
    code = HOLD.format(wait=wait)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where tests run in the background, SIGINT is ignored and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "ready\n"
    return process


def test_files_appear_at_the_end_and_nothing_else(tmp_path):
    out = tmp_path / "deep" / "out"
    with OutputFolder(out) as folder:
        assert folder.write("a.txt", "text é") == out / "a.txt"
        folder.write("b.bin", b"\x00\x01")
        folder.write("c.txt", lambda path: path.write_text("by a function"))
        folder.stage("d.txt").write_text("staged")
        assert not (out / "a.txt").exists()
    assert listing(out) == ["a.txt", "b.bin", "c.txt", "d.txt"]
    assert (out / "a.txt").read_text(encoding="utf-8") == "text é"
    assert (out / "c.txt").read_text() == "by a function"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_no_trace(tmp_path, error):
    def interrupted():
        with OutputFolder(tmp_path / "new" / "out") as folder:
            folder.write("a.txt", "half")
            raise error("stopped halfway")

    with pytest.raises(error, match="stopped halfway"):
        interrupted()
    assert listing(tmp_path) == []


def test_an_exception_keeps_the_old_result(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    def broken():
        with OutputFolder(tmp_path, overwrite=True) as folder:
            folder.write("a.txt", "new")
            raise ValueError("stopped halfway")

    with pytest.raises(ValueError, match="stopped halfway"):
        broken()
    assert listing(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_old_results_need_overwrite(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "foreign.doc").write_text("mine")
    with pytest.raises(
        InputError, match=r"already holds results \(a\.txt\).*--overwrite"
    ):
        with OutputFolder(tmp_path) as folder:
            folder.write("a.txt", "new")
    with OutputFolder(tmp_path, overwrite=True) as folder:
        folder.write("a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "foreign.doc").read_text() == "mine"


def test_names_that_are_known_are_checked_before_any_work(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(InputError, match="already holds results"):
        OutputFolder(tmp_path, names=["b.txt", "a.txt"]).__enter__()
    assert listing(tmp_path) == ["a.txt"]


def test_known_files_of_an_older_run_do_not_stay_beside_new_ones(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "report.html").write_text("old")
    with OutputFolder(
        tmp_path, overwrite=True, names=["a.txt", "report.html"]
    ) as folder:
        folder.write("a.txt", "new")
    assert listing(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    "name", ["../a", "a/b", "a\\b", "..", ".", "", ".hid", "c:a", "/a"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="no plain file name"):
        with OutputFolder(tmp_path / "out") as folder:
            folder.write(name, b"")
    assert listing(tmp_path) == []


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "secret").write_text("keep")
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.txt").symlink_to(tmp_path / "secret")
    with OutputFolder(out, overwrite=True) as folder:
        folder.write("a.txt", "new")
    assert (tmp_path / "secret").read_text() == "keep"
    assert (out / "a.txt").read_text() == "new"


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        OutputFolder(tmp_path / "out").__enter__()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        OutputFolder(tmp_path / "file" / "out").__enter__()


def test_a_function_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match=r"nothing was written for 'a\.txt'"):
        with OutputFolder(tmp_path / "out") as folder:
            folder.write("a.txt", lambda path: None)


def test_writing_outside_of_the_block_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="outside of its with block"):
        OutputFolder(tmp_path / "out").write("a.txt", b"")


def test_a_second_process_is_told_who_writes(tmp_path):
    holder = start(tmp_path, "sys.stdin.readline()")
    try:
        with pytest.raises(
            InputError,
            match=f"is being written by process {holder.pid}; choose another",
        ):
            OutputFolder(tmp_path, overwrite=True).__enter__()
    finally:
        holder.communicate("go on\n")
    assert holder.returncode == 0
    assert (tmp_path / "a.txt").read_text() == "from the holder"
    assert listing(tmp_path) == ["a.txt"]


def test_two_processes_that_take_turns_never_mix_their_files(tmp_path):
    code = (
        "import sys\n"
        "from imvc.io import InputError, OutputFolder\n"
        "done = 0\n"
        "while done < 15:\n"
        "    try:\n"
        "        with OutputFolder(sys.argv[1], overwrite=True) as folder:\n"
        "            folder.write('a.txt', sys.argv[2])\n"
        "            folder.write('b.txt', sys.argv[2])\n"
        "            done += 1\n"
        "    except InputError as error:\n"
        "        assert 'is being written by' in str(error), error\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    writers = [subprocess.Popen([*command, who]) for who in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert listing(tmp_path) == ["a.txt", "b.txt"]
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_leaves_no_half_written_file(tmp_path):
    out = tmp_path / "out"
    holder = start(out, "time.sleep(60)")
    holder.send_signal(signal.SIGINT)
    holder.communicate()
    assert holder.returncode != 0
    assert listing(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    holder = start(tmp_path, "time.sleep(60)")
    holder.kill()
    holder.communicate()
    time.sleep(0.05)
    assert listing(tmp_path) != []
    with OutputFolder(tmp_path) as folder:
        folder.write("a.txt", "new")
    assert listing(tmp_path) == ["a.txt"]


# Labels


def test_labels_are_written_with_their_ids(tmp_path):
    path = write_labels(
        tmp_path / "labels.csv",
        np.array(["s1", "a,b", 'q"'], dtype=object),
        {
            "label": np.array([0, 2, 1]),
            "margin": np.array([0.1, np.nan, 0.3], dtype=np.float32).astype(float),
            "low": np.array([True, False, True]),
        },
    )
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "label", "margin", "low"]
    assert rows[2] == ["a,b", "2", "", "false"]
    assert [row[0] for row in rows[1:]] == ["s1", "a,b", 'q"']


def test_labels_can_be_parquet(tmp_path):
    columns = {"label": np.array([0, 1]), "margin": np.array([0.5, np.nan])}
    path = write_labels(tmp_path / "labels.parquet", ["007", "b"], columns)
    frame = pd.read_parquet(path)
    assert frame["id"].tolist() == ["007", "b"]
    assert frame["label"].tolist() == [0, 1]
    assert frame["margin"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "columns", "problem"),
    [
        ("l.xlsx", {"label": [1]}, r"must end in \.csv or \.parquet"),
        ("l.csv", {"label": [1, 2]}, r"'label' has shape \(2,\), expected \(1,\)"),
        ("l.csv", {"id": [1]}, "called 'id'"),
    ],
)
def test_labels_that_cannot_be_written_are_refused(tmp_path, name, columns, problem):
    with pytest.raises(ValueError, match=problem):
        write_labels(tmp_path / name, ["s1"], columns)
    assert listing(tmp_path) == []
