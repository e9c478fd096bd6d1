import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from imvc.kernels._anchor_graph import (
    anchor_rows,
    column_moments,
    das_anchors,
    das_rows,
    distinct_rows,
    kmeans_anchors,
    knn_weights,
    merge_moments,
    row_norms,
    scale_rows,
    unit_rows,
    weights_to_csr,
)
from imvc.kernels._distances import squared_distances
from imvc.kernels._kmeans import random_rows
from imvc.kernels._patterns import inverse_sqrt

matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(-1e200, 1e200, allow_subnormal=False),
)


@given(matrices)
def test_unit_rows_have_length_one_or_zero(X):
    lengths = np.linalg.norm(unit_rows(X), axis=1)
    zero = (X == 0).all(axis=1)
    np.testing.assert_allclose(lengths[~zero], 1, rtol=1e-12)
    np.testing.assert_array_equal(lengths[zero], 0)


@given(matrices)
def test_sparse_unit_rows_equal_dense_ones(X):
    scaled = unit_rows(sp.csr_array(X))
    assert sp.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), unit_rows(X), rtol=1e-12, atol=1e-300)


def test_unit_rows_keeps_float32_and_its_input():
    X = np.ones((3, 2), np.float32)
    assert unit_rows(X).dtype == np.float32
    np.testing.assert_array_equal(X, 1)


def test_merged_moments_equal_moments_of_everything(rng):
    X = rng.standard_normal((50, 4)) * [1, 10, 0, 1e-3] + 1e4
    count, mean, squares = merge_moments(column_moments(X[:13]), column_moments(X[13:]))
    assert count == 50
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(squares / 50, X.var(axis=0), rtol=1e-8, atol=1e-16)


def test_moments_of_sparse_rows_equal_dense_ones(rng):
    X = rng.standard_normal((30, 5)) * (rng.random((30, 5)) < 0.3)
    for a, b in zip(column_moments(sp.csr_array(X)), column_moments(X)):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("kind", ["unit", "standard", None])
def test_scaling_keeps_sparse_rows_sparse(kind, rng):
    X = rng.standard_normal((6, 4))
    deviation = X.std(axis=0)
    sparse = scale_rows(sp.csr_array(X), kind, deviation)
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), scale_rows(X, kind, deviation))


@pytest.mark.parametrize("p", [7, 9000, 20_000])
def test_the_length_of_a_row_does_not_depend_on_its_company(p, rng):
    X = rng.standard_normal((5, p)).astype(np.float32)
    alone = np.concatenate([row_norms(x[None]) for x in X])
    np.testing.assert_array_equal(alone, row_norms(X))


def test_kmeans_anchors_cover_planted_groups(rng):
    centres = 20 * np.eye(5)
    X = centres[rng.integers(0, 5, 3000)] + rng.standard_normal((3000, 5))
    A = kmeans_anchors(X, 8, np.random.RandomState(0))
    assert A.shape == (8, 5)
    assert squared_distances(centres, A).min(axis=1).max() < 20


def test_repeated_samples_give_distinct_anchors():
    X = np.repeat(np.eye(3), 10, axis=0)
    A = kmeans_anchors(X, 6, np.random.RandomState(0))
    np.testing.assert_allclose(
        np.sort(A, axis=0)[::-1], np.sort(np.eye(3), axis=0)[::-1], atol=1e-12
    )
    assert len(A) == 3


def test_anchors_of_sparse_samples_equal_those_of_dense_ones(rng):
    X = rng.standard_normal((300, 12)) * (rng.random((300, 12)) < 0.3)
    dense = kmeans_anchors(X, 6, np.random.RandomState(0))
    sparse = kmeans_anchors(sp.csr_array(X), 6, np.random.RandomState(0))
    np.testing.assert_allclose(np.sort(sparse, axis=0), np.sort(dense, axis=0))
    for cosine in (False, True):
        np.testing.assert_allclose(
            das_anchors(sp.csr_array(X), 6, cosine=cosine),
            das_anchors(X, 6, cosine=cosine),
        )


@pytest.mark.parametrize(("n", "m"), [(50, 20), (3_000_000, 500), (10**12, 500)])
def test_random_rows_are_distinct_and_sorted(n, m):
    rows = random_rows(n, m, np.random.RandomState(0))
    assert (np.diff(rows) > 0).all()
    assert len(rows) == m
    assert 0 <= rows[0] <= rows[-1] < n


