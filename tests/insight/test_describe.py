"""describe: what is special about a selection, against slow obvious twins."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from imvc import AnchorBridge, describe, explain
from imvc.datasets import make_views
from imvc.insight import associate


@pytest.fixture(scope="module")
def data():
    return make_views(150, (7, 5), 3, incomplete=0.5, random_state=0)


def plain_g(inside, outside):
    """Hedges' g, written out."""
    n, m = len(inside), len(outside)
    squares = (n - 1) * inside.var(ddof=1) + (m - 1) * outside.var(ddof=1)
    correction = 1 - 3 / (4 * (n + m) - 9)
    difference = inside.mean() - outside.mean()
    return correction * difference / np.sqrt(squares / (n + m - 2))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_effects_are_hedges_g_of_the_selection(data, form):
    Xs = [np.maximum(X, 0) for X in data.Xs]
    chosen = np.random.default_rng(1).random(150) < 0.3
    found = describe([form(X) for X in Xs], chosen, mask=data.mask)
    assert found.n_selected == chosen.sum()
    assert len(found.features) == 7 + 5
    sizes = [abs(effect.effect) for effect in found.features]
    assert sizes == sorted(sizes, reverse=True)
    for effect in found.features:
        v, j = int(effect.view[-1]), int(effect.feature[6:-1])
        seen = data.mask[:, v]
        x, own = Xs[v][seen, j], chosen[seen]
        assert effect.effect == pytest.approx(plain_g(x[own], x[~own]))
        assert effect.mean_inside == pytest.approx(x[own].mean())
        assert effect.mean_outside == pytest.approx(x[~own].mean())
        assert effect.n_inside == own.sum()
    for share, seen in zip(found.views, data.mask.T):
        counts = (share.n_selected, share.n_others)
        assert counts == (seen[chosen].sum(), seen[~chosen].sum())


def test_a_cluster_is_described_as_explain_does(data):
    model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    found = explain(model, data.Xs, mask=data.mask, n_features=7)
    mine = [e for e in found.features if e.cluster == 1]
    mine.sort(key=lambda effect: -abs(effect.effect))
    selection = describe(data.Xs, model.labels_ == 1, mask=data.mask)
    assert [e.effect for e in selection.features] == pytest.approx(
        [e.effect for e in mine]
    )


def test_numbers_of_samples_are_as_good_as_flags(data):
    flags = np.zeros(150, bool)
    flags[[3, 5, 90]] = True
    by_flag = describe(data.Xs, flags, mask=data.mask)
    assert describe(data.Xs, [90, 3, 5, 5], mask=data.mask) == by_flag


def test_metadata_are_tested_as_by_associate_and_told_of_the_selection(data):
    chosen = np.arange(150) < 40
    stage = np.where(chosen, "late", "early").astype(object)
    stage[[0, 149]] = None
    age = np.where(chosen, 70.0, 50.0) + np.arange(150) % 7
    twice = np.where(np.arange(150) % 2, "a", "b")
    known = {"stage": stage, "age": age, "twice": twice, "site": ["x"] * 150}
    found = describe(data.Xs, chosen, mask=data.mask, metadata=known)
    tested = associate(chosen.astype(int), known)
    for own, theirs in zip(found.metadata, tested.columns):
        assert (own.name, own.kind) == (theirs.name, theirs.kind)
        assert (own.p, own.effect) == (theirs.adjusted_p, theirs.effect)
    texts = {column.name: column.text for column in found.metadata}
    assert texts["stage"].startswith(
        "100 % 'late' among the selected samples, 0 % among the others"
    )
    assert texts["stage"].endswith("2 samples without a value are left out.")
    assert texts["age"].startswith("Median 73 of the selected samples, 53 of the")
    assert "no clear difference" in texts["twice"]
    assert texts["site"] == "site has one value only: not tested."
    rows = {column.name: column.rows for column in found.metadata}
    assert rows["stage"] == (("late", 1.0, 0.0), ("early", 0.0, 1.0))
    assert rows["age"] == ()


def test_a_column_known_on_one_side_only_says_so(data):
    chosen = np.arange(150) < 40
    column = np.where(chosen, np.arange(150) % 3, np.nan)
    found = describe(data.Xs, chosen, mask=data.mask, metadata={"dose": column})
    assert found.metadata[0].text.startswith("dose is known on one side only")


def test_survival_of_the_selection_is_that_of_two_clusters(data):
    chosen = np.arange(150) < 60
    days = np.where(chosen, 5.0, 50.0) + np.arange(150) % 5
    known = {"days": days, "dead": np.ones(150)}
    found = describe(
        data.Xs, chosen, mask=data.mask, metadata=known, survival=("days", "dead")
    )
    tested = associate(chosen.astype(int), known, survival=("days", "dead"))
    assert repr(found.survival) == repr(tested.survival)  # limits may be NaN
    assert "the median is 7 of the selected samples and the median is 52 of the" in (
        found.survival_text
    )
    assert [column.name for column in found.metadata] == []


def test_all_samples_are_compared_with_none(data):
    found = describe(
        data.Xs, np.ones(150, bool), mask=data.mask, metadata={"a": np.arange(150)}
    )
    assert found.features == ()
    assert "none to compare" in found.note
    assert found.metadata[0].p is None


def test_a_single_sample_has_no_effects_but_a_place_in_the_views(data):
    found = describe(data.Xs, [7], mask=data.mask)
    assert found.features == ()
    assert [v.n_selected for v in found.views] == data.mask[7].astype(int).tolist()


def test_empty_cells_count_as_the_mean_of_their_column():
    X = np.random.default_rng(0).normal(size=(40, 3))
    holes = X.copy()
    holes[2, 1] = np.nan
    filled = X.copy()
    filled[2, 1] = np.delete(X[:, 1], 2).mean()
    chosen = np.arange(40) < 9
    mine, theirs = describe([holes], chosen), describe([filled], chosen)
    assert [e.effect for e in mine.features] == pytest.approx(
        [e.effect for e in theirs.features]
    )


def test_the_result_is_json(data):
    known = {"days": [1.0] * 150, "dead": [1] * 150, "age": np.arange(150.0)}
    found = describe(
        data.Xs, [1, 2, 3], mask=data.mask, metadata=known, survival=("days", "dead")
    )
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_selected"] == 3


@pytest.mark.parametrize(
    ("selected", "message"),
    [
        ([], "names no sample"),
        (np.zeros(150, bool), "names no sample"),
        ([150], "sample number 150, but there are 150"),
        ([-1], "sample number -1"),
        ([[1]], "has shape"),
        (["a"], "dtype"),
        (np.ones(3, bool), "a bool for each of the 150"),
    ],
)
def test_wrong_selections_are_named(data, selected, message):
    with pytest.raises(ValueError, match=message):
        describe(data.Xs, selected, mask=data.mask)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("centre", [0.318, 0.0])
def test_what_is_constant_up_to_rounding_is_not_special(form, centre):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    chosen = np.arange(80) < 30
    # As a mean of ones and noise of the last digit leave it: larger in the selection.
    X[:, 1] = centre + 1e-16 * (chosen + rng.random(80))
    found = describe([form(X)], chosen)
    assert {effect.feature for effect in found.features} == {"view0[0]", "view0[2]"}
    X[:, 1] = 1e6 + 1e-3 * chosen  # small beside itself, and yet a difference
    assert describe([form(X)], chosen).features[0].feature == "view0[1]"
