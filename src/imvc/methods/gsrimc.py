"""GSRIMC: complete the views' graphs, and split their stack into low rank and error.

X.-L. Li, M.-S. Chen, C.-D. Wang, J.-H. Lai, "Refining Graph Structure for Incomplete
Multi-View Clustering", IEEE Transactions on Neural Networks and Learning Systems
35(2):2300-2313, 2024. Specification: docs/methods/gsrimc.md.

    min  4 ||Z||_T + l1 ||E||_{2,1} + l2 sum_v ||S_v[seen, seen] - B_v||^2
         + l3 sum_v ||Z_v - Q_v||^2          s.t. S = Z + E, S_v >= 0, S_v 1 = 1

    B_v  graph of the samples seen in view v      S  completed graphs (V x n x n)
    Z    low-rank part of S                       E  error, sparse by tubes E[:, i, j]
    Q_v  mean of the other views' Z_u             T  Z + E - A, what S comes from
    A    multipliers of S = Z + E, divided by mu  G  what Z comes from
    mu   penalty of S = Z + E, grows              R  residual S - Z - E
    l1, l2, l3  error_weight, fidelity, coupling
    ||Z||_T  tensor nuclear norm: mean over the frequencies, along the row index, of
             the nuclear norms of the V x n slices

Solved by ADMM. All steps but Z act on rows of the graphs, and run on blocks of rows
small enough to stay in the cache; the stacks are kept as (n, V, n) for that.
"""

import warnings
from typing import Literal

import numpy as np
import scipy.sparse

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import row_slices
from imvc.kernels._laplacian import (
    embed_graph,
    knn_graph,
    largest_eigenvectors,
    mean_distance,
    normalized_adjacency,
)
from imvc.kernels._simplex import project_simplex
from imvc.kernels._tensor import shrink_frequencies
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._cost import check_memory
from imvc.methods._parameters import Count, NonNegative, Positive, estimator
from imvc.scale import n_threads, threaded_map

_MU, _RHO, _MU_MAX = 2.0, 1.2, 1e10  # first penalty, its growth, its bound
_RANK_WEIGHT = 4.0  # of ||Z||_T; implied by the release, whose parameters assume it
_BLOCK = 1 << 17  # entries of a block of rows, a few of which stay in the cache
_STACKS = 5  # arrays of n_views * n^2 doubles that exist at once, measured
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
    repeat_last : bool, default=False
        For an odd number of samples, shrink the highest frequency twice as the
        authors' program does; only to reproduce its numbers.
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
        The residual ``max(|S - Z - E|, |Z - Z_previous|)``, which must vanish.

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
    repeat_last: bool = False
    shuffle: bool = True
    n_jobs: int | None = None
    n_init: Count = 50
    max_iter: Count = 120
    tol: NonNegative = 1e-6

    def _embed(self, views, rng):
        n = views.n_samples
        check_memory(8 * _STACKS * views.n_views * n**2, f"GSRIMC on {n} samples")
        with self._stage("graphs"):
            B = view_graphs(views, self.n_neighbors, rng)
        weights = self.error_weight or n**-0.5, self.fidelity, self.coupling
        rule = {"repeat_last": self.repeat_last, "workers": n_threads(self.n_jobs)}
        with (
            self._stage("solve"),
            self._iterations() as steps,
            threaded_map(self.n_jobs) as map,
        ):
            Z = solve(B, views.mask, weights, steps, map=map, **rule)
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


