import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._gram_svd import polar_factor
from imvc.kernels._procrustes import generalized_power_iteration, tall_polar_factor


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 99))
def test_gram_route_equals_the_svd_route(n, q, seed):
    X = np.random.default_rng(seed).standard_normal((n, q))
    np.testing.assert_allclose(tall_polar_factor(X), polar_factor(X), atol=1e-7)


@pytest.mark.parametrize("smallest", [1e-2, 1e-5, 1e-9, 0])
def test_badly_conditioned_matrices_give_orthonormal_columns(smallest, rng):
    U = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    Q = tall_polar_factor(U * [1, 0.5, smallest])
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-7)


def test_without_full_rank_both_routes_give_the_same_matrix(rng):
    X = np.outer(rng.standard_normal(20), rng.standard_normal(4))
    np.testing.assert_array_equal(tall_polar_factor(X), polar_factor(X))
    Z = np.zeros((5, 2))
    np.testing.assert_array_equal(tall_polar_factor(Z), polar_factor(Z))


@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_objective_never_falls_and_the_end_is_stationary(p, c, seed):
    rng = np.random.default_rng(seed)
    c = min(c, p)
    M = rng.standard_normal((p, p))
    A, B = M + M.T, rng.standard_normal((p, c))
    start = np.linalg.qr(rng.standard_normal((p, c)))[0]
    Q, objective = generalized_power_iteration(A, B, start, max_iter=2000, tol=1e-14)
    scale = np.abs(objective).max() + 1
    assert (np.diff(objective) >= -1e-12 * scale).all()
    np.testing.assert_allclose(Q.T @ Q, np.eye(c), atol=1e-10)
    G = A @ Q + B  # at a critical point G = Q (symmetric)
    np.testing.assert_allclose(G, Q @ (Q.T @ G + G.T @ Q) / 2, atol=1e-3 * scale)


def test_without_a_quadratic_term_it_is_procrustes(rng):
    B = rng.standard_normal((8, 3))
    Q, _ = generalized_power_iteration(np.zeros((8, 8)), B, np.eye(8, 3))
    np.testing.assert_allclose(Q, polar_factor(B), atol=1e-12)
