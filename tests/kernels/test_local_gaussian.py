import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._local_gaussian import (
    largest_columns,
    local_scale,
    normal_density,
    pairwise_squares,
    row_shares,
)


def plain_squares(X):
    return np.array([[np.square(a - b).sum() for b in X] for a in X])


@given(st.integers(1, 30), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_squares_equal_their_definition(n, p, sparse, seed):
    X = np.random.default_rng(seed).standard_normal((n, p))
    found = pairwise_squares(sp.csr_matrix(X) if sparse else X)
    np.testing.assert_allclose(found, plain_squares(X), atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_duplicates_are_at_distance_zero_and_others_are_not(form, rng):
    X = np.repeat(rng.standard_normal((6, 40)), 4, axis=0)
    X[0, 0] += 1e-5
    same = np.arange(24)[:, None] // 4 == np.arange(24) // 4
    same[0, 1:] = same[1:, 0] = False
    np.testing.assert_array_equal(pairwise_squares(form(X)) == 0, same)


def test_a_common_offset_changes_no_distance(rng):
    X = rng.standard_normal((20, 3))
    shifted = pairwise_squares(np.round(X, 3) + 1e6)
    np.testing.assert_allclose(shifted, plain_squares(np.round(X, 3)), atol=1e-8)


@given(st.integers(1, 20), st.integers(1, 25), st.integers(0, 99))
def test_the_scale_is_the_mean_of_two_neighbourhoods_and_the_pair(n, k, seed):
    D = plain_squares(np.random.default_rng(seed).standard_normal((n, 2)))
    near = np.zeros(n)
    for i in range(n):
        others = np.sort(np.delete(D[i], i))[:k]
        near[i] = others.mean() if n > 1 else 0
    expected = [[(near[i] + near[j] + D[i, j]) / 3 for j in range(n)] for i in range(n)]
    np.testing.assert_allclose(local_scale(D, k), expected, atol=1e-12)


def test_the_density_is_that_of_the_normal_distribution(rng):
    from scipy.stats import norm

    x, deviation = rng.standard_normal((5, 6)), 0.1 + rng.random((5, 6))
    expected = norm.pdf(x, scale=deviation)
    np.testing.assert_allclose(normal_density(x**2, deviation**2), expected)


def test_among_duplicates_the_density_is_that_of_the_least_variance():
    found = normal_density(np.zeros((1, 3)), np.array([[0.0, 0.25, 4.0]]))
    assert found[0, 0] == found[0, 1] > found[0, 2]
    np.testing.assert_array_equal(
        normal_density(np.zeros((2, 2)), np.zeros((2, 2))), 1 / np.sqrt(2 * np.pi)
    )


@given(st.integers(1, 15), st.integers(1, 20), st.integers(0, 99))
def test_shares_of_the_largest_entries_sum_to_one(n, k, seed):
    W = np.random.default_rng(seed).random((n, n))
    expected = np.zeros((n, n))
    for i in range(n):
        kept = np.argsort(-W[i])[:k]
        expected[i, kept] = W[i, kept] / W[i, kept].sum()
    found = row_shares(W, largest_columns(W, k))
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-15)


def test_rows_of_zeros_have_no_shares_and_no_columns_are_served():
    W = np.zeros((3, 3))
    assert not row_shares(W, largest_columns(W, 2)).toarray().any()
    assert row_shares(W, largest_columns(W, 0)).shape == (3, 3)
