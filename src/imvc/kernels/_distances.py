"""Distances from samples to anchors, and products of rows, a bounded tile at a time.

The result of a row does not depend on the rows around it. BLAS does not promise that:
its kernels round a row differently by the shape of the product and by the place of the
row in it. So all products here have one shape, with zeros after the last row. In
float64 that is enough. The float32 kernels of OpenBLAS also sum the outermost rows of a
product in another order, so slabs of float32 rows stand between rows of zeros. Whether
that is enough is tried first: with several BLAS threads or another BLAS it may not be,
and then the product is made in float64 and rounded, after which nothing is left of such
differences.
"""

import math
import sys
import threading

import numpy as np
import scipy.sparse as sp

_BLOCK_ENTRIES = 1 << 18  # entries of one block of rows
_SPARSE_ENTRIES = 1 << 16  # distances of sparse rows at a time
_ROUNDS = 12  # up to here repeated minima beat a partition (measured)
_KEYED_ANCHORS = 1024  # beyond, the keys of a slab would leave the cache
_HIGH = 1 if sys.byteorder == "little" else 0  # upper half of a 64-bit integer

SLAB_ROWS = 288
_GUARD = 8  # rows of zeros on either side of a slab
_INNER = slice(_GUARD, _GUARD + SLAB_ROWS)
_SLABS = 4  # at a time, since one is small beside the cost of calls
_SLAB_ENTRIES = 1 << 19  # unless they are wide
_TILE_ENTRIES = 1 << 16
_TILE_STEP = 48  # the heights of BLAS kernels divide it
_TRIED: set[tuple[int, ...]] = set()  # shapes of slabs found to be treated well


