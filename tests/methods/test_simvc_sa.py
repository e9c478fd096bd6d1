import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hard_views import hard_views
from imvc.datasets import make_views, random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.methods._iterations import Iterations
from imvc.methods.simvc_sa import (
    SIMVCSA,
    solve,
    start,
    update_F,
    update_gamma,
    update_P,
    update_Z,
)
from imvc.metrics import adjusted_rand

HARD = hard_views()
# With alignment=1 the consensus, whose entries shrink with 1/sqrt(n), outweighs the
# data; the authors' grid goes down to 1e-4.
OPTIONS = dict(alignment=0.01)


@pytest.fixture(scope="module")
def data():
    return make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)


def problem(seed, n=40, dims=(7, 5, 6), m=3):
    """Unit rows, which these are, and one random graph per view."""
    rng = np.random.default_rng(seed)
    mask = random_mask(n, len(dims), 0.5, random_state=seed)
    rows = [np.flatnonzero(seen) for seen in mask.T]
    X = [unit_rows(rng.standard_normal((len(r), d)) + 1) for r, d in zip(rows, dims)]
    return X, rows, [rng.dirichlet(np.ones(m), size=n) for _ in dims]


def plain_objective(X, rows, A, Z, P, F, gamma, lambda_, mu):
    """The objective as the paper writes it, residuals formed."""
    value = 0.0
    for v in range(len(X)):
        value += gamma[v] ** 2 * np.linalg.norm(X[v] - Z[v][rows[v]] @ A[v].T) ** 2
        value += lambda_ * np.linalg.norm(Z[v] @ P[v].T - F) ** 2
        value += mu * np.linalg.norm(Z[v]) ** 2
    return value


def plain_projection(f):
    u = np.sort(f)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    return np.maximum(f - excess[np.flatnonzero(u > excess)[-1]], 0)


def plain_alternation(X, rows, Z, lambda_, mu, n_iter):
    """Thin SVDs everywhere, one sample at a time, residuals formed."""

    def procrustes(M):
        U, _, Vt = np.linalg.svd(M, full_matrices=False)
        return U @ Vt

    V, (n, m) = len(X), Z[0].shape
    gamma, P, history = np.full(V, 1 / V), [np.eye(m)] * V, []
    for _ in range(n_iter):
        A = [procrustes(X[v].T @ Z[v][rows[v]]) for v in range(V)]
        F = procrustes(sum(Z[v] @ P[v].T for v in range(V)))
        Z = [np.empty((n, m)) for _ in X]
        for v in range(V):
            where = {i: at for at, i in enumerate(rows[v])}
            for i in range(n):
                top, bottom = lambda_ * P[v].T @ F[i], lambda_ + mu
                if i in where:
                    top = top + gamma[v] ** 2 * A[v].T @ X[v][where[i]]
                    bottom += gamma[v] ** 2
                Z[v][i] = plain_projection(top / bottom)
        P = [procrustes(F.T @ Z[v]) for v in range(V)]
        tau = [np.linalg.norm(X[v] - Z[v][rows[v]] @ A[v].T) ** -2 for v in range(V)]
        gamma = np.array(tau) / np.sum(tau)
        history.append(plain_objective(X, rows, A, Z, P, F, gamma, lambda_, mu))
    return F, gamma, history


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("small_m1k_lambda0.01_mu0", dict(alignment=0.01, ridge=0)),
        ("small_m1k_lambda100_mu1", dict(alignment=100, ridge=1)),
        ("small_m1k_lambda1_mu0.01", dict(alignment=1, ridge=0.01)),
        ("small_m2k_lambda1_mu0.01", dict(alignment=1, ridge=0.01, n_anchors=6)),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_authors_program_is_reproduced(name, options, reference_data):
    case = np.load(reference_data / "small_case.npz")
    expected = np.load(reference_data / "simvc_sa" / f"{name}.npz")
    Xs, mask = [case[f"X{v}"] for v in range(3)], case["mask"]
    # The first sweep completes a rank-one matrix as the LAPACK build likes. Where it
    # does so in another way than the authors', even the plain twin starts elsewhere.
    rows = [np.flatnonzero(seen) for seen in mask.T]
    X = [unit_rows(X_v[r]) for X_v, r in zip(Xs, rows)]
    begin = start(3, 150, options.get("n_anchors", 3))
    twin = plain_alternation(
        X, rows, begin, options["alignment"], options["ridge"], n_iter=1
    )
    if not np.isclose(twin[2][0], expected["objective"][0], rtol=1e-8):
        pytest.skip("this LAPACK completes the rank-one start in another way")
    model = SIMVCSA(3, random_state=0, **options).fit(Xs, mask=mask)
    np.testing.assert_allclose(model.objective_, expected["objective"], rtol=1e-10)
    np.testing.assert_allclose(model.consensus_, expected["F"].T, atol=1e-8)
    np.testing.assert_allclose(model.view_weights_, expected["gamma"], atol=1e-10)


