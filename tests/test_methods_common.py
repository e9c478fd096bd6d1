"""The common checks of `imvc.testing` and scikit-learn's, on every method."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks

from hard_views import hard_views
from imvc import RISE, get_method, list_methods
from imvc.datasets import make_views
from imvc.methods._registry import METHODS
from imvc.metrics import adjusted_rand
from imvc.testing import check_multiview_estimator, multiview_checks

ESTIMATORS = {
    name: method.estimator(n_clusters=3, **method.test_options)
    for name, method in METHODS.items()
}
HARD = hard_views()
# Checks that compare clusterings up to a threshold must pass for any seed; the others
# hold exactly or not at all, so that one seed proves as much as three.
BY_THRESHOLD = {
    "check_row_order",
    "check_view_order",
    "check_float32",
    "check_planted_clusters",
    "check_predict_any_pattern",
}


def cases():
    """Check, method and seed; predictions only of the methods that predict."""
    for name, estimator in ESTIMATORS.items():
        for check, _ in multiview_checks(estimator):
            if "predict_" in check and not hasattr(estimator, "predict"):
                continue
            for seed in (0, 1, 2) if check in BY_THRESHOLD else (0,):
                yield pytest.param(name, check, seed, id=f"{name}-{check}-{seed}")


# scikit-learn's checks that need no data, and so apply to lists of views unchanged.
SKLEARN_CHECKS = [
    "check_no_attributes_set_in_init",
    "check_estimator_repr",
    "check_estimator_cloneable",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
]


@pytest.mark.parametrize(("name", "check", "seed"), cases())
def test_common_check(name, check, seed):
    dict(multiview_checks(clone(ESTIMATORS[name]), seed=seed))[check]()


@pytest.mark.parametrize(
    ("name", "case"),
    # AnchorBridge asks for at least two clusters.
    sorted(set(product(ESTIMATORS, HARD)) - {("bridge", "one cluster")}),
)
def test_hard_inputs_give_finite_results_without_stray_warnings(name, case):
    Xs, mask, c = HARD[case]
    model = type(ESTIMATORS[name])(c, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)  # what a method says on purpose
        model.fit(Xs, mask=mask)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.objective_).all()
    assert model.labels_.shape == (len(mask),)


@pytest.mark.parametrize(
    # Some came after the oldest scikit-learn that we take.
    "check",
    [check for check in SKLEARN_CHECKS if hasattr(estimator_checks, check)],
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_check(name, check):
    function = getattr(estimator_checks, check)
    estimator = clone(ESTIMATORS[name])
    function(type(estimator).__name__, estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_an_html_representation(name):
    assert "sk-" in ESTIMATORS[name]._repr_html_()


def views_with_empty_cells(seed):
    """Planted clusters, some views missing (rows of NaN), a tenth of cells empty."""
    data = make_views(200, (10, 14, 8), 3, incomplete=0.3, random_state=seed)
    rng, Xs = np.random.default_rng(seed), []
    for X in data.incomplete():
        empty = rng.random(X.shape) < 0.1
        empty[empty.all(axis=1)] = False
        Xs.append(np.where(empty, np.nan, X))
    return Xs, data


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("how", "seed"), [("fill", 0), ("fill", 1), ("fill", 2), ("mean", 0)]
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_empty_cells_are_filled_where_that_is_asked_for(name, how, seed, tmp_path):
    Xs, data = views_with_empty_cells(seed)
    before = [X.copy() for X in Xs]
    plain = clone(ESTIMATORS[name]).set_params(random_state=seed)
    model = clone(plain).set_params(empty_cells=how)
    assert model.get_params()["empty_cells"] == how
    assert model.fit(Xs) is model
    for X, X_before in zip(Xs, before):
        np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(model.filled_views(Xs).mask, data.mask)
    # With every cell these data are found with at least 0.85 (check_planted_clusters).
    assert adjusted_rand(data.y, model.labels_) > 0.8
    np.testing.assert_array_equal(
        plain.fit(model.filled_views(Xs)).labels_, model.labels_
    )
    if hasattr(model, "predict"):
        model.save(tmp_path / "model.imvc")
        again = type(model).load(tmp_path / "model.imvc")
        np.testing.assert_array_equal(again.predict(Xs), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_garbage_in_unobserved_rows_changes_no_filled_cell(name):
    Xs, data = views_with_empty_cells(0)
    spoilt = [np.where(seen[:, None], X, 1e6) for X, seen in zip(Xs, data.mask.T)]
    spoilt[0][~data.mask[:, 0], 1] = np.nan
    one, other = (
        clone(ESTIMATORS[name]).set_params(empty_cells="fill", random_state=0)
        for _ in range(2)
    )
    np.testing.assert_array_equal(
        one.fit_predict(Xs), other.fit_predict(spoilt, mask=data.mask)
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_empty_cells_are_an_error_by_default(name):
    Xs, _ = views_with_empty_cells(0)
    with pytest.raises(ValueError, match=r'partly NaN, first .* empty_cells="fill"'):
        clone(ESTIMATORS[name]).fit(Xs)
    with pytest.raises(ValueError, match=r"'empty_cells' parameter .* Got 'impute'"):
        clone(ESTIMATORS[name]).set_params(empty_cells="impute").fit(Xs)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_batch_changes_no_cluster_and_is_compared_with_them(name):
    data = make_views(60, (6, 5), 3, separation=8, random_state=0)
    model = clone(ESTIMATORS[name]).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit(data.Xs).labels_
        assert np.isnan(model.batch_leakage_)
        same = model.fit_predict(data.Xs, batch=labels)
        assert model.batch_leakage_ == pytest.approx(1)
        batch = np.array([f"site {i % 3}" for i in labels], object)
        batch[:10] = None
        model.fit(data.Xs, batch=batch)
        assert model.batch_leakage_ == pytest.approx(1)
        assert np.isnan(model.fit(data.Xs, batch=["one"] * 60).batch_leakage_)
        if hasattr(model, "fit_transform"):
            model.fit_transform(data.Xs, batch=np.arange(60) % 2)
            assert model.batch_leakage_ < 0.3
    np.testing.assert_array_equal(labels, same)


def test_a_batch_of_another_length_is_refused_before_the_fit():
    data = make_views(60, (6, 5), 3, random_state=0)
    with pytest.raises(ValueError, match=r"batch has shape \(5,\), .* 60 samples"):
        RISE(3).fit(data.Xs, batch=[1, 2, 3, 4, 5])


def test_the_registry_finds_methods_by_name():
    assert get_method("rise") is RISE
    assert "rise" in list_methods()


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no method named 'raise'; there are: .*rise"):
        get_method("raise")


class Broken(RISE):
    """Looks at unobserved rows, as zero-filling code does."""

    def fit(self, Xs, y=None, *, mask=None, batch=None):
        return super().fit([np.nan_to_num(X) for X in Xs])


def test_the_checks_catch_an_estimator_that_reads_unobserved_rows():
    with pytest.raises(AssertionError, match="Broken fails check_"):
        check_multiview_estimator(Broken(3))


def test_checks_can_be_skipped():
    names = [name for name, _ in multiview_checks(RISE(3))]
    check_multiview_estimator(Broken(3), skip=tuple(names))
