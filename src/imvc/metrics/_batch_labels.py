"""Batches of samples (sites, plates, days) as whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from imvc.metrics._labels import known_values
from imvc.metrics._leakage import column_leakage


def batch_codes(
    batch: Any, n_samples: int, sample_ids: Any = None, *, name: str = "batch"
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Number every sample's batch, and name the batches.

    Parameters
    ----------
    batch : array-like of shape (n_samples,), or pandas Series
        Anything with a text; None, NaN, NaT and blank text say that it is not known.
        A Series is aligned by its index where the samples have ids.
    n_samples : int
    sample_ids : array-like of shape (n_samples,), optional
    name : str, default="batch"
        Of the argument, for errors.

    Returns
    -------
    ndarray of int64, shape (n_samples,)
        -1 where the batch is not known.
    tuple of str
        The batches in the order of their numbers, sorted.
    """
    if isinstance(batch, str) or not np.iterable(batch):
        raise TypeError(f"{name}={batch!r} must be the batches: one label per sample.")
    if sample_ids is not None and hasattr(batch, "reindex"):
        batch = _aligned(batch, sample_ids, name)
    values = _one_dimensional(batch)
    if values.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {values.shape}, but there are {n_samples} samples; give "
            "one label per sample, None where it is not known."
        )
    known = known_values(values, name)
    texts = batch_texts(values[known])
    batches, own = np.unique(texts, return_inverse=True)
    codes = np.full(n_samples, -1, np.int64)
    codes[known] = own
    return codes, tuple(batches.tolist())


def batch_leakage(labels: Any, codes: NDArray[np.int64]) -> float:
    """Adjusted mutual information of clusters and numbered batches.

    NaN where fewer than two batches are known; -1 stands for unknown ones.
    """
    known = codes >= 0
    if len(np.unique(codes[known])) < 2:
        return float("nan")
    return column_leakage(np.asarray(labels)[known], codes[known], n_permutations=0)[0]


def batch_texts(values: NDArray[Any]) -> NDArray[np.str_]:
    """Known values as text; 3.0 is the 3 that it is in a table without gaps."""
    texts = {value: _text(value) for value in dict.fromkeys(values.tolist())}
    return np.array([texts[value] for value in values.tolist()], dtype=np.str_)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _one_dimensional(batch: Any) -> NDArray[Any]:
    """An array of what was given; a list of tuples is a list of labels, not a table."""
    values = np.asarray(batch) if hasattr(batch, "dtype") else None
    if values is None:
        labels = list(batch)
        values = np.empty(len(labels), dtype=object)
        values[:] = labels
    return values


def _aligned(series: Any, sample_ids: Any, name: str) -> Any:
    """The values of a Series in the order of the samples, None for absent ids."""
    if not series.index.is_unique:
        raise ValueError(
            f"{name} has some ids twice in its index; give one row per sample."
        )
    ids = np.asarray(sample_ids)
    if not series.index.isin(ids).any():
        raise ValueError(
            f"{name} has none of the samples' ids in its index (it has "
            f"{series.index[:3].tolist()}, the samples {ids[:3].tolist()}); set its "
            f"index to them, or pass {name}.to_numpy() to take it in their order."
        )
    return series.astype(object).reindex(ids).to_numpy()
