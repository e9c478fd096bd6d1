import itertools
import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from imvc import RISE, as_views
from imvc.datasets import load_digits_views, make_views, random_mask
from imvc.kernels._anchor_graph import weights_to_csr
from imvc.methods import anchor_model
from imvc.metrics import adjusted_rand
from rise_oracle import rise, smallest_cosine


@pytest.fixture(scope="module")
def data():
    return make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return RISE(3, random_state=0).fit(data.Xs, mask=data.mask)


VARIANTS = [
    dict(anchors="kmeans"),
    dict(anchors="random"),
    dict(anchors="das", n_anchors=40),
    dict(anchors="das-cosine", n_anchors=40),
    dict(completion="first-order", beta=1.0),
    dict(completion="first-order-two-stage"),
    dict(init="identity"),
    dict(metric="euclidean"),
    dict(scale="standard"),
    dict(scale=None),
    dict(row_normalize=False, n_anchors=20),
    dict(embedding_dim=6),
    dict(anchor_sample=None),
    dict(anchor_sample=30),
    dict(n_neighbors=3, n_anchors=12),
    dict(graph="full"),
    dict(graph="full", init="identity"),
    dict(graph="full", completion="first-order", beta=1.0),
    dict(graph="full", completion="first-order-two-stage"),
    dict(graph="full", metric="euclidean", scale="standard"),
]
IDS = ["-".join(map(str, itertools.chain(*v.items()))) for v in VARIANTS]


@pytest.mark.parametrize("options", VARIANTS, ids=IDS)
def test_every_variant_finds_planted_clusters(options, data):
    model = RISE(3, random_state=0, max_iter=300, **options)
    labels = model.fit_predict(data.Xs, mask=data.mask)
    assert model.embedding_.shape == (150, options.get("embedding_dim", 3))
    # Matching coordinates of embeddings that are each rotated at will is the weakness
    # of the two-stage ablation; every other variant must find nearly all.
    weak = options.get("completion") == "first-order-two-stage"
    assert adjusted_rand(data.y, labels) > (0.2 if weak else 0.85)


