"""structure: noise is called noise, and clusters are not."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import imvc
from imvc import IMVCCBG, RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views, random_mask
from imvc.insight import structure
from imvc.insight._structure import agreements, shuffled
from imvc.metrics import adjusted_rand
from imvc.views import as_views


def noise(rng, n=80, widths=(20, 30)):
    return [rng.standard_normal((n, d)) for d in widths]


@pytest.fixture(scope="module")
def planted():
    return make_views(100, (8, 6), 3, incomplete=0.3, random_state=0)


@pytest.fixture(scope="module")
def fitted(planted):
    return ImputeKMeans(3, n_init=5, random_state=0).fit(planted.Xs, mask=planted.mask)


@pytest.mark.parametrize("method", [AnchorBridge, RISE, ImputeKMeans])
def test_planted_clusters_are_found(method, seed):
    data = make_views(100, (8, 6), 3, incomplete=0.3, random_state=seed)
    model = method(3, random_state=0).fit(data.Xs, mask=data.mask)
    found = structure(model, data.Xs, mask=data.mask, n_draws=4)
    assert found.found
    assert found.stability > 0.8
    assert found.shuffled < 0.7


@pytest.mark.parametrize("method", [AnchorBridge, RISE, ImputeKMeans])
def test_noise_is_called_noise(method):
    rng = np.random.default_rng(0)
    Xs, mask = noise(rng, n=120), random_mask(120, 2, 0.5, random_state=0)
    model = method(3, random_state=0).fit(Xs, mask=mask)
    found = structure(model, Xs, mask=mask)
    assert found.found is False
    assert found.n_fits == 24
    assert "more stable" in found.reason
    assert found.reason.endswith(
        f"than those of the same data with every column shuffled ({found.shuffled:.2f})"
    )


def test_noise_is_called_noise_whatever_the_seed(rng):
    Xs = noise(rng, n=120)
    model = ImputeKMeans(3, n_init=5, random_state=0).fit(Xs)
    assert structure(model, Xs).found is False


def test_a_method_that_draws_no_numbers_is_not_stable_by_that(rng):
    """Refits with other seeds would nearly all agree."""
    Xs = noise(rng)
    model = ImputeKMeans(3, random_state=0).fit(Xs)
    assert structure(model, Xs, n_draws=4).stability < 0.5


def test_clusters_that_one_column_tells_are_no_noise(seed):
    """Shuffling leaves a single column as it is, and its clusters as stable."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.repeat([0.0, 100.0], 60), rng.standard_normal(120)])
    model = ImputeKMeans(2, scale=None, random_state=0).fit([X])
    found = structure(model, [X], n_draws=4)
    assert found.stability == found.shuffled == 1
    assert found.found


def test_the_same_seed_gives_the_same_answer(planted, fitted):
    first, again, other = (
        structure(fitted, planted.Xs, mask=planted.mask, n_draws=4, random_state=seed)
        for seed in (3, 3, 4)
    )
    assert first == again
    assert first.shuffled != other.shuffled


def test_the_model_and_the_data_are_left_as_they_were(planted, fitted):
    labels, copies = fitted.labels_.copy(), [X.copy() for X in planted.Xs]
    structure(fitted, planted.Xs, mask=planted.mask, n_draws=4)
    np.testing.assert_array_equal(fitted.labels_, labels)
    for X, copy in zip(planted.Xs, copies):
        np.testing.assert_array_equal(X, copy)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_shuffling_keeps_every_column_and_breaks_its_ties(form, rng):
    X = rng.poisson(0.7, (400, 5)).astype(float)
    X[:, 1] = X[:, 0]
    mask = random_mask(400, 2, 0.5, random_state=0)
    views = as_views([form(X), X], mask)
    other = shuffled(views, np.random.default_rng(0))
    np.testing.assert_array_equal(other.mask, views.mask)
    for v in range(2):
        before, after = views.observed(v), other.observed(v)
        if sp.issparse(before):
            assert after.has_canonical_format
            before, after = before.toarray(), after.toarray()
        np.testing.assert_array_equal(np.sort(after, axis=0), np.sort(before, axis=0))
        assert abs(np.corrcoef(after[:, 0], after[:, 1])[0, 1]) < 0.3


