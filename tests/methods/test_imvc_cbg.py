import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hard_views import hard_views
from imvc.datasets import make_views
from imvc.kernels._patterns import fix_signs
from imvc.methods.imvc_cbg import IMVCCBG
from imvc.methods.psimvc_pg import PSIMVCPG
from imvc.metrics import adjusted_rand

HARD = hard_views()


@pytest.fixture(scope="module")
def data():
    return make_views(150, (10, 14, 8), 3, incomplete=0.5, random_state=0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("small_m1k_lambda0.1", dict(ridge=0.1)),
        ("small_m1k_lambda10", dict(ridge=10)),
        ("small_m2k_lambda0.1", dict(ridge=0.1, n_anchors=6)),
    ],
)
def test_the_reference_is_reproduced(name, options, reference_data):
    case = np.load(reference_data / "small_case.npz")
    expected = np.load(reference_data / "imvc_cbg" / f"{name}.npz")
    model = IMVCCBG(3, random_state=0, **options)
    model.fit([case[f"X{v}"] for v in range(3)], mask=case["mask"])
    assert model.converged_
    np.testing.assert_allclose(model.objective_, expected["objective"], rtol=1e-12)
    np.testing.assert_allclose(model.graph_, expected["Z"].T, atol=1e-12)
    np.testing.assert_allclose(model.view_weights_, expected["alpha"], atol=1e-12)
    np.testing.assert_allclose(model.embedding_, fix_signs(expected["U"]), atol=1e-10)


@pytest.mark.parametrize("options", [dict(n_anchors=12), dict(seeds="complete")])
@pytest.mark.parametrize("name", HARD)
def test_options_bear_hard_views_without_a_complaint(name, options):
    Xs, mask, k = HARD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "only . of n_clusters")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = IMVCCBG(k, random_state=0, n_init=3, **options).fit(Xs, mask=mask)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_).all()
    np.testing.assert_allclose(model.graph_.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("ridge", "n_anchors"),
    # A ridge of 10 on many anchors makes the graph nearly uniform and loses a few.
    [*itertools.product([0.001, 0.1, 1], [3, 6, 9, 15]), (10, 3)],
)
def test_planted_clusters_are_found_over_the_authors_grid(ridge, n_anchors, data):
    model = IMVCCBG(3, ridge=ridge, n_anchors=n_anchors, random_state=0)
    labels = model.fit_predict(data.Xs, mask=data.mask)
    assert adjusted_rand(data.y, labels) > 0.85


def test_exact_weights_give_a_falling_objective(data):
    model = IMVCCBG(3, weight_update="exact", tol=1e-8, max_iter=500)
    model.fit(data.Xs, mask=data.mask)
    assert np.all(np.diff(model.objective_) <= 1e-12 * model.objective_[0])


def test_without_a_ridge_the_graph_is_that_of_the_parameter_free_method(data):
    ours = IMVCCBG(3, ridge=0, random_state=0).fit(data.Xs, mask=data.mask)
    free = PSIMVCPG(3, random_state=0).fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(ours.graph_, free.graph_)


def test_a_larger_ridge_makes_the_graph_more_even(data):
    graphs = [
        IMVCCBG(3, ridge=ridge).fit(data.Xs, mask=data.mask).graph_
        for ridge in (0.01, 1, 100)
    ]
    spread = [np.std(Z) for Z in graphs]
    assert spread[0] > spread[1] > spread[2]


def test_the_lengths_of_samples_do_not_matter(data, rng):
    lengths = [rng.uniform(0.1, 10, (150, 1)) for _ in data.Xs]
    plain = IMVCCBG(3).fit(data.Xs, mask=data.mask)
    longer = IMVCCBG(3).fit(
        [X * length for X, length in zip(data.Xs, lengths)], mask=data.mask
    )
    np.testing.assert_allclose(longer.graph_, plain.graph_, atol=1e-8)


def test_samples_may_be_moved_when_the_seeds_move_along(data, rng):
    order = rng.permutation(150)
    seeds = np.array([3, 14, 15])
    plain = IMVCCBG(3, seeds=seeds).fit(data.Xs, mask=data.mask)
    moved = IMVCCBG(3, seeds=np.argsort(order)[seeds])
    moved.fit([X[order] for X in data.Xs], mask=data.mask[order])
    np.testing.assert_allclose(moved.graph_, plain.graph_[order], atol=1e-8)


def test_seeds_are_chosen_as_asked(data):
    complete = np.flatnonzero(data.mask.all(axis=1))
    for seeds, expected in [
        ("first", np.arange(3)),
        ("complete", complete[:3]),
        ([7, 3, 11], [7, 3, 11]),
    ]:
        model = IMVCCBG(3, seeds=seeds, random_state=0).fit(data.Xs, mask=data.mask)
        np.testing.assert_array_equal(model.seeds_, expected)
    drawn = [
        IMVCCBG(3, seeds="random", random_state=s).fit(data.Xs, mask=data.mask).seeds_
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert set(drawn[0]) != set(drawn[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_anchors=2), "n_anchors=2 must lie between n_clusters=3 and"),
        (dict(n_anchors=151), "n_anchors=151 .* number of samples, 150"),
        (dict(seeds=[0, 1]), r"seeds=\[0, 1\] must be 3 sample numbers"),
        (dict(seeds=[0, 1, 1]), "must be different sample numbers from 0 to 149"),
        (dict(seeds=[0, 1, 150]), "must be different sample numbers from 0 to 149"),
        (dict(seeds=[0, 1, -1]), "must be different sample numbers from 0 to 149"),
        (dict(seeds=[0.0, 1.0, 2.0]), "must be 3 sample numbers"),
        (dict(seeds="last"), "'seeds' parameter of IMVCCBG"),
        (dict(ridge=-1), "'ridge' parameter of IMVCCBG"),
        (dict(weight_update="code"), "'weight_update' parameter of IMVCCBG"),
    ],
)
def test_wrong_parameters_are_named(options, message, data):
    with pytest.raises(ValueError, match=message):
        IMVCCBG(3, **options).fit(data.Xs, mask=data.mask)


def test_the_callback_sees_every_sweep(data):
    seen = []
    model = IMVCCBG(3, callback=lambda *step: seen.append(step))
    model.fit(data.Xs, mask=data.mask)
    assert seen == list(enumerate(model.objective_.tolist(), start=1))


def test_too_few_sweeps_are_warned_about(data):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        IMVCCBG(3, max_iter=1).fit(data.Xs, mask=data.mask)
