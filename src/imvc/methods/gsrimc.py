"""GSRIMC: complete the views' graphs, and split their stack into low rank and error.

X.-L. Li, M.-S. Chen, C.-D. Wang, J.-H. Lai, "Refining Graph Structure for Incomplete
Multi-View Clustering", IEEE Transactions on Neural Networks and Learning Systems
35(2):2300-2313, 2024. Specification: docs/methods/gsrimc.md.

    min  4 ||Z||_T + l1 ||E||_{2,1} + l2 sum_v ||S_v[seen, seen] - B_v||^2
         + l3 sum_v ||Z_v - Q_v||^2          s.t. S = Z + E, S_v >= 0, S_v 1 = 1

    B_v  graph of the samples seen in view v      S  completed graphs (V x n x n)
    Z    low-rank part of S                       E  error, sparse by tubes E[:, i, j]
    Q_v  mean of the other views' Z_u             A  multipliers of S = Z + E
    mu   penalty of S = Z + E, grows
    l1, l2, l3  error_weight, fidelity, coupling
    ||Z||_T  tensor nuclear norm: mean over the frequencies, along the row index, of
             the nuclear norms of the V x n slices

Solved by ADMM. All steps but Z act on rows of the graphs, and run on blocks of rows
small enough to stay in the cache.
"""

import warnings
from typing import Literal

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import block_slices
from imvc.kernels._laplacian import (
    embed_graph,
    knn_graph,
    largest_eigenvectors,
    mean_distance,
    normalized_adjacency,
)
from imvc.kernels._simplex import project_simplex
from imvc.kernels._tensor import shrink_groups, shrink_tensor_svd
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._cost import check_memory
from imvc.methods._parameters import Count, NonNegative, Positive, estimator

_MU, _RHO, _MU_MAX = 2.0, 1.2, 1e10  # first penalty, its growth, its bound
_RANK_WEIGHT = 4.0  # of ||Z||_T; implied by the release, whose parameters assume it
_COLLAPSED = 1e-2  # eigenvalues of a healthy graph's clusters lie well above this


@estimator
class GSRIMC(EmbeddingClusterer):
    """Graph structure refining for incomplete multi-view clustering (GSRIMC).

    The nearest-neighbour graph of every view is completed to all samples, such that
    the stack of graphs is a low-rank tensor plus an error that is shared by few pairs
    of samples; spectral clustering on the mean of the low-rank graphs.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours in the graphs of the views.
    error_weight : float, optional
        Weight l1 of the error; by default ``1 / sqrt(n_samples)``. It decides
        everything: below about half of that the low-rank part collapses.
    fidelity : float, default=1.0
        Weight l2 of the views' graphs.
    coupling : float, default=0.1
        Weight l3 that pulls every view to the mean of the others.
    eigenvectors : {"algebraic", "magnitude"}
        Which eigenvalues of the refined graph count as largest. The authors' program
        takes the magnitude; the two agree unless the graph has collapsed.
    shuffle : bool, default=True
        Shuffle the samples first, with `random_state`. The low-rank step depends on
        their order, and samples sorted by class would be given away.
    tol : float, default=1e-6
        Stop when no entry of S - Z - E, or of the change of Z, is larger.
    callback : callable, optional
        Called as ``callback(iteration, residual)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Eigenvectors of the refined graph; rows are scaled to length one for k-means.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Theirs. Where one is near 0 the graph has collapsed, and a warning says so.
    objective_ : ndarray of shape (n_iter_,)
        The residual max(|S - Z - E|, |Z - Z_previous|), which must vanish.

    References
    ----------
    X.-L. Li, M.-S. Chen, C.-D. Wang, J.-H. Lai, "Refining Graph Structure for
    Incomplete Multi-View Clustering", IEEE Transactions on Neural Networks and
    Learning Systems 35(2):2300-2313, 2024.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import GSRIMC
    >>> data = make_views(n_samples=120, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = GSRIMC(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (120, 3)
    """

    _row_normalize = True
    n_neighbors: Count = 20
    error_weight: Positive | None = None
    fidelity: NonNegative = 1.0
    coupling: NonNegative = 0.1
    eigenvectors: Literal["algebraic", "magnitude"] = "algebraic"
    shuffle: bool = True
    n_init: Count = 50
    max_iter: Count = 120
    tol: NonNegative = 1e-6

    def _embed(self, views, rng):
        n = views.n_samples
        check_memory(8 * 8 * views.n_views * n**2, f"GSRIMC on {n} samples")
        with self._stage("graphs"):
            B = view_graphs(views, self.n_neighbors, rng)
        weights = self.error_weight or n**-0.5, self.fidelity, self.coupling
        with self._stage("solve"), self._iterations() as steps:
            Z = solve(B, views.mask, weights, steps)
        with self._stage("spectrum"):
            W, c = normalized_adjacency(Z.mean(axis=0)), self.n_clusters
            self.eigenvalues_, Y = largest_eigenvectors(W, c, by=self.eigenvectors)
        warn_of_collapse(self.eigenvalues_)
        return Y.astype(views.dtype, copy=False)


