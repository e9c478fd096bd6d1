"""The smooth end of a sparse graph's spectrum, its connected parts taken exactly."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components

from imvc.kernels._laplacian import laplacian, smallest_eigenvectors
from imvc.kernels._patterns import fix_signs

__all__ = ["graph_spectrum"]

_DENSE_SIZE = 300  # up to here LAPACK on a dense copy is as fast (measured)
_DENSE_SHARE = 0.05  # more non-zeros than this, and LAPACK is the faster one
_RESTARTS = 30  # of Lanczos, before the general solver takes over


def graph_spectrum(W, c):
    """The ``c`` smallest eigenpairs of the Laplacian of a sparse symmetric graph.

    Parameters
    ----------
    W : sparse matrix of shape (n, n), non-negative
    c : int, at most n

    Returns
    -------
    values : float64 array of shape (c,), ascending
    vectors : float64 array of shape (n, c), orthonormal, signs fixed

    Notes
    -----
    The null space is spanned by the indicators of the connected parts, and Lanczos
    steps, without a factorisation, find the rest beside it: O(nnz c) for a graph with
    clusters. Of more than ``c`` parts the largest are taken. Graphs that are small or
    not sparse, and spectra on which Lanczos is slow, go to `smallest_eigenvectors`.
    """
    n = W.shape[0]
    if n <= max(_DENSE_SIZE, 8 * c) or W.nnz > _DENSE_SHARE * n**2:
        return smallest_eigenvectors(laplacian(W.toarray()), c)
    N = part_indicators(W, c)
    q = N.shape[1]
    values, vectors = np.zeros(c), np.zeros((n, c))
    vectors[:, :q] = N.toarray()
    if q < c:
        found = _lanczos(laplacian(W).astype(np.float64), N, c - q)
        if found is None:
            return smallest_eigenvectors(laplacian(W), c)
        values[q:], vectors[:, q:] = found
    return values, fix_signs(vectors)


def part_indicators(W, c):
    """Unit-norm indicators of the (at most) ``c`` largest connected parts, CSC."""
    n_parts, part = connected_components(W, directed=False)
    sizes = np.bincount(part, minlength=n_parts)
    chosen = np.argsort(-sizes, kind="stable")[:c]
    columns = np.full(n_parts, -1)
    columns[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(columns[part] >= 0)
    entries = 1 / np.sqrt(sizes[part[rows]])
    shape = W.shape[0], len(chosen)
    return sp.csc_matrix((entries, (rows, columns[part[rows]])), shape=shape)


def _lanczos(L, N, c):
    """The ``c`` smallest eigenpairs of L orthogonal to its null vectors N, or None."""
    n = L.shape[0]
    # The spectrum ends below twice the largest degree: the null space goes there.
    top = 2 * L.diagonal().max()
    lifted = scipy.sparse.linalg.LinearOperator(
        (n, n), lambda x: L @ x + top * (N @ (N.T @ x)), dtype=np.float64
    )
    start = np.sin(1.0 + np.arange(n))
    try:
        values, vectors = scipy.sparse.linalg.eigsh(
            lifted, c, which="SA", v0=start, ncv=max(40, 4 * c), maxiter=_RESTARTS
        )
    except RuntimeError:  # no convergence
        return None
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]
