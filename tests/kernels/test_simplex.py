import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from imvc.kernels._simplex import inverse_power_weights, project_simplex

finite = st.floats(-1e3, 1e3, allow_subnormal=False)
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2), elements=finite)


def slow_projection(v, w=None):
    """Try every size of the support, largest w v first; the largest that fits."""
    w = np.ones_like(v) if w is None else w
    order = np.argsort(-w * v)
    best = None
    for size in range(1, len(v) + 1):
        S = order[:size]
        theta = (v[S].sum() - 1) / (1 / w[S]).sum()
        s = np.zeros_like(v)
        s[S] = v[S] - theta / w[S]
        if (s[S] > 0).all():
            best = s
    return best


@given(matrices)
def test_projection_equals_the_search_over_supports(V):
    expected = [slow_projection(v) for v in V]
    np.testing.assert_allclose(project_simplex(V), expected, atol=1e-9)


@given(st.integers(0, 999), st.sampled_from([1e-3, 0.03, 1.0, 30.0]))
def test_wide_and_narrow_supports_equal_the_sort(seed, spread):
    """Small spreads keep nearly all of 60 entries, large ones very few."""
    V = spread * np.random.default_rng(seed).standard_normal((5, 60))
    top = -np.sort(-V, axis=1)
    thetas = (top.cumsum(axis=1) - 1) / np.arange(1, 61)
    expected = np.maximum(V - thetas.max(axis=1, keepdims=True), 0)
    np.testing.assert_allclose(project_simplex(V), expected, atol=1e-12)


@given(st.integers(1, 9), st.integers(0, 999))
def test_weighted_projection_equals_the_search_over_supports(m, seed):
    rng = np.random.default_rng(seed)
    V, W = rng.standard_normal((4, m)), 10.0 ** rng.uniform(-3, 3, (4, m))
    expected = [slow_projection(v, w) for v, w in zip(V, W)]
    found = project_simplex(V, weights=W)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(matrices)
def test_projection_satisfies_the_optimality_conditions(V):
    """v - s is one number on the support and at most that number off it."""
    S = project_simplex(V)
    assert (S >= 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-9)
    for v, s in zip(V, S):
        theta = (v - s)[s > 0]
        np.testing.assert_allclose(theta, theta[0], atol=1e-9)
        assert (v[s == 0] <= theta[0] + 1e-9).all()


@given(st.integers(2, 12), st.integers(0, 99))
def test_entries_of_minus_infinity_are_left_out(n, seed):
    T = np.random.default_rng(seed).standard_normal((n, n))
    np.fill_diagonal(T, -np.inf)
    off = ~np.eye(n, dtype=bool)
    expected = project_simplex(T[off].reshape(n, n - 1))
    for weights in (None, np.ones(n)):
        S = project_simplex(T, weights=weights)
        assert not S.diagonal().any()
        np.testing.assert_allclose(S[off].reshape(n, n - 1), expected, atol=1e-12)


@pytest.mark.parametrize("weights", [None, 2.0])
def test_equal_entries_share_alike_and_one_entry_takes_all(weights):
    S = project_simplex(np.full((2, 5), 7.0), weights=weights)
    np.testing.assert_allclose(S, 0.2)
    assert project_simplex(np.array([[-3.0]]), weights=weights) == 1


@pytest.mark.parametrize("weights", [None, 1.0])
def test_a_row_with_nothing_free_is_zero(weights):
    V = np.array([[-np.inf, -np.inf], [0.0, 0.0]])
    S = project_simplex(V, weights=weights)
    np.testing.assert_array_equal(S, [[0, 0], [0.5, 0.5]])


def test_huge_entries_keep_the_sum():
    S = project_simplex(np.array([[1e17, 1e17, 0.0], [-1e300, 1e300, 0.0]]))
    np.testing.assert_array_equal(S, [[0.5, 0.5, 0], [0, 1, 0]])


def test_nearly_tied_entries_end(rng):
    V = 1e-17 * rng.standard_normal((500, 50)) + 0.3
    np.testing.assert_allclose(project_simplex(V).sum(axis=1), 1)


