"""Errors of sources: they name the file, the block and the row over all samples."""

import os
import sys

import anndata
import numpy as np
import pandas as pd
import pytest
import zarr
from sources_common import small_views

from imvc.scale import BlockError
from imvc.scale._open import open_source
from imvc.scale._view_rows import ObservedRows
from imvc.views import as_views

N, BLOCK = 200, 20


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("imvc.scale._block_plan._MOST_ROWS", BLOCK)


@pytest.fixture
def saved(tmp_path):
    """A function that saves an array as .npy and gives its path."""

    def save(name, X):
        np.save(tmp_path / name, X)
        return str(tmp_path / name)

    return save


def complete(d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(N, d))


def spoilt(value):
    X = complete()
    X[171, 1] = value
    return X


@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "partly NaN"), (np.inf, "infinite")]
)
def test_a_bad_row_in_a_late_block_is_named(saved, value, what):
    source = open_source([saved("genes.npy", spoilt(value))])
    for i in range(8):
        source.block(i)
    message = rf"genes.npy, block 8, row 171: {what} in column 1; .* mask\.$"
    for read in (source.block, source.mask):
        with pytest.raises(BlockError, match=message):
            read(8)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_row_is_named_when_only_some_rows_are_read(saved, value):
    source = open_source([saved("genes.npy", spoilt(value))])
    with pytest.raises(BlockError, match=r"genes.npy, block 8, row 171: "):
        source.rows(8, 0, np.array([2, 11]))


def test_a_bad_row_is_found_with_a_mask_too(saved):
    mask = np.ones((N, 1), bool)
    source = open_source([saved("genes.npy", spoilt(np.nan))], mask)
    with pytest.raises(BlockError, match=r"genes.npy, block 8, row 171: partly NaN"):
        source.block(8)


def test_a_row_of_nan_that_the_mask_calls_observed_is_refused(saved):
    X = complete()
    X[171] = np.nan
    source = open_source([saved("genes.npy", X)], np.ones((N, 1), bool))
    with pytest.raises(BlockError, match=r"row 171: all NaN, but said to be observed"):
        source.block(8)


def test_a_row_of_nan_among_observed_rows_is_refused(saved):
    X, rows = complete()[:50], np.arange(0, N, 4)
    X[40] = np.nan
    views = [ObservedRows(saved("genes.npy", X), rows), complete()]
    with pytest.raises(BlockError, match=r"genes.npy, block 8, row 160: all NaN"):
        open_source(views).block(8)


def test_a_sample_in_no_view_is_named(saved):
    X = complete()
    X[171:173] = np.nan
    source = open_source([saved("a.npy", X), saved("b.npy", X)])
    for read in (source.block, source.mask):
        with pytest.raises(BlockError, match=r"block 8, row 171: .*\(2 such samples"):
            read(8)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_truncated_chunk_of_zarr_is_named_with_its_rows(tmp_path, compressed):
    path = tmp_path / "genes.zarr"
    array = zarr.create_array(
        str(path),
        shape=(N, 3),
        chunks=(10, 3),
        dtype="f8",
        compressors="auto" if compressed else None,
    )
    array[:] = complete()
    chunk = path / "c" / "17" / "0"
    chunk.write_bytes(chunk.read_bytes()[:40])
    source = open_source([path])
    source.block(7)
    with pytest.raises(
        BlockError, match=r"genes.zarr, block 8, rows 160 to 179: cannot be read"
    ):
        source.block(8)


def test_a_file_cut_short_after_opening_is_named(saved):
    path = saved("genes.npy", complete())
    source = open_source([path])
    os.truncate(path, 128 + 170 * 24)
    source.block(7)
    message = r"genes.npy, block 8, rows 160 to 179: .*ends at row 170"
    with pytest.raises(BlockError, match=message):
        source.block(8)


def test_a_truncated_npy_file_is_refused_at_once(saved):
    path = saved("genes.npy", complete())
    os.truncate(path, 1000)
    with pytest.raises(ValueError, match=r"genes.npy: is truncated: 1000 bytes"):
        open_source([path])


