"""RISE: rotation-invariant spectral embedding from incomplete bipartite graphs.

X. Wang, Y. Zhang, Y. Zhou, "Highly Efficient Rotation-Invariant Spectral Embedding for
Scalable Incomplete Multi-View Clustering", AAAI 2025, 39(20):21312-21320,
doi:10.48550/arXiv.2501.11898. Specification: docs/methods/rise.md.

    z_q = (d_{k+1} - d_q) / (k d_{k+1} - sum_j d_j), q <= k nearest anchors: Eq. (2)
    F_v = leading left singular vectors of B_v = Z_v D_v^{-1/2}             Eq. (3)
    min  sum_v ||YY' - Q_v F_v F_v' Q_v'||^2 - beta sum_v tr(F_v' B_v B_v' F_v)
    s.t. Y'Y = I, F_v'F_v = I                                               Eq. (6)

    Q_v   selects the samples of view v    B_v   normalised bipartite graph (n_v x m_v)
    Y     consensus embedding (n x d)      F_v   embedding of view v (n_v x d)
    Z_v   weights z of view v (n_v x m_v)  p     a missing pattern (set of views)

No step of Algorithm 1 touches a sample. In every iteration the rows of a pattern p are
Y_p = B_p C_p with B_p = [B_v : v in p], and F_v = Y_v P_v + B_v U_v; so the paper's
steps act on C_p, P_v, U_v and the Gram matrices G_p = B_p'B_p. Below, H_p = G_p C_p.
"""

from functools import partial
from typing import Literal

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._patterns import PatternMap, inverse_sqrt, leading_eigh
from imvc.methods import anchor_model
from imvc.methods._base import check_at_most
from imvc.methods._parameters import AtLeastTwo, Count, NonNegative, Positive, estimator
from imvc.methods.rise import ablations, full_graph
from imvc.methods.rise.consensus import ConsensusMixin
from imvc.scale import AnchorGraphs, embed_rows


