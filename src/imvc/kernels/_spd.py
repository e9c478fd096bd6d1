"""Symmetric positive definite systems."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from imvc.kernels._distances import row_slices

_DENSE_SIZE = 1000  # up to here a dense factor is cheaper than iterating, and exact


def spd_solver(K, *, dense_size=_DENSE_SIZE):
    """A function ``(B, start=None) -> K^{-1} B`` for a sparse K, prepared once.

    Parameters
    ----------
    K : sparse symmetric positive definite matrix of shape (n, n)
    dense_size : int
        Up to here a dense Cholesky factor, O(n^3) once and O(n^2 c) a call; beyond it
        `conjugate_gradients`, O(nnz c) a step, which profits from a near ``start``. A
        sparse factor is not used: neighbour graphs of many-dimensional points fill it.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where K is small and not positive definite.
    """
    K = sp.csr_matrix(K, dtype=np.float64)
    if K.shape[0] > dense_size:
        return lambda B, start=None: conjugate_gradients(K, B, start)
    factor = scipy.linalg.cho_factor(K.toarray(), lower=True, overwrite_a=True)
    return lambda B, start=None: scipy.linalg.cho_solve(factor, B)


def conjugate_gradients(K, B, start=None, *, tol=1e-10, max_iter=1000):
    """``K^{-1} B`` by conjugate gradients, all columns at once; O(nnz c) a step.

    Parameters
    ----------
    K : symmetric positive definite matrix, sparse or dense, of shape (n, n)
    B : ndarray of shape (n, c)
    start : ndarray of shape (n, c), optional
    tol : float
        A column is done when its residual is below ``tol`` times its right-hand side.
    max_iter : int

    Returns
    -------
    float64 array of shape (n, c)

    Notes
    -----
    Scaled by the diagonal of K. For K = N + beta L with a graph's Laplacian L, degrees
    g and N >= 1 the steps grow with sqrt(1 + beta max(g)). Where ``max_iter`` comes
    first, the last iterate is returned: its energy error has fallen in every step.
    """
    B = np.asarray(B, np.float64)
    inverse = 1 / np.asarray(K.diagonal(), np.float64)[:, None]
    X = np.zeros_like(B) if start is None else np.array(start, np.float64)
    R = B.copy() if start is None else B - K @ X
    limit = tol * np.sqrt(_dots(B, B))
    X[:, limit == 0] = R[:, limit == 0] = 0
    Z = inverse * R
    D, rho = Z.copy(), _dots(R, Z)
    for _ in range(max_iter):
        live = np.sqrt(_dots(R, R)) > limit
        if not live.any():
            break
        KD = K @ D
        step = _ratio(rho, _dots(D, KD), live)
        X += step * D
        R -= step * KD
        Z = inverse * R
        previous, rho = rho, _dots(R, Z)
        D *= _ratio(rho, previous, live)
        D += Z
    return X


def spd_inverse(G):
    """Inverse of a dense positive definite ``G``, which it overwrites; O(n^3).

    Exactly symmetric, and of a third of the cost of a general inverse. The digits lost
    are those of the condition of ``G``: for well-conditioned systems only.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where ``G`` is not positive definite.
    """
    factor, failed = scipy.linalg.lapack.dpotrf(G.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("G must be positive definite.")
    inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    inverse = inverse.T  # in C order, with the upper half
    for b in row_slices(len(inverse), 64):
        inverse[b, : b.start] = inverse[: b.start, b].T
        own = inverse[b, b]
        own[...] = np.triu(own) + np.triu(own, 1).T
    return inverse


def _dots(A, B):
    """Inner products of the columns."""
    return np.einsum("ij,ij->j", A, B)


def _ratio(a, b, live):
    """a / b in the columns that are not done, else 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=live & (b > 0))
