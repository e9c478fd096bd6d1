import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from imvc import as_views
from imvc.datasets import make_views
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._procrustes import left_singular_vectors, polar_factor
from imvc.kernels._tensor import fit_tensor_ring, random_ring_cores, soft_threshold
from imvc.methods._base import draw_seed
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
    found, _ = solve(parts, *options, rng, Iterations(9, 1e-6), fold=(6, 10))
    np.testing.assert_allclose(found, C, atol=1e-8)
    for v, part in enumerate(parts):
        np.testing.assert_allclose(part.H, H[v], atol=1e-8)
        np.testing.assert_allclose(completed(part), X[v], atol=1e-8)


def test_misfit_vanishes_and_factors_are_orthonormal(seed):
    data = make_views(100, (7, 12, 9), 3, incomplete=0.5, random_state=seed)
    views = as_views(data.Xs, data.mask)
    parts = starts(views, 4, 3)
    steps = Iterations(50, 1e-6)
    rule = 6, 1e-4, 1.0, np.random.default_rng(seed)
    C, _ = solve(parts, *rule, steps, fold=(10, 10))
    assert steps.converged
    # Any of the four quantities may end the loop; the misfit shrinks like 1 / rho.
    assert steps.objective[-1] < 1e-2 * steps.objective[0]
    assert C.min() >= 0
    for part in parts:
        np.testing.assert_allclose(part.P.T @ part.P, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(part.A.T @ part.A, np.eye(3), atol=1e-10)


@pytest.mark.parametrize(("n1", "n2"), [(3, 4), (1, 60)])
def test_a_ring_wide_enough_reproduces_the_codes_and_is_not_fitted(n1, n2, rng):
    M, V, r = 3, 2, 5
    T = rng.standard_normal((M, n1, n2, V))
    fit, _ = fit_tensor_ring(T, random_ring_cores(T.shape, r, rng), 8)
    np.testing.assert_allclose(fit, T, atol=1e-6)
    G = rng.standard_normal((V, n1 * n2, M))
    np.testing.assert_array_equal(update_Y(G, (n1, n2), r, None), G)


def test_a_narrow_ring_on_a_line_ties_the_codes(rng):
    """Y is G with its n x MV unfolding brought down to rank r^2."""
    G = rng.standard_normal((3, 200, 4))
    Y = update_Y(G, (1, 200), 2, rng)
    unfolded = Y.transpose(1, 0, 2).reshape(200, 12)
    assert np.linalg.matrix_rank(unfolded, tol=1e-8) == 4
    assert 0 < np.linalg.norm(G - Y) < np.linalg.norm(G)


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
    assert fold_shape(n, "balanced") == shape
    assert shape[0] * shape[1] >= n


def test_a_line_is_the_pair_of_one_and_all():
    data = make_views(90, (7, 9, 8), 3, incomplete=0.4, random_state=0)
    fits = [
        SFSRIMVC(3, fold=fold, ring_rank=2, random_state=0).fit(data.Xs, mask=data.mask)
        for fold in ("line", (1, 90), [1, 90])
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.embedding_, fits[0].embedding_)


def test_the_balanced_fold_lays_out_shuffled_samples_near_a_square():
    data = make_views(150, (7, 9, 8), 3, incomplete=0.4, random_state=0)
    options = {"embedding": "codes", "ring_rank": 4, "random_state": 0}
    model = SFSRIMVC(3, fold="balanced", **options).fit(data.Xs, mask=data.mask)
    rng = np.random.RandomState(0)
    order = rng.permutation(150)
    parts = starts(as_views(data.Xs, data.mask).select(order), 4, 3)
    draw, steps = np.random.default_rng(draw_seed(rng)), Iterations(50, 1e-6)
    C, _ = solve(parts, 4, 1e-4, 1.0, draw, steps, fold=(10, 15))
    np.testing.assert_array_equal(model.embedding_[order], C.sum(axis=0))


@pytest.mark.parametrize(
    ("fold", "message"),
    [
        ("square", "'fold' parameter of SFSRIMVC must be .* Got 'square'"),
        (7, "'fold' parameter of SFSRIMVC must be .* Got 7"),
        ((6,), r"fold=\(6,\) must be 'line', 'balanced' or a pair of whole numbers"),
        ((6.0, 10.0), r"fold=\(6.0, 10.0\) must be .* a pair of whole numbers"),
        (["6", "10"], r"fold=\['6', '10'\] must be .* a pair of whole numbers"),
        ((6, 9), r"fold=\(6, 9\) does not fit 60 samples: .* such as \(6, 10\)"),
        ((6, 11), r"fold=\(6, 11\) does not fit 60 samples: .* such as \(6, 10\)"),
        ((7, 8), r"fold=\(7, 8\) does not fit 60 samples: .* such as \(7, 9\)"),
        ((0, 60), r"fold=\(0, 60\) does not fit .* between 1 and 60, .* \(1, 60\)"),
        ((61, 1), r"fold=\(61, 1\) does not fit .* \(--set fold=line\)"),
    ],
)
def test_a_fold_that_does_not_hold_the_samples_is_told_one_that_does(fold, message):
    data = make_views(60, (7, 9), 2, incomplete=0.3, random_state=0)
    with pytest.raises(ValueError, match=message):
        SFSRIMVC(2, fold=fold).fit(data.Xs, mask=data.mask)


def test_a_pair_that_leaves_places_empty_is_padded():
    data = make_views(60, (7, 9), 2, incomplete=0.3, random_state=0)
    options = {"fold": (7, 9), "ring_rank": 2, "random_state": 0}
    model = SFSRIMVC(2, **options).fit(data.Xs, mask=data.mask)
    assert model.embedding_.shape == (60, 2)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("ring_rank", [8, 2], ids=["idle", "fitted"])
def test_on_a_line_the_order_of_rows_says_nothing(ring_rank, seed):
    data = make_views(200, (10, 14, 8), 3, incomplete=0.3, random_state=seed)
    order = np.argsort(data.y, kind="stable")
    options = {"embedding": "features", "ring_rank": ring_rank, "random_state": seed}
    one = SFSRIMVC(3, **options).fit(data.Xs, mask=data.mask)
    other = SFSRIMVC(3, **options).fit(
        [X[order] for X in data.Xs], mask=data.mask[order]
    )
    if ring_rank == 8:  # nothing is drawn
        np.testing.assert_allclose(other.embedding_, one.embedding_[order], atol=1e-6)
        assert adjusted_rand(one.labels_[order], other.labels_) == 1
    else:  # ring cores are drawn by the places of rows
        assert adjusted_rand(one.labels_[order], other.labels_) > 0.9


@pytest.mark.parametrize("with_ids", [False, True], ids=["arrays", "ids"])
def test_on_a_line_shuffle_changes_nothing(with_ids):
    data = make_views(90, (7, 9, 8), 3, incomplete=0.0, random_state=0)
    ids = [f"s{i * 37 % 90}" for i in range(90)]
    Xs = {
        f"v{v}": pd.DataFrame(X, ids) if with_ids else X for v, X in enumerate(data.Xs)
    }
    fits = [
        SFSRIMVC(3, ring_rank=2, shuffle=shuffle, random_state=0).fit(Xs)
        for shuffle in (True, False)
    ]
    np.testing.assert_array_equal(fits[0].embedding_, fits[1].embedding_)


def test_the_balanced_fold_in_stored_order_leaks_classes_that_rows_are_sorted_by():
    """Published figures profit from it; a shuffle takes it away, a line has none."""
    data = make_views(
        *(400, (10, 14, 8), 4),
        separation=1,
        incomplete=0.5,
        shuffle=False,
        random_state=0,
    )
    found = {
        name: adjusted_rand(
            data.y,
            SFSRIMVC(4, random_state=0, **fold).fit_predict(data.Xs, mask=data.mask),
        )
        for name, fold in {
            "stored": {"fold": "balanced", "shuffle": False},
            "shuffled": {"fold": "balanced"},
            "line": {},
        }.items()
    }
    assert found["stored"] > 2 * max(found["shuffled"], found["line"]), found


@pytest.mark.parametrize("fold", ["line", "balanced", (7, 13)])
def test_garbage_in_unobserved_rows_changes_nothing(fold):
    data = make_views(90, (7, 9, 8), 3, incomplete=0.5, random_state=0)
    spoilt = [X.copy() for X in data.Xs]
    for v, X in enumerate(spoilt):
        X[~data.mask[:, v]] = 1e6
    options = {"fold": fold, "ring_rank": 2, "random_state": 0}
    one = SFSRIMVC(3, **options).fit(data.Xs, mask=data.mask)
    other = SFSRIMVC(3, **options).fit(spoilt, mask=data.mask)
    np.testing.assert_array_equal(one.embedding_, other.embedding_)


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


@pytest.mark.parametrize("ring_rank", [8, 2], ids=["idle", "fitted"])
def test_memory_is_linear_in_the_samples(ring_rank):
    peaks = []
    for n in (1000, 4000):
        data = make_views(n, (10, 12), 3, incomplete=0.5, random_state=0)
        options = {"ring_rank": ring_rank, "n_init": 1, "random_state": 0}
        model = SFSRIMVC(3, max_iter=2, **options)
        tracemalloc.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.Xs, mask=data.mask)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]
