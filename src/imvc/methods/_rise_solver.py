"""Algorithm 1 of RISE on the statistics of the graphs, and its starts.

Symbols as in rise.py: Y_p = B_p C_p (pattern p), F_v = Y_v P_v + B_v U_v (view v),
G_p = B_p'B_p and H_p = G_p C_p. No step touches a sample.
"""

from functools import partial

import numpy as np

from imvc.kernels._patterns import inverse_sqrt, leading_eigh
from imvc.methods._consensus import Consensus

__all__ = ["identity_start", "solve"]


def solve(grams, n_views, beta, d, *, max_iter, tol, report):
    """Algorithm 1: alternate Y and the F_v until objective and subspace stand still.

    Parameters
    ----------
    grams : PatternGrams of the normalised graphs
        With one size more than ``n_views``, its last columns are a given first Y.
    report : callable
        Called with every iteration and its objective.

    Returns
    -------
    Consensus
    """
    views, patterns = range(n_views), grams.patterns
    BB = [grams.cross(v, v) for v in views]
    C, P, U = start(grams, n_views, d)
    H = {p: grams.apply(p, C[p]) for p in patterns}
    feedback, inputs = [np.zeros((d, d))] * n_views, [np.zeros_like(u) for u in U]
    objective, rank, converged = [], d, False
    for iteration in range(1, max_iter + 1):
        change = 1.0
        if iteration > 1 or len(grams.sizes) == n_views:
            C_old = C
            C, feedback, inputs, rank = update_Y(C, H, P, U, grams, d)
            H = {p: grams.apply(p, C[p]) for p in patterns}
            turned = sum(C_old[p].T @ H[p] for p in patterns)
            change = 1 - np.square(turned).sum() / max(rank, 1)
        P, U, gains = zip(*[update_F(C, H, grams, BB[v], v, beta, d) for v in views])
        objective.append(2 * d * n_views - sum(gains))
        report(iteration, objective[-1])
        if iteration > 1:
            step = abs(objective[-2] - objective[-1])
            converged = change <= tol and step <= tol * abs(objective[-1])
        if converged:
            break
    return Consensus(C, feedback, inputs, False, objective, converged, rank)


def start(grams, n_views, d):
    """F_v = d leading left singular vectors of B_v, or the Y that ``grams`` carries."""
    C = {p: np.zeros((sum(grams.sizes[v] for v in p), d)) for p in grams.patterns}
    P = [np.zeros((d, d))] * n_views
    U = []
    for v in range(n_views):
        values, Q = leading_eigh(grams.cross(v, v), d)
        U.append(Q * inverse_sqrt(values))
    if len(grams.sizes) > n_views:
        for C_p in C.values():
            C_p[-d:] = np.eye(d)
    return C, P, U


def update_Y(C, H, P, U, grams, d):
    """Eq. (10): Y = d leading left singular vectors of [Q_1 F_1 ... Q_V F_V].

    Their Gram matrix T has blocks F_u'F_v over shared samples, with
    F_v = Y_v P_v + B_v U_v. Returns C_p, and Y = Y R_v + B_v J_v summed over views.
    """
    n_views = len(P)
    T = np.zeros((n_views, d, n_views, d))
    for p in grams.patterns:
        seen = [v for v in p if v < n_views]
        P_p = np.hstack([P[v] for v in seen])
        BU = np.hstack([H[p][grams.part(p, v)].T @ U[v] for v in seen])
        half = P_p.T @ (C[p].T @ (H[p] @ P_p) / 2 + BU)
        T[np.ix_(seen, range(d), seen, range(d))] += (half + half.T).reshape(
            len(seen), d, len(seen), d
        )
    for u in range(n_views):
        for v in range(n_views):
            T[u, :, v] += U[u].T @ grams.cross(u, v) @ U[v]
    values, Q = leading_eigh(T.reshape(n_views * d, n_views * d), d)
    N = (Q * inverse_sqrt(values)).reshape(n_views, d, d)
    R = [P[v] @ N[v] for v in range(n_views)]
    J = [U[v] @ N[v] for v in range(n_views)]
    C_new = {}
    for p in grams.patterns:
        C_new[p] = C[p] @ sum(R[v] for v in p if v < n_views)
        for v in p:
            if v < n_views:
                C_new[p][grams.part(p, v)] += J[v]
    return C_new, R, J, int(np.count_nonzero(values))


def update_F(C, H, grams, BB, v, beta, d):
    """Eq. (7): F_v = d leading left singular vectors of [sqrt(2) Y_v, sqrt(beta) B_v].

    Returns P_v, U_v with F_v = Y_v P_v + B_v U_v, and tr F_v'(2 Y_vY_v' + beta BB')F_v.
    """
    groups = [p for p in grams.patterns if v in p]
    YY = sum(C[p].T @ H[p] for p in groups)
    BY = np.sqrt(2 * beta) * sum(H[p][grams.part(p, v)] for p in groups)
    values, Q = leading_eigh(np.block([[2 * YY, BY.T], [BY, beta * BB]]), d)
    W = Q * inverse_sqrt(values)
    return np.sqrt(2) * W[:d], np.sqrt(beta) * W[d:], values.sum()


def identity_start(runner, d):
    """The authors' start: F_v = first d columns of I; its Y as one more view.

    Returns a block function: GraphRows and the number of the block -> GraphRows.
    """
    V = runner.n_views
    first = [runner.observed_samples(v, d) for v in range(V)]
    rows = np.unique(np.concatenate(first))
    QF = np.zeros((len(rows), V, d))
    for v, own in enumerate(first):
        QF[np.searchsorted(rows, own), v, np.arange(len(own))] = 1
    left = np.linalg.svd(QF.reshape(len(rows), -1), full_matrices=False)[0]
    values = np.zeros((len(rows), d))
    values[:, : left.shape[1]] = left[:, :d]
    return partial(add_start, numbers=rows, values=values, starts=runner.source.starts)


def add_start(rows, i, numbers, values, starts):
    """Graph rows of block ``i`` with the start as one more view."""
    own = slice(*np.searchsorted(numbers, starts[i : i + 2]))
    Y = np.zeros((rows.n_samples, values.shape[1]))
    Y[numbers[own] - starts[i]] = values[own]
    columns = np.broadcast_to(np.arange(Y.shape[1], dtype=np.int32), Y.shape)
    return rows.with_start((columns, Y))
