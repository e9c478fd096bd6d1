import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._gram_svd import (
    fix_signs,
    leading_eigh,
    left_singular_vectors,
    polar_factor,
)


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


def test_leading_eigh_is_descending_with_fixed_signs(rng):
    M = rng.standard_normal((6, 6))
    values, vectors = leading_eigh(M @ M.T, 4)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(M @ M.T @ vectors, vectors * values, atol=1e-10)
    largest = vectors[np.abs(vectors).argmax(axis=0), range(4)]
    assert (largest > 0).all()


def test_leading_eigh_of_zero_is_zero():
    values, vectors = leading_eigh(np.zeros((3, 3)), 2)
    assert not values.any()
    assert not vectors.any()


def test_polar_factor_is_the_nearest_orthonormal_matrix(rng):
    X = rng.standard_normal((9, 3))
    Q = polar_factor(X)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal((9, 3)))[0]
        assert np.linalg.norm(X - Q) <= np.linalg.norm(X - other)
