"""HCLS-CGL: a consensus graph fitted to the confident local structure of every view.

J. Wen, C. Liu, G. Xu, Z. Wu, C. Huang, L. Fei, Y. Xu, "Highly Confident Local Structure
Based Consensus Graph Learning for Incomplete Multi-View Clustering", CVPR 2023,
15712-15721. Specification: docs/methods/hcls_cgl.md.

    min  sum_v alpha_v^r ||(S - A_v) * H_v||^2 + l1 ||S||^2 + l2 tr(F' Lap((S+S')/2) F)
    s.t. S >= 0, S'1 = 1, S_ii = 0, F'F = I, alpha >= 0, sum_v alpha_v = 1

    S    consensus graph (n x n), simplex columns   A_v  heat-kernel graph of view v
    F    spectral embedding of S (n x c)            H_v  shares of common neighbours
    alpha  view weights, exponent r                 l1, l2  ridge, spectral_weight
    E    squared distances between the rows of F    *    entry by entry

H_v is 0 for all but a few pairs of samples, so A_v and H_v are kept on the pairs where
some H_v is positive, and S as a sparse matrix: dense blocks of S exist one at a time.
A_v, H_v and E are symmetric, so the code finds S' row by row.
"""

import warnings
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import block_slices, squared_distances
from imvc.kernels._laplacian import (
    embed_graph,
    graph_spectrum,
    knn_graph,
    mean_distance,
)
from imvc.kernels._simplex import inverse_power_weights, project_simplex
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._cost import check_memory
from imvc.methods._parameters import (
    AboveOne,
    Count,
    NonNegative,
    Positive,
    estimator,
)

_NULL_TOL = 1e-6  # eigenvalues up to here count as the null space, as in the release
_MIN_ITER = 4  # before this the release does not stop


@estimator
class HCLSCGL(EmbeddingClusterer):
    """Consensus graph learning from highly confident local structure (HCLS-CGL).

    Every view gives a nearest-neighbour graph of its observed samples and, for every
    pair of them, a confidence: how many neighbours the two share. One graph of all
    samples is fitted to the views' graphs where they are confident, and is pulled
    towards `n_clusters` connected parts; its spectral embedding is clustered.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours in the graphs A_v of the views (k1).
    n_confidence_neighbors : int, default=5
        Neighbours that the confidences H_v count (k2).
    ridge : float, default=1e-4
        Weight of ||S||^2 (l1). Pairs without confidence enter through the ratio
        ``spectral_weight / ridge`` only.
    spectral_weight : float, default=1e-3
        Weight of the spectral term (l2), which pulls S apart into clusters.
    weight_exponent : float, default=2.0
        Exponent r > 1 of the view weights; near 1 one view takes all, large values
        make them equal.
    projection : {"euclidean", "exact"}
        How S is found: project its unconstrained minimiser on the simplex, as the
        authors' program does, or minimise exactly under the constraint.
    tol : float, default=1e-6
        Stop when the objective changes by less (absolute), after four iterations.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        F, with orthonormal columns; its rows are scaled to length one for k-means.
    graph_ : csr_matrix of shape (n_samples, n_samples)
        S; its columns sum to one.
    view_weights_ : ndarray of shape (n_views,)
        alpha.
    objective_ : ndarray of shape (n_iter_,)

    References
    ----------
    J. Wen, C. Liu, G. Xu, Z. Wu, C. Huang, L. Fei, Y. Xu, "Highly Confident Local
    Structure Based Consensus Graph Learning for Incomplete Multi-View Clustering",
    IEEE/CVF CVPR 2023, 15712-15721.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import HCLSCGL
    >>> data = make_views(n_samples=120, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = HCLSCGL(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (120, 3)
    """

    _row_normalize = True
    n_neighbors: Count = 5
    n_confidence_neighbors: Count = 5
    ridge: Positive = 1e-4
    spectral_weight: NonNegative = 1e-3
    weight_exponent: AboveOne = 2.0
    projection: Literal["euclidean", "exact"] = "euclidean"
    max_iter: Count = 100
    tol: NonNegative = 1e-6

    def _embed(self, views, rng):
        n = views.n_samples
        # Where S or its factors are not sparse: the Laplacian and LAPACK's copies.
        check_memory(3 * 8 * n**2, f"HCLS-CGL on {n} samples")
        with self._stage("graphs"):
            graphs = confident_graphs(
                views, self.n_neighbors, self.n_confidence_neighbors, rng
            )
        rule = self.ridge, self.spectral_weight, self.weight_exponent
        exact = self.projection == "exact"
        with self._stage("solve"), self._iterations() as steps:
            self.graph_, F, self.view_weights_ = solve(
                graphs, self.n_clusters, *rule, steps, exact=exact
            )
        warn_of_parts(self.graph_, self.n_clusters)
        return F.astype(views.dtype, copy=False)

    def _give_back_samples(self, order, place):
        super()._give_back_samples(order, place)
        self.graph_ = self.graph_[place][:, place]