CHANGES = [
    dict(anchors="random"),
    dict(anchors="das"),
    dict(anchors="das-cosine"),
    dict(completion="first-order"),
    dict(completion="first-order-two-stage"),
    dict(init="identity"),
    dict(metric="euclidean"),
    dict(scale="standard"),
    dict(scale=None),
    dict(beta=0.5),
    dict(n_anchors=20),
    dict(n_neighbors=3),
    dict(graph="full"),
    dict(random_state=1),
    dict(max_iter=1),
    dict(tol=1e-2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", CHANGES, ids=str)
def test_every_parameter_changes_the_embedding(options, data):
    common = dict(n_clusters=3, max_iter=20, tol=0.0, beta=2.0, random_state=0)
    if len(options) > 1:
        common["n_anchors"] = options["n_anchors"]
    before = RISE(**common).fit(data.Xs, mask=data.mask)
    after = RISE(**(common | options)).fit(data.Xs, mask=data.mask)
    assert not np.allclose(before.embedding_, after.embedding_, atol=1e-9)


def test_the_embedding_is_orthonormal_and_the_objective_falls(model):
    Y = model.embedding_
    np.testing.assert_allclose(Y.T @ Y, np.eye(3), atol=1e-10)
    assert (np.diff(model.objective_) <= 1e-9).all()
    assert model.converged_
    assert model.n_iter_ == len(model.objective_)


def test_training_samples_are_predicted_with_their_labels(model, data):
    np.testing.assert_array_equal(model.predict(data.Xs, mask=data.mask), model.labels_)
    np.testing.assert_allclose(
        model.transform(data.Xs, mask=data.mask), model.embedding_, atol=1e-12
    )


def test_patterns_never_seen_in_training_are_predicted(data):
    """Fitted on complete samples and on pairs; asked for single views."""
    mask = np.ones((150, 3), bool)
    mask[::3, 0] = False
    model = RISE(3, random_state=0).fit(data.Xs, mask=mask)
    for v in range(3):
        Xs = [None] * 3
        Xs[v] = data.Xs[v]
        assert adjusted_rand(data.y, model.predict(Xs)) > 0.85


def test_new_samples_of_the_same_clusters_are_recognised():
    everything = make_views(600, (10, 14, 8), 3, incomplete=0.5, random_state=1)
    old = [X[:300] for X in everything.Xs], everything.mask[:300]
    new = [X[300:] for X in everything.Xs], everything.mask[300:]
    model = RISE(3, random_state=0).fit(old[0], mask=old[1])
    labels = model.predict(new[0], mask=new[1])
    assert adjusted_rand(everything.y[300:], labels) > 0.9


def test_a_single_sample_is_predicted_like_in_company(model, data):
    alone = model.predict([X[4:5] for X in data.Xs], mask=data.mask[4:5])
    assert alone[0] == model.labels_[4]


def test_beta_path_equals_separate_fits(data):
    base = RISE(3, random_state=0, max_iter=1000)
    path = base.beta_path(data.Xs, [1.0, 50.0], embedding_dims=[3, 5], mask=data.mask)
    settings = [(d, beta) for d in (3, 5) for beta in (1.0, 50.0)]
    for (d, beta), on_path in zip(settings, path):
        alone = clone(base).set_params(embedding_dim=d, beta=beta)
        alone.fit(data.Xs, mask=data.mask)
        np.testing.assert_array_equal(on_path.labels_, alone.labels_)
        np.testing.assert_allclose(on_path.objective_, alone.objective_)
        np.testing.assert_array_equal(
            on_path.predict(data.Xs, mask=data.mask), alone.labels_
        )


def test_beta_path_refuses_a_full_graph(data):
    with pytest.raises(ValueError, match="graph='bipartite'"):
        RISE(3, graph="full").beta_path(data.Xs, [1.0])


def test_threads_do_not_change_the_result(data):
    one, two, three = (
        RISE(3, n_jobs=k, random_state=0).fit(data.Xs, mask=data.mask)
        for k in (1, 2, 3)
    )
    for other in (two, three):
        np.testing.assert_array_equal(one.embedding_, other.embedding_)
        np.testing.assert_array_equal(one.labels_, other.labels_)


def test_sparse_views_stay_sparse_and_give_the_dense_result(data, monkeypatch):
    rng = np.random.default_rng(0)
    Xs = [X * (rng.random(X.shape) < 0.7) for X in data.Xs]
    dense = RISE(3, n_anchors=50, random_state=0).fit(Xs, mask=data.mask)

    def refuse(self, *args, **kwargs):
        assert self.shape[0] <= 60, "a whole sparse view was made dense"
        return original(self, *args, **kwargs)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    sparse = RISE(3, n_anchors=50, random_state=0)
    sparse.fit([sp.csr_array(X) for X in Xs], mask=data.mask)
    assert adjusted_rand(dense.labels_, sparse.labels_) > 0.95


def test_dataframes_are_joined_and_ids_come_back(data):
    pd = pytest.importorskip("pandas")
    ids = np.array([f"s{i}" for i in range(150)])
    frames = [
        pd.DataFrame(X[m], index=ids[m]).add_prefix("f")
        for X, m in zip(data.Xs, data.mask.T)
    ]
    model = RISE(3, random_state=0).fit(dict(zip("abc", frames)))
    assert sorted(model.sample_ids_) == sorted(ids)
    assert model.view_names_ == ("a", "b", "c")
    y = data.y[[int(i[1:]) for i in model.sample_ids_]]
    assert adjusted_rand(y, model.labels_) > 0.85
    one = model.predict({"c": frames[2].iloc[:5]})
    assert one.shape == (5,)


def test_integer_views_are_accepted():
    data = make_views(90, (6, 5), 3, random_state=0)
    Xs = [np.round(10 * X).astype(np.int16) for X in data.Xs]
    assert adjusted_rand(data.y, RISE(3, random_state=0).fit_predict(Xs)) > 0.85


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (dict(n_neighbors=12, n_anchors=10), "n_neighbors=12 must be smaller than"),
        (dict(embedding_dim=200), "embedding_dim=200 exceeds the number of samples"),
        (dict(embedding_dim=31, n_anchors=10), "embedding_dim=31 exceeds the total"),
        (dict(beta=0), "'beta' parameter of RISE must be a float in the range"),
        (dict(anchors="means"), "'anchors' parameter of RISE must be"),
        (dict(graph="fuzzy"), "'graph' parameter"),
        (dict(anchors=[np.ones((3, 10))]), "anchors has 1 arrays, but there are 3"),
        (
            dict(anchors=[np.ones((3, 9)), np.ones((3, 14)), np.ones((3, 8))]),
            r"anchors of view 'view0' have shape \(3, 9\); expected \(n_anchors, 10\)",
        ),
        (
            dict(anchors=[np.full((3, 10), np.nan), np.ones((3, 14)), np.ones((3, 8))]),
            "anchors of view 'view0' contain NaN or inf",
        ),
    ],
)
def test_bad_parameters_are_named(options, text, data):
    with pytest.raises(ValueError, match=text):
        RISE(3, **options).fit(data.Xs)


def test_predict_before_fit_says_so(data):
    with pytest.raises(NotFittedError, match="RISE"):
        RISE(3).predict(data.Xs)


def test_predict_with_other_features_says_so(model, data):
    with pytest.raises(
        ValueError, match="has 3 features, the model was fitted with 10"
    ):
        model.predict([data.Xs[0][:, :3], None, None])


