"""k-means by blocks of rows: the one way from an embedding to labels.

Everything that touches the data is a function of a block, and the results of the
blocks are added up in their order, so the outcome depends neither on the number of
threads nor, beyond rounding, on the cutting into blocks.
"""

from dataclasses import dataclass
from functools import partial, reduce
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices, row_slices, squared_distances

START_ROWS = 10_000  # rows that the starts are tried on; all rows polish the best
_BLOCK_ROWS = 16_384
_SMALL = (
    10_000  # entries below which a dense product is faster than making a sparse one
)
_SAME_INERTIA = 1e-6
_PERMUTED = 1_000_000  # up to here a permutation of all rows costs nothing


@dataclass(frozen=True)
class KMeansResult:
    """Centres, labels, and the sum of squared distances to the own centre."""

    centers: np.ndarray
    labels: np.ndarray
    inertia: float
    n_iter: int


def kmeans_plusplus(X, k, rng):
    """Numbers of ``k`` rows of ``X`` to start from: greedy k-means++.

    Each centre is the best of 2 + log k rows drawn with probability proportional to
    the squared distance to the centres so far. O(n k log k p) in the dtype of ``X``
    (scikit-learn's twin goes through float64 and is several times slower in float32).
    Where no distance is left, rows repeat.
    """
    if sp.issparse(X):
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    else:
        X = X - X.mean(axis=0)  # the distances below then keep their digits
        norms = np.einsum("ij,ij->i", X, X)
    trials = 2 + int(np.log(k))
    chosen = [int(rng.randint(X.shape[0]))]
    nearest = _distances_from(X, norms, chosen)[0]
    for _ in range(1, k):
        cumulated = np.cumsum(nearest, dtype=np.float64)
        drawn = np.searchsorted(cumulated, rng.uniform(size=trials) * cumulated[-1])
        drawn = np.minimum(drawn, X.shape[0] - 1)
        D = np.minimum(_distances_from(X, norms, drawn), nearest)
        best = int(D.sum(axis=1, dtype=np.float64).argmin())
        nearest = D[best]
        chosen.append(int(drawn[best]))
    return chosen


def _distances_from(X, norms, rows):
    """Squared distances (len(rows), n) from some rows of ``X`` to all, never < 0."""
    products = X[rows] @ X.T
    products = products.toarray() if sp.issparse(products) else products
    D = norms[rows][:, None] + norms - 2 * products
    return np.maximum(D, 0, out=D)


def assign(X, centers):
    """Nearest centre of every row, lowest index on ties: ``(labels, distances^2)``."""
    n = X.shape[0]
    labels, distances = np.empty(n, np.int64), np.empty(n, X.dtype)
    for rows in block_slices(n, max(len(centers), X.shape[1])):
        D = squared_distances(X[rows], centers)
        labels[rows] = D.argmin(axis=1)
        distances[rows] = D[np.arange(D.shape[0]), labels[rows]]
    return labels, distances


def kmeans_statistics(X, centers):
    """What one Lloyd step needs of a block, additive over blocks: ``(sums, counts)``.

    Sums (k, p) are in float64 whatever ``X`` is, and so is the little that is
    converted at a time; counts (k,) are integers.
    """
    k = len(centers)
    sums, counts = np.zeros((k, X.shape[1])), np.zeros(k, np.int64)
    # Rows and centres around the middle of the centres lose no digits to a common
    # offset; sparse rows stay as they are, since shifting would make them dense.
    middle = np.zeros(X.shape[1]) if sp.issparse(X) else centers.mean(axis=0)
    centers, shift = (centers - middle).astype(X.dtype), middle.astype(X.dtype)
    half_norms = np.einsum("ij,ij->i", centers, centers) / 2
    for rows in block_slices(X.shape[0], max(k, X.shape[1])):
        block = X[rows] if sp.issparse(X) else X[rows] - shift
        # |x|^2 is the same for all centres, so x'c - |c|^2/2 finds the nearest.
        scores = np.asarray(block @ centers.T)
        scores -= half_norms
        labels = scores.argmax(axis=1)
        added = _members(labels, k) @ block
        sums += added.toarray() if sp.issparse(added) else added
        counts += np.bincount(labels, minlength=k)
    sums += counts[:, None] * shift.astype(np.float64)
    return sums, counts


def _members(labels, k):
    """Which rows belong to each of k clusters, (k, n): dense where that is small."""
    n = len(labels)
    if n * k > _SMALL:
        return sp.csc_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(k, n))
    members = np.zeros((k, n))
    members[labels, np.arange(n)] = 1
    return members


def lloyd(rows, centers, *, max_iter, tol=1e-4):
    """Lloyd's iteration from given centres.

    Stops when the centres move by less than ``tol`` times the mean column variance
    (scikit-learn's rule). A cluster that runs empty restarts at the row that is
    farthest from its centre.

    Parameters
    ----------
    rows : RowBlocks
    centers : ndarray of shape (k, p)

    Returns
    -------
    centers : float64 array of shape (k, p)
    n_iter : int
    """
    limit = tol * _mean_variance(rows)
    centers = np.asarray(centers, dtype=np.float64)
    n_iter, shift = 0, np.inf
    while n_iter < max_iter and shift > limit:
        n_iter += 1
        sums, counts = rows.total(partial(kmeans_statistics, centers=centers))
        moved = sums / np.maximum(counts, 1)[:, None]
        empty = np.flatnonzero(counts == 0)
        if empty.size:
            moved[empty] = _farthest_rows(rows, centers, empty.size)
        shift = np.square(moved - centers).sum()
        centers = moved
    return centers, n_iter


