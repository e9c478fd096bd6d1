"""as_views: every form of input, and every error by its text."""

import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from imvc.views import ViewSchema, as_views

NAN, INF = np.nan, np.inf


def two_views(n=4):
    return [np.arange(3.0 * n).reshape(n, 3), np.arange(2.0 * n).reshape(n, 2)]


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


@pytest.fixture
def schema():
    return ViewSchema(("text", "genes"), (3, 2), (None, None))


# Forms of input


def test_arrays_need_no_pandas():
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import numpy as np; from imvc.views import as_views\n"
        "assert as_views([np.eye(2)]).observed(0).sum() == 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("kind", [list, tuple])
def test_views_of_a_list_are_numbered(kind):
    assert as_views(kind(two_views())).names == ("view0", "view1")


def test_views_of_a_dict_have_its_names():
    text, genes = two_views()
    assert as_views({"text": text, "genes": genes}).names == ("text", "genes")


def test_nested_lists_are_arrays():
    assert as_views([[[1, 2], [3, 4]]]).observed(0).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_none_in_a_nested_list_is_nan():
    views = as_views([[[1.0], [2.0]], [[None, None], [3.0, 4.0]]])
    assert views.mask.tolist() == [[True, False], [True, True]]


def test_a_container_is_returned_as_it_is():
    views = as_views(two_views())
    assert as_views(views) is views


def test_a_mask_narrows_a_container():
    views = as_views(two_views(2), [[1, 0], [1, 1]])
    assert as_views(views, [[1, 1], [0, 1]]).mask.tolist() == [
        [True, False],
        [False, True],
    ]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32])
def test_a_mask_may_be_of_booleans_or_zeros_and_ones(dtype):
    mask = np.array([[1, 0], [1, 1], [0, 1], [1, 1]])
    views = as_views(two_views(), mask.astype(dtype))
    assert views.mask.tolist() == mask.astype(bool).tolist()


def test_a_row_of_nan_is_missing():
    text, genes = two_views()
    genes[2] = NAN
    assert as_views([text, genes]).rows(1).tolist() == [0, 1, 3]


def test_a_sparse_row_is_missing_when_all_its_entries_are_nan():
    X = sp.csr_array(np.array([[NAN, NAN], [0.0, 0.0], [1.0, 0.0]]))
    assert as_views([np.ones((3, 1)), X]).rows(1).tolist() == [1, 2]


def test_objects_that_are_numbers_are_converted():
    X = np.array([[1, Decimal("2.5")], [True, np.float32(3)]], dtype=object)
    assert as_views([X]).observed(0).tolist() == [[1.0, 2.5], [1.0, 3.0]]


def test_text_in_an_unobserved_row_of_objects_does_not_matter():
    X = np.array([[1, 2], ["not", "measured"]], dtype=object)
    views = as_views([np.ones((2, 1)), X], [[1, 1], [1, 0]])
    assert views.observed(1).tolist() == [[1.0, 2.0]]


def test_the_input_is_not_changed():
    text, genes = two_views()
    genes[2] = genes[1, 0] = NAN
    before = genes.copy()
    as_views([text, genes], missing_values="keep")
    np.testing.assert_array_equal(genes, before)


def test_rows_whose_sum_overflows_are_clean():
    X = np.full((2, 3), np.finfo(np.float32).max, dtype=np.float32)
    assert as_views([X, sp.csr_array(X)]).mask.all()


def test_rows_are_found_across_blocks(monkeypatch):
    monkeypatch.setattr("imvc.views._container.BLOCK_BYTES", 64)
    rng = np.random.default_rng(0)
    X = rng.random((50, 3))
    missing = rng.random(50) < 0.4
    X[missing] = NAN
    for given in (X, np.asfortranarray(X), sp.csr_array(X)):
        views = as_views([np.ones((50, 1)), given])
        assert views.mask[:, 1].tolist() == (~missing).tolist()


def test_polars_tables_are_taken_by_position():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"a": [1.0, None], "b": [3, None]})
    views = as_views([np.ones((2, 1)), table])
    assert views.rows(1).tolist() == [0]
    assert views.feature_names == (None, ("a", "b"))
    assert views.sample_ids is None


def test_arrow_tables_without_ids_are_taken_by_position(pd):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1.0, None], "b": [3, None]})
    views = as_views([np.ones((2, 1)), table])
    assert views.rows(1).tolist() == [0]
    assert views.feature_names[1] == ("a", "b")


