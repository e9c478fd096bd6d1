import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._patterns import fix_signs
from imvc.kernels._procrustes import (
    generalized_power_iteration,
    left_singular_vectors,
    polar_factor,
    tall_polar_factor,
)


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
    shift = max(0.0, -np.linalg.eigvalsh(A)[0])
    rule = dict(shift=shift, tol=1e-14)
    Q = generalized_power_iteration(A, B, start, max_iter=2000, **rule)
    path = [start]
    for _ in range(30):
        path.append(generalized_power_iteration(A, B, path[-1], max_iter=1, **rule))
    objective = [np.vdot(Q, A @ Q) + 2 * np.vdot(Q, B) for Q in path]
    scale = np.abs(objective).max() + 1
    assert (np.diff(objective) >= -1e-12 * scale).all()
    np.testing.assert_allclose(Q.T @ Q, np.eye(c), atol=1e-10)
    G = A @ Q + B  # at a critical point G = Q (symmetric)
    np.testing.assert_allclose(G, Q @ (Q.T @ G + G.T @ Q) / 2, atol=1e-3 * scale)


def test_without_a_quadratic_term_it_is_procrustes(rng):
    B = rng.standard_normal((8, 3))
    rule = dict(shift=0.0, max_iter=100, tol=1e-10)
    Q = generalized_power_iteration(np.zeros((8, 8)), B, np.eye(8, 3), **rule)
    np.testing.assert_allclose(Q, polar_factor(B), atol=1e-12)


@given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 8), st.integers(0, 99))
def test_singular_vectors_equal_those_of_a_plain_svd(n, q, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, q))
    U, s = left_singular_vectors(X, d)
    U_ref, s_ref, _ = np.linalg.svd(X, full_matrices=False)
    top = min(d, n, q)
    np.testing.assert_allclose(s[:top], s_ref[:top], atol=1e-6)
    np.testing.assert_allclose(U[:, :top], fix_signs(U_ref[:, :top]), atol=1e-5)
    np.testing.assert_array_equal(U[:, top:], 0)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6, 1e-9])
def test_small_singular_values_keep_their_digits(smallest, rng):
    """Squaring would lose them; the QR route must not."""
    U = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    V = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    X = U * [1, 0.5, smallest] @ V.T
    left, s = left_singular_vectors(X, 3)
    assert s[2] == pytest.approx(smallest, rel=1e-5)
    np.testing.assert_allclose(left.T @ left, np.eye(3), atol=1e-6)


def test_directions_without_rank_are_zero(rng):
    X = np.outer(rng.standard_normal(20), rng.standard_normal(4))
    U, s = left_singular_vectors(X, 3)
    np.testing.assert_array_equal(U[:, 1:], 0)
    np.testing.assert_array_equal(s[1:], 0)


def test_polar_factor_is_the_nearest_orthonormal_matrix(rng):
    X = rng.standard_normal((9, 3))
    Q = polar_factor(X)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((9, 3)))[0]
        assert np.linalg.norm(X - Q) <= np.linalg.norm(X - other)
