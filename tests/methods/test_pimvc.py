import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from imvc import as_views
from imvc.datasets import make_views
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._laplacian import knn_graph, laplacian
from imvc.methods import pimvc
from imvc.methods._iterations import Iterations
from imvc.methods.pimvc import (
    PIMVC,
    decompose,
    penalty,
    principal_directions,
    solve,
    update_Q,
    update_Y,
)
from imvc.metrics import adjusted_rand


def prepare(Xs, mask, k=3, beta=1.0):
    """Unit rows, their samples and K, as `_embed` makes them."""
    views = as_views(Xs, mask)
    rows = [views.rows(v) for v in range(views.n_views)]
    X = [unit_rows(views.observed(v)) for v in range(views.n_views)]
    K = penalty([knn_graph(X_v, k) for X_v in X], rows, views.mask, beta)
    return X, rows, K


@pytest.fixture(scope="module")
def case(reference_data):
    data = np.load(reference_data / "small_case.npz")
    found = np.load(reference_data / "pimvc" / "shared_small_case.npz")
    X, rows, K = prepare([data[f"X{v}"] for v in range(3)], data["mask"])
    return X, rows, K, found


def test_the_authors_program_is_reproduced_from_its_start(case):
    X, rows, K, found = case
    Z = [decompose(X_v, 1e5, 3)[0] for X_v in X]
    first = [X_v @ found[f"P0_{v}"].T for v, X_v in enumerate(X)]
    scale = sum(np.vdot(X_v, X_v) for X_v in X)
    steps = Iterations(100, 1e-5)
    Y = solve(Z, first, rows, K, steps, scale=scale)
    assert steps.converged
    np.testing.assert_allclose(steps.objective, found["obj"], rtol=1e-12)
    error = np.abs(Y.T - found["Y"]).max() / np.abs(found["Y"]).max()
    assert error < 1e-12  # 1e-9 is promised by the reference


def test_the_authors_principal_directions_are_found_up_to_sign(case):
    X, _, _, found = case
    for v, X_v in enumerate(X):
        ours = principal_directions(X_v, X_v.T @ X_v, 3)
        theirs = found[f"P0_{v}"].T
        signs = np.sign((ours * theirs).sum(axis=0))
        np.testing.assert_allclose(ours * signs, theirs, atol=1e-12)
        assert (ours[np.abs(ours).argmax(axis=0), range(3)] > 0).all()


def slow_objective(X, P, Y, rows, L, ridge, beta):
    """The objective of the docstring, term by term."""
    total = beta * np.trace(Y.T @ (L @ Y))
    for X_v, P_v, seen in zip(X, P, rows):
        total += ((X_v @ P_v - Y[seen]) ** 2).sum() + ridge * (P_v**2).sum()
    return total


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("beta", [0.0, 1.0, 100.0])
def test_the_solver_equals_the_plain_iteration_with_inverse_roots(ridge, beta):
    """P_v by St^{-1/2} and an SVD, Y by a dense inverse, the objective by its terms."""
    data = make_views(70, (6, 9, 4), 3, incomplete=0.5, random_state=0)
    X, rows, K = prepare(data.Xs, data.mask, beta=beta)
    L = sum(padded_laplacian(X_v, seen, 70) for X_v, seen in zip(X, rows))
    Z, first = zip(*[decompose(X_v, ridge, 3) for X_v in X])
    steps = Iterations(6, 0)
    found = solve(Z, first, rows, K, steps)
    P = [principal_directions(X_v, X_v.T @ X_v, 3) for X_v in X]
    inverse = np.linalg.inv(np.diag(data.mask.sum(axis=1)) + beta * L)
    for value in steps.objective:
        H = np.zeros((70, 3))
        for X_v, P_v, seen in zip(X, P, rows):
            H[seen] += X_v @ P_v
        Y = inverse @ H
        P = [slow_P(X_v, Y[seen], ridge) for X_v, seen in zip(X, rows)]
        expected = slow_objective(X, P, Y, rows, L, ridge, beta)
        assert value == pytest.approx(expected, rel=1e-9)
    scale = np.abs(Y).max()
    np.testing.assert_allclose(found / scale, Y / scale, atol=1e-8)


def padded_laplacian(X_v, seen, n):
    L = np.zeros((n, n))
    L[np.ix_(seen, seen)] = laplacian(knn_graph(X_v, 3)).toarray()
    return L


def slow_P(X_v, Y_v, ridge):
    St = X_v.T @ X_v + ridge * np.eye(X_v.shape[1])
    values, V = np.linalg.eigh(St)
    root = V @ np.diag(values**-0.5) @ V.T
    left, _, right = np.linalg.svd(root @ X_v.T @ Y_v, full_matrices=False)
    P = root @ left @ right
    np.testing.assert_allclose(P.T @ St @ P, np.eye(Y_v.shape[1]), atol=1e-9)
    return P


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("c", [2, 5])
def test_the_objective_never_rises(ridge, c, seed):
    """Also where a view has fewer features than clusters."""
    data = make_views(80, (6, 9, 3), 3, incomplete=0.5, random_state=seed)
    X, rows, K = prepare(data.Xs, data.mask)
    Z, first = zip(*[decompose(X_v, ridge, c) for X_v in X])
    steps = Iterations(40, 0)
    solve(Z, first, rows, K, steps)
    values = steps.objective
    assert len(values) == 40
    assert np.diff(values).max() <= 1e-12 * abs(values[0])