def test_arrow_tables_written_with_ids_are_joined_by_them(pd):
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"])
    views = as_views([frame, pa.Table.from_pandas(frame.iloc[::-1])])
    assert views.sample_ids.tolist() == ["p", "q"]
    assert views.observed(1).tolist() == [[1.0], [2.0]]


# Joining tables


def test_tables_are_joined_in_the_order_of_first_appearance(pd):
    a = pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"])
    b = pd.DataFrame({"y": [3.0, 4.0]}, index=["r", "p"])
    views = as_views([a, b])
    assert views.sample_ids.tolist() == ["p", "q", "r"]
    assert views.mask.tolist() == [[True, True], [True, False], [False, True]]
    assert views.observed(1).tolist() == [[4.0], [3.0]]


def test_a_nan_row_of_a_joined_table_is_missing(pd):
    a = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=["p", "q", "r"])
    b = pd.DataFrame({"y": [NAN, 4.0]}, index=["r", "p"])
    assert as_views([a, b]).rows(1).tolist() == [0]


def test_tables_with_equal_indexes_need_no_positions(pd):
    table = pd.DataFrame({"x": [1.0, 2.0]}, index=[7, 9])
    views = as_views([table, 2 * table], [[1, 1], [1, 0]])
    assert views.positions == (None, None)
    assert views.sample_ids.tolist() == [7, 9]
    assert views.rows(1).tolist() == [0]


def test_ids_of_several_levels_are_tuples(pd):
    a = pd.DataFrame({"x": [1.0, 2.0]}, index=[["s", "s"], [1, 2]])
    b = pd.DataFrame({"y": [3.0, 4.0]}, index=[["t", "s"], [1, 2]])
    views = as_views([a, b])
    assert views.sample_ids.tolist() == [("s", 1), ("s", 2), ("t", 1)]
    assert views.rows(1).tolist() == [1, 2]


def test_a_join_leaves_a_report(pd):
    ids = {"a": ["p", "q", "r"], "b": ["q", "r", "s", "t"], "c": ["r", "p"]}
    views = as_views({k: pd.DataFrame({"x": 1.0}, index=i) for k, i in ids.items()})
    report = views.join_report
    assert report.n_samples == 5
    assert report.ids_per_table == {"a": 3, "b": 4, "c": 2}
    assert report.in_all == 1
    assert report.shared_by == {1: 2, 2: 2, 3: 1}
    assert report.unmatched == {"a": 0, "b": 2, "c": 0}
    assert str(report).splitlines() == [
        "5 ids in 3 tables, 1 of them in all",
        "table       ids  only here",
        "a             3          0",
        "b             4          2",
        "c             2          0",
        "in exactly 1 of 3 tables: 2",
        "in exactly 2 of 3 tables: 2",
        "in exactly 3 of 3 tables: 1",
    ]


def test_arrays_leave_no_join_report():
    assert as_views(two_views()).join_report is None


def test_columns_of_mixed_number_types_are_one_float_array(pd):
    table = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    assert as_views([table]).observed(0).tolist() == [[1.0, 0.5, 1.0], [2.0, 1.5, 0.0]]


def test_float32_columns_stay_float32(pd):
    assert as_views([pd.DataFrame(np.eye(2, dtype=np.float32))]).dtype == np.float32


def test_nullable_columns_are_numbers_with_nan(pd):
    table = pd.DataFrame({"a": [1, None], "b": [2, None]}, dtype="Int64")
    assert as_views([pd.DataFrame(np.eye(2)), table]).rows(1).tolist() == [0]


def test_sparse_columns_stay_sparse(pd):
    table = pd.DataFrame(np.eye(3)).astype(pd.SparseDtype(float, 0.0))
    X = as_views([table]).observed(0)
    assert sp.issparse(X)
    np.testing.assert_array_equal(X.toarray(), np.eye(3))


def test_columns_without_text_names_have_no_feature_names(pd):
    assert as_views([pd.DataFrame(np.eye(2))]).feature_names == (None,)


def test_tables_that_share_no_id_are_doubtful(pd):
    a = pd.DataFrame({"x": [1.0, 2.0]}, index=[1, 2])
    b = pd.DataFrame({"y": [3.0, 4.0]}, index=["1", "2"])
    with pytest.warns(UserWarning, match="no id is in more than one table .*int64"):
        as_views([a, b])


def test_tables_of_different_lengths_without_ids_are_doubtful(pd):
    tables = {"a": pd.DataFrame(np.eye(3)), "b": pd.DataFrame(np.eye(2))}
    with pytest.warns(UserWarning, match=r"'a': 3, 'b': 2.* joined by row number"):
        as_views(tables)


