"""compare, compare_methods: several methods on the same views, in one table."""

import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from imvc.insight import inspect
from imvc.io import InputError, file_of, read_metadata
from imvc.io._file_stamps import unchanged
from imvc.methods import list_methods
from imvc.methods._base import draw_seed
from imvc.methods._registry import METHODS, find_entry
from imvc.metrics import pattern_leakage, score_all
from imvc.views import IncompleteViews, as_views
from imvc.workflow._comparison import Comparison, MethodComparison
from imvc.workflow._fit import check_cost, expected_cost, make_model
from imvc.workflow._input_files import InputFiles, load_views
from imvc.workflow._stages import Progress, Stages

logger = logging.getLogger(__name__)


def compare(
    Xs: Any,
    methods: Sequence[Any] | None = None,
    n_clusters: int | None = None,
    *,
    y: Any = None,
    mask: Any = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    random_state: Any = 0,
    callback: Callable[[dict[str, Any]], Any] | None = None,
) -> Comparison:
    """Cluster the same views by several methods.

    The views are checked once. A method that fails does not stop the others: its error
    stands in the table. Convergence warnings are left out, since the table says so.

    Parameters
    ----------
    Xs : list or dict of arrays, DataFrames or None, or IncompleteViews
        As in the ``fit`` of every method.
    methods : list, optional
        Registry names (see `imvc.list_methods`), estimators, or pairs
        ``(label, name or estimator)``. By default all methods by name.
        Estimators are cloned and keep their own parameters, except that a
        ``random_state`` of None becomes `random_state`.
    n_clusters : int
        For the methods given by name.
    y : array-like of shape (n_samples,), optional
        Known classes; adds scores. A pandas Series is aligned with the sample ids of
        views that were joined from tables.
    mask : array-like of bool, shape (n_samples, n_views), optional
    params : dict, optional
        Label -> parameters of that method, beside or instead of those above.
    random_state : int, RandomState instance or None, default=0
        The same seed for every method.
    callback : callable, optional
        Called with the row of every method as soon as it has finished.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        At once for unknown names or parameters, two methods with the same label, or
        data that no method could read.

    Examples
    --------
    >>> from imvc import compare
    >>> from imvc.datasets import make_views
    >>> data = make_views(150, (8, 9, 7), 3, incomplete=0.3, random_state=0)
    >>> result = compare(data.Xs, ["rise", "bridge"], 3, y=data.y, mask=data.mask)
    >>> result.names
    ('rise', 'bridge')
    >>> [sorted(set(labels.tolist())) for labels in result.labels.values()]
    [[0, 1, 2], [0, 1, 2]]
    """
    if not (random_state is None or isinstance(random_state, int | np.integer)):
        random_state = draw_seed(check_random_state(random_state))
    estimators = _estimators(methods, n_clusters, params or {}, random_state)
    # Empty cells are an error of the methods that do not fill them, not of the others.
    asked = [e.get_params().get("empty_cells") for e in estimators.values()]
    fills = any(way in ("fill", "mean") for way in asked)
    views = as_views(Xs, mask, missing_values="keep" if fills else "error")
    score = None if y is None else partial(score_all, _aligned_classes(y, views))
    return _fit_all(estimators, views, score, callback)


