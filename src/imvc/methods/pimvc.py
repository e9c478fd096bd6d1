"""PIMVC: projective incomplete multi-view clustering.

S. Deng, J. Wen, C. Liu, K. Yan, G. Xu, Y. Xu, "Projective Incomplete Multi-View
Clustering", IEEE Transactions on Neural Networks and Learning Systems 35(8), 2024,
10539-10551, doi:10.1109/TNNLS.2023.3242473. Specification: docs/methods/pimvc.md.

    min  sum_v ( |X_v P_v - Y_v|^2 + lambda |P_v|^2 ) + beta tr(Y' L Y)
    s.t. P_v' (X_v'X_v + lambda I) P_v = I   for every view v

Samples are rows here, the columns of the paper.

    X_v   observed samples of view v, unit rows (n_v x d_v)   P_v   projection (d_v x c)
    Y     shared embedding (n x c); Y_v: its rows seen in v   N     views per sample
    L     Laplacian of the neighbour graphs of all views      K     N + beta L

With X_v = R diag(s) U' and Z_v = R diag(s / sqrt(s^2 + lambda)) the constraint says
X_v P_v = Z_v Q_v with Q_v'Q_v = I, and |X_v P_v|^2 + lambda |P_v|^2 = |Q_v|^2. Z_v is
kept as a product A_v M_v; no step needs P_v, a d_v x d_v inverse or an n x n matrix.
"""

from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._factor import squared_norm
from imvc.kernels._laplacian import embed_graph, knn_graph, laplacian, neighbor_graph
from imvc.kernels._neighbors import nearby_neighbors
from imvc.kernels._patterns import RANK_TOL, fix_signs, inverse_sqrt
from imvc.kernels._procrustes import polar_factor
from imvc.kernels._spd import spd_solver
from imvc.methods._base import EmbeddingClusterer, draw_seed
from imvc.methods._parameters import Count, NonNegative, Positive, estimator

_EXACT_ROWS = 8192  # up to here comparing all rows is cheap
_PCA_TOL = 1e-10  # directions with less than this share of the largest variance drop
_LEAST_STEPS = 4  # before the stopping rule is asked


@estimator
class PIMVC(EmbeddingClusterer):
    """Projective incomplete multi-view clustering (PIMVC).

    Every view is projected linearly to the same few dimensions, and one embedding is
    fitted to the projections of the views that each sample has, smoothed along the
    neighbour graphs of all views. Nothing is imputed; the cost is linear in n.

    Parameters
    ----------
    n_clusters : int
        Also the dimension of the embedding.
    ridge : float, default=1e5
        lambda, regularisation of the projections. Its default (the authors') far
        exceeds the spread of unit rows, so that projections have equal weights in all
        directions.
    graph_weight : float, default=1.0
        beta, weight of the neighbour graphs.
    n_neighbors : int, default=3
        Neighbours of a sample in each view.
    neighbor_search : {"auto", "exact"}
        "auto" seeks the neighbours in a view of more than 8192 samples in nearby
        k-means cells, which finds about nine of ten in linear time; "exact" compares
        all samples, O(n^2) time.
    stopping : {"absolute", "relative"}
        Stop when the objective changes by less than `tol` (the authors' rule, which a
        large `ridge` meets at once, after 4 iterations), or by less than `tol` times
        its part that varies.
    tol : float, default=1e-5
    random_state : int, RandomState instance or None
        Draws the k-means starts and the cells of `neighbor_search`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Y; its entries are small where `ridge` is large.
    objective_ : ndarray of shape (n_iter_,)
        After every iteration, divided by the sum of squares of the views; never rises.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
    inertia_ : float

    References
    ----------
    S. Deng, J. Wen, C. Liu, K. Yan, G. Xu, Y. Xu, IEEE TNNLS 35(8), 2024,
    doi:10.1109/TNNLS.2023.3242473.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import PIMVC
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = PIMVC(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (200, 3)
    """

    ridge: Positive = 1e5
    graph_weight: NonNegative = 1.0
    n_neighbors: Count = 3
    neighbor_search: Literal["auto", "exact"] = "auto"
    stopping: Literal["absolute", "relative"] = "absolute"
    max_iter: Count = 100
    tol: NonNegative = 1e-5

    def _embed(self, views, rng):
        seed, rows = draw_seed(rng), [views.rows(v) for v in range(views.n_views)]
        X = [
            unit_rows(views.observed(v).astype(np.float64, copy=False))
            for v in range(views.n_views)
        ]
        with self._stage("graph"):
            graphs = [self._graph(X_v, seed) for X_v in X]
            K = penalty(graphs, rows, views.mask, self.graph_weight)
        with self._stage("projections"):
            Z, first = zip(*[decompose(X_v, self.ridge, self.n_clusters) for X_v in X])
        scale = sum(squared_norm(X_v) for X_v in X) or 1.0
        relative = self.stopping == "relative"
        with self._stage("solve"), self._iterations() as steps:
            Y = solve(Z, first, rows, K, steps, scale=scale, relative=relative)
        return Y.astype(views.dtype)

    def _graph(self, X_v, seed):
        if self.neighbor_search == "exact" or X_v.shape[0] <= _EXACT_ROWS:
            return knn_graph(X_v, self.n_neighbors)
        near = nearby_neighbors(X_v, self.n_neighbors, check_random_state(seed))
        return neighbor_graph(near)


