"""Steps of the factorisation X = Z U' that never form the residual."""

import numpy as np

_FLOOR = 1e-12  # share of the largest eigenvalue below which the others are held up
_RESIDUAL_FLOOR = 1e-15  # residuals below this share of the rows are rounding


def graph_sums(X, Z):
    """``X'Z``, (d, m) in float64: per anchor the weighted sum of its rows."""
    return (X.T @ Z.astype(X.dtype, copy=False)).astype(np.float64, copy=False)


def squared_norm(X):
    """``|X|_F^2`` of dense or CSR rows, added up in float64."""
    entries = X if isinstance(X, np.ndarray) else X.data
    return float(np.square(entries).sum(dtype=np.float64))


def squared_residuals(norms, XU, U, Z):
    """Per view ``|X_v - Z_v U_v'|^2`` from its products, (V,); O(n m^2).

    Held above 1e-15 of the number of rows, where rounding begins: a view that fits
    exactly cannot take so much weight that the others' underflows.
    """
    return np.array(
        [
            max(
                factor_residual(norm, XU_v, U_v.T @ U_v, Z_v),
                _RESIDUAL_FLOOR * len(Z_v),
            )
            for norm, XU_v, U_v, Z_v in zip(norms, XU, U, Z)
        ]
    )


def factor_residual(squared_norm, XU, UU, Z):
    """``|X - Z U'|_F^2 = |X|^2 - 2 <X U, Z> + <U'U, Z'Z>``, clipped at 0; O(n m^2).

    Parameters
    ----------
    squared_norm : float
        |X|_F^2 of the rows that count.
    XU : ndarray of shape (n, m)
    UU : ndarray of shape (m, m)
    Z : ndarray of shape (n, m)
        The same rows; to leave a row out, leave it out of both, or set it to zero.

    Notes
    -----
    Accurate to rounding of |X|^2, so a residual below 1e-15 of that is noise.
    """
    ZZ = Z.T.astype(np.float64) @ Z
    cross = np.einsum("ij,ij->", XU, Z, dtype=np.float64)
    return max(float(squared_norm - 2 * cross + np.vdot(UU, ZZ)), 0.0)


def solve_low_rank_sylvester(B, C, R, alpha=1.0):
    """The solution U of ``alpha B B' U + U C = R`` in O(d c^2).

    Parameters
    ----------
    B : ndarray of shape (d, b), b small
    C : symmetric positive semi-definite ndarray of shape (c, c)
    R : ndarray of shape (d, c)
    alpha : float, non-negative

    Returns
    -------
    ndarray of shape (d, c)

    Notes
    -----
    With C = Q diag(l) Q' and the thin SVD B = P diag(s) S', the part of R Q in the
    range of P is divided by ``l_j + alpha s_i^2`` and the rest by ``l_j``: no
    cancellation where alpha s^2 is far above l. A singular C has no unique solution;
    eigenvalues below 1e-12 of the largest are held at that (and at the smallest
    positive number if C is 0).
    """
    values, Q = np.linalg.eigh(C)
    values = np.maximum(values, max(_FLOOR * values[-1], np.finfo(np.float64).tiny))
    P, s, _ = np.linalg.svd(B, full_matrices=False)
    turned = R @ Q
    inside = P.T @ turned
    solved = P @ (inside / (values + alpha * np.square(s)[:, None]))
    if B.shape[0] > P.shape[1]:  # else P spans everything and the rest is rounding
        solved += (turned - P @ inside) / values
    return solved @ Q.T
