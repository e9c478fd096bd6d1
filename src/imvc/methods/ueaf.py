"""UEAF: unified embedding alignment with inference of the missing views.

J. Wen, Z. Zhang, Y. Xu, B. Zhang, L. Fei, H. Liu, "Unified Embedding Alignment with
Missing Views Inferring for Incomplete Multi-View Clustering", AAAI 2019,
33(1):5393-5400. Specification: docs/methods/ueaf.md.

    min  sum_v a_v^r [ |X_v + E_v W_v - U_v P|^2 + l1 tr(E_v' L_v E_v)
                       + l2 tr(P L_S2 P') ] + l3 tr(F' L_S F)
    s.t. U_v'U_v = I, F'F = I, S >= 0, S 1 = 1, S_ii = 0, a >= 0, sum_v a_v = 1

    X_v   view v, samples as columns (d_v x n), missing ones 0
    W_v   puts the columns of E_v (d_v x m_v) where view v is missing
    U_v   orthonormal basis of view v (d_v x c)    P     shared embedding (c x n)
    L_v   Laplacian of a graph over the features   S     graph over the samples (n x n)
    L_S   Laplacian of S, symmetrised              F     its spectral embedding (n x c)
    L_S2  Laplacian of S^2, symmetrised            a_v   weight of view v

Below, H_v = X_v + E_v W_v, the view with its gaps filled, and A = sum_v a_v^r.
"""

from collections import namedtuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from imvc.kernels._distances import squared_distances
from imvc.kernels._laplacian import knn_graph, laplacian, smallest_eigenvectors
from imvc.kernels._procrustes import polar_factor
from imvc.kernels._simplex import inverse_power_weights, project_simplex
from imvc.kernels._spd import spd_solver
from imvc.methods._base import EmbeddingClusterer, padded_unit_rows
from imvc.methods._cost import check_memory
from imvc.methods._parameters import (
    AboveOne,
    Count,
    NonNegative,
    Positive,
    estimator,
)

_NEAREST = 1e-10  # distances in the embedding are not taken to be smaller
_SQUARES = 9  # n x n arrays of doubles alive at the peak, measured
_LEAST_STEPS = 3  # before the stopping rule is asked


@estimator
class UEAF(EmbeddingClusterer):
    """Unified embedding alignment with missing-view inferring (UEAF).

    Every view is an orthonormal basis times one shared embedding; the samples that a
    view lacks are free and filled in, smoothly along a graph over its features, while
    the embedding is smoothed along a graph over the samples that is learnt with it.

    Parameters
    ----------
    n_clusters : int
        Also the dimension of the embedding.
    feature_smoothness : float, default=0.01
        l1, weight of the graph over the features. The authors' values for one dataset
        at 10, 30 and 50 % missing: 1e-1, 1e-2, 1e-5.
    sample_smoothness : float, default=0.1
        l2, weight of the graph over the samples. The authors': 1e-2, 1e-1, 10.
    spectral_weight : float, default=1e-5
        l3, how much the graph over the samples should fall into clusters.
    n_neighbors : int, default=7
        Neighbours of a feature in its graph.
    weight_power : float, default=3.0
        r > 1; near 1 the best view takes all the weight, large values level them.
    exact_weights : bool, default=False
        Weigh the views by the objective above. False is the authors' program, where
        the smoothness of the samples enters l1 m_v times instead of once.
    exact_graph : bool, default=False
        Minimise over S exactly. False is the authors' program, which projects the
        unconstrained minimiser; the objective may then rise.
    tol : float, default=1e-5
        Stop when the normalised objective changes by less.
    random_state : int, RandomState instance or None
        Also draws the start, which the result depends on.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        P'. k-means sees its rows scaled to length one.
    view_weights_ : ndarray of shape (n_views,)
        a, with sum one.
    objective_ : ndarray of shape (n_iter_,)
        After every iteration, divided by the sum of squares of the views.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
    inertia_ : float

    References
    ----------
    J. Wen, Z. Zhang, Y. Xu, B. Zhang, L. Fei, H. Liu, AAAI 2019, 33(1):5393-5400.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import UEAF
    >>> data = make_views(n_samples=60, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = UEAF(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (60, 3)
    """

    _row_normalize = True
    _most_offset = 10  # from there on the mean row hides the others (measured)
    feature_smoothness: NonNegative = 1e-2
    sample_smoothness: Positive = 1e-1
    spectral_weight: NonNegative = 1e-5
    n_neighbors: Count = 7
    weight_power: AboveOne = 3.0
    exact_weights: bool = False
    exact_graph: bool = False
    max_iter: Count = 50
    tol: NonNegative = 1e-5

    def _embed(self, views, rng):
        n, widths = views.n_samples, views.n_features
        entries = _SQUARES * n**2 + 3 * n * sum(widths)
        check_memory(8 * entries, f"UEAF on {n} samples")
        X = [padded_columns(views, v) for v in range(views.n_views)]
        missing = [np.flatnonzero(~seen) for seen in views.mask.T]
        with self._iterations() as steps:
            P, self.view_weights_ = solve(
                X,
                missing,
                (self.feature_smoothness, self.sample_smoothness, self.spectral_weight),
                random_start(widths, missing, n, self.n_clusters, rng),
                steps,
                n_neighbors=self.n_neighbors,
                r=self.weight_power,
                exact_weights=self.exact_weights,
                exact_graph=self.exact_graph,
            )
        return P.T.astype(views.dtype, order="C")


Start = namedtuple("Start", "U E S F")


def padded_columns(views, v):
    """X_v (d_v x n): unit columns for the observed samples, zeros for the others."""
    return np.asfortranarray(padded_unit_rows(views, v)).T