@estimator
class RISE(ConsensusMixin, ablations.Ablations, anchor_model.AnchorClusterer):
    """Rotation-invariant spectral embedding (RISE) of incomplete views.

    Per view, samples are joined to a few anchors; the consensus embedding Y and the
    embeddings of the views are found together, so that their Gram matrices (not
    their coordinates) agree; k-means on Y gives the clusters.

    Parameters
    ----------
    n_anchors : int, optional
        Anchors per view; by default 4 for each cluster, 2 where these have fewer than
        50 samples on average, and at least 100; always fewer than the view's samples.
    n_neighbors : int, default=5
        Anchors that a sample is joined to.
    embedding_dim : int, optional
        Columns of Y; by default ``n_clusters``.
    beta : float, default=100.0
        Weight of the views' own spectra against the consensus.
    scale : {"unit", "standard"} or None
        Rows to length one, columns to deviation one, or features as they are.
    row_normalize : bool, default=True
        Scale the rows of Y to length one on the way to k-means. The row norm of Y
        grows with the number of observed views; False is the paper's reading.
    tol : float, default=1e-6
        Stop when the relative changes of objective and consensus subspace fall below.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, embedding_dim)
        Y, with orthonormal columns.
    objective_ : ndarray of shape (n_iter_,)
        Eq. (6) after every iteration.
    anchors_ : list of ndarray
        Anchors per view, in the scaled feature space.

    References
    ----------
    X. Wang, Y. Zhang, Y. Zhou, AAAI 2025, doi:10.48550/arXiv.2501.11898.

    Examples
    --------
    >>> from imvc import RISE
    >>> from imvc.datasets import make_views
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = RISE(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (200, 3)
    >>> model.predict([data.Xs[0][:2], None, None]).shape
    (2,)
    """

    n_anchors: AtLeastTwo | None = None
    n_neighbors: Count = 5
    embedding_dim: Count | None = None
    beta: Positive = 100.0
    scale: Literal["unit", "standard"] | None = "unit"
    row_normalize: bool = True
    n_init: Count = 10
    max_iter: Count = 100
    tol: NonNegative = 1e-6

    @property
    def _dim(self):
        return self.embedding_dim or self.n_clusters

    def _n_anchors(self, runner):
        n, c = runner.n_samples, self.n_clusters
        return self.n_anchors or anchor_model.default_anchors(n, c)

    def _check_against(self, runner):
        super()._check_against(runner)
        n = runner.n_samples
        check_at_most("embedding_dim", self._dim, n, "the number of samples")
        if isinstance(self.anchors, str):
            anchor_model.check_neighbors(self.n_neighbors, self._n_anchors(runner))
        if runner.views is None or self.learn_sample:
            ablations.refuse_unbounded(self, runner)

    def _learn_blocks(self, runner, seeds):
        if self.graph == "full":
            return full_graph.fit_full_graph(self, runner, seeds)
        with self._stage("anchors"):
            choose = partial(self._choose_anchors, runner, seeds[0])
            self.anchors_, deviations = runner.resume("anchors", choose)
            self._graphs = self._join_to(self.anchors_, deviations)  # Eq. (2)
        steps = self._graphs, self._solve, self._cluster
        return anchor_model.fit(self, runner, seeds, *steps)

    def _choose_anchors(self, runner, seed):
        if self.anchors != "kmeans" or self.scale == "standard":
            return ablations.choose_anchors(self, runner, seed)
        deviations = [None] * runner.n_views
        rule = self._n_anchors(runner), self.anchor_sample, self.scale, deviations
        return anchor_model.choose_anchors(runner, seed, *rule), deviations

    def _join_to(self, anchors, deviations):
        rule = self.scale, self.n_neighbors, self.metric == "sqeuclidean"
        return AnchorGraphs(anchors, deviations, *rule)

    def _solve(self, runner, samples):
        """Algorithm 1 on the statistics of the samples; Y as a function of Z."""
        V, d = runner.n_views, self._dim
        m = sum(self._graphs.sizes), "the total number of anchors"
        check_at_most("embedding_dim", d, *m, "lower it or raise n_anchors")
        if self.init == "identity" and self.completion != "first-order-two-stage":
            samples = ablations.add_identity_start(self, runner, samples, d)
        grams, scales = samples.statistics.grams.normalized(V)  # of B_v, Eq. (3)
        with self._stage("solve"):
            solver = ablations.SOLVERS.get(self.completion, solve)
            rule = self.beta, self.max_iter, self.tol, self._report
            found, history, converged, rank = solver(grams, V, d, *rule)
        self._record(history, converged)
        found = found.scaled(scales)
        self._consensus = found.of_views(V)
        embed = partial(embed_rows, sizes=grams.sizes, coefficients=found, d=d)
        return anchor_model.Embedding(embed, d, samples.rows, rank)

    def _cluster(self, runner, Y, seed):
        """k-means on the rows of Y, of which only the directions carry the cluster."""
        Y = Y.then(unit_rows) if self.row_normalize else Y
        c, n_init = self.n_clusters, self.n_init
        self.cluster_centers_ = anchor_model.find_centers(runner, Y, c, n_init, seed)

    def _place(self):
        rule = {"centers": self.cluster_centers_, "normalize": self.row_normalize}
        return partial(anchor_model.nearest_center, **rule)


