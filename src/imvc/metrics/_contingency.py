"""From two label vectors to the contingency table that every metric reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Contingency:
    """N_ij = number of samples of class i in cluster j, the nonzero cells only.

    Sparse by construction, so that two labelings of a million singletons need a million
    cells, not their square.
    """

    row: NDArray[np.int64]
    col: NDArray[np.int64]
    count: NDArray[np.int64]
    classes: NDArray[np.int64]
    """Samples per class, the row sums."""
    clusters: NDArray[np.int64]
    """Samples per cluster, the column sums."""

    @property
    def n_samples(self) -> int:
        """Number of samples counted."""
        return int(self.classes.sum())

    @property
    def is_bijection(self) -> bool:
        """Whether the two labelings are the same partition."""
        return len(self.count) == len(self.classes) == len(self.clusters)

    def toarray(self) -> NDArray[np.int64]:
        """Return the dense table, classes in rows and clusters in columns."""
        table = np.zeros((len(self.classes), len(self.clusters)), dtype=np.int64)
        table[self.row, self.col] = self.count
        return table


def contingency(labels_true: ArrayLike, labels_pred: ArrayLike) -> Contingency:
    """Count the samples of every (class, cluster) pair; O(n log n)."""
    true = encode_labels(labels_true, "labels_true")
    pred = encode_labels(labels_pred, "labels_pred")
    if len(true) != len(pred):
        raise ValueError(
            f"labels_true has {len(true)} labels and labels_pred has {len(pred)}; "
            "pass one label per sample in both, in the same order."
        )
    n_clusters = int(pred.max()) + 1
    cells, count = np.unique(true * n_clusters + pred, return_counts=True)
    return Contingency(
        row=cells // n_clusters,
        col=cells % n_clusters,
        count=count.astype(np.int64),
        classes=np.bincount(true).astype(np.int64),
        clusters=np.bincount(pred).astype(np.int64),
    )


def contingency_of(counts: ArrayLike) -> Contingency:
    """The same from a table of counts, without its empty rows and columns."""
    table = np.asarray(counts, np.int64)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    row, col = np.nonzero(table)
    return Contingency(row, col, table[row, col], table.sum(axis=1), table.sum(axis=0))


def encode_labels(labels: ArrayLike, name: str) -> NDArray[np.int64]:
    """Map labels to 0..k-1, or say what is wrong with the argument called `name`."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {array.shape}; "
            "pass one label per sample, for instance labels.ravel()."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass at least one label.")
    if array.dtype.kind == "f":
        _check_whole_numbers(array, name)
    if array.dtype.kind == "O":
        return _encode_objects(array, name)
    if array.dtype.kind not in "biufSUT":
        raise ValueError(
            f"{name} has dtype {array.dtype}; pass integer or string labels."
        )
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _check_whole_numbers(array: NDArray[Any], name: str) -> None:
    bad = np.flatnonzero(~np.isfinite(array) | (array != np.round(array)))
    if bad.size:
        raise ValueError(
            f"{name} holds {array[bad[0]]} at position {bad[0]}, which is no label; "
            "pass integer or string labels, without missing values."
        )


def _encode_objects(array: NDArray[Any], name: str) -> NDArray[np.int64]:
    codes: dict[Any, int] = {}
    encoded = np.empty(len(array), dtype=np.int64)
    for position, label in enumerate(array):
        if not _is_label(label):
            raise ValueError(
                f"{name} holds {label!r} at position {position}, which is no label; "
                "pass integer or string labels, without missing values."
            )
        encoded[position] = codes.setdefault(label, len(codes))
    return encoded


def _is_label(label: Any) -> bool:
    if isinstance(label, float | np.floating):
        return bool(np.isfinite(label)) and float(label).is_integer()
    return isinstance(label, str | bytes | int | np.integer | np.bool_ | tuple)
