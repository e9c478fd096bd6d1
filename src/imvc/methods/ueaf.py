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

Below, H_v = X_v + E_v W_v, the view with its gaps filled, K = I + l2 L_S2 and
A = sum_v a_v^r. H_v and E_v are never formed: E_v = M_v C_v, where M_v (d_v x c) is the
basis smoothed and C_v (c x m_v) the columns of P where view v is missing.
"""

from collections import namedtuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from imvc.kernels._block_krylov import separated_eigenvectors
from imvc.kernels._distances import block_slices, distance_factors
from imvc.kernels._factor import factor_residual
from imvc.kernels._laplacian import knn_graph, laplacian, smallest_eigenvectors
from imvc.kernels._procrustes import polar_factor
from imvc.kernels._simplex import inverse_power_weights, project_simplex
from imvc.kernels._spd import conjugate_gradients, spd_solver
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
_SQUARES = 9  # n x n arrays of doubles: 6 measured, more where LAPACK starts over
_LEAST_STEPS = 3  # before the stopping rule is asked
_CLOSE = 1.0  # to I, where conjugate gradients need at most 20 steps for all digits
_ROUNDING = 1e-15
_BLOCK_ENTRIES = 1 << 17  # of S that are made at a time, in the cache


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
    L = [laplacian(knn_graph(X_v, n_neighbors)) for X_v in X]
    smoothers = [spd_solver(sp.identity(L_v.shape[0]) + l1 * L_v) for L_v in L]
    squares = [np.vdot(X_v, X_v) for X_v in X]
    U, F, a = list(start.U), start.F, np.full(len(X), 1 / len(X))
    UX = [U_v.T @ X_v for U_v, X_v in zip(U, X)]
    M, C = list(start.E), [sp.identity(len(gap), format="csr") for gap in missing]
    K = smoothing(np.square(start.S), l2)
    for _ in steps:
        P = update_P(filled_products(UX, U, M, C, missing), K, a**r)
        S = update_S(P, F, np.sum(a**r), l2, l3, exact=exact_graph)
        F, eigenvalues = update_F(S, F.shape[1])
        K = smoothing(np.square(S, out=S), l2)
        roughness = np.vdot(P, P @ K) - np.vdot(P, P)  # l2 tr(P L_S2 P')
        h = np.empty(len(X))
        for v, gap in enumerate(missing):
            U[v] = update_U(X[v] @ P.T + M[v] @ (C[v] @ P[:, gap].T))
            UX[v] = U[v].T @ X[v]
            M[v], C[v] = update_M(U[v], smoothers[v]), P[:, gap]
            share = 1 if exact_weights else l1 * len(gap)
            h[v] = misfit(squares[v], UX[v], U[v], P, M[v], gap, L[v], l1)
            h[v] += share * roughness
        a = update_a(h, r)
        steps.add(objective(a, h, eigenvalues, r, l3) / (sum(squares) or 1.0))
        steps.converged = steps.stands_still(steps.tol, at_least=_LEAST_STEPS)
    return P, a


def filled_products(UX, U, M, C, missing):
    """U_v'H_v (c x n) of every view: U_v'X_v, and U_v'E_v where it is missing."""
    products = [UX_v.copy() for UX_v in UX]
    for UH_v, U_v, M_v, C_v, gap in zip(products, U, M, C, missing):
        UH_v[:, gap] = (U_v.T @ M_v) @ C_v
    return products


def symmetric_laplacian(W):
    """Laplacian of (W + W') / 2, in one new array."""
    L = W + W.T
    L *= -0.5
    L[np.diag_indices_from(L)] -= L.sum(axis=1)
    return L


def smoothing(squares, l2):
    """K = I + l2 L_S2, given the squares of the entries of S."""
    K = symmetric_laplacian(squares)
    K *= l2
    K[np.diag_indices_from(K)] += 1
    return K


def update_P(UH, K, powers):
    """P = sum_v a_v^r U_v'H_v K^{-1} / A, given every U_v'H_v; may spoil K.

    O(n^2 c) by conjugate gradients where K is close to I, as it is wherever the rows
    of S are spread over many samples; else one Cholesky factor, O(n^3).
    """
    T = sum(p * UH_v for p, UH_v in zip(powers, UH)) / powers.sum()
    # The eigenvalues of a Laplacian end at twice its largest entry.
    if 2 * (K.diagonal().max() - 1) <= _CLOSE:
        return conjugate_gradients(K, T.T, tol=_ROUNDING).T
    # K is symmetric: its transpose is the order LAPACK wants, without a copy.
    return scipy.linalg.solve(K.T, T.T, assume_a="pos", overwrite_a=True).T


def update_S(P, F, A, l2, l3, *, exact=False):
    """Rows of S: min_s A l2 sum_j s_j^2 DP_ij / 2 + l3 sum_j s_j DF_ij / 2, simplex.

    DP and DF are squared distances between columns of P and rows of F. The minimiser
    without constraints, -l3 DF / (2 A l2 DP), is projected on the simplex in the
    metric of the problem (exact) or in the Euclidean one (the authors' program).
    """
    n = len(F)
    left_P, right_P = distance_factors(P.T, P.T)
    left_F, right_F = distance_factors(F, F)
    left_F *= -l3 / (2 * A * l2)
    S = np.empty((n, n))
    for rows in block_slices(n, n, _BLOCK_ENTRIES):
        D_P, G = left_P[rows] @ right_P, left_F[rows] @ right_F
        np.maximum(D_P, _NEAREST, out=D_P)
        np.minimum(G, 0, out=G)
        G /= D_P
        np.fill_diagonal(G[:, rows], -np.inf)
        S[rows] = project_simplex(G, weights=D_P if exact else None)
    return S


def update_F(S, c):
    """F = c smallest eigenvectors of L_S, and their eigenvalues; O(n^3) at worst."""
    L_S = symmetric_laplacian(S)
    values, F = separated_eigenvectors(L_S, c) or smallest_eigenvectors(L_S, c)
    return F, values


def update_U(HP):
    """U_v = polar factor of H_v P' (Procrustes); orthonormal rows where d_v < c."""
    return polar_factor(HP)


def update_M(U_v, smoother):
    """M_v = (I + l1 L_v)^{-1} U_v; E_v = M_v P on the samples that view v lacks."""
    return smoother(U_v)


def update_a(h, r):
    """a_v = h_v^{1/(1-r)} / sum_u h_u^{1/(1-r)}."""
    return inverse_power_weights(h, 1 / (r - 1))


def misfit(square, UX_v, U_v, P, M_v, gap, L_v, l1):
    """|H_v - U_v P|^2 + l1 tr(E_v' L_v E_v), from products with c rows or columns."""
    seen = P.copy()
    seen[:, gap] = 0
    inside = P[:, gap] @ P[:, gap].T
    apart = M_v - U_v  # times P, it is what E_v lacks of U_v P
    rough = apart.T @ apart + l1 * (M_v.T @ (L_v @ M_v))
    return factor_residual(square, UX_v.T, U_v.T @ U_v, seen.T) + np.vdot(rough, inside)


def objective(a, h, eigenvalues, r, l3):
    """sum_v a_v^r h_v + l3 tr(F' L_S F), with h_v the cost of view v."""
    return float(a**r @ h + l3 * eigenvalues.sum())