@pytest.mark.parametrize(
    "ids", [["p", "q", "q", "p", "r"], [("a", 1), ("a", 2), ("a", 2), ("a", 1)]]
)
def test_duplicate_ids_are_an_error(pd, ids):
    index = pd.Index(ids)
    table = pd.DataFrame({"x": np.arange(float(len(ids)))}, index=index)
    shown = r"\[\('a', 2\), \('a', 1\)\]" if index.nlevels > 1 else r"\['q', 'p'\]"
    with pytest.raises(ValueError, match=f"'t' has 2 duplicate ids, first {shown}; k"):
        as_views({"t": table})


@pytest.mark.parametrize("ids", [["p", None], [("a", 1.0), ("b", NAN)]])
def test_rows_without_an_id_are_an_error(pd, ids):
    table = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(ids))
    with pytest.raises(ValueError, match=r"'t' has 1 rows without an id, .*rows \[1\]"):
        as_views({"t": table})


def test_ids_of_different_levels_are_an_error(pd):
    a = pd.DataFrame({"x": [1.0]}, index=[["s"], [1]])
    b = pd.DataFrame({"y": [3.0]}, index=["s"])
    with pytest.raises(ValueError, match=r"different numbers of levels: .*'view0': 2"):
        as_views([a, b])


def test_tables_beside_arrays_are_an_error(pd):
    with pytest.raises(
        TypeError, match=r"views \['view1'\] have no index while others"
    ):
        as_views([pd.DataFrame(np.eye(2)), np.eye(2)])


def test_a_mask_beside_tables_with_different_ids_is_an_error(pd):
    a = pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"])
    with pytest.raises(ValueError, match=r"indexes differ.*drop the missing rows"):
        as_views([a, a.iloc[::-1]], np.ones((2, 2)))


def test_a_mask_with_other_ids_than_the_tables_is_an_error(pd):
    a = pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"])
    mask = pd.DataFrame({"a": [1, 0]}, index=["q", "p"])
    with pytest.raises(ValueError, match=r"mask is a DataFrame.*mask\.reindex"):
        as_views([a], mask)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["a", "b"], "str"),
        (["a", "b"], "category"),
        (["2020-01-01", "2021-01-01"], "datetime64[ns]"),
        ([1j, 2j], complex),
    ],
)
def test_columns_of_other_things_than_numbers_are_named(pd, values, dtype):
    table = pd.DataFrame({"ok": [1.0, 2.0], "odd": pd.Series(values).astype(dtype)})
    if dtype == "str":
        table["odd"] = pd.array(values, dtype="string")
    with pytest.raises(TypeError, match=r"'t' has 1 columns that .* numbers: 'odd' \("):
        as_views({"t": table})


def test_object_columns_with_text_are_named(pd):
    table = pd.DataFrame({"ok": [1.0, 2.0], "odd": [1.0, "b"]}, dtype=object)
    with pytest.raises(
        TypeError, match="'t' has column 'odd' with values that are not"
    ):
        as_views({"t": table})


def test_a_foreign_table_with_an_index_is_an_error():
    table = SimpleNamespace(index=[1], columns=["a"])
    with pytest.raises(TypeError, match="SimpleNamespace with an index; convert it"):
        as_views([table])


# Errors of form


@pytest.mark.parametrize("X", [np.eye(2), sp.csr_array(np.eye(2))])
def test_a_single_matrix_is_an_error(X):
    with pytest.raises(TypeError, match=r"Xs is a single .* of shape \(2, 2\).*\[X\]"):
        as_views(X)


def test_a_single_table_is_an_error(pd):
    with pytest.raises(TypeError, match=r"Xs is a single DataFrame .*\[X\] for one"):
        as_views(pd.DataFrame(np.eye(2)))


def test_a_stack_of_views_is_an_error():
    with pytest.raises(TypeError, match=r"shape \(2, 3, 3\); pass list\(Xs\)"):
        as_views(np.ones((2, 3, 3)))


@pytest.mark.parametrize(("Xs", "name"), [("X.csv", "str"), (None, "NoneType")])
def test_other_things_than_collections_are_an_error(Xs, name):
    with pytest.raises(TypeError, match=f"Xs is a {name}; pass a list, tuple or dict"):
        as_views(Xs)


@pytest.mark.parametrize("Xs", [[], {}])
def test_no_views_are_an_error(Xs):
    with pytest.raises(ValueError, match="Xs has no views; pass a list"):
        as_views(Xs)