def kmeans_centers(
    rows, k, *, n_init, random_state, max_iter=300, start_rows=START_ROWS, map=map
):
    """k-means++ with ``n_init`` starts; the best by inertia, polished on all rows.

    The starts run on at most ``start_rows`` random rows (at least 20 a cluster), since
    a start only has to find the right basin; their best then runs on everything.

    Parameters
    ----------
    rows : RowBlocks
    map : callable
        Like the built-in; a threaded one tries starts side by side.

    Returns
    -------
    centers : ndarray of shape (k, p), in the dtype of the rows
    n_iter : int
    """
    from sklearn.utils import check_random_state  # slow to load

    rng = check_random_state(random_state)
    size = max(start_rows, 20 * k)
    sample = rows.draw(size, rng)
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_init)
    few = ArrayRows(sample)

    def start(seed):
        first = kmeans_plusplus(sample, k, np.random.RandomState(seed))
        centers, n_iter = lloyd(few, dense_rows(sample, first), max_iter=max_iter)
        return assign(sample, centers)[1].sum(dtype=np.float64), centers, n_iter

    found = list(map(start, seeds))
    # Starts that end in the same place differ by rounding; the first of them is taken,
    # so that rounding does not renumber the clusters.
    limit = min(inertia for inertia, _, _ in found) * (1 + _SAME_INERTIA)
    _, centers, n_iter = next(result for result in found if result[0] <= limit)
    if rows.n > size:
        centers, n_iter = lloyd(rows, centers, max_iter=max_iter)
    return centers.astype(sample.dtype), n_iter


def kmeans(X, k, *, n_init, random_state, max_iter=300, start_rows=START_ROWS, map=map):
    """`kmeans_centers` of an array, and the labels of its rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    map : callable
        Like the built-in; a threaded one uses several cores with the same result.

    Returns
    -------
    KMeansResult
    """
    centers, n_iter = kmeans_centers(
        ArrayRows(X, map),
        k,
        n_init=n_init,
        random_state=random_state,
        max_iter=max_iter,
        start_rows=start_rows,
        map=map,
    )
    blocks = row_slices(X.shape[0], _BLOCK_ROWS)
    parts = map(lambda rows: assign(X[rows], centers), blocks)
    labels, distances = (np.concatenate(part) for part in zip(*parts))
    inertia = float(distances.sum(dtype=np.float64))
    return KMeansResult(centers, labels, inertia, n_iter)


class RowBlocks(Protocol):
    """Rows that k-means runs on, wherever they are."""

    n: int

    def draw(self, size, rng):
        """At most ``size`` random rows, in an order that does not matter to them."""

    def total(self, function):
        """Sum of ``function`` of every block of rows."""

    def collect(self, function):
        """Results of ``function`` of every block, in order."""


class ArrayRows:
    """The rows of an array in memory, cut into blocks."""

    def __init__(self, X, map=map):
        self.n, self._X, self._map = X.shape[0], X, map
        self._blocks = [X[rows] for rows in row_slices(X.shape[0], _BLOCK_ROWS)]

    def draw(self, size, rng):
        return self._X if self.n <= size else self._X[random_rows(self.n, size, rng)]

    def total(self, function):
        return reduce(add_results, self._map(function, self._blocks))

    def collect(self, function):
        return list(self._map(function, self._blocks))


def add_results(a, b):
    """Sum of the results of two blocks; tuples are added entry by entry."""
    if isinstance(a, tuple):
        return tuple(add_results(x, y) for x, y in zip(a, b))
    return a + b


def _mean_variance(rows):
    count, sums, squares = rows.total(_moments)
    count = max(int(count), 1)
    mean = sums / count
    return float(max(squares / (count * len(sums)) - np.mean(mean**2), 0))


def _moments(X):
    """``(rows, sums of the columns, sum of all squares)``, in float64."""
    if sp.issparse(X):
        squares = X.multiply(X).sum(dtype=np.float64)
        return X.shape[0], np.asarray(X.sum(axis=0, dtype=np.float64)).ravel(), squares
    squares = np.einsum("ij,ij->", X, X, dtype=np.float64)
    return X.shape[0], X.sum(axis=0, dtype=np.float64), squares


def random_rows(n, m, rng):
    """``m`` distinct row numbers out of ``n``, ascending; beyond a million in O(m)."""
    if n <= _PERMUTED or m > n // 10:
        return np.sort(rng.choice(n, m, replace=False))
    found = np.empty(0, np.int64)
    while len(found) < m:
        drawn = rng.randint(n, size=2 * m, dtype=np.int64)
        found = np.unique(np.append(found, drawn))
    return np.sort(rng.choice(found, m, replace=False))


def _farthest_rows(rows, centers, count):
    """The ``count`` rows farthest from their centres; of equal ones the earlier."""
    found = rows.collect(partial(_farthest_of_block, centers=centers, count=count))
    distances, candidates = (np.concatenate(part) for part in zip(*found))
    return candidates[np.argsort(-distances, kind="stable")[:count]]


def _farthest_of_block(X, centers, count):
    _, distances = assign(X, centers)
    rows = np.argsort(-distances, kind="stable")[:count]
    return distances[rows], dense_rows(X, rows)


def dense_rows(X, rows):
    """A few rows of ``X`` as a dense array."""
    return X[rows].toarray() if sp.issparse(X) else X[rows]
