"""Sources joined by id: Parquet parts, AnnData and MuData files."""

import json
from itertools import pairwise

import anndata
import mudata
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sources_common import assert_pickles, assert_same

from imvc.io._parquet import ParquetRows
from imvc.scale import BlockError, _join_ids, _rewrite
from imvc.scale._open import open_source
from imvc.scale._view_rows import ObservedRows
from imvc.views import as_views

if hasattr(mudata, "set_options"):  # before 0.4
    mudata.set_options(pull_on_update=False)


def frames(seed=0, n=40, shares=(0.7, 0.6, 0.5), shuffled=True, integers=False):
    """Tables that share some ids, rows in any order."""
    rng = np.random.default_rng(seed)
    ids = np.arange(n) * 3 if integers else np.array([f"s{j:03d}" for j in range(n)])
    tables = {}
    for v, share in enumerate(shares):
        own = np.flatnonzero(rng.random(n) < share)
        own = np.union1d(own, [v])
        if shuffled:
            own = rng.permutation(own)
        columns = [f"f{j}" for j in range(v + 2)]
        values = rng.normal(size=(len(own), v + 2))
        tables[f"t{v}"] = pd.DataFrame(values, ids[own].tolist(), columns)
    return tables


def save_parts(folder, frame, cuts, index_name="sample_id", groups=5):
    """Parts of a table, each with small row groups."""
    folder.mkdir()
    edges = [0, *cuts, len(frame)]
    for j, (start, stop) in enumerate(pairwise(edges)):
        part = frame.iloc[start:stop].rename_axis(index_name).reset_index()
        part.to_parquet(
            folder / f"part-{j}.parquet", index=False, row_group_size=groups
        )
    return str(folder)


def save_all(tmp_path, tables, cuts=(4, 11)):
    return {
        name: save_parts(tmp_path / name, table, cuts) for name, table in tables.items()
    }


def small_blocks(monkeypatch, rows):
    monkeypatch.setattr("imvc.scale._block_plan._MOST_ROWS", rows)


def assert_same_ids(source, views):
    found = np.concatenate([source.ids(i) for i in range(source.n_blocks)])
    assert found.tolist() == views.sample_ids.tolist()


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("integers", [True, False])
def test_parquet_folders_are_joined_like_tables(
    tmp_path, monkeypatch, shuffled, integers
):
    small_blocks(monkeypatch, 9)
    tables = frames(shuffled=shuffled, integers=integers)
    source = open_source(save_all(tmp_path, tables))
    views = as_views(tables)
    assert_pickles(source, views)
    assert_same_ids(source, views)
    assert source.feature_names == views.feature_names


@settings(max_examples=10)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(3, 30),
    rows=st.integers(1, 40),
    shuffled=st.booleans(),
)
def test_any_join_in_any_blocks_is_that_of_tables(
    tmp_path_factory, seed, n, rows, shuffled
):
    folder = tmp_path_factory.mktemp("parts")
    tables = frames(seed, n, (0.5, 0.7), shuffled)
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, rows)
        source = open_source(save_all(folder, tables, cuts=(1, 2)))
        views = as_views(tables)
        assert_same(source, views)
        assert_same_ids(source, views)


def test_views_in_the_order_of_the_samples_are_not_rewritten(tmp_path):
    tables = frames(shuffled=False)
    same = {"a": tables["t0"], "b": tables["t0"].iloc[2:9]}
    open_source(save_all(tmp_path, same, cuts=(3,)), work_dir=tmp_path / "work")
    assert not list((tmp_path / "work").rglob("rows.npy"))


def test_a_rewritten_view_is_used_again_by_the_next_run(tmp_path, monkeypatch):
    tables = frames()
    paths = save_all(tmp_path, tables)
    first = open_source(paths, work_dir=tmp_path / "work")
    monkeypatch.setattr(_rewrite, "_deal", None)
    second = open_source(paths, work_dir=tmp_path / "work")
    assert_same(second, as_views(tables))
    assert json.loads(json.dumps(first.fingerprint)) == second.fingerprint


