"""Incomplete views as products of one sample-anchor graph and orthonormal maps.

    min  sum_v alpha_v^2 |X_v - Z_v A' W_v'|^2 + lambda |Z|^2
    s.t. W_v'W_v = I, A'A = I, rows of Z on the simplex, alpha on the simplex

    X_v   observed rows of view v (n_v x d_v)    Z_v   the same rows of Z (n x m)
    W_v   map of view v (d_v x d)                A     latent anchors (d x m)
    P_v   W_v A                                  G_v   X_v' Z_v

No row that was not observed enters anywhere, and no residual is formed.
"""

from dataclasses import dataclass

import numpy as np

from imvc.kernels._factor import factor_residual
from imvc.kernels._procrustes import polar_factor
from imvc.kernels._simplex import inverse_power_weights, project_simplex

_FLOOR = 1e-15  # residuals below this share of the rows are rounding


@dataclass(frozen=True)
class ConsensusGraph:
    """Graph, view weights, and the objective after every sweep."""

    Z: np.ndarray
    alpha: np.ndarray
    objective: list[float]
    converged: bool


def consensus_graph(
    X, rows, Z, d, *, ridge=0.0, power=0.5, max_iter=51, tol=1e-3, report=None
):
    """Alternate over W, A, Z and alpha from a given graph; O(n m sum_v d_v) a sweep.

    Parameters
    ----------
    X : list of ndarray or CSR of shape (n_v, d_v)
    rows : list of int arrays of shape (n_v,)
        The samples that they are; every sample is in one of the views at least.
    Z : ndarray of shape (n, m)
        The start, not necessarily on the simplex. W_v starts at the first d axes.
    d : int
        Latent dimensions.
    ridge : float, non-negative
        lambda.
    power : float
        alpha_v is proportional to (r_v^2)^-power: 1 minimises the objective, 0.5 is
        what the authors of both methods compute.
    max_iter, tol : int, float
        Sweeps, and the relative change of the objective that ends them.
    report : callable, optional
        ``report(sweep, objective)``.

    Returns
    -------
    ConsensusGraph

    Notes
    -----
    The Z-step is exact while the columns of A and W_v are orthonormal, so for m <= d
    and d_v >= d; the published programs use it beyond that, and so does this. With
    ``power=1`` the objective then never rises. A rank-deficient start leaves A or W_v
    undetermined in the first sweeps: NumPy's SVD decides.
    """
    norms = [squared_norm(X_v) for X_v in X]
    alpha = np.full(len(X), 1 / len(X))
    # A starts at 0, which says nothing about W; the axes are what the authors' SVD
    # makes of that.
    A, W = np.zeros((d, Z.shape[1])), [np.eye(X_v.shape[1], d) for X_v in X]
    objective: list[float] = []
    converged = False
    while len(objective) < max_iter and not converged:
        G = [graph_sums(X_v, Z[rows_v]) for X_v, rows_v in zip(X, rows)]
        if objective:
            W = [update_W(G_v, A) for G_v in G]
        A = update_A(G, W, alpha)
        P = [W_v @ A for W_v in W]
        XP = [X_v @ P_v.astype(X_v.dtype) for X_v, P_v in zip(X, P)]
        Z = update_Z(XP, rows, alpha, ridge, len(Z))
        residuals = squared_residuals(norms, XP, P, [Z[rows_v] for rows_v in rows])
        alpha = inverse_power_weights(residuals, power)
        objective.append(float(alpha**2 @ residuals + ridge * np.vdot(Z, Z)))
        if report is not None:
            report(len(objective), objective[-1])
        converged = settled(objective, tol, at_least=2, floor=1e-10)
    return ConsensusGraph(Z, alpha, objective, converged)


def update_W(G_v, A):
    """W_v = U T' of the thin SVD G_v A' = U S T' (orthogonal Procrustes); O(d_v d^2).

    With d_v < d its rows are orthonormal instead of its columns.
    """
    return polar_factor(G_v @ A.T)


def update_A(G, W, alpha):
    """A = U T' of the thin SVD sum_v alpha_v^2 W_v' G_v = U S T'."""
    return polar_factor(sum(a**2 * W_v.T @ G_v for a, W_v, G_v in zip(alpha, W, G)))


def update_Z(XP, rows, alpha, ridge, n):
    """z_i = simplex projection of E_i / e_i over the views that sample i has.

    E_i = sum_v alpha_v^2 P_v' x_vi and e_i = lambda + sum_v alpha_v^2; O(n m).
    """
    E = np.zeros((n, XP[0].shape[1]))
    e = np.full(n, float(ridge))
    for XP_v, rows_v, a in zip(XP, rows, alpha):
        E[rows_v] += a**2 * XP_v
        e[rows_v] += a**2
    E /= e[:, None]
    return project_simplex(E)


def graph_sums(X_v, Z_v):
    """G_v = X_v' Z_v, (d_v, m) in float64: per anchor the weighted sum of its rows."""
    return (X_v.T @ Z_v.astype(X_v.dtype, copy=False)).astype(np.float64, copy=False)


def squared_norm(X_v):
    """|X_v|_F^2 of dense or CSR rows, added up in float64."""
    entries = X_v if isinstance(X_v, np.ndarray) else X_v.data
    return float(np.square(entries).sum(dtype=np.float64))


def squared_residuals(norms, XP, P, Z):
    """Per view ``|X_v - Z_v P_v'|^2`` from its products, (V,); O(n m^2).

    Held above 1e-15 of the number of rows, where rounding begins: a view that fits
    exactly cannot take so much weight that the others' underflows.
    """
    return np.array(
        [
            max(factor_residual(norm, XP_v, P_v.T @ P_v, Z_v), _FLOOR * len(Z_v))
            for norm, XP_v, P_v, Z_v in zip(norms, XP, P, Z)
        ]
    )


def settled(objective, tol, *, at_least, floor):
    """Whether the last relative change is below ``tol``, or the value below ``floor``.

    Not asked before ``at_least`` (two or more) values are there.
    """
    if len(objective) < at_least:
        return False
    before, now = objective[-2:]
    return abs(before - now) < tol * abs(before) or abs(now) < floor
