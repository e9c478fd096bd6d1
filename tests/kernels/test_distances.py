import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels import _distances
from imvc.kernels._distances import block_slices, nearest_anchors, squared_distances


def brute_force(X, A):
    return np.array([[np.square(x - a).sum() for a in A] for x in X])


@given(st.integers(1, 40), st.integers(1, 20), st.integers(1, 6), st.integers(0, 99))
def test_distances_equal_their_definition(n, m, p, seed):
    rng = np.random.default_rng(seed)
    X, A = rng.standard_normal((n, p)) + 5, rng.standard_normal((m, p)) + 5
    np.testing.assert_allclose(squared_distances(X, A), brute_force(X, A), atol=1e-12)


def test_distances_are_never_negative():
    X = np.full((5, 3), 1e8, np.float32) + np.arange(5, dtype=np.float32)[:, None]
    assert (squared_distances(X, X[:2]) >= 0).all()


def test_a_large_common_offset_does_not_spoil_float32_distances(rng):
    X, A = rng.standard_normal((20, 4)), rng.standard_normal((5, 4))
    shifted = squared_distances((X + 1000).astype(np.float32), A + 1000)
    np.testing.assert_allclose(shifted, brute_force(X, A), atol=5e-3)


@pytest.mark.parametrize("k", [1, 3, 12, 13, 17])
@pytest.mark.parametrize("squared", [True, False])
def test_nearest_anchors_are_the_smallest_distances_in_order(
    k, squared, rng, monkeypatch
):
    monkeypatch.setattr(_distances, "_BLOCK_ENTRIES", 64)
    X, A = rng.standard_normal((70, 3)), rng.standard_normal((17, 3))
    indices, distances = nearest_anchors(X, A, k, squared=squared)
    D = brute_force(X, A)
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1)[:, :k])
    expected = np.sort(D, axis=1)[:, :k]
    np.testing.assert_allclose(
        distances, expected if squared else np.sqrt(expected), atol=1e-7
    )
    assert indices.dtype == np.int32


@pytest.mark.parametrize("k", [2, 15])
def test_of_equal_distances_the_lower_index_comes_first(k):
    A = np.zeros((15, 2))
    indices, _ = nearest_anchors(np.ones((3, 2)), A, k)
    np.testing.assert_array_equal(indices, np.tile(np.arange(k), (3, 1)))


def test_sparse_samples_give_the_same_neighbours(rng):
    X = rng.standard_normal((40, 10)) * (rng.random((40, 10)) < 0.3)
    A = rng.standard_normal((8, 10))
    for a, b in zip(nearest_anchors(sp.csr_array(X), A, 3), nearest_anchors(X, A, 3)):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_float32_stays_float32(rng):
    X = rng.standard_normal((5, 3)).astype(np.float32)
    assert nearest_anchors(X, rng.standard_normal((4, 3)), 2)[1].dtype == np.float32


def test_more_neighbours_than_anchors_is_an_error():
    with pytest.raises(ValueError, match=r"k=4 must lie between 1 and .* anchors, 3"):
        nearest_anchors(np.ones((2, 2)), np.eye(3, 2), 4)


@given(st.integers(0, 1000), st.integers(1, 500))
def test_blocks_cover_all_rows_once_and_are_bounded(n, width):
    blocks = block_slices(n, width, entries=2000)
    rows = np.concatenate([np.arange(n)[b] for b in blocks]) if blocks else []
    np.testing.assert_array_equal(rows, np.arange(n))
    assert all((b.stop - b.start) <= max(16, 2000 // width) for b in blocks)