def test_a_file_that_is_no_npy_is_named(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"no array at all")
    with pytest.raises(ValueError, match=r"x.npy: is no .npy file"):
        open_source([tmp_path / "x.npy"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 5, 3], r"rows.npy, entry 2: row 3 comes after row 5; rows must ascend"),
        ([0, 5, 5], r"rows.npy, entry 2: row 5 comes after row 5; rows must ascend"),
        ([0, 5, N], rf"rows.npy, entry 2: row {N} is outside the {N} samples"),
        ([-1, 5, 9], r"rows.npy, entry 0: row -1 is negative"),
        ([0, 5], r"rows.npy: has 2 entries, but view 'a' has 3 rows"),
        ([0.0, 1.0, 2.0], r"rows.npy: holds float64; store the numbers"),
    ],
)
def test_a_wrong_row_index_is_refused(saved, rows, message):
    views = {
        "a": ObservedRows(np.ones((3, 2)), saved("rows.npy", np.array(rows))),
        "b": complete(),
    }
    with pytest.raises((BlockError, ValueError, TypeError), match=message):
        open_source(views)


def test_disorder_between_two_pieces_of_the_index_is_found(saved, monkeypatch):
    monkeypatch.setattr("imvc.scale._view_rows._INDEX_PIECE", 2)
    views = [
        ObservedRows(np.ones((4, 2)), saved("rows.npy", np.array([0, 5, 4, 6]))),
        complete(),
    ]
    with pytest.raises(BlockError, match=r"entry 2: row 4 comes after row 5"):
        open_source(views)


def test_views_of_different_lengths_are_named(saved):
    views = {"a": saved("a.npy", complete()), "b": saved("b.npy", complete()[:50])}
    message = r"different numbers of samples: \{'a': 200, 'b': 50\}"
    with pytest.raises(ValueError, match=message):
        open_source(views)


def test_a_mask_of_another_shape_is_refused(saved):
    with pytest.raises(ValueError, match=r"mask has shape \(3, 1\), expected .*200, 1"):
        open_source([saved("a.npy", complete())], np.ones((3, 1), bool))


def test_a_mask_with_other_values_is_refused_where_they_are(saved):
    mask = np.ones((N, 1))
    mask[171] = 0.5
    source = open_source([saved("a.npy", complete())], saved("mask.npy", mask))
    with pytest.raises(BlockError, match=r"mask.npy, block 8, row 171: the mask has"):
        source.mask(8)


@pytest.mark.parametrize("name", ["x.npy", "x.h5ad", "x.zarr", "x.parquet", "folder"])
def test_a_missing_file_is_named_with_its_view(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=rf"view 'genes': .*{name}.* not exist"):
        open_source({"genes": tmp_path / name})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("name", ["x.npy", "x.h5ad", "x.parquet"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(
        ValueError, match=rf"'a': .*{name}' is not a regular file; save"
    ):
        open_source({"a": str(tmp_path / name)})


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("1,2")
    with pytest.raises(ValueError, match=r"x.csv' cannot be read by blocks; pass a"):
        open_source([tmp_path / "x.csv"])


def test_a_zarr_group_is_told_from_an_array(tmp_path):
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("genes", shape=(3, 2), dtype="f4")
    with pytest.raises(ValueError, match=r"zarr group with the arrays \['genes'\]"):
        open_source([tmp_path / "g.zarr"])


@pytest.mark.parametrize(
    ("module", "extra"), [("zarr", "dask"), ("h5py", "io"), ("pyarrow.parquet", "io")]
)
def test_a_missing_package_is_named_with_its_extra(
    tmp_path, monkeypatch, module, extra
):
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(3, 2), dtype="f4")
    array[:] = 1
    pd.DataFrame({"id": [1], "x": [1.0]}).to_parquet(tmp_path / "x.parquet")
    anndata.AnnData(np.ones((3, 2))).write_h5ad(tmp_path / "x.h5ad")
    ending = {"zarr": "zarr", "h5py": "h5ad", "pyarrow.parquet": "parquet"}[module]
    monkeypatch.setitem(sys.modules, module, None)
    message = (
        rf"x.{ending}: reading it needs {module[:7].split('.')[0]}.*imvc\[{extra}\]"
    )
    with pytest.raises(ImportError, match=message):
        open_source([tmp_path / f"x.{ending}"])


def test_dask_arrays_among_files_are_refused(saved):
    dask_array = pytest.importorskip("dask.array")
    views = [saved("x.npy", complete()), dask_array.ones((N, 2))]
    with pytest.raises(TypeError, match=r"view 'view1': is a Dask array among other"):
        open_source(views)


def test_text_in_a_file_is_refused(saved):
    with pytest.raises(TypeError, match=r"x.npy: holds values of dtype <U1"):
        open_source([saved("x.npy", np.array([["a"], ["b"]]))])


def test_a_single_path_is_no_list_of_views(saved):
    with pytest.raises(TypeError, match=r"pass a list of views, or \[path\] for one"):
        open_source(saved("x.npy", complete()))


def test_a_single_array_is_no_list_of_views(saved):
    with pytest.raises(TypeError, match=r"Xs is a single memmap"):
        open_source(np.load(saved("x.npy", complete()), mmap_mode="r"))


def test_features_that_differ_from_the_model_are_refused(saved):
    schema = as_views(small_views()[0]).schema
    with pytest.raises(ValueError, match=r"view 'view0' has 3 features, .* with 4"):
        open_source({"view0": saved("x.npy", complete())}, like=schema)


def test_views_unknown_to_the_model_are_refused(saved):
    schema = as_views(small_views()[0]).schema
    with pytest.raises(ValueError, match=r"views \['genes'\] are unknown to the model"):
        open_source({"genes": saved("x.npy", complete())}, like=schema)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((-1, 2**62), r"says that it has shape \(-1, 4611686018427387904\)"),
        ((2**62, -1), "says that it has shape"),
        ((1, -1), "says that it has shape"),
        ((2**40, 2**20), "is truncated"),
        ((0, 2**40), "has no samples"),
    ],
)
def test_a_npy_file_of_a_shape_that_cannot_be_is_named(tmp_path, shape, text):
    with open(tmp_path / "genes.npy", "wb") as file:
        head = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, head)
        file.write(bytes(64))
    with pytest.raises(ValueError, match=rf"genes\.npy: {text}"):
        open_source([tmp_path / "genes.npy"])


