"""First-order completion: the paper's ablation, Eq. (4) with and without Eq. (3).

    min  sum_v ||F_v - Q_v'Y||^2 - beta sum_v tr(F_v' B_v B_v' F_v),  F_v'F_v = I

Coordinates are matched instead of Gram matrices, so the outcome depends on how each
F_v is rotated. Y_i is the mean of the F_v rows of sample i. As in `imvc.methods.rise`
everything is a function of pattern statistics: F_v = (Y_v + B_v (beta K_v)) S_v with
K_v = B_v'F_v, and C_p is the mean over the views of p.
"""

import numpy as np

from imvc.kernels._patterns import inverse_sqrt, leading_eigh
from imvc.methods._consensus import Consensus

_POWER_STEPS, _POWER_TOL = 50, 1e-6


def solve_two_stage(grams, n_views, d):
    """F_v from B_v alone, then Y = mean of the rows."""
    inputs, gains = [], []
    for v in range(n_views):
        values, Q = leading_eigh(grams.cross(v, v), d)
        inputs.append(Q * inverse_sqrt(values))
        gains.append(values.sum())
    feedback = [np.zeros((d, d))] * n_views
    nothing = {p: np.zeros((sum(grams.sizes[v] for v in p), d)) for p in grams.patterns}
    C = average(grams, n_views, nothing, feedback, inputs)
    rank = max(int(np.count_nonzero(J.any(axis=0))) for J in inputs)
    return Consensus(C, feedback, inputs, True, [-sum(gains)], True, rank)


def solve_joint(grams, n_views, beta, d, *, max_iter, tol, report):
    """Alternate Y (mean) and F_v (generalised power iteration); parameters as `solve`.

    The first Y is the mean of the views' singular vectors, or the one that ``grams``
    carries behind its ``n_views`` views.
    """
    views = range(n_views)
    two_stage = solve_two_stage(grams, n_views, d)
    C, rank = two_stage.coefficients, two_stage.rank
    K = [grams.cross(v, v) @ two_stage.inputs[v] for v in views]
    if len(grams.sizes) > n_views:
        for C_p in C.values():
            C_p[:-d], C_p[-d:] = 0, np.eye(d)
    feedback, inputs = two_stage.feedback, two_stage.inputs
    objective, converged = [], False
    for iteration in range(1, max_iter + 1):
        H = {p: grams.apply(p, C[p]) for p in grams.patterns}
        steps = [update_F(C, H, K[v], grams, v, beta) for v in views]
        K, feedback, inputs, costs = map(list, zip(*steps))
        C_old, C = C, average(grams, n_views, C, feedback, inputs)
        objective.append(sum(costs) - mean_gain(C_old, C, grams, n_views))
        report(iteration, objective[-1])
        if iteration > 1:
            step = abs(objective[-2] - objective[-1])
            converged = step <= tol * max(abs(objective[-1]), 1)
        if converged:
            break
    return Consensus(C, feedback, inputs, True, objective, converged, rank)


def update_F(C, H, K, grams, v, beta):
    """F_v <- polar factor of beta B_v (B_v'F_v) + Y_v, repeated to a fixed point.

    Returns K_v = B_v'F_v, then S_v and J_v with F_v = Y_v S_v + B_v J_v, and the cost
    ||F_v - Y_v||^2 - beta ||K_v||^2.
    """
    groups = [p for p in grams.patterns if v in p]
    YY = sum(C[p].T @ H[p] for p in groups)
    BY = sum(H[p][grams.part(p, v)] for p in groups)
    BB, d = grams.cross(v, v), YY.shape[0]
    for _ in range(_POWER_STEPS):
        KBY = beta * K.T @ BY
        values, Q = leading_eigh(beta**2 * K.T @ BB @ K + KBY + KBY.T + YY, d)
        S = (Q * inverse_sqrt(values)) @ Q.T
        K_old, K = K, (beta * BB @ K + BY) @ S
        if np.linalg.norm(K - K_old) <= _POWER_TOL * np.linalg.norm(K):
            break
    J = beta * K_old @ S
    fit = np.trace(BY.T @ J) + np.trace(YY @ S)
    return K, S, J, d + np.trace(YY) - 2 * fit - beta * np.square(K).sum()


def average(grams, n_views, C, feedback, inputs):
    """Y_p = mean over the views of p of F_v = Y_p S_v + B_v J_v, as coefficients."""
    result = {}
    for p in grams.patterns:
        seen = [v for v in p if v < n_views]
        result[p] = C[p] @ (sum(feedback[v] for v in seen) / len(seen))
        for v in seen:
            result[p][grams.part(p, v)] += inputs[v] / len(seen)
    return result


def mean_gain(C_old, C, grams, n_views):
    """By how much replacing Y by the mean lowers sum_v ||F_v - Y_v||^2."""
    gain = 0.0
    for p in grams.patterns:
        step = C[p] - C_old[p]
        seen = sum(v < n_views for v in p)
        gain += seen * np.sum(step * grams.apply(p, step))
    return gain
