import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from imvc.kernels._bipartite import (
    anchor_rows,
    inverse_sqrt_degrees,
    knn_weights,
    weights_to_csr,
)


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
    np.testing.assert_array_equal(inverse_sqrt_degrees(np.array([4.0, 0.0])), [0.5, 0])


def test_the_normalised_graph_has_the_constant_vector_on_top(rng):
    X, A = rng.standard_normal((50, 3)), rng.standard_normal((8, 3))
    Z = weights_to_csr(*anchor_rows(X, A, 3)[:2], 8).toarray()
    B = Z * inverse_sqrt_degrees(Z.sum(axis=0))
    values, vectors = np.linalg.eigh(B @ B.T)
    assert values[-1] == pytest.approx(1)
    np.testing.assert_allclose(np.abs(vectors[:, -1]), 50**-0.5, rtol=1e-6)
