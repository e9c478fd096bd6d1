"""Views that few samples link, and inputs of a few samples."""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.methods.bridge.components import (
    Links,
    join_groups,
    scattered_views,
    view_components,
    weak_links,
)
from imvc.methods.bridge.evidence import walk
from imvc.metrics import adjusted_rand
from imvc.views import group_patterns


def few_views(n, n_views, c, seed, separation=6):
    """Planted clusters; every sample has one view, every other one a second."""
    rng = np.random.default_rng(seed)
    widths = range(8, 8 + n_views)
    data = make_views(n, widths, c, separation=separation, random_state=seed)
    order, mask = rng.random((n, n_views)).argsort(axis=1), np.zeros((n, n_views), bool)
    mask[np.arange(n), order[:, 0]] = True
    mask[np.arange(0, n, 2), order[::2, 1]] = True
    return data, mask


def two_pairs(n, c, n_links, seed=0):
    """Views 0 and 1 of the first half, 2 and 3 of the second; some have 1 and 2."""
    data = make_views(n, (10, 14, 8, 9), c, random_state=seed)
    mask = np.zeros((n, 4), bool)
    mask[: n // 2, :2] = mask[n // 2 :, 2:] = True
    mask[np.random.default_rng(seed).permutation(n)[:n_links]] = [0, 1, 1, 0]
    return data, mask


def fit(model, Xs, mask=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(Xs, mask=mask)


def links_of(mask):
    return Links({p.views: len(p.rows) for p in group_patterns(mask)})


@pytest.mark.parametrize("c", [3, 5])
def test_twelve_views_of_which_a_sample_has_one_or_two_are_clustered_together(c, seed):
    data, mask = few_views(400, 12, c, seed)
    assert len(view_components(mask.T.astype(int) @ mask, c)) > 1
    model = fit(AnchorBridge(c, random_state=seed), data.Xs, mask)
    assert model.component_views_ == [tuple(range(12))]
    assert adjusted_rand(data.y, model.labels_) > 0.9


@pytest.mark.parametrize(("n", "least"), [(90, 0.8), (120, 0.8), (200, 0.95)])
def test_ten_samples_a_view_are_matched_about_as_well_as_by_rise(n, least):
    scores = []
    for seed in range(3):
        data, mask = few_views(n, 12, 3, seed, separation=10)
        pair = AnchorBridge(3, random_state=seed), RISE(3, random_state=seed)
        found = [fit(model, data.Xs, mask).labels_ for model in pair]
        scores.append([adjusted_rand(data.y, labels) for labels in found])
    bridge, rise = np.mean(scores, axis=0)
    assert bridge > max(least, rise - 0.08)


def test_many_small_overlaps_are_told_where_no_single_link_is_weak():
    data, mask = few_views(300, 12, 3, 0)
    model = AnchorBridge(3, random_state=0)
    with pytest.warns(
        UserWarning,
        match=r"12 views fall into 12 groups, and no two views of different groups "
        r"share more than \d samples: how their clusters match rests on all of these",
    ):
        model.fit(data.Xs, mask=mask)
    assert model.weak_links_ == []


def test_links_are_scattered_where_only_all_together_are_enough():
    mask = few_views(300, 12, 3, 0)[1]
    assert scattered_views(mask, 3).tolist() == list(range(12))
    mask = two_pairs(240, 3, 6)[1]
    assert scattered_views(mask, 3).size == 0
    # Two views with few links: all together are no more.
    assert scattered_views(mask[:, 1:3], 3).size == 0
    assert scattered_views(np.ones((9, 3), bool), 4).size == 0


def test_a_walk_counts_the_steps_of_all_lengths(rng):
    """Compared with the sum of powers."""
    Z = [sp.csr_matrix(rng.random((20, m))) for m in (3, 5, 4)]
    graphs = SimpleNamespace(Z=Z, cross=lambda u, v: (Z[u].T @ Z[v]).toarray())
    stacked = sp.hstack(Z).toarray()
    T = stacked.T @ stacked
    T /= T.sum(axis=1, keepdims=True)
    expected = sum(np.linalg.matrix_power(0.9 * T, k) for k in range(400))
    np.testing.assert_allclose(walk(graphs)(0, 2), expected[:3, 8:])
    np.testing.assert_allclose(walk(graphs)(1, 0), expected[3:8, :3])


def test_groups_that_enough_samples_link_are_matched_and_the_doubt_is_told():
    data, mask = two_pairs(240, 3, 6)
    model = AnchorBridge(3, random_state=0)
    with pytest.warns(
        UserWarning,
        match=r"views 'view0' and 'view1' are linked to the others by 6 samples only: "
        r"how their clusters match is uncertain|views 'view2' and 'view3' are linked "
        r"to the others by 6 samples only: how their clusters match is uncertain",
    ):
        model.fit(data.Xs, mask=mask)
    ((views, shared),) = model.weak_links_
    assert views in ((0, 1), (2, 3))
    assert shared == 6
    assert adjusted_rand(data.y, model.labels_) > 0.95


@pytest.mark.parametrize("n_links", [0, 2])
def test_groups_that_too_few_samples_link_stay_apart(n_links):
    data, mask = two_pairs(240, 5, n_links)
    model = AnchorBridge(5, random_state=0)
    with pytest.warns(UserWarning, match="share too few samples.*clustered apart"):
        model.fit(data.Xs, mask=mask)
    assert sorted(model.component_views_) == [(0, 1), (2, 3)]
    assert model.weak_links_ == []
    for rows in (slice(120), slice(120, 240)):
        assert adjusted_rand(data.y[rows], model.labels_[rows]) > 0.9


def test_links_that_mislead_leave_the_clusters_of_each_group_whole(seed):
    """The groups know of different clusters, so what links them says nothing."""
    data, mask = two_pairs(600, 3, 6, seed)
    other = make_views(600, (10, 14, 8, 9), 3, random_state=seed + 100)
    Xs = [*data.Xs[:2], *other.Xs[2:]]
    labels = fit(AnchorBridge(3, random_state=seed), Xs, mask).labels_
    assert adjusted_rand(data.y[:300], labels[:300]) > 0.9
    assert adjusted_rand(other.y[300:], labels[300:]) > 0.9


def test_views_with_strong_links_have_no_weak_ones():
    data = make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    assert model.weak_links_ == []


def test_shared_samples_are_counted_once_however_many_views_they_have(rng):
    mask = rng.random((60, 5)) < 0.4
    mask[~mask.any(axis=1), 0] = True
    links = links_of(mask)
    one, other = mask[:, [0, 3]].any(axis=1), mask[:, [1, 2, 4]].any(axis=1)
    assert links.shared((0, 3), (1, 2, 4)) == np.sum(one & other)
    assert links.samples((0, 3)) == one.sum()


@pytest.mark.parametrize("n", [30, 60, 120])
def test_every_joined_group_is_linked_and_its_weakest_cut_is_named(n, seed):
    """Compared with all cuts of its views."""
    rng, c = np.random.default_rng([seed, n]), 4
    mask = np.eye(6, dtype=bool)[rng.integers(6, size=n)]
    mask[::4] |= np.eye(6, dtype=bool)[rng.integers(6, size=len(mask[::4]))]
    links, groups = links_of(mask), [(v,) for v in range(6)]
    joined = join_groups(groups, links, c)
    assert sorted(v for views in joined for v in views) == list(range(6))
    weak = weak_links(groups, joined, links, c)
    for component in joined:
        cuts = [
            links.shared(own, tuple({*component} - {*own}))
            for size in range(1, len(component))
            for own in itertools.combinations(component, size)
        ]
        least = min(cuts, default=np.inf)
        assert least > 0
        if least <= 2 * c + 2:
            assert least in [k for views, k in weak if {*views} <= {*component}]


def test_joined_groups_survive_a_file_and_take_more_samples(tmp_path):
    data, mask = two_pairs(240, 3, 6)
    model = fit(AnchorBridge(3, random_state=0), data.Xs, mask)
    np.testing.assert_array_equal(model.predict(data.Xs, mask=mask), model.labels_)
    model.save(tmp_path / "m.imvc", updatable=True)
    loaded = AnchorBridge.load(tmp_path / "m.imvc")
    assert loaded.weak_links_ == model.weak_links_
    np.testing.assert_array_equal(loaded.predict(data.Xs, mask=mask), model.labels_)
    # Thirty complete samples more: nothing hangs by few any longer.
    loaded.update([X[:30] for X in data.Xs])
    assert loaded.weak_links_ == []
    labels = loaded.labels_[:240]
    assert adjusted_rand(data.y, labels) > 0.95


def test_the_number_of_clusters_is_suggested_for_views_with_few_links():
    data, mask = few_views(300, 12, 3, 0)
    model = fit(AnchorBridge(range(2, 5), random_state=0), data.Xs, mask)
    assert len(model.component_views_) == 1
    assert 2 <= model.n_clusters_ <= 4


def test_views_that_many_clusters_would_set_apart_are_searched_together():
    data, mask = few_views(60, 6, 3, 0)
    model = fit(AnchorBridge(random_state=0), data.Xs, mask)
    assert len(model.component_views_) == 1
    assert model.n_clusters_ in (3, 4)


def tiny(n, c, n_views, seed, kind):
    """``(Xs, mask)`` of n samples, at least c of them distinct."""
    rng = np.random.default_rng([n, c, n_views, seed])
    Xs = [rng.standard_normal((n, 3 + v)) for v in range(n_views)]
    if kind == "repeated":
        of = np.append(np.arange(c), rng.integers(c, size=n - c))
        Xs = [X[of] for X in Xs]
    mask = np.ones((n, n_views), bool)
    if kind in ("half", "one"):
        mask = rng.random((n, n_views)) < (0.5 if kind == "half" else 0)
        mask[np.arange(n), rng.integers(n_views, size=n)] = True
    seen = mask.any(axis=0)
    return [X for X, own in zip(Xs, seen) if own], mask[:, seen]


@pytest.mark.parametrize("kind", ["complete", "half", "one", "repeated"])
@pytest.mark.parametrize("n_views", [1, 2, 3, 4])
def test_every_cluster_asked_for_is_found_in_a_few_samples(n_views, kind):
    for n in (2, 3, 5, 8, 12):
        for c in {2, (n + 2) // 2, n}:
            Xs, mask = tiny(n, c, n_views, 0, kind)
            model = fit(AnchorBridge(c, random_state=0), Xs, mask)
            assert len(np.unique(model.labels_)) >= c, (n, c)


@pytest.mark.parametrize("n_views", [1, 2])
def test_two_near_rows_of_three_are_put_together(n_views, seed):
    X = np.array([[0, 1, 2], [0.1, 1, 2], [5, -3, 1]])
    labels = fit(AnchorBridge(2, random_state=seed), [X] * n_views).labels_
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize("n_views", [1, 2, 3])
@pytest.mark.parametrize("c", [2, 3, 4])
def test_clear_clusters_of_a_few_samples_are_found(c, n_views):
    for n in (c + 1, 2 * c, 3 * c, 20):
        data = make_views(n, range(5, 5 + n_views), c, separation=20, random_state=n)
        labels = fit(AnchorBridge(c, random_state=0), data.Xs).labels_
        assert adjusted_rand(data.y, labels) == 1, n


@pytest.mark.parametrize("c", [2, 3, 4])
def test_clear_clusters_of_a_few_samples_are_found_where_views_are_missing(c):
    for n in (3 * c, 5 * c):
        data = make_views(n, (5, 6, 7), c, separation=20, random_state=n)
        mask = np.ones((n, 3), bool)
        mask[np.arange(n), np.arange(n) % 6 % 3] = np.arange(n) % 6 > 2
        labels = fit(AnchorBridge(c, random_state=0), data.Xs, mask).labels_
        assert adjusted_rand(data.y, labels) == 1, n


@pytest.mark.parametrize("method", [AnchorBridge, RISE, ImputeKMeans])
@pytest.mark.parametrize("n", [6, 300])
def test_fewer_clusters_than_asked_for_are_told(method, n):
    X = np.random.default_rng(0).standard_normal((2, 4))[np.arange(n) % 2]
    with pytest.warns(UserWarning, match="only 2 of n_clusters=3 clusters were found"):
        labels = method(3, random_state=0).fit_predict([X, X[:, :3]])
    assert len(np.unique(labels)) == 2


def test_fewer_clusters_out_of_core_are_told(tmp_path):
    X = np.random.default_rng(0).standard_normal((2, 4))[np.arange(300) % 2]
    np.save(tmp_path / "x.npy", X)
    with pytest.warns(UserWarning, match="only 2 of n_clusters=3 clusters were found"):
        AnchorBridge(3, random_state=0).fit([tmp_path / "x.npy"])
