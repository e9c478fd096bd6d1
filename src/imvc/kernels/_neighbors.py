"""Nearest neighbours among many samples, in time linear in their number."""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import kmeans_anchors
from imvc.kernels._distances import nearest_anchors
from imvc.kernels._kmeans import assign, random_rows
from imvc.kernels._laplacian import not_itself

CELL_ROWS = 128  # rows of a cell on average
SEARCHED_ROWS = 4096  # rows that a row is compared with
_SAMPLE_ROWS = 20  # rows per cell that the cells are sought on
_LLOYD_STEPS = 5
_DENSE_ENTRIES = 1 << 25  # bound on the candidates of one cell, made dense


def nearby_neighbors(X, k, rng, *, cell_rows=CELL_ROWS, searched_rows=SEARCHED_ROWS):
    """About the ``k`` nearest other rows of every row, found in nearby k-means cells.

    The rows are cut into k-means cells. Those of one cell are compared with the rows
    of the cells whose centres are nearest to their own, in this order until
    ``searched_rows`` are reached; among these the neighbours are exact.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    k : int
        At most n - 1 are found.
    rng : RandomState
        Draws the sample of rows that the cells are sought on.
    cell_rows, searched_rows : int

    Returns
    -------
    int32 array of shape (n, min(k, n - 1)), nearest first

    Notes
    -----
    O(n p (searched_rows + n / cell_rows)) time, in single precision; the second term
    passes the first beyond n = 500 000. Memory O(n (k + p)). The bound on the rows
    searched holds for cells of any size, so that a million equal rows cost no more.
    With ``searched_rows >= n`` the result is exact.
    """
    n = X.shape[0]
    k = max(min(k, n - 1), 0)
    found = np.empty((n, k), np.int32)
    if k == 0:
        return found
    X = X.astype(np.float32, copy=False)
    searched_rows = max(searched_rows, 2 * k + 2)
    if sp.issparse(X):
        searched_rows = min(searched_rows, max(_DENSE_ENTRIES // X.shape[1], 4 * k + 4))
    cells, centres = _cells(X, max(n // cell_rows, 1), rng)
    m = len(cells)
    near = nearest_anchors(centres, centres, m)[0] if m > 1 else np.zeros((1, 1), int)
    sizes = np.array([len(cell) for cell in cells])
    for c, cell in enumerate(cells):
        order = np.concatenate([[c], near[c][near[c] != c]])
        last = np.searchsorted(np.cumsum(sizes[order]), searched_rows) + 1
        others = np.concatenate([cells[j] for j in order[1:last]] or [cell[:0]])
        for start in range(0, len(cell), searched_rows // 2):
            own = cell[start : start + searched_rows // 2]
            # Own rows first, then the rest of the cell, then the other cells.
            rest = np.concatenate([cell[:start], cell[start + len(own) :], others])
            candidates = np.concatenate([own, rest[: searched_rows - len(own)]])
            found[own] = _among(X, own, candidates, k)
    return found


def _cells(X, m, rng):
    """Rows of at most ``m`` k-means cells, none of them empty, and their centres."""
    n, size = X.shape[0], _SAMPLE_ROWS * m
    sample = X if n <= size else X[random_rows(n, size, rng)]
    centres = kmeans_anchors(sample, m, rng, max_iter=_LLOYD_STEPS)
    labels = assign(X, centres)[0]
    used, labels, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(counts)[:-1]), centres[used]


def _among(X, own, candidates, k):
    """The ``k`` nearest candidates of the first ``own`` of them, without themselves."""
    A = X[candidates]
    A = A.toarray() if sp.issparse(A) else A
    near = nearest_anchors(X[own], A, min(k + 1, len(candidates)))[0]
    return candidates[near[not_itself(near)].reshape(len(own), -1)]
