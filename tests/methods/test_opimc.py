import numpy as np
import pytest
import scipy.sparse as sp

from imvc import OPIMC
from imvc.datasets import make_views, random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import row_slices
from imvc.methods.opimc import (
    Rule,
    objective,
    read_chunk,
    settle,
    solve,
    sums,
    update_U,
    update_V,
)
from imvc.metrics import adjusted_rand
from imvc.views import as_views

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return make_views(200, (5, 6, 7), 3, incomplete=0.5, random_state=0)


def first_random_V(b, c, seed):
    V = np.random.RandomState(seed).uniform(size=(b, c))
    return V / V.sum(axis=1)[:, None]


def plain_opimc(X, mask, c, alpha, size, n_passes, seed, max_iter=30, tol=1e-6):
    """The algorithm as the paper writes it, d x n views with zeros, loops over all.

    Returns the labels that the samples got in passing, and the centres (d x c).
    """
    X = [unit_rows(X_v).T * seen for X_v, seen in zip(X, mask.T)]
    W = [np.diag(seen.astype(float)) for seen in mask.T]
    n, views = len(mask), range(len(X))
    R, T = [np.zeros((len(X_v), c)) for X_v in X], [np.zeros((c, c)) for _ in views]
    U, labels = [None] * len(X), np.zeros(n, int)
    for turn in range(n_passes):
        for start in range(0, n, size):
            own = np.arange(start, min(start + size, n))
            x = [X_v[:, own] for X_v in X]
            w = [W_v[np.ix_(own, own)] for W_v in W]
            first = turn == 0 and start == 0
            V = np.eye(c)[labels[own]]
            if turn > 0:
                for v in views:
                    R[v] -= x[v] @ w[v] @ V
                    T[v] -= V.T @ w[v] @ V
            elif first:
                V = first_random_V(len(own), c, seed)
            else:
                V = np.eye(c)[nearest(x, w, U)]
            value = np.inf
            for _ in range(max_iter):
                for v in views:
                    members = T[v] + V.T @ w[v] @ V
                    new = (R[v] + x[v] @ w[v] @ V) @ np.linalg.inv(
                        members + alpha * np.eye(c)
                    )
                    for k in np.flatnonzero(np.diag(members) == 0):
                        new[:, k] = x[v].mean(axis=1) if first else U[v][:, k]
                    U[v] = new
                V = np.eye(c)[nearest(x, w, U)]
                before, value = value, 0.0
                for v in views:
                    value += np.square((x[v] - U[v] @ V.T) @ w[v]).sum()
                    value += alpha * np.square(U[v]).sum()
                    value += np.trace(U[v].T @ U[v] @ T[v] - 2 * U[v].T @ R[v])
                if abs(before - value) < tol * abs(before):
                    break
            for v in views:
                R[v] += x[v] @ w[v] @ V
                T[v] += V.T @ w[v] @ V
            labels[own] = V.argmax(axis=1)
    return labels, U


def nearest(x, w, U):
    """Nearest centre of the samples of a chunk, one sample after the other."""
    result = []
    for i in range(x[0].shape[1]):
        D = [
            w_v[i, i] * np.square(x_v[:, [i]] - U_v).sum(axis=0)
            for x_v, w_v, U_v in zip(x, w, U)
        ]
        result.append(np.argmin(np.sum(D, axis=0)))
    return np.array(result)


@pytest.mark.parametrize("n_passes", [1, 3])
@pytest.mark.parametrize("size", [200, 60, 37])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_labels_in_passing_are_those_of_the_plain_algorithm(
    data, size, n_passes, alpha
):
    model = OPIMC(3, alpha=alpha, chunk_size=size, n_passes=n_passes, random_state=4)
    model.set_params(n_init=1, relabel=False, shuffle=False, max_iter=200)
    model.fit(data.Xs, mask=data.mask)
    settings = 3, alpha, size, n_passes, 4, 200
    labels, U = plain_opimc(data.Xs, data.mask, *settings)
    np.testing.assert_array_equal(model.labels_, labels)
    for mine, plain in zip(model.centers_, U):
        np.testing.assert_allclose(mine, plain.T, atol=1e-10)


