import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from imvc import as_views
from imvc.datasets import make_views
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._procrustes import left_singular_vectors, polar_factor
from imvc.kernels._tensor import soft_threshold
from imvc.methods._iterations import Iterations
from imvc.methods.sfsr_imvc import SFSRIMVC, fold_shape, solve, start_view, update_Y
from imvc.metrics import adjusted_rand


def starts(views, K, M, start="identity"):
    return [start_view(views, v, K, M, start) for v in range(views.n_views)]


def completed(part):
    X = part.H @ part.P.T + part.e
    X[part.rows] = part.T
    return X


def up_to_sign(a, b):
    return min(np.abs(a - b).max(), np.abs(a + b).max())


def test_the_authors_program_is_reproduced(reference_data):
    case = np.load(reference_data / "small_case.npz")
    expected = np.load(reference_data / "sfsr_imvc/small.npz")
    views = as_views([case[f"X{v}"] for v in range(3)], case["mask"])
    parts = starts(views, K=4, M=4)
    # The stored stream of normal numbers is that of this generator.
    rule, steps = (4, 1e-4, 1.0, np.random.default_rng(0)), Iterations(50, 1e-6)
    C, history = solve(parts, *rule, steps, fold=(15, 10))
    assert steps.converged
    logged = history[:-1]  # their log omits the last iteration
    for column, name in enumerate(["res", "diff_C", "diff_X", "diff_H"]):
        np.testing.assert_allclose(logged[:, column], expected[name], atol=1e-9)
    S = C.sum(axis=0)
    np.testing.assert_allclose(S.T, expected["S"], atol=1e-8)
    for v, part in enumerate(parts):
        np.testing.assert_allclose(
            completed(part).T, expected[f"X_recovered_{v}"], atol=1e-10
        )
    U, _ = left_singular_vectors(S, 4)
    for j in range(4):
        assert up_to_sign(U[:, j], expected["U"][:, j]) < 1e-7


def oracle(views, K, M, r, gamma, lambda_, rng, n_steps, fold):
    """The iteration with every variable in full and plain multipliers."""
    n, V = views.n_samples, views.n_views
    T, X = [], []
    for v in range(V):
        full = np.zeros((n, views.n_features[v]))
        full[views.rows(v)] = unit_rows(views.observed(v))
        T.append(full)
        X.append(np.where(views.mask[:, [v]], full, full.mean()))
    zeros = [np.zeros_like(x) for x in X]
    L1, P = list(zeros), [np.eye(x.shape[1], K) for x in X]
    A = [np.eye(K, M)] * V
    H, Eh, L2 = ([np.zeros((n, K))] * V for _ in range(3))
    C, Y, L3, rho = np.zeros((V, n, M)), np.zeros((V, n, M)), np.zeros((V, n, M)), 1e-3
    for step in range(n_steps):
        for v in range(V):
            Ex = soft_threshold(X[v] - H[v] @ P[v].T + L1[v] / rho, lambda_ / rho)
            G1 = L1[v] + rho * (X[v] - Ex)
            P[v] = polar_factor(G1.T @ H[v]) if step else P[v]
            H[v] = rho * (Eh[v] + C[v] @ A[v].T) - L2[v] + G1 @ P[v]
            H[v] = H[v] / (gamma + 2 * rho)
            guess = H[v] @ P[v].T + Ex - L1[v] / rho
            X[v] = np.where(views.mask[:, [v]], T[v], guess)
            G2 = L2[v] + rho * (H[v] - Eh[v])
            A[v] = polar_factor(G2.T @ C[v]) if step else A[v]
            C[v] = np.maximum((G2 @ A[v] + rho * Y[v] + L3[v]) / (2 * rho), 0)
            rest = H[v] - C[v] @ A[v].T
            Eh[v] = soft_threshold(rest + L2[v] / rho, lambda_ / rho)
            L1[v] = L1[v] + rho * (X[v] - H[v] @ P[v].T - Ex)
            L2[v] = L2[v] + rho * (rest - Eh[v])
        Y = update_Y(C - L3 / rho, fold, r, rng)
        L3 = L3 + rho * (Y - C)
        rho *= 1.8
    return C, H, X


@pytest.mark.parametrize("lambda_", [1.0, 1e-2, 5e-5])
def test_compact_variables_equal_the_full_iteration(lambda_, seed):
    # The smallest weight lets the errors of missing rows be non-zero at first.
    data = make_views(60, (7, 12, 9), 3, incomplete=0.5, random_state=seed)
    Xs = [X + 1 for X in data.Xs]
    mask = data.mask.copy()
    mask[:, 2] = True
    views = as_views(Xs, mask)
    options = 4, 1e-3, lambda_
    C, H, X = oracle(views, 4, 3, *options, np.random.default_rng(seed), 9, (6, 10))
    parts = starts(views, 4, 3)
    if lambda_ == 5e-5:
        assert parts[0].e > lambda_ / 1e-3
    rng = np.random.default_rng(seed)
    found, _ = solve(parts, *options, rng, Iterations(9, 1e-6))
    np.testing.assert_allclose(found, C, atol=1e-8)
    for v, part in enumerate(parts):
        np.testing.assert_allclose(part.H, H[v], atol=1e-8)
        np.testing.assert_allclose(completed(part), X[v], atol=1e-8)