def test_names_that_are_not_text_are_an_error():
    with pytest.raises(TypeError, match=r"names of views must be text, got \[1\]"):
        as_views({1: np.eye(2)})


def test_a_view_with_one_dimension_is_an_error():
    match = r"'view1' is 1-D with shape \(2,\); pass X\.reshape\(-1, 1\)"
    with pytest.raises(ValueError, match=match):
        as_views([np.eye(2), np.ones(2)])


def test_a_series_is_an_error(pd):
    with pytest.raises(ValueError, match=r"'view0' is 1-D .*; pass X\.to_frame\(\)"):
        as_views([pd.Series([1.0, 2.0])])


def test_a_view_with_three_dimensions_is_an_error():
    with pytest.raises(
        ValueError, match=r"'view0' has 3 dimensions, shape \(2, 2, 2\)"
    ):
        as_views([np.ones((2, 2, 2))])


def test_a_view_that_is_no_array_is_an_error():
    with pytest.raises(TypeError, match="'view0' is a str; pass a 2-D array"):
        as_views(["X.csv"])


def test_ragged_rows_are_an_error():
    with pytest.raises(
        ValueError, match=r"'view0' cannot be read as a 2-D .*every row"
    ):
        as_views([[[1, 2], [3]]])


def test_a_masked_array_is_an_error():
    with pytest.raises(TypeError, match=r"'view0' is a masked array; pass X\.filled"):
        as_views([np.ma.masked_array(np.eye(2), mask=np.eye(2))])


def test_different_numbers_of_rows_are_an_error():
    match = r"different numbers of rows: 'view0' \(4, 3\), 'view1' \(3, 2\); pass one"
    with pytest.raises(ValueError, match=match):
        as_views([two_views(4)[0], two_views(3)[1]])


def test_no_samples_are_an_error():
    with pytest.raises(ValueError, match=r"no samples: 'view0' \(0, 3\)"):
        as_views(two_views(0))


def test_no_features_are_an_error():
    with pytest.raises(ValueError, match="'view1' has no features; leave it out"):
        as_views([np.eye(2), np.ones((2, 0))])


def test_an_unknown_treatment_of_missing_values_is_an_error():
    with pytest.raises(ValueError, match="missing_values='mean' is unknown; pass"):
        as_views(two_views(), missing_values="mean")


# Errors of values


@pytest.mark.parametrize(
    ("dtype", "what"),
    [("U3", "text"), ("S3", "text"), (complex, "complex"), ("M8[D]", "dates")],
)
def test_arrays_of_other_things_than_numbers_are_an_error(dtype, what):
    X = np.zeros((2, 2), dtype=dtype)
    with pytest.raises(TypeError, match=f"'view0' holds {what}.*pass real numbers"):
        as_views([X])


def test_objects_that_are_not_numbers_are_named_by_column():
    X = np.array([[1, "2", "x"], [3, 4, 5j]], dtype=object)
    with pytest.raises(TypeError, match=r"'view0' has 2 columns, first \[1, 2\] with"):
        as_views([X])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_infinite_values_are_named(kind):
    X = np.ones((4, 3))
    X[2, 1], X[3, 0] = INF, -INF
    match = "'view0' has infinite values in 2 rows, first at row 2, column 1; replace"
    with pytest.raises(ValueError, match=match):
        as_views([kind(X)])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_that_are_partly_nan_are_named(kind):
    X = np.ones((6, 2))
    X[[1, 3, 4, 5], 0] = NAN
    match = (
        r"'view0' has 4 rows that are partly NaN, first at rows \[1, 3, 4\]; pass "
        r'empty_cells="fill" to the estimator, .* missing in mask'
    )
    with pytest.raises(ValueError, match=match):
        as_views([kind(X)])


def test_rows_of_tables_are_named_with_their_ids(pd):
    table = pd.DataFrame([[1.0, 2.0], [NAN, 1.0]], index=["p", "q"])
    with pytest.raises(ValueError, match=r"row 1 \(ids \['q'\]\).* drop these rows"):
        as_views([table])


