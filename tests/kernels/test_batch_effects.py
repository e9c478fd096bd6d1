"""Cluster means and batch effects against least squares on dummies, and mathematics."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._batch_effects import middle_effects, mixed_rows, two_way_means


def planted(rng, n=300, d=4, k=3, q=3, noise=0.0):
    """Rows, clusters, batches, centres and effects that are zero on average."""
    clusters, batches = rng.integers(k, size=n), rng.integers(q, size=n)
    centers, effects = rng.normal(size=(k, d)), rng.normal(size=(q, d))
    effects -= np.bincount(batches, minlength=q) @ effects / n
    X = centers[clusters] + effects[batches] + noise * rng.normal(size=(n, d))
    return X, clusters, batches, centers, effects


def on_dummies(X, clusters, batches, k, q):
    """Fitted rows and residuals by numpy's least squares."""
    dummies = np.hstack([np.eye(k)[clusters], np.eye(q)[batches]])
    fitted = dummies @ np.linalg.lstsq(dummies, X, rcond=None)[0]
    return fitted, ((X - fitted) ** 2).sum(axis=0)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40))
def test_it_fits_what_least_squares_on_dummies_fits(seed, n):
    rng = np.random.default_rng(seed)
    k, q = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    clusters, batches = rng.integers(k, size=n), rng.integers(q, size=n)
    X = rng.normal(size=(n, 3)) + 100
    found = two_way_means(X, clusters, batches, k, q)
    fitted, residual = on_dummies(X, clusters, batches, k, q)
    np.testing.assert_allclose(
        found.centers[clusters] + found.effects[batches], fitted, atol=1e-8
    )
    np.testing.assert_allclose(found.residual, residual, atol=1e-8)


@given(seed=st.integers(0, 10_000), shrink=st.booleans())
def test_removing_effects_keeps_the_mean_of_all_rows(seed, shrink):
    rng = np.random.default_rng(seed)
    X, clusters, batches, *_ = planted(rng, n=30, noise=1.0)
    found = two_way_means(X, clusters, batches, 3, 3, shrink=shrink)
    np.testing.assert_allclose(
        (X - found.effects[batches]).mean(axis=0), X.mean(axis=0), atol=1e-10
    )


def test_planted_effects_and_centers_are_recovered(rng):
    X, clusters, batches, centers, effects = planted(rng)
    found = two_way_means(X, clusters, batches, 3, 3)
    np.testing.assert_allclose(found.effects, effects, atol=1e-10)
    np.testing.assert_allclose(found.centers, centers, atol=1e-10)
    np.testing.assert_allclose(found.residual, 0, atol=1e-10)
    assert found.component.tolist() == [0, 0, 0]


def test_effects_do_not_follow_the_composition_of_batches(rng):
    clusters = np.repeat([0, 0, 1, 1], [90, 10, 10, 90])
    batches = np.repeat([0, 1, 0, 1], [90, 10, 10, 90])
    X = 10.0 * clusters[:, None] + np.where(batches, 1.0, -1.0)[:, None]
    found = two_way_means(X, clusters, batches, 2, 2)
    np.testing.assert_allclose(found.effects.ravel(), [-1, 1], atol=1e-10)


def test_batches_that_share_no_cluster_keep_their_difference():
    clusters = np.array([0, 0, 1, 1, 2, 2])
    batches = np.array([0, 1, 0, 1, 2, 2])
    X = np.array([[0.0], [2], [10], [12], [99], [99]])
    found = two_way_means(X, clusters, batches, 3, 3)
    assert found.component.tolist() == [0, 0, 1]
    np.testing.assert_allclose(found.effects.ravel(), [-1, 1, 0], atol=1e-10)


def test_clusters_that_are_batches_leave_no_effect():
    codes = np.repeat([0, 1], 5)
    found = two_way_means(10.0 * codes[:, None], codes, codes, 2, 2)
    assert found.component.tolist() == [0, 1]
    np.testing.assert_array_equal(found.effects, 0)


def test_batches_and_clusters_without_rows_are_zero(rng):
    X, clusters, batches, *_ = planted(rng)
    found = two_way_means(X, clusters, batches, 4, 5)
    assert found.component.tolist() == [0, 0, 0, -1, -1]
    np.testing.assert_array_equal(found.effects[3:], 0)
    np.testing.assert_array_equal(found.centers[3], 0)
    assert two_way_means(X[:0], clusters[:0], batches[:0], 2, 2).effects.shape == (2, 4)


def test_shrinking_leaves_little_of_noise_and_much_of_an_effect(rng):
    X, clusters, batches, *_ = planted(rng, n=60, d=200, noise=1.0)
    null = rng.normal(size=X.shape)
    plain = two_way_means(null, clusters, batches, 3, 3).effects
    shrunk = two_way_means(null, clusters, batches, 3, 3, shrink=True).effects
    # Positive part James-Stein in 200 dimensions: about sqrt(2 / 200) of it is left.
    assert (shrunk**2).sum() < 0.15 * (plain**2).sum()
    plain = two_way_means(X, clusters, batches, 3, 3).effects
    shrunk = two_way_means(X, clusters, batches, 3, 3, shrink=True).effects
    assert (shrunk**2).sum() > 0.8 * (plain**2).sum()


def test_a_constant_column_has_no_effect_and_disturbs_no_other(rng):
    X, clusters, batches, *_ = planted(rng, noise=1.0)
    alone = two_way_means(X, clusters, batches, 3, 3, shrink=True).effects
    found = two_way_means(
        np.column_stack([X, np.full(len(X), 7.0)]), clusters, batches, 3, 3, shrink=True
    ).effects
    np.testing.assert_allclose(found[:, :-1], alone, atol=1e-10)
    np.testing.assert_allclose(found[:, -1], 0, atol=1e-10)


def test_middles_do_not_move_with_the_sizes_of_clusters(rng):
    clusters = np.repeat([0, 0, 1, 1], [90, 10, 10, 90])
    batches = np.repeat([0, 1, 0, 1], [90, 10, 10, 90])
    X = 10.0 * clusters[:, None] + np.where(batches, 4.0, 0.0)[:, None]
    X = X + 0.1 * rng.normal(size=(200, 3))
    found = middle_effects(X, batches, 2, 3)
    np.testing.assert_allclose(found[1] - found[0], 4, atol=0.2)
    np.testing.assert_array_equal(found[2], 0)


def test_the_middle_of_a_small_batch_is_its_mean():
    X = np.array([[0.0], [0], [9], [5], [7]])
    found = middle_effects(X, np.array([0, 0, 0, 1, 1]), 2, 2)
    assert found[1, 0] - found[0, 0] == pytest.approx(3.0)


def test_mixed_rows_keep_the_covariance_and_lose_the_clusters(rng):
    n = 4000
    R = np.column_stack([rng.choice([-5.0, 5.0], n), rng.normal(size=n)])
    R[:, 1] += 0.5 * R[:, 0]
    starts = np.arange(0, n * 16 + 1, 16)
    drawn = (rng.choice([-1.0, 1.0], n * 16), rng.integers(n, size=n * 16), starts)
    found = mixed_rows(R, np.ones(n, bool), sp.csr_array(drawn, shape=(n, n)))
    np.testing.assert_allclose(found.T @ found / n, R.T @ R / n, rtol=0.15)
    # A Gaussian has 3 for its fourth moment, two clumps have 1.
    x = found[:, 0] / found[:, 0].std()
    assert np.mean(x**4) > 2.5
