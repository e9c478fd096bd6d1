"""explain: effects, what the views tell, and the warning about missing patterns."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from hard_views import hard_views
from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import load_digits_views, make_views, random_mask
from imvc.insight import explain

HARD = hard_views()


@pytest.fixture(scope="module")
def fitted():
    data = make_views(240, (8, 6), 3, incomplete=0.5, random_state=0)
    model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    return model, data


class Given(BaseEstimator):
    """Labels from elsewhere, in the dress of a fitted model."""

    def __init__(self, labels=None):
        self.labels_ = np.asarray(labels)

    def fit(self):
        return self


def plain_g(inside, outside):
    """Hedges' g, written out."""
    n, m = len(inside), len(outside)
    pooled = ((n - 1) * inside.var(ddof=1) + (m - 1) * outside.var(ddof=1)) / (
        n + m - 2
    )
    correction = 1 - 3 / (4 * (n + m) - 9)
    return correction * (inside.mean() - outside.mean()) / np.sqrt(pooled)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_effects_are_hedges_g_over_the_observed_rows(fitted, form):
    model, data = fitted
    Xs = [np.maximum(X, 0) for X in data.Xs]
    found = explain(model, [form(X) for X in Xs], mask=data.mask, n_features=8)
    assert len(found.features) == 3 * (8 + 6)
    for effect in found.features:
        v, j = int(effect.view[-1]), int(effect.feature[6:-1])
        seen = data.mask[:, v]
        x, own = Xs[v][seen, j], model.labels_[seen] == effect.cluster
        assert effect.effect == pytest.approx(plain_g(x[own], x[~own]))
        assert effect.mean_inside == pytest.approx(x[own].mean())
        assert effect.mean_outside == pytest.approx(x[~own].mean())
        assert effect.n_inside == own.sum()


def test_the_largest_effects_come_first_and_are_as_many_as_asked_for(fitted):
    model, data = fitted
    all_of_them = explain(model, data.Xs, mask=data.mask, n_features=8).features
    few = explain(model, data.Xs, mask=data.mask, n_features=2).features
    for cluster in range(3):
        for view in ("view0", "view1"):

            def those(effects, cluster=cluster, view=view):
                return [e for e in effects if (e.cluster, e.view) == (cluster, view)]

            sizes = [abs(e.effect) for e in those(all_of_them)]
            assert sizes == sorted(sizes, reverse=True)
            assert those(few) == those(all_of_them)[:2]


def test_a_planted_marker_is_found_by_its_name():
    pd = pytest.importorskip("pandas")
    data = make_views(150, (8, 6), 3, random_state=0)
    frame = pd.DataFrame(data.Xs[0], columns=[f"g{j}" for j in range(8)])
    frame["g5"] = 20.0 * (data.y == 1) + np.arange(150) % 7
    model = AnchorBridge(3, random_state=0).fit(
        {"genes": frame, "other": pd.DataFrame(data.Xs[1])}
    )
    label = np.bincount(model.labels_[data.y == 1]).argmax()
    found = explain(
        model, {"genes": frame, "other": pd.DataFrame(data.Xs[1])}, n_features=1
    )
    best = [e for e in found.features if e.view == "genes" and e.cluster == label]
    assert best[0].feature == "g5"
    assert best[0].effect > 5


def test_a_feature_that_is_constant_on_both_sides_has_a_large_finite_effect():
    labels = np.repeat([0, 1], 50)
    X = np.c_[labels * 1.0, np.ones(100), np.full(100, 0.1), np.arange(100) % 7]
    found = explain(Given(labels), [X], n_features=4)
    inside = {e.feature: e.effect for e in found.features if e.cluster == 1}
    # The floor, 1 % of the standard deviation 0.5, gives 200 before the correction.
    assert inside["view0[0]"] == pytest.approx(200, rel=0.02)
    assert set(inside) == {"view0[0]", "view0[3]"}, "the same everywhere: no effect"


def test_a_cluster_of_one_sample_in_a_view_has_no_effects_there(rng):
    labels = np.r_[0, np.repeat([1, 2], 30)]
    found = explain(Given(labels), [rng.random((61, 3))], n_features=3)
    assert {e.cluster for e in found.features} == {1, 2}
    assert [c.size for c in found.clusters] == [1, 30, 30]


def test_clusters_tell_their_size_and_the_views_of_their_samples(fitted):
    model, data = fitted
    found = explain(model, data.Xs, mask=data.mask)
    assert sum(cluster.size for cluster in found.clusters) == 240
    one = found.clusters[1]
    own = model.labels_ == 1
    assert (one.label, one.size, one.share) == (1, own.sum(), own.mean())
    assert one.observed["view1"] == pytest.approx(data.mask[own, 1].mean())