def test_das_picks_never_repeat():
    rows = das_rows(np.random.default_rng(0).random(30), 30)
    np.testing.assert_array_equal(rows, np.arange(30))


def test_das_fills_up_when_all_scores_vanish():
    np.testing.assert_array_equal(das_rows(np.ones(6), 4), [0, 1, 2, 3])
    np.testing.assert_array_equal(das_rows(np.zeros(6), 4), [0, 1, 2, 3])


@pytest.mark.parametrize("v", range(3))
def test_das_equals_the_authors_programs(v, reference_data):
    case = np.load(reference_data / "small_case.npz")
    reference = np.load(reference_data / "das_small.npz")
    raw = case[f"X{v}"][case["mask"][:, v]]
    unit = unit_rows(raw)
    for X, cosine, key in (
        (raw, False, "das_raw"),
        (unit, False, "das_unit"),
        (unit, True, "das_cosine_unit"),
    ):
        np.testing.assert_array_equal(
            das_anchors(X, 9, cosine=cosine), X[reference[f"{key}_view{v}"]]
        )


def test_distinct_rows_keep_their_order():
    A = np.array([[2.0, 1], [0, 0], [2, 1], [1, 1]])
    np.testing.assert_array_equal(distinct_rows(A), [[2, 1], [0, 0], [1, 1]])


def minimiser(d, k):
    """Projected solution of min sum_q d_q b_q + gamma b_q^2 on the simplex."""
    gamma = (k * d[k] - d[:k].sum()) / 2
    return np.array([(d[k] - d_q) / (2 * gamma) for d_q in d[:k]])


@given(
    st.lists(st.floats(0, 100), min_size=3, max_size=9, unique=True),
)
def test_weights_equal_the_closed_form(values):
    d = np.sort(values)
    k = len(d) - 1
    assume(k * d[k] - d[:k].sum() >= 1e-9)
    np.testing.assert_allclose(knn_weights(d[None], k)[0], minimiser(d, k), atol=1e-12)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=9))
def test_rows_lie_on_the_simplex_whatever_the_distances(values):
    weights = knn_weights(np.sort(values)[None], len(values) - 1)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tied_distances_spread_the_weight_evenly(dtype):
    D = np.array([[2, 2, 2, 2], [0, 0, 0, 0]], dtype)
    D[0, 1] *= 1 + np.finfo(dtype).eps
    weights = knn_weights(D, 3)
    np.testing.assert_allclose(weights, 1 / 3, rtol=1e-6)
    assert weights.dtype == dtype


def test_weights_follow_the_neighbours(rng):
    X, A = rng.standard_normal((30, 4)), rng.standard_normal((9, 4))
    indices, weights, _ = anchor_rows(X, A, 3)
    Z = weights_to_csr(indices, weights, 9).toarray()
    for x, row in zip(X, Z):
        d = np.square(x - A).sum(axis=1)
        near = np.argsort(d)
        np.testing.assert_allclose(row[near[:3]], minimiser(np.sort(d), 3))
        np.testing.assert_array_equal(row[near[3:]], 0)


@pytest.mark.parametrize(("m", "expected"), [(1, 1), (2, 1), (3, 2), (9, 5)])
def test_few_anchors_reduce_the_neighbours(m, expected, rng):
    indices, weights, _ = anchor_rows(
        rng.standard_normal((6, 2)), rng.standard_normal((m, 2)), 5
    )
    assert indices.shape == weights.shape == (6, expected)
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_an_anchor_nobody_uses_drops_out():
    np.testing.assert_array_equal(inverse_sqrt(np.array([4.0, 0.0])), [0.5, 0])


def test_the_normalised_graph_has_the_constant_vector_on_top(rng):
    X, A = rng.standard_normal((50, 3)), rng.standard_normal((8, 3))
    Z = weights_to_csr(*anchor_rows(X, A, 3)[:2], 8).toarray()
    B = Z * inverse_sqrt(Z.sum(axis=0))
    values, vectors = np.linalg.eigh(B @ B.T)
    assert values[-1] == pytest.approx(1)
    np.testing.assert_allclose(np.abs(vectors[:, -1]), 50**-0.5, rtol=1e-6)
