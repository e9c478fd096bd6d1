"""Several methods on the same views, in one table."""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from imvc.methods._base import draw_seed
from imvc.metrics import adjusted_rand, pattern_leakage, score_all
from imvc.views import IncompleteViews, as_views

__all__ = ["Comparison", "compare"]

logger = logging.getLogger(__name__)

_ERROR_WIDTH = 60  # characters of an error in the printed table
_PRINTED = ("acc", "nmi", "ari", "purity")  # of the scores, in the printed table


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What `compare` found: one row per method.

    Parameters
    ----------
    rows : list of dict
        In the order asked for, with the keys ``method``, ``labels``, ``seconds``,
        ``n_iter``, ``converged``, ``pattern_leakage``, ``error`` and, where classes
        were given, the scores of `imvc.metrics.score_all`. A method that failed has its
        message in ``error`` and None in the others but ``method`` and ``seconds``.
    labels : dict
        Method -> labels, of the methods that succeeded.
    names : tuple of str
        The methods that succeeded: rows and columns of `agreement`.
    agreement : ndarray of shape (len(names), len(names))
        Adjusted Rand index between the labels of any two of them.
    """

    rows: list[dict[str, Any]]
    labels: dict[str, np.ndarray] = field(init=False)
    names: tuple[str, ...] = field(init=False)
    agreement: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        labels = {r["method"]: r["labels"] for r in self.rows if r["error"] is None}
        agreement = np.ones((len(labels), len(labels)))
        for i, a in enumerate(labels.values()):
            for j, b in enumerate(labels.values()):
                if j < i:
                    agreement[i, j] = agreement[j, i] = adjusted_rand(a, b)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "names", tuple(labels))
        object.__setattr__(self, "agreement", agreement)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame, without the labels (see `labels`)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "Comparison.to_frame needs pandas; install it with "
                "pip install 'imvc[io]', or read the rows attribute."
            ) from error
        return pd.DataFrame(
            [{k: v for k, v in row.items() if k != "labels"} for row in self.rows]
        )

    def __str__(self) -> str:
        """A table of the rows and, below, the agreement of the methods."""
        scores = [k for k in _PRINTED if self.rows and k in self.rows[0]]
        head = ["method", "seconds", "iterations", "leakage", *scores, ""]
        lines = [head, *(_cells(row, scores) for row in self.rows)]
        text = aligned(lines, left=(0, len(head) - 1))
        if len(self.names) > 1:
            text += "\n\nagreement (adjusted Rand index)\n" + aligned(
                [["", *self.names]]
                + [
                    [name, *(f"{x:.3f}" for x in row)]
                    for name, row in zip(self.names, self.agreement)
                ]
            )
        return text

    def __repr__(self) -> str:
        failed = len(self.rows) - len(self.names)
        return f"<Comparison of {len(self.rows)} methods, {failed} failed>"


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
    >>> from imvc.datasets import make_views
    >>> from imvc.methods._compare import compare
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
    views = as_views(Xs, mask)
    classes = None if y is None else _aligned_classes(y, views)
    rows = []
    for label, estimator in estimators.items():
        rows.append(_run(label, estimator, views, classes))
        if callback is not None:
            callback(rows[-1])
    return Comparison(rows)


def _estimators(methods, n_clusters, params, random_state):
    """Label -> estimator ready to fit; every mistake in the request raises here."""
    from imvc.methods._registry import list_methods

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


def _labelled(method):
    """``(label, registry name or estimator)`` of one entry of ``methods``."""
    from imvc.methods._registry import METHODS, get_method

    if isinstance(method, tuple) and len(method) == 2 and isinstance(method[0], str):
        return method[0], _labelled(method[1])[1]
    if isinstance(method, str):
        get_method(method)
        return method, method
    if isinstance(method, type) or not hasattr(method, "get_params"):
        raise TypeError(
            f"methods has {method!r}; give a registry name, an estimator such as "
            f"RISE(n_clusters=3), or a pair (label, estimator)."
        )
    known = {line.estimator: name for name, line in METHODS.items()}
    return known.get(type(method), type(method).__name__), method


def _ready(label, method, n_clusters, options, random_state):
    from imvc.methods._registry import get_method

    if isinstance(method, str):
        if n_clusters is None and "n_clusters" not in options:
            raise ValueError(
                f"n_clusters=None, but {label!r} is given by name; give n_clusters."
            )
        options = {"n_clusters": n_clusters, "random_state": random_state, **options}
        estimator = get_method(method)(n_clusters=options["n_clusters"])
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


def _aligned_classes(y, views: IncompleteViews) -> np.ndarray:
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
    y = np.asarray(y)
    if y.shape != (views.n_samples,):
        raise ValueError(
            f"y has shape {y.shape}, but there are {views.n_samples} samples; give "
            f"one class per sample."
        )
    return y


def _run(label, estimator, views, y):
    """The row of one method, whatever happens to it (interrupts pass through)."""
    scores = dict.fromkeys(score_all([0], [0])) if y is not None else {}
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
            **(score_all(y, labels) if y is not None else {}),
        }
    except Exception as error:
        logger.debug("%s failed", label, exc_info=True)
        row["seconds"] = perf_counter() - start
        row["error"] = f"{type(error).__name__}: {error}"
        return row
    return row | found


def _cells(row, scores):
    def number(value, form):
        return "" if value is None else format(value, form)

    note = ""
    if row["error"] is not None:
        note = " ".join(row["error"].split())
        if len(note) > _ERROR_WIDTH:
            note = note[: _ERROR_WIDTH - 3] + "..."
    elif row["converged"] is False:
        note = "not converged"
    return [
        row["method"],
        number(row["seconds"], ".2f"),
        number(row["n_iter"], "d"),
        number(row["pattern_leakage"], ".3f"),
        *(number(row[k], ".3f") for k in scores),
        note,
    ]


def aligned(lines, left=(0,)):
    """Columns side by side: those in ``left`` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    texts = (
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in lines
    )
    return "\n".join(text.rstrip() for text in texts)
