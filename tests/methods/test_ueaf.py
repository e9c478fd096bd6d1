import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from imvc import as_views
from imvc.datasets import make_views
from imvc.kernels._laplacian import knn_graph, laplacian
from imvc.kernels._procrustes import polar_factor
from imvc.kernels._simplex import project_simplex
from imvc.kernels._spd import spd_solver
from imvc.methods import _cost, ueaf
from imvc.methods._iterations import Iterations
from imvc.methods.ueaf import (
    UEAF,
    Start,
    misfit,
    padded_columns,
    random_start,
    smoothing,
    solve,
    update_M,
    update_P,
    update_S,
)


@pytest.fixture(scope="module")
def case(reference_data):
    """The authors' program on the small case: input, its start, its output."""
    data = np.load(reference_data / "small_case.npz")
    found = np.load(reference_data / "ueaf" / "shared_small_case.npz")
    views = as_views([data[f"X{v}"] for v in range(3)], data["mask"])
    missing = [np.flatnonzero(~seen) for seen in views.mask.T]
    rng, E = np.random.default_rng(0), []
    for d_v, gap in zip(views.n_features, missing):
        rng.random((d_v, 3))  # U_v, stored with the signs of its QR
        E.append(rng.random((d_v, len(gap))))
    S = rng.random((150, 150))
    np.fill_diagonal(S, 0)
    U = [found[f"U0_{v}"] for v in range(3)]
    start = Start(U, E, (S + S.T) / 2, found["F0"])
    X = [padded_columns(views, v) for v in range(3)]
    return X, missing, start, found