class Graphs(NamedTuple):
    """A_v and H_v * H_v on the pairs (i, j) where some view is confident.

    ``indptr`` and ``indices`` list the pairs as a CSR matrix does; A and HH hold their
    values, (n_views, n_pairs). W is the sum of the A_v, all of it, sparse (n, n).
    """

    indptr: np.ndarray
    indices: np.ndarray
    A: np.ndarray
    HH: np.ndarray
    W: sp.csr_matrix


def confident_graphs(views, k1, k2, rng):
    """A_v: heat-kernel graph of k1 neighbours; H_v = C / max(C), C = (B_v + I)^2.

    B_v is the 0/1 graph of k2 neighbours. Rows have length one before, and missing
    samples have empty rows after. O(n^2 p) time, O(n k^2 V) memory.
    """
    n, A, H = views.n_samples, [], []
    for v in range(views.n_views):
        X_v, rows = unit_rows(views.observed(v).astype(np.float64)), views.rows(v)
        A_v = knn_graph(X_v, k1, bandwidth=mean_distance(X_v, rng))
        B_v = knn_graph(X_v, k2) + sp.identity(len(rows), format="csr")
        C_v = B_v @ B_v
        A.append(embed_graph(A_v, rows, n))
        H.append(embed_graph(C_v / C_v.max(), rows, n))
    pairs = sp.csr_matrix(sum(H))
    pairs.sort_indices()
    return Graphs(
        pairs.indptr,
        pairs.indices,
        np.stack([values_on(pairs, A_v) for A_v in A]),
        np.square(np.stack([values_on(pairs, H_v) for H_v in H])),
        sp.csr_matrix(sum(A)),
    )


def values_on(pairs, W):
    """Entries of a sparse ``W`` at the stored entries of ``pairs``; O(nnz log nnz)."""
    keys, sought = entry_numbers(pairs), entry_numbers(W)
    at = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    found = keys[at] == sought
    values = np.zeros(len(keys))
    values[at[found]] = W.tocoo().data[found]
    return values


def entry_numbers(W):
    """``i n + j`` of the stored entries (i, j) of a sparse ``W``."""
    W = W.tocoo()
    return W.row.astype(np.int64) * W.shape[1] + W.col


def solve(graphs, c, l1, l2, r, steps, *, exact=False, F=None):
    """Alternate S, F and alpha, from ``F`` or from the spectrum of the views' graphs.

    Returns the three. The first S-step gives every view weight one.
    """
    F = initial_F(graphs.W, c) if F is None else F
    # A view with a single sample fits anything, and would take all the weight.
    informative = graphs.A.any(axis=1) | ~graphs.A.any()
    alpha = np.ones(len(graphs.A))
    for _ in steps:
        St, S_pairs = update_S(graphs, alpha**r, F, l1, l2, exact)
        F, eigenvalues = update_F(St, c)
        e = view_errors(graphs, S_pairs)
        alpha = update_alpha(e, r, informative)
        steps.add(objective(St, alpha, e, eigenvalues, l1, l2, r))
        steps.converged = steps.stands_still(steps.tol, at_least=_MIN_ITER)
    return St.T.tocsr(), F, alpha