def test_a_full_graph_has_no_rule_for_new_samples(data, tmp_path):
    model = RISE(3, graph="full", random_state=0).fit(data.Xs, mask=data.mask)
    with pytest.raises(AttributeError, match="no rule for new samples"):
        model.predict(data.Xs)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(tmp_path / "model.imvc")


def test_reaching_max_iter_warns(data):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 .*raise max_iter"):
        model = RISE(3, max_iter=1, random_state=0).fit(data.Xs, mask=data.mask)
    assert not model.converged_


def test_graphs_of_low_rank_warn_and_leave_zero_columns():
    X = np.repeat(np.eye(3), 20, axis=0)
    with pytest.warns(UserWarning, match="only 3 of embedding_dim=4"):
        model = RISE(3, embedding_dim=4, random_state=0).fit([X, X + 1])
    assert not model.embedding_[:, 3].any()
    assert adjusted_rand(np.repeat(range(3), 20), model.labels_) == 1


def test_anchor_sample_bounds_the_rows_behind_the_anchors(monkeypatch):
    data = make_views(900, (4, 5), 3, random_state=0)
    seen = []

    def spy(X, m, rng):
        seen.append(X.shape[0])
        return original(X, m, rng)

    original = anchor_model.kmeans_anchors
    monkeypatch.setattr(anchor_model, "kmeans_anchors", spy)
    for bound in (300, 50, None):
        RISE(3, n_anchors=10, anchor_sample=bound, random_state=0).fit(data.Xs)
    assert seen == [300, 300, 200, 200, 900, 900]


