import numpy as np
import pytest

from imvc import as_views
from imvc.datasets import make_views
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._laplacian import largest_eigenvectors, normalized_adjacency
from imvc.methods import _cost
from imvc.methods._iterations import Iterations
from imvc.methods.gsrimc import GSRIMC, solve, update_E, view_graphs
from imvc.metrics import adjusted_rand


@pytest.fixture(scope="module")
def small_case(reference_data):
    case = np.load(reference_data / "small_case.npz")
    return [case[f"X{v}"] for v in range(3)], case["mask"]


@pytest.fixture(scope="module")
def data():
    return make_views(90, (10, 14, 8), 3, incomplete=0.5, random_state=0)


def test_it_reproduces_the_authors_program(small_case, reference_data):
    """Graph, residuals and embedding; the reference states 1e-8."""
    expected = np.load(reference_data / "gsrimc" / "small_case.npz")
    views = as_views(*small_case)
    B = view_graphs(views, 20, None)
    steps = Iterations(120, 1e-6)
    Z = solve(B, views.mask, (0.1, 0.1, 1.0), steps)
    W = (Z.mean(axis=0) + Z.mean(axis=0).T) / 2
    np.testing.assert_allclose(W[np.triu_indices(150)], expected["W_upper"], atol=1e-10)
    np.testing.assert_allclose(steps.objective, expected["err"], atol=1e-10)
    assert steps.converged
    model = GSRIMC(3, error_weight=0.1, fidelity=0.1, coupling=1.0, shuffle=False)
    model.fit(small_case[0], mask=small_case[1])
    np.testing.assert_allclose(model.eigenvalues_, expected["eigenvalues"], atol=1e-9)
    Y, Y_theirs = unit_rows(model.embedding_), expected["embedding"]
    np.testing.assert_allclose(Y @ Y.T, Y_theirs @ Y_theirs.T, atol=1e-8)
    assert adjusted_rand(model.labels_, expected["labels"]) == 1


def simplex_row(t):
    """Sort-based projection of one row."""
    u = np.sort(t)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(t) + 1)
    return np.maximum(t - excess[np.flatnonzero(u > excess)[-1]], 0)


