"""OPIMC: one-pass incomplete multi-view clustering.

M. Hu, S. Chen, "One-Pass Incomplete Multi-view Clustering", AAAI 2019, 3838-3845,
doi:10.1609/aaai.v33i01.33013838. Specification: docs/methods/opimc.md.

    min  sum_v |W_v (X_v - V U_v)|^2 + alpha sum_v |U_v|^2
    s.t. every row of V has a single 1

    X_v   unit rows of the samples seen in view v (n_v x d_v; the paper's transposed)
    W_v   selects the samples seen in view v
    V     clusters of the samples (n x c), shared by the views
    U_v   centres of the clusters in view v (c x d_v)
    R_v   V'W_v X_v, T_v = V'W_v V of the chunks that have passed; no n in them
"""

from dataclasses import dataclass

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import row_slices, squared_distances
from imvc.kernels._factor import squared_norm
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._inductive import InductiveMixin
from imvc.methods._iterations import Iterations
from imvc.methods._model_schema import check_by_view
from imvc.methods._parameters import Count, NonNegative, Positive, estimator

_CHUNK, _CHUNK_PER_CLUSTER = 250, 20  # samples of a chunk, whichever is more


@estimator
class OPIMC(InductiveMixin, EmbeddingClusterer):
    """One-pass incomplete multi-view clustering (OPIMC).

    k-means with one set of labels and a set of centres per view, on the views that
    each sample has. The samples are read in chunks, once: a chunk is clustered
    together with two small sums that stand for all chunks before it. Linear in the
    number of samples.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the squared centres: a centre is the sum of its samples divided by
        their number plus alpha.
    chunk_size : int, optional
        Samples of a chunk; by default 250, or 20 for each cluster if that is more.
    n_passes : int, default=1
        How often the samples are read. From the second time on a chunk first leaves
        the sums, with the clusters that it had.
    relabel : bool, default=True
        Place all samples by the centres that the last chunk left behind. False, as in
        the authors' program, keeps the cluster that a sample got as its chunk passed.
    shuffle : bool, default=True
        Read the samples in random order, so that stored order carries nothing. False
        reads them as they stand: for samples that come as a stream.
    n_init : int, default=20
        Random starts of the first chunk, of which the one with the least objective
        goes on. The authors have 1.
    max_iter : int, default=30
        Iterations on a chunk.
    tol : float, default=1e-6
        A chunk is done when the relative change of the objective falls below, or no
        sample changes its cluster.
    callback : callable, optional
        Called after every chunk, as ``callback(chunk, objective)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Squared distances to the centres, means over the views that a sample has.
        The least is in the column of its cluster.
    centers_ : list of ndarray, (n_clusters, n_features[v])
        U_v, in the space of unit rows.
    cluster_centers_ : ndarray of shape (n_clusters, n_clusters)
        What the centres themselves would have as rows of the embedding, around the
        mean of the row.
    inertia_ : float
        Sum of the distances to the own centre.
    objective_ : ndarray of shape (n_iter_,)
        After every chunk: that of all samples so far, divided by their number.
    n_iter_ : int
        Chunks that were read.
    converged_ : bool
        Whether every chunk was done before ``max_iter``.

    References
    ----------
    M. Hu, S. Chen, AAAI 2019, 3838-3845, doi:10.1609/aaai.v33i01.33013838.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import OPIMC
    >>> data = make_views(200, (5, 6, 7), 3, incomplete=0.5, random_state=0)
    >>> model = OPIMC(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (200, 3)
    >>> model.predict([data.Xs[0][:2], None, None]).shape
    (2,)
    """

    alpha: Positive = 1.0
    chunk_size: Count | None = None
    n_passes: Count = 1
    relabel: bool = True
    shuffle: bool = True
    max_iter: Count = 30
    tol: NonNegative = 1e-6

    _order_of_views_matters = False

    @property
    def _chunk_size(self):
        return self.chunk_size or max(_CHUNK, _CHUNK_PER_CLUSTER * self.n_clusters)

    def _embed(self, views, rng):
        slices = row_slices(views.n_samples, self._chunk_size)
        rule = Rule(self.n_clusters, self.alpha, self.max_iter, self.tol)
        with self._stage("passes"):
            U, D, *history = solve(
                views, slices * self.n_passes, rule, self.n_init, rng, self._report
            )
        self._record(*history)
        self.centers_ = [U_v.astype(views.dtype) for U_v in U]
        if self.relabel:
            return self._distances(views)
        return (D / views.mask.sum(axis=1)[:, None]).astype(views.dtype)

    def _distances(self, views):
        """Squared distances (n, c) to the centres, means over the views of a sample."""
        D = np.empty((views.n_samples, self.n_clusters), views.dtype)
        for rows in row_slices(views.n_samples, self._chunk_size):
            chunk = read_chunk(views, rows)
            D[rows] = distances(chunk, self.centers_)
            D[rows] /= chunk.seen.sum(axis=1)[:, None]
        return D

    def _partition(self, seed, map):
        self.labels_ = self.embedding_.argmin(axis=1)
        apart = [squared_distances(U_v, U_v) for U_v in self.centers_]
        self.cluster_centers_ = self._clustering_space(np.mean(apart, axis=0))
        self.inertia_ = float(self.embedding_.min(axis=1).sum(dtype=np.float64))

    def _clustering_space(self, Y):
        # What a sample has in common with all centres says nothing of its cluster.
        return Y - Y.mean(axis=1, keepdims=True)

    def _transform(self, Xs, mask):
        views = self._seen_views(Xs, mask)
        return self._distances(views), views.sample_ids

    def _predict(self, Xs, mask):
        Y, ids = self._transform(Xs, mask)
        return Y.argmin(axis=1), ids

    def _get_state(self):
        return {}, {}

    def _set_state(self, arrays, values, sizes):
        centers = getattr(self, "centers_", None)
        check_by_view(sizes, "centers_", centers, "float c p", self.n_features_in_)


