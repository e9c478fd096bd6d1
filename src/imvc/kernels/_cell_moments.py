"""Means and deviations of the columns of a table with empty cells."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

_LARGEST_SCALE = np.finfo(np.float64).max ** 0.75  # where squares are infinite


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Count, mean and sum of squared deviations of every column's observed cells.

    Those of stacked blocks are the sum of those of each.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, X: Any) -> "CellMoments":
        """Moments of the cells that are not NaN; not stored ones of CSR are zeros."""
        if sp.issparse(X):
            return _sparse_moments(X)
        if not len(X):
            return cls(*np.zeros((3, X.shape[1])))
        seen = ~np.isnan(X)
        count = seen.sum(axis=0)
        # Sums of differences to some cell lose no digits to a large offset.
        first = np.take_along_axis(X, seen.argmax(axis=0)[None], axis=0)[0]
        first = np.where(count > 0, first, 0).astype(np.float64)
        shifted = np.subtract(X, first, out=np.zeros(X.shape), where=seen)
        mean = shifted.sum(axis=0) / np.maximum(count, 1)
        np.subtract(shifted, mean, out=shifted, where=seen)
        with np.errstate(over="ignore"):
            squares = np.square(shifted).sum(axis=0)
        return cls(count, first + mean, squares)

    def __add__(self, other: "CellMoments") -> "CellMoments":
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        shift = np.where(self.count > 0, other.mean - self.mean, 0)
        mean = np.where(self.count > 0, self.mean, other.mean) + shift * share
        with np.errstate(over="ignore"):
            between = np.square(shift) * self.count * share
        return CellMoments(count, mean, self.squares + other.squares + between)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations, 1 for columns that are constant up to rounding."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean)
        deviation = np.where(deviation > rounding, deviation, 1.0)
        return np.minimum(deviation, _LARGEST_SCALE)


def _sparse_moments(X: Any) -> CellMoments:
    empty = np.isnan(X.data)
    at, d = X.indices, X.shape[1]
    count = X.shape[0] - np.bincount(at[empty], minlength=d)
    at, values = at[~empty], X.data[~empty].astype(np.float64)
    mean = np.bincount(at, weights=values, minlength=d) / np.maximum(count, 1)
    squares = np.bincount(at, weights=np.square(values - mean[at]), minlength=d)
    zeros = count - np.bincount(at, minlength=d)  # that are not stored
    return CellMoments(count, mean, squares + zeros * np.square(mean))
