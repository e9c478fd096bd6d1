"""Parquet, Feather, NumPy, MATLAB, Matrix Market, AnnData and MuData files."""

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from imvc.io import InputError, read_file

X = np.array([[1.0, 0.0, 2.5], [0.0, 3.0, np.nan]])
IDS = ["s1", "s2"]
NAMES = ("a", "b", "c")


def only(path, **options):
    (table,) = read_file(path, **options)
    return table


def cut(path, share=0.6):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])


# Parquet and Feather


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow"])
def test_a_pandas_index_becomes_the_ids(tmp_path, ending):
    path = tmp_path / f"view{ending}"
    frame = pd.DataFrame(X, index=pd.Index(IDS, name="who"), columns=NAMES)
    if ending == ".parquet":
        frame.to_parquet(path)
    elif ending == ".feather":
        feather.write_feather(pa.Table.from_pandas(frame), path)
    else:
        table = pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as file:
            with pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
    table = only(path)
    assert table.ids.tolist() == IDS
    assert table.features == NAMES
    np.testing.assert_array_equal(table.values, X)


def test_a_default_index_is_no_id(tmp_path):
    pd.DataFrame(X, columns=NAMES).to_parquet(tmp_path / "v.parquet")
    assert only(tmp_path / "v.parquet").ids is None


def test_integer_ids_of_parquet_match_text(tmp_path):
    frame = pd.DataFrame({"key": [7.0, 8.0], "a": [1, 2]})
    frame.to_parquet(tmp_path / "v.parquet")
    table = only(tmp_path / "v.parquet", id_column="key")
    assert table.ids.tolist() == ["7", "8"]


def test_columns_of_many_types_become_numbers(tmp_path):
    table = pa.table(
        {
            "id": ["s1", "s2"],
            "int": pa.array([1, None], pa.int8()),
            "bool": [True, False],
            "decimal": pa.array([None, 2], pa.decimal128(5, 2)),
            "empty": pa.array([None, None], pa.null()),
        }
    )
    pq.write_table(table, tmp_path / "v.parquet")
    table = only(tmp_path / "v.parquet")
    assert table.features == ("int", "bool", "decimal")
    np.testing.assert_array_equal(table.values, [[1, 1, np.nan], [np.nan, 0, 2]])
    assert table.codes[-1].kind == "left out"


def test_float32_stays_float32(tmp_path):
    frame = pd.DataFrame(X.astype(np.float32), index=IDS, columns=NAMES)
    frame.to_parquet(tmp_path / "v.parquet")
    assert only(tmp_path / "v.parquet").values.dtype == np.float32


def test_dates_are_days_and_lists_are_metadata(tmp_path):
    table = pa.table(
        {
            "id": ["s1", "s2"],
            "a": [1.0, 2.0],
            "kind": pa.array(["u", "u"]).dictionary_encode(),
            "day": pa.array([0, 1], pa.date32()),
            "list": [[1, 2], [3]],
        }
    )
    pq.write_table(table, tmp_path / "v.parquet")
    table = only(tmp_path / "v.parquet")
    assert table.features == ("a", "day")
    assert table.values[:, 1].tolist() == [0, 1]
    assert table.metadata["list"].tolist() == ["[1, 2]", "[3]"]


@pytest.mark.parametrize("name", ["v.parquet", "v.feather", "v.npy", "v.npz", "v.mat"])
def test_text_under_the_name_of_a_binary_file_is_refused(tmp_path, name):
    (tmp_path / name).write_text("id,a\ns1,1\n")
    with pytest.raises(InputError, match=rf"{name}: cannot be read as"):
        read_file(tmp_path / name)


def test_truncated_parquet_is_refused(tmp_path):
    path = tmp_path / "v.parquet"
    pd.DataFrame(X, index=IDS, columns=NAMES).to_parquet(path)
    cut(path)
    with pytest.raises(InputError, match=r"v\.parquet: cannot be read as Parquet"):
        read_file(path)


# NumPy


def test_an_npy_matrix_has_no_ids(tmp_path):
    np.save(tmp_path / "image.npy", X.astype(np.float32))
    table = only(tmp_path / "image.npy")
    assert table.name == "image"
    assert table.ids is None
    assert table.features == ("column 1", "column 2", "column 3")
    assert table.values.dtype == np.float32