@dataclass(frozen=True)
class Rule:
    """What holds for every chunk: clusters, weight of the centres, when it is done."""

    c: int
    alpha: float
    max_iter: int
    tol: float


@dataclass(frozen=True)
class Chunk:
    """Some samples: per view the unit rows of those that have it, and who has what."""

    X: list
    seen: np.ndarray  # (samples, views)


@dataclass(frozen=True)
class Sums:
    """What the centres need to know of samples: R_v, T_v, and |X_v|^2 of all views."""

    R: list
    T: list
    squares: float

    def plus(self, other, sign=1):
        """The sums of both; with ``sign=-1`` without the other."""
        return Sums(
            [mine + sign * theirs for mine, theirs in zip(self.R, other.R)],
            [mine + sign * theirs for mine, theirs in zip(self.T, other.T)],
            self.squares + sign * other.squares,
        )


def solve(views, slices, rule, n_init, rng, report):
    """Read chunk after chunk; ``slices`` may go over the samples more than once.

    Returns U, the squared distances (n, c) that samples had to it as their chunk last
    passed, the objective per sample after every chunk, and whether all were done.
    """
    c, widths = rule.c, views.n_features
    past = Sums([np.zeros((c, d)) for d in widths], [np.zeros((c, c))] * len(widths), 0)
    D, objectives, converged = np.empty((views.n_samples, c)), [], True
    n_seen = 0
    for rows in slices:
        chunk, seen_before = read_chunk(views, rows), rows.stop <= n_seen
        if n_seen == 0:
            U, D[rows], steps = best_start(chunk, past, rule, n_init, rng)
        else:
            V = update_V(D[rows] if seen_before else distances(chunk, U))
            if seen_before:
                past = past.plus(sums(chunk, V), -1)
            U, D[rows], steps = settle(chunk, V, past, U, rule)
        past = past.plus(sums(chunk, update_V(D[rows])))
        n_seen = max(n_seen, rows.stop)
        converged = converged and steps.converged
        objectives.append(steps.objective[-1] / n_seen)
        report(len(objectives), objectives[-1])
    return U, D, objectives, converged


def read_chunk(views, rows):
    """The samples of a slice, in float64."""
    numbers, seen = np.arange(rows.start, rows.stop), views.mask[rows]
    X = [views.take(v, numbers[seen[:, v]]) for v in range(views.n_views)]
    return Chunk([unit_rows(X_v).astype(np.float64, copy=False) for X_v in X], seen)


def best_start(chunk, past, rule, n_init, rng):
    """`settle` the first chunk from random V; of several starts the best."""
    best = None
    b = len(chunk.seen)
    mean = [np.asarray(X_v.sum(axis=0)).reshape(1, -1) / b for X_v in chunk.X]
    for _ in range(n_init):
        V = rng.uniform(size=(b, rule.c))
        found = settle(chunk, V / V.sum(axis=1)[:, None], past, None, rule, mean)
        if best is None or found[2].objective[-1] < best[2].objective[-1]:
            best = found
    return best


def settle(chunk, V, past, U, rule, mean=None):
    """Alternate U and V on a chunk until they stand still.

    ``past`` are the Sums of the other samples. Centres without samples stay as they
    are in ``U``, or are put at ``mean``. Returns U, the distances and the Iterations.
    """
    steps = Iterations(rule.max_iter, rule.tol)
    for _ in steps:
        now = past.plus(sums(chunk, V))
        idle = U if mean is None else mean
        U = [update_U(*of_v, rule.alpha) for of_v in zip(now.R, now.T, idle)]
        D = distances(chunk, U)
        V, V_before = update_V(D), V
        steps.add(objective(D, past, U, rule.alpha))
        steps.converged = np.array_equal(V, V_before) or steps.stands_still()
    return U, D, steps


def update_U(R_v, T_v, idle_v, alpha):
    """``U_v = (T_v + alpha I)^-1 R_v``; where T_v has no sample, ``idle_v``."""
    U_v = np.linalg.solve(T_v + alpha * np.eye(len(T_v)), R_v)
    return np.where(np.diag(T_v)[:, None] > 0, U_v, idle_v)


def update_V(D):
    """Every sample to its nearest centre: one 1 in each row."""
    V = np.zeros(D.shape)
    V[np.arange(len(D)), D.argmin(axis=1)] = 1
    return V


def distances(chunk, U):
    """``|x - u|^2`` (samples, c), summed over the views that a sample has."""
    D = np.zeros((len(chunk.seen), len(U[0])))
    for X_v, seen, U_v in zip(chunk.X, chunk.seen.T, U):
        D[seen] += squared_distances(X_v, U_v)
    return D


def sums(chunk, V):
    """Sums of the samples of a chunk."""
    members = [V[seen] for seen in chunk.seen.T]
    return Sums(
        [np.asarray(V_v.T @ X_v) for V_v, X_v in zip(members, chunk.X)],
        [V_v.T @ V_v for V_v in members],
        sum(squared_norm(X_v) for X_v in chunk.X),
    )


def objective(D, past, U, alpha):
    """The value for a chunk with distances D and all samples before it."""
    total = D.min(axis=1).sum() + past.squares
    for U_v, R_v, T_v in zip(U, past.R, past.T):
        total += np.vdot(U_v @ U_v.T, T_v) - 2 * np.vdot(U_v, R_v)
        total += alpha * np.vdot(U_v, U_v)
    return float(total)
