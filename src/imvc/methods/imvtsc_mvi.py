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
P-step has left over, so that three stacks of graphs stay: Z, A and, one after the
other in the same memory, Q (what Z comes from) and the spectrum F of P.
"""

from typing import Literal

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.sparse

from imvc.kernels._distances import block_slices
from imvc.kernels._laplacian import (
    embed_graph,
    knn_graph,
    largest_eigenvectors,
    normalized_adjacency,
)
from imvc.kernels._simplex import project_simplex
from imvc.kernels._tensor import multiply_slices, shrinking_cores, slice_grams
from imvc.methods._base import EmbeddingClusterer, padded_unit_rows
from imvc.methods._cost import check_memory
from imvc.methods._parameters import Count, NonNegative, estimator
from imvc.scale import threaded_map

_MU, _RHO, _MU_MAX = 0.01, 1.2, 1e10  # the authors' penalty, its growth, its end
_NARROW = 0.7  # features per sample below which the d x d side costs less: flops
_SPARSE = 0.05  # share of entries; at 0.03 a sparse product takes a third of the time
_STACKS = 5  # arrays of n_views * n^2 doubles that exist at once, measured


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
    n_jobs: int | None = None
    max_iter: Count = 120
    tol: NonNegative = 1e-6

    def _embed(self, views, rng):
        n, l = views.n_samples, views.n_views
        check_memory(
            8 * (_STACKS * l * n**2 + 8 * n * sum(views.n_features)),
            f"IMVTSC-MVI on {n} samples and {l} views",
        )
        lambdas = self.inference_penalty, self.error_penalty, self.consensus_penalty
        with self._stage("graphs"):
            X = [padded_unit_rows(views, v) for v in range(l)]
            Z = initial_graphs(X, views, self.n_neighbors)
        rule = {"repeat_last": self.repeat_last}
        with (
            self._stage("solve"),
            self._iterations() as steps,
            threaded_map(self.n_jobs) as map,
        ):
            solve(X, views.mask, Z, lambdas, steps, map=map, **rule)
        with self._stage("embedding"):
            W, c = normalized_adjacency(Z.mean(axis=0)), self.n_clusters
            self.eigenvalues_, F = largest_eigenvectors(W, c, by=self.eigenvalues)
        return F.astype(views.dtype)


def solve(X, mask, Z, lambdas, steps, *, repeat_last=False, map=map):
    """The ADMM loop from the graphs ``Z`` (l, n, n), which it overwrites.

    Returns the inferred rows E of every view. Views meet in the spectrum only, so what
    comes before and after it is done for each by itself, side by side with a ``map`` on
    threads. The DFT and the multipliers act on rows of the graphs: two walks over
    blocks of rows, one before and one after the spectrum is shrunk, read and write
    every stack once, since memory is slower than arithmetic.
    """
    lambda1, lambda2, lambda3 = lambdas
    (l, n), mu = Z.shape[:2], _MU
    views = [View(x, seen) for x, seen in zip(X, mask.T)]
    A, F = np.zeros_like(Z), np.empty((l, n, n // 2 + 1), np.complex128)
    thetas = np.full((l, n), np.nan)  # of the last projection
    Q = F.view(np.float64)[..., :n]  # one memory: when Q is there F is not needed
    blocks = block_slices(n, l * n, entries=1 << 16)
    for b in blocks:
        target_of_Z(Z[:, b], Z[:, b], A[:, b], lambda3, mu, out=Q[:, b])

    def update_Z(v):
        update_T(Q[v], views[v], coupling(l, lambda3, mu)[1], mu)
        project_simplex(Q[v], near=thetas[v], out=Z[v])

    def transform(b):
        A[:, b] += Z[:, b]
        F[:, b] = scipy.fft.rfft(A[:, b])
        return slice_grams(F[:, b])

    def update_P_and_A(b):
        P = scipy.fft.irfft(multiply_slices(cores, F[:, b]), n, overwrite_x=True)
        A[:, b] -= P
        worst = largest_difference(Z[:, b], P)
        A[:, b] /= growth
        target_of_Z(Z[:, b], P, A[:, b], lambda3, growth * mu, out=Q[:, b])
        return worst

    def update_EBC(v):
        K = update_E(Z[v], views[v], lambda1, mu)
        return update_BC(K, views[v], lambda2, mu, growth)

    for _ in steps:
        list(map(update_Z, range(l)))
        grams = sum(map(transform, blocks))
        cores = shrinking_cores(F, grams, 1 / mu, n, repeat_last=repeat_last)
        growth = min(_RHO, _MU_MAX / mu)
        worst = max(*map(update_P_and_A, blocks), *map(update_EBC, range(l)))
        mu *= growth
        steps.add(worst)
        steps.converged = worst < steps.tol
    return [view.E for view in views]


class View:
    """What the loop keeps of one view: Y_v, E_v, C_v and D_v = C_v - B_v.

    Products with the observed rows are sparse where these are, and their Gram matrix,
    of the side that `solve_ridge` takes, never changes.
    """

    def __init__(self, X, seen):
        n, d = X.shape
        self.seen, self.missing = np.flatnonzero(seen), np.flatnonzero(~seen)
        self.X, self.Y, self.observed = X, X.copy(), X[self.seen]
        self.E = np.zeros((self.missing.size, d))
        self.C, self.D = np.zeros_like(X), np.zeros_like(X)
        self.narrow = d < _NARROW * n
        self._gram = X.T @ X if self.narrow else X @ X.T
        self.sparse = np.count_nonzero(X) < _SPARSE * X.size
        if self.sparse:
            self.observed = scipy.sparse.csr_matrix(self.observed)
            self._columns = self.observed.T.tocsr()

    def gram(self):
        """Y_v'Y_v or Y_vY_v' anew from the inferred rows, O(m d min(n, d))."""
        if self.narrow:
            return self._gram + self.E.T @ self.E
        G, inferred = self._gram.copy(), self.times(self.E)
        G[self.missing] = inferred.T
        G[:, self.missing] = inferred
        return G

    def times(self, W):
        """Y_v W'."""
        if not self.sparse:
            return self.Y @ W.T
        product = np.empty((len(self.Y), len(W)))
        product[self.seen] = self.observed @ np.ascontiguousarray(W.T)
        product[self.missing] = self.E @ W.T
        return product

    def under(self, M):
        """M'Y_v."""
        if not self.sparse:
            return M.T @ self.Y
        return self.under_observed(M) + M[self.missing].T @ self.E

    def under_observed(self, M):
        """M'X_v."""
        if not self.sparse:
            return M[self.seen].T @ self.observed
        return np.ascontiguousarray((self._columns @ M[self.seen]).T)


