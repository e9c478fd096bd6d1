"""Conformance checks for estimators that take a list of incomplete views.

scikit-learn's ``check_estimator`` feeds one matrix. These checks feed lists of views
with missing samples to anything with ``fit(Xs, mask=...)``, ``labels_`` and
scikit-learn's parameter conventions, ours or not.

>>> from imvc import RISE
>>> from imvc.testing import check_multiview_estimator
>>> check_multiview_estimator(RISE(n_clusters=3))
"""

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from imvc.datasets import MultiViewDataset, make_views
from imvc.metrics import adjusted_rand

__all__ = ["check_multiview_estimator", "multiview_checks"]


def __dir__() -> list[str]:
    return __all__


def check_multiview_estimator(
    estimator: Any, *, skip: tuple[str, ...] = (), seed: int = 0
) -> None:
    """Run all checks on an estimator.

    Parameters
    ----------
    estimator : estimator
        An instance with its parameters set. It must have ``n_clusters``, which the
        checks set to 3, and ``random_state``.
    skip : tuple of str
        Names of checks that do not apply.
    seed : int
        Seed of the data and of ``random_state``.

    Raises
    ------
    AssertionError
        With the name of the first check that fails.
    """
    for name, check in multiview_checks(estimator, seed=seed):
        if name in skip:
            continue
        try:
            check()
        except AssertionError as error:
            raise AssertionError(
                f"{type(estimator).__name__} fails {name}: {error}"
            ) from error


def multiview_checks(
    estimator: Any, *, seed: int = 0
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks as ``(name, function without arguments)``, for parametrised tests."""
    for check in _CHECKS:
        yield check.__name__, partial(check, estimator, seed)


def _data(seed: int, incomplete: float = 0.3, n_samples: int = 120) -> MultiViewDataset:
    return make_views(
        n_samples, (10, 14, 8), 3, incomplete=incomplete, random_state=seed
    )


def _fit(estimator: Any, seed: int, Xs: Any, **options: Any) -> Any:
    model = clone(estimator).set_params(n_clusters=3, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(Xs, **options)


def _fitted(estimator: Any, seed: int) -> tuple[MultiViewDataset, Any]:
    data = _data(seed)
    return data, _fit(estimator, seed, data.Xs, mask=data.mask)


def check_clone_and_params(estimator: Any, seed: int) -> None:
    """clone keeps every parameter; get_params and set_params are inverse."""
    copy = clone(estimator)
    assert copy.get_params().keys() == estimator.get_params().keys()
    params = copy.get_params()
    assert copy.set_params(**params) is copy
    for name, value in params.items():
        assert copy.get_params()[name] is value, name


def check_fit_returns_self_and_attributes(estimator: Any, seed: int) -> None:
    """fit returns self and leaves labels in range, an embedding, and a history."""
    data, model = _fitted(estimator, seed)
    labels = model.labels_
    assert labels.shape == (data.n_samples,), "labels_ has one label per sample"
    assert np.issubdtype(labels.dtype, np.integer), "labels_ are integers"
    assert labels.min() >= 0, "labels are not negative"
    assert labels.max() < 3, "labels are below n_clusters"
    assert np.isfinite(model.embedding_).all(), "embedding_ is finite"
    assert len(model.embedding_) == data.n_samples, "embedding_ is complete"
    assert tuple(model.n_features_in_) == (10, 14, 8), "n_features_in_ per view"
    assert len(model.objective_) == model.n_iter_, "one objective per iteration"


def check_fit_predict_equals_labels(estimator: Any, seed: int) -> None:
    """fit_predict returns what fit leaves in labels_."""
    data, first = _fitted(estimator, seed)
    model = clone(estimator).set_params(n_clusters=3, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        second = model.fit_predict(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(first.labels_, second)


def check_inputs_are_not_changed(estimator: Any, seed: int) -> None:
    """Views and mask are as before after a fit."""
    data = _data(seed)
    before = [X.copy() for X in data.Xs], data.mask.copy()
    _fit(estimator, seed, data.Xs, mask=data.mask)
    for X, X_before in zip(data.Xs, before[0]):
        np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(data.mask, before[1])


def check_same_seed_same_labels(estimator: Any, seed: int) -> None:
    """A refit with the same random_state gives the same labels."""
    data, first = _fitted(estimator, seed)
    np.random.seed(seed + 1)  # noqa: NPY002 - the global state must not matter
    second = _fit(estimator, seed, data.Xs, mask=data.mask)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    again = first.fit(data.Xs, mask=data.mask)
    np.testing.assert_array_equal(again.labels_, second.labels_)


def check_global_seed_is_left_alone(estimator: Any, seed: int) -> None:
    """A fit neither reads nor moves NumPy's global generator."""
    data = _data(seed)
    np.random.seed(seed)  # noqa: NPY002
    expected = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    _fit(estimator, seed, data.Xs, mask=data.mask)
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    np.testing.assert_array_equal(state["key"], expected)


def check_garbage_in_unobserved_rows(estimator: Any, seed: int) -> None:
    """What stands in unobserved rows changes nothing."""
    data, expected = _fitted(estimator, seed)
    rng = np.random.default_rng(seed)
    for garbage in (np.nan, np.inf, 1e6, 0.0):
        Xs = [X.copy() for X in data.Xs]
        for v, X in enumerate(Xs):
            hidden = ~data.mask[:, v]
            X[hidden] = garbage * rng.standard_normal(X[hidden].shape)
        model = _fit(estimator, seed, Xs, mask=data.mask)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.embedding_, expected.embedding_)