def penalty(graphs, rows, mask, beta):
    """K = N + beta L, sparse (n x n): the graphs of all views and the view counts."""
    n = len(mask)
    W = sum(embed_graph(W_v, seen, n) for W_v, seen in zip(graphs, rows))
    return (beta * laplacian(W) + sp.diags(mask.sum(axis=1).astype(float))).tocsr()


def decompose(X_v, ridge, c):
    """``(A_v, M_v)`` with Z_v = A_v M_v, and X_v times its c principal directions.

    Through the smaller of X_v'X_v (then A_v = X_v) and X_v X_v' (then A_v = R), so
    O(n_v d_v min(n_v, d_v)). Missing principal directions are zero columns.
    """
    tall = X_v.shape[0] >= X_v.shape[1]
    G = X_v.T @ X_v if tall else X_v @ X_v.T
    G = G.toarray() if sp.issparse(G) else G
    first = X_v @ principal_directions(X_v, G, c)
    squares, V = np.linalg.eigh(G)
    kept = squares > RANK_TOL * max(squares[-1], 0)
    squares, V = squares[kept], V[:, kept]
    if tall:
        return (X_v, V / np.sqrt(squares + ridge)), first
    return (V, np.diag(np.sqrt(squares / (squares + ridge)))), first


def principal_directions(X_v, G, c):
    """Leading eigenvectors (d_v x c) of the covariance of X_v; signs fixed.

    From G = X_v'X_v or, for a wide view, X_v X_v'. Columns beyond the rank are zero.
    """
    n, d = X_v.shape
    tall = len(G) == d
    if tall:
        mean = np.asarray(X_v.mean(axis=0)).ravel()
        C = G - n * np.outer(mean, mean)
    else:
        C = G - G.mean(axis=0)
        C -= C.mean(axis=1)[:, None]
    values, V = np.linalg.eigh(C)
    values, V = values[::-1][:c], V[:, ::-1][:, :c]
    # The centring leaves rounding of the size of G where all rows are alike.
    noise = max(_PCA_TOL * max(values[0], 0), RANK_TOL * np.trace(G) / len(G))
    values, V = values[values > noise], V[:, values > noise]
    if not tall:
        V = (X_v.T @ (V - V.mean(axis=0))) * inverse_sqrt(values)
    directions = np.zeros((d, c))
    directions[:, : V.shape[1]] = fix_signs(V)
    return directions


def solve(Z, first, rows, K, steps, *, scale=1.0, relative=False):
    """Alternate Y and the Q_v until the objective stands still; returns Y.

    Parameters
    ----------
    Z : list of pairs (A_v, M_v) with Z_v = A_v M_v
    first : list of ndarray of shape (n_v, c)
        Projections X_v P_v to start from; any may be given.
    rows : list of int arrays
        The samples of each view.
    K : sparse matrix of shape (n, n)
    scale : float
        The objective is divided by it.
    relative : bool
        Compare changes of the objective with its part that varies, not with one.
    """
    solver, projected, Y = spd_solver(K), first, None
    for _ in steps:
        Y = update_Y(projected, rows, K.shape[0], solver, Y)
        Q, gains = zip(*[update_Q(Z_v, Y[seen]) for Z_v, seen in zip(Z, rows)])
        projected = [A_v @ (M_v @ Q_v) for (A_v, M_v), Q_v in zip(Z, Q)]
        constant, varying = objective(Y, Q, gains, K)
        steps.add((constant + varying) / scale)
        limit = steps.tol * abs(varying) / scale if relative else steps.tol
        steps.converged = steps.stands_still(limit, at_least=_LEAST_STEPS)
    return Y


def update_Y(projected, rows, n, solver, start=None):
    """Y = K^{-1} H, where H adds up the projections X_v P_v of each sample's views."""
    H = np.zeros((n, projected[0].shape[1]))
    for XP, seen in zip(projected, rows):
        H[seen] += XP
    return solver(H, start)


def update_Q(Z_v, Y_v):
    """Q_v = polar factor of Z_v'Y_v (Procrustes), and the gain <Z_v Q_v, Y_v>."""
    A_v, M_v = Z_v
    C = M_v.T @ (A_v.T @ Y_v)
    Q_v = polar_factor(C)
    return Q_v, np.vdot(Q_v, C)


def objective(Y, Q, gains, K):
    """Sum of |Q_v|^2, fixed by the ranks; and <Y, K Y> - 2 sum_v <Z_v Q_v, Y_v>."""
    constant = sum(np.square(Q_v).sum() for Q_v in Q)
    return constant, float(np.vdot(Y, K @ Y) - 2 * sum(gains))
