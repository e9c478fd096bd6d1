"""Leading singular vectors of tall matrices through their small Gram matrix."""

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

__all__ = ["fix_signs", "leading_eigh", "left_singular_vectors", "polar_factor"]

RANK_TOL = 1e-12  # eigenvalues at or below this share of the largest are noise
_LANCZOS_SIZE, _LANCZOS_SHARE = 600, 12  # where a few of many vectors pay off
_ALL_SHARE = 5  # from this share on, all vectors cost less than some of them
_GRAM_TOL = 1e-10  # below this share, squaring has cost too many digits


def fix_signs(V):
    """Columns of ``V`` with their entry of largest magnitude made positive."""
    if V.size == 0:
        return V
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return V * np.where(largest < 0, -1.0, 1.0)


def leading_eigh(S, d):
    """The ``d`` leading eigenpairs of a symmetric positive semi-definite ``S``.

    Returns
    -------
    values : ndarray of shape (d,), descending
    vectors : ndarray of shape (q, d)

    Directions with eigenvalues at or below 1e-12 of the largest (or beyond q) carry
    no information: both value and vector are zero there. Signs are fixed. O(q^3), or
    O(q^2 d) by Lanczos iteration, to machine precision, for few of many.
    """
    q = S.shape[0]
    top = min(d, q)
    values = np.zeros(d)
    vectors = np.zeros((q, d))
    if top:
        found, Q = _largest(S, q, top)
        Q = fix_signs(Q)
        kept = found > RANK_TOL * max(found[0], 0)
        values[:top][kept] = found[kept]
        vectors[:, :top][:, kept] = Q[:, kept]
    return values, vectors


def _largest(S, q, top):
    """The ``top`` largest eigenpairs, descending."""
    if q >= _LANCZOS_SIZE and _LANCZOS_SHARE * top <= q:
        start = np.sin(1.0 + np.arange(q))  # any fixed vector that is no eigenvector
        try:
            found, Q = scipy.sparse.linalg.eigsh(S, top, which="LA", v0=start)
        except scipy.sparse.linalg.ArpackError:
            pass
        else:
            order = np.argsort(-found, kind="stable")
            return found[order], Q[:, order]
    if _ALL_SHARE * top >= q:
        found, Q = scipy.linalg.eigh(S, driver="evd")
        return found[: -top - 1 : -1], Q[:, : -top - 1 : -1]
    found, Q = scipy.linalg.eigh(S, subset_by_index=(q - top, q - 1), driver="evr")
    return found[::-1], Q[:, ::-1]


def inverse_sqrt(values):
    """Entrywise ``values^{-1/2}`` with 0 where a value is 0 (a dropped direction)."""
    result = np.zeros_like(values)
    np.divide(1, np.sqrt(values), out=result, where=values > 0)
    return result


def left_singular_vectors(X, d):
    """The ``d`` leading left singular vectors and values of a tall dense ``X``.

    Through eigh of ``X'X`` (q x q), O(n q^2); where the d-th eigenvalue falls below
    1e-10 of the first, squaring has lost it, and QR followed by an SVD of R is used.
    Directions of rank zero are zero columns with value zero.
    """
    X = np.asarray(X)
    values, V = leading_eigh(X.T.astype(np.float64) @ X, d)
    if values[-1] > _GRAM_TOL * values[0]:
        return fix_signs(X @ (V * inverse_sqrt(values))), np.sqrt(values)
    Q, R = np.linalg.qr(X.astype(np.float64))
    left, s, _ = np.linalg.svd(R, full_matrices=False)
    top = min(d, s.size)
    kept = s[:top] > RANK_TOL * s[0]
    U, singular = np.zeros((X.shape[0], d)), np.zeros(d)
    U[:, :top][:, kept] = fix_signs(Q @ left[:, :top][:, kept])
    singular[:top][kept] = s[:top][kept]
    return U, singular


def polar_factor(X):
    """The orthonormal factor ``U T'`` of the thin SVD ``X = U S T'``: Procrustes."""
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    return U @ Vt
