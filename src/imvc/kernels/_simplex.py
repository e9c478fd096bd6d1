"""Euclidean projection on the probability simplex, and weights that live on it."""

import numpy as np

from imvc.kernels._distances import block_slices


def project_simplex(V, *, weights=None, near=None):
    """Rows of ``V`` projected on {s >= 0, sum(s) = 1}, all at once and exactly.

    Solves ``min_s sum_j w_j (s_j - v_j)^2`` for every row; without ``weights`` this is
    the Euclidean projection. The minimiser is ``s_j = max(v_j - theta / w_j, 0)``.

    Parameters
    ----------
    V : ndarray of shape (..., m)
        An entry of -inf stays 0: write it where an entry is not free (a diagonal).
    weights : ndarray that broadcasts to the shape of ``V``, optional
        Positive and finite.
    near : ndarray of the shape of ``V``, optional
        Where it is positive, the result is expected to be: saves passes when a sequence
        of projections changes little. Has no effect on the result; without ``weights``
        only.

    Returns
    -------
    ndarray of the shape and dtype of ``V`` (float64 for integers); a row without a
    free entry is zero.

    Raises
    ------
    ValueError
        Where ``V`` holds NaN or +inf.

    Notes
    -----
    Newton's method on the piecewise linear, convex equation for theta. From below it
    only ever drops entries from the support, so it ends with the exact support after
    at most m passes (about five in practice), without a sort. O(m) per row and pass;
    beside the result only a bounded block of rows is copied.
    """
    V = np.asarray(V)
    dtype = V.dtype if V.dtype == np.float32 else np.float64
    rows = V.reshape(-1, V.shape[-1])
    result = np.empty(rows.shape, dtype)
    if weights is not None:
        weights = np.broadcast_to(weights, V.shape).reshape(rows.shape)
    for block in block_slices(len(rows), rows.shape[1], entries=1 << 17):
        B = rows[block].astype(np.float64)
        top = B.max(axis=1, initial=-np.inf)
        if not (np.isfinite(top) | (top == -np.inf)).all():
            raise ValueError("V must not hold NaN or +inf.")
        if weights is None:
            guess = None if near is None else near.reshape(rows.shape)[block] > 0
            result[block] = _project(B, top, guess)
        else:
            w = np.asarray(weights[block], np.float64)
            result[block] = _project_weighted(B, w)
    return result.reshape(V.shape)


def _project(B, top, guess=None):
    """Unweighted rows, the support expected at ``guess``; spoils ``B``."""
    m = B.shape[1]
    with np.errstate(invalid="ignore"):  # -inf - -inf in a row with nothing free
        B -= top[:, None]
    # Seen from the largest entry, theta lies in [-1, 0): what is lower is lost.
    np.maximum(B, -1, out=B)
    ones = np.ones(m)
    theta = np.maximum((B @ ones - 1) / max(m, 1), -1)
    if guess is not None:  # theta is the largest over all supports, so any is below it
        size = np.count_nonzero(guess, axis=1)
        own = np.where(guess, B, 0) @ ones
        np.maximum(theta, (own - 1) / np.maximum(size, 1), out=theta, where=size > 0)
    live, L = np.arange(B.shape[0]), B
    count = np.full(B.shape[0], m + 1)
    while live.size:
        above = L - theta[live, None]
        found = np.count_nonzero(above > 0, axis=1)
        np.maximum(above, 0, out=above)
        theta[live] += (above @ ones - 1) / np.maximum(found, 1)
        # Counts fall until the support is right; rounding may let a tied one rise.
        moving = (found < count[live]) & (found > 1)
        count[live] = found
        if not moving.all():
            live = live[moving]
            L = B[live]
    B -= theta[:, None]
    np.maximum(B, 0, out=B)
    B[~np.isfinite(top)] = 0
    return B


def _project_weighted(B, w):
    """Weighted rows: the support {w v >= theta} only shrinks between passes."""
    free = np.isfinite(B)
    v = np.where(free, B, 0)
    level = np.where(free, w * v, -np.inf)
    # One entry alone reaches the sum here, so theta is not larger than this.
    theta = np.where(free, w * (v - 1), -np.inf).max(axis=1, initial=-np.inf)
    support = free & (level >= theta[:, None])
    while True:
        inverse = np.where(support, 1 / w, 0).sum(axis=1)
        excess = np.where(support, v, 0).sum(axis=1) - 1
        np.divide(excess, inverse, out=theta, where=inverse > 0)
        smaller = support & (level >= theta[:, None])
        smaller |= support & ~smaller.any(axis=1, keepdims=True)
        if (smaller == support).all():
            break
        support = smaller
    theta[~np.isfinite(theta)] = 0
    return np.where(support, np.maximum(v - theta[:, None] / w, 0), 0)


def inverse_power_weights(h, power=1.0):
    """Weights ``h_v^{-power} / sum_u h_u^{-power}``, floored against h = 0.

    With ``power = 1 / (r - 1)`` they minimise ``sum_v a_v^r h_v`` on the simplex.

    Parameters
    ----------
    h : array of shape (V,), non-negative
    power : float, positive

    Returns
    -------
    float64 array of shape (V,). Zero entries share all the weight equally.
    """
    h = np.maximum(np.asarray(h, np.float64), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        weights = (h / h.min()) ** -power
    return weights / weights.sum()
