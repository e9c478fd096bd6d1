import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._factor import factor_residual, solve_low_rank_sylvester


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_residual_equals_the_one_that_is_formed(n, d, m, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, d)), rng.random((n, m))
    U = rng.standard_normal((d, m))
    expected = np.linalg.norm(X - Z @ U.T) ** 2
    found = factor_residual(np.linalg.norm(X) ** 2, X @ U, U.T @ U, Z)
    assert found == pytest.approx(expected, abs=1e-9)


def test_an_exact_factorisation_leaves_no_negative_residual(rng):
    Z, U = rng.random((50, 4)), rng.standard_normal((7, 4))
    X = Z @ U.T
    found = factor_residual(np.linalg.norm(X) ** 2, X @ U, U.T @ U, Z)
    assert 0 <= found <= 1e-12 * np.linalg.norm(X) ** 2


@given(
    st.integers(1, 15),
    st.integers(1, 6),
    st.sampled_from([0.0, 1e-4, 1.0, 1e6]),
    st.integers(0, 99),
)
def test_solution_equals_that_of_a_general_solver(d, c, alpha, seed):
    rng = np.random.default_rng(seed)
    B, R = rng.standard_normal((d, c)), rng.standard_normal((d, c))
    V = rng.random((c + 20, c)) + 2 * np.eye(c + 20, c)
    expected = scipy.linalg.solve_sylvester(alpha * B @ B.T, V.T @ V, R)
    found = solve_low_rank_sylvester(B, V.T @ V, R, alpha)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_a_rank_deficient_left_factor_solves_the_equation(rng):
    B = np.outer(rng.standard_normal(10), rng.standard_normal(4))
    V, R = rng.random((30, 4)), rng.standard_normal((10, 4))
    U = solve_low_rank_sylvester(B, V.T @ V, R, 3.0)
    np.testing.assert_allclose(3 * B @ (B.T @ U) + U @ V.T @ V, R, atol=1e-9)


def test_a_singular_right_factor_gives_finite_numbers(rng):
    V = rng.random((30, 4))
    V[:, 2] = 0
    U = solve_low_rank_sylvester(np.zeros((10, 4)), V.T @ V, V[:10], 1.0)
    assert np.isfinite(U).all()
