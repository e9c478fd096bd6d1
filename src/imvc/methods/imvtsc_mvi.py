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

from functools import partial
from typing import Literal

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.sparse

from imvc.kernels._distances import block_slices, row_slices
from imvc.kernels._laplacian import (
    embed_graph,
    knn_graph,
    largest_eigenvectors,
    normalized_adjacency,
)
from imvc.kernels._simplex import project_simplex
from imvc.kernels._spd import spd_inverse
from imvc.kernels._tensor import multiply_slices, shrinking_cores, slice_grams
from imvc.methods._base import EmbeddingClusterer, padded_unit_rows
from imvc.methods._cost import check_memory
from imvc.methods._parameters import Count, NonNegative, estimator
from imvc.scale import threaded_map

_MU, _RHO, _MU_MAX = 0.01, 1.2, 1e10  # the authors' penalty, its growth, its end
_NARROW = 0.7  # features per sample below which the d x d side costs less: flops
_SPARSE = 0.05  # share of entries; at 0.03 a sparse product takes a third of the time
_WIDTH = 256  # samples or features of a part: products of this width are at full speed
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

    Returns the inferred rows E of every view. Every step is cut so that its parts do
    not need each other, for a ``map`` on threads: T_v by samples, the projection, the
    DFT and the multipliers A by rows of all graphs, E_v, B_v and C_v by features. The
    cuts do not depend on the number of threads, so neither does the result.
    """
    lambda1, lambda2, lambda3 = lambdas
    (l, n), mu, growth = Z.shape[:2], _MU, min(_RHO, _MU_MAX / _MU)
    views = [View(x, seen) for x, seen in zip(X, mask.T)]
    A, F = np.zeros_like(Z), np.empty((l, n, n // 2 + 1), np.complex128)
    thetas = np.full((l, n), np.nan)  # of the last projection
    Q = F.view(np.float64)[..., :n]  # one memory: when Q is there F is not needed
    rows = block_slices(n, l * n, entries=1 << 18)
    samples = [(v, s) for v in range(l) for s in row_slices(n, _WIDTH)]
    features = [(v, f) for v in range(l) for f in row_slices(X[v].shape[1], _WIDTH)]

    def prepare_T(v, mu):
        views[v].prepare_T(mu / coupling(l, lambda3, mu)[1])

    def update_T_columns(part):
        v, s = part
        update_T(Q[v], views[v], s)

    def update_Z_and_transform(b):
        for v in range(l):
            project_simplex(Q[v, b], near=thetas[v, b], out=Z[v, b])
        A[:, b] += Z[:, b]
        F[:, b] = scipy.fft.rfft(A[:, b])
        return slice_grams(F[:, b])

    def update_EBC_columns(part):
        v, f = part
        K = update_E(Z[v], views[v], f)
        return update_BC(K, views[v], f, lambda2, mu, growth)

    def update_P_and_A(b):
        P = scipy.fft.irfft(multiply_slices(cores, F[:, b]), n, overwrite_x=True)
        A[:, b] -= P
        worst = largest_difference(Z[:, b], P)
        A[:, b] /= growth
        target_of_Z(Z[:, b], P, A[:, b], lambda3, growth * mu, out=Q[:, b])
        return worst

    def at_once(*jobs):
        return list(map(lambda job: job(), jobs))

    for b in rows:
        target_of_Z(Z[:, b], Z[:, b], A[:, b], lambda3, mu, out=Q[:, b])
    at_once(*(partial(prepare_T, v, mu) for v in range(l)))
    for _ in steps:
        list(map(update_T_columns, samples))
        grams = sum(map(update_Z_and_transform, rows))
        cores, *_ = at_once(
            partial(shrinking_cores, F, grams, 1 / mu, n, repeat_last=repeat_last),
            *(partial(views[v].prepare_E, Z[v], lambda1 / mu) for v in range(l)),
        )
        growth = min(_RHO, _MU_MAX / mu)
        worst = max(map(update_EBC_columns, features))
        gaps = at_once(
            *(partial(prepare_T, v, growth * mu) for v in range(l)),
            *(partial(update_P_and_A, b) for b in rows),
        )
        mu *= growth
        steps.add(max(worst, *gaps[l:]))
        steps.converged = steps.objective[-1] < steps.tol
    return [view.E for view in views]


class View:
    """What the loop keeps of one view: Y_v, E_v, C_v and D_v = C_v - B_v.

    Products with the observed rows are sparse where these are, and their Gram matrix,
    of the side that `update_T` takes, never changes.
    """

    def __init__(self, X, seen):
        n, d = X.shape
        self.seen, self.missing = np.flatnonzero(seen), np.flatnonzero(~seen)
        self.X, self.Y = X, X.copy()
        self.E = np.zeros((self.missing.size, d))
        self.C, self.D = np.zeros_like(X), np.zeros_like(X)
        self.narrow = d < _NARROW * n
        self._gram = X.T @ X if self.narrow else X @ X.T
        self.sparse = np.count_nonzero(X) < _SPARSE * X.size
        if self.sparse:
            self._rows = scipy.sparse.csr_matrix(X)
            self._columns = self._rows.T.tocsr()

    def gram(self):
        """Y_v'Y_v or Y_vY_v' anew from the inferred rows, O(m d min(n, d))."""
        if self.narrow:
            return self._gram + self.E.T @ self.E
        G, inferred = self._gram.copy(), self.times(self.E)
        G[self.missing] = inferred.T
        G[:, self.missing] = inferred
        return G

    def prepare_T(self, b):
        """For `update_T`: b and the inverse of Y_v'Y_v + I / b or Y_vY_v' + I / b.

        Since b <= 1 an inverse costs no digits, and a product with it can run beside
        others, which SciPy's triangular solutions cannot.
        """
        G, self.b = self.gram(), b
        G[np.diag_indices_from(G)] += 1 / b
        self.inverse = spd_inverse(G)

    def prepare_E(self, Z, ridge):
        """For `update_E`: -R_v, and how to solve with R_v R_v' + 2 ridge I."""
        if self.missing.size:
            self.R = Z[self.missing]
            self.R[np.arange(self.missing.size), self.missing] -= 1
            G = self.R @ self.R.T
            G[np.diag_indices_from(G)] += 2 * ridge
            self.solve = _positive_solver(G)

    def times(self, W):
        """Y_v W'."""
        if not self.sparse:
            return self.Y @ W.T
        product = self._rows @ np.ascontiguousarray(W.T)
        product[self.missing] = self.E @ W.T
        return product

    def under(self, M):
        """M'Y_v."""
        if not self.sparse:
            return M.T @ self.Y
        return (self._columns @ M).T + M[self.missing].T @ self.E

    def under_observed(self, M, features):
        """M'X_v, of some features."""
        if not self.sparse:
            return M[self.seen].T @ self.X[self.seen, features]
        return np.ascontiguousarray((self._columns[features] @ M).T)


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


