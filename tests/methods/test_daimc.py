import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import solve_sylvester
from sklearn.exceptions import ConvergenceWarning

from hard_views import hard_views
from imvc.datasets import make_views, random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.methods._iterations import Iterations
from imvc.methods.daimc import (
    DAIMC,
    Factors,
    first_B,
    first_factors,
    solve,
    unit_sums,
    update_B,
    update_U,
    update_V,
)
from imvc.metrics import adjusted_rand

ROBUST = dict(match_clusters=True, row_normalize=True)
EXTREME = dict(alpha=1e4, beta=1e-4)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def case(reference_data):
    """The small case as the authors' program sees it, and what it made of it."""
    small = np.load(reference_data / "small_case.npz")
    theirs = np.load(reference_data / "daimc" / "small_case.npz")
    mask = small["mask"]
    X = [unit_rows(small[f"X{v}"])[mask[:, v]] for v in range(3)]
    return X, mask, theirs, small


def factors(arrays, suffix=""):
    return Factors(
        [arrays[f"U{suffix}_{v}"] for v in range(3)],
        arrays[f"V{suffix}"],
        [arrays[f"B{suffix}_{v}"] for v in range(3)],
    )


def test_the_authors_program_is_reproduced_from_its_start(case):
    X, mask, theirs, _ = case
    steps = Iterations(30, 1e-4)
    ours = solve(X, mask, factors(theirs, "0"), 1e-4, 1e4, steps)
    assert steps.converged
    np.testing.assert_allclose(steps.objective, theirs["objective"], rtol=1e-10)
    expected = factors(theirs)
    scale = expected.V.max()
    np.testing.assert_allclose(ours.V, expected.V, rtol=1e-8, atol=1e-10 * scale)
    for v in range(3):
        for a, b in ((ours.U[v], expected.U[v]), (ours.B[v], expected.B[v])):
            np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())


def test_the_first_regression_is_that_of_the_authors(case):
    """Their ridge inverts a d x d matrix, which leaves about 1e-7 of rounding."""
    theirs = case[2]
    for v in range(3):
        B = first_B(theirs[f"U0_{v}"])
        expected = theirs[f"B0_{v}"]
        np.testing.assert_allclose(B, expected, atol=1e-6 * np.abs(expected).max())


def test_the_start_has_the_form_of_the_authors_start(case):
    X, mask, theirs, _ = case
    start = first_factors(X, mask, 3, np.random.RandomState(0))
    np.testing.assert_allclose(start.V.sum(axis=0), 1)
    # Indicators averaged over three views plus 0.1: multiples of 1/3 before scaling.
    for V in (start.V, theirs["V0"]):
        counts = (V * (0.1 / V.min(axis=0)) - 0.1) * 3
        np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
        np.testing.assert_allclose(counts.sum(axis=1), 3)
    for v in range(3):
        norm = np.linalg.norm(theirs[f"U0_{v}"])
        assert 0.5 * norm < np.linalg.norm(start.U[v]) < 2 * norm


def test_scores_on_the_small_case_are_those_of_the_authors(case):
    """Their accuracy over three seeds: 0.70 to 0.79 with single k-means starts."""
    mask, small = case[1], case[3]
    Xs = [small[f"X{v}"] for v in range(3)]
    models = [DAIMC(3, random_state=i).fit(Xs, mask=mask) for i in range(5)]
    scores = [adjusted_rand(small["y"], model.labels_) for model in models]
    assert np.mean(scores) > 0.4


@pytest.fixture
def problem(rng):
    """A made state in the middle of the iteration: 40 samples, 3 views, 4 clusters."""
    n, c, sizes = 40, 4, (6, 3, 9)
    mask = random_mask(n, 3, 0.6, random_state=int(rng.integers(1000)))
    X = [
        unit_rows(rng.standard_normal((int(seen.sum()), d)))
        for d, seen in zip(sizes, np.asarray(mask).T)
    ]
    U = [10 * rng.standard_normal((d, c)) for d in sizes]
    V, _ = unit_sums(rng.random((n, c)))
    B = [rng.standard_normal((d, c)) for d in sizes]
    return X, np.asarray(mask), Factors(U, V, B)


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 10.0])
def test_update_U_solves_the_sylvester_equation(problem, alpha):
    X, mask, state = problem
    for X_v, B_v, seen in zip(X, state.B, mask.T):
        V_v = state.V[seen]
        U = update_U(X_v, V_v, B_v, alpha)
        R = X_v.T @ V_v + alpha * B_v
        slow = solve_sylvester(alpha * B_v @ B_v.T, V_v.T @ V_v, R)
        np.testing.assert_allclose(U, slow, rtol=1e-6, atol=1e-8 * np.abs(slow).max())