def block_slices(n_rows, width, entries=_BLOCK_ENTRIES):
    """Slices that cut ``n_rows`` into blocks of about ``entries / width`` rows."""
    return row_slices(n_rows, max(16, entries // max(1, width)))


def row_slices(n_rows, step):
    """Slices that cut ``n_rows`` into blocks of ``step`` rows; the last may be less."""
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def squared_distances(X, A):
    """Squared Euclidean distances (n, m) between rows of ``X`` and of ``A``, never < 0.

    Both are shifted by the mean of ``A`` first where ``X`` is dense: the distances do
    not change and the cancellation in |x|^2 - 2 x'a + |a|^2 shrinks.
    """
    D = np.empty((X.shape[0], len(A)), X.dtype)
    for rows, tile in _distance_tiles(X, A):
        D[rows] = tile
    return np.maximum(D, 0, out=D)


def distance_factors(X, A):
    """``(L, R)`` whose product has the squared distances of dense ``X`` to ``A``.

    For those who want a block of rows, ``L[rows] @ R``, at a time. Rounding may leave
    some just below 0, and differs with the rows of the block.
    """
    R, load = _as_product(np.asarray(A, X.dtype))
    L = np.empty((len(X), len(R)), X.dtype)
    load(L, X)
    return L, R


def nearest_anchors(X, A, k, *, squared=True):
    """The ``k`` nearest rows of ``A`` for every row of ``X``, nearest first.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    A : ndarray of shape (m, p)
    k : int, at most m
    squared : bool
        Squared or plain Euclidean distances.

    Returns
    -------
    indices : int32 array of shape (n, k)
    distances : array of shape (n, k), in the dtype of ``X``

    Notes
    -----
    O(n m p) time; beside the result at most one bounded tile of the n x m distances
    exists. Of equal distances the lower index comes first. Both results of a row are
    the same, bit for bit, whatever rows stand around it.
    """
    n, m = X.shape[0], A.shape[0]
    if not 1 <= k <= m:
        raise ValueError(f"k={k} must lie between 1 and the number of anchors, {m}.")
    # Turned: what is done with all rows at once then runs over long arrays.
    indices = np.empty((k, n), dtype=np.int32)
    distances = np.empty((k, n), dtype=X.dtype)
    slabs = None
    if not sp.issparse(X) and k <= _ROUNDS and m <= _KEYED_ANCHORS:
        slabs = slab_products(X, *_as_product(np.asarray(A, X.dtype)))
    if slabs is not None:
        _smallest_keys(slabs, indices, distances)
    else:
        for rows, D in _distance_tiles(X, A):
            found = indices[:, rows].T, distances[:, rows].T
            _smallest(D.astype(X.dtype, copy=False), *found)
    np.maximum(distances, 0, out=distances)
    if not squared:
        np.sqrt(distances, out=distances)
    return indices.T, distances.T


def _distance_tiles(X, A):
    """Yield ``(rows, squared distances)``; rounding may leave some just below 0."""
    A = np.asarray(A, dtype=X.dtype)
    if not sp.issparse(X):
        yield from tile_products(X, *_as_product(A))
        return
    columns, norms = np.ascontiguousarray(A.T), np.einsum("ij,ij->i", A, A)
    for rows in block_slices(X.shape[0], len(A), _SPARSE_ENTRIES):
        part = X[rows]
        products = np.asarray(part @ columns)
        products *= -2
        products += np.asarray(part.multiply(part).sum(axis=1)).reshape(-1, 1)
        products += norms
        yield rows, products


def _as_product(A):
    """Distances as one product [x, |x|^2, 1] [-2a, 1, |a|^2]': ``(B, load)``.

    No pass over the distances is left after the product.
    """
    p = A.shape[1]
    # Rounded first, so that samples and anchors are shifted by the same.
    centre = A.mean(axis=0, dtype=np.float64).astype(A.dtype).astype(np.float64)
    A = A - centre
    norms = np.einsum("ij,ij->i", A, A)

    def load(out, part):
        shifted = out[..., :p]
        np.subtract(part, centre.astype(out.dtype), out=shifted)
        np.einsum("...j,...j->...", shifted, shifted, out=out[..., p])
        out[..., p + 1] = 1

    return np.vstack([-2 * A.T, np.ones_like(norms), norms]), load


class _Scratch(threading.local):
    """Arrays that a thread uses again: fresh memory must be cleared by the system.

    What is in them is of no meaning to the next call.
    """

    def __init__(self):
        self._kept = {}

    def empty(self, name, shape, dtype):
        """An array; the next call with that name may give the same memory."""
        size, kept = math.prod(shape), self._kept.get(name)
        if kept is None or kept.size < size:
            kept = self._kept[name] = np.empty(size, dtype)
        return kept[:size].reshape(shape)


_scratch = _Scratch()


def _smallest_keys(slabs, indices, values):
    """Write the nearest anchors and their distances, given slabs of float32 distances.

    A key is a 64-bit integer: the bits of a distance above its place among all keys.
    Floats that are not negative are ordered as their bits are, so the smallest key of
    a row names the nearest anchor, and of several the first. Results are (k, n).
    """
    keys, rounds = None, len(indices)
    for rows, D in slabs:
        if keys is None:  # no later step has more slabs
            keys = _scratch.empty("keys", (D.shape[1], len(D), SLAB_ROWS), np.int64)
            distances = keys.reshape(-1).view(np.float32)
            keys.reshape(-1)[:] = np.arange(_HIGH, distances.size, 2, dtype=np.int32)
            halves = distances.reshape(*keys.shape, 2)[..., _HIGH]
            least = np.empty((rounds, *keys.shape[1:]), np.int64)
            anchor_step = distances.size // len(keys)
        halves[:, : len(D)] = D.transpose(1, 0, 2)
        used, found = keys[:, : len(D)], least[:, : len(D)]
        for j in range(rounds):
            np.minimum.reduce(used, axis=0, out=found[j])
            distances[found[j].view(np.int32)[:, 1 - _HIGH :: 2]] = np.inf
        found, count = found.reshape(rounds, -1), rows.stop - rows.start
        places, high = found.view(np.int32), found.view(np.float32)[:, _HIGH::2]
        np.floor_divide(
            places[:, 1 - _HIGH :: 2][:, :count], anchor_step, out=indices[:, rows]
        )
        values[:, rows] = high[:, :count]


def _smallest(D, indices, values):
    """Write the columns and values of the smallest entries per row; spoils ``D``."""
    k = indices.shape[1]
    if k > _ROUNDS:
        part = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
        found = np.take_along_axis(D, part, axis=1)
        order = np.argsort(found, axis=1, kind="stable")
        indices[:] = np.take_along_axis(part, order, axis=1)
        values[:] = np.take_along_axis(found, order, axis=1)
        return
    flat, first = D.reshape(-1), np.arange(0, D.size, D.shape[1])
    for j in range(k):
        columns = D.argmin(axis=1)
        indices[:, j] = columns
        columns += first
        values[:, j] = flat[columns]
        flat[columns] = np.inf


def row_products(X, B):
    """``X @ B`` of dense ``X`` in its dtype, every row the same among any others."""
    result = np.empty((X.shape[0], B.shape[1]), X.dtype)
    slabs = slab_products(X, B, np.copyto)
    if slabs is None:
        for rows, products in tile_products(X, B, np.copyto):
            result[rows] = products
        return result
    for rows, products in slabs:
        upright = products.transpose(0, 2, 1).reshape(-1, B.shape[1])
        result[rows] = upright[: rows.stop - rows.start]
    return result


def tile_products(X, B, load):
    """Yield ``(rows, products)``: rows of ``X`` times ``B`` in float64, tile by tile.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    B : ndarray of shape (w, m)
    load : callable
        ``load(out, part)`` writes rows of ``X`` into an array of rows of length w.

    Yields
    ------
    rows : slice
    products : ndarray of shape (number of rows, m); the next step overwrites it
    """
    width, m = B.shape
    height = max(1, min(16, _TILE_ENTRIES // max(width, m) // _TILE_STEP)) * _TILE_STEP
    B = B.astype(np.float64, copy=False)
    tile, products = np.empty((height, width)), np.empty((height, m))
    for rows in row_slices(X.shape[0], height):
        load(tile, _padded(X[rows], height))
        np.matmul(tile, B, out=products)
        yield rows, products[: rows.stop - rows.start]


def slab_products(X, B, load):
    """`tile_products` in float32 and transposed, or None where BLAS would spoil it.

    Yields
    ------
    rows : slice
    products : ndarray of shape (slabs, m, SLAB_ROWS)
        Those of row ``i`` are ``products[i // SLAB_ROWS, :, i % SLAB_ROWS]``; behind
        the last row stands padding.
    """
    if X.dtype != np.float32 or not X.shape[0]:
        return None
    width, m = B.shape
    most = _SLAB_ENTRIES // (SLAB_ROWS * max(width, m))
    count = min(max(1, most), _SLABS, -(-X.shape[0] // SLAB_ROWS))
    height = SLAB_ROWS + 2 * _GUARD
    tile = _scratch.empty("tile", (count, height, width), np.float32)
    products = _scratch.empty("products", (count, m, height), np.float32)
    B_T = np.ascontiguousarray(B.T, dtype=np.float32)
    if B_T.shape not in _TRIED:
        if not _rows_alike(B_T, tile[:1], products[:1]):
            return None
        _TRIED.add(B_T.shape)
    tile[:] = 0
    return _fill_slabs(X, B_T, load, tile, products)


def _fill_slabs(X, B_T, load, tile, products):
    for rows in row_slices(X.shape[0], len(tile) * SLAB_ROWS):
        count = -(-(rows.stop - rows.start) // SLAB_ROWS)
        part = _padded(X[rows], count * SLAB_ROWS).reshape(count, SLAB_ROWS, -1)
        load(tile[:count, _INNER], part)
        np.matmul(B_T, tile[:count].transpose(0, 2, 1), out=products[:count])
        yield rows, products[:count, :, _INNER]


def _rows_alike(B_T, tile, products):
    """Whether equal rows of a slab come out equal, bit for bit; spoils the arrays."""
    tile[:] = np.cos(np.arange(tile.shape[2]))  # just numbers with many digits
    np.matmul(B_T, tile.transpose(0, 2, 1), out=products)
    inner = products[:, :, _INNER]
    return bool((inner == inner[:, :, :1]).all())


def _padded(X, height):
    """``X`` with rows of zeros up to ``height``."""
    if X.shape[0] == height:
        return X
    padded = np.zeros((height, X.shape[1]), X.dtype)
    padded[: X.shape[0]] = X
    return padded
