"""What users hold, and the part of it that a plot draws."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from imvc.insight._sample_map import COLOURS, SHAPES, cluster_looks

_RUN = ("model", "views", "inspection", "confidence", "explanation", "associations")
_MISSING = {
    "inspection": "imvc.inspect the views and pass what it gives",
    "confidence": "pass what imvc.confidence(model, views) gives",
    "explanation": "pass what imvc.explain(model, views) gives",
    "associations": "pass what imvc.associate(labels, metadata) gives",
}


def is_run(given: Any) -> bool:
    """Whether it is a ClusterRun, which this room does not import."""
    return not isinstance(given, type) and all(hasattr(given, name) for name in _RUN)


def part(given: Any, name: str, *kinds: type) -> Any:
    """`given` if it is of these kinds, or that part of a ClusterRun."""
    if isinstance(given, kinds):
        return given
    if not is_run(given):
        raise wrong(given, "ClusterRun", *(kind.__name__ for kind in kinds))
    found = getattr(given, name)
    if found is None:
        raise ValueError(
            f"the ClusterRun has no {name}, as its files were read by blocks; "
            f"{_MISSING[name]}."
        )
    return found


def fitted(given: Any) -> Any:
    """The model of a ClusterRun, or a fitted estimator."""
    model = given.model if is_run(given) else given
    if hasattr(model, "labels_") and not isinstance(model, type):
        return model
    if hasattr(model, "fit"):
        name = getattr(model, "__name__", type(model).__name__)
        raise ValueError(f"the {name} is not fitted; call its fit before.")
    raise wrong(given, "ClusterRun", "fitted estimator")


def looks_of(given: Any, clusters: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Colour and shape of clusters, as on the page, also where some are not known."""
    if is_run(given):
        return cluster_looks(given.labels)
    return {c: (c % COLOURS, c // COLOURS % SHAPES) for c in clusters}


def labels_and_ids(given: Any, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels of a run, an estimator, a Series or an array, with ids where known."""
    if is_run(given):
        return np.asarray(given.labels), np.asarray(given.sample_ids)
    if hasattr(given, "fit"):
        ids = getattr(fitted(given), "sample_ids_", None)
        return np.asarray(given.labels_), None if ids is None else np.asarray(ids)
    labels = np.asarray(given)
    if labels.ndim != 1 or isinstance(given, str | bytes):
        raise TypeError(
            f"{name} is of type {type(given).__name__}, shape {labels.shape}; pass one "
            "label per sample, a ClusterRun or a fitted estimator."
        )
    index = getattr(given, "index", None)
    return labels, np.asarray(index) if hasattr(index, "equals") else None


def wrong(given: Any, *kinds: str) -> TypeError:
    """An error that names what was received, and what is taken."""
    name = type(given).__name__
    shown = f"the class {given.__name__}" if isinstance(given, type) else f"type {name}"
    *first, last = kinds
    taken = f"{', '.join(first)} or {last}" if first else last
    return TypeError(f"received {shown}; pass a {taken}.")
