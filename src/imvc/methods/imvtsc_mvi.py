"""IMVTSC-MVI: tensor spectral clustering that infers the missing views on the way.

J. Wen, Z. Zhang, Z. Zhang, L. Zhu, L. Fei, B. Zhang, Y. Xu, "Unified Tensor Framework
for Incomplete Multi-view Clustering and Missing-view Inferring", AAAI 2021.
Specification: docs/methods/imvtsc_mvi.md.

    min  sum_v lambda1 |E_v|^2 + lambda2 |B_v|_1 + lambda3 |Z_v - mean_k Z_k|^2 + |P|_t
    s.t. Y_v = Z_v' Y_v + B_v,  Z_v = P_v,  Z_v >= 0,  diag(Z_v) = 0,  Z_v 1 = 1

    X_v   view, rows are samples of length one, missing rows 0 (paper: its transpose)
    E_v   inferred missing rows          Y_v   X_v with E_v in the missing rows
    Z_v   graph (n x n) of view v        P_v   its copy, of low tensor rank
    B_v   sparse error (n x d_v)         R_v   missing rows of I - Z_v
    A_v, C_v  multipliers of Z_v = P_v and of the reconstruction, here divided by mu
    mu, rho   penalty and its growth     |P|_t nuclear norm after a DFT along columns

ADMM; with scaled multipliers A_v + Z_v - P_v is both the new multiplier and what the
P-step has left over, so that three stacks of graphs (Z, P, A) are all that stays.
"""

from typing import Literal

import numpy as np
import scipy.linalg

from imvc.kernels._laplacian import (
    embed_graph,
    knn_graph,
    largest_eigenvectors,
    normalized_adjacency,
)
from imvc.kernels._simplex import project_simplex
from imvc.kernels._tensor import shrink_tensor_svd, soft_threshold
from imvc.methods._base import EmbeddingClusterer, padded_unit_rows
from imvc.methods._cost import check_memory
from imvc.methods._parameters import Count, NonNegative, estimator

_MU, _RHO, _MU_MAX = 0.01, 1.2, 1e10  # the authors' penalty, its growth, its end
_STACKS = 7  # arrays of n_views * n^2 doubles that exist at once, measured


@estimator
class IMVTSCMVI(EmbeddingClusterer):
    """Tensor spectral clustering with missing-view inferring (IMVTSC-MVI).

    One self-representation graph per view is learnt together with the missing samples
    of that view; the graphs are pulled to their mean and to a low tensor rank. Their
    mean goes through spectral clustering.

    Parameters
    ----------
    inference_penalty : float, default=1e-5
        lambda1: weight of the squared norm of inferred samples.
    error_penalty : float, default=0.01
        lambda2: weight of the absolute reconstruction error. The result is sensitive
        to it.
    consensus_penalty : float, default=0.01
        lambda3: pull of every graph to the mean graph.
    n_neighbors : int, default=11
        Neighbours in the graphs that the iteration starts from.
    eigenvalues : {"magnitude", "algebraic"}
        Which eigenvectors of the mean graph embed the samples: those of the largest
        absolute value (the authors' program) or of the largest value.
    repeat_last : bool, default=False
        For an odd number of samples, shrink the highest frequency twice as the
        authors' program does; only to reproduce its numbers.
    shuffle : bool, default=True
        Fit on shuffled samples and bring the result back into order. The transform
        along the sample index makes the method depend on their order, and samples
        stored class by class would leak their labels; False reproduces published
        numbers.
    tol : float, default=1e-6
        Stop when no constraint is violated by more, in any entry.
    callback : callable, optional
        Called as ``callback(iteration, residual)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Eigenvectors of the normalised mean graph; k-means sees unit rows of it.
    eigenvalues_ : ndarray of shape (n_clusters,)
    objective_ : ndarray of shape (n_iter_,)
        Largest violation of a constraint after every iteration: what the authors'
        program stops by. The growing penalty drives it to zero.

    References
    ----------
    J. Wen, Z. Zhang, Z. Zhang, L. Zhu, L. Fei, B. Zhang, Y. Xu, AAAI 2021.

    Examples
    --------
    >>> from imvc import IMVTSCMVI
    >>> from imvc.datasets import make_views
    >>> data = make_views(n_samples=90, n_clusters=3, incomplete=0.3, random_state=0)
    >>> model = IMVTSCMVI(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (90, 3)
    """

    _row_normalize = True
    _most_offset = 10  # from there on the mean row hides the others (measured)
    inference_penalty: NonNegative = 1e-5
    error_penalty: NonNegative = 0.01
    consensus_penalty: NonNegative = 0.01
    n_neighbors: Count = 11
    eigenvalues: Literal["magnitude", "algebraic"] = "magnitude"
    repeat_last: bool = False
    shuffle: bool = True
    max_iter: Count = 120
    tol: NonNegative = 1e-6

    def _embed(self, views, rng):
        n, l = views.n_samples, views.n_views
        check_memory(
            8 * (_STACKS * l * n**2 + 5 * n * sum(views.n_features)),
            f"IMVTSC-MVI on {n} samples and {l} views",
        )
        lambdas = self.inference_penalty, self.error_penalty, self.consensus_penalty
        with self._stage("graphs"):
            X = [padded_unit_rows(views, v) for v in range(l)]
            Z = initial_graphs(X, views, self.n_neighbors)
        with self._stage("solve"), self._iterations() as steps:
            solve(X, views.mask, Z, lambdas, steps, repeat_last=self.repeat_last)
        with self._stage("embedding"):
            W, c = normalized_adjacency(Z.mean(axis=0)), self.n_clusters
            self.eigenvalues_, F = largest_eigenvectors(W, c, by=self.eigenvalues)
        return F.astype(views.dtype)


