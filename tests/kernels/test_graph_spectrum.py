import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from imvc.kernels import _laplacian
from imvc.kernels._laplacian import graph_spectrum, knn_graph, laplacian


def clustered_graph(rng, sizes, *, apart):
    """kNN graph of Gaussian clusters; far apart, every cluster is its own part."""
    centres = apart * np.arange(len(sizes))
    X = [rng.standard_normal((size, 4)) + at for size, at in zip(sizes, centres)]
    return knn_graph(np.vstack(X), 6, bandwidth=2.0)


@pytest.mark.parametrize("apart", [1.5, 100.0], ids=["one part", "three parts"])
@pytest.mark.parametrize("c", [1, 3, 5, 12])
def test_it_agrees_with_lapack(rng, c, apart):
    W = clustered_graph(rng, [150, 120, 130], apart=apart)
    values, vectors = graph_spectrum(W, c)
    L = laplacian(W.toarray())
    np.testing.assert_allclose(values, scipy.linalg.eigvalsh(L)[:c], atol=1e-10)
    np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-7)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(c), atol=1e-10)


def test_more_parts_than_asked_for_give_the_largest(rng):
    W = clustered_graph(rng, [60, 200, 100, 180], apart=100.0)
    values, vectors = graph_spectrum(W, 2)
    np.testing.assert_array_equal(values, 0)
    assert np.flatnonzero(vectors[:, 0]).tolist() == list(range(60, 260))
    assert np.flatnonzero(vectors[:, 1]).tolist() == list(range(360, 540))


def test_samples_without_edges_are_parts_of_their_own(rng):
    W = sp.block_diag(
        [clustered_graph(rng, [400], apart=0), sp.csr_matrix((2, 2))], "csr"
    )
    values, vectors = graph_spectrum(W, 4)
    np.testing.assert_allclose(values[:3], 0, atol=1e-12)
    assert values[3] > 1e-3
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)


def test_a_spectrum_too_hard_for_lanczos_goes_to_the_general_solver(monkeypatch):
    monkeypatch.setattr(_laplacian, "_RESTARTS", 1)
    path = sp.diags([np.ones(399)] * 2, [-1, 1], format="csr")
    expected = 2 - 2 * np.cos(np.pi * np.arange(4) / 400)
    np.testing.assert_allclose(graph_spectrum(path, 4)[0], expected, atol=1e-10)


def test_a_dense_graph_and_a_graph_without_edges_are_served():
    complete = sp.csr_matrix(np.ones((350, 350)) - np.eye(350))
    values, _ = graph_spectrum(complete, 3)
    np.testing.assert_allclose(values, [0, 350, 350], atol=1e-10)
    values, vectors = graph_spectrum(sp.csr_matrix((400, 400)), 3)
    np.testing.assert_array_equal(values, 0)
    np.testing.assert_array_equal(vectors.T @ vectors, np.eye(3))