def slow_update_V(V, X, U, mask, steps=30, tol=1e-4):
    """The text of the update: dense masks, one view after the other."""
    f_old = 0.0
    full = []
    for X_v, seen in zip(X, mask.T):
        filled = np.zeros((len(seen), X_v.shape[1]))
        filled[seen] = X_v
        full.append(filled)
    for _ in range(steps):
        num, den = np.zeros_like(V), np.zeros_like(V)
        for X_v, U_v, seen in zip(full, U, mask.T):
            N = np.diag(seen.astype(float)) @ X_v @ U_v
            G, WV = U_v.T @ U_v, np.diag(seen.astype(float)) @ V
            num += np.maximum(N, 0) + WV @ np.maximum(-G, 0)
            den += np.maximum(-N, 0) + WV @ np.maximum(G, 0)
        V = V * np.sqrt(num / np.maximum(den, 1e-10))
        f = sum(
            np.square((X_v - V @ U_v.T)[seen]).sum()
            for X_v, U_v, seen in zip(full, U, mask.T)
        )
        if f_old and abs(f - f_old) / f_old < tol:
            break
        f_old = f
    return V, f


def test_update_V_equals_the_plain_text_and_lowers_the_residual(problem):
    X, mask, state = problem
    N = [X_v @ U_v for X_v, U_v in zip(X, state.U)]
    G = [U_v.T @ U_v for U_v in state.U]
    V = update_V(state.V, N, G, mask, sum(np.square(X_v).sum() for X_v in X))
    slow, f = slow_update_V(state.V, X, state.U, mask)
    np.testing.assert_allclose(V, slow, rtol=1e-8)
    assert (V >= 0).all()
    before = sum(
        np.square(X_v - state.V[seen] @ U_v.T).sum()
        for X_v, U_v, seen in zip(X, state.U, mask.T)
    )
    assert f < before


@pytest.mark.parametrize("beta", [1e-4, 1.0, 1e4])
def test_update_B_is_stationary(problem, beta):
    _, _, state = problem
    for U_v, s_v in zip(state.U, state.s):
        B = update_B(U_v, s_v, beta)
        left = (U_v @ U_v.T + beta / 2 * np.diag(1 / s_v)) @ B
        np.testing.assert_allclose(left, U_v, atol=1e-6 * np.abs(U_v).max())


def test_the_objective_falls_up_to_the_rescaling(seed):
    data = make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=seed)
    model = DAIMC(3, random_state=seed, tol=0.0, max_iter=15, **ROBUST)
    with pytest.warns(ConvergenceWarning, match="max_iter=15"):
        model.fit(data.Xs, mask=data.mask)
    J = model.objective_
    assert len(J) == model.n_iter_ == 15
    # Scaling V's columns changes the alignment term, so small rises are normal.
    assert (np.diff(J) <= 1e-3 * J[:-1]).all()
    assert J[-1] < J[0]


def test_without_alignment_the_objective_never_rises(seed):
    """alpha = 0 is the plain factorisation, which every step improves."""
    data = make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=seed)
    model = DAIMC(3, alpha=0.0, random_state=seed, max_iter=100).fit(
        data.Xs, mask=data.mask
    )
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[:-1]).all()


def test_the_embedding_is_not_negative_with_columns_of_sum_one(seed):
    data = make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=seed)
    model = DAIMC(3, random_state=seed, max_iter=100).fit(data.Xs, mask=data.mask)
    V = model.embedding_
    assert (V >= 0).all()
    np.testing.assert_allclose(V.sum(axis=0), 1)
    fit = V @ model.bases_[1].T
    X = unit_rows(data.Xs[1])
    seen = data.mask[:, 1]
    assert np.square(X - fit)[seen].sum() < 0.7 * np.square(X[seen]).sum()
    assert [len(w) for w in model.feature_weights_] == [10, 14, 8]


def test_matched_starts_number_the_clusters_alike(seed):
    data = make_views(150, (10, 14, 8), 3, incomplete=0.3, random_state=seed)
    X = [unit_rows(data.Xs[v][data.mask[:, v]]) for v in range(3)]
    rng = np.random.RandomState(seed)
    start = first_factors(X, data.mask, 3, rng, match=True)
    complete = data.mask.all(axis=1)
    labels = start.V.argmax(axis=1)
    assert adjusted_rand(data.y[complete], labels[complete]) > 0.9