def target_of_Z(Z, P, A, lambda3, mu, *, out):
    """Q_v / a into ``out``, with Q_v = pull sum_{k != v} Z_k + mu (P_v - A_v).

    Here pull = 2 lambda3 (l-1)/l^2 and a = 2 lambda3 ((l-1)/l)^2 + mu.
    """
    pull, a = coupling(len(Z), lambda3, mu)
    np.subtract(P, A, out=out)
    out *= mu / a
    others = Z.sum(axis=0) - Z
    others *= pull / a
    out += others


def coupling(l, lambda3, mu):
    """Weight of the other views' graphs, and of the own one."""
    pull = 2 * lambda3 * (l - 1) / l**2
    return pull, (l - 1) * pull + mu


def update_T(Q, view, a, mu):
    """T_v into ``Q``, of which the simplex makes Z_v: nothing on the diagonal is free.

    T_v = (a I + mu Y_v Y_v')^-1 (Q_v + mu Y_v W_v') with W_v = Y_v - B_v + C_v; ``Q``
    holds Q_v / a. O(n^2 d), or O(n^3) where a view has about as many features as
    samples.
    """
    solve_ridge(view, Q, view.Y + view.D, mu / a)
    np.fill_diagonal(Q, -np.inf)


def solve_ridge(view, Q, W, b):
    """(I + b Y Y')^-1 (Q + b Y W') into ``Q`` by the cheaper of Y'Y and Y Y'."""
    G = view.gram()
    G[np.diag_indices_from(G)] += 1 / b
    if not view.narrow:
        Q /= b
        Q += view.times(W)
        Q[...] = _solve_positive(G, Q)
    else:
        # Woodbury, and (I + b YY')^-1 Y = Y (I + b Y'Y)^-1 for the second term.
        Q += view.times(_solve_positive(G, (W - view.under(Q)).T).T)


def update_E(Z, view, lambda1, mu):
    """E_v = (2 lambda1 / mu I + R_v R_v')^-1 R_v (Z_v'X_v - X_v + B_v - C_v).

    Writes E_v and Y_v, returns K_v = Y_v - Z_v'Y_v. O(n^2 d + m n d + m^2 n) for m
    missing.
    """
    missing = view.missing
    K = view.under_observed(Z)
    np.subtract(view.X, K, out=K)
    if missing.size:
        R = Z[missing]
        R[np.arange(missing.size), missing] -= 1  # -R_v
        G = R @ R.T
        G[np.diag_indices_from(G)] += 2 * lambda1 / mu
        view.D += K
        view.E = _solve_positive(G, R @ view.D)
        view.Y[missing] = view.E
        K -= R.T @ view.E
    return K


def update_BC(K, view, lambda2, mu, growth):
    """B_v = soft(K_v + C_v, lambda2 / mu), and C_v = K_v + C_v - B_v for the next mu.

    The new C_v is K_v + C_v clipped, so that B_v need not exist. Overwrites ``K``;
    returns the largest entry of K_v - B_v, by which C_v has changed.
    """
    B, limit = np.add(K, view.C, out=K), lambda2 / mu
    C = np.clip(B, -limit, limit)
    B -= C
    worst = largest_difference(C, view.C)
    C /= growth
    view.C, view.D = C, np.subtract(C, B, out=B)
    return worst


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


def largest_difference(a, b):
    D = a - b
    return float(max(D.max(), -D.min()))
