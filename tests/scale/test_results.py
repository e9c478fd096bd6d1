"""save_rows: labels and embeddings as files, written by blocks."""

import sys

import numpy as np
import pytest

from imvc.io import _write_rows
from imvc.scale import save_rows

pa_csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")

ARRAYS = {
    "labels": np.arange(23, dtype=np.int64) % 4,
    "embedding": np.random.default_rng(0).normal(size=(23, 3)).astype(np.float32),
    "doubles": np.random.default_rng(1).normal(size=(23, 1)),
}


def read(path, columns):
    """Ids and numbers of a Parquet or CSV file."""
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
    else:
        table = pa_csv.read_csv(path)
    numbers = np.column_stack([table[name].to_numpy() for name in columns])
    return table["id"].to_pylist(), numbers


@pytest.mark.parametrize("block_rows", [1, 7, 23, 100])
@pytest.mark.parametrize("name", ARRAYS)
def test_npy_and_zarr_hold_the_array_whatever_the_blocks(tmp_path, name, block_rows):
    array = ARRAYS[name]
    npy = save_rows(tmp_path / "a.npy", array, block_rows=block_rows)
    chunked = save_rows(tmp_path / "a.zarr", array, block_rows=block_rows)
    for found in (np.load(npy), zarr.open(chunked, mode="r")[:]):
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("block_rows", [5, 100])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_tables_hold_numbers_exactly_and_number_the_samples(
    tmp_path, suffix, block_rows
):
    array = ARRAYS["embedding"]
    path = save_rows(tmp_path / f"a{suffix}", array, block_rows=block_rows)
    ids, found = read(path, ["y0", "y1", "y2"])
    assert ids == list(range(23))
    np.testing.assert_array_equal(found.astype(np.float32), array)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(
    "ids", [[f"p,{i}" for i in range(23)], np.arange(23) * 10**12], ids=["text", "int"]
)
def test_ids_come_in_parts_of_any_size(tmp_path, suffix, ids):
    parts = (np.asarray(ids, dtype=object)[a:b] for a, b in [(0, 0), (0, 9), (9, 23)])
    if not isinstance(ids, list):
        parts = (part.astype(np.int64) for part in parts)
    path = save_rows(tmp_path / f"a{suffix}", ARRAYS["labels"], parts, block_rows=4)
    found, numbers = read(path, ["cluster"])
    assert found == list(ids)
    np.testing.assert_array_equal(numbers[:, 0], ARRAYS["labels"])


def test_text_ids_may_be_a_list(tmp_path):
    ids = [f"p{i}" for i in range(23)]
    path = save_rows(tmp_path / "a.parquet", ARRAYS["labels"], ids)
    assert parquet.read_table(path)["id"].to_pylist() == ids


def test_ids_alone_make_a_table_of_one_column(tmp_path):
    path = save_rows(tmp_path / "ids.csv", np.empty((2, 0)), ["a", "b"])
    assert path.read_text() == "id\na\nb\n"


def test_columns_can_be_named(tmp_path):
    path = save_rows(tmp_path / "a.csv", ARRAYS["doubles"], columns=["score"])
    assert path.read_text().startswith("id,score\n0,")


def test_memory_maps_and_their_parts_are_read_from_their_file(tmp_path):
    np.save(tmp_path / "whole.npy", ARRAYS["embedding"])
    mapped = np.load(tmp_path / "whole.npy", mmap_mode="r")
    path = save_rows(tmp_path / "part.npy", mapped[3:19], block_rows=6)
    np.testing.assert_array_equal(np.load(path), ARRAYS["embedding"][3:19])


def test_some_rows_are_taken_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(_write_rows, "_BLOCK_ROWS", 5)
    np.save(tmp_path / "whole.npy", ARRAYS["embedding"])
    mapped = np.load(tmp_path / "whole.npy", mmap_mode="r")
    numbers = np.array([0, 4, 5, 16, 22])
    found = _write_rows.take_rows(mapped, numbers)
    np.testing.assert_array_equal(found, ARRAYS["embedding"][numbers])
    assert not isinstance(found, np.memmap)