def test_an_informative_view_agrees_and_noise_does_not(seed):
    data = make_views(400, (10, 12), 4, incomplete=0.4, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal((400, 60))
    mask = np.c_[data.mask, random_mask(400, 2, 0.3, random_state=seed)[:, :1]]
    Xs = [*data.Xs, noise]
    model = AnchorBridge(4, random_state=seed).fit(Xs, mask=mask)
    good, also, bad = explain(model, Xs, mask=mask, n_features=0).views
    assert min(good.agreement, also.agreement) > 0.9
    assert bad.agreement < 0.05
    assert bad.weight < good.weight
    assert bad.n_observed == mask[:, 2].sum()


def test_agreement_orders_the_digits_views_by_what_they_tell():
    data = load_digits_views()
    model = Given(data.y)
    views = explain(model, data.Xs, n_features=0).views
    assert all(view.agreement > 0.6 for view in views)
    garbled = [data.Xs[0], data.Xs[1][::-1]]
    clear, shuffled = explain(model, garbled, n_features=0).views
    assert clear.agreement > 0.9 > 0.05 > shuffled.agreement


def test_a_view_that_has_seen_one_cluster_only_tells_nothing(rng):
    labels = np.repeat([0, 1], 40)
    mask = np.ones((80, 2), bool)
    mask[40:, 1] = False
    found = explain(Given(labels), [rng.random((80, 3))] * 2, mask=mask)
    assert found.views[1].agreement == 0


def test_methods_without_weights_have_none(fitted):
    _, data = fitted
    model = ImputeKMeans(3, random_state=0).fit(data.Xs, mask=data.mask)
    views = explain(model, data.Xs, mask=data.mask).views
    assert [view.weight for view in views] == [None, None]


def test_clusters_that_follow_the_missing_pattern_raise_the_warning(seed):
    """Raw rows of RISE at beta = 1 have a leakage of 0.23 to 0.29."""
    data = make_views(400, (20, 30, 15), 4, incomplete=0.5, random_state=seed)
    model = RISE(4, beta=1.0, row_normalize=False, random_state=seed)
    model.fit(data.Xs, mask=data.mask)
    found = explain(model, data.Xs, mask=data.mask, n_features=0)
    assert found.pattern_leakage == pytest.approx(model.pattern_leakage_)
    assert "lack the same views" in found.leakage_warning
    assert f"{found.pattern_leakage:.2f}" in found.leakage_warning


@pytest.mark.parametrize("n", [40, 100, 1000])
def test_random_gaps_raise_no_warning(n, seed):
    rng = np.random.default_rng(seed)
    for i in range(8):
        mask = random_mask(n, 3, 0.5, random_state=100 * seed + i)
        found = explain(
            Given(rng.integers(4, size=n)), [np.ones((n, 1))] * 3, mask=mask
        )
        assert found.leakage_warning is None


def test_the_result_is_plain_json(fitted):
    model, data = fitted
    found = explain(model, data.Xs, mask=data.mask, n_features=2)
    back = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert back["features"][0]["effect"] == found.features[0].effect
    assert back["clusters"][0]["observed"] == found.clusters[0].observed


def test_other_samples_than_those_of_the_fit_are_refused(fitted):
    model, data = fitted
    with pytest.raises(
        ValueError, match="100 samples, the AnchorBridge was fitted on 240"
    ):
        explain(model, [X[:100] for X in data.Xs])


def test_a_wrong_number_of_features_is_named(fitted):
    model, data = fitted
    with pytest.raises(ValueError, match="n_features=-1"):
        explain(model, data.Xs, mask=data.mask, n_features=-1)


def test_garbage_in_unobserved_rows_changes_nothing(fitted):
    model, data = fitted
    Xs = [X.copy() for X in data.Xs]
    for v, X in enumerate(Xs):
        X[~data.mask[:, v]] = 1e9
    expected = explain(model, data.Xs, mask=data.mask).to_dict()
    assert explain(model, Xs, mask=data.mask).to_dict() == expected


@pytest.mark.parametrize("case", HARD)
def test_hard_inputs_give_finite_numbers_without_stray_warnings(case):
    Xs, mask, c = HARD[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RISE(c, random_state=0).fit(Xs, mask=mask)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = explain(model, Xs, mask=mask)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_profiles_are_means_of_standardised_columns(fitted, form):
    model, data = fitted
    Xs = [np.maximum(X, 0) for X in data.Xs]
    found = explain(model, [form(X) for X in Xs], mask=data.mask)
    assert len(found.profiles) == 8 + 6
    for profile in found.profiles:
        v, j = int(profile.view[-1]), int(profile.feature[6:-1])
        seen = data.mask[:, v]
        x, own = Xs[v][seen, j], model.labels_[seen]
        z = (x - x.mean()) / x.std(ddof=1)
        expected = [z[own == c].mean() for c in range(3)]
        np.testing.assert_allclose(profile.means, expected)


def test_features_that_set_the_same_cluster_apart_stand_together(fitted):
    model, data = fitted
    profiles = explain(model, data.Xs, mask=data.mask).profiles
    cluster = [int(np.abs(profile.means).argmax()) for profile in profiles]
    assert cluster == sorted(cluster)
    assert len({(profile.view, profile.feature) for profile in profiles}) == 14


def test_every_cluster_has_its_share_of_the_strongest_features():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 20)
    # The first five clusters differ by far more, and in more features.
    X = rng.normal(size=(200, 60))
    for c in range(10):
        X[labels == c, 6 * c : 6 * c + 6] += 20 if c < 5 else 3
    found = explain(Given(labels), [X]).profiles
    cluster = [int(np.abs(profile.means).argmax()) for profile in found]
    np.testing.assert_array_equal(np.bincount(cluster), [3] * 10)


def test_a_cluster_that_a_view_never_saw_has_no_mean_there():
    labels = np.repeat([0, 1, 2], 10)
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[labels == 1] += 5
    mask = np.column_stack([labels < 2, np.ones(30, bool)])
    found = explain(Given(labels), [X, X], mask=mask)
    means = [p.means for p in found.profiles if p.view == "view0"]
    assert means
    assert np.isnan(means)[:, 2].all()
    assert not np.isnan(means)[:, :2].any()