def test_sparse_views_are_judged_like_dense_ones():
    data = make_views(100, (12, 10), 2, separation=12, random_state=0)
    Xs = [sp.csr_array(np.maximum(X, 0)) for X in data.Xs]
    model = AnchorBridge(2, random_state=0).fit(Xs)
    assert structure(model, Xs, n_draws=4).found


def test_draws_are_compared_on_the_samples_that_they_share():
    first = np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 1, 1])
    second = np.array([1, 2, 3, 4, 5]), np.array([1, 1, 0, 0, 2])
    third = np.array([5]), np.array([0])
    expected = adjusted_rand([0, 1, 1, 1], [1, 1, 0, 0])
    found = agreements([first, second, third], 6)
    assert found == pytest.approx([expected, 0, 0])


def test_one_cluster_on_all_shared_samples_is_no_agreement():
    draws = [(np.arange(4), np.zeros(4, int)), (np.arange(4), np.zeros(4, int))]
    assert agreements(draws, 4) == [0]


def test_many_samples_are_looked_at_in_part_and_closer_if_that_leaves_it_open():
    rng = np.random.default_rng(0)
    Xs = noise(rng, n=300, widths=(9,))
    told = []
    model = ImputeKMeans(2, n_init=5, random_state=0).fit(Xs)
    found = structure(model, Xs, n_draws=6, max_samples=160, callback=told.append)
    assert found.n_samples == 160
    assert told == [1, 2, 3, 4, 5, 6, 6, 6, 6, 6]
    assert found.n_fits == 12 + 18


def test_clear_clusters_need_no_closer_look(planted, fitted):
    found = structure(fitted, planted.Xs, mask=planted.mask, max_samples=120)
    assert (found.n_samples, found.n_fits) == (60, 12)


def test_every_cluster_keeps_some_samples_however_many_there_are():
    rng = np.random.default_rng(0)
    Xs = noise(rng, n=500, widths=(3,))
    model = ImputeKMeans(20, n_init=1, random_state=0).fit(Xs)
    assert structure(model, Xs, n_draws=4, max_samples=60).n_samples == 400


def test_what_is_clear_after_four_draws_is_not_measured_further(planted, fitted):
    told = []
    found = structure(fitted, planted.Xs, mask=planted.mask, callback=told.append)
    assert told == [1, 2, 3, 4]
    assert found.n_fits == 12


@pytest.mark.parametrize("n", [4, 6])
def test_too_few_samples_are_not_judged(n, rng):
    Xs = noise(rng, n=n, widths=(3,))
    model = ImputeKMeans(3, random_state=0).fit(Xs)
    found = structure(model, Xs)
    assert found.found is None
    assert found.reason == "there are too few samples or clusters"


def test_halves_that_the_method_refuses_leave_it_open(planted):
    model = IMVCCBG(3, n_anchors=90, random_state=0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model.fit(planted.Xs, mask=planted.mask)
    found = structure(model, planted.Xs, mask=planted.mask)
    assert found.found is None
    assert "could not be clustered (" in found.reason
    assert "n_anchors=90" in found.reason


def test_what_is_not_known_is_null_in_json(rng):
    Xs = noise(rng, n=4, widths=(3,))
    found = structure(ImputeKMeans(3, random_state=0).fit(Xs), Xs)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["found"] is told["stability"] is None
    assert told["n_samples"] == 4


def test_other_data_than_those_of_the_fit_are_refused(planted, fitted):
    with pytest.raises(ValueError, match="pass the data of the fit"):
        structure(fitted, [X[:50] for X in planted.Xs])


@pytest.mark.parametrize(("name", "value"), [("n_draws", 3), ("max_samples", 2.5)])
def test_odd_numbers_of_draws_and_samples_are_named(name, value, planted, fitted):
    with pytest.raises(ValueError, match=f"{name}={value} must be a whole number"):
        structure(fitted, planted.Xs, mask=planted.mask, **{name: value})


def test_it_is_public():
    assert imvc.structure is structure