def view_graphs(views, k, rng):
    """B_v: heat-kernel graph of k neighbours, rows of length one before; sparse (n, n).

    Not normalised: its rows sum to far more than those of S_v, as in the release.
    """
    graphs = []
    for v in range(views.n_views):
        X_v = unit_rows(views.observed(v).astype(np.float64))
        B_v = knn_graph(X_v, k, bandwidth=mean_distance(X_v, rng))
        graphs.append(embed_graph(B_v, views.rows(v), views.n_samples))
    return graphs


def solve(B, mask, weights, steps, *, start=None, repeat_last=False):
    """ADMM from S = Z = E = A = 0, or from ``start = (Z, E, A)``, which it overwrites.

    ``weights`` are l1, l2, l3. ``repeat_last`` imitates a slip of the release for an
    odd number of samples (see `shrink_tensor_svd`). Returns Z.
    """
    (n, n_views), (l1, l2, l3) = mask.shape, weights
    Z, E, A = np.zeros((3, n_views, n, n)) if start is None else start
    S = np.empty_like(Z)
    l3 = l3 if n_views > 1 else 0.0  # one view has no others to be pulled to
    mu = _MU
    blocks = block_slices(n, n_views * n, entries=1 << 16)
    B = [[B_v[b].tocoo() for B_v in B] for b in blocks]
    for _ in steps:
        G = np.empty_like(Z)
        for b, B_b in zip(blocks, B):
            seen = mask[b], mask
            S[:, b] = update_S(Z[:, b], E[:, b], A[:, b], B_b, seen, mu, l2)
            G[:, b] = target_of_Z(S[:, b], Z[:, b], E[:, b], A[:, b], mu, l3)
        Z_old, Z = Z, update_Z(G, mu, l3, repeat_last)
        del G
        gap = 0.0
        for b in blocks:
            E[:, b] = update_E(S[:, b], Z[:, b], A[:, b], mu, l1)
            gap = max(gap, residual(S[:, b], Z[:, b], E[:, b], Z_old[:, b]))
            A[:, b] = update_A(S[:, b], Z[:, b], E[:, b], A[:, b], mu)
        steps.add(gap)
        steps.converged = gap < steps.tol
        mu = min(_RHO * mu, _MU_MAX)
    return Z


def update_S(Z, E, A, B, seen, mu, l2):
    """S_v: rows of T = Z + E - A/mu, mixed with B_v where seen, put on the simplex.

    Where i and j are seen in view v, T becomes (mu T + 2 l2 B_v) / (mu + 2 l2). All are
    blocks of rows, B_v as COO; ``seen`` is the mask of these rows, and of all samples.
    """
    T = A / -mu
    T += Z
    T += E
    share = 2 * l2 / (mu + 2 * l2)
    for T_v, B_v, rows, columns in zip(T, B, seen[0].T, seen[1].T):
        T_v *= np.where(rows[:, None], 1 - share * columns, 1.0)
        T_v[B_v.row, B_v.col] += share * B_v.data
    return project_simplex(T)


def target_of_Z(S, Z, E, A, mu, l3):
    """(mu (S - E) + A + 2 l3 Q) / (mu + 2 l3), Q_v the mean of the other views' Z."""
    G = S - E
    G *= mu
    G += A
    if l3 > 0:
        Q = Z.sum(axis=0) - Z
        Q *= 2 * l3 / (len(Z) - 1)
        G += Q
    G /= mu + 2 * l3
    return G


def update_Z(G, mu, l3, repeat_last=False):
    """Z: t-SVD shrinkage of the target by 4 / (mu + 2 l3), DFT along the row index."""
    tau = _RANK_WEIGHT / (mu + 2 * l3)
    return shrink_tensor_svd(G, tau, axis=1, repeat_last=repeat_last)


def update_E(S, Z, A, mu, l1):
    """E: tubes (all views of a pair) of S - Z + A/mu shortened by l1/mu."""
    return shrink_groups(S - Z + A / mu, l1 / mu, axis=0)


def update_A(S, Z, E, A, mu):
    """A + mu (S - Z - E)."""
    return A + mu * (S - Z - E)


def residual(S, Z, E, Z_old):
    """max(|S - Z - E|, |Z - Z_old|): what must vanish."""
    return float(max(np.abs(S - Z - E).max(), np.abs(Z - Z_old).max()))


def warn_of_collapse(eigenvalues):
    """Warn where the low-rank graph has no clusters left: everything went into E."""
    if len(eigenvalues) > 1 and eigenvalues[1:].min() < _COLLAPSED:
        warnings.warn(
            f"the refined graph has collapsed (eigenvalue {eigenvalues[1:].min():.1e} "
            "among those of the clusters), so that the labels mean little; raise "
            "error_weight (--set error_weight=...).",
            stacklevel=2,
        )
