import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from imvc import as_views
from imvc.datasets import make_views, random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.methods import _cost
from imvc.methods.snf import SNF, full_kernel, local_kernel
from imvc.metrics import adjusted_rand


@pytest.fixture(scope="module")
def data():
    return make_views(90, (10, 14, 8), 3, incomplete=0.5, random_state=0)


def plain_similarities(X, K, mu, metric):
    n = len(X)
    d = np.array([[np.linalg.norm(a - b) for b in X] for a in X])
    d = d**2 if metric == "sqeuclidean" else d
    near = [np.sort(np.delete(row, i))[:K].mean() for i, row in enumerate(d)]
    W = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            W[i, j] = norm.pdf(d[i, j], scale=mu * (near[i] + near[j] + d[i, j]) / 3)
    return W


def plain_normalise(W):
    P = np.empty_like(W)
    for i in range(len(W)):
        P[i] = W[i] / (2 * (W[i].sum() - W[i, i]))
        P[i, i] = 0.5
    return (P + P.T) / 2


def plain_snf(Xs, K, mu, t, metric):
    """The published algorithm on complete views, every step written out."""
    P = [plain_normalise(plain_similarities(X, K, mu, metric)) for X in Xs]
    S = []
    for P_v in P:
        S_v = np.zeros_like(P_v)
        for i, row in enumerate(P_v):
            kept = np.argsort(-row)[:K]
            S_v[i, kept] = row[kept] / row[kept].sum()
        S.append(S_v)
    for _ in range(t):
        others = [np.mean(P[:v] + P[v + 1 :], axis=0) for v in range(len(P))]
        P = [plain_normalise(S_v @ Q_v @ S_v.T) for S_v, Q_v in zip(S, others)]
    return plain_normalise(np.mean(P, axis=0))


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
@pytest.mark.parametrize(("K", "mu", "t"), [(20, 0.5, 20), (7, 0.8, 3)])
def test_with_nothing_missing_it_is_the_published_algorithm(seed, K, mu, t, metric):
    Xs = make_views(50, (6, 9, 4), 3, random_state=seed).Xs
    rule = dict(n_neighbors=K, width=mu, n_steps=t, metric=metric)
    model = SNF(3, scale="standard", random_state=0, **rule).fit(Xs)
    expected = plain_snf([X / X.std(axis=0) for X in Xs], K, mu, t, metric)
    np.testing.assert_allclose(model.graph_, expected, atol=1e-13)


def plain_partial_step(P, S, mask):
    """One step on partial data, pair by pair; P_v and S_v are (n, n), NaN outside."""
    n, V = mask.shape
    after = []
    for v in range(V):
        Q = np.zeros((n, n))
        seen = np.flatnonzero(mask[:, v])
        for i in seen:
            for j in seen:
                others = [u for u in range(V) if u != v and mask[i, u] and mask[j, u]]
                Q[i, j] = np.mean([P[u][i, j] for u in others or [v]])
        own = np.ix_(seen, seen)
        P_v = np.full((n, n), np.nan)
        P_v[own] = plain_normalise(S[v] @ Q[own] @ S[v].T)
        after.append(P_v)
    return after


def test_on_partial_data_views_exchange_what_both_samples_have(seed):
    data = make_views(40, (6, 9, 4), 3, random_state=seed)
    mask, K = random_mask(40, 3, 0.8, random_state=seed), 6
    P, S = [], []
    for X, seen in zip(data.Xs, mask.T):
        rows = np.flatnonzero(seen)
        own = unit_rows(X[rows])
        P_v = plain_normalise(plain_similarities(own, K, 0.5, "sqeuclidean"))
        S.append(local_kernel(P_v, K).toarray())
        P.append(np.full((40, 40), np.nan))
        P[-1][np.ix_(rows, rows)] = P_v
    for _ in range(3):
        P = plain_partial_step(P, S, mask)
    W = np.zeros((40, 40))
    for i in range(40):
        for j in range(40):
            both = [P_v[i, j] for P_v in P if not np.isnan(P_v[i, j])]
            W[i, j] = np.mean(both) if both else 0
    model = SNF(3, n_neighbors=K, n_steps=3, random_state=0).fit(data.Xs, mask=mask)
    np.testing.assert_allclose(model.graph_, plain_normalise(W), atol=1e-13)
    assert (model.graph_ == 0).any()