def update_T(Q, view, s):
    """Columns ``s`` of T_v, of which the simplex makes Z_v, into those of ``Q``.

    T_v = (a I + mu Y_v Y_v')^-1 (Q_v + mu Y_v W_v') with W_v = Y_v - B_v + C_v; ``Q``
    holds Q_v / a, and b = mu / a. By the cheaper of Y_v'Y_v and Y_v Y_v'. Nothing on
    the diagonal is free. O(n^2 d) for all columns, or O(n^3) where a view has about as
    many features as samples.
    """
    W = view.Y[s] + view.D[s]
    if view.narrow:
        # Woodbury, and (I + b YY')^-1 Y = Y (I + b Y'Y)^-1 for the second term.
        W -= view.under(Q[:, s])
        Q[:, s] += view.times(W @ view.inverse)
    else:
        Q[:, s] = view.inverse @ (Q[:, s] / view.b + view.times(W))
    own = np.arange(s.start, s.stop)
    Q[own, own] = -np.inf


def update_E(Z, view, f):
    """E_v = (2 lambda1 / mu I + R_v R_v')^-1 R_v (Z_v'X_v - X_v + B_v - C_v).

    Features ``f`` of it, into E_v and Y_v; returns those of K_v = Y_v - Z_v'Y_v.
    O(n^2 d + m n d + m^2 n) for m missing and all features.
    """
    K = view.X[:, f] - view.under_observed(Z, f)
    if view.missing.size:
        E = view.solve(view.R @ (view.D[:, f] + K))
        view.E[:, f] = view.Y[view.missing, f] = E
        K -= view.R.T @ E
    return K


def update_BC(K, view, f, lambda2, mu, growth):
    """B_v = soft(K_v + C_v, lambda2 / mu), and C_v = K_v + C_v - B_v for the next mu.

    For the features ``f``. The new C_v is K_v + C_v clipped, so that B_v need not
    exist. Overwrites ``K``; returns the largest entry of K_v - B_v, by which C_v has
    changed.
    """
    B, limit = np.add(K, view.C[:, f], out=K), lambda2 / mu
    C = np.clip(B, -limit, limit)
    B -= C
    worst = largest_difference(C, view.C[:, f])
    C /= growth
    view.C[:, f] = C
    np.subtract(C, B, out=view.D[:, f])
    return worst


def initial_graphs(X, views, k):
    """Binary k-nearest-neighbour graphs of the observed samples, (l, n, n)."""
    n = views.n_samples
    Z = np.zeros((len(X), n, n))
    for v, X_v in enumerate(X):
        rows = views.rows(v)
        Z[v] = embed_graph(knn_graph(X_v[rows], k), rows, n).toarray()
    return Z


def _positive_solver(G):
    """rhs -> G^-1 rhs by Cholesky; the least-squares solution where G is singular."""
    try:
        factor = scipy.linalg.cho_factor(G, check_finite=False)
    except scipy.linalg.LinAlgError:
        return lambda rhs: scipy.linalg.lstsq(G, rhs, check_finite=False)[0]
    return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)


def largest_difference(a, b):
    D = a - b
    return float(max(D.max(), -D.min()))
