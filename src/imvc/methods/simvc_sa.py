"""SIMVC-SA: one anchor graph per view, aligned to a consensus by rotations.

Y. Wen, S. Wang, K. Liang, W. Liang, X. Wan, X. Liu, S. Liu, J. Liu, E. Zhu, "Scalable
Incomplete Multi-View Clustering with Structure Alignment", ACM Multimedia 2023,
pp. 3031-3040, arXiv:2308.16541. Specification: docs/methods/simvc_sa.md.

    min  sum_v gamma_v^2 ||X_v - A_v Z_v diag(h_v)||^2
         + lambda sum_v ||P_v Z_v - F||^2 + mu sum_v ||Z_v||^2
    s.t. A_v'A_v = I, P_v'P_v = I, FF' = I, Z_v >= 0, Z_v'1 = 1, gamma'1 = 1

    paper    code (samples in rows)           meaning
    X_v      X[v] (n_v x d_v)                 observed samples of view v, length one
    h_v      rows[v]                          which samples these are
    A_v      A[v] (d_v x m)                   anchors of view v
    Z_v      Z[v] (n x m)                     weights of every sample on them
    P_v      P[v] (m x m)                     rotation of view v's anchors
    F        F (n x m), `consensus_`          consensus graph, orthonormal columns
    gamma    gamma (V,), `view_weights_`      weights of the views
    lambda, mu, k, m: alignment, ridge, n_clusters, n_anchors

Below, XA_v = X_v A_v and S_v = F'Z_v.
"""

from typing import Literal

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._factor import graph_sums, squared_norm, squared_residuals
from imvc.kernels._procrustes import (
    left_singular_vectors,
    polar_factor,
    tall_polar_factor,
)
from imvc.kernels._simplex import inverse_power_weights, project_simplex
from imvc.methods._base import EmbeddingClusterer, count_anchors
from imvc.methods._parameters import Count, NonNegative, Positive, estimator


@estimator
class SIMVCSA(EmbeddingClusterer):
    """Scalable incomplete clustering with structure alignment (SIMVC-SA).

    Each view learns its own anchors and a graph between them and all samples; the
    graphs are rotated onto one consensus with orthonormal columns, which also fills
    in the samples that a view lacks. k-means on its rows gives the clusters.

    Parameters
    ----------
    n_anchors : int, optional
        Anchors m per view, at least `n_clusters`; by default `n_clusters`.
    alignment : float, default=1.0
        Weight lambda of the agreement with the consensus.
    ridge : float, default=0.01
        Penalty mu on the squared graphs.
    embedding : {"leading", "all", "svd"}, default="leading"
        Only matters where there are more anchors than clusters: the leading left
        singular vectors of the sum of the aligned graphs, all columns of F, or the
        authors' "first" singular vectors of F, which rounding picks, since all its
        singular values are one.
    tol : float, default=1e-6
        Stop when the relative change of the objective falls below; not before the
        tenth sweep.
    random_state : int, RandomState instance or None
        Only k-means draws from it.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters), or n_anchors columns
        k-means sees its rows at length one.
    consensus_ : ndarray of shape (n_samples, n_anchors)
        F, with orthonormal columns.
    view_weights_ : ndarray of shape (n_views,)
    objective_ : ndarray of shape (n_iter_,)
        After every sweep.

    References
    ----------
    Y. Wen et al., ACM Multimedia 2023, pp. 3031-3040, arXiv:2308.16541.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import SIMVCSA
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.3, random_state=0)
    >>> model = SIMVCSA(n_clusters=3, alignment=0.01, random_state=0)
    >>> model.fit(data.Xs, mask=data.mask).consensus_.shape
    (200, 3)
    """

    _row_normalize = True
    _most_offset = 10  # from there on the mean row hides the others (measured)
    n_anchors: Count | None = None
    alignment: Positive = 1.0
    ridge: NonNegative = 0.01
    embedding: Literal["leading", "all", "svd"] = "leading"
    max_iter: Count = 101
    tol: NonNegative = 1e-6

    def _check_against(self, views):
        super()._check_against(views)
        count_anchors(self, views)

    def _embed(self, views, rng):
        X = [unit_rows(views.observed(v)) for v in range(views.n_views)]
        rows = [views.rows(v) for v in range(views.n_views)]
        Z = start(views.n_views, views.n_samples, count_anchors(self, views))
        with self._stage("solve"), self._iterations() as steps:
            F, Z, P, self.view_weights_ = solve(
                X, rows, Z, self.alignment, self.ridge, steps
            )
        self.consensus_ = F.astype(views.dtype)
        return embed(F, Z, P, self.n_clusters, self.embedding).astype(views.dtype)

    def _give_back_samples(self, order, place):
        super()._give_back_samples(order, place)
        self.consensus_ = self.consensus_[place]