def test_stacks_blocks_and_dtypes_agree(rng):
    V = rng.standard_normal((3, 700, 400))
    S = project_simplex(V)
    np.testing.assert_allclose(S[2, 650], slow_projection(V[2, 650]), atol=1e-12)
    S32 = project_simplex(V.astype(np.float32))
    assert S32.dtype == np.float32
    np.testing.assert_allclose(S32, S, atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(bad):
    with pytest.raises(ValueError, match="NaN"):
        project_simplex(np.array([[0.0, bad]]))


@given(
    arrays(np.float64, st.integers(1, 6), elements=st.floats(1e-3, 1e3)),
    st.floats(1.2, 5),
    st.integers(0, 99),
)
def test_weights_minimise_their_objective(h, r, seed):
    a = inverse_power_weights(h, 1 / (r - 1))
    assert a.sum() == pytest.approx(1)
    others = np.random.default_rng(seed).dirichlet(np.ones(len(h)), 20)
    assert ((others**r) @ h >= (a**r) @ h * (1 - 1e-9)).all()


def test_zero_residuals_share_the_weight():
    found = inverse_power_weights([0, 3.0, 0])
    np.testing.assert_allclose(found, [0.5, 0, 0.5], atol=1e-300)
    np.testing.assert_allclose(inverse_power_weights([0, 0], 0.5), 0.5)


@pytest.mark.parametrize("weights", [None, 2.0])
def test_the_result_may_take_the_place_of_the_argument(weights, rng):
    V = rng.standard_normal((2, 5, 9))
    expected = project_simplex(V, weights=weights)
    found = project_simplex(V, weights=weights, out=V)
    assert np.shares_memory(found, V)
    np.testing.assert_array_equal(V, expected)


def test_long_rows_of_small_and_of_full_support_equal_the_sorted_search(rng):
    V = rng.standard_normal((60, 400)) * np.repeat([1e-4, 1.0, 30.0], 20)[:, None]
    u = np.sort(V, axis=1)[:, ::-1]
    theta = ((np.cumsum(u, axis=1) - 1) / np.arange(1, 401)).max(axis=1, keepdims=True)
    S = project_simplex(V)
    np.testing.assert_allclose(S, np.maximum(V - theta, 0), atol=1e-13)
    assert (S[:20] > 0).all()
    assert ((S[20:] > 0).sum(axis=1) < 100).all()


@given(
    st.integers(0, 999),
    st.sampled_from([1e-4, 0.01, 1.0, 30.0]),
    st.sampled_from([0.0, 1e-6, 0.1, 100.0, -100.0]),
)
def test_thresholds_nearby_or_far_change_nothing(seed, spread, shift):
    rng = np.random.default_rng(seed)
    V = spread * rng.standard_normal((2, 7, 60))
    V[:, :, seed % 60] = -1e6
    expected = [[slow_projection(v) for v in rows] for rows in V]
    V[:, :, seed % 60] = -np.inf
    near = np.full((2, 7), np.nan)
    for _ in range(3):  # from nothing, from moved thresholds, from its own
        found = project_simplex(V, near=near)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(
            np.maximum(V - near[..., None], 0), expected, atol=1e-12
        )
        near += shift * rng.standard_normal(near.shape)
        shift = 0


def test_nearby_thresholds_in_place_and_of_rows_with_nothing_free(rng):
    V = rng.standard_normal((4, 9))
    V[2] = -np.inf
    expected, near = project_simplex(V), np.zeros(4)
    found = project_simplex(V, near=near, out=V)
    assert np.shares_memory(found, V)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    with pytest.raises(ValueError, match="NaN"):
        project_simplex(np.array([[0.0, np.nan]]), near=np.zeros(1))
    huge = np.array([[1e17, 1e17, 0.0], [-1e300, 1e300, 0.0]])
    found = project_simplex(huge, near=np.array([0.0, 1e301]))
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0], [0, 1, 0]])


@pytest.mark.parametrize("shift", [0.0, 1e-9, 0.02, -0.02, 5.0, -5.0])
def test_rows_of_few_and_of_many_entries_side_by_side_follow_their_thresholds(
    shift, rng
):
    """Full, sparse and tied rows, and one that has a single free entry."""
    spreads = np.repeat([1e-5, 1e-3, 0.3, 30.0], 10)[:, None]
    V = rng.permutation(spreads * rng.standard_normal((40, 300)))
    V[3] = np.round(V[3], 1)
    V[7] = 0.25
    V[11:20, ::7] = -1e6
    V[22, 1:] = -1e6
    expected = np.array([slow_projection(v) for v in V])
    V[V == -1e6] = -np.inf
    near = np.where(expected > 0, V - expected, -np.inf).max(axis=1)
    near += shift * rng.standard_normal(40)
    found = project_simplex(V, near=near)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(np.maximum(V - near[:, None], 0), expected, atol=1e-12)