def test_the_authors_program_is_reproduced_from_its_start(case):
    X, missing, start, found = case
    steps = Iterations(50, 1e-5)
    P, a = solve(X, missing, (1e-2, 1e-1, 1e-5), start, steps)
    assert steps.converged
    np.testing.assert_allclose(steps.objective, found["obj"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(P, found["P"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(a, found["alpha"][-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("weights", [(1e-2, 1e-1, 1e-5), (1, 10, 0.1), (10, 0.1, 1)])
def test_with_exact_steps_the_objective_never_rises(case, weights):
    X, missing, start, _ = case
    steps, exact = Iterations(30, 0), dict(exact_weights=True, exact_graph=True)
    solve(X, missing, weights, start, steps, **exact)
    values = steps.objective
    assert len(values) == 30
    assert np.diff(values).max() <= 1e-12 * values[0]


def test_the_objective_is_the_one_of_the_docstring(case):
    """One iteration by the book, with dense selectors and inverses."""
    X, missing, start, _ = case
    l1, l2, l3, r = 0.1, 0.5, 0.01, 3.0
    steps = Iterations(1, 0)
    found = solve(X, missing, (l1, l2, l3), start, steps, exact_weights=True)
    n, A = 150, 3 * (1 / 3) ** r
    H = [X_v.copy() for X_v in X]
    for H_v, E_v, gap in zip(H, start.E, missing):
        H_v[:, gap] = E_v
    lap = lambda W: np.diag(W.sum(axis=1)) - W  # noqa: E731
    T = sum((1 / 3) ** r * U.T @ H_v for U, H_v in zip(start.U, H))
    P = T @ np.linalg.inv(np.eye(n) + l2 * lap(mean_square(start.S))) / A
    np.testing.assert_allclose(found[0], P, atol=1e-12)
    S = slow_S(P, start.F, A, l2, l3)
    values = np.linalg.eigvalsh(lap((S + S.T) / 2))[:3]
    smooth = l2 * np.trace(P @ lap(mean_square(S)) @ P.T)
    h = []
    for X_v, H_v, gap in zip(X, H, missing):
        G, _, Qt = np.linalg.svd(H_v @ P.T, full_matrices=False)
        U = G @ Qt
        L = laplacian(knn_graph(X_v, 7)).toarray()
        E = np.linalg.inv(np.eye(len(L)) + l1 * L) @ (U @ P)[:, gap]
        filled = H_v.copy()
        filled[:, gap] = E
        fit = np.linalg.norm(filled - U @ P) ** 2
        h.append(fit + l1 * np.trace(E.T @ L @ E) + smooth)
    a = np.array(h) ** (1 / (1 - r))
    a /= a.sum()
    total = a**r @ h + l3 * values.sum()
    expected = total / sum((X_v**2).sum() for X_v in X)
    np.testing.assert_allclose(steps.objective, [expected], rtol=1e-11)
    np.testing.assert_allclose(found[1], a, rtol=1e-10)


def mean_square(S):
    return (S**2 + S.T**2) / 2


def slow_S(P, F, A, l2, l3, weighted=False):
    """Row by row, with a bisection for the threshold."""
    n = P.shape[1]
    S = np.zeros((n, n))
    for i in range(n):
        others = np.arange(n) != i
        D_P = np.maximum(((P[:, others].T - P[:, i]) ** 2).sum(axis=1), 1e-10)
        v = -l3 * ((F[others] - F[i]) ** 2).sum(axis=1) / (2 * A * l2 * D_P)
        w = D_P if weighted else np.ones(n - 1)
        low, high = (w * (v - 2)).min(), (w * v).max()
        for _ in range(200):
            theta = (low + high) / 2
            row = np.maximum(v - theta / w, 0)
            low, high = (theta, high) if row.sum() > 1 else (low, theta)
        S[i, others] = row
    return S


@pytest.mark.parametrize("exact", [False, True])
def test_the_graph_equals_a_bisection_per_row(exact, rng):
    P, F = rng.standard_normal((3, 25)), rng.standard_normal((25, 3))
    S = update_S(P, F, 0.2, 0.5, 0.7, exact=exact)
    np.testing.assert_allclose(S, slow_S(P, F, 0.2, 0.5, 0.7, exact), atol=1e-10)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert not S.diagonal().any()


def test_the_exact_graph_is_not_worse_than_the_projected_one(rng):
    P, F = rng.standard_normal((3, 25)), rng.standard_normal((25, 3))
    D_P = ((P[:, :, None] - P[:, None]) ** 2).sum(axis=0)
    D_F = ((F[:, None] - F) ** 2).sum(axis=2)

    def cost(S):
        return (0.2 * 0.5 * S**2 * D_P + 0.7 * S * D_F).sum() / 2

    exact = update_S(P, F, 0.2, 0.5, 0.7, exact=True)
    assert cost(exact) < cost(update_S(P, F, 0.2, 0.5, 0.7))


def test_embedding_and_filling_have_zero_gradient(rng):
    U = [np.linalg.qr(rng.standard_normal((d, 2)))[0] for d in (5, 4)]
    H = [rng.standard_normal((d, 12)) for d in (5, 4)]
    S, powers = rng.random((12, 12)), np.array([0.3, 0.1])
    L_S2 = laplacian(mean_square(S))
    UH = [U_v.T @ H_v for U_v, H_v in zip(U, H)]
    P = update_P(UH, smoothing(np.square(S), 0.7), powers)
    gradient = 0.7 * powers.sum() * P @ L_S2
    for p, U_v, H_v in zip(powers, U, H):
        gradient += p * (U_v.T @ (U_v @ P - H_v))
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    L = laplacian(knn_graph(H[0], 2))
    E = update_M(U[0], spd_solver(np.eye(5) + 0.4 * L.toarray())) @ P[:, :3]
    np.testing.assert_allclose(E - U[0] @ P[:, :3] + 0.4 * L @ E, 0, atol=1e-12)


def test_the_sample_penalty_counts_l1_times_the_gaps_unless_exact(case):
    """The authors' misplaced parenthesis moves the weights, not the first P."""
    X, missing, start, _ = case
    weights = 0.5, 5.0, 1e-5
    ours, theirs = (
        solve(X, missing, weights, start, Iterations(1, 0), exact_weights=exact)
        for exact in (True, False)
    )
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert np.abs(ours[1] - theirs[1]).max() > 1e-8  # rounding is 1e-16


def test_a_complete_dataset_leaves_nothing_to_fill():
    data = make_views(60, (5, 6), 3, random_state=0)
    missing = [np.zeros(0, int)] * 2
    start = random_start((5, 6), missing, 60, 3, np.random.RandomState(0))
    assert [E.shape for E in start.E] == [(5, 0), (6, 0)]
    model = UEAF(3, random_state=0).fit(data.Xs)
    assert model.converged_


def test_the_scale_of_the_samples_does_not_matter():
    data = make_views(60, (5, 6), 3, incomplete=0.3, random_state=0)
    first = UEAF(3, random_state=0).fit(data.Xs, mask=data.mask)
    scaled = [1e3 * X for X in data.Xs]
    second = UEAF(3, random_state=0).fit(scaled, mask=data.mask)
    np.testing.assert_allclose(first.embedding_, second.embedding_, atol=1e-9)


def test_too_many_samples_are_refused_with_the_need_in_gib(monkeypatch):
    monkeypatch.setattr(_cost, "available_memory", lambda: 2**20)
    data = make_views(400, (5, 6), 3, random_state=0)
    with pytest.raises(MemoryError, match=r"UEAF on 400 samples needs .* GiB"):
        UEAF(3).fit(data.Xs)


def test_every_iteration_is_reported():
    data = make_views(50, (5, 6), 3, incomplete=0.3, random_state=0)
    seen = []
    model = UEAF(3, random_state=0, callback=lambda *step: seen.append(step))
    model.fit(data.Xs, mask=data.mask)
    assert [i for i, _ in seen] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([value for _, value in seen], model.objective_)


def test_running_out_of_iterations_warns():
    data = make_views(50, (5, 6), 3, incomplete=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        UEAF(3, max_iter=2, random_state=0).fit(data.Xs, mask=data.mask)


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight_power", 1.0), ("sample_smoothness", 0.0), ("n_neighbors", 0)],
)
def test_a_parameter_out_of_range_is_named(name, value):
    with pytest.raises(ValueError, match=name):
        UEAF(2, **{name: value}).fit([np.ones((5, 2))])


def test_the_quick_eigenvectors_change_nothing(monkeypatch):
    """300 samples or more: with LAPACK in their place, the same to rounding."""
    data = make_views(320, (12, 15), 3, incomplete=0.5, random_state=0)
    quick = UEAF(3, random_state=0).fit(data.Xs, mask=data.mask)
    left = []
    monkeypatch.setattr(ueaf, "separated_eigenvectors", lambda L, c: left.append(c))
    slow = UEAF(3, random_state=0).fit(data.Xs, mask=data.mask)
    assert left == [3] * slow.n_iter_
    np.testing.assert_allclose(quick.objective_, slow.objective_, atol=1e-12)
    np.testing.assert_allclose(quick.embedding_, slow.embedding_, atol=1e-11)


@pytest.mark.parametrize("l2", [0.1, 1e4])
def test_the_embedding_solves_its_equation_however_far_from_uniform_S_is(l2, rng):
    """By conjugate gradients for the small l2, by a Cholesky factor for the large."""
    S = project_simplex(rng.random((60, 60)) / 60)
    UH = [rng.standard_normal((3, 60)) for _ in range(2)]
    K = smoothing(np.square(S), l2)
    P = update_P(UH, K.copy(), np.array([0.3, 0.1]))
    T = 0.75 * UH[0] + 0.25 * UH[1]
    np.testing.assert_allclose(P, np.linalg.solve(K, T.T).T, atol=1e-13)
    np.testing.assert_allclose(K, np.eye(60) + l2 * laplacian(mean_square(S)))


@pytest.mark.parametrize("d", [2, 30])
def test_the_misfit_is_that_of_the_filled_view(d, rng):
    """Also of a view with fewer features than clusters."""
    n, c, l1, gap = 40, 3, 0.3, np.arange(15)
    X, P = rng.standard_normal((d, n)), rng.standard_normal((c, n))
    X[:, gap] = 0
    L = laplacian(knn_graph(X, 4))
    U, M = (polar_factor(rng.standard_normal((d, c))) for _ in range(2))
    E = M @ P[:, gap]
    H = X.copy()
    H[:, gap] = E
    expected = np.square(H - U @ P).sum() + l1 * np.trace(E.T @ (L @ E))
    found = misfit(np.vdot(X, X), U.T @ X, U, P, M, gap, L, l1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