def test_integers_become_float64_and_columns_first_becomes_rows_first(tmp_path):
    np.save(tmp_path / "v.npy", np.asfortranarray([[1, 2], [3, 4]]))
    values = only(tmp_path / "v.npy").values
    assert values.dtype == np.float64
    assert values.flags.c_contiguous


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros(3), r"shape \(3,\); give a matrix"),
        (np.zeros((2, 2, 2)), "give a matrix"),
        (np.zeros((0, 2)), "has no rows"),
        (np.zeros((2, 0)), "no column that can be used"),
        (np.array([["a", "b"]]), "give real numbers"),
        (np.array([[1j, 2]]), "give real numbers"),
        (np.array([[1, np.inf]]), "row 0 has an infinite value in column 'column 2'"),
    ],
)
def test_arrays_that_are_no_view_are_refused(tmp_path, array, problem):
    np.save(tmp_path / "v.npy", array)
    with pytest.raises(InputError, match=problem):
        read_file(tmp_path / "v.npy")


@pytest.mark.parametrize("save", [np.save, np.savez])
def test_pickled_objects_are_never_loaded(tmp_path, save):
    path = tmp_path / ("v.npy" if save is np.save else "v.npz")
    save(path, np.array([[1, None]], dtype=object))
    with pytest.raises(InputError, match="never loaded"):
        read_file(path)


def test_a_header_that_promises_too_much_is_refused(tmp_path):
    path = tmp_path / "v.npy"
    np.save(path, np.zeros((2, 3)))
    path.write_bytes(path.read_bytes().replace(b"(2, 3)", b"(9, 9)"))
    with pytest.raises(InputError, match=r"truncated: .*shape \(9, 9\)"):
        read_file(path)


def test_a_header_beyond_all_memory_is_refused(tmp_path):
    path = tmp_path / "v.npy"
    np.save(path, np.zeros((2, 30000000)[:1] + (3,)))
    data = path.read_bytes()
    data = data.replace(b"(2, 3), }" + b" " * 14, b"(2, 3" + b"0" * 14 + b"), }")
    path.write_bytes(data)
    with pytest.raises(InputError, match="more than the memory"):
        read_file(path)


def test_an_archive_of_numbered_views_gives_several_tables(tmp_path):
    mask = np.array([[1, 1], [0, 1]])
    np.savez(tmp_path / "d.npz", X0=X[:, :1], X1=X[:, 1:], y=[5, 6], mask=mask)
    first, second = read_file(tmp_path / "d.npz")
    assert (first.name, second.name) == ("view0", "view1")
    assert first.source.endswith("d.npz::X0")
    np.testing.assert_array_equal(first.values, [[1], [np.nan]])
    assert second.metadata["y"].tolist() == [5, 6]


def test_an_archive_may_carry_ids_and_feature_names(tmp_path):
    np.savez(tmp_path / "d.npz", rna=X, ids=np.array(IDS), features0=np.array(NAMES))
    table = only(tmp_path / "d.npz")
    assert table.name == "d"
    assert table.ids.tolist() == IDS
    assert table.features == NAMES


def test_named_matrices_of_an_archive_are_views(tmp_path):
    np.savez(tmp_path / "d.npz", rna=X, protein=X[:, :2])
    assert [t.name for t in read_file(tmp_path / "d.npz")] == ["rna", "protein"]


def test_a_name_for_several_views_is_a_prefix(tmp_path):
    np.savez(tmp_path / "d.npz", rna=X, protein=X[:, :2])
    tables = read_file(tmp_path / "d.npz", name="lab")
    assert [t.name for t in tables] == ["lab.rna", "lab.protein"]


def test_a_sparse_archive_stays_sparse(tmp_path):
    sp.save_npz(tmp_path / "v.npz", sp.csc_array(np.nan_to_num(X)))
    table = only(tmp_path / "v.npz")
    assert isinstance(table.values, sp.csr_array)
    np.testing.assert_array_equal(table.values.toarray(), np.nan_to_num(X))


