"""What IMVC-CBG and PSIMVC-PG share: from views to one graph to its singular vectors.

Incomplete views as products of one sample-anchor graph and orthonormal maps:

    min  sum_v alpha_v^2 |X_v - Z_v A' W_v'|^2 + lambda |Z|^2
    s.t. W_v'W_v = I, A'A = I, rows of Z on the simplex, alpha on the simplex

    X_v   observed rows of view v (n_v x d_v)    Z_v   the same rows of Z (n x m)
    W_v   map of view v (d_v x d)                A     latent anchors (d x m)
    P_v   W_v A                                  G_v   X_v' Z_v

The start ties one chosen sample, the seed, to every anchor. No row that was not
observed enters anywhere, and no residual is formed.
"""

from typing import Annotated, Any, Literal

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._factor import graph_sums, squared_norm, squared_residuals
from imvc.kernels._procrustes import left_singular_vectors, polar_factor
from imvc.kernels._simplex import inverse_power_weights, project_simplex
from imvc.methods._base import EmbeddingClusterer, count_anchors
from imvc.methods._parameters import Count, NonNegative, estimator

# Exponent of r_v^2 in the view weights: 1/r_v as published programs, 1/r_v^2 exactly.
_POWERS = {"release": 0.5, "exact": 1.0}


@estimator
class ConsensusGraphClusterer(EmbeddingClusterer):
    """Base of the methods with one graph Z over all samples, embedded by its SVD."""

    seeds: Literal["first", "complete", "random"] | Annotated[Any, "array-like"] = (
        "first"
    )
    weight_update: Literal["release", "exact"] = "release"
    max_iter: Count = 51
    tol: NonNegative = 1e-3

    def _check_against(self, views):
        super()._check_against(views)
        m = count_anchors(self, views)
        if not isinstance(self.seeds, str):
            check_seeds(self.seeds, m, views.n_samples)

    def _embed(self, views, rng):
        X = [unit_rows(views.observed(v)) for v in range(views.n_views)]
        rows = [views.rows(v) for v in range(views.n_views)]
        m = count_anchors(self, views)
        self.seeds_ = choose_seeds(self.seeds, m, views.mask, rng)
        Z = seed_graph(self.seeds_, views.n_samples)
        rule = {
            "ridge": getattr(self, "ridge", 0.0),
            "power": _POWERS[self.weight_update],
        }
        with self._stage("solve"), self._iterations() as steps:
            Z, self.view_weights_ = solve(X, rows, Z, self.n_clusters, steps, **rule)
        self.graph_ = Z.astype(views.dtype)
        return left_singular_vectors(Z, self.n_clusters)[0].astype(views.dtype)

    def _own_order(self, views):
        order, by_name = super()._own_order(views)
        return order if isinstance(self.seeds, str) else None, by_name  # else numbers

    def _give_back_samples(self, order, place):
        super()._give_back_samples(order, place)
        self.graph_, self.seeds_ = self.graph_[place], order[self.seeds_]


def choose_seeds(seeds, m, mask, rng):
    """The m samples that start as anchors: by rule, or as given."""
    if not isinstance(seeds, str):
        return np.asarray(seeds)
    if seeds == "random":
        return rng.choice(len(mask), m, replace=False)
    if seeds == "complete":  # where these are too few, those with the most views
        return np.argsort(-mask.sum(axis=1), kind="stable")[:m]
    return np.arange(m)


def check_seeds(seeds, m, n):
    """Raise unless ``seeds`` are m different samples."""
    seeds = np.asarray(seeds)
    if seeds.shape != (m,) or seeds.dtype.kind not in "iu":
        raise ValueError(
            f"seeds={seeds.tolist()!r} must be {m} sample numbers, one for each anchor."
        )
    if len(np.unique(seeds)) < m or seeds.min() < 0 or seeds.max() >= n:
        raise ValueError(
            f"seeds={seeds.tolist()!r} must be different sample numbers from 0 to "
            f"{n - 1}."
        )


def seed_graph(seeds, n):
    """The start: Z joins seed j to anchor j alone, and nobody else to any."""
    Z = np.zeros((n, len(seeds)))
    Z[seeds, np.arange(len(seeds))] = 1
    return Z


def solve(X, rows, Z, d, steps, *, ridge=0.0, power=0.5):
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
    steps : Iterations
    ridge : float, non-negative
        lambda.
    power : float
        alpha_v is proportional to (r_v^2)^-power: 1 minimises the objective, 0.5 is
        what the authors of both methods compute.

    Returns
    -------
    Z, alpha

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
    for sweep in steps:
        G = [graph_sums(X_v, Z[rows_v]) for X_v, rows_v in zip(X, rows)]
        if sweep > 1:
            W = [update_W(G_v, A) for G_v in G]
        A = update_A(G, W, alpha)
        P = [W_v @ A for W_v in W]
        XP = [X_v @ P_v.astype(X_v.dtype) for X_v, P_v in zip(X, P)]
        Z = update_Z(XP, rows, alpha, ridge, len(Z))
        residuals = squared_residuals(norms, XP, P, [Z[rows_v] for rows_v in rows])
        alpha = inverse_power_weights(residuals, power)
        steps.add(float(alpha**2 @ residuals + ridge * np.vdot(Z, Z)))
        steps.converged = steps.stands_still(floor=1e-10)
    return Z, alpha


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