def test_the_kernels_have_the_sums_that_they_should(rng):
    W = rng.random((12, 12))
    P = full_kernel(W + W.T)
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_array_equal(P.diagonal(), 0.5)
    S = local_kernel(P, 5)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert (np.diff(S.indptr) == 5).all()
    assert (S.diagonal() > 0).all(), "every sample is among its own neighbours"


def test_a_sample_like_no_other_keeps_its_diagonal():
    np.testing.assert_array_equal(full_kernel(np.zeros((3, 3))), np.eye(3) / 2)
    model = SNF(2, width=1e-3, random_state=0)
    data = make_views(30, (4, 4), 2, random_state=0)
    assert np.isfinite(model.fit(data.Xs).graph_).all()


def test_the_views_come_to_agree(data):
    model = SNF(3, random_state=0).fit(data.Xs, mask=data.mask)
    assert model.objective_.shape == (20,)
    assert model.objective_[-1] < 0.1 * model.objective_[0]


def test_every_step_is_told(data):
    told = []
    model = SNF(3, n_steps=4, callback=lambda *step: told.append(step))
    model.fit(data.Xs, mask=data.mask)
    assert told == list(enumerate(model.objective_, 1))


def test_one_view_diffuses_through_itself(data):
    model = SNF(3, n_steps=1, n_neighbors=5, random_state=0).fit(data.Xs[:1])
    X = unit_rows(data.Xs[0])
    P = plain_normalise(plain_similarities(X, 5, 0.5, "sqeuclidean"))
    S = local_kernel(P, 5).toarray()
    expected = plain_normalise(plain_normalise(S @ P @ S.T))
    np.testing.assert_allclose(model.graph_, expected, atol=1e-13)


def test_sparse_views_give_the_graph_of_dense_ones(data):
    Xs = [np.maximum(X, 0) for X in data.Xs]
    dense, sparse = (
        SNF(3, random_state=0).fit([form(X) for X in Xs], mask=data.mask)
        for form in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_allclose(sparse.graph_, dense.graph_, atol=1e-10)


def test_views_in_other_units_give_the_same_graph(data):
    for scale in ("standard", "unit", None):
        model = SNF(3, scale=scale, random_state=0)
        plain = model.fit(data.Xs, mask=data.mask).graph_
        other = model.fit(
            [X * 2.0**e for X, e in zip(data.Xs, (9, 0, -12))], mask=data.mask
        )
        np.testing.assert_array_equal(other.graph_, plain)


def test_views_without_a_common_sample_are_a_warning(data):
    mask = np.zeros((90, 3), bool)
    mask[:50, :2] = mask[50:, 2] = True
    views = as_views(dict(zip(("rna", "dna", "age"), data.Xs)), mask)
    with pytest.warns(
        UserWarning, match=r"\(age\) and in one of \(dna, rna\).*2 groups"
    ):
        model = SNF(3, random_state=0).fit(views)
    assert not model.graph_[:50, 50:].any()
    np.testing.assert_allclose(model.eigenvalues_[:2], 1)


def test_fewer_samples_than_neighbours_are_taken_all():
    data = make_views(12, (5, 6), 2, separation=12, random_state=0)
    labels = SNF(2, random_state=0).fit_predict(data.Xs)
    assert adjusted_rand(data.y, labels) == 1


def test_too_little_memory_is_refused_before_the_start(monkeypatch, data):
    monkeypatch.setattr(_cost, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"SNF on 90 samples needs about .* GiB"):
        SNF(3).fit(data.Xs, mask=data.mask)