@pytest.mark.parametrize("dims", [(7, 5, 6), (2, 9), (1, 4, 4, 6)])
@pytest.mark.parametrize(
    ("lambda_", "mu"), [(1e-4, 0), (0.01, 0.1), (1, 0.01), (100, 1)]
)
def test_alternation_equals_the_plain_one(dims, lambda_, mu):
    X, rows, Z = problem(0, dims=dims)
    steps = Iterations(4, 1e-6)
    found_F, *_, found_gamma = solve(X, rows, Z, lambda_, mu, steps)
    F, gamma, history = plain_alternation(X, rows, Z, lambda_, mu, 4)
    np.testing.assert_allclose(steps.objective, history, rtol=1e-9)
    np.testing.assert_allclose(found_F, F, atol=1e-7)
    np.testing.assert_allclose(found_gamma, gamma, atol=1e-8)


@pytest.mark.parametrize("lambda_", [1e-4, 1e-2, 1, 1e2])
def test_the_objective_never_rises(lambda_, seed):
    X, rows, Z = problem(seed)
    for begin in (Z, start(3, 40, 3)):
        steps = Iterations(60, 0)
        solve(X, rows, begin, lambda_, 0.01, steps)
        history = steps.objective
        assert np.all(np.diff(history) <= 1e-12 * history[0])


def test_every_update_lowers_the_objective_against_other_choices(rng):
    X, rows, Z = problem(0)
    A = [np.linalg.qr(rng.standard_normal((X_v.shape[1], 3)))[0] for X_v in X]
    P = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in X]
    gamma, lambda_, mu = np.array([0.5, 0.2, 0.3]), 0.3, 0.1

    def value(Z=Z, P=P, F=None, gamma=gamma):
        return plain_objective(X, rows, A, Z, P, F, gamma, lambda_, mu)

    F = update_F(Z, P)
    best_Z = [
        update_Z(X_v @ A_v, r, F @ P_v, g, lambda_, mu)
        for X_v, A_v, r, P_v, g in zip(X, A, rows, P, gamma)
    ]
    best_P = [update_P(F.T @ Z_v) for Z_v in Z]
    tau = [np.linalg.norm(x - z[r] @ a.T) ** 2 for x, z, r, a in zip(X, Z, rows, A)]
    best_gamma = update_gamma(np.array(tau))
    for _ in range(30):
        other_F = np.linalg.qr(rng.standard_normal(F.shape))[0]
        assert value(F=F) <= value(F=other_F)
        step = rng.choice([1, 0.1, 1e-3])
        near = [(1 - step) * z + step * rng.dirichlet(np.ones(3), 40) for z in best_Z]
        assert value(Z=best_Z, F=F) <= value(Z=near, F=F)
        turned = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in X]
        assert value(P=best_P, F=F) <= value(P=turned, F=F)
        other = rng.dirichlet(np.ones(3))
        assert value(gamma=best_gamma, F=F) <= value(gamma=other, F=F)


def test_samples_may_be_moved_together_with_the_start(rng, seed):
    X, rows, Z = problem(seed)
    order = rng.permutation(40)
    now = [np.flatnonzero(np.isin(order, r)) for r in rows]
    moved = [X_v[np.searchsorted(r, order[at])] for X_v, r, at in zip(X, rows, now)]
    rule = 0.1, 0.01, Iterations(5, 1e-6)
    here, *_ = solve(X, rows, Z, *rule)
    there, *_ = solve(moved, now, [Z_v[order] for Z_v in Z], *rule)
    np.testing.assert_allclose(there, here[order], atol=1e-8)


def test_the_consensus_has_orthonormal_columns_even_after_the_singular_start(data):
    for max_iter in (1, 2, 30):
        model = SIMVCSA(3, max_iter=max_iter, tol=1, random_state=0, n_anchors=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            F = model.fit(data.Xs, mask=data.mask).consensus_
        np.testing.assert_allclose(F.T @ F, np.eye(5), atol=1e-10)


@pytest.mark.parametrize("embedding", ["leading", "all", "svd"])
@pytest.mark.parametrize("name", HARD)
def test_more_anchors_bear_hard_views_without_a_complaint(name, embedding):
    Xs, mask, k = HARD[name]
    model = SIMVCSA(k, n_anchors=12, embedding=embedding, n_init=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(random_state=0, max_iter=30).fit(Xs, mask=mask)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_).all()


@pytest.mark.parametrize("embedding", ["leading", "all"])
@pytest.mark.parametrize("n_anchors", [3, 6])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_planted_clusters_are_found_with_more_anchors(n_anchors, embedding, data):
    model = SIMVCSA(3, n_anchors=n_anchors, embedding=embedding, **OPTIONS)
    model.set_params(random_state=0).fit(data.Xs, mask=data.mask)
    assert model.embedding_.shape[1] == (n_anchors if embedding == "all" else 3)
    assert adjusted_rand(data.y, model.labels_) > 0.85


def test_ten_sweeps_are_made_before_it_may_stop(data):
    model = SIMVCSA(3, tol=1.0).fit(data.Xs, mask=data.mask)
    assert model.n_iter_ == 10
    assert model.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_anchors=2), "n_anchors=2 must lie between n_clusters=3 and"),
        (dict(n_anchors=151), "n_anchors=151 .* number of samples, 150"),
        (dict(alignment=0), "'alignment' parameter of SIMVCSA"),
        (dict(ridge=-1), "'ridge' parameter of SIMVCSA"),
        (dict(embedding="first"), "'embedding' parameter of SIMVCSA"),
    ],
)
def test_wrong_parameters_are_named(options, message, data):
    with pytest.raises(ValueError, match=message):
        SIMVCSA(3, **options).fit(data.Xs, mask=data.mask)
