"""Euclidean projection on the probability simplex, and weights that live on it."""

import numpy as np

from imvc.kernels._distances import block_slices

_FEW = 0.2  # share of the entries up to which a list of them beats whole rows


def project_simplex(V, *, weights=None, near=None, out=None):
    """Rows of ``V`` projected on {s >= 0, sum(s) = 1}, all at once and exactly.

    Solves ``min_s sum_j w_j (s_j - v_j)^2`` for every row; without ``weights`` this is
    the Euclidean projection. The minimiser is ``s_j = max(v_j - theta / w_j, 0)``.

    Parameters
    ----------
    V : ndarray of shape (..., m)
        An entry of -inf stays 0: write it where an entry is not free (a diagonal).
    weights : ndarray that broadcasts to the shape of ``V``, optional
        Positive and finite.
    near : C-contiguous float64 ndarray of shape (...), optional
        The thetas of a similar problem, NaN where not known; takes those of this one.
        Saves passes in a sequence of projections that change little, and changes the
        result by no more than rounding. For double precision without ``weights``.
    out : C-contiguous ndarray of the shape and dtype of the result, optional
        Takes the result; may be ``V`` itself.

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
    at most m passes (about five in practice), without a sort. Once few entries are
    left, only these are looked at. From anywhere one step leads below; if that keeps
    the support, theta is exact: two passes with a good ``near``. O(m) per row and
    pass; beside the result only a bounded block of rows is copied.
    """
    V = np.asarray(V)
    dtype = V.dtype if V.dtype == np.float32 else np.float64
    rows = V.reshape(-1, V.shape[-1])
    result = np.empty(rows.shape, dtype) if out is None else out.reshape(rows.shape)
    if weights is not None:
        weights = np.broadcast_to(weights, V.shape).reshape(rows.shape)
    for block in block_slices(len(rows), rows.shape[1], entries=1 << 17):
        B, S = rows[block], result[block]
        top = B.max(axis=1, initial=-np.inf).astype(np.float64)
        if not (np.isfinite(top) | (top == -np.inf)).all():
            raise ValueError("V must not hold NaN or +inf.")
        theta = None if near is None else near.reshape(-1)[block]
        if weights is not None:
            w = np.asarray(weights[block], np.float64)
            S[...] = _project_weighted(B.astype(np.float64), w)
        elif theta is not None and np.isfinite(theta).all() and np.isfinite(top).all():
            _follow(B, top, theta, S)
        elif theta is not None:
            theta[:] = _project(B, top, S)
        elif dtype == np.float64:
            _project(B, top, S)
        else:
            T = np.empty(B.shape)
            _project(B, top, T)
            S[...] = T
    return result.reshape(V.shape)


def _project(V, top, out):
    """Unweighted rows into ``out``, from below; returns theta.

    Seen from the largest entry, theta is in [-1, 0).
    """
    m = V.shape[1]
    with np.errstate(invalid="ignore"):  # -inf - -inf in a row with nothing free
        B = np.subtract(V, top[:, None], out=out)
    if not B.min(initial=0) >= -1:
        np.maximum(B, -1, out=B)  # what is lower is lost
    ones, size = np.ones(m), np.full(len(B), m)
    theta = np.maximum((B @ ones - 1) / max(m, 1), -1)
    while True:
        above = B > theta[:, None]
        left = _row_counts(above)
        moving = (left < size) & (left > 0)  # where none was dropped theta is final
        if left[moving].sum() <= _FEW * B.size:
            break
        np.divide((B * above) @ ones - 1, left, out=theta, where=moving)
        size = left
    if moving.any():
        above[~moving] = False
        flat = np.flatnonzero(above)
        _raise_threshold(theta, flat // m, B.ravel()[flat])
    np.maximum(B, theta[:, None], out=B)
    B -= theta[:, None]
    B[~np.isfinite(top)] = 0
    return theta + top


def _follow(V, top, theta, out):
    """Unweighted rows into ``out`` from any ``theta``, which becomes that of the rows.

    After the first step the support only shrinks; a row is done when it stays.
    """
    # The answer is in [top - 1, top), and far from it digits would be lost.
    np.copyto(theta, top - 1, where=(theta < top - 1) | (theta >= top))
    B = np.subtract(V, theta[:, None], out=out)
    zero, ones = np.zeros(V.shape[1]), np.ones(V.shape[1])
    rows, size = np.arange(len(B)), np.maximum(_row_counts(B > 0), 1)
    part, first = B, True
    while True:
        step = (np.maximum(part, zero) @ ones - 1) / size
        part -= step[:, None]
        theta[rows] += step
        left = _row_counts(part > 0)
        if part is not B:
            B[rows] = part
        moving = left != size if first else left < size
        if not moving.any():
            break
        if moving.mean() < 0.5:  # a copy of few rows costs less than a pass over all
            rows, size = rows[moving], left[moving]
            part = B[rows]
        else:
            size = left
        first = False
    np.maximum(B, zero, out=B)


def _row_counts(above):
    """Number of true entries in every row, faster than count_nonzero."""
    return above.view(np.uint8).sum(axis=1, dtype=np.uint32)


def _raise_threshold(theta, rows, entries):
    """From lower bounds ``theta``, to what is exact for the ``entries`` of ``rows``."""
    while True:
        counts = np.bincount(rows, minlength=len(theta))
        sums = np.bincount(rows, entries, len(theta))
        np.divide(sums - 1, counts, out=theta, where=counts > 0)
        kept = entries > theta[rows]
        if kept.all():
            return
        moving = np.bincount(rows[~kept], minlength=len(theta)) > 0
        kept &= moving[rows]
        rows, entries = rows[kept], entries[kept]


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