def test_a_npy_file_whose_head_is_cut_is_named(tmp_path):
    (tmp_path / "genes.npy").write_bytes(
        b"\x93NUMPY\x01\x00\x18\x00{'descr': '<f8', (((((("
    )
    with pytest.raises(ValueError, match=r"genes\.npy: is no \.npy file"):
        open_source([tmp_path / "genes.npy"])


@pytest.mark.parametrize("about", ["{", "[]", '{"index_columns": 3}'])
def test_parquet_with_wrong_notes_of_pandas_is_named(tmp_path, about):
    pa, path = pytest.importorskip("pyarrow"), tmp_path / "genes.parquet"
    import pyarrow.parquet as pq

    table = pa.table({"a": [1.0, 2]}).replace_schema_metadata({"pandas": about})
    pq.write_table(table, path, store_schema=False)
    with pytest.raises(
        ValueError, match=r"genes\.parquet: (cannot be read|has no col)"
    ):
        open_source([path])


def test_ids_of_parquet_that_are_no_text_are_named(tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "genes.parquet"
    pd.DataFrame({"id": ["aaaaaa", "bbbbbb"], "x": [1.0, 2]}).to_parquet(
        path, compression="none", use_dictionary=False, write_statistics=False
    )
    path.write_bytes(path.read_bytes().replace(b"bbbbbb", b"b\xff\xfe\xc3(b"))
    with pytest.raises(ValueError, match=r"genes\.parquet, row 0: cannot be read as"):
        open_source([path])


def test_ids_of_parquet_that_are_bytes_are_named(tmp_path):
    pd, path = pytest.importorskip("pandas"), tmp_path / "genes.parquet"
    pd.DataFrame({"id": [b"a", b"b"], "x": [1.0, 2]}).to_parquet(path, index=False)
    with pytest.raises(
        ValueError, match=r"genes\.parquet: the column of ids holds bin"
    ):
        open_source([path])


def test_parquet_whose_end_has_names_that_are_no_text_is_named(tmp_path):
    pa, path = pytest.importorskip("pyarrow"), tmp_path / "genes.parquet"
    import pyarrow.parquet as pq

    lists = {
        "id": pa.array(["a"]),
        "indices": pa.array([[0]], pa.list_(pa.int32())),
        "values": pa.array([[1.0]], pa.list_(pa.float64())),
    }
    table = pa.table(lists).replace_schema_metadata({"imvc.n_features": "3"})
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes().replace(b"element", b"elem\xffnt"))
    with pytest.raises(ValueError, match=r"genes\.parquet: cannot be read as a? ?Parq"):
        open_source([path])
