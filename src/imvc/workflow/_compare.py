"""compare_methods: several methods on the same views, their cost told first."""

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc.io import InputError, read_metadata
from imvc.methods import Comparison, Cost, compare
from imvc.metrics import score_all
from imvc.views import IncompleteViews
from imvc.workflow._model import (
    check_cost,
    expected_cost,
    make_model,
)
from imvc.workflow._source import open_source
from imvc.workflow._stages import Progress, Stages

__all__ = ["MethodComparison", "compare_methods", "read_classes"]

# Scores in the table that is printed; the others are in the file and in JSON.
_PRINTED = ("acc", "nmi", "ari", "purity")


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """What `compare_methods` found.

    Parameters
    ----------
    comparison : Comparison
        Rows, labels and agreement of the methods.
    costs : dict of str to Cost
        The estimates.
    n_labelled : int or None
        Samples whose class is known; None without classes.
    notes : tuple of str
    """

    comparison: Comparison
    costs: Mapping[str, Cost]
    n_labelled: int | None
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """Methods that raised an error."""
        rows = self.comparison.rows
        return tuple(row["method"] for row in rows if row["error"] is not None)

    def table(self) -> list[dict[str, Any]]:
        """A row per method: numbers, scores, and its agreement with the others."""
        names, agreement = self.comparison.names, self.comparison.agreement
        found = []
        for row in self.comparison.rows:
            line = {key: value for key, value in row.items() if key != "labels"}
            error = line.pop("error")
            own = row["method"]
            for other in names:
                pair = own in names
                line[f"agreement with {other}"] = (
                    float(agreement[names.index(own), names.index(other)])
                    if pair
                    else None
                )
            found.append({**line, "error": error})
        return found

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table for a terminal."""
        rows = self.table()
        scores = [name for name in _PRINTED if rows and name in rows[0]]
        agree = [name for name in rows[0] if name.startswith("agreement with ")]
        head = ["method", "seconds", "leakage", *scores, *agree]
        lines = [
            [
                row["method"],
                _number(row["seconds"], ".2f"),
                _number(row["pattern_leakage"]),
                *(_number(row[name]) for name in (*scores, *agree)),
                _remark(row),
            ]
            for row in rows
        ]
        return [*head, ""], lines

    def to_dict(self) -> dict[str, Any]:
        """Everything but the labels, in JSON's types."""
        return {
            "methods": self.table(),
            "estimates": {
                name: {"seconds": cost.seconds, "bytes": int(cost.bytes)}
                for name, cost in self.costs.items()
            },
            "n_labelled": self.n_labelled,
            "notes": list(self.notes),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as CSV, atomically."""
        text = io.StringIO()
        rows = self.table()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        with atomic_write(path) as file:
            file.write(text.getvalue().encode())
        return Path(path)


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
    """Cluster the same views by several methods; all that ``imvc compare`` does.

    Parameters
    ----------
    source : InputFiles, ViewFiles, or views as in the ``fit`` of every method
    methods : sequence of str
        Names of the registry.
    n_clusters : int
    labels : mapping of id to class, or array-like of shape (n_samples,), optional
        Known classes; samples without one (None) are left out of the scores.
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
    opened = open_source(source, stages, fingerprint=False)
    views = opened.views
    y = None if labels is None else _aligned(labels, views)
    costs = {name: expected_cost(name, views, n_clusters) for name in methods}
    for cost in costs.values():
        stages.say(cost.reason)
    for cost in costs.values():
        check_cost(cost, stages, force=force)
    total = sum(cost.seconds for cost in costs.values())
    finished: list[str] = []
    with stages.run("compare", total=len(costs), expected=total) as step:

        def tell(row: dict[str, Any]) -> None:
            finished.append(row["method"])
            step(len(finished))

        found = compare(
            views, list(methods), n_clusters, random_state=random_state, callback=tell
        )
    return MethodComparison(
        found if y is None else scored(found, y),
        costs,
        None if y is None else int(known(y).sum()),
        opened.notes,
    )


def scored(found: Comparison, y: np.ndarray) -> Comparison:
    """The comparison with scores over the samples whose class is known."""
    seen = known(y)
    classes = y[seen].astype(str)
    empty = dict.fromkeys(score_all([0], [0]))
    rows = []
    for row in found.rows:
        scores: dict[str, Any] = dict(empty)
        if row["error"] is None:
            scores = score_all(classes, row["labels"][seen])
        rows.append({**row, **scores})
    return Comparison(rows)


def known(y: np.ndarray) -> np.ndarray:
    """Which classes are given: neither None nor NaN."""
    given: np.ndarray = y != np.array(None, dtype=object)
    return np.asarray(given & (y == y), dtype=bool)


def read_classes(text: str | os.PathLike[str]) -> dict[str, Any]:
    """Id -> class from a table, given as ``FILE`` or ``FILE:COLUMN``.

    Without a column the table must have only one beside its ids.
    """
    path, column = _split(os.fspath(text))
    ids, columns, _ = read_metadata(path)
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


def _aligned(labels: Any, views: IncompleteViews) -> np.ndarray:
    """A class, or None, for every sample."""
    if isinstance(labels, Mapping):
        ids = views.sample_ids
        ids = np.arange(views.n_samples) if ids is None else ids
        y = np.empty(len(ids), dtype=object)
        y[:] = [labels.get(i) for i in ids.tolist()]
        if not known(y).any():
            raise ValueError(
                f"labels has a class for none of the samples, such as {ids[0]!r}; its "
                f"ids are {list(labels)[:3]}, ...: give a table with the same ids."
            )
        return y
    y = np.asarray(labels, dtype=object)
    if y.shape != (views.n_samples,):
        raise ValueError(
            f"labels has shape {y.shape}, but there are {views.n_samples} samples; "
            f"give one class per sample."
        )
    return y


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)


def _remark(row: Mapping[str, Any]) -> str:
    if row["error"] is not None:
        return " ".join(row["error"].split())
    return "not converged" if row["converged"] is False else ""