def test_wide_and_tall_views_decompose_alike(rng):
    X = unit_rows(rng.standard_normal((12, 30)))
    (A, M), first = decompose(X, 0.5, 4)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    expected = (U * (s / np.sqrt(s**2 + 0.5))) @ U.T
    np.testing.assert_allclose(A @ M @ A.T, expected, atol=1e-12)
    directions = np.linalg.svd(X - X.mean(axis=0))[2][:4].T
    np.testing.assert_allclose(np.abs(first), np.abs(X @ directions), atol=1e-10)
    (A, M), first = decompose(X.T, 0.5, 4)
    np.testing.assert_allclose(
        (A @ M) @ (A @ M).T, (Vt.T * (s**2 / (s**2 + 0.5))) @ Vt, atol=1e-12
    )


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_sparse_views_decompose_like_dense_ones(shape, rng):
    X = unit_rows(np.maximum(rng.standard_normal(shape), 0))
    (A, M), first = decompose(X, 0.5, 3)
    (A_sparse, M_sparse), first_sparse = decompose(sp.csr_matrix(X), 0.5, 3)
    np.testing.assert_allclose(first, first_sparse, atol=1e-10)
    Z, Z_sparse = A @ M, A_sparse @ M_sparse
    np.testing.assert_allclose(Z @ Z.T, Z_sparse @ Z_sparse.T, atol=1e-10)


def test_each_step_is_the_minimiser_of_its_block(rng):
    data = make_views(50, (6, 9), 3, incomplete=0.4, random_state=0)
    X, rows, K = prepare(data.Xs, data.mask)
    projected = [rng.standard_normal((len(seen), 2)) for seen in rows]
    H = sum(
        np.eye(50)[:, seen] @ part for part, seen in zip(projected, rows)
    )  # zero gradient: K Y = H
    Y = update_Y(projected, rows, 50, lambda B, start: np.linalg.solve(K.toarray(), B))
    np.testing.assert_allclose(K @ Y, H, atol=1e-12)
    (A, M), _ = decompose(X[0], 1.0, 2)
    Q, gain = update_Q((A, M), Y[rows[0]])
    assert gain == pytest.approx(np.vdot(A @ M @ Q, Y[rows[0]]))
    for _ in range(20):
        other = np.linalg.qr(rng.standard_normal(Q.shape))[0]
        assert np.vdot(A @ M @ other, Y[rows[0]]) <= gain + 1e-12


def test_the_relative_rule_goes_on_where_the_absolute_one_stops():
    data = make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)
    first = PIMVC(3, random_state=0).fit(data.Xs, mask=data.mask)
    assert first.n_iter_ == 4
    model = PIMVC(3, stopping="relative", tol=1e-9, random_state=0)
    model.fit(data.Xs, mask=data.mask)
    assert model.converged_
    assert model.n_iter_ > 4
    assert model.objective_[-1] < first.objective_[-1]


def test_large_and_small_data_take_the_same_path_up_to_precision(monkeypatch):
    """Iterative solver and dense factor."""
    data = make_views(1200, (10, 14), 3, incomplete=0.5, random_state=0)
    X, rows, K = prepare(data.Xs, data.mask)
    Z, first = zip(*[decompose(X_v, 1.0, 3) for X_v in X])
    Y = solve(Z, first, rows, K, Iterations(5, 1e-5))
    monkeypatch.setattr(
        pimvc,
        "spd_solver",
        lambda K: lambda B, start: np.linalg.solve(K.toarray(), B),
    )
    dense = solve(Z, first, rows, K, Iterations(5, 1e-5))
    np.testing.assert_allclose(Y, dense, atol=1e-8)


def test_neighbours_from_cells_find_the_same_clusters(monkeypatch):
    data = make_views(3000, (10, 14, 8), 3, incomplete=0.5, random_state=0)
    exact = PIMVC(3, neighbor_search="exact", random_state=0)
    exact.fit(data.Xs, mask=data.mask)
    monkeypatch.setattr(pimvc, "_EXACT_ROWS", 500)
    model = PIMVC(3, random_state=0).fit(data.Xs, mask=data.mask)
    monkeypatch.setattr(pimvc, "knn_graph", None)  # "auto" has no use for it now
    again = PIMVC(3, random_state=0).fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert adjusted_rand(data.y, model.labels_) > 0.95
    assert adjusted_rand(exact.labels_, model.labels_) > 0.95


def test_the_scale_of_the_samples_does_not_matter():
    data = make_views(60, (5, 6), 3, incomplete=0.3, random_state=0)
    first = PIMVC(3, random_state=0).fit(data.Xs, mask=data.mask)
    scaled = [1e3 * X for X in data.Xs]
    second = PIMVC(3, random_state=0).fit(scaled, mask=data.mask)
    np.testing.assert_allclose(first.embedding_, second.embedding_, atol=1e-12)


def test_every_iteration_is_reported():
    data = make_views(50, (5, 6), 3, incomplete=0.3, random_state=0)
    seen = []
    model = PIMVC(3, random_state=0, callback=lambda *step: seen.append(step))
    model.fit(data.Xs, mask=data.mask)
    assert [i for i, _ in seen] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([value for _, value in seen], model.objective_)


def test_running_out_of_iterations_warns():
    data = make_views(50, (5, 6), 3, incomplete=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        PIMVC(3, max_iter=2, random_state=0).fit(data.Xs, mask=data.mask)


@pytest.mark.parametrize(
    ("name", "value"), [("ridge", 0.0), ("graph_weight", -1.0), ("stopping", "soon")]
)
def test_a_parameter_out_of_range_is_named(name, value):
    with pytest.raises(ValueError, match=name):
        PIMVC(2, **{name: value}).fit([np.ones((5, 2))])
