"""Steps 5 and 6 of AnchorBridge: the spectrum of the joint graph and its diffusion."""

from functools import partial

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._patterns import inverse_sqrt
from imvc.methods.bridge.agreement import leading_without_constant
from imvc.methods.bridge.joint import JointGraph, many_patterns

__all__ = [
    "diffusion_time",
    "effective_dimension",
    "joint_spectrum",
    "joint_statistics",
    "mask_share",
    "single_spaces",
]

_LONGEST_TIME = 2.0**20  # equal singular values never fall below the target


def mask_share(missing):
    """omega: how well a view's absence is predicted by another, mean over views."""
    return float(np.maximum(missing.max(axis=0), 0).mean())


def joint_statistics(runner, joint, evidence):
    """R'R and the column sums of R: by patterns, or by rows where that is less."""
    if many_patterns(runner.surveyed.patterns, joint.sizes, joint.n_views):
        return runner.total(None, joint.row_statistics, evidence.rows)
    return joint.statistics(evidence.grams)


def joint_spectrum(joint, N, degrees, K):
    """Step 5: squared singular values of B and W with u_j = R W_j, without u_0."""
    scale = inverse_sqrt(degrees) * joint.factors
    values, Q = leading_without_constant(N, degrees, scale, K)
    kept = values > 0
    values, Q = values[kept], Q[:, kept]
    # In the order of rows, as a model file keeps it: products round alike.
    return values, np.ascontiguousarray(scale[:, None] * Q * inverse_sqrt(values))


def effective_dimension(c):
    """d_eff = (c - 1) + min(1.5 (c - 1), 3 sqrt(c - 1))."""
    return (c - 1) + min(1.5 * (c - 1), 3 * np.sqrt(c - 1))


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


def single_spaces(runner, evidence, K):
    """For every single graph a function k -> its unit rows of step 6 (for step 8)."""
    spaces: list = []
    for found in evidence:
        whole = JointGraph(found.bridges)
        N, degrees = joint_statistics(runner, whole, found)
        for g, bridge in enumerate(found.bridges):
            own, single = whole.columns(g, range(runner.n_views)), JointGraph([bridge])
            values, W = joint_spectrum(single, N[np.ix_(own, own)], degrees[own], K)
            embed = partial(
                single.embed,
                W=W,
                constant=1 / np.sqrt(runner.n_samples),
                dtype=runner.dtype,
                graphs=(g,),
            )
            U = runner.rows(
                f"space{len(spaces)}",
                embed,
                found.rows,
                width=1 + W.shape[1],
                dtype=runner.dtype,
            )
            spaces.append(partial(diffusion_space, U, values))
    return spaces


def diffusion_space(U, values, c):
    """Unit rows of [u_0 / (c - 1), u_j s_j^t] with the 4c leading vectors."""
    values = values[: 4 * c]
    decay = values ** (diffusion_time(values, effective_dimension(c)) / 2)
    return U.then(partial(diffuse, factors=np.append(1 / max(c - 1, 1), decay)))


def diffuse(U, factors):
    return unit_rows(U[:, : len(factors)] * factors.astype(U.dtype))