def check_nan_rows_equal_mask(estimator: Any, seed: int) -> None:
    """NaN rows and an explicit mask say the same."""
    data, by_mask = _fitted(estimator, seed)
    by_nan = _fit(estimator, seed, data.incomplete())
    np.testing.assert_array_equal(by_mask.labels_, by_nan.labels_)


def check_row_order(estimator: Any, seed: int) -> None:
    """On easy data the clusters do not depend on the order of the samples."""
    data, model = _fitted(estimator, seed)
    order = np.random.default_rng(seed).permutation(data.n_samples)
    moved = _fit(estimator, seed, [X[order] for X in data.Xs], mask=data.mask[order])
    _assert_alike(model.labels_[order], moved.labels_)


def check_view_order(estimator: Any, seed: int) -> None:
    """On easy data the clusters do not depend on the order of the views."""
    data, model = _fitted(estimator, seed)
    moved = _fit(estimator, seed, data.Xs[::-1], mask=data.mask[:, ::-1])
    _assert_alike(model.labels_, moved.labels_)


def check_float32(estimator: Any, seed: int) -> None:
    """float32 agrees with float64, and float32 in gives float32 out."""
    data, double = _fitted(estimator, seed)
    Xs = [X.astype(np.float32) for X in data.Xs]
    single = _fit(estimator, seed, Xs, mask=data.mask)
    assert single.embedding_.dtype == np.float32, "float32 in, float32 out"
    assert double.embedding_.dtype == np.float64, "float64 in, float64 out"
    _assert_alike(double.labels_, single.labels_)


def check_planted_clusters(estimator: Any, seed: int) -> None:
    """Planted clusters are found with 0, 30 and 50 percent incomplete samples."""
    for incomplete in (0.0, 0.3, 0.5):
        data = _data(seed, incomplete, n_samples=200)
        model = _fit(estimator, seed, data.Xs, mask=data.mask)
        score = adjusted_rand(data.y, model.labels_)
        # A sample is on the wrong side of a pair of centres with probability 0.0013
        # per view, so nearly perfect is what the data allow.
        assert score > 0.85, f"ARI {score:.2f} at {incomplete:.0%} incomplete"


def check_sample_without_views(estimator: Any, seed: int) -> None:
    """A sample seen in no view is an error that says where."""
    data = _data(seed)
    mask = data.mask.copy()
    mask[7] = False
    _assert_raises(ValueError, "no view", _fit, estimator, seed, data.Xs, mask=mask)


def check_too_many_clusters(estimator: Any, seed: int) -> None:
    """More clusters than samples is an error that names n_clusters."""
    data = _data(seed)
    model = clone(estimator).set_params(n_clusters=data.n_samples + 1)
    _assert_raises(ValueError, "n_clusters", model.fit, data.Xs)


def check_bad_parameter(estimator: Any, seed: int) -> None:
    """A parameter out of range is an error that names it."""
    data = _data(seed)
    model = clone(estimator).set_params(n_clusters=-1)
    _assert_raises(ValueError, "n_clusters", model.fit, data.Xs)


def check_pickle(estimator: Any, seed: int) -> None:
    """A fitted estimator survives pickling."""
    data, model = _fitted(estimator, seed)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(
            copy.predict(data.Xs, mask=data.mask), model.labels_
        )


def check_predict_training_samples(estimator: Any, seed: int) -> None:
    """Where there is a predict, it returns labels_ for the samples of the fit."""
    if not hasattr(estimator, "predict"):
        return
    data, model = _fitted(estimator, seed)
    np.testing.assert_array_equal(model.predict(data.Xs, mask=data.mask), model.labels_)
    np.testing.assert_allclose(
        model.transform(data.Xs, mask=data.mask), model.embedding_, atol=1e-8
    )


def check_predict_any_pattern(estimator: Any, seed: int) -> None:
    """New samples are placed whatever views they have."""
    if not hasattr(estimator, "predict"):
        return
    data, model = _fitted(estimator, seed)
    for v in range(3):
        alone: list[Any] = [None, None, None]
        alone[v] = data.Xs[v]
        _assert_alike(model.predict(alone), model.labels_, at_least=0.7)


def _assert_alike(a: Any, b: Any, at_least: float = 0.85) -> None:
    score = adjusted_rand(a, b)
    assert score >= at_least, f"the two clusterings agree only by ARI {score:.2f}"


def _assert_raises(
    kind: type[Exception], text: str, function: Any, *args: Any, **kw: Any
) -> None:
    try:
        function(*args, **kw)
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
    assert text in message, f"the message lacks {text!r}: {message}"


_CHECKS = (
    check_clone_and_params,
    check_fit_returns_self_and_attributes,
    check_fit_predict_equals_labels,
    check_inputs_are_not_changed,
    check_same_seed_same_labels,
    check_global_seed_is_left_alone,
    check_garbage_in_unobserved_rows,
    check_nan_rows_equal_mask,
    check_row_order,
    check_view_order,
    check_float32,
    check_planted_clusters,
    check_sample_without_views,
    check_too_many_clusters,
    check_bad_parameter,
    check_pickle,
    check_predict_training_samples,
    check_predict_any_pattern,
)