def solve(grams, n_views, d, beta, max_iter, tol, report):
    """Algorithm 1: alternate Y and the F_v until objective and subspace stand still.

    Where ``grams`` has one size more than ``n_views``, its last columns are a given
    first Y. Returns the PatternMap of Y, all objectives, converged or not, the rank.
    """
    views, given = range(n_views), len(grams.sizes) > n_views
    BB = [grams.cross(v, v) for v in views]
    C, P, U = start(grams, n_views, d)
    H = {p: grams.apply(p, C[p]) for p in grams.patterns}
    R, J = [np.zeros((d, d))] * n_views, [np.zeros_like(U_v) for U_v in U]
    history, rank, converged = [], d, False
    for iteration in range(1, max_iter + 1):
        change = 1.0
        if iteration > 1 or not given:
            C_old = C
            C, R, J, rank = update_Y(C, H, P, U, grams, d)
            H = {p: grams.apply(p, C[p]) for p in grams.patterns}
            turned = sum(C_old[p].T @ H[p] for p in grams.patterns)
            change = 1 - np.square(turned).sum() / max(rank, 1)
        P, U, gains = zip(*[update_F(C, H, grams, BB[v], v, beta, d) for v in views])
        history.append(objective(gains, d))
        report(iteration, history[-1])
        if iteration > 1:
            step = abs(history[-2] - history[-1])
            converged = change <= tol and step <= tol * abs(history[-1])
        if converged:
            break
    return PatternMap(C, R, J), history, converged, rank


def start(grams, n_views, d):
    """F_v = d leading left singular vectors of B_v, Eq. (3); the last columns as Y."""
    C = {p: np.zeros((sum(grams.sizes[v] for v in p), d)) for p in grams.patterns}
    for C_p in C.values():
        C_p[-d:] = np.eye(d) if len(grams.sizes) > n_views else 0
    spectra = [leading_eigh(grams.cross(v, v), d) for v in range(n_views)]
    U = [Q * inverse_sqrt(values) for values, Q in spectra]
    return C, [np.zeros((d, d))] * n_views, U


def update_Y(C, H, P, U, grams, d):
    """Eq. (11): Y = d leading left singular vectors of [Q_1 F_1 ... Q_V F_V].

    Their Gram matrix T has blocks F_u'F_v over shared samples, with
    F_v = Y_v P_v + B_v U_v. Returns C_p, then R and J of Y <- Y R_v + B_v J_v summed
    over views, and the rank.
    """
    views, T = range(len(P)), np.zeros((len(P), d, len(P), d))
    for p in grams.patterns:
        seen = [v for v in p if v in views]
        P_p = np.hstack([P[v] for v in seen])
        BU = np.hstack([H[p][grams.part(p, v)].T @ U[v] for v in seen])
        half = P_p.T @ (C[p].T @ (H[p] @ P_p) / 2 + BU)
        at = np.ix_(seen, range(d), seen, range(d))
        T[at] += (half + half.T).reshape(len(seen), d, len(seen), d)
    for u in views:
        for v in views:
            T[u, :, v] += U[u].T @ grams.cross(u, v) @ U[v]
    values, Q = leading_eigh(T.reshape(len(P) * d, len(P) * d), d)
    N = (Q * inverse_sqrt(values)).reshape(len(P), d, d)
    R, J = [P[v] @ N[v] for v in views], [U[v] @ N[v] for v in views]
    C_new = {}
    for p in grams.patterns:
        C_new[p] = C[p] @ sum(R[v] for v in p if v in views)
        for v in set(p) & set(views):
            C_new[p][grams.part(p, v)] += J[v]
    return C_new, R, J, int(np.count_nonzero(values))


def update_F(C, H, grams, BB, v, beta, d):
    """Eq. (7): F_v = d leading left singular vectors of [sqrt(2) Y_v, sqrt(beta) B_v].

    Returns P_v, U_v with F_v = Y_v P_v + B_v U_v, and tr F_v'(2 Y_vY_v' + beta BB')F_v.
    """
    groups = [p for p in grams.patterns if v in p]
    YY = sum(C[p].T @ H[p] for p in groups)
    BY = np.sqrt(2 * beta) * sum(H[p][grams.part(p, v)] for p in groups)
    values, Q = leading_eigh(np.block([[2 * YY, BY.T], [BY, beta * BB]]), d)
    W = Q * inverse_sqrt(values)
    return np.sqrt(2) * W[:d], np.sqrt(beta) * W[d:], values.sum()


def objective(gains, d):
    """Eq. (6) from tr F_v'(2 Y_vY_v' + beta B_vB_v')F_v of all views."""
    return 2 * d * len(gains) - sum(gains)
