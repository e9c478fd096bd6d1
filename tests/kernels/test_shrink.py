import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._tensor import shrink_singular_values, soft_threshold

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12))
taus = st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0, 5.0, 1e3])


def slow_svd_shrink(X, tau):
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return U @ np.diag(np.maximum(s - tau, 0)) @ Vt


def is_prox(f, X, P, tau, rng):
    """No perturbation of P lowers |P - X|^2 / 2 + tau f(P)."""

    def objective(Q):
        return np.linalg.norm(Q - X) ** 2 / 2 + tau * f(Q)

    best = objective(P)
    return all(
        objective(P + size * rng.standard_normal(P.shape)) >= best - 1e-10 * (1 + best)
        for size in 10.0 ** rng.uniform(-4, 0, 20)
    )


@given(shapes, taus, st.integers(0, 99))
def test_every_shrinkage_minimises_its_objective(shape, tau, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    assert is_prox(lambda Q: np.abs(Q).sum(), X, soft_threshold(X, tau), tau, rng)
    nuclear = lambda Q: np.linalg.norm(Q, "nuc")  # noqa: E731
    assert is_prox(nuclear, X, shrink_singular_values(X, tau), tau, rng)


def test_soft_threshold_of_a_few_numbers():
    X = np.array([-3.0, -0.5, 0.0, 1.0, 2.5])
    np.testing.assert_array_equal(soft_threshold(X, 1.0), [-2, 0, 0, 0, 1.5])


@given(shapes, taus, st.booleans(), st.integers(0, 99))
def test_gram_route_equals_a_plain_svd(shape, tau, is_complex, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, *shape))
    if is_complex:
        X = X + 1j * rng.standard_normal(X.shape)
    expected = [slow_svd_shrink(x, tau) for x in X]
    found = shrink_singular_values(X, np.full(3, tau))
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("tau", [0.0, 1e-10, 1e-7, 1e-5])
def test_small_singular_values_survive_a_smaller_threshold(tau, rng):
    U = np.linalg.qr(rng.standard_normal((30, 4)))[0]
    V = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    X = U * [1, 1e-4, 1e-6, 1e-9] @ V.T
    found = np.linalg.svd(shrink_singular_values(X, tau), compute_uv=False)
    expected = np.maximum(np.array([1, 1e-4, 1e-6, 1e-9]) - tau, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-11)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (1, 5), (5, 1), (1, 1), (0, 3)])
def test_zero_matrices_stay_zero(shape):
    X = np.zeros(shape)
    for P in (
        soft_threshold(X, 1.0),
        shrink_singular_values(X, 0.0),
        shrink_singular_values(X, 1.0),
    ):
        np.testing.assert_array_equal(P, X)


def test_single_precision_stays_and_agrees(rng):
    X = rng.standard_normal((20, 5))
    small = X.astype(np.float32)
    for shrink in (soft_threshold, shrink_singular_values):
        assert shrink(small, 0.5).dtype == np.float32
        np.testing.assert_allclose(shrink(small, 0.5), shrink(X, 0.5), atol=1e-5)


def test_integers_become_double():
    X = np.array([[3, 0], [4, 0]])
    np.testing.assert_allclose(shrink_singular_values(X, 2.5), X / 2)
