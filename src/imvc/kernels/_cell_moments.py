"""Means and deviations of the columns of a table with empty cells."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

_MOSTLY = 0.9  # zeros among the cells of a column that is nearly always zero
_LARGEST_SCALE = np.finfo(np.float64).max ** 0.75  # where squares are infinite


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Count, mean and sum of squared deviations of every column's observed cells.

    And how many are zero, and the least magnitude of the others. Those of stacked
    blocks are the sum of those of each.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    zeros: np.ndarray
    least: np.ndarray

    @classmethod
    def of(cls, X: Any) -> "CellMoments":
        """Moments of the cells that are not NaN; not stored ones of CSR are zeros."""
        if sp.issparse(X):
            return _sparse_moments(X)
        if not len(X):
            none = np.zeros(X.shape[1])
            return cls(none, none, none, none, none + np.inf)
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
        size = np.abs(X)
        other = seen & (size > 0)
        least = size.min(axis=0, initial=np.inf, where=other)
        zeros = count - other.sum(axis=0)
        return cls(count, first + mean, squares, zeros, least.astype(np.float64))

    def __add__(self, other: "CellMoments") -> "CellMoments":
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        shift = np.where(self.count > 0, other.mean - self.mean, 0)
        mean = np.where(self.count > 0, self.mean, other.mean) + shift * share
        with np.errstate(over="ignore"):
            between = np.square(shift) * self.count * share
        squares = self.squares + other.squares + between
        zeros = self.zeros + other.zeros
        least = np.minimum(self.least, other.least)
        return CellMoments(count, mean, squares, zeros, least)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations, 1 for columns that are constant up to rounding."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean)
        deviation = np.where(deviation > rounding, deviation, 1.0)
        return np.minimum(deviation, _LARGEST_SCALE)

    @property
    def zero_below(self) -> np.ndarray:
        """What is nearer to zero than to any other number of a column of zeros."""
        rare = (self.zeros >= _MOSTLY * self.count) & np.isfinite(self.least)
        return np.where(rare, self.least / 2, 0.0)


def _sparse_moments(X: Any) -> CellMoments:
    empty = np.isnan(X.data)
    at, d = X.indices, X.shape[1]
    count = X.shape[0] - np.bincount(at[empty], minlength=d)
    at, values = at[~empty], X.data[~empty].astype(np.float64)
    mean = np.bincount(at, weights=values, minlength=d) / np.maximum(count, 1)
    squares = np.bincount(at, weights=np.square(values - mean[at]), minlength=d)
    # What is not stored is zero.
    squares = squares + (count - np.bincount(at, minlength=d)) * np.square(mean)
    other, least = values != 0, np.full(d, np.inf)
    np.minimum.at(least, at[other], np.abs(values[other]))
    zeros = count - np.bincount(at[other], minlength=d)
    return CellMoments(count, mean, squares, zeros, least)