def solve(X, mask, Z, lambdas, steps, *, repeat_last=False):
    """The ADMM loop from the graphs ``Z`` (l, n, n), which it overwrites.

    Returns the inferred rows E of every view.
    """
    lambda1, lambda2, lambda3 = lambdas
    missing = [np.flatnonzero(~seen) for seen in mask.T]
    Y, B, C = list(X), [np.zeros_like(x) for x in X], [np.zeros_like(x) for x in X]
    E: list = [None] * len(X)
    P, A, mu = Z.copy(), np.zeros_like(Z), _MU
    for iteration in steps:
        if iteration > 1:
            growth = min(_RHO, _MU_MAX / mu)
            mu *= growth
            for multiplier in (A, *C):
                multiplier /= growth
        update_Z(Z, P, A, Y, B, C, lambda3, mu)
        A += Z
        P = update_P(A, mu, repeat_last)
        A -= P
        worst = _largest_difference(Z, P)
        for v, x in enumerate(X):
            E[v], Y[v], K = update_E(Z[v], x, missing[v], B[v], C[v], lambda1, mu)
            B[v] = update_B(K, C[v], lambda2, mu)
            C[v] += K - B[v]
            worst = max(worst, _largest_difference(K, B[v]))
        steps.add(worst)
        steps.converged = worst < steps.tol
    return E


def update_Z(Z, P, A, Y, B, C, lambda3, mu):
    """Z_v = rows of (a I + mu Y_v Y_v')^-1 (Q + mu Y_v W_v') put on the simplex.

    W_v = Y_v - B_v + C_v, a = 2 lambda3 ((l-1)/l)^2 + mu,
    Q = 2 lambda3 (l-1)/l^2 sum_{k != v} Z_k + mu (P_v - A_v), with the old Z_k in all
    views. In place, since a fourth stack of graphs is saved. O(l n^2 d), or O(l n^3)
    where a view has more features than samples.
    """
    l, n = len(Y), Z.shape[1]
    a = 2 * lambda3 * ((l - 1) / l) ** 2 + mu
    total = Z.sum(axis=0)
    for v in range(l):
        Q = total - Z[v]
        Q *= 2 * lambda3 * (l - 1) / l**2
        Q += mu * P[v]
        Q -= mu * A[v]
        T = solve_ridge(Y[v], Q, Y[v] - B[v] + C[v], a, mu)
        T[np.diag_indices(n)] = -np.inf
        Z[v] = project_simplex(T)


def solve_ridge(Y, Q, W, a, mu):
    """(a I + mu Y Y')^-1 (Q + mu Y W') by the smaller of Y'Y and Y Y'."""
    n, d = Y.shape
    if d >= n:
        G = mu * (Y @ Y.T)
        G[np.diag_indices(n)] += a
        return _solve_positive(G, Q + mu * (Y @ W.T))
    # Woodbury, and (a I + mu YY')^-1 Y = Y (a I + mu Y'Y)^-1 for the second term.
    G = Y.T @ Y
    G[np.diag_indices(d)] += a / mu
    T = Y @ _solve_positive(G, W.T - (Y.T @ Q) / a)
    Q /= a
    T += Q
    return T


def update_P(M, mu, repeat_last=False):
    """P = t-SVD shrinkage of Z + A by 1/mu, the DFT along the columns of the graphs."""
    return shrink_tensor_svd(M, 1 / mu, axis=2, repeat_last=repeat_last)


def update_E(Z, X, missing, B, C, lambda1, mu):
    """E_v = (2 lambda1 / mu I + R_v R_v')^-1 R_v (Z_v'X_v - X_v + B_v - C_v).

    Returns E_v, Y_v and K_v = Y_v - Z_v'Y_v. O(n n_v d + m n d + m^2 n) for m missing.
    """
    K = X - Z.T @ X
    if not missing.size:
        return np.zeros((0, X.shape[1])), X, K
    R = -Z[missing]
    R[np.arange(missing.size), missing] += 1
    G = R @ R.T
    G[np.diag_indices_from(G)] += 2 * lambda1 / mu
    E = _solve_positive(G, R @ (B - C - K))
    Y = X.copy()
    Y[missing] = E
    K += R.T @ E
    return E, Y, K


def update_B(K, C, lambda2, mu):
    """B_v = soft(K_v + C_v, lambda2 / mu), entrywise."""
    return soft_threshold(K + C, lambda2 / mu)


def initial_graphs(X, views, k):
    """Binary k-nearest-neighbour graphs of the observed samples, (l, n, n)."""
    n = views.n_samples
    Z = np.zeros((len(X), n, n))
    for v, X_v in enumerate(X):
        rows = views.rows(v)
        Z[v] = embed_graph(knn_graph(X_v[rows], k), rows, n).toarray()
    return Z


def _solve_positive(G, rhs):
    """G^-1 rhs by Cholesky; the least-squares solution where G is singular."""
    try:
        factor = scipy.linalg.cho_factor(G, check_finite=False)
    except scipy.linalg.LinAlgError:
        return scipy.linalg.lstsq(G, rhs, check_finite=False)[0]
    return scipy.linalg.cho_solve(factor, rhs, check_finite=False)


def _largest_difference(a, b):
    return max(float(np.abs(x - y).max()) for x, y in zip(a, b))