def test_misfit_vanishes_and_factors_are_orthonormal(seed):
    data = make_views(100, (7, 12, 9), 3, incomplete=0.5, random_state=seed)
    views = as_views(data.Xs, data.mask)
    parts = starts(views, 4, 3)
    steps = Iterations(50, 1e-6)
    C, _ = solve(parts, 6, 1e-4, 1.0, np.random.default_rng(seed), steps)
    assert steps.converged
    # Any of the four quantities may end the loop; the misfit shrinks like 1 / rho.
    assert steps.objective[-1] < 1e-2 * steps.objective[0]
    assert C.min() >= 0
    for part in parts:
        np.testing.assert_allclose(part.P.T @ part.P, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(part.A.T @ part.A, np.eye(3), atol=1e-10)


def test_a_wide_enough_ring_reproduces_the_codes(rng):
    G = rng.standard_normal((2, 12, 3))
    Y = update_Y(G, (3, 4), 6, np.random.default_rng(0))
    np.testing.assert_allclose(Y, G, atol=1e-6)


def test_folding_puts_neighbours_along_the_first_factor():
    # Codes that depend on j mod n1 and on the view only are a ring of rank one.
    j = np.arange(24)
    G = (1 + np.arange(2))[:, None, None] * np.cos(j % 4)[:, None] * np.ones(3)
    Y = update_Y(G, (4, 6), 1, np.random.default_rng(0))
    np.testing.assert_allclose(Y, G, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "shape"),
    [(150, (10, 15)), (551, (19, 29)), (1051, (32, 33)), (2866, (53, 55)), (1, (1, 1))],
)
def test_samples_fold_near_a_square(n, shape):
    assert fold_shape(n) == shape
    assert shape[0] * shape[1] >= n


def test_padding_leaves_no_trace_where_the_ring_is_wide_enough(rng):
    G = rng.standard_normal((2, 11, 2))
    Y = update_Y(G, (3, 4), 8, np.random.default_rng(0))
    assert Y.shape == G.shape
    np.testing.assert_allclose(Y, G, atol=1e-6)


@pytest.mark.parametrize("embedding", ["singular-vectors", "codes", "features"])
@pytest.mark.parametrize("start", ["identity", "pca"])
def test_every_variant_finds_structure(start, embedding):
    data = make_views(200, (10, 14, 8), 3, incomplete=0.3, random_state=0)
    model = SFSRIMVC(3, start=start, embedding=embedding, random_state=0)
    labels = model.fit_predict(data.Xs, mask=data.mask)
    assert model.embedding_.shape == (200, 12 if embedding == "features" else 3)
    # The codes of different views are summed unaligned and lose some of the clusters.
    weak = embedding != "features"
    assert adjusted_rand(data.y, labels) > (0.15 if weak else 0.85)


def test_recovered_features_find_planted_clusters(seed):
    for incomplete in (0.0, 0.3, 0.5):
        data = make_views(200, (10, 14, 8), 3, incomplete=incomplete, random_state=seed)
        model = SFSRIMVC(3, embedding="features", random_state=seed)
        assert adjusted_rand(data.y, model.fit_predict(data.Xs, mask=data.mask)) > 0.85


def test_complete_views_do_not_stop_for_lack_of_missing_samples():
    data = make_views(100, (7, 9), 2, incomplete=0.0, random_state=0)
    assert SFSRIMVC(2, random_state=0).fit(data.Xs).n_iter_ > 11


def test_leading_zero_features_do_not_silence_a_view():
    data = make_views(120, (10, 14, 8), 3, incomplete=0.3, random_state=0)
    Xs = [np.hstack([np.zeros((120, 5)), X]) for X in data.Xs]
    model = SFSRIMVC(3, embedding="features", random_state=0)
    assert adjusted_rand(data.y, model.fit_predict(Xs, mask=data.mask)) > 0.85


def test_more_anchors_than_features_warn():
    data = make_views(60, (7, 9), 2, incomplete=0.3, random_state=0)
    with pytest.warns(UserWarning, match=r"n_anchors=6 exceeds n_clusters \+ 1 = 3"):
        model = SFSRIMVC(2, n_anchors=6, random_state=0).fit(data.Xs, mask=data.mask)
    assert np.isfinite(model.embedding_).all()


def test_too_few_iterations_are_reported():
    data = make_views(60, (7, 9), 2, incomplete=0.3, random_state=0)
    seen = []
    model = SFSRIMVC(2, max_iter=3, callback=lambda *step: seen.append(step))
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model.fit(data.Xs, mask=data.mask)
    assert seen == list(enumerate(model.objective_, start=1))


def test_memory_is_linear_in_the_samples():
    peaks = []
    for n in (1000, 4000):
        data = make_views(n, (10, 12), 3, incomplete=0.5, random_state=0)
        model = SFSRIMVC(3, n_init=1, max_iter=2, random_state=0)
        tracemalloc.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.Xs, mask=data.mask)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]
