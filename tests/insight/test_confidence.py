"""confidence: sure samples score higher than unsure ones, for every method."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

from hard_views import hard_views
from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import load_digits_views, make_views, random_mask
from imvc.insight import confidence
from imvc.methods import load_model
from imvc.methods._registry import METHODS

HARD = hard_views()


@pytest.fixture(scope="module")
def fitted():
    data = make_views(150, (8, 9, 7), 3, incomplete=0.5, random_state=0)
    model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    return model, data


def right(y, labels):
    """Whether each sample is in the cluster that is matched to its class."""
    table = np.zeros((labels.max() + 1, y.max() + 1))
    np.add.at(table, (labels, y), 1)
    cluster, known = linear_sum_assignment(table, maximize=True)
    partner = np.full(labels.max() + 1, -1)
    partner[cluster] = known
    return partner[labels] == y


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_asked(name):
    data = make_views(90, (8, 9, 7), 3, incomplete=0.5, random_state=0)
    line = METHODS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = line.estimator(3, random_state=0, **line.test_options)
        model.fit(data.Xs, mask=data.mask)
    found = confidence(model, data.Xs, mask=data.mask, n_refits=1)
    for values in (found.margin, found.stability, found.score):
        assert values.shape == (90,)
        assert ((values >= 0) & (values <= 1)).all()
    np.testing.assert_allclose(found.score, (found.margin + found.stability) / 2)
    assert found.low.mean() < 0.5, "planted clusters are clear"


def test_samples_between_two_clusters_score_lower(seed):
    data = make_views(300, (8, 9, 7), 3, separation=8, random_state=seed)
    Xs = [X.copy() for X in data.Xs]
    a, b = (np.flatnonzero(data.y == k)[:20] for k in (0, 1))
    for X in Xs:
        X[a] = (X[a] + X[b]) / 2
    model = AnchorBridge(3, random_state=seed).fit(Xs)
    found = confidence(model, Xs, n_refits=2)
    between = np.zeros(300, bool)
    between[a] = True
    assert np.median(found.score[between]) < np.quantile(found.score[~between], 0.05)
    assert found.low[between].mean() > 5 * found.low[~between].mean()


@pytest.mark.parametrize("estimator", [AnchorBridge, RISE])
def test_wrong_samples_score_lower_on_digits(estimator):
    """Measured 0.92 and 0.84; chance is 0.5."""
    data = load_digits_views()
    rows = np.random.default_rng(0).permutation(len(data.y))[:500]
    Xs, y = [X[rows] for X in data.Xs], data.y[rows]
    mask = random_mask(len(y), len(Xs), 0.5, random_state=0)
    model = estimator(10, random_state=0).fit(Xs, mask=mask)
    found = confidence(model, Xs, mask=mask, n_refits=1)
    correct = right(y, model.labels_)
    assert roc_auc_score(correct, found.score) > 0.7
    assert (~correct[found.low]).mean() > 3 * (~correct[~found.low]).mean()


def test_wrong_samples_score_lower_on_planted_clusters(seed):
    """Measured 0.85 to 0.92 over separations and methods; chance is 0.5."""
    data = make_views(
        600, (20, 30, 15), 4, separation=3.0, incomplete=0.5, random_state=seed
    )
    model = AnchorBridge(4, random_state=seed).fit(data.Xs, mask=data.mask)
    found = confidence(model, data.Xs, mask=data.mask, n_refits=2)
    assert roc_auc_score(right(data.y, model.labels_), found.score) > 0.7


def test_the_margin_is_the_ratio_of_distances(fitted):
    model, data = fitted
    found = confidence(model, data.Xs, mask=data.mask, n_refits=0)
    X = model._clustering_space(model.embedding_)
    D = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    D.sort(axis=1)
    np.testing.assert_allclose(found.margin, 1 - D[:, 0] / D[:, 1], atol=1e-6)


def test_without_refits_the_stability_is_unknown_and_the_margin_decides(fitted):
    model, data = fitted
    found = confidence(model, data.Xs, mask=data.mask, n_refits=0)
    assert np.isnan(found.stability).all()
    np.testing.assert_array_equal(found.score, found.margin)
    assert "refits" not in found.rule


def test_the_same_model_gives_the_same_confidence(fitted):
    model, data = fitted
    one, two = (confidence(model, data.Xs, mask=data.mask) for _ in range(2))
    np.testing.assert_array_equal(one.score, two.score)
    np.testing.assert_array_equal(one.low, two.low)


def test_renamed_clusters_of_a_refit_count_as_the_same(fitted, monkeypatch):
    model, data = fitted
    renamed = np.array([2, 0, 1])[model.labels_]
    renamed[:10] = (renamed[:10] + 1) % 3
    monkeypatch.setattr("imvc.insight._confidence.refit_labels", lambda *_: renamed)
    found = confidence(model, data.Xs, mask=data.mask, n_refits=3)
    np.testing.assert_array_equal(found.stability, np.arange(150) >= 10)
    assert found.low[:10].all()


def test_the_rule_holds_for_what_is_flagged(fitted):
    model, data = fitted
    found = confidence(model, data.Xs, mask=data.mask)
    limit = min(0.1, np.median(found.margin) / 3)
    np.testing.assert_array_equal(
        found.low, (found.margin <= limit) | (found.stability <= 0.5)
    )
    assert f"{limit:.3f}" in found.rule
    assert "4 refits" in found.rule


def test_a_suggested_number_of_clusters_is_kept_by_the_refits():
    data = make_views(150, (8, 9, 7), 3, separation=9, random_state=0)
    model = AnchorBridge([2, 3], random_state=0).fit(data.Xs)
    found = confidence(model, data.Xs, n_refits=2)
    assert model.n_clusters_ == 3
    assert found.stability.mean() > 0.98


def test_a_loaded_model_gives_the_same_as_the_saved_one(fitted, tmp_path):
    model, data = fitted
    model.save(tmp_path / "m.imvc")
    loaded = load_model(tmp_path / "m.imvc")
    a = confidence(model, data.Xs, mask=data.mask, n_refits=1)
    b = confidence(loaded, data.Xs, mask=data.mask, n_refits=1)
    np.testing.assert_array_equal(a.score, b.score)


def test_new_samples_have_a_margin_but_need_the_fit_for_refits(fitted):
    model, data = fitted
    new = [data.Xs[0][:7], None, None]
    found = confidence(model, new, n_refits=0)
    assert found.margin.shape == (7,)
    with pytest.raises(ValueError, match=r"7 samples, the AnchorBridge was .* on 150"):
        confidence(model, new, n_refits=1)


def test_new_samples_are_flagged_by_the_limit_of_the_fit(fitted):
    """A single new sample must not be compared with the median of itself."""
    model, data = fitted
    whole = confidence(model, [data.Xs[0], None, None], n_refits=0)
    for i in (0, int(whole.margin.argmin())):
        one = confidence(model, [data.Xs[0][[i]], None, None], n_refits=0)
        assert one.low[0] == whole.low[i]
        assert one.rule == whole.rule


def test_tables_with_other_ids_are_refused(fitted):
    pd = pytest.importorskip("pandas")
    _, data = fitted
    frames = [pd.DataFrame(X, index=[f"s{i}" for i in range(150)]) for X in data.Xs]
    model = ImputeKMeans(3, random_state=0).fit(frames)
    turned = [frame.iloc[::-1] for frame in frames]
    with pytest.raises(ValueError, match=r"id 's149' at row 0.*fitted with 's0'"):
        confidence(model, turned, n_refits=1)


@pytest.mark.parametrize("count", [-1, 1.5, "4"])
def test_a_wrong_number_of_refits_is_named(fitted, count):
    model, data = fitted
    with pytest.raises(ValueError, match="n_refits="):
        confidence(model, data.Xs, mask=data.mask, n_refits=count)


def test_a_single_cluster_has_margin_one():
    Xs, mask, _ = HARD["one cluster"]
    model = ImputeKMeans(1, random_state=0).fit(Xs, mask=mask)
    found = confidence(model, Xs, mask=mask, n_refits=1)
    assert (found.margin == 1).all()
    assert not found.low.any()


@pytest.mark.parametrize("case", HARD)
def test_hard_inputs_give_finite_numbers_without_stray_warnings(case):
    Xs, mask, c = HARD[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RISE(c, random_state=0).fit(Xs, mask=mask)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = confidence(model, Xs, mask=mask, n_refits=1)
    assert np.isfinite(found.score).all()