@pytest.mark.parametrize(
    ("n_clusters", "per_cluster", "count"), [(3, 20, 59), (60, 20, 120), (30, 50, 120)]
)
def test_small_clusters_get_fewer_anchors(n_clusters, per_cluster, count):
    made = make_views(n_clusters * per_cluster, (9,), n_clusters, random_state=0)
    model = RISE(n_clusters, random_state=0, n_init=1, max_iter=1, tol=1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(model.fit(made.Xs).anchors_[0]) == count


def test_the_callback_sees_every_objective(data):
    seen = []
    model = RISE(3, random_state=0, callback=lambda *step: seen.append(step))
    model.fit(data.Xs, mask=data.mask)
    assert [i for i, _ in seen] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_array_equal([value for _, value in seen], model.objective_)


def test_verbose_writes_to_standard_error_and_only_then(data, capsys, caplog):
    with caplog.at_level(logging.DEBUG, logger="imvc"):
        RISE(3, random_state=0).fit(data.Xs)
    assert capsys.readouterr() == ("", "")
    assert any("iteration 1" in record.message for record in caplog.records)
    RISE(3, random_state=0, verbose=1).fit(data.Xs)
    stages = capsys.readouterr().err
    assert "[RISE] anchors" in stages
    assert "iteration" not in stages.replace("iterations", "")
    RISE(3, random_state=0, verbose=2).fit(data.Xs)
    assert "[RISE] iteration 1: objective" in capsys.readouterr().err


def test_a_view_seen_by_a_few_samples_does_no_harm(data):
    for few in (1, 2, 3, 5):
        mask = data.mask.copy()
        mask[:, 0] = True
        mask[few:, 2] = False
        labels = RISE(3, random_state=0).fit_predict(data.Xs, mask=mask)
        assert adjusted_rand(data.y, labels) > 0.8


@pytest.mark.parametrize("scale", ["standard", None])
def test_other_scales_survive_zero_rows_duplicates_and_constant_columns(scale, data):
    Xs = [X.copy() for X in data.Xs]
    Xs[0][:10] = 0
    Xs[1][20:40] = Xs[1][20]
    Xs[2][:, 0] = 7
    model = RISE(3, scale=scale, random_state=0).fit(Xs, mask=data.mask)
    assert np.isfinite(model.embedding_).all()
    # Fifteen of 150 samples have lost a view; the others are as easy as before.
    assert adjusted_rand(data.y, model.labels_) > 0.7


def test_unit_rows_keep_the_missing_pattern_out_of_the_clusters():
    """Row norms of Y grow with the number of views; directions do not."""
    data = make_views(2000, (10, 10, 10), 5, incomplete=0.5, random_state=0)
    unit = RISE(5, beta=1.0, random_state=0).fit(data.Xs, mask=data.mask)
    raw = RISE(5, beta=1.0, row_normalize=False, random_state=0)
    raw.fit(data.Xs, mask=data.mask)
    assert unit.pattern_leakage_ < 0.01
    assert adjusted_rand(data.y, unit.labels_) > adjusted_rand(data.y, raw.labels_)
    counts = data.mask.sum(axis=1)
    norms = [
        np.linalg.norm(raw.embedding_[counts == k], axis=1).mean() for k in (1, 2, 3)
    ]
    assert norms == sorted(norms)


@pytest.mark.parametrize(
    ("d", "beta"), [(3, 0.1), (3, 10), (6, 10)], ids=["d3-b0.1", "d3-b10", "d6-b10"]
)
@pytest.mark.parametrize("init", ["identity", "svd"])
def test_the_authors_program_is_reproduced(d, beta, init, reference_data):
    case = np.load(reference_data / "small_case.npz")
    reference = np.load(reference_data / f"rise/small_kn3_m9_dim{d}_beta{beta}.npz")
    suffix = "" if init == "identity" else "_svd_init"
    logged = reference[f"objective_as_logged{suffix}"]
    Xs, mask = [case[f"X{v}"] for v in range(3)], case["mask"]
    model = RISE(
        3,
        n_neighbors=3,
        embedding_dim=d,
        beta=beta,
        anchors=[reference[f"anchors{v}"] for v in range(3)],
        metric="euclidean",
        init=init,
        max_iter=len(logged),
        tol=0,
    )
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        model.fit(Xs, mask=mask)
    rows = model._graphs(as_views(Xs, mask)).graphs
    for v in range(3):
        np.testing.assert_allclose(
            weights_to_csr(*rows[v], 9).toarray(), reference[f"graph{v}"], atol=1e-12
        )
    assert 1 - smallest_cosine(model.embedding_, reference[f"Y{suffix}"]) < 1e-12
    # The release logs another function than it minimises; its twin here is the oracle.
    B = [reference[f"graph{v}"] for v in range(3)]
    B = [Z / np.sqrt(Z.sum(axis=0)) for Z in B]
    h = [np.flatnonzero(mask[:, v]) for v in range(3)]
    F = [np.eye(len(r), d) for r in h] if init == "identity" else None

    def as_logged(Y, F, B, h, beta):
        shared_part = sum(np.square(Y[r].T @ f).sum() for r, f in zip(h, F))
        spectral = sum(d - np.square(b.T @ f).sum() for b, f in zip(B, F))
        return 2 * len(h) * len(Y) - shared_part + beta * spectral

    values = rise(B, h, 150, d, beta, len(logged), F, as_logged)[2]
    np.testing.assert_allclose(values, logged, rtol=1e-12)
    true = rise(B, h, 150, d, beta, len(logged), F)[2]
    np.testing.assert_allclose(model.objective_, true, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("completion", ["second-order", "first-order"])
def test_the_identity_start_needs_as_many_anchors_as_dimensions(completion, data):
    """Issue 16: with fewer the authors' program starts from the SVD, zero-padded."""
    options = dict(beta=0.5, n_anchors=9, max_iter=5, tol=0, completion=completion)

    def embedding(init, d):
        model = RISE(3, init=init, embedding_dim=d, random_state=0, **options)
        return model.fit(data.Xs, mask=data.mask).embedding_

    np.testing.assert_array_equal(embedding("identity", 10), embedding("svd", 10))
    assert not np.allclose(embedding("identity", 9), embedding("svd", 9), atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_identity_start_with_few_anchors_equals_the_padded_svd_on_samples(data):
    model = RISE(3, n_anchors=5, n_neighbors=3, embedding_dim=7, init="identity")
    model.set_params(beta=0.5, max_iter=6, tol=0, random_state=0)
    model.fit(data.Xs, mask=data.mask)
    rows = model._graphs(as_views(data.Xs, data.mask)).graphs
    B = [weights_to_csr(*rows[v], 5).toarray() for v in range(3)]
    B = [Z / np.sqrt(Z.sum(axis=0)) for Z in B]
    h = [np.flatnonzero(seen) for seen in data.mask.T]
    Y, _, objective = rise(B, h, len(data.mask), 7, 0.5, 6)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-9)
    assert 1 - smallest_cosine(model.embedding_, Y) < 1e-9


def test_masks_that_leave_two_views_without_overlap_are_survived(data):
    mask = random_mask(150, 2, 1.0, random_state=0)
    model = RISE(3, random_state=0).fit(data.Xs[:2], mask=mask)
    assert np.isfinite(model.embedding_).all()


def test_full_graphs_that_fall_apart_give_the_same_every_time():
    """Lanczos starts anew where a graph has several parts; so do we, from one seed."""
    data = load_digits_views()
    rows = np.random.RandomState(0).permutation(data.n_samples)[:400]
    Xs = [X[rows] for X in data.Xs]
    mask = random_mask(400, len(Xs), 0.5, random_state=0)
    options = dict(graph="full", metric="euclidean", scale="standard", max_iter=3)
    first, second = (
        RISE(10, random_state=0, **options).fit(Xs, mask=mask) for _ in range(2)
    )
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