def test_an_archive_without_a_matrix_is_refused(tmp_path):
    np.savez(tmp_path / "v.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="holds no matrix of numbers"):
        read_file(tmp_path / "v.npz")


def test_an_archive_that_says_it_holds_more_than_the_memory_is_refused(
    tmp_path, monkeypatch
):
    np.savez_compressed(tmp_path / "v.npz", X0=np.zeros((1000, 1000)))
    monkeypatch.setattr("imvc.io._file_bytes.memory_limit", lambda: 10**6)
    with pytest.raises(InputError, match="more than the memory"):
        read_file(tmp_path / "v.npz")


def test_a_truncated_archive_is_refused(tmp_path):
    np.savez(tmp_path / "v.npz", X0=X)
    cut(tmp_path / "v.npz")
    with pytest.raises(InputError, match=r"v\.npz: cannot be read as a NumPy archive"):
        read_file(tmp_path / "v.npz")


# MATLAB


def test_a_cell_array_with_labels_gives_views_and_metadata(tmp_path):
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = np.ones((4, 2)), np.zeros((4, 3))
    scipy.io.savemat(tmp_path / "d.mat", {"X": cells, "Y": [[1], [1], [2], [2]]})
    first, second = read_file(tmp_path / "d.mat")
    assert (first.values.shape, second.values.shape) == ((4, 2), (4, 3))
    assert first.metadata["label"].tolist() == [1, 1, 2, 2]


def test_matrices_without_labels_are_views(tmp_path):
    scipy.io.savemat(
        tmp_path / "d.mat", {"rna": np.ones((4, 2)), "dna": np.ones((4, 3))}
    )
    assert [t.name for t in read_file(tmp_path / "d.mat")] == ["rna", "dna"]


@pytest.mark.parametrize("packed", [False, True])
def test_sparse_matrices_beside_text_and_structs_are_views(tmp_path, packed, rng):
    A = sp.csc_array(sp.random(5, 3, 0.6, "csc", None, rng))
    others = {"info": {"by": "me", "n": 3}, "note": "text"}
    variables = {"a": A, "b": rng.normal(size=(5, 2)), **others}
    scipy.io.savemat(tmp_path / "d.mat", variables, do_compression=packed)
    a, b = read_file(tmp_path / "d.mat")
    np.testing.assert_array_equal(a.values.toarray(), A.toarray())
    np.testing.assert_array_equal(b.values, variables["b"])


def test_a_matlab_file_with_a_wrong_type_is_refused(tmp_path):
    scipy.io.savemat(tmp_path / "d.mat", {"a": np.ones((4, 2)), "b": np.ones((4, 2))})
    data = bytearray((tmp_path / "d.mat").read_bytes())
    data[128 + 48] = 200  # the type of the first array of numbers
    (tmp_path / "d.mat").write_bytes(data)
    with pytest.raises(InputError, match=r"d\.mat: .*array"):
        read_file(tmp_path / "d.mat")


def test_matrices_that_share_no_size_are_refused(tmp_path):
    scipy.io.savemat(tmp_path / "d.mat", {"a": np.ones((4, 2)), "b": np.ones((5, 3))})
    with pytest.raises(InputError, match=r"d\.mat: its matrices share neither"):
        read_file(tmp_path / "d.mat")


# Matrix Market


def test_a_matrix_market_file_stays_sparse_and_has_names_beside_it(tmp_path):
    scipy.io.mmwrite(tmp_path / "rna.mtx", sp.csr_array(np.nan_to_num(X)))
    (tmp_path / "rna.rows").write_text("s1\textra\ns2\n")
    (tmp_path / "rna.cols").write_text("a\nb\nc\n")
    table = only(tmp_path / "rna.mtx")
    assert isinstance(table.values, sp.csr_array)
    assert table.ids.tolist() == IDS
    assert table.features == NAMES
    np.testing.assert_array_equal(table.values.toarray(), np.nan_to_num(X))


def test_a_matrix_of_genes_by_cells_can_be_turned(tmp_path):
    scipy.io.mmwrite(tmp_path / "rna.mtx", sp.csr_array(np.nan_to_num(X)))
    (tmp_path / "rna.cols").write_text("a\nb\nc\n")
    table = only(tmp_path / "rna.mtx", transpose=True)
    assert table.ids.tolist() == list(NAMES)
    assert table.values.shape == (3, 2)


def test_names_that_do_not_fit_the_matrix_are_refused(tmp_path):
    scipy.io.mmwrite(tmp_path / "rna.mtx", sp.csr_array(np.nan_to_num(X)))
    (tmp_path / "rna.rows").write_text("s1\n")
    with pytest.raises(InputError, match=r"rna\.rows: has 1 names for 2"):
        read_file(tmp_path / "rna.mtx")


def test_a_packed_matrix_market_file_is_read(tmp_path):
    import gzip

    scipy.io.mmwrite(tmp_path / "rna.mtx", sp.csr_array(np.nan_to_num(X)))
    packed = tmp_path / "cells.mtx.gz"
    packed.write_bytes(gzip.compress((tmp_path / "rna.mtx").read_bytes()))
    assert only(packed).name == "cells"


def test_a_matrix_market_header_that_promises_too_much_is_refused(tmp_path):
    text = "%%MatrixMarket matrix coordinate real general\n9 9 99999999999\n1 1 1\n"
    (tmp_path / "v.mtx").write_text(text)
    with pytest.raises(InputError, match=r"v\.mtx:2: is truncated or damaged"):
        read_file(tmp_path / "v.mtx")


@pytest.mark.parametrize("kind", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("layout", [sp.coo_array, np.asarray])
def test_matrix_market_files_are_read_as_scipy_reads_them(tmp_path, kind, layout, rng):
    A = np.round(rng.normal(size=(6, 6)), 3) * (rng.random((6, 6)) < 0.5)
    A = {"symmetric": A + A.T, "skew-symmetric": A - A.T}.get(kind, A)
    if layout is np.asarray:
        kind = "general"
    scipy.io.mmwrite(tmp_path / "v.mtx", layout(A), symmetry=kind)
    values = only(tmp_path / "v.mtx").values
    dense = values.toarray() if sp.issparse(values) else values
    np.testing.assert_allclose(dense, A)


def test_matrix_market_patterns_comments_and_odd_blanks_are_read(tmp_path):
    text = "%%MatrixMarket matrix coordinate pattern general\n% by hand\n\n 2  2 2\n"
    (tmp_path / "v.mtx").write_text(text + "1   1\n  2 2  \n")
    np.testing.assert_array_equal(only(tmp_path / "v.mtx").values.toarray(), np.eye(2))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hello\n1 1 1\n", r":1: does not begin with"),
        (
            "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
            ":1: is",
        ),
        ("%%MatrixMarket matrix coordinate real general\n1 1\n", ":2: has no line of"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n", "outside of"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 5\n", "outside of"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n", "1 numbers"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n", "cannot be"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n", "no numbers below"),
    ],
)
def test_damaged_matrix_market_files_are_refused(tmp_path, text, problem):
    (tmp_path / "v.mtx").write_text(text)
    with pytest.raises(InputError, match=problem):
        read_file(tmp_path / "v.mtx")


# AnnData and MuData


def write_anndata(group, X, ids, names, obs=()):
    """What anndata writes, by hand."""
    if sp.issparse(X):
        node = group.create_group("X")
        node.attrs["encoding-type"] = f"{X.format}_matrix"
        node.attrs["shape"] = X.shape
        for key in ("data", "indices", "indptr"):
            node[key] = getattr(X, key)
    else:
        group["X"] = X
    for key, index in (("obs", ids), ("var", names)):
        frame = group.create_group(key)
        frame.attrs["_index"] = "_index"
        frame["_index"] = np.array(index, dtype=h5py.string_dtype())
    for key, values in dict(obs).items():
        group["obs"][key] = values


@pytest.mark.parametrize("layout", [np.array, sp.csr_array, sp.csc_array])
def test_an_anndata_file_is_read_dense_or_sparse(tmp_path, layout):
    path = tmp_path / "rna.h5ad"
    full = np.nan_to_num(X).astype(np.float32)
    with h5py.File(path, "w") as file:
        write_anndata(file, layout(full), IDS, NAMES, {"age": [30, 40]})
    table = only(path)
    assert table.ids.tolist() == IDS
    assert table.features == NAMES
    assert table.metadata["age"].tolist() == [30, 40]
    assert table.values.dtype == np.float32
    assert sp.issparse(table.values) == (layout is not np.array)
    dense = table.values.toarray() if sp.issparse(table.values) else table.values
    np.testing.assert_array_equal(dense, full)


def test_categories_and_nullable_columns_of_obs_are_decoded(tmp_path):
    path = tmp_path / "rna.h5ad"
    with h5py.File(path, "w") as file:
        write_anndata(file, X, IDS, NAMES)
        kind = file["obs"].create_group("kind")
        kind["codes"] = np.array([1, -1], dtype=np.int8)
        kind["categories"] = np.array(["T", "B"], dtype=h5py.string_dtype())
        dose = file["obs"].create_group("dose")
        dose["values"], dose["mask"] = [5, 6], [False, True]
    metadata = only(path).metadata
    assert metadata["kind"].tolist() == ["B", None]
    assert metadata["dose"].tolist() == [5, None]


def test_old_files_with_compound_obs_are_read(tmp_path):
    path = tmp_path / "rna.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = X
        file["obs"] = np.array(
            [(b"s1", 3), (b"s2", 4)], dtype=[("index", "S2"), ("q", int)]
        )
        file["var"] = np.array([(b"a",), (b"b",), (b"c",)], dtype=[("index", "S1")])
    table = only(path)
    assert table.ids.tolist() == IDS
    assert table.features == NAMES
    assert table.metadata["q"].tolist() == [3, 4]


def test_layers_raw_and_embeddings_can_be_asked_for(tmp_path):
    path = tmp_path / "rna.h5ad"
    with h5py.File(path, "w") as file:
        write_anndata(file, X, IDS, NAMES)
        file["layers/counts"] = X + 1
        file["obsm/X_pca"] = X[:, :2]
        write_anndata(file.create_group("raw"), X + 2, IDS, NAMES)
    np.testing.assert_array_equal(only(path, layer="counts").values, X + 1)
    np.testing.assert_array_equal(only(path, layer="raw").values, X + 2)
    assert only(path, layer="X_pca").features == ("X_pca 1", "X_pca 2")
    with pytest.raises(InputError, match=r"has no layer 'none'; it has 'counts'"):
        read_file(path, layer="none")


def test_a_column_of_obs_can_be_the_ids(tmp_path):
    path = tmp_path / "rna.h5ad"
    with h5py.File(path, "w") as file:
        who = np.array(["p1", "p2"], dtype=h5py.string_dtype())
        write_anndata(file, X, IDS, NAMES, {"who": who})
    assert only(path, id_column="who").ids.tolist() == ["p1", "p2"]


def test_a_mudata_file_is_a_set_of_views_with_their_own_samples(tmp_path):
    path = tmp_path / "cite.h5mu"
    with h5py.File(path, "w") as file:
        mod = file.create_group("mod")
        write_anndata(mod.create_group("rna"), X, IDS, NAMES)
        write_anndata(mod.create_group("adt"), X[:1], ["s3"], NAMES)
        mod.attrs["mod-order"] = ["rna", "adt"]
        obs = file.create_group("obs")
        obs.attrs["_index"] = "_index"
        obs["_index"] = np.array(["s3", "s1", "s2"], dtype=h5py.string_dtype())
        obs["batch"] = [7, 8, 9]
        obs["rna:n"] = [0, 1, 2]
    rna, adt = read_file(path)
    assert (rna.name, adt.name) == ("rna", "adt")
    assert adt.ids.tolist() == ["s3"]
    assert adt.source.endswith("cite.h5mu::adt")
    assert rna.metadata["batch"].tolist() == [8, 9]
    assert "rna:n" not in rna.metadata


def test_indices_out_of_bounds_are_refused(tmp_path):
    path = tmp_path / "rna.h5ad"
    bad = sp.csr_array(np.nan_to_num(X))
    with h5py.File(path, "w") as file:
        write_anndata(file, bad, IDS, NAMES)
        file["X/indices"][0] = 99
    with pytest.raises(InputError, match=r"rna\.h5ad: cannot be read as an AnnData"):
        read_file(path)


def test_links_to_other_files_are_refused(tmp_path):
    path = tmp_path / "rna.h5ad"
    with h5py.File(path, "w") as file:
        write_anndata(file, X, IDS, NAMES)
        del file["X"]
        file["X"] = h5py.ExternalLink("other.h5", "/X")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = X
    with pytest.raises(InputError, match="'X' points to another file"):
        read_file(path)


def test_numbers_kept_in_another_file_are_refused(tmp_path):
    path = tmp_path / "rna.h5ad"
    (tmp_path / "raw.bin").write_bytes(b"\0" * 48)
    with h5py.File(path, "w") as file:
        write_anndata(file, X, IDS, NAMES)
        del file["X"]
        external = [(str(tmp_path / "raw.bin"), 0, 48)]
        file.create_dataset("X", shape=(2, 3), dtype="f8", external=external)
    with pytest.raises(InputError, match="kept in another file"):
        read_file(path)


def test_a_truncated_hdf5_file_is_refused(tmp_path):
    path = tmp_path / "rna.h5ad"
    with h5py.File(path, "w") as file:
        write_anndata(file, X, IDS, NAMES)
    cut(path)
    with pytest.raises(InputError, match=r"rna\.h5ad: cannot be read as an AnnData"):
        read_file(path)


def test_hdf5_without_the_layout_of_anndata_is_refused(tmp_path):
    with h5py.File(tmp_path / "v.h5ad", "w") as file:
        file["X"] = X
    with pytest.raises(InputError, match=r"v\.h5ad: has no 'obs'"):
        read_file(tmp_path / "v.h5ad")


def test_an_id_column_for_a_file_without_columns_is_refused(tmp_path):
    np.save(tmp_path / "v.npy", X)
    with pytest.raises(InputError, match=r"v\.npy: \.npy files have no columns"):
        read_file(tmp_path / "v.npy", id_column="id")


def test_an_array_without_rows_is_refused_before_its_columns_are_named(tmp_path):
    """There are 10^12 of them."""
    path = tmp_path / "v.npy"
    with open(path, "wb") as file:
        head = {"descr": "<f8", "fortran_order": False, "shape": (0, 10**12)}
        np.lib.format.write_array_header_1_0(file, head)
    with pytest.raises(InputError, match=r"v\.npy: has no rows"):
        read_file(path)


def test_text_of_parquet_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "v.parquet"
    pd.DataFrame({"id": ["aaaaaa", "bbbbbb"], "x": [1.0, 2]}).to_parquet(
        path, compression="none", use_dictionary=False, write_statistics=False
    )
    path.write_bytes(path.read_bytes().replace(b"bbbbbb", b"b\xff\xfe\xc3(b"))
    with pytest.raises(InputError, match=r"v\.parquet: cannot be read as Parquet"):
        read_file(path)


@pytest.mark.parametrize(
    ("part", "content", "text"),
    [
        ("indices", np.zeros(3, complex), r"v\.npz::indices: is of type complex128"),
        ("indptr", np.array([0.0, 1, 2, 3]), r"v\.npz::indptr: is of type float64"),
        ("indices", np.array([0, 1, 10**6]), r"v\.npz: cannot be read as a NumPy arch"),
        (
            "indptr",
            np.array([0, 5, 2, 3]),
            r"v\.npz: cannot be read as a NumPy archive",
        ),
        (
            "shape",
            np.array([3, 10**9]),
            r"v\.npz: says that it has 3 rows and 1000000000",
        ),
    ],
)
def test_sparse_archives_that_do_not_add_up_are_refused(tmp_path, part, content, text):
    path = tmp_path / "v.npz"
    sp.save_npz(path, sp.csr_array(np.eye(3)))
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    np.savez(path, **{**arrays, part: content})
    with pytest.raises(InputError, match=text):
        read_file(path)


def test_a_matrix_market_file_of_a_billion_empty_rows_is_refused(tmp_path):
    path = tmp_path / "v.mtx"
    head = "%%MatrixMarket matrix coordinate real general\n"
    path.write_text(f"{head}1000000000 3 1\n1 1 2.5\n")
    with pytest.raises(InputError, match=r"v\.mtx: says that it has 1000000000 rows"):
        read_file(path)