def solve(X, rows, Z, lambda_, mu, steps):
    """Alternate over A, F, Z, P and gamma from the graphs Z; O(n m sum_v d_v) a sweep.

    ``Z`` is the start, one (n, m) array per view; P_v starts at the identity. Returns
    F, Z, P and gamma.
    """
    m = Z[0].shape[1]
    norms = [squared_norm(X_v) for X_v in X]
    gamma = np.full(len(X), 1 / len(X))
    P = [np.eye(m)] * len(X)
    for _ in steps:
        A = [update_A(X_v, Z_v[rows_v]) for X_v, Z_v, rows_v in zip(X, Z, rows)]
        F = update_F(Z, P)
        XA = [X_v @ A_v.astype(X_v.dtype) for X_v, A_v in zip(X, A)]
        Z = [
            update_Z(XA_v, rows_v, F @ P_v, g, lambda_, mu)
            for XA_v, rows_v, P_v, g in zip(XA, rows, P, gamma)
        ]
        S = [F.T @ Z_v for Z_v in Z]
        P = [update_P(S_v) for S_v in S]
        tau = squared_residuals(norms, XA, A, [Z_v[r] for Z_v, r in zip(Z, rows)])
        gamma = update_gamma(tau)
        steps.add(objective(tau, gamma, Z, S, P, lambda_, mu))
        steps.converged = steps.stands_still(at_least=10, floor=1e-6)
    return F, Z, P, gamma


def start(n_views, n, m):
    """Every sample on the first anchor of every view.

    All is of rank one then; NumPy's SVD completes A_v and F in the first sweep.
    """
    Z = np.zeros((n, m))
    Z[:, 0] = 1
    return [Z] * n_views


def update_A(X_v, Z_v):
    """A_v = U T' of the thin SVD X_v'Z_v = U S T' over observed rows; O(n m d_v).

    With d_v < m its rows are orthonormal instead of its columns.
    """
    return polar_factor(graph_sums(X_v, Z_v))


def update_F(Z, P):
    """F = U T' of the thin SVD sum_v Z_v P_v' = U S T'; O(V n m^2)."""
    return tall_polar_factor(aligned_sum(Z, P))


def aligned_sum(Z, P):
    """M = sum_v Z_v P_v', (n, m): the graphs on common anchors."""
    return sum(Z_v @ P_v.T for Z_v, P_v in zip(Z, P))


def update_Z(XA_v, rows_v, FP_v, gamma_v, lambda_, mu):
    """z = simplex projection of (g A_v'x + lambda P_v'f) / (g + lambda + mu); O(n m).

    g is gamma_v^2, and 0 for samples without view v: there the consensus alone counts.
    """
    E = lambda_ * FP_v
    e = np.full(len(E), float(lambda_ + mu))
    E[rows_v] += gamma_v**2 * XA_v
    e[rows_v] += gamma_v**2
    E /= e[:, None]
    return project_simplex(E)


def update_P(S_v):
    """P_v = U T' of the SVD F'Z_v = U S T' (orthogonal Procrustes); O(m^3)."""
    return polar_factor(S_v)


def update_gamma(tau):
    """gamma_v = tau_v^-1 / sum_u tau_u^-1; tau_v is the squared residual of view v."""
    return inverse_power_weights(tau)


def objective(tau, gamma, Z, S, P, lambda_, mu):
    """The objective, with |Z_v P_v' - F|^2 = |Z_v|^2 + m - 2 <F'Z_v, P_v>."""
    squares = np.array([np.vdot(Z_v, Z_v) for Z_v in Z])
    shared = np.array([np.vdot(S_v, P_v) for S_v, P_v in zip(S, P)])
    apart = squares + len(P[0]) - 2 * shared
    return float(gamma**2 @ tau + lambda_ * apart.sum() + mu * squares.sum())


def embed(F, Z, P, k, kind):
    """k columns for k-means (all m if ``kind`` is "all")."""
    if kind == "all" or F.shape[1] == k:  # k columns: any rotation clusters alike
        return F
    if kind == "svd":
        return np.linalg.svd(F, full_matrices=False)[0][:, :k]
    return left_singular_vectors(aligned_sum(Z, P), k)[0]
