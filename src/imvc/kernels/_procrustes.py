"""Orthonormal factors of tall matrices, and maxima over such matrices."""

import numpy as np

from imvc.kernels._patterns import RANK_TOL, fix_signs, inverse_sqrt, leading_eigh

_POLAR_TOL = 1e-8  # worse conditioned Gram matrices go to the SVD
_GRAM_TOL = 1e-10  # below this share, squaring has cost too many digits


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


def tall_polar_factor(X):
    """`polar_factor` of a tall ``X`` through its small Gram matrix: ``X (X'X)^{-1/2}``.

    The Procrustes maximiser of ``tr(Q'X)``. O(n q^2) without an SVD of n rows. Where
    X'X is worse conditioned than 1e8 (a rank-deficient ``X`` has no unique factor), the
    thin SVD decides, so both functions give the same matrix there.
    """
    X = np.asarray(X)
    if X.shape[0] >= X.shape[1] > 0:
        values, Q = np.linalg.eigh(X.T.astype(np.float64) @ X)
        if values[0] > _POLAR_TOL * values[-1]:
            return (X @ (Q / np.sqrt(values) @ Q.T)).astype(X.dtype, copy=False)
    return polar_factor(X)


def generalized_power_iteration(A, B, Q, *, shift, max_iter, tol):
    """Local maximum of ``tr(Q'AQ) + 2 tr(Q'B)`` over ``Q'Q = I``; O(max_iter p^2 c).

    Repeats ``Q <- polar((A + s I) Q + B)``, with a shift s that makes A + s I
    positive semi-definite: the objective then never falls.

    Parameters
    ----------
    A : symmetric ndarray or sparse matrix of shape (p, p)
    B : ndarray of shape (p, c)
    Q : ndarray of shape (p, c)
        The start, orthonormal columns.
    shift : float
        s, not less than minus the smallest eigenvalue of ``A``.
    max_iter : int
    tol : float
        Relative rise of the objective below which it stops.

    Returns
    -------
    ndarray of shape (p, c)

    Notes
    -----
    Where (A + s I) Q + B loses rank the next Q is not unique; the SVD picks one.
    """

    def value(Q, AQ):
        return float(np.vdot(Q, AQ) + 2 * np.vdot(Q, B))

    AQ = A @ Q
    now = value(Q, AQ)
    for _ in range(max_iter):
        Q = polar_factor(AQ + shift * Q + B)
        AQ = A @ Q
        before, now = now, value(Q, AQ)
        if now - before <= tol * abs(before):
            break
    return Q
