"""Properties that hold for any views and any pattern of what is missing."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from imvc.views import as_views

pytestmark = pytest.mark.filterwarnings("ignore:no id is in more than one table")
quick = settings(deadline=None, max_examples=60)


@st.composite
def masks(draw, max_samples=12, max_views=5):
    """Masks in which every sample has a view and every view a sample."""
    n = draw(st.integers(1, max_samples))
    n_views = draw(st.integers(1, min(max_views, n)))
    mask = draw(hnp.arrays(bool, (n, n_views)))
    # Sample i keeps view i mod V: no row and no column is empty.
    mask[np.arange(n), np.arange(n) % n_views] = True
    return mask


@st.composite
def masked_views(draw, dtype=np.float64):
    mask = draw(masks())
    numbers = st.integers(-50, 50)
    arrays = [
        draw(hnp.arrays(dtype, (len(mask), d), elements=numbers))
        for d in draw(st.lists(st.integers(1, 4), **sizes(mask.shape[1])))
    ]
    return arrays, mask


def sizes(n):
    return {"min_size": n, "max_size": n}


def permutations(draw, n):
    return np.array(draw(st.permutations(range(n))), dtype=np.int64)


def with_nan_rows(arrays, mask):
    return [np.where(mask[:, [v]], X, np.nan) for v, X in enumerate(arrays)]


def assert_same(one, other):
    assert one.mask.tolist() == other.mask.tolist()
    assert one.n_features == other.n_features
    for v in range(one.n_views):
        a, b = dense(one.observed(v)), dense(other.observed(v))
        np.testing.assert_array_equal(a, b)
        rows = one.rows(v)[::-1]
        a, b = dense(one.take(v, rows)), dense(other.take(v, rows))
        np.testing.assert_array_equal(a, b)
    for p, q in zip(one.patterns(), other.patterns(), strict=True):
        assert (p.views, p.rows.tolist()) == (q.views, q.rows.tolist())


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def slow_patterns(mask):
    groups = {}
    for i, row in enumerate(mask.tolist()):
        key = tuple(v for v, seen in enumerate(row) if seen)
        groups.setdefault(key, []).append(i)
    return sorted(groups.items())


@quick
@given(masked_views(), st.data())
def test_garbage_in_unobserved_rows_changes_nothing(case, data):
    arrays, mask = case
    anything = st.sampled_from([np.nan, np.inf, -np.inf, 1e308, 0.0, -3.5])
    garbage = [data.draw(hnp.arrays(float, X.shape, elements=anything)) for X in arrays]
    spoilt = [np.where(mask[:, [v]], X, garbage[v]) for v, X in enumerate(arrays)]
    kept = [X.copy() for X in spoilt]
    assert_same(as_views(arrays, mask), as_views(spoilt, mask))
    for X, before in zip(spoilt, kept):
        np.testing.assert_array_equal(X, before)


@quick
@given(masked_views(), st.data())
def test_permuting_rows_permutes_samples(case, data):
    arrays, mask = case
    order = permutations(data.draw, len(mask))
    permuted = as_views([X[order] for X in arrays], mask[order])
    assert_same(permuted, as_views(arrays, mask).select(order))


@quick
@given(masked_views(), st.data())
def test_permuting_views_permutes_columns(case, data):
    arrays, mask = case
    order = permutations(data.draw, len(arrays))
    views = as_views(arrays, mask)
    permuted = as_views([arrays[v] for v in order], mask[:, order])
    for j, v in enumerate(order):
        assert permuted.rows(j).tolist() == views.rows(v).tolist()
        np.testing.assert_array_equal(permuted.observed(j), views.observed(v))
    groups = {frozenset(order[list(p.views)].tolist()): p for p in permuted.patterns()}
    for pattern in views.patterns():
        twin = groups.pop(frozenset(pattern.views))
        assert pattern.rows.tolist() == twin.rows.tolist()
    assert not groups


@quick
@given(masked_views())
def test_a_mask_and_rows_of_nan_say_the_same(case):
    arrays, mask = case
    assert_same(as_views(arrays, mask), as_views(with_nan_rows(arrays, mask)))


@quick
@given(masked_views())
def test_masking_a_container_is_masking_its_arrays(case):
    arrays, mask = case
    assert_same(as_views(as_views(arrays), mask), as_views(arrays, mask))


@quick
@given(masked_views())
def test_sparse_and_dense_views_agree(case):
    arrays, mask = case
    sparse = [sp.csr_array(X) for X in arrays]
    assert_same(as_views(sparse, mask), as_views(arrays, mask))
    sparse = [sp.coo_matrix(X) for X in with_nan_rows(arrays, mask)]
    assert_same(as_views(sparse), as_views(arrays, mask))


@quick
@given(masked_views(dtype=np.int16))
def test_integers_are_the_same_numbers_as_floats(case):
    arrays, mask = case
    views = as_views(arrays, mask)
    assert_same(views, as_views([X.astype(float) for X in arrays], mask))
    assert views.dtype == np.float64


@quick
@given(masked_views(dtype=np.float32))
def test_float32_stays_float32_with_the_same_numbers(case):
    arrays, mask = case
    views = as_views(with_nan_rows(arrays, mask))
    assert_same(views, as_views([X.astype(float) for X in arrays], mask))
    assert views.dtype == np.float32
    assert all(views.observed(v).dtype == np.float32 for v in range(views.n_views))


@quick
@given(masks(max_samples=40, max_views=6))
def test_patterns_agree_with_a_loop_over_samples(mask):
    patterns = as_views([np.ones((len(mask), 1))] * mask.shape[1], mask).patterns()
    assert [(p.views, p.rows.tolist()) for p in patterns] == slow_patterns(mask)


@quick
@given(st.integers(60, 140), st.integers(0, 2**32 - 1))
def test_patterns_agree_with_a_loop_for_many_views(n_views, seed):
    rng = np.random.default_rng(seed)
    kinds = rng.random((4, n_views)) < 0.5
    mask = np.vstack([kinds[rng.integers(4, size=20)], np.ones(n_views, bool)])
    mask[:, 0] = True
    patterns = as_views([np.ones((21, 1))] * n_views, mask).patterns()
    assert [(p.views, p.rows.tolist()) for p in patterns] == slow_patterns(mask)


@quick
@given(masked_views(), st.data())
def test_the_row_order_of_tables_changes_only_the_order_of_samples(case, data):
    pd = pytest.importorskip("pandas")
    arrays, mask = case
    ids = np.array([f"s{i}" for i in range(len(mask))])
    tables = {
        f"t{v}": pd.DataFrame(X[mask[:, v]], index=ids[mask[:, v]])
        for v, X in enumerate(arrays)
    }
    shuffled = {
        name: table.iloc[permutations(data.draw, len(table))]
        for name, table in tables.items()
    }
    views, other = as_views(tables), as_views(shuffled)
    assert sorted(views.sample_ids) == sorted(ids)
    where = {i: row for row, i in enumerate(other.sample_ids)}
    assert_same(views, other.select([where[i] for i in views.sample_ids]))
    where = {i: row for row, i in enumerate(views.sample_ids)}
    assert_same(views.select([where[i] for i in ids]), as_views(arrays, mask))