def random_start(widths, missing, n, c, rng):
    """U_v random orthonormal, E_v and S uniform, F spectral: where the authors start.

    S is symmetric with a zero diagonal; its rows do not sum to one yet.
    """
    U = [polar_factor(rng.random_sample((d_v, c))) for d_v in widths]
    E = [rng.random_sample((d, len(gap))) for d, gap in zip(widths, missing)]
    S = rng.random_sample((n, n))
    np.fill_diagonal(S, 0)
    S = (S + S.T) / 2
    return Start(U, E, S, smallest_eigenvectors(laplacian(S), c)[1])


def solve(
    X,
    missing,
    weights,
    start,
    steps,
    *,
    n_neighbors=7,
    r=3.0,
    exact_weights=False,
    exact_graph=False,
):
    """Alternate P, S, F, (U_v, E_v) and a until the objective stands still.

    Parameters
    ----------
    X : list of ndarray of shape (d_v, n), zero where missing
    missing : list of int arrays
        The samples that each view lacks.
    weights : triple of float
        l1, l2, l3.
    start : Start
        U_v, E_v, S and F; any point may be given.

    Returns
    -------
    P, a
    """
    l1, l2, l3 = weights
    views = range(len(X))
    L = [laplacian(knn_graph(X_v, n_neighbors)) for X_v in X]
    smoothers = [spd_solver(sp.identity(L_v.shape[0]) + l1 * L_v) for L_v in L]
    scale = sum(np.vdot(X_v, X_v) for X_v in X) or 1.0
    H = [fill(X_v, E_v, gap) for X_v, E_v, gap in zip(X, start.E, missing)]
    U, F, a = list(start.U), start.F, np.full(len(X), 1 / len(X))
    L_S2 = laplacian(symmetric_square(start.S))
    for _ in steps:
        P = update_P(U, H, L_S2, a**r, l2)
        S = update_S(P, F, np.sum(a**r), l2, l3, exact=exact_graph)
        F, eigenvalues = update_F(S, F.shape[1])
        L_S2 = laplacian(symmetric_square(S))
        roughness = l2 * np.vdot(P, P @ L_S2)
        h = np.empty(len(X))
        for v in views:
            U[v] = update_U(H[v], P)
            E_v = update_E(U[v], P[:, missing[v]], smoothers[v])
            H[v] = fill(H[v], E_v, missing[v])
            share = 1 if exact_weights else l1 * len(missing[v])
            h[v] = misfit(H[v], U[v], P, E_v, L[v], l1) + share * roughness
        a = update_a(h, r)
        steps.add(objective(a, h, eigenvalues, r, l3) / scale)
        steps.converged = steps.stands_still(steps.tol, at_least=_LEAST_STEPS)
    return P, a


def fill(X_v, E_v, gap):
    """H_v = X_v + E_v W_v: the columns E_v written where view v is missing."""
    H_v = X_v.copy(order="K")
    H_v[:, gap] = E_v
    return H_v


def symmetric_square(S):
    """(S^2 + (S^2)') / 2, entrywise squares; its Laplacian is L_S2."""
    squares = np.square(S)
    return (squares + squares.T) / 2


def update_P(U, H, L_S2, powers, l2):
    """P = sum_v a_v^r U_v'H_v (I + l2 L_S2)^{-1} / A, one Cholesky factor; O(n^3)."""
    T = sum(p * (U_v.T @ H_v) for p, U_v, H_v in zip(powers, U, H)) / powers.sum()
    K = l2 * L_S2
    K[np.diag_indices_from(K)] += 1
    # K is symmetric: its transpose is the order LAPACK wants, without a copy.
    return scipy.linalg.solve(K.T, T.T, assume_a="pos", overwrite_a=True).T


def update_S(P, F, A, l2, l3, *, exact=False):
    """Rows of S: min_s A l2 sum_j s_j^2 DP_ij / 2 + l3 sum_j s_j DF_ij / 2, simplex.

    DP and DF are squared distances between columns of P and rows of F. The minimiser
    without constraints, -l3 DF / (2 A l2 DP), is projected on the simplex in the
    metric of the problem (exact) or in the Euclidean one (the authors' program).
    """
    D_P = np.maximum(squared_distances(P.T, P.T), _NEAREST)
    G = squared_distances(F, F)
    G *= -l3 / (2 * A * l2)
    G /= D_P
    np.fill_diagonal(G, -np.inf)
    return project_simplex(G, weights=D_P if exact else None)


def update_F(S, c):
    """F = c smallest eigenvectors of L_S, and their eigenvalues; O(n^3)."""
    values, F = smallest_eigenvectors(laplacian((S + S.T) / 2), c)
    return F, values


def update_U(H_v, P):
    """U_v = polar factor of H_v P' (Procrustes); orthonormal rows where d_v < c."""
    return polar_factor(H_v @ P.T)


def update_E(U_v, P_gap, smoother):
    """E_v = (I + l1 L_v)^{-1} U_v P, on the samples that view v lacks."""
    return smoother(U_v) @ P_gap


def update_a(h, r):
    """a_v = h_v^{1/(1-r)} / sum_u h_u^{1/(1-r)}."""
    return inverse_power_weights(h, 1 / (r - 1))


def misfit(H_v, U_v, P, E_v, L_v, l1):
    """|H_v - U_v P|^2 + l1 tr(E_v' L_v E_v)."""
    residual = H_v - U_v @ P
    return np.vdot(residual, residual) + l1 * np.vdot(E_v, L_v @ E_v)


def objective(a, h, eigenvalues, r, l3):
    """sum_v a_v^r h_v + l3 tr(F' L_S F), with h_v the cost of view v."""
    return float(a**r @ h + l3 * eigenvalues.sum())