def initial_F(W, c):
    """F: eigenvectors of Lap(sum_v A_v) of the c smallest eigenvalues above 1e-6.

    Where there are not more than c such, those of the c smallest. Every connected
    part adds one to the null space, so that many pairs more than c are asked for.
    """
    n = W.shape[0]
    sought = c + connected_components(W, directed=False)[0]
    while True:
        values, vectors = graph_spectrum(W, min(sought, n))
        null = np.count_nonzero(values <= _NULL_TOL)
        if sought >= n or null + c <= sought:
            break
        sought = null + 2 * c
    first = null if n - null > c else 0
    return vectors[:, first : first + c]


def update_S(graphs, weights, F, l1, l2, exact=False):
    """S: columns of (Num - l2/4 E) / (Den + l1) projected on the simplex, S_ii = 0.

    Num = sum_v weights_v A_v H_v^2 and Den = sum_v weights_v H_v^2. ``exact`` measures
    the projection with Den + l1, which makes it the constrained minimiser. Returns S'
    (CSR) and its values on the pairs. O(n^2 c) time, one block of rows of memory.
    """
    n = len(F)
    Num, Den = weights @ (graphs.A * graphs.HH), weights @ graphs.HH
    blocks, S_pairs = [], np.empty(len(Num))
    for rows in block_slices(n, n, entries=1 << 18):
        ends = graphs.indptr[rows.start : rows.stop + 1]
        near = slice(ends[0], ends[-1])
        i, j = np.repeat(np.arange(len(ends) - 1), np.diff(ends)), graphs.indices[near]
        T = squared_distances(F[rows], F) * (-l2 / 4)
        on_pairs = (T[i, j] + Num[near]) / (Den[near] + l1)
        T /= l1
        T[i, j] = on_pairs
        T[np.arange(len(T)), np.arange(rows.start, rows.stop)] = -np.inf
        scale = None
        if exact:
            scale = np.full(T.shape, float(l1))
            scale[i, j] += Den[near]
        T = project_simplex(T, weights=scale)
        S_pairs[near] = T[i, j]
        blocks.append(sp.csr_matrix(T))
    return sp.vstack(blocks, format="csr"), S_pairs


def update_F(St, c):
    """F: eigenvectors of the c smallest eigenvalues of Lap((S + S')/2), and these."""
    eigenvalues, F = graph_spectrum((St + St.T) / 2, c)
    return F, eigenvalues


def view_errors(graphs, S_pairs):
    """e_v = ||(S - A_v) * H_v||^2, from the pairs with confidence only."""
    return np.einsum("vp,vp->v", np.square(S_pairs - graphs.A), graphs.HH)


def update_alpha(e, r, informative):
    """alpha_v = e_v^{1/(1-r)} / sum_u e_u^{1/(1-r)}, over the informative views."""
    alpha = np.zeros(len(e))
    alpha[informative] = inverse_power_weights(e[informative], 1 / (r - 1))
    return alpha


def objective(St, alpha, e, eigenvalues, l1, l2, r):
    """sum_v alpha_v^r e_v + l1 ||S||^2 + l2 tr(F' Lap F), the trace from its spectrum.

    It falls with the exact S-step; the released one may raise it.
    """
    ridge = l1 * np.square(St.data).sum()
    return float(alpha**r @ e + ridge + l2 * eigenvalues.sum())


def warn_of_parts(S, c):
    """Warn where S has more connected parts than clusters: F is then arbitrary."""
    parts = connected_components(S, directed=False)[0]
    if parts > c:
        warnings.warn(
            f"the consensus graph fell into {parts} parts, more than n_clusters={c}, "
            "so that the embedding is not unique; raise n_neighbors and "
            "n_confidence_neighbors, or spectral_weight / ridge (--set NAME=VALUE).",
            stacklevel=2,
        )
