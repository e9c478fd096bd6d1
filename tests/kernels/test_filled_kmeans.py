import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._filled_kmeans import filled_kmeans, lloyd_together
from imvc.kernels._kmeans import ArrayRows, assign, kmeans, lloyd
from imvc.metrics import adjusted_rand


def blobs(rng, n=90, k=3, p=4):
    y = np.arange(n) % k
    return 8 * np.eye(k, p)[y] + rng.standard_normal((n, p)), y


@given(
    st.integers(0, 10_000), st.integers(3, 30), st.integers(0, 20), st.integers(1, 40)
)
def test_starts_side_by_side_equal_plain_lloyd_on_filled_rows(seed, n, n_filled, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    k = min(k, n)
    mean = X.mean(axis=0)
    filled = np.vstack([X, np.tile(mean, (n_filled, 1))])
    first = np.stack([X[rng.choice(n, k, replace=False)] for _ in range(3)])
    together = lloyd_together(X, mean, n_filled, first, max_iter=100, tol=1e-4)
    for own, start in zip(together, first):
        alone, _ = lloyd(ArrayRows(filled), start, max_iter=100)
        np.testing.assert_allclose(own, alone, atol=1e-10)


@pytest.mark.parametrize("k", [3, 40])
def test_sparse_and_dense_rows_agree(k, rng):
    X = np.where(rng.random((80, 6)) < 0.5, rng.standard_normal((80, 6)), 0.0)
    mean = X.mean(axis=0)
    first = X[[rng.choice(80, k, replace=False) for _ in range(2)]]
    options = dict(max_iter=50, tol=1e-4)
    dense = lloyd_together(X, mean, 7, first, **options)
    sparse = lloyd_together(sp.csr_array(X), mean, 7, first, **options)
    np.testing.assert_allclose(sparse, dense, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_planted_clusters_are_found_beside_filled_rows(make, dtype, seed, rng):
    X, y = blobs(rng)
    X = make((X + 100 * (make is np.asarray)).astype(dtype))
    random_state = np.random.RandomState(seed)
    options = dict(n_init=20, rng=random_state)
    centers, labels, filled = filled_kmeans(X, 5, 3, **options)
    assert adjusted_rand(y, labels) == 1
    mean = np.asarray(X.mean(axis=0)).ravel()
    assert filled == np.square(centers - mean).sum(axis=1).argmin()


def test_few_rows_are_enough_for_the_starts(seed, rng):
    X, y = blobs(rng, n=3000)
    random_state = np.random.RandomState(seed)
    _, labels, _ = filled_kmeans(
        X, 1000, 3, n_init=20, rng=random_state, start_rows=200
    )
    assert adjusted_rand(y, labels) > 0.95


def test_without_filled_rows_it_is_as_good_as_kmeans(seed, rng):
    X = rng.standard_normal((120, 5))
    centers, _, _ = filled_kmeans(
        X, 0, 4, n_init=40, rng=np.random.RandomState(seed), tol=0.0
    )
    ours = assign(X, centers)[1].sum()
    theirs = kmeans(X, 4, n_init=40, random_state=seed).inertia
    assert ours < 1.02 * theirs  # both are the best of 40 local optima


def test_fewer_distinct_rows_than_clusters_stay_finite(seed):
    X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0)
    rng = np.random.RandomState(seed)
    centers, labels, filled = filled_kmeans(X, 4, 5, n_init=3, rng=rng)
    assert np.isfinite(centers).all()
    assert centers.shape == (5, 2)
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1
    assert 0 <= filled < 5


def test_a_view_of_one_row_beside_many_filled(seed):
    rng = np.random.RandomState(seed)
    centers, labels, filled = filled_kmeans(np.ones((1, 3)), 9, 4, n_init=2, rng=rng)
    np.testing.assert_allclose(centers, 1)
    assert labels[0] == filled
