"""Shrinkage: the proximal maps of the l1, l2,1 and nuclear norms."""

import numpy as np

_GRAM_TOL = 1e-6  # below this share of the largest value, squaring costs digits


def soft_threshold(X, tau):
    """Entries of ``X`` moved towards zero by ``tau``: prox of ``tau |X|_1``.

    ``sign(x) max(|x| - tau, 0)``; a new array in the dtype of ``X``. O(size).
    """
    return X - np.clip(X, -tau, tau)


def shrink_groups(X, tau, *, axis):
    """Vectors along ``axis`` shortened by ``tau``: prox of ``tau |X|_{2,1}``.

    ``max(1 - tau / |x|, 0) x`` for every vector x along ``axis``; zero vectors stay
    zero. ``axis=0`` shrinks the columns of a matrix, ``axis=1`` its rows, and the
    view axis of stacked graphs their tubes. O(size).
    """
    X = _floating(X)
    norms = np.sqrt(np.square(X).sum(axis=axis, keepdims=True, dtype=np.float64))
    factors = np.zeros_like(norms)
    np.divide(norms - tau, norms, out=factors, where=norms > tau)
    return X * factors.astype(X.dtype)


def shrink_singular_values(X, tau):
    """Singular values lowered by ``tau``: prox of ``tau |X|_*``, matrix by matrix.

    Parameters
    ----------
    X : ndarray of shape (..., p, q), real or complex
    tau : float or array of shape (...), non-negative

    Returns
    -------
    ndarray of the shape and dtype of ``X``.

    Notes
    -----
    Through eigh of the small Gram matrix (min(p, q) wide, in double precision),
    O(p q min(p, q)) a matrix: with ``W W' = Phi diag(s^2) Phi'`` the answer is
    ``Phi diag(max(1 - tau / s, 0)) Phi' W``. Squaring loses singular values below
    1e-8 of the largest; matrices where ``tau`` is below 1e-6 of the largest, so that
    such values might survive, take a thin SVD instead.
    """
    X = _floating(X)
    p, q = X.shape[-2:]
    if X.size == 0:
        return X.copy()
    if p > q:
        turned = shrink_singular_values(np.swapaxes(X, -1, -2), tau)
        return np.swapaxes(turned, -1, -2)
    wide = X.astype(np.result_type(X, np.float64), copy=False)
    squares, Phi = np.linalg.eigh(wide @ np.swapaxes(wide.conj(), -1, -2))
    s = np.sqrt(np.maximum(squares, 0))
    tau = np.broadcast_to(np.asarray(tau, np.float64), X.shape[:-2])
    factors = np.zeros_like(s)
    np.divide(s - tau[..., None], s, out=factors, where=s > tau[..., None])
    core = (Phi * factors[..., None, :]) @ np.swapaxes(Phi.conj(), -1, -2)
    result = core @ wide
    doubtful = tau < _GRAM_TOL * s[..., -1]
    if doubtful.any():
        U, s, Vt = np.linalg.svd(wide[doubtful], full_matrices=False)
        s = np.maximum(s - tau[doubtful][..., None], 0)
        result[doubtful] = (U * s[..., None, :]) @ Vt
    return result.astype(X.dtype, copy=False)


def _floating(X):
    """``X`` as it is, or in float64 where it holds integers."""
    X = np.asarray(X)
    return X if np.issubdtype(X.dtype, np.inexact) else X.astype(np.float64)