def compare_methods(
    source: Any,
    methods: Sequence[str],
    n_clusters: int,
    *,
    labels: Any = None,
    random_state: int | None = 0,
    force: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> MethodComparison:
    """`compare` from files, its cost told first: all that ``imvc compare`` does.

    Parameters
    ----------
    source : InputFiles, ViewFiles, or views as in the ``fit`` of every method
    methods : sequence of str
        Names of the registry.
    n_clusters : int
    labels : mapping of id to class, array-like of shape (n_samples,), or str, optional
        Known classes, or the file of them as `read_classes` takes it; samples without
        one (None) are left out of the scores.
    random_state : int, default=0
    force : bool, default=False
        Try methods even where the estimate says that memory will not do.
    progress : callable, optional
        Called with a `Progress`.

    Returns
    -------
    MethodComparison

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc.workflow import compare_methods
    >>> data = make_views(90, (5, 6), 3, separation=8, random_state=0)
    >>> found = compare_methods(data.Xs, ["impute-kmeans", "rise"], 3, labels=data.y)
    >>> [row["method"] for row in found.table()]
    ['impute-kmeans', 'rise']
    """
    stages = Stages(progress)
    for name in methods:
        make_model(name, n_clusters, {}, random_state)
        if list(methods).count(name) > 1:
            raise ValueError(f"methods (--methods) names {name!r} twice; once will do.")
    if isinstance(labels, str):
        guard = isinstance(source, InputFiles) and source.guard
        labels = read_classes(labels, guard=guard)
    loaded = load_views(source, stages, fingerprint=False)
    views = as_views(loaded.views)
    with stages.run("inspect"):
        warned = dict.fromkeys((*loaded.warnings, *inspect(views).warnings))
    score, n_labelled = None, None
    if labels is not None:
        score, n_labelled = _score_of_known(labels, views)
    costs = {name: expected_cost(name, views, n_clusters) for name in methods}
    for cost in costs.values():
        stages.say(cost.reason)
    for cost in costs.values():
        check_cost(cost, stages, force=force)
    estimators = _estimators(list(methods), n_clusters, {}, random_state)
    expected = sum(cost.seconds for cost in costs.values())
    with stages.run("compare", total=len(costs), expected=expected) as step:
        done = iter(range(1, len(estimators) + 1))
        found = _fit_all(estimators, views, score, lambda row: step(next(done)))
    return MethodComparison(found, costs, n_labelled, loaded.notes, tuple(warned))


def _estimators(
    methods: Sequence[Any] | None,
    n_clusters: int | None,
    params: Mapping[str, Mapping[str, Any]],
    random_state: int | None,
) -> dict[str, Any]:
    """Label -> estimator ready to fit; every mistake in the request raises here."""
    if isinstance(methods, str):
        methods = [methods]
    pairs = [_labelled(m) for m in (list_methods() if methods is None else methods)]
    labels = [label for label, _ in pairs]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(
                f"two methods are labelled {label!r}; tell them apart with pairs "
                f"(label, estimator)."
            )
    unknown = [label for label in params if label not in labels]
    if unknown:
        raise ValueError(
            f"params names {unknown[0]!r}, which is not compared; "
            f"the methods are: {', '.join(labels)}."
        )
    return {
        label: _ready(label, method, n_clusters, params.get(label, {}), random_state)
        for label, method in pairs
    }


def _labelled(method: Any) -> tuple[str, Any]:
    """``(label, registry name or estimator)`` of one entry of ``methods``."""
    if isinstance(method, tuple) and len(method) == 2 and isinstance(method[0], str):
        return method[0], _labelled(method[1])[1]
    if isinstance(method, str):
        find_entry(method)
        return method, method
    if isinstance(method, type) or not hasattr(method, "get_params"):
        raise TypeError(
            f"methods has {method!r}; give a registry name, an estimator such as "
            f"RISE(n_clusters=3), or a pair (label, estimator)."
        )
    own = type(method)
    for name, entry in METHODS.items():  # a class is imported only if its name fits
        if entry.class_name == own.__name__ and entry.estimator is own:
            return name, method
    return own.__name__, method


def _ready(label, method, n_clusters, options, random_state) -> Any:
    if isinstance(method, str):
        if n_clusters is None and "n_clusters" not in options:
            raise ValueError(
                f"n_clusters=None, but {label!r} is given by name; give n_clusters."
            )
        options = {"n_clusters": n_clusters, "random_state": random_state, **options}
        estimator = find_entry(method).estimator(n_clusters=options["n_clusters"])
    else:
        estimator = clone(method)
        if estimator.get_params(deep=False).get("random_state", 0) is None:
            options = {"random_state": random_state, **options}
    known = estimator.get_params()
    for name in options:
        if name not in known:
            raise ValueError(
                f"{label!r} has no parameter {name!r}; it has: {', '.join(known)}."
            )
    return estimator.set_params(**options)


def _fit_all(estimators, views, score, callback) -> Comparison:
    """Fit one estimator after the other; `score` takes labels and gives scores."""
    rows = []
    for label, estimator in estimators.items():
        rows.append(_fit_one(label, estimator, views, score))
        if callback is not None:
            callback(rows[-1])
    return Comparison(rows)


def _fit_one(label, estimator, views, score) -> dict[str, Any]:
    """The row of one method, whatever happens to it (interrupts pass through)."""
    scores = {} if score is None else dict.fromkeys(score_all([0], [0]))
    keys = ("labels", "seconds", "n_iter", "converged", "pattern_leakage", "error")
    row: dict[str, Any] = {"method": label, **dict.fromkeys(keys), **scores}
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = estimator.fit(views)
        row["seconds"] = perf_counter() - start
        labels = np.asarray(model.labels_)
        found = {
            "labels": labels,
            "n_iter": getattr(model, "n_iter_", None),
            "converged": getattr(model, "converged_", None),
            "pattern_leakage": pattern_leakage(labels, views.mask),
            **({} if score is None else score(labels)),
        }
    except Exception as error:
        logger.debug("%s failed", label, exc_info=True)
        row["seconds"] = perf_counter() - start
        row["error"] = f"{type(error).__name__}: {error}"
        return row
    return row | found


def _aligned_classes(y: Any, views: IncompleteViews) -> np.ndarray:
    """A class for every sample, by id where `y` has them."""
    ids = views.sample_ids
    if ids is not None and hasattr(y, "reindex"):
        absent = [i for i in ids if i not in y.index]
        if absent:
            raise ValueError(
                f"y has no class for {len(absent)} samples, first {absent[0]!r}; "
                f"give one for every sample id, or an array in the order of "
                f"as_views(Xs).sample_ids."
            )
        y = y.loc[list(ids)]
    return _one_per_sample("y", np.asarray(y), views)


def _score_of_known(labels: Any, views: IncompleteViews) -> tuple[Any, int]:
    """A function that scores where the class is known, and for how many that is."""
    ids = np.arange(views.n_samples) if views.sample_ids is None else views.sample_ids
    if isinstance(labels, Mapping):
        classes = np.empty(len(ids), dtype=object)
        classes[:] = [labels.get(i) for i in ids.tolist()]
    else:
        classes = _one_per_sample("labels", np.asarray(labels, dtype=object), views)
    # Neither None nor NaN, which differs from itself.
    known = np.array([c is not None and c == c for c in classes], dtype=bool)
    if isinstance(labels, Mapping) and not known.any():
        raise ValueError(
            f"labels has a class for none of the samples, such as {ids[0]!r}; its "
            f"ids are {list(labels)[:3]}, ...: give a table with the same ids."
        )
    given = classes[known].astype(str)
    return lambda found: score_all(given, found[known]), int(known.sum())


def _one_per_sample(
    name: str, classes: np.ndarray, views: IncompleteViews
) -> np.ndarray:
    if classes.shape != (views.n_samples,):
        raise ValueError(
            f"{name} has shape {classes.shape}, but there are {views.n_samples} "
            f"samples; give one class per sample."
        )
    return classes


def read_classes(
    text: str | os.PathLike[str], *, guard: bool = False
) -> dict[str, Any]:
    """Id -> class from a table, given as ``FILE`` or ``FILE:COLUMN``.

    Without a column the table must have only one beside its ids. `guard` as in
    `imvc.io.read_file`.
    """
    path, column = _split(os.fspath(text))
    with unchanged([file_of(path)]):
        ids, columns, _ = read_metadata(path, guard=guard)
    if ids is None:
        raise InputError(
            f"{path}: has no column of ids; give a table with ids and classes."
        )
    if column is None and len(columns) == 1:
        column = next(iter(columns))
    if column not in columns:
        shown = ", ".join(map(repr, list(columns)[:8]))
        problem = (
            f"has {len(columns)} columns beside the ids"
            if column is None
            else f"there is no column {column!r}"
        )
        raise InputError(f"{path}: {problem}; give FILE:COLUMN, one of {shown}.")
    return dict(zip(ids.tolist(), columns[column].tolist()))


def _split(text: str) -> tuple[str, str | None]:
    """A path and a column; a path that exists as it is has no column."""
    path, sign, column = text.rpartition(":")
    if Path(text).exists() or not sign or len(path) < 2:
        return text, None
    return path, column
