import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import bridge_oracle as twin
from imvc import AnchorBridge, as_views
from imvc.datasets import class_dependent_mask, make_views, random_mask
from imvc.kernels._kmeans import assign
from imvc.methods.bridge.graphs import GraphRule
from imvc.methods.bridge.passes import Learner
from imvc.methods.bridge.rounding import (
    SizeTolerant,
    ascend,
    guarded_partition,
    unit_centers,
)
from imvc.methods.bridge.spectrum import (
    diffused,
    diffusion_time,
    effective_dimension,
)
from imvc.metrics import adjusted_rand
from imvc.scale import row_statistics


@pytest.fixture(scope="module")
def data():
    return make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)


def quiet(model, Xs, mask=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(Xs, mask=mask)


def no_overlap(rng, n):
    """Views 0 and 1 are never seen together, view 2 links them."""
    mask = np.ones((n, 3), bool)
    mask[: n // 2, 0] = False
    mask[n // 2 :, 1] = False
    return mask


def seen_by_three(rng, n):
    mask = np.ones((n, 3), bool)
    mask[3:, 2] = False
    return mask


def damaged(data):
    """Zero rows, duplicates and a constant column."""
    Xs = [X.copy() for X in data.Xs]
    Xs[0][:10] = 0
    Xs[1][20:40] = Xs[1][20]
    Xs[2][:, 0] = 7
    return Xs


def case(name):
    """``(Xs, mask, c, options)`` of one hard or ordinary input."""
    rng = np.random.default_rng(0)
    data = make_views(90, (10, 14, 8), 3, incomplete=0.5, random_state=0)
    if name == "one view":
        return data.Xs[:1], np.ones((90, 1), bool), 3, {}
    if name == "two views":
        return data.Xs[:2], random_mask(90, 2, 0.5, 0), 3, {}
    if name == "six views":
        six = make_views(80, (5, 6, 7, 8, 9, 10), 3, incomplete=0.8, random_state=0)
        return six.Xs, six.mask, 3, {}
    if name == "no overlap":
        return data.Xs, no_overlap(rng, 90), 3, {}
    if name == "seen by three":
        return data.Xs, seen_by_three(rng, 90), 3, {}
    if name == "zero rows, duplicates, constant columns":
        return damaged(data), data.mask, 3, {}
    if name == "n = 30":
        return [X[:30] for X in data.Xs], data.mask[:30], 3, {}
    if name == "c = 2":
        return data.Xs, data.mask, 2, {}
    if name == "c > 100":
        many = make_views(220, (6, 7), 101, incomplete=0.3, random_state=0)
        return many.Xs, many.mask, 101, {}
    if name == "principal coordinates":
        return data.Xs, data.mask, 3, dict(n_components=5)
    if name == "few anchors":
        return data.Xs, data.mask, 3, dict(n_anchors=7, n_neighbors=2)
    if name == "mask as view":
        mask = class_dependent_mask(data.y, 3, 0.6, 0)
        return data.Xs, mask, 3, dict(mask_as_view=True)
    if name == "junk view":
        noise = rng.standard_normal((90, 6))
        return [data.Xs[0], noise], random_mask(90, 2, 0.4, 0), 3, {}
    return data.Xs, data.mask, 3, {}


CASES = [
    "ordinary",
    "one view",
    "two views",
    "six views",
    "no overlap",
    "seen by three",
    "zero rows, duplicates, constant columns",
    "n = 30",
    "c = 2",
    "c > 100",
    "principal coordinates",
    "few anchors",
    "mask as view",
    "junk view",
]


def assert_same_subspaces(U, V, s, tol=1e-6):
    """The projections agree wherever the singular values leave a gap."""
    for j in np.flatnonzero(s[:-1] - s[1:] > 1e-4) + 1:
        cosines = np.linalg.svd(U[:, :j].T @ V[:, :j], compute_uv=False)
        assert cosines.min() > 1 - tol, f"first {j} vectors"


def learn(name):
    """Views of a case, its graphs and passes, and how many axes the twin keeps."""
    Xs, mask, c, options = case(name)
    rule = GraphRule(c, *map(options.get, ("n_anchors", "n_neighbors")), 100, None)
    if "n_components" in options:
        rule = replace(rule, n_components=options["n_components"])
    learner = Learner(rule, options.get("mask_as_view", False), map)
    views = as_views(Xs, mask)
    return views, *learner.learn(views, (0, 0)), rule.n_components


def anchors_of(graphs):
    """``[kind][v] -> (anchors, k)`` as the twin takes them."""
    kinds = zip(*(own.anchors for own in graphs.views))
    return [[(a.points, a.n_neighbors) for a in kind] for kind in kinds]


def compare_pass(found, expected):
    s = np.sqrt(found.spectrum.values)
    both = min(len(s), len(expected.s))  # how many are zero is a matter of rounding
    assert max(len(s), len(expected.s)) == both or expected.s[both:].max() < 1e-4
    np.testing.assert_allclose(s[:both], expected.s[:both], atol=1e-9)
    U, strong = found.U[:, 1:], s > 1e-2
    assert_same_subspaces(U[:, strong], expected.U[:, : len(s)][:, strong], s[strong])
    np.testing.assert_allclose(
        [bridge.weights for bridge in found.joint.bridges], expected.w, atol=1e-8
    )
    # Gram matrices do not depend on signs or on rotations among equal values.
    Y = diffused(found.U, found.spectrum.values, expected.c)
    np.testing.assert_allclose(Y @ Y.T, expected.Y @ expected.Y.T, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_both_passes_give_what_the_dense_twin_gives(name):
    views, graphs, passes, n_components = learn(name)
    Xs, mask, c, _ = case(name)
    joint, anchors = passes.second.joint, anchors_of(graphs)
    first = twin.pass_one(Xs, mask, c, anchors[:2], n_components, joint.mask_share)
    compare_pass(passes.first, first)
    np.testing.assert_allclose(
        passes.evidence.agreement[:2], [k.agreement for k in first.kinds], atol=1e-8
    )
    Y = diffused(passes.first.U, passes.first.spectrum.values, c)
    maps = twin.learn(first, Y)
    np.testing.assert_allclose(passes.r_squared, [m.R2 for m in maps], atol=1e-6)
    second = twin.pass_two(first, maps, anchors[2])
    compare_pass(passes.second, second)
    # Placed like new samples, by the maps instead of what leaves a sample out.
    rows = joint.embed(
        graphs(views), passes.second.spectrum.W, len(mask) ** -0.5, np.float64
    )
    Y = diffused(rows, passes.second.spectrum.values, c)
    expected = twin.placed(second, maps, anchors[2])
    np.testing.assert_allclose(Y @ Y.T, expected @ expected.T, atol=1e-5)


def test_the_guard_decides_as_the_twin_does(seed):
    for name in ("skewed", "ordinary", "two views"):
        Xs, mask = skewed() if name == "skewed" else case(name)[:2]
        c = 7 if name == "skewed" else 3
        learner = Learner(GraphRule(c, 30, None, 100, None), False, map)
        graphs, passes = learner.learn(as_views(Xs, mask), (seed, 0))
        starts = []
        centers = {}
        for number, found in enumerate((passes.first, passes.second)):
            X = diffused(found.U, found.spectrum.values, c)
            centers[number] = unit_centers(X, c, 5, 0, map)
            plain = np.ascontiguousarray(found.U[:, 1:c])
            plain_labels = assign(plain, unit_centers(plain, c, 5, 0, map))[0]
            starts.append((assign(X, centers[number])[0], plain_labels))
        anchors = anchors_of(graphs)
        first = twin.pass_one(Xs, mask, c, anchors[:2])
        Y = diffused(passes.first.U, passes.first.spectrum.values, c)
        maps = twin.learn(first, Y)
        second = twin.pass_two(first, maps, anchors[2])
        labels, _ = twin.guard(first, second, starts)
        rule = guarded_partition(passes, centers[1], c, 5, 0, map)
        expected = SizeTolerant.of(second.Y[:, 1:], labels, c, rule.exponent)
        np.testing.assert_array_equal(rule.counts, expected.counts)


@pytest.mark.parametrize(
    "name", ["ordinary", "no overlap", "six views", "mask as view"]
)
def test_statistics_by_patterns_equal_those_by_rows(name):
    views, _, passes, _ = learn(name)
    joint, rows, W = passes.second.joint, passes.rows, passes.second.spectrum.W
    by_patterns = joint.statistics(row_statistics(rows, joint.sizes))
    by_rows = joint.row_statistics(rows)
    for one, other in zip(by_patterns, by_rows):
        np.testing.assert_allclose(one, other, atol=1e-12 * other.max())
    Y = np.empty((views.n_samples, W.shape[1]))
    for block, R in joint.row_blocks(rows):
        Y[block] = R @ W
    np.testing.assert_allclose(Y.T @ Y, np.eye(W.shape[1]), atol=1e-6)
    for p in views.patterns():
        stacked = [v + kind * views.n_views for kind in range(3) for v in p.views]
        C = joint.coefficients(tuple(stacked), W, 0.5)
        Z = [np.zeros((len(p.rows), joint.sizes[i])) for i in stacked]
        for z, i in zip(Z, stacked):
            indices, weights = rows.graphs[i]
            at = np.searchsorted(views.rows(i % views.n_views), p.rows)
            np.put_along_axis(z, indices[at], weights[at], axis=1)
        found = np.hstack(Z) @ C
        np.testing.assert_allclose(found[:, 1:], Y[p.rows], atol=1e-8)
        np.testing.assert_allclose(found[:, 0], 0.5)


def test_many_samples_go_by_patterns():
    """Enough samples that patterns are fewer columns: the vectors are orthonormal."""
    data = make_views(2000, (6, 5), 3, incomplete=0.5, random_state=0)
    views = as_views(data.Xs, data.mask)
    learner = Learner(GraphRule(3, 20, None, 100, None), False, map)
    _, passes = learner.learn(views, (0, 0))
    for found in (passes.first, passes.second):
        np.testing.assert_allclose(
            found.U.T @ found.U, np.eye(found.U.shape[1]), atol=1e-9
        )
    model = AnchorBridge(3, n_anchors=20, random_state=0).fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(model.predict(data.Xs, mask=data.mask), model.labels_)
    # One at a time a new sample goes by rows; it must land in the same place.
    one = [X[3:4] for X in data.Xs]
    np.testing.assert_allclose(
        model.transform(one, mask=data.mask[3:4])[0], model.embedding_[3], atol=1e-12
    )


VARIANTS = [
    {},
    dict(partition="unit"),
    dict(mask_as_view=True),
    dict(stability=True),
    dict(n_anchors=20),
    dict(n_neighbors=4),
    dict(n_components=4),
    dict(n_init=1),
    dict(anchor_sample=40, n_anchors=20),
    dict(anchor_sample=None),
    dict(n_jobs=2),
]
IDS = ["-".join(map(str, itertools.chain(*v.items()))) or "default" for v in VARIANTS]


@pytest.mark.parametrize("options", VARIANTS, ids=IDS)
def test_every_variant_finds_planted_clusters_and_survives_a_file(
    options, data, tmp_path
):
    model = AnchorBridge(3, random_state=0, **options).fit(data.Xs, mask=data.mask)
    assert adjusted_rand(data.y, model.labels_) > 0.85
    np.testing.assert_array_equal(model.predict(data.Xs, mask=data.mask), model.labels_)
    np.testing.assert_allclose(
        model.transform(data.Xs, mask=data.mask), model.embedding_, atol=1e-12
    )
    model.save(tmp_path / "m.imvc")
    loaded = AnchorBridge.load(tmp_path / "m.imvc")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.embedding_, model.embedding_)
    np.testing.assert_array_equal(
        loaded.predict(data.Xs, mask=data.mask), model.labels_
    )
    alone = [None, data.Xs[1], None]
    np.testing.assert_array_equal(loaded.transform(alone), model.transform(alone))


CHANGES = [
    dict(n_clusters=4),
    dict(n_anchors=20),
    dict(n_neighbors=4),
    dict(n_components=4),
    dict(anchor_sample=40, n_anchors=20),
    dict(random_state=1),
]


@pytest.mark.parametrize("options", CHANGES, ids=str)
def test_every_parameter_of_the_embedding_acts(options, data):
    common = dict(n_clusters=3, random_state=0)
    if len(options) > 1:
        common["n_anchors"] = options["n_anchors"]
    before = AnchorBridge(**common).fit(data.Xs, mask=data.mask)
    after = AnchorBridge(**(common | options)).fit(data.Xs, mask=data.mask)
    assert before.embedding_.shape != after.embedding_.shape or not np.allclose(
        before.embedding_, after.embedding_, atol=1e-9
    )


def test_the_mask_as_a_view_acts_when_absence_tells_the_class(data):
    mask = class_dependent_mask(data.y, 3, 0.6, 0)
    plain = quiet(AnchorBridge(3, random_state=0), data.Xs, mask)
    with_mask = quiet(AnchorBridge(3, mask_as_view=True, random_state=0), data.Xs, mask)
    assert with_mask._learnt[0].joint.mask_share > 0.05
    assert not np.allclose(plain.singular_values_[:3], with_mask.singular_values_[:3])


def test_more_starts_never_end_worse(data):
    noise = [np.random.default_rng(0).standard_normal(X.shape) for X in data.Xs]
    few, many = (
        AnchorBridge(8, n_init=k, partition="unit", random_state=0)
        .fit(noise, mask=data.mask)
        .inertia_
        for k in (1, 30)
    )
    assert many < few


def test_class_dependent_gaps_warn_and_random_ones_do_not(data, seed):
    big = make_views(400, (10, 14, 8), 3, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mask = random_mask(400, 3, 0.5, seed)
        model = AnchorBridge(3, random_state=seed).fit(big.Xs, mask=mask)
    assert model.missingness_.max() < 0.05
    mask = class_dependent_mask(big.y, 3, 0.5, seed)
    with pytest.warns(UserWarning, match="not missing at random: view 'view"):
        model = AnchorBridge(3, random_state=seed).fit(big.Xs, mask=mask)
    assert model.missingness_.max() > 0.1
    assert adjusted_rand(big.y, model.labels_) > 0.85


def test_a_junk_view_does_no_harm(data, seed):
    rng = np.random.default_rng(seed)
    junk = rng.standard_normal((150, 12))
    mask = random_mask(150, 4, 0.3, seed)
    model = AnchorBridge(3, random_state=seed).fit([*data.Xs, junk], mask=mask)
    seen = mask[:, :3].any(axis=1)
    assert adjusted_rand(data.y[seen], model.labels_[seen]) > 0.85
    assert model.view_weights_.argmin() == 3
    assert model.view_weights_[3] < 0.1


def test_one_good_view_outweighs_a_junk_view(data):
    junk = np.random.default_rng(0).standard_normal((150, 12))
    model = AnchorBridge(3, random_state=0).fit([data.Xs[0], junk])
    # The gate: weights by how well both kinds of features reproduce a view's spectrum.
    assert model.view_weights_[0] > 0.55
    assert adjusted_rand(data.y, model.labels_) > 0.8


def test_views_without_a_path_are_clustered_apart():
    data = make_views(240, (10, 14, 8, 9), 3, random_state=0)
    mask = np.zeros((240, 4), bool)
    mask[:140, :2] = True
    mask[140:, 2:] = True
    model = AnchorBridge(3, random_state=0, stability=True)
    with pytest.warns(UserWarning, match="share too few samples.*clustered apart"):
        model.fit(data.Xs, mask=mask)
    assert model.component_views_ == [(0, 1), (2, 3)]
    assert set(model.labels_[:140]) == {0, 1, 2}
    assert set(model.labels_[140:]) == {3, 4, 5}
    for rows in (slice(140), slice(140, 240)):
        assert adjusted_rand(data.y[rows], model.labels_[rows]) > 0.85
    np.testing.assert_array_equal(model.predict(data.Xs, mask=mask), model.labels_)
    np.testing.assert_allclose(
        model.transform(data.Xs, mask=mask), model.embedding_, atol=1e-12
    )
    assert model.cluster_centers_.shape == (6, model.embedding_.shape[1])
    assert model.view_weights_.sum() == pytest.approx(1)
    # A new sample with views of both components has a place, too.
    assert model.predict([X[:3] for X in data.Xs]).shape == (3,)


def test_components_survive_a_file(tmp_path):
    data = make_views(120, (10, 14), 3, random_state=0)
    mask = np.zeros((120, 2), bool)
    mask[:70, 0] = mask[70:, 1] = True
    model = quiet(AnchorBridge(3, partition="guarded", random_state=0), data.Xs, mask)
    model.save(tmp_path / "m.imvc")
    loaded = AnchorBridge.load(tmp_path / "m.imvc")
    np.testing.assert_array_equal(loaded.predict(data.Xs, mask=mask), model.labels_)
    assert loaded.component_views_ == model.component_views_


def test_a_model_of_the_first_version_is_refused(model, tmp_path, monkeypatch):
    arrays, values = model._get_state()
    del values["version"]  # which files of the first version do not have
    monkeypatch.setattr(AnchorBridge, "_get_state", lambda self: (arrays, values))
    model.save(tmp_path / "old.imvc")
    with pytest.raises(ValueError, match=r"version 1.*fit the samples anew"):
        AnchorBridge.load(tmp_path / "old.imvc")


def test_a_view_that_one_in_a_thousand_has_is_learnt_from_and_placed():
    data = make_views(20_000, (6, 5, 8), 3, separation=8, random_state=0)
    rare = np.arange(0, 20_000, 1000)
    mask = random_mask(20_000, 3, 0.5, 0)
    mask[:, 2] = False
    mask[~mask.any(axis=1), 0] = True
    mask[rare] = [[True, False, True], [False, False, True]] * 10
    model = quiet(AnchorBridge(3, learn_sample=2000, random_state=0), data.Xs, mask)
    assert adjusted_rand(data.y, model.labels_) > 0.9
    both, alone = rare[::2], rare[1::2]
    truth = [np.bincount(data.y[model.labels_ == k]).argmax() for k in range(3)]
    right = np.take(truth, model.labels_) == data.y
    assert right[both].mean() >= 0.9
    assert right[alone].mean() >= 0.6  # bridged by ten samples


def test_patterns_never_seen_in_training_are_predicted(data):
    mask = np.ones((150, 3), bool)
    mask[::3, 0] = False
    model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=mask)
    for v in range(3):
        Xs = [None] * 3
        Xs[v] = data.Xs[v]
        assert adjusted_rand(data.y, model.predict(Xs)) > 0.85


def test_new_samples_of_the_same_clusters_are_recognised():
    everything = make_views(600, (10, 14, 8), 3, incomplete=0.5, random_state=1)
    old = [X[:300] for X in everything.Xs], everything.mask[:300]
    new = [X[300:] for X in everything.Xs], everything.mask[300:]
    for partition in ("unit", "guarded"):
        model = AnchorBridge(3, partition=partition, random_state=0)
        model.fit(old[0], mask=old[1])
        labels = model.predict(new[0], mask=new[1])
        assert adjusted_rand(everything.y[300:], labels) > 0.9


def test_wide_sparse_views_stay_sparse_and_give_the_dense_result(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    Xs = [
        (5 * rng.random((3, d)) ** 4)[y] * (rng.random((150, d)) < 0.5)
        for d in (150, 130)
    ]
    mask = random_mask(150, 2, 0.3, 0)
    dense = AnchorBridge(3, random_state=0).fit(Xs, mask=mask)
    original = sp.csr_array.toarray

    def refuse(self, *args, **kwargs):
        assert self.shape[1] < 130, "a wide sparse view was made dense"
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    sparse = AnchorBridge(3, random_state=0)
    sparse.fit([sp.csr_array(X) for X in Xs], mask=mask)
    assert adjusted_rand(y, dense.labels_) > 0.95
    assert adjusted_rand(y, sparse.labels_) > 0.95


def test_narrow_sparse_views_give_the_dense_result(data):
    Xs = [np.where(np.abs(X) > 0.5, X, 0) for X in data.Xs]
    dense = AnchorBridge(3, random_state=0).fit(Xs, mask=data.mask)
    sparse = AnchorBridge(3, random_state=0)
    sparse.fit([sp.csr_array(X) for X in Xs], mask=data.mask)
    assert adjusted_rand(dense.labels_, sparse.labels_) > 0.95


def test_float32_stays_float32_and_agrees(data, model):
    single = AnchorBridge(3, random_state=0)
    single.fit([X.astype(np.float32) for X in data.Xs], mask=data.mask)
    assert single.embedding_.dtype == single.cluster_centers_.dtype == np.float32
    (part,) = single._learnt
    assert all(a.points.dtype == np.float32 for a in part.graphs.views[0].anchors)
    assert part.spectrum.W.dtype == np.float64
    assert adjusted_rand(single.labels_, model.labels_) > 0.95


def test_threads_do_not_change_the_result(data):
    one, two, three = (
        AnchorBridge(3, n_jobs=k, random_state=0).fit(data.Xs, mask=data.mask)
        for k in (1, 2, 3)
    )
    for other in (two, three):
        np.testing.assert_array_equal(one.embedding_, other.embedding_)
        np.testing.assert_array_equal(one.labels_, other.labels_)


def test_stability_is_high_on_planted_clusters_and_low_on_noise(data):
    options = dict(stability=True, random_state=0)
    planted = AnchorBridge(3, **options).fit(data.Xs, mask=data.mask)
    rng = np.random.default_rng(0)
    noise = [rng.standard_normal((150, 10)) for _ in range(3)]
    junk = AnchorBridge(3, **options).fit(noise, mask=data.mask)
    assert planted.stability_ > 0.9
    assert junk.stability_ < 0.75
    assert AnchorBridge(3, random_state=0).fit(noise).stability_ is None


def test_stability_does_not_change_the_labels(data, model):
    other = AnchorBridge(3, stability=True, random_state=0)
    np.testing.assert_array_equal(
        other.fit_predict(data.Xs, mask=data.mask), model.labels_
    )


@pytest.mark.parametrize("c", [3, 5])
def test_the_planted_number_of_clusters_is_suggested(c, seed, tmp_path):
    """Give or take one, as the reason says."""
    data = make_views(300, (10, 14, 8), c, incomplete=0.3, random_state=seed)
    model = AnchorBridge(range(2, 9), random_state=seed).fit(data.Xs, mask=data.mask)
    k = model.n_clusters_
    assert abs(k - c) <= 1
    assert k == model.candidates_[0].k
    assert model.evidence_ == "strong"
    assert model.evidence_reason_.startswith("every cluster comes back")
    curve = model.stability_curve_
    np.testing.assert_array_equal(curve[:, 0], range(2, 9))
    assert curve[c - 2, 1] > 0.9
    assert model.cluster_stability_.shape == (k,)
    same = AnchorBridge(k, random_state=seed).fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    assert same.n_clusters_ == k
    assert same.stability_curve_ is same.candidates_ is same.evidence_ is None
    model.save(tmp_path / "m.imvc")
    loaded = AnchorBridge.load(tmp_path / "m.imvc")
    np.testing.assert_array_equal(loaded.stability_curve_, curve)
    assert loaded.candidates_ == model.candidates_


def test_noise_is_said_to_have_no_clusters(seed):
    rng = np.random.default_rng(seed)
    noise = [rng.standard_normal((200, 10)) for _ in range(3)]
    with pytest.warns(UserWarning, match="may be no clusters in these data: "):
        model = AnchorBridge(random_state=seed).fit(noise)
    assert model.evidence_ == "none"
    np.testing.assert_array_equal(model.stability_curve_[:, 0], range(2, 21))


def test_no_cluster_takes_all_where_there_are_none():
    rng = np.random.default_rng(0)
    noise = [rng.standard_normal((300, 10)) for _ in range(3)]
    counts = np.bincount(AnchorBridge(4, random_state=0).fit_predict(noise))
    assert counts.max() < 200


def skewed():
    """One cluster of 400 samples and six of 20."""
    rng = np.random.default_rng(0)
    y = np.repeat(range(7), [400] + [20] * 6)
    Xs = [4 * rng.standard_normal((7, d))[y] for d in (8, 9)]
    Xs = [X + rng.standard_normal(X.shape) for X in Xs]
    return Xs, random_mask(len(y), 2, 0.3, 0)


def test_the_guard_acts_on_clusters_of_unequal_size():
    Xs, mask = skewed()
    unit, guarded = (
        AnchorBridge(7, partition=kind, random_state=0).fit(Xs, mask=mask)
        for kind in ("unit", "guarded")
    )
    np.testing.assert_array_equal(unit.embedding_, guarded.embedding_)
    assert not np.array_equal(unit.labels_, guarded.labels_)
    np.testing.assert_array_equal(guarded.predict(Xs, mask=mask), guarded.labels_)


def test_gains_of_the_guard_are_differences_of_its_objective(rng):
    X, labels, a = rng.standard_normal((30, 4)), np.arange(30) % 3, 0.8
    clusters = SizeTolerant.of(X, labels, 3, a)
    gain, worth = clusters.join(X), clusters.stay(X, labels)
    for i, k in itertools.product(range(5), range(3)):
        if k == labels[i]:
            continue
        moved = labels.copy()
        moved[i] = k
        change = SizeTolerant.of(X, moved, 3, a).value() - clusters.value()
        assert gain[i, k] - worth[i] == pytest.approx(change)


def test_the_guard_never_ends_below_its_start(rng):
    X, labels = rng.standard_normal((200, 5)), rng.integers(4, size=200)
    found = ascend(X, labels, 4, 0.85)
    before, after = (SizeTolerant.of(X, y, 4, 0.85).value() for y in (labels, found))
    assert after > before


def test_the_callback_sees_every_kind_and_both_joint_graphs(data):
    seen = []
    model = AnchorBridge(3, random_state=0, callback=lambda *step: seen.append(step))
    model.fit(data.Xs, mask=data.mask)
    assert [i for i, _ in seen] == [1, 2, 3, 4, 5]
    assert seen[-1][1] == model.objective_[0]
    s = model.singular_values_[:2]
    assert model.objective_[0] == pytest.approx((1 - s**2).sum())


def test_the_diffusion_time_meets_the_effective_dimension(model):
    s = model.singular_values_
    t = model.diffusion_time_
    dimension = (s ** (2 * t)).sum() ** 2 / (s ** (4 * t)).sum()
    assert dimension == pytest.approx(effective_dimension(3, len(model.labels_)))
    assert diffusion_time(np.full(4, 0.5), 5.0) == 0
    assert diffusion_time(np.array([]), 2.0) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (dict(n_clusters=1), "'n_clusters' parameter of AnchorBridge"),
        (dict(n_clusters=[]), r"n_clusters=\[\] must be an integer, None or"),
        (dict(n_clusters=[3, 1]), "all at least 2"),
        (dict(n_clusters=(3, 2.5)), "all at least 2"),
        (dict(n_clusters=[3, 200]), "exceeds the number of samples, 150"),
        (dict(n_neighbors=12, n_anchors=10), "n_neighbors=12 must be smaller than"),
        (dict(partition="soft"), "'partition' parameter"),
        (dict(mask_as_view=2), "'mask_as_view' parameter"),
        (dict(stability="yes"), "'stability' parameter"),
        (dict(n_components=0), "'n_components' parameter"),
        (dict(n_init=0), "'n_init' parameter"),
        (dict(anchor_sample=0), "'anchor_sample' parameter"),
    ],
)
def test_bad_parameters_are_named(options, text, data):
    with pytest.raises(ValueError, match=text):
        AnchorBridge(**({"n_clusters": 3} | options)).fit(data.Xs)


def test_four_samples_are_enough():
    few = quiet(AnchorBridge(2, random_state=0), [np.arange(8.0).reshape(4, 2)])
    assert few.labels_.tolist() == [0, 0, 1, 1]


def test_overlaps_are_counted(model, data):
    mask = data.mask.astype(int)
    np.testing.assert_array_equal(model.overlap_, mask.T @ mask)


def test_a_model_from_a_file_that_measured_stability_takes_more_samples(data, tmp_path):
    """The second anchors are not in the file, so stability is unknown, not an error."""
    model = AnchorBridge(3, stability=True, random_state=0)
    model.fit(data.Xs, mask=data.mask).save(tmp_path / "model.imvc", updatable=True)
    found = AnchorBridge.load(tmp_path / "model.imvc")
    found.update([X[:20] for X in data.Xs], mask=data.mask[:20])
    assert np.isnan(found.stability_)
    assert np.isnan(found.cluster_stability_).all()
    assert len(found.labels_) == len(data.mask) + 20
