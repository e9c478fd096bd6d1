"""Steps 5 and 6 of AnchorBridge: the spectrum of the joint graph and its diffusion."""

from dataclasses import dataclass

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._patterns import inverse_sqrt, leading_eigh
from imvc.methods.bridge.agreement import leading_without_constant

_LONGEST_TIME = 2.0**20  # equal singular values never fall below the target
_LEAST_VALUE = 1e-9  # squared singular values that W can be had from by samples


@dataclass(frozen=True)
class Spectrum:
    """Leading singular vectors of a joint graph past the constant one.

    Parameters
    ----------
    values : ndarray of shape (K,)
        Squared singular values s_j^2.
    W : ndarray of shape (M, K)
        Singular vectors as functions of rows of R: u_j = R W_j.
    """

    values: np.ndarray
    W: np.ndarray

    def cut(self, c):
        """Relaxed normalised cut: the sum of 1 - s_j^2 over c - 1 vectors."""
        return float(c - 1 - self.values[: c - 1].sum())


def joint_spectrum(joint, rows, grams, K, map=map):
    """Step 5: at most K vectors of the joint graph of some GraphRows.

    ``grams`` are their PatternGrams; None: rows of R are fewer numbers.

    Returns
    -------
    Spectrum
    U : ndarray of shape (n, 1 + K)
        u_0, u_1, ... of the samples.
    """
    constant = 1 / np.sqrt(rows.n_samples)
    if rows.n_samples <= joint.width:
        found, U = _by_samples(joint, rows, K)
        return found, np.hstack([np.full((len(U), 1), constant), U])
    if grams is None:
        N, degrees = joint.row_statistics(rows)
    else:
        N, degrees = joint.statistics(grams, rows.graphs[0][1].dtype, map)
    scale = inverse_sqrt(degrees) * joint.factors
    values, Q = leading_without_constant(N, degrees, scale, K, overwrite=True)
    kept = values > 0
    values, Q = values[kept], Q[:, kept]
    found = _spectrum(values, scale[:, None] * Q * inverse_sqrt(values))
    return found, joint.embed(rows, found.W, constant, np.float64)


def _by_samples(joint, rows, K):
    """The same from BB', where samples are fewer than columns."""
    R = np.vstack([R for _, R in joint.row_blocks(rows)])
    scale = inverse_sqrt(R.sum(axis=0)) * joint.factors
    R *= scale  # B
    centred = R - R.mean(axis=0)
    values, U = leading_eigh(centred @ centred.T, min(K, len(R) - 1))
    kept = values > _LEAST_VALUE
    values, U = values[kept], U[:, kept]
    return _spectrum(values, scale[:, None] * (R.T @ U) / values), U


def _spectrum(values, W):
    # In the order of rows, as a model file keeps it: products round alike.
    return Spectrum(values, np.ascontiguousarray(W))


def effective_dimension(c, n):
    """d_eff = (c - 1) + min(1.5 (c - 1), 3 sqrt(c - 1)), for more than 4c samples.

    Fewer samples have less than 4c vectors, n - 1; what is beyond c - 1 then shrinks in
    proportion: all vectors at equal weight put all samples equally far from each other.
    """
    beyond = min(1.5 * (c - 1), 3 * np.sqrt(c - 1))
    return (c - 1) + beyond * max(min(n - 1, 4 * c) - (c - 1), 0) / (3 * c + 1)


def diffusion_time(values, target):
    """t >= 0 with (sum_j s_j^2t)^2 / sum_j s_j^4t = target, by bisection."""

    def dimension(t):
        powers = (values / values[0]) ** t
        return powers.sum() ** 2 / np.square(powers).sum()

    if len(values) <= target:
        return 0.0
    low, high = 0.0, 1.0
    while dimension(high) > target and high < _LONGEST_TIME:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if dimension(middle) > target else (low, middle)
    return (low + high) / 2


def diffusion_factors(values, c, n):
    """What u_0, u_1, ... of n samples are multiplied with: 1 / (c - 1), s_j^t."""
    time = diffusion_time(values, effective_dimension(c, n))
    return np.append(1 / max(c - 1, 1), values ** (time / 2))


def diffused(U, values, c):
    """Unit rows of step 6 from singular vectors, the constant one first."""
    return unit_rows(U * diffusion_factors(values, c, len(U)).astype(U.dtype))
