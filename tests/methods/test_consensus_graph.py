"""The alternation on observed rows against the paper's, written out on all samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from imvc.datasets import random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._factor import graph_sums, squared_norm, squared_residuals
from imvc.methods._consensus_graph import solve, update_A, update_W, update_Z
from imvc.methods._iterations import Iterations


def simplex_rows(rng, n, m):
    return rng.dirichlet(np.ones(m), size=n)


def problem(seed, n=40, dims=(7, 5, 6), m=3):
    """Unit rows of what is observed, which rows these are, and a start."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    mask = random_mask(n, len(dims), 0.5, random_state=seed)
    rows = [np.flatnonzero(seen) for seen in mask.T]
    full = [
        rng.standard_normal((n, d)) + 2 * rng.standard_normal((m, d))[y] for d in dims
    ]
    X = [unit_rows(X_v[rows_v]) for X_v, rows_v in zip(full, rows)]
    return X, rows, simplex_rows(rng, n, m)


def nearest_on_simplex(f):
    """The textbook projection of one vector, by sorting."""
    u = np.sort(f)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    rho = np.flatnonzero(u > excess)[-1]
    return np.maximum(f - excess[rho], 0)


def procrustes(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def plain_alternation(X, rows, Z, d, ridge, power, n_iter):
    """The paper's layout: samples in columns, zeros where missing, loops over all."""
    n, V = len(Z), len(X)
    h = np.zeros((V, n))
    full = []
    for v in range(V):
        h[v, rows[v]] = 1
        full.append(np.zeros((X[v].shape[1], n)))
        full[v][:, rows[v]] = X[v].T
    Z, A, alpha, history = Z.T, None, np.full(V, 1 / V), []
    W = [np.eye(X_v.shape[0], d) for X_v in full]
    for t in range(n_iter):
        if t:
            W = [procrustes(full[v] @ Z.T @ A.T) for v in range(V)]
        A = procrustes(sum(alpha[v] ** 2 * W[v].T @ full[v] @ Z.T for v in range(V)))
        Z = np.empty_like(Z)
        for j in range(n):
            E = sum(alpha[v] ** 2 * A.T @ W[v].T @ full[v][:, j] for v in range(V))
            Z[:, j] = nearest_on_simplex(E / (ridge + alpha**2 @ h[:, j]))
        fits = [W[v] @ A @ Z * h[v] for v in range(V)]
        r = np.array([np.linalg.norm(full[v] - fits[v]) ** 2 for v in range(V)])
        alpha = r**-power / (r**-power).sum()
        history.append(alpha**2 @ r + ridge * np.linalg.norm(Z) ** 2)
    return Z.T, alpha, history


@pytest.mark.parametrize("ridge", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("dims", [(7, 5, 6), (2, 9), (1, 4, 4, 6)])
@pytest.mark.parametrize("m", [3, 6])
def test_alternation_equals_the_plain_one(ridge, power, dims, m):
    X, rows, Z = problem(0, dims=dims, m=m)
    steps = Iterations(4, 0.0)
    found_Z, alpha = solve(X, rows, Z, 3, steps, ridge=ridge, power=power)
    expected = plain_alternation(X, rows, Z, 3, ridge, power, 4)
    np.testing.assert_allclose(steps.objective, expected[2], rtol=1e-9)
    np.testing.assert_allclose(found_Z, expected[0], atol=1e-8)
    np.testing.assert_allclose(alpha, expected[1], atol=1e-9)


@given(st.integers(0, 99), st.sampled_from([0.0, 0.1, 1.0]))
def test_with_exact_weights_the_objective_never_rises(seed, ridge):
    X, rows, Z = problem(seed)
    steps = Iterations(51, 0.0)
    solve(X, rows, Z, 3, steps, ridge=ridge, power=1.0)
    history = steps.objective
    assert np.all(np.diff(history) <= 1e-12 * history[0])


def test_sparse_rows_give_what_dense_rows_give():
    X, rows, Z = problem(1)
    rule = rows, Z, 3
    dense, _ = solve(X, *rule, Iterations(51, 1e-3))
    sparse, _ = solve([sp.csr_array(X_v) for X_v in X], *rule, Iterations(51, 1e-3))
    np.testing.assert_allclose(sparse, dense, atol=1e-10)


def test_single_precision_agrees_with_double(seed):
    X, rows, Z = problem(seed)
    double, single = Iterations(5, 1e-3), Iterations(5, 1e-3)
    solve(X, rows, Z, 3, double)
    solve([X_v.astype("f4") for X_v in X], rows, Z, 3, single)
    np.testing.assert_allclose(single.objective, double.objective, rtol=1e-4)


def test_samples_may_come_in_any_order(rng, seed):
    X, rows, Z = problem(seed)
    order = rng.permutation(len(Z))
    place = np.argsort(order)
    moved_rows = [np.sort(place[rows_v]) for rows_v in rows]
    moved = [
        X_v[np.searchsorted(rows_v, order[now])]
        for X_v, rows_v, now in zip(X, rows, moved_rows)
    ]
    here, _ = solve(X, rows, Z, 3, Iterations(5, 1e-3))
    there, _ = solve(moved, moved_rows, Z[order], 3, Iterations(5, 1e-3))
    np.testing.assert_allclose(there, here[order], atol=1e-9)


def test_maps_and_anchors_are_the_best_orthonormal_ones(rng):
    X, rows, Z = problem(0)
    G = [graph_sums(X_v, Z[rows_v]) for X_v, rows_v in zip(X, rows)]
    A = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    W = update_W(G[0], A)
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)
    alpha, maps = np.array([0.5, 0.2, 0.3]), [update_W(G_v, A) for G_v in G]
    B = sum(a**2 * W_v.T @ G_v for a, W_v, G_v in zip(alpha, maps, G))
    best = update_A(G, maps, alpha)
    for _ in range(50):
        other = np.linalg.qr(rng.standard_normal(W.shape))[0]
        assert np.vdot(other, G[0] @ A.T) <= np.vdot(W, G[0] @ A.T)
        other = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        assert np.vdot(other, B) <= np.vdot(best, B)


def test_graph_rows_minimise_the_objective_among_simplex_rows(rng):
    X, rows, Z = problem(0)
    alpha, ridge = np.array([0.5, 0.2, 0.3]), 0.1
    P = [np.linalg.qr(rng.standard_normal((X_v.shape[1], 3)))[0] for X_v in X]
    XP = [X_v @ P_v for X_v, P_v in zip(X, P)]

    def value(Z):
        fits = [X_v - Z[r] @ P_v.T for X_v, P_v, r in zip(X, P, rows)]
        squares = np.array([np.linalg.norm(fit) ** 2 for fit in fits])
        return alpha**2 @ squares + ridge * np.linalg.norm(Z) ** 2

    best = update_Z(XP, rows, alpha, ridge, len(Z))
    for step in (1.0, 0.1, 1e-3):
        other = (1 - step) * best + step * simplex_rows(rng, len(Z), 3)
        assert value(best) <= value(other)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 4), st.integers(0, 99))
def test_residuals_equal_those_that_are_formed(n, d, m, seed):
    rng = np.random.default_rng(seed)
    X, P, Z = rng.random((n, d)), rng.random((d, m)), simplex_rows(rng, n, m)
    found = squared_residuals([squared_norm(X)], [X @ P], [P], [Z])
    assert found[0] == pytest.approx(np.linalg.norm(X - Z @ P.T) ** 2, abs=1e-9)


def test_an_exact_fit_keeps_a_positive_residual(rng):
    P, Z = rng.random((5, 2)), simplex_rows(rng, 30, 2)
    X = Z @ P.T
    assert squared_residuals([squared_norm(X)], [X @ P], [P], [Z])[0] > 0