@pytest.mark.parametrize("name", ["rows.npy", "samples.npy", "complete"])
def test_a_rewritten_view_that_was_damaged_is_named_and_written_anew(tmp_path, name):
    tables = frames()
    paths = save_all(tmp_path, tables)
    first = open_source(paths, work_dir=tmp_path / "work")
    file = next(iter((tmp_path / "work").rglob(name)))
    data = bytearray(file.read_bytes())
    data[-30] ^= 1
    file.write_bytes(data)
    with pytest.warns(UserWarning, match=rf"{name} is damaged.*is written anew"):
        second = open_source(paths, work_dir=tmp_path / "work")
    assert_same(second, as_views(tables))
    assert json.loads(json.dumps(first.fingerprint)) == second.fingerprint


def test_a_changed_table_in_memory_is_rewritten_anew(tmp_path):
    tables = frames()
    paths = {**save_all(tmp_path, tables), "t1": tables["t1"]}
    open_source(paths, work_dir=tmp_path / "work")
    tables["t1"].iloc[7] += 1
    source = open_source(paths, work_dir=tmp_path / "work")
    assert_same(source, as_views(tables))


def test_many_buckets_sort_like_one(tmp_path, monkeypatch):
    tables = frames(n=60)
    monkeypatch.setattr(_rewrite, "_BUCKET_BYTES", 100)
    assert_same(open_source(save_all(tmp_path, tables)), as_views(tables))


def test_ids_whose_first_hash_is_shared_are_told_apart(tmp_path, monkeypatch):
    true_keys, salts = _join_ids.id_keys, []

    def weak_keys(ids, salt):
        salts.append(salt)
        a, b = true_keys(ids, salt)
        return (a % np.uint64(7) if salt == 0 else a), b

    tables = frames()
    monkeypatch.setattr(_join_ids, "id_keys", weak_keys)
    assert_same(open_source(save_all(tmp_path, tables)), as_views(tables))
    assert set(salts) == {0, 1}


def test_the_index_of_a_written_dataframe_is_the_ids(tmp_path):
    tables = frames()
    paths = {}
    for name, table in tables.items():
        paths[name] = tmp_path / f"{name}.parquet"
        table.to_parquet(paths[name])
    assert_same(open_source(paths), as_views(tables))


def test_a_named_id_column_is_used(tmp_path):
    tables = frames(shares=(0.9,))
    path = save_parts(tmp_path / "a", tables["t0"], (3,), index_name="patient")
    source = open_source({"t0": ParquetRows(path, id_column="patient")})
    assert_same(source, as_views(tables))


def test_parts_come_in_the_order_of_their_numbers(tmp_path):
    table = pd.DataFrame({"x": np.arange(12.0)}, [f"s{j}" for j in range(12)])
    path = save_parts(tmp_path / "a", table, range(1, 12))
    assert open_source([path]).ids(0).tolist() == table.index.tolist()


def test_nulls_are_missing_and_integers_are_numbers(tmp_path):
    table = pa.table(
        {
            "id": ["a", "b", "c"],
            "x": pa.array([1, None, 3], pa.int64()),
            "y": pa.array([True, None, False]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    source = open_source({"t": tmp_path / "t.parquet", "u": frame_of("abc")})
    np.testing.assert_array_equal(source.mask(0)[:, 0], [True, False, True])
    np.testing.assert_array_equal(source.block(0).observed(0), [[1, 1], [3, 0]])


def frame_of(ids):
    return pd.DataFrame({"z": np.arange(float(len(ids)))}, list(ids))


def save_sparse_parts(folder, X, ids):
    folder.mkdir()
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float32())),
        ],
        metadata={"imvc.n_features": str(X.shape[1])},
    )
    rows = [X[[j]] for j in range(X.shape[0])]
    table = pa.table(
        {
            "id": ids,
            "indices": [row.indices.tolist() for row in rows],
            "values": [row.data.tolist() for row in rows],
        },
        schema=schema,
    )
    half = len(ids) // 2
    pq.write_table(table[:half], folder / "0.parquet", row_group_size=3)
    pq.write_table(table[half:], folder / "1.parquet", row_group_size=3)
    return str(folder)