def plain_admm(B, mask, l1, l2, l3, n_steps, repeat_last):
    """The steps as the specification writes them: loops, full DFT, one SVD each."""
    n, V = mask.shape
    S, Z, E, A = np.zeros((4, V, n, n))
    mu = 2.0
    for _ in range(n_steps):
        T = Z + E - A / mu
        for v in range(V):
            pair = np.ix_(mask[:, v], mask[:, v])
            seen = (mu * T[v] + 2 * l2 * B[v].toarray()) / (mu + 2 * l2)
            T[v][pair] = seen[pair]
            S[v] = [simplex_row(t) for t in T[v]]
        Q = np.stack([np.delete(Z, v, axis=0).mean(axis=0) for v in range(V)])
        G = np.fft.fft((mu * (S - E) + A + 2 * l3 * Q) / (mu + 2 * l3), axis=1)
        for f in range(n):
            twice = repeat_last and n % 2 and f in (n // 2, n // 2 + 1)
            for _ in range(2 if twice else 1):
                U, s, Vt = np.linalg.svd(G[:, f], full_matrices=False)
                G[:, f] = (U * np.maximum(s - 2 / (mu / 2 + l3), 0)) @ Vt
        Z = np.fft.ifft(G, axis=1).real
        D = S - Z + A / mu
        norms = np.linalg.norm(D, axis=0)
        E = D * np.where(norms > l1 / mu, 1 - l1 / mu / np.maximum(norms, 1e-300), 0)
        A, mu = A + mu * (S - Z - E), 1.2 * mu
    return Z


@pytest.mark.parametrize("repeat_last", [False, True])
@pytest.mark.parametrize("n", [30, 31])
def test_the_iteration_equals_the_plain_one(n, repeat_last, seed):
    data = make_views(n, (5, 6, 4), 3, incomplete=0.5, random_state=seed)
    views = as_views(data.Xs, data.mask)
    B = view_graphs(views, 8, None)
    weights = 0.15, 0.7, 0.3
    steps = Iterations(8, 0.0)
    Z = solve(B, views.mask, weights, steps, repeat_last=repeat_last)
    expected = plain_admm(B, views.mask, *weights, n_steps=8, repeat_last=repeat_last)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(Z, expected, atol=1e-12)


@pytest.mark.parametrize("tau", [0.5, 2.0, 100.0])
def test_tubes_shrink_together_and_short_ones_are_left_out(tau, rng):
    D = rng.standard_normal((4, 3, 5))
    places, values = update_E(D, tau)
    found = np.zeros(D.size)
    found[places] = values
    for i, j in np.ndindex(4, 5):
        tube = D[i, :, j]
        expected = max(1 - tau / np.linalg.norm(tube), 0) * tube
        np.testing.assert_allclose(found.reshape(D.shape)[i, :, j], expected)
    assert (values != 0).all()


def test_the_blocks_of_rows_do_not_matter(data, monkeypatch):
    views = as_views(data.Xs, data.mask)
    B = view_graphs(views, 20, None)
    weights, steps = (0.1, 1.0, 0.1), Iterations(6, 0.0)
    expected = solve(B, views.mask, weights, steps)
    monkeypatch.setattr("imvc.methods.gsrimc._BLOCK", 7 * 3 * 90)
    np.testing.assert_allclose(
        solve(B, views.mask, weights, steps), expected, atol=1e-14
    )


def test_the_residual_vanishes(data):
    model = GSRIMC(3, random_state=0).fit(data.Xs, mask=data.mask)
    assert model.converged_
    assert model.objective_[-1] < 1e-6
    assert model.n_iter_ == len(model.objective_)


@pytest.mark.filterwarnings("ignore:GSRIMC stopped")
@pytest.mark.parametrize("n", [40, 41])
def test_repeat_last_reaches_the_authors_program_where_the_number_is_odd(n):
    data = make_views(n, (5, 6, 4), 3, incomplete=0.5, random_state=0)
    views, weights = as_views(data.Xs, data.mask), (0.15, 0.7, 0.3)
    B = view_graphs(views, 20, None)
    options = dict(zip(("error_weight", "fidelity", "coupling"), weights))
    options |= dict(n_clusters=3, shuffle=False, max_iter=6, n_init=1, tol=0.0)
    found = {}
    for repeat_last in (False, True):
        model = GSRIMC(**options, repeat_last=repeat_last)
        found[repeat_last] = model.fit(data.Xs, mask=data.mask).eigenvalues_
        Z = plain_admm(B, views.mask, *weights, n_steps=6, repeat_last=repeat_last)
        W = normalized_adjacency(Z.mean(axis=0))
        expected, _ = largest_eigenvectors(W, 3)
        np.testing.assert_allclose(found[repeat_last], expected, atol=1e-12)
    assert np.allclose(*found.values(), atol=1e-9, rtol=0) == (n == 40)


def test_shuffled_samples_in_another_order_give_the_same_clusters(data):
    order = np.argsort(data.y)
    labels = GSRIMC(3, random_state=0).fit_predict(data.Xs, mask=data.mask)
    Xs, mask = [X[order] for X in data.Xs], data.mask[order]
    moved = GSRIMC(3, random_state=1).fit_predict(Xs, mask=mask)
    assert adjusted_rand(labels[order], moved) > 0.85


def test_the_order_of_samples_matters_without_shuffling(small_case):
    """Why `shuffle` exists: a reordering changes the refined graph itself."""
    Xs, mask = small_case
    order = np.random.default_rng(0).permutation(150)
    options = dict(n_clusters=3, shuffle=False, n_init=1, max_iter=60)
    before = GSRIMC(**options).fit(Xs, mask=mask)
    after = GSRIMC(**options).fit([X[order] for X in Xs], mask=mask[order])
    assert np.abs(before.eigenvalues_ - after.eigenvalues_).max() > 1e-4


def test_both_kinds_of_largest_eigenvectors_agree_on_a_healthy_graph(data):
    options = dict(n_clusters=3, shuffle=False, random_state=0)
    one = GSRIMC(**options).fit(data.Xs, mask=data.mask)
    two = GSRIMC(**options, eigenvectors="magnitude").fit(data.Xs, mask=data.mask)
    np.testing.assert_allclose(one.embedding_, two.embedding_, atol=1e-8)


def test_a_collapsed_graph_is_a_warning(data):
    with pytest.warns(UserWarning, match="collapsed.*raise error_weight"):
        GSRIMC(3, error_weight=1e-3, random_state=0).fit(data.Xs, mask=data.mask)


def test_one_view_is_not_coupled_to_anything(data):
    one = GSRIMC(3, random_state=0).fit(data.Xs[:1])
    two = GSRIMC(3, random_state=0, coupling=5.0).fit(data.Xs[:1])
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_too_little_memory_is_refused_before_the_start(monkeypatch, data):
    monkeypatch.setattr(_cost, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"GSRIMC on 90 samples needs about .* GiB"):
        GSRIMC(3).fit(data.Xs, mask=data.mask)
