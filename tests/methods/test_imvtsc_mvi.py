import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from imvc import as_views
from imvc.datasets import make_views
from imvc.kernels._laplacian import largest_eigenvectors, normalized_adjacency
from imvc.methods import _cost, imvtsc_mvi
from imvc.methods._base import padded_unit_rows
from imvc.methods._iterations import Iterations
from imvc.methods.imvtsc_mvi import (
    IMVTSCMVI,
    View,
    initial_graphs,
    solve,
    update_T,
)
from imvc.metrics import adjusted_rand


def small_views(reference_data):
    case = np.load(reference_data / "small_case.npz")
    return as_views([case[f"X{v}"] for v in range(3)], case["mask"])


def padded(views):
    return [padded_unit_rows(views, v) for v in range(views.n_views)]


def up_to_sign(a, b):
    return min(np.abs(a - b).max(), np.abs(a + b).max())


def test_the_authors_program_is_reproduced(reference_data):
    views = small_views(reference_data)
    expected = np.load(reference_data / "imvtsc_mvi/small_lambda_0.005.npz")
    Z = initial_graphs(padded(views), views, 11)
    for v in range(3):
        packed = np.packbits(Z[v].astype(bool), axis=1)
        np.testing.assert_array_equal(packed, expected[f"Z_init_{v}"])
    steps = Iterations(120, 1e-6)
    E = solve(padded(views), views.mask, Z, (1e-5, 0.005, 0.005), steps)
    assert steps.converged
    np.testing.assert_allclose(steps.objective, expected["residual"], atol=1e-10)
    for v in range(3):
        np.testing.assert_allclose(Z[v][::10], expected[f"Z_{v}"], atol=1e-10)
        np.testing.assert_allclose(E[v].T, expected[f"E_{v}"], atol=1e-10)
    values, F = largest_eigenvectors(
        normalized_adjacency(Z.mean(axis=0)), 3, by="magnitude"
    )
    np.testing.assert_allclose(values, expected["eigenvalues"], atol=1e-10)
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    for j in range(3):
        assert up_to_sign(F[:, j], expected["embedding"][:, j]) < 1e-8


def test_the_estimator_walks_the_same_way_with_another_penalty(reference_data):
    views = small_views(reference_data)
    expected = np.load(reference_data / "imvtsc_mvi/small_lambda_0.01.npz")
    model = IMVTSCMVI(3, shuffle=False, random_state=0).fit(views)
    np.testing.assert_allclose(model.objective_, expected["residual"], atol=1e-10)
    np.testing.assert_allclose(model.eigenvalues_, expected["eigenvalues"], atol=1e-10)


def simplex_row(t, i):
    others = np.delete(np.arange(t.size), i)
    s = np.sort(t[others])[::-1]
    theta = (np.cumsum(s) - 1) / np.arange(1, s.size + 1)
    row = np.zeros(t.size)
    row[others] = np.maximum(t[others] - theta[np.flatnonzero(s > theta)[-1]], 0)
    return row


