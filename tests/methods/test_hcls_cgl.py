import numpy as np
import pytest
import scipy.sparse as sp

from imvc import as_views
from imvc.datasets import make_views
from imvc.methods import _cost, hcls_cgl
from imvc.methods._iterations import Iterations
from imvc.methods.hcls_cgl import HCLSCGL, confident_graphs, solve, update_S
from imvc.metrics import adjusted_rand

DEMO = 1e-4, 1e-3, 2.0  # l1, l2, r


@pytest.fixture(scope="module")
def small_case(reference_data):
    case = np.load(reference_data / "small_case.npz")
    return [case[f"X{v}"] for v in range(3)], case["mask"]


@pytest.fixture(scope="module")
def data():
    return make_views(90, (10, 14, 8), 3, incomplete=0.5, random_state=0)


@pytest.fixture(scope="module")
def graphs(data):
    return confident_graphs(as_views(data.Xs, data.mask), 5, 5, None)


def test_it_reproduces_the_authors_program(small_case, reference_data):
    """Graph, subspace, objective and weights; the reference states 1e-7."""
    expected = np.load(reference_data / "hcls_cgl" / "small_case.npz")
    Xs, mask = small_case
    model = HCLSCGL(3, random_state=0).fit(Xs, mask=mask)
    np.testing.assert_allclose(model.objective_, expected["obj"], atol=1e-9)
    np.testing.assert_allclose(model.graph_.toarray(), expected["S"], atol=1e-9)
    np.testing.assert_allclose(model.view_weights_, expected["alpha"][-1], atol=1e-9)
    F, F_theirs = model.embedding_, expected["F"]
    np.testing.assert_allclose(F @ F.T, F_theirs @ F_theirs.T, atol=1e-9)
    assert adjusted_rand(model.labels_, expected["labels"]) == 1


def dense_graphs(data, k1, k2):
    """A_v and H_v straight from their definitions."""
    n, A, H = len(data.y), [], []
    for X, seen in zip(data.Xs, data.mask.T):
        X, rows = X / np.linalg.norm(X, axis=1, keepdims=True), np.flatnonzero(seen)
        D = np.linalg.norm(X[rows, None] - X[None, rows], axis=2)
        order = np.argsort(np.where(np.eye(len(rows)) > 0, np.inf, D), axis=1)
        A_v, B_v = np.zeros_like(D), np.eye(len(rows))
        for i in range(len(rows)):
            for j in order[i, :k1]:
                A_v[i, j] = A_v[j, i] = np.exp(-(D[i, j] ** 2) / (2 * D.mean() ** 2))
            for j in order[i, :k2]:
                B_v[i, j] = B_v[j, i] = 1
        for stack, W in ((A, A_v), (H, B_v @ B_v / (B_v @ B_v).max())):
            stack.append(np.zeros((n, n)))
            stack[-1][np.ix_(rows, rows)] = W
    return np.array(A), np.array(H)


def column_of_S(target, scale):
    """max(0, target + eta / scale) that sums to one, eta by bisection."""
    low, high = -1e6, 1e6
    for _ in range(200):
        eta = (low + high) / 2
        if np.maximum(target + eta / scale, 0).sum() < 1:
            low = eta
        else:
            high = eta
    return np.maximum(target + eta / scale, 0)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("k1", "k2"), [(5, 5), (9, 3)])
def test_the_S_step_equals_the_columnwise_dense_one(data, rng, exact, k1, k2):
    graphs = confident_graphs(as_views(data.Xs, data.mask), k1, k2, None)
    n, l1, l2, weights = len(data.y), 1e-3, 1e-2, np.array([0.3, 1.0, 0.5])
    F = np.linalg.qr(rng.standard_normal((n, 3)))[0]
    A, H = dense_graphs(data, k1, k2)
    Num = np.einsum("v,vij->ij", weights, A * H**2)
    Den = np.einsum("v,vij->ij", weights, H**2)
    T = (Num - l2 / 4 * np.square(F[:, None] - F).sum(axis=2)) / (Den + l1)
    S = np.zeros((n, n))
    for j in range(n):
        others = np.arange(n) != j
        scale = Den[others, j] + l1 if exact else np.ones(n - 1)
        S[others, j] = column_of_S(T[others, j], scale)
    St, S_pairs = update_S(graphs, weights, F, l1, l2, exact)
    np.testing.assert_allclose(St.toarray().T, S, atol=1e-9)
    e = np.square((S - A) * H).sum(axis=(1, 2))
    np.testing.assert_allclose(hcls_cgl.view_errors(graphs, S_pairs), e, atol=1e-8)


def test_the_exact_projection_never_raises_the_objective(graphs):
    steps = Iterations(25, 0.0)
    solve(graphs, 3, *DEMO, steps, exact=True)
    assert (np.diff(steps.objective) <= 1e-10).all()


def test_the_constraints_hold(data):
    model = HCLSCGL(3, random_state=0).fit(data.Xs, mask=data.mask)
    np.testing.assert_allclose(model.graph_.sum(axis=0), 1, atol=1e-12)
    assert model.graph_.min() >= 0
    assert not model.graph_.diagonal().any()
    np.testing.assert_allclose(
        model.embedding_.T @ model.embedding_, np.eye(3), 1, 1e-9
    )
    assert model.view_weights_.sum() == pytest.approx(1)


def test_a_given_start_is_used_and_its_rotation_does_not_matter(graphs, rng):
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    F = hcls_cgl.initial_F(graphs.W, 3)

    def objective(F):
        steps = Iterations(5, 1e-6)
        solve(graphs, 3, *DEMO, steps, F=F)
        return steps.objective

    expected = objective(None)
    np.testing.assert_allclose(objective(F @ turn), expected)
    other = np.linalg.qr(rng.standard_normal((90, 3)))[0]
    assert not np.allclose(objective(other), expected)


def test_the_start_skips_the_null_space_of_the_views_graphs():
    path = sp.diags([np.ones(19)] * 2, [-1, 1])
    W = sp.block_diag([path, path, sp.csr_matrix((1, 1))], "csr")
    F = hcls_cgl.initial_F(W, 2)
    L = np.diag(W.toarray().sum(axis=1)) - W.toarray()
    smallest = 2 - 2 * np.cos(np.pi / 20)
    np.testing.assert_allclose(L @ F, smallest * F, atol=1e-9)
    few = hcls_cgl.initial_F(sp.csr_matrix((6, 6)), 2)
    np.testing.assert_allclose(few.T @ few, np.eye(2), atol=1e-12)


def test_a_view_of_one_sample_gets_no_weight(data):
    mask = data.mask.copy()
    mask[:, :2] |= ~mask[:, :2].any(axis=1, keepdims=True)
    mask[:, 2] = np.arange(90) == 5
    model = HCLSCGL(3, random_state=0).fit(data.Xs, mask=mask)
    assert model.view_weights_[2] == 0
    assert adjusted_rand(data.y, model.labels_) > 0.85


def test_too_many_parts_are_a_warning(rng):
    X = np.repeat(np.eye(8), 10, axis=0) + 1e-3 * rng.standard_normal((80, 8))
    with pytest.warns(UserWarning, match=r"fell into 8 parts.*n_clusters=2"):
        HCLSCGL(2, random_state=0).fit([X, X])


def test_too_little_memory_is_refused_before_the_start(monkeypatch, data):
    monkeypatch.setattr(_cost, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"HCLS-CGL on 90 samples needs about .* GiB"):
        HCLSCGL(3).fit(data.Xs, mask=data.mask)
