import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._laplacian import knn_graph, laplacian
from imvc.kernels._spd import conjugate_gradients, spd_inverse, spd_solver


def graph_system(n, beta, seed):
    """N + beta L of a neighbour graph, N between 1 and 3."""
    rng = np.random.default_rng(seed)
    L = laplacian(knn_graph(rng.standard_normal((n, 2)), 3))
    return (beta * L + sp.diags(rng.integers(1, 4, n).astype(float))).tocsr()


@given(
    st.integers(1, 60),
    st.integers(1, 5),
    st.sampled_from([0, 0.1, 1, 1e4]),
    st.integers(0, 99),
)
def test_both_ways_equal_a_dense_inverse(n, c, beta, seed):
    K = graph_system(n, beta, seed)
    B = np.random.default_rng(seed).standard_normal((n, c))
    expected = np.linalg.inv(K.toarray()) @ B
    for size in (0, 1000):
        found = spd_solver(K, dense_size=size)(B)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def test_columns_of_any_size_are_solved_to_their_own_precision(rng):
    K = graph_system(200, 1.0, 0)
    B = rng.standard_normal((200, 4)) * [1, 1e-9, 0, 1e12]
    X = conjugate_gradients(K, B)
    residual = np.linalg.norm(K @ X - B, axis=0)
    assert (residual <= 1e-9 * np.linalg.norm(B, axis=0)).all()
    assert not X[:, 2].any()


def test_a_near_start_saves_steps_and_the_solution_is_returned_as_it_is(rng):
    K = graph_system(300, 10.0, 0)
    B = rng.standard_normal((300, 3))
    X = conjugate_gradients(K, B, tol=1e-12)
    near = X + 1e-6 * rng.standard_normal(X.shape)

    def error(start):
        short = conjugate_gradients(K, B, start, max_iter=5)
        return np.abs(short - X).max()

    assert error(near) < 1e-3 * error(None)
    np.testing.assert_array_equal(conjugate_gradients(K, B, X, tol=1e-10), X)
    kept = near.copy()
    conjugate_gradients(K, B, near)
    np.testing.assert_array_equal(near, kept)


def test_a_start_for_a_vanishing_right_hand_side_is_forgotten(rng):
    K = graph_system(30, 1.0, 0)
    X = conjugate_gradients(K, np.zeros((30, 2)), rng.standard_normal((30, 2)))
    assert not X.any()


def test_an_iteration_cut_short_has_come_nearer(rng):
    K = graph_system(400, 1e3, 0)
    B = rng.standard_normal((400, 1))
    exact = np.linalg.solve(K.toarray(), B)
    errors = []
    for steps in (0, 5, 20, 80):
        gap = conjugate_gradients(K, B, max_iter=steps) - exact
        errors.append((gap.T @ (K @ gap)).item())
    assert (np.diff(errors) < 0).all()


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite|potrf"):
        spd_solver(sp.diags([1.0, -1.0]))


@given(st.integers(1, 150), st.sampled_from([1e-3, 1.0, 1e3]), st.integers(0, 99))
def test_dense_inverse_is_symmetric_and_inverts(n, ridge, seed):
    X = np.random.default_rng(seed).standard_normal((n, n // 2 + 1))
    G = X @ X.T / n + ridge * np.eye(n)
    found = spd_inverse(G.copy())
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, np.linalg.inv(G), rtol=1e-9, atol=1e-9 / ridge)


def test_dense_inverse_refuses_what_is_not_positive_definite():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        spd_inverse(np.diag([1.0, -1.0]))