def test_sparse_rows_of_parquet_stay_sparse(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 7)
    X = sp.csr_array(sp.random(20, 11, 0.3, "csr", np.float32, 1))
    ids = [f"s{j}" for j in range(20)]
    source = open_source({"x": save_sparse_parts(tmp_path / "x", X, ids)})
    assert sp.issparse(source.block(0).observed(0))
    assert_pickles(source, as_views({"x": X}))


def test_sparse_rows_out_of_order_are_rewritten_sparse(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 7)
    X = sp.csr_array(sp.random(20, 11, 0.3, "csr", np.float32, 1))
    ids = np.array([f"s{j}" for j in range(20)])
    order = np.random.default_rng(0).permutation(20)
    stored = save_sparse_parts(tmp_path / "x", X[order], ids[order].tolist())
    source = open_source({"z": frame_of(ids), "x": stored})
    assert sp.issparse(source.block(0).observed(1))
    np.testing.assert_array_equal(
        source.block(1).observed(1).toarray(), X[7:14].toarray()
    )


def annotated(table, sparse=False):
    X = table.to_numpy(np.float32)
    return anndata.AnnData(
        sp.csr_matrix(X) if sparse else X,
        obs=pd.DataFrame(index=table.index.astype(str)),
        var=pd.DataFrame(index=table.columns),
    )


@pytest.mark.parametrize("backed", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_h5ad_files_are_joined_like_tables(tmp_path, monkeypatch, backed, sparse):
    small_blocks(monkeypatch, 9)
    tables = frames()
    given_views, paths = {}, {}
    for name, table in tables.items():
        given_views[name] = annotated(table, sparse)
        paths[name] = tmp_path / f"{name}.h5ad"
        given_views[name].write_h5ad(paths[name])
    if backed:
        paths = {name: anndata.read_h5ad(p, backed="r") for name, p in paths.items()}
    source, views = open_source(paths), as_views(given_views)
    assert sp.issparse(source.block(0).observed(0)) is sparse
    assert_pickles(source, views)
    assert_same_ids(source, views)


@pytest.mark.filterwarnings("ignore:var_names are not unique")
@pytest.mark.parametrize("backed", [True, False])
def test_every_modality_of_an_h5mu_file_is_a_view(tmp_path, monkeypatch, backed):
    small_blocks(monkeypatch, 9)
    tables = frames()
    parts = {name: annotated(table) for name, table in tables.items()}
    path = tmp_path / "all.h5mu"
    mudata.MuData(parts).write(path)
    given_views = mudata.read_h5mu(path, backed="r") if backed else path
    assert_pickles(open_source(given_views), as_views(parts))


def test_rows_listed_by_number_need_no_ids(tmp_path):
    table = frame_of("abcd")
    path = save_parts(tmp_path / "a", table, (2,))
    X = np.ones((9, 2))
    source = open_source([ObservedRows(path, [1, 2, 5, 8]), X])
    assert source.ids(0) is None
    np.testing.assert_array_equal(source.block(0).rows(0), [1, 2, 5, 8])
    np.testing.assert_array_equal(source.block(0).observed(0), table.to_numpy())


def test_urls_of_files_are_paths(tmp_path):
    tables = frames()
    paths = save_all(tmp_path, tables)
    urls = {name: f"file://{path}" for name, path in paths.items()}
    assert_same(open_source(urls), as_views(tables))


def test_a_part_that_is_damaged_inside_is_named(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 10)
    values = np.random.default_rng(0).normal(size=(40, 1))
    table = pd.DataFrame(values, [f"s{j}" for j in range(40)], ["x"])
    path = save_parts(tmp_path / "a", table, (20,), groups=100)
    file = tmp_path / "a" / "part-1.parquet"
    content = bytearray(file.read_bytes())
    column = pq.read_metadata(file).row_group(0).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + 60] = bytes(60)
    file.write_bytes(content)
    source = open_source([path])
    source.block(0)
    with pytest.raises(BlockError, match=r"a, block 2, rows 20 to .*part-1.parquet"):
        source.block(2)


def test_tables_in_memory_are_joined_with_files(tmp_path):
    tables = frames()
    mixed = {**save_all(tmp_path, tables), "t1": tables["t1"]}
    assert_same(open_source(mixed), as_views(tables))


