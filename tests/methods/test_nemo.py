import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from imvc import as_views
from imvc.datasets import make_views, random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.methods import _cost
from imvc.methods.nemo import NEMO, relative_similarity
from imvc.metrics import adjusted_rand


@pytest.fixture(scope="module")
def data():
    return make_views(90, (10, 14, 8), 3, incomplete=0.5, random_state=0)


def neighbours(squares, k):
    """The k nearest others of every sample, and the mean of their distances."""
    nearest = [
        [j for j in np.argsort(row, kind="stable") if j != i][:k]
        for i, row in enumerate(squares)
    ]
    return nearest, [squares[i, near].mean() for i, near in enumerate(nearest)]


def plain_paper(X, k):
    """RS of one view by the formulas of the paper."""
    n, squares = len(X), np.square(X[:, None] - X).sum(axis=2)
    near, mean = neighbours(squares, k)
    S = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            variance = (mean[i] + mean[j] + squares[i, j]) / 3
            S[i, j] = np.exp(-squares[i, j] / (2 * variance)) / np.sqrt(
                2 * np.pi * variance
            )
    RS = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if j in near[i]:
                RS[i, j] += S[i, j] / S[i, near[i]].sum()
            if i in near[j]:
                RS[i, j] += S[i, j] / S[j, near[j]].sum()
    return RS


def plain_release(X, k):
    """RS of one view as the authors' program goes about it."""
    n, squares = len(X), np.square(X[:, None] - X).sum(axis=2)
    mean = neighbours(squares, k)[1]
    shares = np.zeros((n, n))
    for i in range(n):
        scale = np.array([(mean[i] + mean[j] + squares[i, j]) / 3 for j in range(n)])
        similar = norm.pdf(squares[i], scale=0.5 * scale)
        kept = similar >= np.sort(similar)[-k]
        shares[i, kept] = similar[kept] / similar[kept].sum()
    return shares + shares.T


PLAIN = {"paper": plain_paper, "release": plain_release}


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("k", [2, 7])
def test_relative_similarities_equal_their_definition(seed, kind, k):
    X = make_views(40, (6,), 3, random_state=seed).Xs[0]
    found = relative_similarity(X, k, kind)
    np.testing.assert_allclose(found, PLAIN[kind](X, k), atol=1e-13)


@pytest.mark.parametrize("kind", PLAIN)
def test_the_graph_is_the_mean_over_the_views_that_both_samples_have(seed, kind):
    data = make_views(60, (6, 9, 4), 3, random_state=seed)
    mask = random_mask(60, 3, 0.8, random_state=seed)
    RS = []
    for X, seen in zip(data.Xs, mask.T):
        rows = np.flatnonzero(seen)
        own = X[rows] / X[rows].std(axis=0)
        RS.append(np.full((60, 60), np.nan))
        RS[-1][np.ix_(rows, rows)] = PLAIN[kind](own, round(len(rows) / 6))
    W = np.full((60, 60), np.nan)
    for i in range(60):
        for j in range(60):
            both = [RS_v[i, j] for RS_v in RS if not np.isnan(RS_v[i, j])]
            W[i, j] = np.mean(both) if both else np.nan
    below = [W[i, j] for i in range(60) for j in range(i) if not np.isnan(W[i, j])]
    assert np.isnan(W).any(), "some samples share no view"
    model = NEMO(3, similarity=kind, scale="standard", random_state=0)
    model.fit(data.Xs, mask=mask)
    expected = np.where(np.isnan(W), np.mean(below), W)
    np.testing.assert_allclose(model.graph_, expected, atol=1e-13)


def test_the_objective_is_the_relaxed_cut(data):
    told = []
    model = NEMO(3, callback=lambda *step: told.append(step), random_state=0)
    model.fit(data.Xs, mask=data.mask)
    d = model.graph_.sum(axis=1)
    L = np.eye(90) - model.graph_ / np.sqrt(d[:, None] * d)
    assert model.objective_[0] == pytest.approx(np.linalg.eigvalsh(L)[:3].sum())
    assert told == [(1, model.objective_[0])]


def test_one_view_needs_no_average(data):
    X = unit_rows(data.Xs[0])
    model = NEMO(3, random_state=0).fit(data.Xs[:1])
    np.testing.assert_allclose(model.graph_, plain_release(X, 15), atol=1e-12)


@pytest.mark.parametrize("kind", PLAIN)
def test_more_neighbours_than_samples_are_all_of_them(data, kind):
    model = NEMO(3, n_neighbors=1000, similarity=kind, random_state=0)
    assert adjusted_rand(model.fit(data.Xs, mask=data.mask).labels_, data.y) > 0.85
    few = NEMO(2, similarity=kind, random_state=0).fit([X[:5] for X in data.Xs])
    assert np.isfinite(few.graph_).all()


@pytest.mark.parametrize("kind", PLAIN)
def test_duplicates_have_finite_similarities_and_stay_together(kind, rng):
    X = np.repeat(8 * rng.standard_normal((3, 5)), 20, axis=0)
    model = NEMO(3, similarity=kind, random_state=0).fit([X, X])
    assert np.isfinite(model.graph_).all()
    assert adjusted_rand(model.labels_, np.arange(60) // 20) == 1


@pytest.mark.parametrize("kind", PLAIN)
def test_a_view_of_one_sample_adds_nothing(data, kind):
    mask = np.ones((90, 3), bool)
    mask[:, 2] = np.arange(90) == 5
    model = NEMO(3, similarity=kind, random_state=0).fit(data.Xs, mask=mask)
    alone = NEMO(3, similarity=kind, random_state=0).fit(data.Xs[:2])
    off = ~np.eye(90, dtype=bool)
    np.testing.assert_array_equal(model.graph_[off], alone.graph_[off])


def test_sparse_views_give_the_graph_of_dense_ones(data):
    Xs = [np.maximum(X, 0) for X in data.Xs]
    dense, sparse = (
        NEMO(3, random_state=0).fit([form(X) for X in Xs], mask=data.mask)
        for form in (np.asarray, sp.csr_matrix)
    )
    np.testing.assert_allclose(sparse.graph_, dense.graph_, atol=1e-10)


def test_views_in_other_units_give_the_same_graph(data):
    for scale in ("standard", "unit", None):
        model = NEMO(3, scale=scale, random_state=0)
        plain = model.fit(data.Xs, mask=data.mask).graph_
        Xs = [X * 2.0**e for X, e in zip(data.Xs, (9, 0, -12))]
        np.testing.assert_array_equal(model.fit(Xs, mask=data.mask).graph_, plain)


def test_views_without_a_common_sample_are_a_warning(data):
    mask = np.zeros((90, 3), bool)
    mask[:50, :2] = mask[50:, 2] = True
    views = as_views(dict(zip(("rna", "dna", "age"), data.Xs)), mask)
    with pytest.warns(
        UserWarning, match=r"\(age\) and in one of \(dna, rna\).*2 groups"
    ):
        model = NEMO(3, random_state=0).fit(views)
    assert len(np.unique(model.graph_[:50, 50:])) == 1


def test_too_little_memory_is_refused_before_the_start(monkeypatch, data):
    monkeypatch.setattr(_cost, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"NEMO on 90 samples needs about .* GiB"):
        NEMO(3).fit(data.Xs, mask=data.mask)
