"""What a row gives must not depend on the block of rows it stands in, bit for bit."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from imvc.kernels import _distances
from imvc.kernels._anchor_graph import anchor_rows, knn_weights
from imvc.kernels._distances import nearest_anchors, squared_distances
from imvc.kernels._pca import centred_features, signed_root_rows

N = 1400  # more than one tile, and an odd rest
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
CUTS = st.lists(st.integers(0, N), min_size=1, max_size=6)


@pytest.fixture(autouse=True, scope="module")
def _one_blas_thread():
    """As the runners have it."""
    with threadpool_limits(1, user_api="blas"):
        yield


def pieces(cuts):
    ends = [0, *sorted(cuts), N]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def assert_same_in_pieces(function, X, cuts):
    whole, parts = function(X), [function(X[part]) for part in pieces(cuts)]
    if not isinstance(whole, tuple):
        whole, parts = (whole,), [(part,) for part in parts]
    for array, own in zip(whole, zip(*parts)):
        np.testing.assert_array_equal(np.concatenate(own), array)


def rows_and_anchors(seed, dtype, p, m):
    rng = np.random.default_rng(seed)
    X, A = rng.standard_normal((N, p)) + 3, rng.standard_normal((m, p)) + 3
    return X.astype(dtype), A.astype(dtype)


@DTYPES
@given(CUTS, st.integers(1, 70), st.integers(1, 130), st.booleans(), st.integers(0, 99))
def test_graph_rows_are_the_same_in_any_block(dtype, cuts, p, m, squared, seed):
    X, A = rows_and_anchors(seed, dtype, p, m)
    assert_same_in_pieces(lambda X: anchor_rows(X, A, 5, squared=squared)[:2], X, cuts)


@DTYPES
def test_graph_rows_of_single_samples_are_those_of_all(dtype, seed):
    X, A = rows_and_anchors(seed, dtype, 32, 100)
    assert_same_in_pieces(lambda X: anchor_rows(X, A, 10)[:2], X, range(1, 40))


@DTYPES
@given(CUTS, st.integers(0, 99))
def test_sparse_graph_rows_are_the_same_in_any_block(dtype, cuts, seed):
    X, A = rows_and_anchors(seed, dtype, 40, 60)
    X[np.random.default_rng(seed).random(X.shape) < 0.8] = 0
    assert_same_in_pieces(lambda X: anchor_rows(X, A, 5)[:2], sp.csr_array(X), cuts)


@DTYPES
@given(CUTS, st.integers(1, 40), st.integers(0, 99))
def test_distances_are_the_same_in_any_block(dtype, cuts, m, seed):
    X, A = rows_and_anchors(seed, dtype, 10, m)
    assert_same_in_pieces(lambda X: squared_distances(X, A), X, cuts)


@DTYPES
@pytest.mark.parametrize("sparse", [False, True])
@given(CUTS, st.integers(1, 40), st.integers(0, 99))
def test_features_are_the_same_in_any_block(dtype, sparse, cuts, r, seed):
    X, A = rows_and_anchors(seed, dtype, 60, r)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0
    mean = X.mean(axis=0)

    def features(X):
        return centred_features(signed_root_rows(X), mean, A.T)

    assert_same_in_pieces(features, sp.csr_array(X) if sparse else X, cuts)


@DTYPES
@given(CUTS, st.integers(1, 14), st.integers(0, 99))
def test_weights_are_the_same_in_any_block(dtype, cuts, k, seed):
    D = np.sort(np.random.default_rng(seed).random((N, k + 1)).astype(dtype), axis=1)
    assert_same_in_pieces(lambda D: knn_weights(D, k), D, cuts)


def test_rows_are_the_same_where_blas_treats_them_differently(monkeypatch, seed):
    monkeypatch.setattr(_distances, "_TRIED", set())
    monkeypatch.setattr(_distances, "_rows_alike", lambda *arrays: False)
    X, A = rows_and_anchors(seed, np.float32, 32, 100)
    assert_same_in_pieces(lambda X: anchor_rows(X, A, 5)[:2], X, [7, 600, 601])


@pytest.mark.parametrize("k", [1, 6, 12, 13])
def test_float32_neighbours_are_those_of_float64(k, seed):
    X, A = rows_and_anchors(seed, np.float32, 5, 90)
    indices, distances = nearest_anchors(X, A, k)
    exact = np.square(X[:, None].astype(float) - A).sum(axis=2)
    found = np.take_along_axis(exact, indices, axis=1)
    np.testing.assert_allclose(found, np.sort(exact, axis=1)[:, :k], atol=1e-5)
    np.testing.assert_allclose(distances, found, atol=1e-5)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()


@DTYPES
def test_of_equal_anchors_the_first_is_nearest(dtype, rng):
    # Small integers around zero: every step is exact, so that ties are ties.
    half = rng.integers(-9, 10, (25, 6))
    A = np.vstack([half, -half]).astype(dtype)
    X = rng.integers(-9, 10, (N, 6)).astype(dtype)
    indices, distances = nearest_anchors(X, np.vstack([A, A]), 6)
    D = np.square(X[:, None] - np.vstack([A, A])).sum(axis=2)
    expected = np.argsort(D, axis=1, kind="stable")[:, :6]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(distances, np.take_along_axis(D, expected, axis=1))
