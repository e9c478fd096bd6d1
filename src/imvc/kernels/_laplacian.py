"""Graphs between samples, their Laplacians and the eigenvectors of these."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components

from imvc.kernels._distances import block_slices, nearest_anchors, squared_distances
from imvc.kernels._patterns import dense_eigh, fix_signs, lanczos

_DENSE_SIZE = 1500  # up to here LAPACK on a dense copy beats Lanczos, and is certain
_SPECTRUM_SIZE = 300  # the same where the null space is known (both measured)
_DENSE_SHARE = 0.05  # more non-zeros than this, and LAPACK is the faster one
_RESTARTS = 30  # of Lanczos beside the null space, before shift-invert takes over


def nearest_neighbors(X, k):
    """The ``k`` nearest other rows of every row: ``(indices, squared distances)``.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, p)
    k : int
        At most n - 1 are found.

    Returns
    -------
    indices : int32 array of shape (n, min(k, n - 1)), nearest first
    distances : array of the same shape, squared

    Notes
    -----
    O(n^2 p) time and one bounded block of distances. Of equal distances the lower
    index comes first; exact duplicates are equal only up to rounding.
    """
    n = X.shape[0]
    k = max(min(k, n - 1), 0)
    if k == 0:
        return np.zeros((n, 0), np.int32), np.zeros((n, 0), X.dtype)
    A = X.toarray() if sp.issparse(X) else X
    indices, distances = nearest_anchors(X, A, k + 1)
    kept = not_itself(indices)
    return indices[kept].reshape(n, k), distances[kept].reshape(n, k)


def not_itself(indices):
    """All but one entry of every list of neighbours: True where it is another row.

    Row i is the i-th candidate. Among many duplicates it may miss itself; then the
    farthest goes instead.
    """
    drop = indices == np.arange(len(indices))[:, None]
    drop[:, -1] |= ~drop.any(axis=1)
    return ~drop


def mean_distance(X, rng=None, *, max_rows=3000):
    """Mean Euclidean distance over all ordered pairs of rows, a row with itself too.

    With a generator ``rng`` and more than ``max_rows`` rows, over ``max_rows`` random
    ones. O(rows^2 p) by blocks; 0 for no rows.
    """
    n = X.shape[0]
    if rng is not None and n > max_rows:
        X, n = X[np.sort(rng.choice(n, max_rows, replace=False))], max_rows
    A, total = X.toarray() if sp.issparse(X) else X, 0.0
    for rows in block_slices(n, max(n, X.shape[1])):
        D = squared_distances(X[rows], A)
        D[np.arange(D.shape[0]), np.arange(rows.start, rows.stop)] = 0
        total += np.sqrt(D).sum(dtype=np.float64)
    return total / max(n, 1) ** 2


def heat_weights(D, bandwidth):
    """``exp(-D / (2 bandwidth^2))`` of squared distances; 1 where bandwidth is 0."""
    if bandwidth == 0:
        return np.ones_like(D)
    return np.exp(D / (-2 * float(bandwidth) ** 2))


def knn_graph(X, k, *, bandwidth=None):
    """Symmetric k-nearest-neighbour graph of the rows of ``X``, CSR (n, n).

    i and j are joined where either is among the k nearest of the other (elementwise
    maximum); no self loops. Weights are 1, or `heat_weights` with ``bandwidth``.
    O(n^2 p) time, O(n k) memory. For k >= n - 1 the graph is complete.
    """
    indices, D = nearest_neighbors(X, k)
    weights = np.ones_like(D) if bandwidth is None else heat_weights(D, bandwidth)
    return neighbor_graph(indices, weights)


def neighbor_graph(indices, weights=None):
    """Symmetric graph (n, n), CSR, of lists of neighbours, each (n, k).

    The weight, by default 1, where either row has the other in its list; the larger
    where both have.
    """
    n, k = indices.shape
    weights = np.ones(n * k) if weights is None else weights.ravel()
    indptr = np.arange(n + 1) * k
    W = sp.csr_matrix((weights, indices.ravel(), indptr), shape=(n, n))
    return W.maximum(W.T).tocsr()


def embed_graph(W, rows, n):
    """CSR (n, n) with the sparse graph ``W`` on ``rows`` x ``rows``, 0 elsewhere."""
    W, rows = sp.coo_matrix(W), np.asarray(rows)
    return sp.csr_matrix((W.data, (rows[W.row], rows[W.col])), shape=(n, n))


def laplacian(W):
    """``diag(W 1) - W``, dense for dense and CSR for sparse ``W``."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    if sp.issparse(W):
        return (sp.diags(degrees) - W).tocsr()
    L = -W
    L[np.diag_indices_from(L)] += degrees
    return L