def test_infinite_values_of_tables_are_named_by_id_and_column(pd):
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, INF]}, index=["p", "q"])
    with pytest.raises(ValueError, match=r"row 1 \(ids \['q'\]\), column 'b'"):
        as_views([table])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_empty_cells_are_kept_where_that_is_asked_for(kind):
    X = np.array([[1, NAN], [3, 4], [NAN, 0], [9, 9], [NAN, NAN]])
    mask = np.array([[1, 1], [1, 1], [1, 1], [1, 0], [1, 1]])
    views = as_views([np.ones((5, 1)), kind(X)], mask, missing_values="keep")
    kept = views.observed(1)
    kept = kept.toarray() if sp.issparse(kept) else kept
    np.testing.assert_array_equal(kept, X[:3])
    assert views.rows(1).tolist() == [0, 1, 2]
    assert views.empty_cells


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_kept_empty_cells_are_an_error_where_nobody_fills_them(kind):
    X = kind(np.array([[1.0, 2.0], [3.0, NAN], [NAN, NAN]]))
    views = as_views([np.ones((3, 1)), X], missing_values="keep")
    with pytest.raises(ValueError, match=r"'view1' has 1 rows .* row 1; .* empty_cell"):
        as_views(views)
    assert as_views(views, missing_values="keep") is views
    assert as_views(views.select([0, 2])).n_samples == 2


def test_keeping_empty_cells_without_need_copies_nothing():
    X = np.eye(3)
    views = as_views([X], missing_values="keep")
    assert views.arrays[0] is X
    assert not views.empty_cells


def test_infinite_values_are_not_kept():
    with pytest.raises(ValueError, match="infinite values in 1 rows"):
        as_views([np.array([[INF, 1.0]])], missing_values="keep")


def test_samples_in_no_view_are_an_error():
    X = np.ones((9, 2))
    X[[2, 4, 5, 8]] = NAN
    match = r"4 samples are observed in no view, first at rows \[2, 4, 5\]; drop them b"
    with pytest.raises(ValueError, match=match):
        as_views([X, X])


def test_a_single_sample_in_no_view_is_named():
    match = "1 sample is observed in no view, first at row 1; drop it before fitting"
    with pytest.raises(ValueError, match=match):
        as_views(two_views(3), [[1, 1], [0, 0], [1, 1]])


def test_samples_of_tables_in_no_view_are_named_by_id(pd):
    table = pd.DataFrame({"x": [1.0, NAN]}, index=["p", "q"])
    with pytest.raises(ValueError, match=r"no view, first at row 1 \(ids \['q'\]\)"):
        as_views([table])


def test_a_view_without_any_sample_is_an_error():
    text, genes = two_views()
    with pytest.raises(ValueError, match=r"views \['genes'\] have no observed sample"):
        as_views({"text": text, "genes": genes * NAN})


def test_an_empty_table_is_a_view_without_any_sample(pd):
    table = pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"])
    with (
        pytest.warns(UserWarning, match="no id"),
        pytest.raises(ValueError, match=r"\['b'\] have no observed sample"),
    ):
        as_views({"a": table, "b": table.iloc[:0]})


def test_a_view_that_is_none_is_an_error_when_fitting():
    with pytest.raises(ValueError, match=r"views \['view1'\] are None and so have no"):
        as_views([np.eye(2), None])


@pytest.mark.parametrize("schema_", [None, ViewSchema(("a",), (2,), (None,))])
def test_nothing_but_none_is_an_error(schema_):
    with pytest.raises(ValueError, match="every view in Xs is None; pass at least one"):
        as_views([None], like=schema_)


# Errors of the mask


def test_a_mask_of_another_shape_is_an_error():
    match = r"mask has shape \(3, 2\), expected \(n_samples, n_views\) = \(4, 2\); one"
    with pytest.raises(ValueError, match=match):
        as_views(two_views(), np.ones((3, 2)))


def test_a_transposed_mask_is_an_error():
    with pytest.raises(ValueError, match=r"mask has shape \(2, 4\).*; pass mask\.T"):
        as_views(two_views(), np.ones((2, 4)))


def test_a_mask_with_other_values_than_zero_and_one_is_an_error():
    mask = np.array([[1, 2], [1, 1], [1, -1], [0, 1]])
    with pytest.raises(ValueError, match=r"mask has 2 values other .* first \[2, -1\]"):
        as_views(two_views(), mask)


def test_a_mask_with_nan_is_an_error():
    with pytest.raises(
        ValueError, match=r"mask has 8 values other .* first \[nan, nan"
    ):
        as_views(two_views(), np.full((4, 2), NAN))


def test_a_mask_of_text_is_an_error():
    with pytest.raises(
        TypeError, match="mask has dtype <U3; pass booleans, or 0 and 1"
    ):
        as_views(two_views(), np.full((4, 2), "yes"))


# New data for a fitted model


