"""Labels and masks as whole numbers 0..k-1, or what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


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


def encode_patterns(mask: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    """Number the distinct rows of a mask."""
    observed = np.asarray(mask)
    if observed.ndim != 2 or len(observed) != n_samples:
        raise ValueError(
            f"mask has shape {observed.shape}; pass (n_samples, n_views) with the "
            f"{n_samples} samples of labels in rows."
        )
    if observed.dtype != bool and not np.isin(observed, (0, 1)).all():
        raise ValueError("mask must hold True/False or 1/0 only, 1 = observed.")
    codes = np.zeros(n_samples, dtype=np.int64)
    # Eight views per byte; renumbering after each byte keeps codes below n_samples.
    for byte in np.packbits(observed.astype(bool), axis=1).T:
        codes = np.unique(codes * 256 + byte, return_inverse=True)[1]
    return codes


def is_unknown(value: Any) -> bool:
    """Whether a value of a column says nothing: None, NaN, NaT, NA or blank text."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    # NaN and NaT differ from themselves; pandas' NA refuses to be compared.
    return str(value) == "<NA>" or bool(value != value)


def known_values(column: ArrayLike, name: str) -> NDArray[np.bool_]:
    """True where a column of anything has a value."""
    values = np.asarray(column)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {values.shape}; pass one value "
            "per sample."
        )
    if values.dtype.kind in "biu":
        return np.ones(len(values), bool)
    if values.dtype.kind in "fcmM":
        return values == values
    return np.array([not is_unknown(value) for value in values.tolist()], bool)