def solve(B, mask, weights, steps, *, repeat_last=False, map=map, workers=1):
    """ADMM from S = Z = E = A = 0 with the weights l1, l2, l3; returns Z (V, n, n).

    One walk over the blocks of rows ends an iteration (E, A) and begins the next one (S
    and the target of Z), since memory is slower than arithmetic: every stack is read
    and written once, and E only exists as its few tubes that are not 0.
    """
    (n, n_views), (l1, l2, l3) = mask.shape, weights
    l3 = l3 if n_views > 1 else 0.0  # one view has no others to be pulled to
    # A row of all views is one piece; an even width can be transformed in place.
    Z, G = np.zeros((2, n, n_views, n + n % 2))
    S, A = np.zeros((2, n, n_views, n))
    thetas = np.full((n, n_views), np.nan)
    blocks = row_slices(n, max(1, _BLOCK // (n_views * n)))
    parts = list(
        zip(blocks, edges_of_rows(B, blocks), [(mask[b], mask) for b in blocks])
    )
    mu = _MU
    for b, edges, seen in parts:
        zero = np.zeros_like(S[b])
        update_S(zero, edges, seen, mu, l2, near=thetas[b], out=S[b])
        G[b, :, :n] = S[b]

    def update_rows(part):
        b, edges, seen = part
        Z_b, G_b, S_b, A_b = Z[b, :, :n], G[b, :, :n], S[b], A[b]
        change = largest_entry(Z_b - G_b)  # where the old Z is still
        R = S_b - Z_b
        tubes, E = update_E(R + A_b, l1 / mu)
        R.ravel()[tubes] -= E
        gap = max(change, largest_entry(R))
        A_b += R
        A_b *= mu / grown
        T = np.subtract(Z_b, A_b, out=R)
        T.ravel()[tubes] += E
        update_S(T, edges, seen, grown, l2, near=thetas[b], out=S_b)
        X = np.add(S_b, A_b, out=T)
        X.ravel()[tubes] -= E
        target_of_Z(X, Z_b, grown, l3, out=G_b)
        return gap

    rule = {"repeat_last": repeat_last, "map": map, "workers": workers}
    for _ in steps:
        # A row of the old Z makes room for one of G when it is no longer needed.
        Z, G = update_Z(G, mu, l3, **rule), Z
        grown = min(_RHO * mu, _MU_MAX)
        gap = max(map(update_rows, parts))
        mu = grown
        steps.add(gap)
        steps.converged = gap < steps.tol
    return Z[..., :n].transpose(1, 0, 2)


def edges_of_rows(B, blocks):
    """Places in flat blocks of rows (rows, V, n), and weights, of all views' edges."""
    B = scipy.sparse.hstack(B, format="csr")  # a row of all views is one piece
    (n, width), ends = B.shape, B.indptr
    flat = np.repeat(np.arange(n) * width, np.diff(ends)) + B.indices
    return [
        (flat[i:j] - b.start * width, B.data[i:j])
        for b, i, j in ((b, ends[b.start], ends[b.stop]) for b in blocks)
    ]


def update_S(T, edges, seen, mu, l2, *, near, out):
    """S_v into ``out``: rows of T mixed with B_v where seen, put on the simplex.

    Where i and j are seen in view v, T becomes (mu T + 2 l2 B_v) / (mu + 2 l2). All are
    blocks of rows; ``seen`` is the mask of these rows, and of all samples. ``near`` has
    the thresholds of the last projection. Overwrites ``T``.
    """
    share = 2 * l2 / (mu + 2 * l2)
    rows, columns = seen
    unseen = T[~rows]
    T *= 1 - share * columns.T
    T[~rows] = unseen
    places, weights = edges
    T.ravel()[places] += share * weights
    project_simplex(T, near=near, out=out)


def target_of_Z(X, Z, mu, l3, *, out):
    """G into ``out``: X + 2 l3 / mu Q for X = S - E + A, with Q_v the mean of other Z.

    The small products of all rows are one call, and nearly as fast as a copy.
    """
    n_views = Z.shape[1]
    share = 2 * l3 / mu / max(n_views - 1, 1)
    np.matmul(share * (1 - np.eye(n_views)), Z, out=out)
    out += X


def update_Z(G, mu, l3, **rule):
    """Z: t-SVD shrinkage of mu G / (mu + 2 l3) by 4 / (mu + 2 l3), DFT along the rows.

    That is the shrinkage of G by 4 / mu, times mu / (mu + 2 l3).
    """
    return shrink_frequencies(
        G,
        _RANK_WEIGHT / mu,
        scale=mu / (mu + 2 * l3),
        overwrite=True,
        **rule,
    )


def update_E(D, tau):
    """Tubes of D = S - Z + A shortened by ``tau``: places in flat D, and values, not 0.

    Both are of shape (number of tubes, V).
    """
    _, n_views, n = D.shape
    squares = np.einsum("ivj,ivj->ij", D, D).ravel()
    longer = np.flatnonzero(squares > tau * tau)  # often few
    first = longer + longer // n * (n_views - 1) * n
    places = first[:, None] + n * np.arange(n_views)
    factors = 1 - tau / np.sqrt(squares[longer])
    return places, factors[:, None] * D.ravel()[places]


def largest_entry(X):
    """max |X|."""
    return float(max(X.max(), -X.min()))


def warn_of_collapse(eigenvalues):
    """Warn where the low-rank graph has no clusters left: everything went into E."""
    if len(eigenvalues) > 1 and eigenvalues[1:].min() < _COLLAPSED:
        warnings.warn(
            f"the refined graph has collapsed (eigenvalue {eigenvalues[1:].min():.1e} "
            "among those of the clusters), so that the labels mean little; raise "
            "error_weight (--set error_weight=...).",
            stacklevel=2,
        )
