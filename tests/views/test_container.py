"""The container: what it hands out, and that it copies nothing it need not."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from imvc.views import IncompleteViews, Pattern, ViewSchema, as_views

MASK = np.array([[1, 1], [1, 0], [0, 1], [1, 1]], dtype=bool)


@pytest.fixture
def arrays():
    return [np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2) + 100]


@pytest.fixture
def views(arrays):
    return as_views({"text": arrays[0], "genes": arrays[1]}, MASK)


def joined_tables():
    pd = pytest.importorskip("pandas")
    text = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=["a", "b"], columns=["x", "y"])
    genes = pd.DataFrame([[5.0], [6.0], [7.0]], index=["c", "b", "d"], columns=["g"])
    return {"text": text, "genes": genes}


def test_sizes_are_read_off_the_mask_and_the_arrays(views):
    assert (views.n_samples, views.n_views, views.n_features) == (4, 2, (3, 2))
    assert len(views) == 4


def test_rows_lists_the_observed_samples_in_order(views):
    assert views.rows(1).tolist() == [0, 2, 3]
    assert views.rows(1).dtype == np.int64


def test_rows_is_computed_once(views):
    assert views.rows(0) is views.rows(0)


def test_observed_gives_the_observed_rows(views, arrays):
    np.testing.assert_array_equal(views.observed(1), arrays[1][[0, 2, 3]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_complete_floating_view_is_not_copied(dtype):
    X = np.ones((3, 2), dtype=dtype)
    views = as_views([X])
    assert views.arrays[0] is X
    assert np.shares_memory(views.observed(0), X)


def test_a_complete_sparse_view_is_not_copied():
    X = sp.csr_array(np.eye(3))
    assert np.shares_memory(as_views([X]).observed(0).data, X.data)


def test_a_slice_of_a_floating_view_is_not_copied(arrays):
    views = as_views(arrays)
    assert np.shares_memory(views.take(0, slice(1, 3)), arrays[0])


def test_take_follows_the_order_asked_for(views, arrays):
    np.testing.assert_array_equal(views.take(0, [3, 0]), arrays[0][[3, 0]])


def test_take_of_no_rows_is_empty(views):
    assert views.take(0, []).shape == (0, 3)


@pytest.mark.parametrize("rows", [[0, 1, 2], slice(0, 3)])
def test_take_refuses_unobserved_rows(views, rows):
    with pytest.raises(
        ValueError,
        match=r"1 of the rows .* not observed in view 'genes', first \[1\]; rows\(1\)",
    ):
        views.take(1, rows)


def test_take_refuses_rows_that_are_not_integers(views):
    with pytest.raises(TypeError, match="rows has dtype float64; pass integers"):
        views.take(0, [0.5])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("given", "handed_out"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.longdouble, np.float64),
        (np.int8, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
    ],
)
def test_take_gives_floats(given, handed_out, sparse):
    X = np.eye(3).astype(given)
    views = as_views([sp.csr_array(X) if sparse else X])
    assert views.observed(0).dtype == handed_out
    assert views.take(0, [1]).dtype == handed_out
    assert views.dtype == handed_out


def test_half_precision_is_widened_to_float32():
    assert as_views([np.eye(3, dtype=np.float16)]).observed(0).dtype == np.float32


def test_foreign_byte_order_is_brought_home():
    assert as_views([np.eye(3).astype(">f8")]).observed(0).dtype.isnative


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ((np.float32, np.float16), np.float32),
        ((np.float32, np.float64), np.float64),
        ((np.float32, np.int8), np.float64),
    ],
)
def test_dtype_is_float32_only_when_every_view_is(types, common):
    assert as_views([np.eye(2, dtype=t) for t in types]).dtype == common


@pytest.mark.parametrize("format_", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_sparse_views_of_any_format_are_csr(format_, kind):
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    views = as_views([kind(X).asformat(format_)])
    assert isinstance(views.arrays[0], sp.csr_array)
    np.testing.assert_array_equal(views.take(0, [1, 0]).toarray(), X[[1, 0]])


def test_sparse_rows_come_with_sorted_indices_and_the_input_keeps_its_own():
    X = sp.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([2, 0, 0]), np.array([0, 3, 3])),
        shape=(2, 3),
    )
    views = as_views([X])
    taken = views.take(0, [0])
    assert taken.indices.tolist() == [0, 2]
    assert taken.data.tolist() == [6.0, 1.0]
    assert X.indices.tolist() == [2, 0, 0]


def test_patterns_group_samples_by_their_views(views):
    found = [(p.views, p.rows.tolist()) for p in views.patterns()]
    assert found == [((0,), [1]), ((0, 1), [0, 3]), ((1,), [2])]


def test_patterns_can_be_unpacked(views):
    for pattern in views.patterns():
        observed, rows = pattern
        assert isinstance(pattern, Pattern)
        assert views.mask[np.ix_(rows, observed)].all()


def test_patterns_are_computed_once(views):
    assert views.patterns() is views.patterns()


def test_patterns_tell_apart_views_beyond_the_first_64():
    mask = np.ones((4, 130), dtype=bool)
    mask[1, 129] = mask[2, 64] = mask[3, 63] = False
    patterns = as_views([np.ones((4, 1))] * 130, mask).patterns()
    assert sorted(p.rows.tolist() for p in patterns) == [[0], [1], [2], [3]]


def test_the_mask_is_read_only_and_not_that_of_the_caller(arrays):
    mask = MASK.copy()
    views = as_views(arrays, mask)
    mask[:] = False
    assert views.mask.any()
    with pytest.raises(ValueError, match="read-only"):
        views.mask[0, 0] = False


def test_the_container_is_frozen(views):
    with pytest.raises(AttributeError, match="cannot assign"):
        views.names = ("a", "b")


def test_select_keeps_samples_in_the_order_asked_for(views, arrays):
    chosen = views.select([3, 1])
    assert chosen.mask.tolist() == MASK[[3, 1]].tolist()
    np.testing.assert_array_equal(chosen.observed(0), arrays[0][[3, 1]])
    np.testing.assert_array_equal(chosen.observed(1), arrays[1][[3]])


@pytest.mark.parametrize(
    "rows", [[1, 3], [-3, -1], np.array([False, True, False, True]), slice(1, None, 2)]
)
def test_select_takes_integers_booleans_and_slices(views, rows):
    chosen = views.select(rows)
    assert chosen.mask.tolist() == MASK[[1, 3]].tolist()
    np.testing.assert_array_equal(chosen.observed(0), views.take(0, [1, 3]))


def test_select_twice_is_one_selection(views):
    twice = views.select([3, 2, 0]).select([2, 0])
    np.testing.assert_array_equal(twice.observed(1), views.take(1, [0, 3]))


def test_select_does_not_copy_the_data(views, arrays):
    assert np.shares_memory(views.select([2, 0]).arrays[0], arrays[0])


def test_a_selected_slice_can_be_taken_without_a_copy(arrays):
    chosen = as_views(arrays).select(slice(1, 3))
    assert np.shares_memory(chosen.observed(0), arrays[0])


def test_select_takes_the_ids_along():
    chosen = as_views(joined_tables()).select([2, 1])
    assert chosen.sample_ids.tolist() == ["c", "b"]
    np.testing.assert_array_equal(chosen.observed(1), [[5.0], [6.0]])


def test_select_of_no_samples_is_empty(views):
    nothing = views.select([])
    assert len(nothing) == 0
    assert nothing.patterns() == ()


def test_joined_tables_are_read_through_their_positions():
    views = as_views(joined_tables())
    assert views.sample_ids.tolist() == ["a", "b", "c", "d"]
    assert views.positions[1].tolist() == [-1, 1, 0, 2]
    assert views.rows(1).tolist() == [1, 2, 3]
    np.testing.assert_array_equal(views.observed(1), [[6.0], [5.0], [7.0]])
    np.testing.assert_array_equal(views.take(1, slice(1, 3)), [[6.0], [5.0]])


def test_the_schema_names_views_and_features():
    assert as_views(joined_tables()).schema == ViewSchema(
        ("text", "genes"), (2, 1), (("x", "y"), ("g",))
    )


def test_repr_is_one_line(views):
    assert repr(views) == (
        "<IncompleteViews of 4 samples, 2 incomplete: text 3 x 3, genes 3 x 2>"
    )


def test_summary_counts_what_is_observed(views):
    assert views.summary().splitlines() == [
        "4 samples, 2 views; 2 samples have every view",
        "view   features  observed",
        "text          3         3 (75.0 %)",
        "genes         2         3 (75.0 %)",
        "3 patterns of observed views",
        "       2  text + genes",
        "       1  text",
        "       1  genes",
    ]


def test_summary_lists_the_large_patterns_only():
    mask = np.array([[i >> v & 1 for v in range(4)] for i in range(1, 16)])
    text = as_views([np.ones((15, 1))] * 4, mask).summary()
    assert text.endswith("       7  in 7 smaller patterns")


def test_pickling_keeps_everything(views):
    views.patterns()
    twin = pickle.loads(pickle.dumps(views))
    assert isinstance(twin, IncompleteViews)
    assert twin.mask.tolist() == views.mask.tolist()
    np.testing.assert_array_equal(twin.observed(1), views.observed(1))