def test_no_sample_makes_an_empty_file(tmp_path):
    path = save_rows(tmp_path / "a.parquet", np.empty(0, np.int64))
    assert parquet.read_table(path).num_rows == 0


@pytest.mark.parametrize(
    ("count", "text"),
    [(22, "end after 22 of 23"), (24, "more ids than the 23")],
)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_wrong_number_of_ids_leaves_the_old_file(tmp_path, suffix, count, text):
    path = tmp_path / f"a{suffix}"
    path.write_text("old")
    with pytest.raises(ValueError, match=text):
        save_rows(path, ARRAYS["labels"], iter([np.arange(count)]), block_rows=4)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_wrong_number_of_ids_in_a_list_is_told_at_once(tmp_path):
    with pytest.raises(ValueError, match="ids has 2 entries for 23 samples"):
        save_rows(tmp_path / "a.csv", ARRAYS["labels"], ["a", "b"])


class Failing:
    """An array whose second half cannot be read."""

    shape, dtype = (8, 2), np.dtype(float)

    def __getitem__(self, rows):
        if rows.stop > 4:
            raise OSError("disk on fire")
        return np.zeros((rows.stop - rows.start, 2))


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".zarr", ".npy"])
def test_a_failed_write_leaves_what_was_there(tmp_path, suffix):
    path = save_rows(tmp_path / f"a{suffix}", np.ones((3, 2)))
    before = sorted(file.name for file in tmp_path.rglob("*"))
    with pytest.raises(OSError, match="disk on fire"):
        save_rows(path, Failing(), block_rows=4)
    assert sorted(file.name for file in tmp_path.rglob("*")) == before


def test_a_zarr_array_takes_the_place_of_an_older_one(tmp_path):
    save_rows(tmp_path / "a.zarr", np.ones((30, 2)), block_rows=3)
    path = save_rows(tmp_path / "a.zarr", ARRAYS["labels"])
    np.testing.assert_array_equal(zarr.open(path, mode="r")[:], ARRAYS["labels"])
    assert [file.name for file in tmp_path.iterdir()] == ["a.zarr"]


@pytest.mark.parametrize("name", ["a.npy", "a.zarr"])
def test_ids_have_no_place_in_plain_arrays(tmp_path, name):
    with pytest.raises(ValueError, match=f"'{name}' has no place for ids"):
        save_rows(tmp_path / name, ARRAYS["labels"], np.arange(23))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("a.txt", ARRAYS["labels"]), "'a.txt' must end in .parquet, .csv"),
        (("a.npy", np.zeros((2, 2, 2))), r"shape \(2, 2, 2\)"),
        (("a.npy", np.array(["x"])), "dtype <U1"),
    ],
)
def test_what_cannot_be_written_is_named(tmp_path, arguments, text):
    name, array = arguments
    with pytest.raises(ValueError, match=text):
        save_rows(tmp_path / name, array)


@pytest.mark.parametrize("columns", [["a"], ["a", "a", "b"], ["a", "b", "id"]])
def test_columns_must_be_names_of_their_own(tmp_path, columns):
    with pytest.raises(ValueError, match="must be 3 different names"):
        save_rows(tmp_path / "a.csv", ARRAYS["embedding"], columns=columns)


def test_blocks_have_at_least_one_row(tmp_path):
    with pytest.raises(ValueError, match="block_rows=0"):
        save_rows(tmp_path / "a.csv", ARRAYS["labels"], block_rows=0)


@pytest.mark.parametrize("name", ["a.npy", "a.zarr"])
def test_a_folder_that_does_not_exist_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        save_rows(tmp_path / "nowhere" / name, ARRAYS["labels"])


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("a.parquet", "pyarrow", "io"), ("a.zarr", "zarr", "dask")],
)
def test_a_missing_package_is_named_with_its_extra(
    tmp_path, monkeypatch, name, package, extra
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package}: pip install 'imvc\[{extra}\]'"):
        save_rows(tmp_path / name, ARRAYS["labels"])