def normalized_adjacency(W):
    """``D^{-1/2} W D^{-1/2}`` of the symmetric part of ``W``.

    A sample whose degree is not positive is isolated: its row and column are 0.
    Dense for dense and CSR for sparse. I minus it is the normalised Laplacian.
    """
    W = (W + W.T) / 2
    degrees = np.asarray(W.sum(axis=1)).ravel()
    scale = np.zeros_like(degrees)
    np.divide(1, np.sqrt(np.maximum(degrees, 0)), out=scale, where=degrees > 0)
    if sp.issparse(W):
        return (sp.diags(scale) @ W @ sp.diags(scale)).tocsr()
    W *= scale[:, None]
    W *= scale
    return W


def smallest_eigenvectors(L, c):
    """The ``c`` smallest eigenpairs of a symmetric positive semi-definite ``L``.

    Parameters
    ----------
    L : ndarray or sparse matrix of shape (n, n)
    c : int, at most n

    Returns
    -------
    values : float64 array of shape (c,), ascending
    vectors : float64 array of shape (n, c), orthonormal, signs fixed

    Notes
    -----
    Dense: O(n^3) by LAPACK. Sparse with more than 1500 rows: shift-invert Lanczos from
    a fixed start vector; where it does not converge, dense. Inside an eigenspace of
    several dimensions the basis is arbitrary.
    """
    _check_count(c, L.shape[0])
    if _is_large(L, c):
        # Just below zero, so that the shifted matrix is positive definite.
        shift = -1e-3 * (L.diagonal().mean() or 1.0)
        inverse = _shifted_inverse(L, shift)
        found = _lanczos(L.astype(np.float64), c, sigma=shift, OPinv=inverse)
        if found is not None:
            return found
    values, vectors = dense_eigh(_dense(L), 0, c)
    return values, fix_signs(vectors)


def largest_eigenvectors(S, c, *, by="algebraic"):
    """The ``c`` largest eigenpairs of a symmetric ``S``, ``by`` value or "magnitude".

    Returns
    -------
    values : float64 array of shape (c,), descending (in magnitude)
    vectors : float64 array of shape (n, c), orthonormal, signs fixed

    Notes
    -----
    Cost and Lanczos as in `smallest_eigenvectors`, without a shift.
    """
    _check_count(c, S.shape[0])
    if by not in ("algebraic", "magnitude"):
        raise ValueError(f'by={by!r} must be "algebraic" or "magnitude".')
    n, found = S.shape[0], None
    if _is_large(S, c):
        which = "LA" if by == "algebraic" else "LM"
        found = _lanczos(S.astype(np.float64), c, which=which)
    if found is None:
        found = dense_eigh(_dense(S), n - c if by == "algebraic" else 0, n)
    values, vectors = found
    key = values if by == "algebraic" else np.abs(values)
    order = np.argsort(-key, kind="stable")[:c]
    return values[order], fix_signs(vectors[:, order])


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
    if n <= max(_SPECTRUM_SIZE, 8 * c) or W.nnz > _DENSE_SHARE * n**2:
        return smallest_eigenvectors(laplacian(W.toarray()), c)
    N = part_indicators(W, c)
    q = N.shape[1]
    values, vectors = np.zeros(c), np.zeros((n, c))
    vectors[:, :q] = N.toarray()
    if q < c:
        L = laplacian(W)
        found = _lanczos_beside(L.astype(np.float64), N, c - q)
        if found is None:
            return smallest_eigenvectors(L, c)
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


def _lanczos_beside(L, N, c):
    """The ``c`` smallest eigenpairs of L orthogonal to its null vectors N, or None."""
    n = L.shape[0]
    # The spectrum ends below twice the largest degree: the null space goes there.
    top = 2 * L.diagonal().max()
    lifted = scipy.sparse.linalg.LinearOperator(
        (n, n), lambda x: L @ x + top * (N @ (N.T @ x)), dtype=np.float64
    )
    return _lanczos(lifted, c, which="SA", ncv=max(40, 4 * c), maxiter=_RESTARTS)


def _lanczos(S, c, **options):
    """Ascending eigenpairs of a float64 matrix by ARPACK, or None where it gave up."""
    # The constant vector would be an eigenvector already; this start is not.
    start = np.sin(1.0 + np.arange(S.shape[0]))
    try:
        values, vectors = lanczos(S, c, start, **options)
    except RuntimeError:  # no convergence
        return None
    order = np.argsort(values, kind="stable")
    return values[order], fix_signs(vectors[:, order])


def _shifted_inverse(L, shift):
    """(L - shift I)^{-1} as an operator, for a sparse positive definite L - shift I."""
    n = L.shape[0]
    factor = scipy.sparse.linalg.splu(
        (sp.csc_matrix(L, dtype=np.float64) - shift * sp.identity(n)).tocsc(),
        # A symmetric ordering without pivoting has a tenth of the default's fill-in.
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return scipy.sparse.linalg.LinearOperator((n, n), factor.solve, dtype=np.float64)


def _check_count(c, n):
    if not 1 <= c <= n:
        raise ValueError(f"c={c} must lie between 1 and the number of rows, {n}.")


def _is_large(S, c):
    return sp.issparse(S) and S.shape[0] > max(_DENSE_SIZE, 4 * c)


def _dense(S):
    return np.asarray(S.toarray() if sp.issparse(S) else S, np.float64)
