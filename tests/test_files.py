"""Files appear whole or not at all, and errors of the disk name the file."""

import errno
import os
import re
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest

from imvc._files import atomic_write, check_folder, check_target
from imvc.experiments import Record, RecordStore, RunSpec
from imvc.io import OutputFolder, write_labels
from imvc.scale import save_rows
from imvc.scale._block_files import BlockFiles, RowFile

REMEDY = "; free some space there, or write to another disk."
KINDS = ["csv", "parquet", "npy", "zarr"]


def full(code=errno.ENOSPC):
    """What the system raises when a disk is full: without the name of the file."""

    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    return fail


def names_file(path):
    """What the message must match: the file, and what to do."""
    return re.escape(REMEDY) + ".*" + re.escape(str(path))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT], ids=os.strerror)
def test_a_full_disk_or_quota_names_the_file_and_leaves_no_part(
    tmp_path, monkeypatch, code
):
    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full(code))

    def write():
        with atomic_write(path) as file:
            file.write(b"new")

    with pytest.raises(OSError, match=names_file(path)) as caught:
        write()
    assert caught.value.errno == code
    assert caught.value.filename == str(path)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("kind", KINDS[:3])
def test_a_device_that_is_full_names_the_file(tmp_path, monkeypatch, kind):
    pytest.importorskip("pyarrow")

    def open_full_device(dir, prefix):
        name = os.path.join(dir, f"{prefix}part")
        Path(name).touch()
        return os.open("/dev/full", os.O_WRONLY), name

    monkeypatch.setattr(tempfile, "mkstemp", open_full_device)
    path = tmp_path / f"labels.{kind}"
    with pytest.raises(OSError, match=names_file(path)):
        save_rows(path, np.zeros((5000, 4)))
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_no_part_of_a_zarr_array(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr(zarr, "create_array", full())
    path = tmp_path / "labels.zarr"
    with pytest.raises(OSError, match=names_file(path)):
        save_rows(path, np.zeros(5))
    assert os.listdir(tmp_path) == []


def test_other_errors_of_the_disk_pass_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full(errno.EIO))
    with pytest.raises(OSError, match=f"^.Errno {errno.EIO}. {os.strerror(5)}$"):
        write_labels(tmp_path / "a.csv", ["p"], {"cluster": [0]})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("by", ["bytes", "path", "labels"])
def test_a_folder_of_results_names_the_file_as_it_would_have_been(
    tmp_path, monkeypatch, by
):
    monkeypatch.setattr(Path, "write_bytes", full())
    monkeypatch.setattr(os, "fsync", full())
    writers = {
        "bytes": lambda folder: folder.write("a.csv", b"x"),
        "path": lambda folder: folder.stage("a.csv").write_bytes(b"x"),
        "labels": lambda folder: write_labels(
            folder.stage("a.csv"), ["p"], {"cluster": [0]}
        ),
    }

    def write():
        with OutputFolder(tmp_path / "out") as folder:
            writers[by](folder)

    with pytest.raises(OSError, match=names_file(tmp_path / "out" / "a.csv")):
        write()
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_full_at_the_last_step_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full())

    def write():
        with OutputFolder(tmp_path / "out") as folder:
            folder.write("a.csv", b"x")

    with pytest.raises(OSError, match=names_file(tmp_path / "out" / "a.csv")):
        write()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("step", ["mkdir", "write"])
def test_a_folder_for_which_there_is_no_room_leaves_no_lock(
    tmp_path, monkeypatch, step
):
    owner = Path if step == "mkdir" else os
    monkeypatch.setattr(owner, step, full())
    with pytest.raises(OSError, match=names_file(tmp_path / "out")):
        OutputFolder(tmp_path / "out").__enter__()
    assert os.listdir(tmp_path) == []


def test_a_block_without_room_is_named_and_leaves_no_part(tmp_path, monkeypatch):
    blocks = BlockFiles(tmp_path / "blocks")
    monkeypatch.setattr("imvc.scale._checked_files.write_header", full())
    with pytest.raises(OSError, match=names_file(tmp_path / "blocks" / "000003.block")):
        blocks[3] = np.zeros(4)
    assert os.listdir(tmp_path / "blocks") == []


def test_rows_without_room_are_named(tmp_path, monkeypatch):
    rows = RowFile(tmp_path / "rows.npy", np.array([0, 2]), 3, float)
    monkeypatch.setattr("imvc.scale._block_files.open", full(), raising=False)
    with pytest.raises(OSError, match=names_file(tmp_path / "rows.npy")):
        rows.open()


def test_a_records_file_without_room_is_named(tmp_path):
    path = tmp_path / "records.sqlite"
    record = Record(RunSpec("x" * 10**6, "rise", {}, 0.1, 0, 0), scores={"acc": 0.5})
    with RecordStore(path) as store:
        store._db.execute("PRAGMA max_page_count = 30")
        with pytest.raises(OSError, match=names_file(path)):
            store.finish([record])
        assert store.records() == []
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_is_no_file_is_refused_as_a_target(tmp_path):
    (tmp_path / "file").write_text("")
    check_target(tmp_path / "file")
    check_target(tmp_path / "new")
    with pytest.raises(FileNotFoundError, match=r"the folder '.*no' does not exist"):
        check_target(tmp_path / "no" / "new")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        check_target(tmp_path)
    with pytest.raises(FileExistsError, match="is no regular file"):
        check_target("/dev/null")


def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for check in (check_target, check_folder):
        with pytest.raises(PermissionError, match="may not be written to; choose"):
            check(tmp_path / "new")


def test_a_folder_behind_a_link_that_leads_nowhere_is_refused(tmp_path):
    (tmp_path / "link").symlink_to("lost")
    for path in (tmp_path / "link", tmp_path / "link" / "a"):
        with pytest.raises(NotADirectoryError, match="link is a link that leads now"):
            check_folder(path)


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    check_folder(tmp_path)
    check_folder(tmp_path / "a" / "b")
    for path in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(NotADirectoryError, match="file is a file; give a folder"):
            check_folder(path)
