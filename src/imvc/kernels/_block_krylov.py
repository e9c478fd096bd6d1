"""A few eigenpairs of a dense symmetric matrix by products with blocks of vectors."""

import numpy as np

from imvc.kernels._patterns import dense_eigh, fix_signs

_SMALLEST_SIZE = 300  # below, LAPACK on the whole matrix is as fast (measured)
_FEWEST_STEPS, _MOST_STEPS = 6, 24
_BASIS_SHARE = 6  # all blocks together have at most n / 6 vectors
_TOL = 1e-14  # of the residuals, as a share of the matrix: about LAPACK's own


def separated_eigenvectors(S, c):
    """The ``c`` smallest eigenpairs of a dense ``S``, or None where others are near.

    Parameters
    ----------
    S : symmetric float64 array of shape (n, n)
    c : int, at most n

    Returns
    -------
    values : float64 array of shape (c,), ascending
    vectors : float64 array of shape (n, c), orthonormal, signs fixed

    Notes
    -----
    Block Lanczos steps, every block orthogonal to all before: O(n^2 c) a step instead
    of O(n^3), and residuals as small as LAPACK's. Where the wanted eigenvalues lie
    apart from the rest, about ten steps do. None at once where n is small or c large,
    and after half of the steps where these have not brought a third of the digits.
    Blocks of ``c`` vectors find eigenvalues that repeat, and the fixed start makes the
    result a function of ``S`` alone.
    """
    n, most = len(S), min(_MOST_STEPS, len(S) // (_BASIS_SHARE * c))
    if n < _SMALLEST_SIZE or most < _FEWEST_STEPS:
        return None
    Q, T = np.empty((n, most * c), order="F"), np.zeros((most * c, most * c))
    start = np.sin(np.outer(1.0 + np.arange(n), 1.0 + np.arange(c)))
    block = np.linalg.qr(start)[0]
    for step in range(1, most + 1):
        new, known = slice((step - 1) * c, step * c), slice(0, step * c)
        Q[:, new] = block
        basis, product = Q[:, known], S @ block
        T[known, new] = basis.T @ product
        T[new, known] = T[known, new].T
        block, R = np.linalg.qr(product - basis @ T[known, new])
        # Again, since where little was left it was mostly rounding.
        block, R_again = np.linalg.qr(block - basis @ (basis.T @ block))
        if step % 2 or step < _FEWEST_STEPS // 2:
            continue  # the eigenpairs of T cost as much as a step
        values, Y = dense_eigh(T[known, known], 0, c)
        residual = np.linalg.norm(R_again @ R @ Y[-c:], axis=0).max()
        share = residual / np.abs(T).max()
        if share <= _TOL:
            return values, fix_signs(basis @ Y)
        if 2 * step >= most and share > np.cbrt(_TOL):
            return None
    return None
