"""Columns of a view over its observed rows: ranges, moments, and which are equal.

Every function walks over blocks of rows, so that beside the data only a bounded block
exists; a sparse view is never made dense.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import inverse
from imvc.kernels._cell_moments import CellMoments
from imvc.kernels._distances import block_slices
from imvc.views import IncompleteViews, with_observed

# Counts: values looked at, and rows at least; how large and how skewed they are.
_COUNT_VALUES, _LEAST_ROWS = 2_000_000, 50
_SMALL_COUNT, _COUNT_TAIL, _SKEWED = 20, 5, 1.5
_NEGLIGIBLE = 1e-9  # of a column's largest number: less than that is rounding


@dataclass(frozen=True, eq=False)
class ColumnRanges:
    """Smallest and largest value of every column, and the share of non-zero entries."""

    low: np.ndarray
    high: np.ndarray
    nonzero: float

    @property
    def largest(self) -> np.ndarray:
        """Largest magnitude of every column."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Counts (c,), means (c, d) and sums of squared deviations (c, d) of groups.

    Columns were divided by their largest magnitude first: no square over- or
    underflows. `scale` (d,) takes means back to the units of the data; `varies` (d,)
    is False for columns with a single value, up to rounding.
    """

    counts: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    scale: np.ndarray
    varies: np.ndarray


def feature_name(views: IncompleteViews, v: int, j: int) -> str:
    """Name of column `j`: its own, or ``view[j]`` where columns have no names."""
    names = views.feature_names[v]
    return f"{views.names[v]}[{j}]" if names is None else names[j]


def blocks(views: IncompleteViews, v: int) -> Iterator[tuple[np.ndarray, Any]]:
    """``(samples, float64 rows)`` of view `v`, a bounded block at a time."""
    rows, X_v = views.rows(v), views.arrays[v]
    width = views.n_features[v]
    if sp.issparse(X_v):
        width = -(-X_v.nnz // max(1, X_v.shape[0]))
    for part in block_slices(len(rows), width):
        yield rows[part], views.take(v, rows[part]).astype(np.float64, copy=False)


def without_empty_cells(
    views: IncompleteViews,
) -> tuple[IncompleteViews, list[tuple[int, int, int]]]:
    """Views with column means in their empty cells; view, column and count of those.

    The means of the other cells; a column without any number becomes zeros.
    """
    if not views.empty_cells:
        return views, []
    arrays, found = [], []
    for v in range(views.n_views):
        X = views.observed(v)
        X = X.copy() if sp.issparse(X) else X.astype(np.float64)
        moments = CellMoments.of(X)
        mean = np.where(moments.count > 0, moments.mean, 0.0)
        n_empty = X.shape[0] - moments.count
        found += [(v, int(j), int(n_empty[j])) for j in np.flatnonzero(n_empty)]
        if sp.issparse(X):
            X.data = np.where(np.isnan(X.data), mean[X.indices], X.data)
        else:
            X = np.where(np.isnan(X), mean, X)
        arrays.append(X)
    return replace(with_observed(views, arrays), empty_cells=False), found


def column_ranges(views: IncompleteViews, v: int) -> ColumnRanges:
    """Ranges of the columns of view `v` over its observed rows."""
    d = views.n_features[v]
    low, high, nonzero = np.full(d, np.inf), np.full(d, -np.inf), 0
    for _, X in blocks(views, v):
        lowest, highest = X.min(axis=0), X.max(axis=0)
        if sp.issparse(X):
            lowest, highest = lowest.toarray().ravel(), highest.toarray().ravel()
            nonzero += X.count_nonzero()
        else:
            nonzero += int(np.count_nonzero(X))
        low, high = np.minimum(low, lowest), np.maximum(high, highest)
    return ColumnRanges(low, high, nonzero / max(1, d * len(views.rows(v))))


def row_lengths(views: IncompleteViews, v: int, ranges: ColumnRanges) -> np.ndarray:
    """Euclidean length of every observed row of view `v`, ascending by sample."""
    largest = ranges.largest.max(initial=0)
    if largest == 0:
        return np.zeros(len(views.rows(v)))
    lengths = []
    for _, X in blocks(views, v):
        scaled = X / largest
        square = scaled.multiply(scaled) if sp.issparse(X) else np.square(scaled)
        lengths.append(np.sqrt(np.asarray(square.sum(axis=1)).ravel()))
    return np.concatenate(lengths) * largest


def looks_like_counts(views: IncompleteViews, v: int, ranges: ColumnRanges) -> bool:
    """Whether view `v` holds whole numbers from 0 on with a long tail.

    Judged on some rows spread over the observed ones. The largest value exceeds 20 and
    five times the median of those that are not zero, which keeps out categories, ages
    and grey values; and the typical column reaches half as far again above its
    median as below it, which keeps out tables of unlike measurements.
    """
    rows = views.rows(v)
    if len(rows) == 0 or ranges.low.min() < 0 or ranges.high.max() <= _SMALL_COUNT:
        return False
    most = max(_LEAST_ROWS, _COUNT_VALUES // views.n_features[v])
    some = np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)
    X = views.take(v, rows[some])
    X = X.toarray() if sp.issparse(X) else X
    if not np.array_equal(X, np.rint(X)) or X.max() == 0:
        return False
    if ranges.high.max() < _COUNT_TAIL * np.median(X[X > 0]):
        return False
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    middle = np.median(X, axis=0)
    above, below = X.max(axis=0) - middle, middle - X.min(axis=0)
    return bool(X.size and np.median(above / (below + 1)) >= _SKEWED)


def column_digests(views: IncompleteViews, v: int) -> np.ndarray:
    """One 64-bit number per column of view `v`; equal columns have equal ones.

    The sum over rows of a scrambled value times a random odd number of its row. Two
    different columns agree with a probability of about 2^-63, so equal digests are
    taken for equal columns. O(n d), or O(nnz): a zero adds nothing.
    """
    random = np.random.default_rng(0)
    digests = np.zeros(views.n_features[v], np.uint64)
    for rows, X in blocks(views, v):
        factors = random.integers(2**63, size=len(rows), dtype=np.uint64) * 2 + 1
        if not sp.issparse(X):
            digests += (_scrambled(X) * factors[:, None]).sum(axis=0, dtype=np.uint64)
            continue
        values = _scrambled(X.data) * np.repeat(factors, np.diff(X.indptr))
        np.add.at(digests, X.indices, values)
    return digests


def _scrambled(X: np.ndarray) -> np.ndarray:
    """Bits of doubles, mixed one to one (splitmix64); zero stays zero.

    Unmixed, the bits of small integers differ in their top few only, and products
    with random numbers would agree far too often.
    """
    bits = (X + 0.0).view(np.uint64)  # -0.0 and 0.0 are equal
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def group_moments(
    views: IncompleteViews, v: int, labels: np.ndarray, n_groups: int
) -> GroupMoments:
    """Moments of the columns of view `v` within groups of its observed samples.

    `labels` (n,) has the group of every sample, 0 to ``n_groups - 1``.
    """
    ranges = column_ranges(views, v)
    scale = ranges.largest
    shape = (n_groups, views.n_features[v])
    counts = np.bincount(labels[views.rows(v)], minlength=n_groups)
    sums = np.zeros(shape)
    for rows, X in blocks(views, v):
        sums += _sum_by_group(_divided(X, scale), labels[rows], n_groups)
    means = sums / np.maximum(counts, 1)[:, None]
    squares = np.zeros(shape)
    for rows, X in blocks(views, v):
        Z, own = _divided(X, scale), labels[rows]
        if sp.issparse(Z):
            squares += _sum_by_group(Z.multiply(Z).tocsr(), own, n_groups)
        else:
            squares += _sum_by_group(np.square(Z - means[own]), own, n_groups)
    if sp.issparse(views.arrays[v]):
        # Deviations would be dense; columns near 0 lose no digits to the difference.
        squares = np.maximum(squares - counts[:, None] * np.square(means), 0)
    # What rounding leaves of a constant, beside itself or the largest of its view.
    eps = np.finfo(views.dtype).eps
    own = max(_NEGLIGIBLE, 4 * eps) * scale
    rounding = np.maximum(own, eps * scale.max(initial=0))
    varies = ranges.high / 2 - ranges.low / 2 > rounding / 2  # which cannot overflow
    return GroupMoments(counts, means, squares, scale, varies)


def _divided(X: Any, scale: np.ndarray) -> Any:
    """Columns divided by `scale`, those of zeros left alone."""
    if sp.issparse(X):
        return X.multiply(inverse(scale)).tocsr()
    return X / np.where(scale == 0, 1, scale)


def _sum_by_group(X: Any, labels: np.ndarray, n_groups: int) -> np.ndarray:
    n = len(labels)
    members = sp.csc_array((np.ones(n), labels, np.arange(n + 1)), shape=(n_groups, n))
    total = members @ X
    return total.toarray() if sp.issparse(total) else total
