"""Stamps of files: what they see, and readers whose files change under them."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changing_files import WAYS, append, rewrite, touch
from imvc.io import InputError, _file_stamps, _read_views, read_file, read_views
from imvc.io._errors import ChangedFileError
from imvc.io._file_stamps import (
    _spread,
    changed_files,
    check_unchanged,
    stamp_file,
    stamp_files,
    stamp_folder,
    unchanged,
)

MIB = 2**20


@pytest.fixture
def large(tmp_path):
    """A file with holes, larger than what is digested whole."""
    path = tmp_path / "large.bin"
    with open(path, "wb") as file:
        file.truncate(64 * MIB)
    return path


@given(st.integers(0, 300), st.sampled_from([0, 2, 3, 128, 256]))
def test_pieces_are_spread_from_the_first_to_the_last(n, count):
    chosen = list(_spread(n, count))
    assert len(chosen) == min(n, count)
    assert chosen == sorted(set(chosen))
    if chosen:
        assert (chosen[0], chosen[-1]) == (0, n - 1)
        assert max(np.diff(chosen), default=1) <= -(-n // (max(count, 2) - 1))


@pytest.mark.parametrize("size", [1, 3, 4, 5, 59, 60])
def test_every_byte_of_a_small_file_counts(tmp_path, monkeypatch, size):
    monkeypatch.setattr(_file_stamps, "_PIECE", 4)
    monkeypatch.setattr(_file_stamps, "_PIECES", 15)
    path = tmp_path / "small.bin"
    path.write_bytes(bytes(range(size)))
    before = stamp_file(path)
    assert "mtime" not in before
    for at in range(size):
        rewrite(path, at)
        assert stamp_file(path)["digest"] != before["digest"]
        rewrite(path, at)
    assert stamp_file(path) == before


def test_a_file_that_was_only_touched_is_the_same(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x\np,1\n")
    before = stamp_file(path)
    touch(path)
    assert stamp_file(path) == before


@pytest.mark.parametrize("at", [0, 64 * MIB - 1, 32 * MIB])
def test_the_ends_and_pieces_of_a_large_file_are_looked_into(large, at):
    before = stamp_file(large)
    # The piece that begins in the middle, or the next one before it.
    rewrite(large, at if at != 32 * MIB else _sampled_near(at))
    assert stamp_file(large)["digest"] != before["digest"]


def _sampled_near(at, size=64 * MIB):
    count = size // _file_stamps._PIECE
    pieces = np.array(_spread(count, _file_stamps._PIECES)) * _file_stamps._PIECE
    return int(pieces[np.abs(pieces - at).argmin()])


def test_a_large_file_is_another_when_its_time_is(large):
    """What is between the pieces may have changed."""
    before = stamp_file(large)
    assert stamp_file(large) == before
    touch(large)
    with pytest.raises(
        ChangedFileError, match=r"time is another, .* too large .* 1970"
    ):
        check_unchanged([before])


def test_what_a_stamp_cannot_see_is_between_its_pieces(large):
    """The limit that the documentation states."""
    before = stamp_file(large)
    rewrite(large, _file_stamps._PIECE + 5)
    assert stamp_file(large) == before


def test_many_files_share_the_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(_file_stamps, "_PIECE", 4)
    monkeypatch.setattr(_file_stamps, "_PIECES", 6)
    paths = [tmp_path / f"{i}.bin" for i in range(7)]
    for path in paths:
        path.write_bytes(b"12345678")
    looked_into = ["mtime" not in stamp for stamp in stamp_files(paths)]
    assert looked_into == [i in (0, 3, 6) for i in range(7)]


@pytest.mark.parametrize(("change", "text"), WAYS)
def test_a_folder_in_which_a_file_changed_is_named(tmp_path, change, text):
    folder = tmp_path / "x.zarr"
    (folder / "c").mkdir(parents=True)
    for name in ("zarr.json", "c/0", "c/1"):
        (folder / name).write_bytes(name.encode() * 9)
        touch(folder / name)
    before = stamp_folder(str(folder))
    change(folder / "c" / "1")
    newest = "c/1" if change is append else ".*"
    text = rf"x\.zarr: changed .*\({text}.* its newest file, {newest}, was written"
    with pytest.raises(ChangedFileError, match=text):
        check_unchanged([before])


def test_an_absent_chunk_is_a_change_and_an_absent_folder_is_told(tmp_path):
    """Zarr takes a chunk that is not there for zeros."""
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    (folder / "0").write_bytes(b"0")
    (folder / "1").write_bytes(b"1")
    before = stamp_folder(str(folder))
    (folder / "1").unlink()
    with pytest.raises(ChangedFileError, match="it has 1 files instead of 2"):
        check_unchanged([before])
    (folder / "0").unlink()
    folder.rmdir()
    with pytest.raises(InputError, match=r"x\.zarr: cannot be read any more \(No such"):
        check_unchanged([before])


def test_the_files_that_differ_between_two_fingerprints_are_named(tmp_path):
    paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for path in paths:
        path.write_bytes(b"12")
    before = {"views": [{"parts": stamp_files(paths)}], "mask": None}
    append(paths[1])
    after = {"views": [{"parts": stamp_files(paths)}], "mask": None}
    (found,) = changed_files(before, after)
    assert found.startswith(f"{paths[1]} (its size went from 2 to 3 bytes; it was ")
    other = {"views": [{"parts": stamp_files(paths[:1])}], "mask": None}
    assert changed_files(before, other) == []


def test_an_error_that_comes_of_a_change_is_told_as_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x\n")

    def read(change):
        with unchanged([path]):
            change(path)
            raise EOFError("the file ends")

    with pytest.raises(ChangedFileError, match=r"a\.csv: changed") as found:
        read(append)
    assert isinstance(found.value.__cause__, EOFError)
    with pytest.raises(EOFError, match="the file ends"):
        read(touch)


def write_csv(path):
    frame().to_csv(path, index=False)


def write_parquet(path):
    pytest.importorskip("pyarrow")
    frame().to_parquet(path, index=False)


def write_npy(path):
    np.save(path, frame().iloc[:, 1:].to_numpy())


def write_h5ad(path):
    anndata = pytest.importorskip("anndata")
    values = frame().set_index("id")
    anndata.AnnData(values).write_h5ad(path)


def write_mtx(path):
    path.write_text("%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n")
    path.with_suffix(".rows").write_text("p\nq\nr\n")


def frame():
    return pd.DataFrame({"id": ["p", "q", "r"], "x": [1.5, 2.5, 4.0], "y": [3, 5, 6.0]})


FORMATS = {
    "x.csv": write_csv,
    "x.parquet": write_parquet,
    "x.npy": write_npy,
    "x.h5ad": write_h5ad,
    "x.mtx": write_mtx,
}


@pytest.fixture(params=FORMATS)
def file(request, tmp_path):
    path = tmp_path / request.param
    FORMATS[request.param](path)
    return path


def after_reading(monkeypatch, change, module=_read_views, reader="read_raw"):
    """Let something happen to files once they were read."""
    read = getattr(module, reader)

    def read_and_change(*given, **options):
        found = read(*given, **options)
        change()
        return found

    monkeypatch.setattr(module, reader, read_and_change)


@pytest.mark.parametrize(("change", "text"), WAYS)
def test_a_file_that_changes_while_it_is_read_is_named(file, monkeypatch, change, text):
    after_reading(monkeypatch, lambda: change(file))
    with pytest.raises(ChangedFileError, match=rf"{file.name}: changed .*\({text}"):
        read_views([file])


def test_a_file_that_is_only_touched_is_read(file, monkeypatch):
    after_reading(monkeypatch, lambda: touch(file))
    assert read_views([file]).views.n_samples == 3


def test_a_file_that_is_removed_while_it_is_read_is_named(file, monkeypatch):
    after_reading(monkeypatch, file.unlink)
    with pytest.raises(InputError, match=rf"{file.name}: cannot be read any more"):
        read_views([file])


def test_a_file_that_changes_under_read_file_is_named(file, monkeypatch):
    from imvc.io import _read_file

    after_reading(monkeypatch, lambda: rewrite(file), _read_file)
    with pytest.raises(ChangedFileError, match=rf"{file.name}: changed"):
        read_file(file)


@pytest.mark.parametrize("name", ["x.rows", "known.csv", "map.csv"])
def test_names_metadata_and_id_maps_are_watched_as_well(tmp_path, monkeypatch, name):
    write_mtx(tmp_path / "x.mtx")
    frame().to_csv(tmp_path / "known.csv", index=False)
    (tmp_path / "map.csv").write_text("old,new\np,P\n")
    after_reading(monkeypatch, lambda: rewrite(tmp_path / name), reader="_matched")
    with pytest.raises(ChangedFileError, match=rf"{name}: changed"):
        read_views(
            tmp_path / "x.mtx",
            metadata=tmp_path / "known.csv",
            id_map=tmp_path / "map.csv",
        )


def test_a_half_written_table_is_told_as_a_changing_one(tmp_path, monkeypatch):
    """What its rows are now is no table: that is not the first thing to say."""
    path = tmp_path / "x.csv"
    write_csv(path)
    read = _read_views.read_raw

    def cut_and_read(*given):
        os.truncate(path, 3)
        return read(*given)

    monkeypatch.setattr(_read_views, "read_raw", cut_and_read)
    with pytest.raises(ChangedFileError, match=r"its size went from \d+ to 3 bytes"):
        read_views([path])