@pytest.fixture
def problem(rng):
    """A chunk in the middle of a pass: other samples are in the sums."""
    mask = random_mask(60, 3, 0.6, random_state=int(rng.integers(1000)))
    Xs = [rng.standard_normal((60, d)) for d in (4, 3, 6)]
    views = as_views(Xs, mask)
    chunk, before = read_chunk(views, slice(20, 60)), read_chunk(views, slice(0, 20))
    V = update_V(rng.random((40, 5)))
    past = sums(before, update_V(rng.random((20, 5))))
    return chunk, V, past, rng


def test_update_U_minimises_the_objective(problem):
    """No step away from the centres lowers it, whatever the direction."""
    chunk, V, past, rng = problem
    now = past.plus(sums(chunk, V))
    U = [update_U(R_v, T_v, 0.0, 0.7) for R_v, T_v in zip(now.R, now.T)]

    def value(U):
        nobody = np.zeros((1, 5))
        return objective(nobody, now, U, 0.7)

    for _ in range(20):
        step = [1e-3 * rng.standard_normal(U_v.shape) for U_v in U]
        assert value([U_v + s for U_v, s in zip(U, step)]) > value(U)


def test_centres_without_samples_stay_where_they_are():
    T_v, R_v = np.diag([2.0, 0.0]), np.array([[4.0, 2.0], [0.0, 0.0]])
    U_v = update_U(R_v, T_v, np.array([[9.0, 9.0], [5.0, 6.0]]), 2.0)
    np.testing.assert_allclose(U_v, [[1.0, 0.5], [5.0, 6.0]])


def test_the_objective_never_rises_on_a_chunk(problem):
    chunk, V, past, _ = problem
    nowhere = [np.zeros((1, R_v.shape[1])) for R_v in past.R]
    steps = settle(chunk, V, past, nowhere, Rule(5, 0.5, 50, 0.0), nowhere)[2]
    assert steps.converged
    assert np.diff(steps.objective).max(initial=0) <= 1e-12 * steps.objective[0]


def test_sums_leave_as_they_came(problem):
    chunk, V, past, _ = problem
    there_and_back = past.plus(sums(chunk, V)).plus(sums(chunk, V), -1)
    for mine, before in zip(there_and_back.R + there_and_back.T, past.R + past.T):
        np.testing.assert_allclose(mine, before, atol=1e-14)
    assert there_and_back.squares == pytest.approx(past.squares)


def test_the_objective_of_the_last_chunk_is_that_of_the_whole_set(data):
    """One chunk alone: the sums say the same as residuals of all samples."""
    model = OPIMC(3, alpha=2.0, chunk_size=200, random_state=0)
    model.fit(data.Xs, mask=data.mask)
    total = 0.0
    for X, seen, U_v in zip(data.Xs, data.mask.T, model.centers_):
        residual = unit_rows(X[seen]) - U_v[model.labels_[seen]]
        total += np.square(residual).sum() + 2.0 * np.square(U_v).sum()
    assert model.objective_[-1] == pytest.approx(total / 200)


def test_with_little_alpha_and_one_complete_view_it_is_k_means():
    X = make_views(300, (6,), 4, separation=6, random_state=1).Xs[0]
    model = OPIMC(4, alpha=1e-9, chunk_size=300, random_state=0).fit([X])
    rows = unit_rows(X)
    for k in range(4):
        mean = rows[model.labels_ == k].mean(axis=0)
        np.testing.assert_allclose(model.centers_[0][k], mean, atol=1e-9)


def test_chunks_find_what_all_samples_at_once_find():
    data = make_views(2000, (8, 9), 4, incomplete=0.5, separation=6, random_state=2)
    found = [
        OPIMC(4, chunk_size=size, random_state=0).fit_predict(data.Xs, mask=data.mask)
        for size in (100, 500, 2000)
    ]
    for labels in found:
        assert adjusted_rand(data.y, labels) > 0.95


def test_of_several_starts_the_best_goes_on(data):
    one, many = (
        OPIMC(3, n_init=n_init, chunk_size=200, random_state=3)
        .fit(data.Xs, mask=data.mask)
        .objective_[-1]
        for n_init in (1, 30)
    )
    assert many <= one