def shrink_slices(M, tau, repeat_last):
    """n x l slices of the full spectrum, the last of an odd length once or twice."""
    F, n = np.fft.fft(M, axis=2), M.shape[2]
    for f in range(n):
        U, s, Vh = np.linalg.svd(F[:, :, f].T, full_matrices=False)
        twice = repeat_last and n % 2 and f in (n // 2, n // 2 + 1)
        F[:, :, f] = ((U * np.maximum(s - (2 if twice else 1) * tau, 0)) @ Vh).T
    return np.fft.ifft(F, axis=2).real


def oracle(X, mask, Z, lambdas, n_steps, repeat_last):
    """The iteration as the paper writes it: plain multipliers, columns are samples."""
    l1, l2, l3 = lambdas
    l, n = len(X), len(mask)
    X = [x.T for x in X]
    Y, B, C = list(X), [0 * x for x in X], [0 * x for x in X]
    P, A, E, mu = Z.copy(), 0 * Z, [None] * l, 0.01
    for _ in range(n_steps):
        old, Z = Z, np.empty_like(Z)
        for v in range(l):
            a = 2 * l3 * ((l - 1) / l) ** 2 + mu
            rhs = 2 * l3 * (l - 1) / l**2 * (old.sum(axis=0) - old[v])
            rhs = rhs + mu * P[v] - A[v] + Y[v].T @ (mu * (Y[v] - B[v]) + C[v])
            T = np.linalg.solve(a * np.eye(n) + mu * Y[v].T @ Y[v], rhs)
            Z[v] = [simplex_row(T[i], i) for i in range(n)]
        P = shrink_slices(Z + A / mu, 1 / mu, repeat_last)
        for v in range(l):
            gone = ~mask[:, v]
            R = (np.eye(n) - Z[v])[gone]
            left = (mu * (X[v] @ Z[v] - X[v] + B[v]) - C[v]) @ R.T
            G = 2 * l1 * np.eye(gone.sum()) + mu * R @ R.T
            E[v] = np.linalg.solve(G, left.T).T
            Y[v] = X[v].copy()
            Y[v][:, gone] = E[v]
            K = Y[v] - Y[v] @ Z[v]
            W = K + C[v] / mu
            B[v] = np.sign(W) * np.maximum(np.abs(W) - l2 / mu, 0)
            A[v] = A[v] + mu * (Z[v] - P[v])
            C[v] = C[v] + mu * (K - B[v])
        mu *= 1.2
    return Z, E


@pytest.mark.parametrize("n", [30, 31])
@pytest.mark.parametrize("repeat_last", [False, True])
def test_updates_equal_the_slow_oracle(n, repeat_last, seed):
    # One view has more features than samples, one is complete.
    data = make_views(n, (5, 40, 8), 3, incomplete=0.5, random_state=seed)
    mask = data.mask.copy()
    mask[:, 2] = True
    views = as_views(data.Xs, mask)
    start, lambdas = initial_graphs(padded(views), views, 5), (1e-3, 0.02, 0.03)
    Z, E = oracle(padded(views), mask, start, lambdas, 25, repeat_last)
    rule = lambdas, Iterations(25, 1e-6)
    found = solve(padded(views), mask, start, *rule, repeat_last=repeat_last)
    np.testing.assert_allclose(start, Z, atol=1e-9)
    for v in range(3):
        np.testing.assert_allclose(found[v].T, E[v], atol=1e-8)


@pytest.mark.parametrize("share", [0.02, 1.0])
@pytest.mark.parametrize("d", [20, 60, 90])
def test_ridge_solution_does_not_depend_on_the_route(d, share, rng):
    n, a, mu = 60, 3.0, 2.0
    X, W, Q = (rng.standard_normal((n, k)) for k in (d, d, n))
    seen = np.arange(n) % 3 > 0
    X *= (rng.random((n, d)) < share) & seen[:, None]
    view = View(X, seen)
    view.E = rng.standard_normal((20, d))
    view.Y[~seen] = view.E
    assert (view.sparse, view.narrow) == (share < 1, d == 20)
    Y = view.Y
    expected = np.linalg.solve(a * np.eye(n) + mu * Y @ Y.T, Q + mu * Y @ W.T)
    found, view.D = Q / a, W - Y
    view.prepare_T(mu / a)
    for s in (slice(0, 25), slice(25, 60)):
        update_T(found, view, s)
    assert (found.diagonal() == -np.inf).all()
    np.fill_diagonal(found, expected.diagonal())
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_cuts_and_threads_change_nothing(monkeypatch):
    # Parts of 7 samples and features in place of whole views, on three threads.
    data = make_views(50, (8, 90, 12), 3, incomplete=0.5, random_state=0)
    whole = IMVTSCMVI(3, n_jobs=1, random_state=0).fit(data.Xs, mask=data.mask)
    monkeypatch.setattr(imvtsc_mvi, "_WIDTH", 7)
    cut, threaded = (
        IMVTSCMVI(3, n_jobs=jobs, random_state=0).fit(data.Xs, mask=data.mask)
        for jobs in (1, 3)
    )
    np.testing.assert_allclose(cut.objective_, whole.objective_, atol=1e-10)
    np.testing.assert_array_equal(cut.objective_, threaded.objective_)
    np.testing.assert_array_equal(cut.embedding_, threaded.embedding_)


def test_sparse_products_change_nothing(monkeypatch):
    data = make_views(40, (8, 60), 2, incomplete=0.5, random_state=0)
    Xs = [np.where(np.abs(X) > np.quantile(np.abs(X), 0.7), X, 0) for X in data.Xs]
    views = as_views(Xs, data.mask)
    start, graphs = initial_graphs(padded(views), views, 5), []
    for share in (0.0, 1.0):
        monkeypatch.setattr(imvtsc_mvi, "_SPARSE", share)
        Z, steps = start.copy(), Iterations(40, 1e-6)
        solve(padded(views), views.mask, Z, (1e-5, 0.01, 0.01), steps)
        graphs.append(Z)
    np.testing.assert_allclose(*graphs, atol=1e-10)


def test_residual_vanishes_and_graphs_are_stochastic(seed):
    data = make_views(80, (6, 9), 3, incomplete=0.4, random_state=seed)
    views = as_views(data.Xs, data.mask)
    Z, steps = initial_graphs(padded(views), views, 11), Iterations(120, 1e-6)
    solve(padded(views), views.mask, Z, (1e-5, 0.01, 0.01), steps)
    assert steps.converged
    assert steps.objective[-1] < 1e-6
    assert Z.min() >= 0
    np.testing.assert_allclose(Z.sum(axis=2), 1, atol=1e-12)
    assert not np.einsum("vii->vi", Z).any()


def test_complete_views_have_nothing_to_infer():
    data = make_views(40, (6, 9), 2, incomplete=0.0, random_state=0)
    views = as_views(data.Xs)
    Z, steps = initial_graphs(padded(views), views, 11), Iterations(120, 1e-6)
    inferred = solve(padded(views), views.mask, Z, (1e-5, 0.01, 0.01), steps)
    assert [len(E) for E in inferred] == [0, 0]


def test_view_order_only_permutes_the_graphs():
    data = make_views(60, (6, 9, 4), 3, incomplete=0.4, random_state=0)
    graphs = []
    for order in ([0, 1, 2], [2, 0, 1]):
        views = as_views([data.Xs[v] for v in order], data.mask[:, order])
        Z, steps = initial_graphs(padded(views), views, 11), Iterations(120, 1e-6)
        solve(padded(views), views.mask, Z, (1e-5, 0.01, 0.01), steps)
        graphs.append(Z[np.argsort(order)])
    np.testing.assert_allclose(*graphs, atol=1e-9)


def test_shuffling_hides_a_sorted_sample_order():
    data = make_views(60, (6, 9), 3, incomplete=0.3, random_state=0)
    order = np.argsort(data.y, kind="stable")
    Xs, mask = [X[order] for X in data.Xs], data.mask[order]
    kept = IMVTSCMVI(3, shuffle=False, random_state=0).fit(Xs, mask=mask)
    moved = IMVTSCMVI(3, random_state=0).fit(Xs, mask=mask)
    assert np.abs(kept.eigenvalues_ - moved.eigenvalues_).max() > 1e-4


def test_odd_quirk_changes_only_an_odd_number_of_samples():
    for n in (40, 41):
        data = make_views(n, (6, 9), 2, incomplete=0.3, random_state=0)
        plain, quirk = (
            IMVTSCMVI(2, repeat_last=repeat, random_state=0).fit(
                data.Xs, mask=data.mask
            )
            for repeat in (False, True)
        )
        same = np.array_equal(plain.eigenvalues_, quirk.eigenvalues_)
        assert same == (n % 2 == 0)


@pytest.mark.parametrize("by", ["magnitude", "algebraic"])
def test_planted_clusters_with_a_larger_error_penalty(by):
    data = make_views(120, (10, 14, 8), 3, incomplete=0.3, random_state=0)
    model = IMVTSCMVI(3, error_penalty=0.05, eigenvalues=by, random_state=0)
    assert adjusted_rand(data.y, model.fit_predict(data.Xs, mask=data.mask)) > 0.85


def test_too_large_a_problem_is_refused_with_its_need(monkeypatch):
    monkeypatch.setattr(_cost, "available_memory", lambda: 2**19)
    data = make_views(100, (5, 6), 2, incomplete=0.3, random_state=0)
    with pytest.raises(MemoryError, match=r"IMVTSC-MVI on 100 samples.*GiB"):
        IMVTSCMVI(2).fit(data.Xs, mask=data.mask)


def test_too_few_iterations_are_reported():
    data = make_views(30, (5, 6), 2, incomplete=0.3, random_state=0)
    seen = []
    model = IMVTSCMVI(2, max_iter=3, callback=lambda *step: seen.append(step))
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model.fit(data.Xs, mask=data.mask)
    assert seen == list(enumerate(model.objective_, start=1))


def test_no_penalty_on_inferred_samples_is_solvable():
    # Missing samples that only represent each other make R R' singular.
    data = make_views(30, (5, 6), 2, incomplete=0.95, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = IMVTSCMVI(2, inference_penalty=0.0, random_state=0)
        model.fit(data.Xs, mask=data.mask)
    assert np.isfinite(model.embedding_).all()
