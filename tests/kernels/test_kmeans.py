import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from imvc.kernels import _kmeans
from imvc.kernels._kmeans import ArrayRows, assign, kmeans, kmeans_statistics, lloyd
from imvc.scale import threaded_map


def inertia(X, labels):
    return sum(
        np.square(X[labels == k] - X[labels == k].mean(axis=0)).sum()
        for k in np.unique(labels)
    )


def test_the_best_partition_of_a_few_points_is_found(rng):
    X = rng.standard_normal((7, 2))
    result = kmeans(X, 2, n_init=20, random_state=0)
    partitions = itertools.product([0, 1], repeat=6)
    best = min(inertia(X, np.array((0, *rest))) for rest in partitions)
    assert inertia(X, result.labels) == pytest.approx(best)
    assert result.inertia == pytest.approx(best)


def test_the_result_is_as_good_as_scikit_learns(rng):
    X = rng.standard_normal((400, 5)) + 3 * rng.integers(0, 4, (400, 1))
    ours = kmeans(X, 6, n_init=10, random_state=0)
    theirs = KMeans(6, n_init=10, random_state=0).fit(X)
    assert ours.inertia <= 1.02 * theirs.inertia_


def test_labels_are_the_nearest_returned_centres(rng):
    X = rng.standard_normal((300, 3))
    result = kmeans(X, 5, n_init=2, random_state=0)
    np.testing.assert_array_equal(assign(X, result.centers)[0], result.labels)


def test_starts_on_a_sample_find_the_same_clusters(rng):
    y = rng.integers(0, 4, 2000)
    X = 10 * np.eye(4)[y] + rng.standard_normal((2000, 4))
    whole = kmeans(X, 4, n_init=5, random_state=0)
    sampled = kmeans(X, 4, n_init=5, random_state=0, start_rows=100)
    assert sampled.inertia == pytest.approx(whole.inertia)


def test_threads_and_blocks_do_not_change_labels(rng, monkeypatch):
    X = rng.standard_normal((500, 3))
    expected = kmeans(X, 4, n_init=3, random_state=1, start_rows=200)
    with threaded_map(3) as map:
        threaded = kmeans(X, 4, n_init=3, random_state=1, start_rows=200, map=map)
    np.testing.assert_array_equal(threaded.labels, expected.labels)
    np.testing.assert_array_equal(threaded.centers, expected.centers)
    monkeypatch.setattr(_kmeans, "_BLOCK_ROWS", 37)
    blocked = kmeans(X, 4, n_init=3, random_state=1, start_rows=200)
    np.testing.assert_array_equal(blocked.labels, expected.labels)


def test_sparse_rows_give_the_same_clusters(rng):
    X = rng.standard_normal((200, 20)) * (rng.random((200, 20)) < 0.2)
    dense = kmeans(X, 3, n_init=3, random_state=0)
    sparse = kmeans(sp.csr_array(X), 3, n_init=3, random_state=0)
    assert sparse.inertia == pytest.approx(dense.inertia, rel=1e-6)


def test_statistics_of_blocks_add_up(rng):
    X, centers = rng.standard_normal((50, 3)), rng.standard_normal((4, 3))
    whole = kmeans_statistics(X, centers)
    parts = [
        kmeans_statistics(X[rows], centers) for rows in (slice(0, 17), slice(17, 50))
    ]
    for total, one, two in zip(whole, *parts):
        np.testing.assert_allclose(one + two, total)


def test_a_common_offset_does_not_spoil_float32_clusters(rng):
    y = np.arange(400) % 4
    X = 6 * np.eye(4)[y] + rng.standard_normal((400, 4))
    plain = kmeans(X, 4, n_init=5, random_state=0)
    shifted = kmeans((X + 3000).astype(np.float32), 4, n_init=5, random_state=0)
    assert inertia(X, shifted.labels) < 1.001 * inertia(X, plain.labels)


def test_a_cluster_that_runs_empty_restarts_at_the_farthest_row():
    X = np.array([[0.0], [0.1], [0.2], [9.0]])
    centers, _ = lloyd(ArrayRows(X), np.array([[0.1], [500.0]]), max_iter=10)
    np.testing.assert_allclose(np.sort(centers.ravel()), [0.1, 9.0])


def test_fewer_distinct_rows_than_clusters_gives_finite_labels():
    result = kmeans(np.ones((10, 2)), 3, n_init=2, random_state=0)
    assert np.isfinite(result.centers).all()
    assert result.inertia == 0


def test_one_cluster_is_the_mean(rng):
    X = rng.standard_normal((30, 2))
    result = kmeans(X, 1, n_init=1, random_state=0)
    np.testing.assert_allclose(result.centers[0], X.mean(axis=0))
