import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels import _laplacian
from imvc.kernels._laplacian import (
    embed_graph,
    knn_graph,
    laplacian,
    largest_eigenvectors,
    mean_distance,
    nearest_neighbors,
    normalized_adjacency,
    smallest_eigenvectors,
)


def distances(X):
    return np.linalg.norm(X[:, None] - X[None], axis=2)


def slow_graph(X, k, bandwidth=None):
    n, D = len(X), distances(X)
    W = np.zeros((n, n))
    for i in range(n):
        others = [j for j in np.argsort(D[i], kind="stable") if j != i][:k]
        for j in others:
            heat = 1.0
            if bandwidth is not None:
                heat = np.exp(-(D[i, j] ** 2) / (2 * bandwidth**2))
            W[i, j] = W[j, i] = heat
    return W


@given(st.integers(1, 15), st.integers(1, 20), st.booleans(), st.integers(0, 99))
def test_graph_equals_a_double_loop(n, k, heat, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    t = distances(X).mean() if heat and n > 1 else None
    for rows in (X, sp.csr_matrix(X)):
        W = knn_graph(rows, k, bandwidth=t)
        np.testing.assert_allclose(W.toarray(), slow_graph(X, k, t), atol=1e-10)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_duplicates_have_k_neighbours_and_none_is_itself(k):
    X = np.zeros((20, 2))
    indices, D = nearest_neighbors(X, k)
    assert indices.shape == (20, k)
    assert (indices != np.arange(20)[:, None]).all()
    assert not D.any()
    W = knn_graph(X, k, bandwidth=0.0)
    assert not W.diagonal().any()
    assert set(W.data) == {1.0}


@given(st.integers(1, 30), st.integers(0, 99))
def test_mean_distance_counts_all_ordered_pairs(n, seed):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    assert mean_distance(X) == pytest.approx(distances(X).mean())
    assert mean_distance(sp.csr_matrix(X)) == pytest.approx(distances(X).mean())


def test_mean_distance_of_a_sample_is_near_that_of_all(rng):
    X = rng.standard_normal((900, 2))
    assert mean_distance(X, rng, max_rows=300) == pytest.approx(
        mean_distance(X),
        rel=0.15,  # the mean of 300 rows varies by 1/sqrt(300), 6 %
    )


def test_an_embedded_graph_is_zero_outside_its_rows(rng):
    W, rows = rng.random((3, 3)), np.array([4, 0, 2])
    found = embed_graph(sp.csr_matrix(W), rows, 6).toarray()
    np.testing.assert_array_equal(found[np.ix_(rows, rows)], W)
    assert found.sum() == pytest.approx(W.sum())


@given(st.integers(1, 12), st.integers(0, 99))
def test_laplacian_is_the_quadratic_form_of_differences(n, seed):
    rng = np.random.default_rng(seed)
    W, f = rng.random((n, n)), rng.standard_normal(n)
    W += W.T
    expected = (W * (f[:, None] - f) ** 2).sum() / 2
    kept = W.copy()
    for L in (laplacian(W), laplacian(sp.csr_matrix(W))):
        assert f @ (L @ f) == pytest.approx(expected)
    np.testing.assert_array_equal(W, kept)


def test_normalised_adjacency_has_largest_eigenvalue_one(rng):
    W = rng.random((8, 8))
    N = normalized_adjacency(W)
    S, kept = (W + W.T) / 2, W.copy()
    np.testing.assert_allclose(N, S / np.sqrt(np.outer(S.sum(0), S.sum(0))))
    assert np.linalg.eigvalsh(N)[-1] == pytest.approx(1)
    sparse = normalized_adjacency(sp.csr_matrix(W))
    np.testing.assert_allclose(sparse.toarray(), N)
    np.testing.assert_array_equal(W, kept)


def test_samples_without_positive_degree_are_isolated():
    W = np.array([[0, 1, 0, 0.0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, -1]])
    for N in (
        normalized_adjacency(W),
        normalized_adjacency(sp.csr_matrix(W)).toarray(),
    ):
        assert np.isfinite(N).all()
        assert not N[2:].any()


@pytest.fixture
def lanczos(monkeypatch):
    monkeypatch.setattr(_laplacian, "_DENSE_SIZE", 20)


def test_sparse_and_dense_solvers_agree(lanczos, rng):
    L = laplacian(knn_graph(rng.standard_normal((120, 2)), 4, bandwidth=1.0))
    values = np.linalg.eigvalsh(L.toarray())
    for matrix in (L, L.toarray()):
        found, F = smallest_eigenvectors(matrix, 4)
        np.testing.assert_allclose(found, values[:4], atol=1e-10)
        np.testing.assert_allclose(F.T @ F, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(L @ F, F * found, atol=1e-9)


def test_all_components_of_a_graph_are_found_by_lanczos(lanczos):
    X = (
        np.repeat([[0.0], [100], [200]], 20, axis=0)
        + np.tile(np.arange(20), 3)[:, None]
    )
    L = laplacian(knn_graph(X, 3))
    values, F = smallest_eigenvectors(L, 4)
    np.testing.assert_allclose(values[:3], 0, atol=1e-10)
    assert values[3] > 1e-3
    spread = [np.ptp(F[20 * i : 20 * i + 20, :3], axis=0).max() for i in range(3)]
    np.testing.assert_allclose(spread, 0, atol=1e-8)


@pytest.mark.parametrize("by", ["algebraic", "magnitude"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_largest_eigenvectors_are_sorted_and_exact(lanczos, by, form, rng):
    M = rng.standard_normal((50, 50))
    S = M + M.T
    values, F = largest_eigenvectors(form(S), 5, by=by)
    all_values = np.linalg.eigvalsh(S)
    key = all_values if by == "algebraic" else np.abs(all_values)
    np.testing.assert_allclose(values, all_values[np.argsort(-key)[:5]], atol=1e-8)
    np.testing.assert_allclose(S @ F, F * values, atol=1e-7)
    assert (F[np.abs(F).argmax(axis=0), range(5)] > 0).all()


def test_the_same_matrix_gives_the_same_vectors(lanczos, rng):
    L = laplacian(knn_graph(rng.standard_normal((80, 3)), 5))
    first, second = smallest_eigenvectors(L, 3)[1], smallest_eigenvectors(L, 3)[1]
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_a_graph_without_edges_gives_zero_values(lanczos, n):
    for form in (np.asarray, sp.csr_matrix):
        values, F = smallest_eigenvectors(form(np.zeros((n, n))), 1)
        np.testing.assert_allclose(values, 0, atol=1e-12)
        assert np.linalg.norm(F) == pytest.approx(1)


def test_too_many_eigenvectors_are_refused():
    with pytest.raises(ValueError, match="c=4"):
        smallest_eigenvectors(np.eye(3), 4)
    with pytest.raises(ValueError, match="by='size'"):
        largest_eigenvectors(np.eye(3), 1, by="size")
