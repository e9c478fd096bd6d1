"""Eigenpairs that lie apart, by blocks: the same as LAPACK's, or None."""

import numpy as np
import pytest

from imvc.kernels._block_krylov import separated_eigenvectors
from imvc.kernels._laplacian import laplacian


def matrix_of(values, seed):
    """A random symmetric matrix with these eigenvalues."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


def apart(n, low, seed):
    """Eigenvalues ``low`` and n - len(low) more between 1 and 1.2."""
    rest = np.random.default_rng(seed).uniform(1.0, 1.2, n - len(low))
    return np.concatenate([low, rest])


@pytest.mark.parametrize(
    "low",
    [[0.0, 0.5, 0.6], [0.0], [0.0, 0.0, 0.0, 0.5], [-3.0, -1.0, 0.8]],
    ids=["apart", "one", "repeated", "negative"],
)
def test_the_eigenpairs_are_those_of_lapack(low, seed):
    S = matrix_of(apart(400, low, seed), seed)
    values, vectors = separated_eigenvectors(S, len(low))
    expected, Q = np.linalg.eigh(S)
    np.testing.assert_allclose(values, expected[: len(low)], atol=1e-13)
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(low)), atol=1e-13)
    inside = Q[:, : len(low)]
    np.testing.assert_allclose(vectors @ vectors.T, inside @ inside.T, atol=1e-12)


def test_parts_of_a_graph_are_found_though_their_eigenvalue_repeats():
    """Four parts of the same kind: each step reaches the whole space of a block."""
    W = np.kron(np.eye(4), np.ones((100, 100)))
    values, vectors = separated_eigenvectors(laplacian(W) / 100, 4)
    np.testing.assert_allclose(values, 0, atol=1e-14)
    same_part = vectors @ vectors.T
    np.testing.assert_allclose(same_part, W / 100, atol=1e-13)


def test_eigenvalues_without_a_gap_are_left_to_lapack(seed):
    """A random symmetric matrix: its spectrum ends in a crowd."""
    W = np.random.default_rng(seed).random((400, 400))
    assert separated_eigenvectors(laplacian(W + W.T), 4) is None


@pytest.mark.parametrize(("n", "c"), [(100, 2), (400, 40)])
def test_small_matrices_and_many_vectors_are_left_to_lapack(n, c):
    assert separated_eigenvectors(np.eye(n), c) is None


def test_the_result_is_a_function_of_the_matrix_alone(seed):
    S = matrix_of(apart(400, [0.0, 0.4], seed), seed)
    first, second = (separated_eigenvectors(S, 2)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)
