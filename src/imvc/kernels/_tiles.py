"""Products of rows with a small matrix, whatever other rows stand around a row.

BLAS does not promise that: its kernels round a row differently by the shape of the
product and by the place of the row in it. So all products here have one shape, with
zeros after the last row. In float64 that is enough. The float32 kernels of OpenBLAS
also sum the outermost rows of a product in another order, so slabs of float32 rows
stand between rows of zeros. Whether that is enough is tried first: with several BLAS
threads or another BLAS it may not be, and then the product is made in float64 and
rounded, after which nothing is left of such differences.
"""

import numpy as np

__all__ = ["SLAB_ROWS", "row_products", "slab_products", "tile_products"]

SLAB_ROWS = 288
_GUARD = 8  # rows of zeros on either side of a slab
_INNER = slice(_GUARD, _GUARD + SLAB_ROWS)
_SLABS = 4  # at a time, since one is small beside the cost of calls
_SLAB_ENTRIES = 1 << 19  # unless they are wide
_TILE_ENTRIES = 1 << 16
_TILE_STEP = 48  # the heights of BLAS kernels divide it
_TRIED: set[tuple[int, ...]] = set()  # shapes of slabs found to be treated well


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
    for rows in _slices(X.shape[0], height):
        load(tile, _padded(X[rows], height))
        np.matmul(tile, B, out=products)
        yield rows, products[: rows.stop - rows.start]


def slab_products(X, B, load):
    """The same in float32, transposed, for float32 rows; None where BLAS spoils it.

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
    tile = np.empty((count, height, width), np.float32)
    products = np.empty((count, m, height), np.float32)
    B_T = np.ascontiguousarray(B.T, dtype=np.float32)
    if B_T.shape not in _TRIED:
        if not _rows_alike(B_T, tile[:1], products[:1]):
            return None
        _TRIED.add(B_T.shape)
    tile[:] = 0
    return _fill_slabs(X, B_T, load, tile, products)


def _fill_slabs(X, B_T, load, tile, products):
    for rows in _slices(X.shape[0], len(tile) * SLAB_ROWS):
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


def _slices(n, step):
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _padded(X, height):
    """``X`` with rows of zeros up to ``height``."""
    if X.shape[0] == height:
        return X
    padded = np.zeros((height, X.shape[1]), X.dtype)
    padded[: X.shape[0]] = X
    return padded
