"""DAIMC: doubly aligned incomplete multi-view clustering.

M. Hu, S. Chen, "Doubly Aligned Incomplete Multi-view Clustering", IJCAI 2018,
2262-2268, arXiv:1903.02785. Specification: docs/methods/daimc.md.

    min  sum_v |X_v - V_v U_v'|^2 + alpha sum_v (|B_v'U_v - I|^2 + beta |B_v|_{2,1})
    s.t. V >= 0

    X_v   unit rows of the samples seen in view v (n_v x d_v; the paper's transposed)
    V     shared embedding (n x c)           V_v   its rows seen in view v
    U_v   basis (d_v x c)                    B_v   regression on the basis (d_v x c)
    s_v   smoothed row norms of B_v          q     column sums of V
    N_v   X_v U_v                            G_v   U_v'U_v
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import block_slices
from imvc.kernels._factor import factor_residual, solve_low_rank_sylvester
from imvc.kernels._filled_kmeans import filled_kmeans
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._parameters import Count, NonNegative, Positive, estimator

_STARTS = 20  # k-means starts per view
_START_ROWS = 2_000  # samples, at least 20 a cluster, that these run on
_OFFSET = 0.1  # added to centres and indicators, so that nothing starts at zero
_RIDGE = 1e-5  # of the first B_v
_SMOOTH = 1e-10  # added to the squared row norms of B_v
_INNER = 30  # steps of V in one iteration
_INNER_TOL = 1e-4
_FLOOR = 1e-10  # of the denominators of V's update
_BLOCK_ENTRIES = 1 << 16  # rows x (views x clusters) of V's update that stay in cache


@estimator
class DAIMC(EmbeddingClusterer):
    """Doubly aligned incomplete multi-view clustering (DAIMC).

    A weighted semi-non-negative factorisation of all views with one shared embedding
    of the samples (the first alignment); the bases of the views are tied to each other
    by a row-sparse regression on the identity (the second). Missing samples have weight
    zero and nothing is imputed. Linear in the number of samples.

    Parameters
    ----------
    n_clusters : int
        Also the number of columns of the embedding.
    alpha : float, default=1e-4
        Weight of the alignment of the bases; 0 leaves the plain factorisation.
    beta : float, default=1e4
        Weight of the row sparsity inside the alignment.
    match_clusters : bool, default=False
        Number the k-means clusters of the views alike before the first embedding
        averages them. False, as in the authors' program, averages indicators whose
        numbers are arbitrary.
    row_normalize : bool, default=False
        Scale the rows of V to length one on the way to k-means: only their direction
        carries the cluster. False, as in the authors' program, lets a few long rows
        make clusters of their own.
    tol : float, default=1e-4
        Stop when the relative change of the objective falls below.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        V, non-negative; its columns sum to one.
    bases_ : list of ndarray, (n_features[v], n_clusters)
        U_v: the samples of a view are approximated by ``embedding_ @ bases_[v].T``.
    feature_weights_ : list of ndarray, (n_features[v],)
        Row norms of B_v: how much a feature takes part in the alignment.
    objective_ : ndarray of shape (n_iter_,)
        After every iteration. It may rise slightly, since scaling the columns of V to
        sum one changes the alignment.

    References
    ----------
    M. Hu, S. Chen, IJCAI 2018, 2262-2268, arXiv:1903.02785.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import DAIMC
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = DAIMC(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (200, 3)
    """

    alpha: NonNegative = 1e-4
    beta: Positive = 1e4
    match_clusters: bool = False
    row_normalize: bool = False
    max_iter: Count = 30
    tol: NonNegative = 1e-4

    _most_offset = 10  # from there on the mean row hides the others (measured)

    def _embed(self, views, rng):
        X = [unit_rows(views.observed(v)) for v in range(views.n_views)]
        with self._stage("start"):
            start = first_factors(
                X, views.mask, self.n_clusters, rng, match=self.match_clusters
            )
        with self._stage("solve"), self._iterations() as steps:
            factors = solve(X, views.mask, start, self.alpha, self.beta, steps)
        self.bases_ = [U_v.astype(views.dtype) for U_v in factors.U]
        self.feature_weights_ = [s_v.astype(views.dtype) for s_v in factors.s]
        return factors.V.astype(views.dtype)

    def _give_back_views(self, place):
        super()._give_back_views(place)
        self.bases_ = [self.bases_[j] for j in place]
        self.feature_weights_ = [self.feature_weights_[j] for j in place]


@dataclass(frozen=True)
class Factors:
    """V, and per view U_v, B_v and s_v."""

    U: list
    V: np.ndarray
    B: list

    @property
    def s(self):
        return [np.sqrt(np.square(B_v).sum(axis=1) + _SMOOTH) for B_v in self.B]


def solve(X, mask, start, alpha, beta, steps):
    """Alternate U, V and B from the Factors ``start`` until the objective stands still.

    ``X`` are unit rows (n_v, d_v) of the samples that ``mask`` (n, n_views) says are
    seen in each view. Returns Factors.
    """
    U, V, B = list(start.U), start.V, list(start.B)
    rows = [_rows(seen) for seen in mask.T]
    squares = [_squared_norm(X_v) for X_v in X]
    for _ in steps:
        U = [update_U(X_v, V[r], B_v, alpha) for X_v, r, B_v in zip(X, rows, B)]
        N = [_product(X_v, U_v) for X_v, U_v in zip(X, U)]
        V, q = unit_sums(update_V(V, N, [U_v.T @ U_v for U_v in U], mask, sum(squares)))
        U, N = [U_v * q for U_v in U], [N_v * q for N_v in N]
        s = Factors(U, V, B).s
        B = [update_B(U_v, s_v, beta) for U_v, s_v in zip(U, s)]
        factors = Factors(U, V, B)
        steps.add(objective(factors, N, rows, squares, alpha, beta))
        steps.converged = steps.stands_still()
    return factors


def first_factors(X, mask, c, rng, *, match=False):
    """k-means of every view, the missing samples at its mean; V averages the clusters.

    U_v = centres + 0.1, V = mean of the indicators + 0.1, columns scaled to sum one.
    With ``match``, the clusters of a view get the numbers under which they share most
    samples with the views before.
    """
    V, U = np.full((len(mask), c), _OFFSET * len(X)), []
    seen_before = np.zeros((len(mask), c))
    for X_v, seen in zip(X, mask.T):
        centers, labels, filled = filled_kmeans(
            X_v,
            len(mask) - X_v.shape[0],
            c,
            n_init=_STARTS,
            rng=rng,
            start_rows=_START_ROWS,
        )
        number = np.arange(c)
        if match:
            shared = [seen_before[seen][labels == j].sum(axis=0) for j in range(c)]
            number = linear_sum_assignment(np.array(shared), maximize=True)[1]
        everybody = np.full(len(mask), number[filled])
        everybody[seen] = number[labels]
        V[np.arange(len(mask)), everybody] += 1
        seen_before[np.flatnonzero(seen), number[labels]] += 1
        U.append(centers[np.argsort(number)] + _OFFSET)
    V, q = unit_sums(V / len(X))
    U = [U_v.T * q for U_v in U]
    return Factors(U, V, [first_B(U_v) for U_v in U])


def first_B(U_v):
    """Ridge regression of the identity: ``B_v = U_v (U_v'U_v + 1e-5 I)^-1``."""
    return _times_inverse(U_v, U_v.T @ U_v, _RIDGE)


def update_U(X_v, V_v, B_v, alpha):
    """The U_v with ``alpha B_v B_v' U_v + U_v V_v'V_v = X_v'V_v + alpha B_v``."""
    R = _product(X_v.T, V_v) + alpha * B_v
    return solve_low_rank_sylvester(B_v, V_v.T @ V_v, R, alpha)


def update_V(V, N, G, mask, squares):
    """Repeat ``V <- V sqrt((N^+ + V G^-) / (N^- + V G^+))``, summed over views seen.

    At most 30 times, or until ``f = sum_v |X_v - V_v U_v'|^2`` changes by less than
    1e-4 of itself. The rows of V do not depend on each other, so they go by blocks.
    """
    n, c = V.shape
    positive, negative = np.zeros((n, c)), np.zeros((n, c))
    for N_v, seen in zip(N, mask.T):
        positive[_rows(seen)] += np.maximum(N_v, 0)
        negative[_rows(seen)] += np.maximum(-N_v, 0)
    stacked = np.vstack(G)
    both = np.hstack([np.maximum(-stacked, 0), np.maximum(stacked, 0)])
    blocks = block_slices(n, len(stacked), _BLOCK_ENTRIES)
    weights, f_old = mask.astype(np.float64), 0.0
    for step in range(_INNER):
        new, f = np.empty_like(V), squares
        for b in blocks:
            # [m_1 V ... m_l V] times the stacked G_v sums over the views seen.
            seen = (weights[b, :, None] * V[b, None, :]).reshape(-1, len(stacked))
            VG = seen @ both
            up, down = positive[b] + VG[:, :c], negative[b] + VG[:, c:]
            f += np.vdot(V[b], down - up) - np.vdot(V[b], positive[b] - negative[b])
            new[b] = V[b] * np.sqrt(up / np.maximum(down, _FLOOR))
        # f is that of V, one step behind; the original never stops after its first.
        if step > 1 and abs(f - f_old) < _INNER_TOL * abs(f_old):
            return V
        V, f_old = new, f
    return V


def update_B(U_v, s_v, beta):
    """``B_v = M U_v (I + U_v' M U_v)^-1`` with ``M = (2 / beta) diag(s_v)``."""
    MU = (2 / beta) * s_v[:, None] * U_v
    return _times_inverse(MU, U_v.T @ MU, 1.0)


def objective(factors, N, rows, squares, alpha, beta):
    """The sum over views of ``|X_v - V_v U_v'|^2 + alpha (|B_v'U_v - I|^2 + beta s)``.

    ``s`` is the sum of the smoothed row norms of B_v.
    """
    total = 0.0
    for v, (U_v, B_v, s_v) in enumerate(zip(factors.U, factors.B, factors.s)):
        total += factor_residual(squares[v], N[v], U_v.T @ U_v, factors.V[rows[v]])
        apart = np.square(B_v.T @ U_v - np.eye(U_v.shape[1])).sum()
        total += alpha * (apart + beta * s_v.sum())
    return float(total)


def unit_sums(V):
    """V with columns of sum one, and the sums; a column that died out stays zero."""
    q = V.sum(axis=0)
    q[q == 0] = 1
    return V / q, q


def _times_inverse(A, S, shift):
    """``A (S + shift I)^-1`` for a positive semi-definite, maybe singular S."""
    values, Q = np.linalg.eigh(S)
    return (A @ Q / (np.maximum(values, 0) + shift)) @ Q.T


def _rows(seen):
    return slice(None) if seen.all() else np.flatnonzero(seen)


def _product(X, A):
    """``X A`` in float64, without a float64 copy of a float32 X."""
    return np.asarray(X @ A.astype(X.dtype, copy=False), np.float64)


def _squared_norm(X):
    values = X.data[:, None] if issparse(X) else X
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))