def test_the_lengths_of_samples_do_not_matter(seed):
    data = make_views(120, (10, 14, 8), 3, incomplete=0.3, random_state=seed)
    factors = np.random.default_rng(seed).uniform(0.1, 10, (120, 1))
    a = DAIMC(3, random_state=seed, **ROBUST).fit(data.Xs, mask=data.mask)
    b = DAIMC(3, random_state=seed, **ROBUST).fit(
        [X * factors for X in data.Xs], mask=data.mask
    )
    # Rounding may number the clusters, which are columns here, otherwise.
    Y_a, Y_b = (np.sort(model.embedding_, axis=1) for model in (a, b))
    np.testing.assert_allclose(Y_a, Y_b, rtol=1e-6, atol=1e-9)


def test_sparse_views_give_the_same_embedding(seed):
    rng = np.random.default_rng(seed)
    data = make_views(100, (10, 14, 8), 3, incomplete=0.4, random_state=seed)
    Xs = [np.where(rng.random(X.shape) < 0.7, X, 0) for X in data.Xs]
    options = dict(random_state=seed, max_iter=10, tol=1e-3)
    dense = DAIMC(3, **options).fit(Xs, mask=data.mask)
    sparse = DAIMC(3, **options).fit([sp.csr_array(X) for X in Xs], mask=data.mask)
    np.testing.assert_allclose(dense.embedding_, sparse.embedding_, atol=1e-8)


def own_hard_cases():
    """Beside those that every method is put to."""
    rng = np.random.default_rng(0)
    data = make_views(67, (8, 6, 5), 3, incomplete=0.5, random_state=1)
    Xs, mask = data.Xs, data.mask
    yield "tiny numbers", ([X * 1e-12 for X in Xs], None, 3)
    yield "a constant view", ([np.ones_like(Xs[0]), *Xs[1:]], mask, 3)
    yield "negative data", ([-np.abs(X) for X in Xs], mask, 3)
    sparse = [sp.csr_array(sp.random(50, 12, 0.1, "csr", None, rng)) for _ in range(3)]
    yield "sparse with empty rows", (sparse, None, 4)
    few = make_views(12, (8, 6, 5), 3, incomplete=0.5, random_state=1)
    yield "as many clusters as samples", (few.Xs, few.mask, 12)


OWN = dict(own_hard_cases())
HARD = hard_views() | OWN


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in OWN),
        *((name, ROBUST) for name in HARD),
        *((name, EXTREME) for name in HARD if name != "nothing but zeros"),
        pytest.param(
            "nothing but zeros",
            EXTREME,
            marks=pytest.mark.xfail(
                reason="U grows without bound where all data are zero",
                raises=RuntimeWarning,
            ),
        ),
    ],
    ids=str,
)
def test_hard_data_give_finite_results_without_a_warning(name, options):
    Xs, mask, c = HARD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DAIMC(c, random_state=0, **options).fit(Xs, mask=mask)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_).all()
    assert (model.embedding_ >= 0).all()
    assert set(model.labels_) <= set(range(c))


def test_more_samples_cost_no_square_array():
    """Nothing larger than a few times the data is ever allocated."""
    data = make_views(20_000, (6, 5), 3, incomplete=0.5, random_state=0)
    model = DAIMC(3, max_iter=2, n_init=1, random_state=0)
    tracemalloc.start()
    model.fit(data.Xs, mask=data.mask)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # n x n bits would be 50 MB, floats 3.2 GB; the data are 1.8 MB.
    assert peak < 40e6


@pytest.mark.parametrize(
    ("options", "text"),
    [(dict(beta=0.0), "beta"), (dict(alpha=-1.0), "alpha"), (dict(tol=-1), "tol")],
)
def test_parameters_out_of_range_are_named(options, text):
    data = make_views(30, (4, 5), 3, random_state=0)
    with pytest.raises(ValueError, match=text):
        DAIMC(3, **options).fit(data.Xs)


def test_the_callback_hears_every_iteration():
    data = make_views(60, (6, 5), 3, incomplete=0.3, random_state=0)
    heard = []
    model = DAIMC(3, random_state=0, callback=lambda i, J: heard.append((i, J)))
    model.fit(data.Xs, mask=data.mask)
    assert [i for i, _ in heard] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([J for _, J in heard], model.objective_)