def test_sorted_samples_are_read_in_random_order():
    """In stored order the first chunk would hold a single cluster."""
    data = make_views(600, (8, 9), 3, incomplete=0.3, separation=6, random_state=0)
    order = np.argsort(data.y, kind="stable")
    Xs, mask = [X[order] for X in data.Xs], data.mask[order]
    model = OPIMC(3, chunk_size=100, random_state=0)
    assert adjusted_rand(data.y[order], model.fit_predict(Xs, mask=mask)) > 0.95
    model.set_params(shuffle=False, relabel=False, alpha=0.1)
    assert adjusted_rand(data.y[order], model.fit_predict(Xs, mask=mask)) < 0.8


def test_relabelled_samples_are_at_their_nearest_centre(data):
    options = dict(chunk_size=30, random_state=0)
    model = OPIMC(3, **options).fit(data.Xs, mask=data.mask)
    in_passing = OPIMC(3, relabel=False, **options).fit(data.Xs, mask=data.mask)
    for mine, theirs in zip(model.centers_, in_passing.centers_):
        np.testing.assert_array_equal(mine, theirs)
    D = np.zeros((200, 3))
    for X, seen, U_v in zip(data.Xs, data.mask.T, model.centers_):
        apart = unit_rows(X)[:, None] - U_v
        D += seen[:, None] * np.square(apart).sum(axis=2)
    D /= data.mask.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.embedding_, D, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    np.testing.assert_array_equal(
        in_passing.predict(data.Xs, mask=data.mask), model.labels_
    )


def test_one_iteration_is_one_chunk(data):
    seen = []
    model = OPIMC(3, chunk_size=60, n_passes=2, random_state=0)
    model.set_params(callback=lambda i, value: seen.append((i, value)))
    model.fit(data.Xs, mask=data.mask)
    assert model.n_iter_ == len(seen) == 8
    np.testing.assert_array_equal([value for _, value in seen], model.objective_)


@pytest.mark.filterwarnings("ignore:only .* clusters were found")
def test_chunks_grow_with_the_number_of_clusters():
    data = make_views(1000, (8, 9), 25, separation=6, random_state=0)
    assert OPIMC(3, random_state=0).fit(data.Xs).n_iter_ == 4
    assert OPIMC(25, random_state=0).fit(data.Xs).n_iter_ == 2


def test_sparse_views_stay_sparse_and_give_the_dense_result(data, monkeypatch):
    dense = [np.maximum(X, 0) for X in data.Xs]
    model = OPIMC(3, random_state=0)
    expected = model.fit_predict(dense, mask=data.mask)
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    monkeypatch.setattr(sp.csr_matrix, "toarray", None)
    found = model.fit_predict([sp.csr_matrix(X) for X in dense], mask=data.mask)
    assert adjusted_rand(found, expected) == 1  # rounding may number them otherwise


def test_a_model_file_without_its_centres_is_refused(data, tmp_path):
    model = OPIMC(3, random_state=0).fit(data.Xs, mask=data.mask)
    model.centers_ = model.centers_[:2]
    model.save(tmp_path / "short.imvc")
    with pytest.raises(ValueError, match="its centers_ are not one for each of 3 view"):
        OPIMC.load(tmp_path / "short.imvc")


def test_new_samples_of_the_same_clusters_are_recognised():
    data = make_views(600, (8, 9), 3, incomplete=0.5, separation=6, random_state=0)
    old, new = slice(0, 400), slice(400, 600)
    model = OPIMC(3, random_state=0)
    model.fit([X[old] for X in data.Xs], mask=data.mask[old])
    labels = model.predict([X[new] for X in data.Xs], mask=data.mask[new])
    assert adjusted_rand(data.y[new], labels) > 0.95


def test_solve_tells_of_a_chunk_that_was_not_done(data):
    views, told = as_views(data.Xs, data.mask), []
    rule, rng = Rule(3, 1.0, 1, 0.0), np.random.RandomState(0)
    slices = row_slices(200, 50)
    result = solve(views, slices, rule, 1, rng, lambda *step: told.append(step))
    assert result[3] is False
    assert [number for number, _ in told] == [1, 2, 3, 4]