def test_a_list_takes_the_names_of_the_fitted_views(schema):
    assert as_views(two_views(), like=schema).names == ("text", "genes")


def test_a_container_serves_as_schema():
    views = as_views(two_views())
    assert as_views(two_views(2), like=views).names == views.names


def test_new_views_may_be_none_at_no_cost(schema):
    genes = two_views()[1].astype(np.float32)
    views = as_views([None, genes], like=schema)
    assert views.n_features == (3, 2)
    assert views.mask.tolist() == [[False, True]] * 4
    assert views.arrays[0].strides == (0, 0)
    assert views.observed(0).shape == (0, 3)
    assert views.dtype == np.float32


def test_new_views_may_have_no_observed_sample(schema):
    text, genes = two_views()
    assert as_views([text * NAN, genes], like=schema).rows(0).tolist() == []


def test_a_dict_of_new_views_may_come_in_another_order(schema):
    text, genes = two_views()
    mask = [[1, 1], [0, 1], [1, 1], [1, 1]]
    views = as_views({"genes": genes, "text": text}, mask, like=schema)
    assert views.names == ("text", "genes")
    assert views.rows(1).tolist() == [0, 2, 3]
    np.testing.assert_array_equal(views.observed(0), text)


def test_a_dict_of_new_views_may_leave_some_out(schema):
    views = as_views({"genes": two_views()[1]}, like=schema)
    assert views.names == ("text", "genes")
    assert views.mask.tolist() == [[False, True]] * 4


def test_a_container_of_new_views_is_brought_into_the_fitted_order(schema):
    text, genes = two_views()
    given = as_views({"genes": genes, "text": text})
    assert as_views(given, like=schema).names == ("text", "genes")


def test_a_mask_of_new_views_has_a_column_for_none_too(schema):
    text, _ = two_views()
    assert as_views([text, None], np.ones((4, 2)), like=schema).rows(0).size == 4


@pytest.mark.parametrize("X", [None, np.eye(2)])
def test_a_new_view_of_unknown_name_is_an_error(schema, X):
    match = r"views \['gene'\] are unknown to the model; .* \['text', 'genes'\]"
    with pytest.raises(ValueError, match=match):
        as_views({"text": np.ones((2, 3)), "gene": X}, like=schema)


def test_another_number_of_new_views_is_an_error(schema):
    match = r"Xs has 1 views, the model was fitted with 2: .*pass None for the views"
    with pytest.raises(ValueError, match=match):
        as_views([np.ones((2, 3))], like=schema)


def test_another_number_of_features_is_an_error(schema):
    match = "view 'genes' has 5 features, the model was fitted with 2; pass the same"
    with pytest.raises(ValueError, match=match):
        as_views([None, np.ones((2, 5))], like=schema)


def test_other_features_than_the_fitted_ones_are_an_error(pd):
    schema = ViewSchema(("t",), (2,), (("a", "b"),))
    table = pd.DataFrame(np.eye(2), columns=["c", "b"])
    match = "view 't' has feature 'c' at column 0, .* with 'a' .*; pass the same feat"
    with pytest.raises(ValueError, match=match):
        as_views([table], like=schema)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_features_in_another_order_are_put_into_that_of_the_fit(pd, make):
    schema = ViewSchema(("t",), (3,), (("a", "b", "c"),))
    X = np.arange(6.0).reshape(2, 3)
    table = pd.DataFrame(X, columns=["c", "a", "b"])
    if make is sp.csr_array:
        table = table.astype(pd.SparseDtype(float, 0))
    views = as_views([table], like=schema)
    assert views.feature_names == (("a", "b", "c"),)
    found = views.observed(0)
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_array_equal(found, X[:, [1, 2, 0]])


def test_a_schema_may_know_nothing_of_feature_names(pd):
    like = SimpleNamespace(names=("t",), n_features=(2,))
    table = pd.DataFrame(np.eye(2), columns=["a", "b"])
    assert as_views([table], like=like).feature_names == (("a", "b"),)


def test_a_new_sample_in_no_view_is_an_error(schema):
    with pytest.raises(ValueError, match=r"in no view, .* drop it before predicting"):
        as_views([np.full((1, 3), NAN), None], like=schema)


def test_new_tables_that_share_no_id_are_no_reason_to_warn(pd, schema, recwarn):
    text = pd.DataFrame(np.ones((2, 3)), index=["p", "q"])
    genes = pd.DataFrame(np.ones((2, 2)), index=["r", "s"])
    assert len(as_views([text, genes], like=schema)) == 4
    assert not recwarn.list