def test_a_part_with_other_columns_is_named_with_the_difference(tmp_path):
    table = frames()["t1"]
    path = save_parts(tmp_path / "a", table, (4,))
    other = table.iloc[4:].rename(columns={"f1": "g1"}).rename_axis("sample_id")
    other.reset_index().to_parquet(tmp_path / "a" / "part-1.parquet", index=False)
    with pytest.raises(BlockError, match=r"part-1.parquet: .*lacks \['f1'\].*\['g1'\]"):
        open_source([path])


def test_an_id_in_two_parts_is_named_with_both(tmp_path):
    table = pd.DataFrame({"x": np.arange(9.0)}, [*"abcdefg", "b", "h"])
    path = save_parts(tmp_path / "a", table, (4,))
    message = r"part-1.parquet, row 3: id 'b' is also at .*part-0.parquet, row 1"
    with pytest.raises(BlockError, match=message):
        open_source([path])


def test_an_id_twice_in_the_second_view_is_named(tmp_path):
    first = pd.DataFrame({"x": np.arange(4.0)}, [*"abcd"])
    second = pd.DataFrame({"x": np.arange(4.0)}, [*"dabd"])
    paths = [
        save_parts(tmp_path / "a", first, ()),
        save_parts(tmp_path / "b", second, (2,)),
    ]
    with pytest.raises(BlockError, match=r"b/part-1.parquet, row 1: id 'd' is also"):
        open_source(paths)


def test_a_row_without_id_is_named(tmp_path):
    table = pa.table({"id": ["a", None], "x": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(BlockError, match=r"t.parquet, row 1: has no id"):
        open_source([tmp_path / "t.parquet"])


def test_a_folder_without_ids_is_told_how_to_name_them(tmp_path):
    path = save_parts(tmp_path / "a", frame_of("abc"), (), index_name="who")
    with pytest.raises(ValueError, match=r"\['who', 'z'\]; name it with ParquetRows"):
        open_source([path])


def test_text_columns_are_named(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "x": ["b"]}), tmp_path / "t.parquet")
    with pytest.raises(BlockError, match=r"not real numbers: 'x' \(string\)"):
        open_source([tmp_path / "t.parquet"])


def test_views_with_and_without_ids_are_not_mixed(tmp_path):
    path = save_parts(tmp_path / "a", frame_of("abc"), ())
    with pytest.raises(TypeError, match=r"views \['y'\] have no ids while \['x'\]"):
        open_source({"x": path, "y": np.ones((3, 2))})


def test_ids_of_two_types_are_refused(tmp_path):
    a = save_parts(tmp_path / "a", frame_of("123"), ())
    b = save_parts(tmp_path / "b", frame_of([1, 2, 3]), ())
    with pytest.raises(BlockError, match=r"b: its ids are integers, .* are text"):
        open_source([a, b])


def test_a_mask_with_ids_is_refused(tmp_path):
    a = save_parts(tmp_path / "a", frame_of("123"), ())
    with pytest.raises(ValueError, match="mask was given with views that are joined"):
        open_source([a], np.ones((3, 1), bool))


def test_a_bad_row_of_a_rewritten_view_is_named_with_its_id(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 4)
    tables = {"a": frame_of("abcdefghij"), "b": frame_of("jihgfedcba")}
    tables["b"]["w"] = 1.0
    tables["b"].loc["i", "w"] = np.nan
    source = open_source(save_all(tmp_path, tables, cuts=(5,)))
    with pytest.raises(BlockError, match=r"/b, block 2, row 8 \(id 'i'\): partly NaN"):
        source.block(2)


def test_a_csc_matrix_is_refused_with_the_remedy(tmp_path):
    data = annotated(frames()["t0"])
    data.X = sp.csc_matrix(data.X)
    data.write_h5ad(tmp_path / "x.h5ad")
    with pytest.raises(ValueError, match=r"x.h5ad: X is stored by columns .*tocsr"):
        open_source([tmp_path / "x.h5ad"])


def test_a_part_that_is_no_parquet_file_is_named(tmp_path):
    path = save_parts(tmp_path / "a", frame_of("abcdef"), (3,))
    file = tmp_path / "a" / "part-1.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(BlockError, match=r"part-1.parquet: cannot be read as a Parq"):
        open_source([path])
