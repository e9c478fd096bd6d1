"""RISE: rotation-invariant spectral embedding from incomplete bipartite graphs.

X. Wang, Y. Zhang, Y. Zhou, "Highly Efficient Rotation-Invariant Spectral Embedding for
Scalable Incomplete Multi-View Clustering", AAAI 2025, 39(20):21312-21320,
doi:10.48550/arXiv.2501.11898. Specification: docs/methods/rise.md.

    min  sum_v ||YY' - Q_v F_v F_v' Q_v'||^2 - beta sum_v tr(F_v' B_v B_v' F_v)
    s.t. Y'Y = I, F_v'F_v = I                                               Eq. (6)

    Q_v   selects the samples of view v    B_v   normalised bipartite graph (n_v x m_v)
    Y     consensus embedding (n x d)      F_v   embedding of view v (n_v x d)
    p     a missing pattern (set of views)

No step touches a sample. In every iteration the rows of a pattern p are Y_p = B_p C_p
with B_p = [B_v : v in p], and F_v = Y_v P_v + B_v U_v; so the paper's steps act on
C_p, P_v, U_v and the Gram matrices G_p = B_p'B_p alone. Below, H_p = G_p C_p.
"""

import os
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from imvc.kernels._patterns import inverse_sqrt
from imvc.methods._anchor_graphs import AnchorGraphs, choose_anchors
from imvc.methods._base import draw_seed, warn_user
from imvc.methods._blocks import BlockClusterer, Trained, with_nothing
from imvc.methods._consensus import Consensus
from imvc.methods._rise_first_order import solve_joint, solve_two_stage
from imvc.methods._rise_full_graph import embed_full
from imvc.methods._rise_solver import identity_start, solve
from imvc.scale import Numbers, embed_rows, row_statistics


class RISE(BlockClusterer):
    """Rotation-invariant spectral embedding (RISE) of incomplete views.

    Per view, samples are joined to a few anchors; the consensus embedding Y and the
    embeddings of the views are found together, so that their Gram matrices (not
    their coordinates) agree; k-means on Y gives the clusters.

    Parameters
    ----------
    n_clusters : int
    n_anchors : int, optional
        Anchors per view; by default ``max(100, 4 n_clusters)``. A view with too few
        samples gets one anchor less than it has samples.
    n_neighbors : int, default=5
        Anchors that a sample is joined to.
    embedding_dim : int, optional
        Columns of Y; by default ``n_clusters``.
    beta : float, default=100.0
        Weight of the views' own spectra against the consensus.
    anchors : {"kmeans", "random", "das", "das-cosine"} or list of arrays
        How anchors are chosen, or the anchors themselves (one array per view, in the
        scaled feature space).
    graph : {"bipartite", "full"}
        "full" joins samples to samples: the paper's ablation, O(n^2), no `predict`.
    completion : {"second-order", "first-order", "first-order-two-stage"}
        The first-order ones match coordinates instead of Gram matrices: the paper's
        ablation, jointly or after the views' embeddings are fixed.
    init : {"svd", "identity"}
        Start from the views' singular vectors (paper) or from the first samples of
        each view (the authors' program).
    metric : {"sqeuclidean", "euclidean"}
        Distances behind the graph's weights (paper; the authors' program).
    scale : {"unit", "standard"} or None
        Rows to length one, columns to deviation one, or features as they are.
    row_normalize : bool, default=True
        Scale the rows of Y to length one on the way to k-means. The row norm of Y
        grows with the number of observed views; False is the paper's reading.
    n_init : int, default=10
        k-means starts.
    anchor_sample : int or None, default=5000
        Rows per view that k-means anchors are sought on, and at least 20 for each of
        them; None: all rows. Anchors only have to cover the data.
    max_iter : int, default=100
    tol : float, default=1e-6
        Stop when the relative changes of objective and consensus subspace fall below.
    memory_budget : int or str, optional
        Bound on the working memory of a fit on files, such as ``"1GiB"``.
    work_dir : path-like, optional
        Folder for what does not fit into memory, from which an interrupted fit goes
        on; by default a temporary one, where it is needed. See docs/scale.md.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    random_state : int, RandomState instance or None
    verbose : int, default=0
        1 writes stages, 2 also iterations, to standard error.
    callback : callable, optional
        Called as ``callback(iteration, objective)``.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, embedding_dim)
        Y, with orthonormal columns.
    cluster_centers_ : ndarray of shape (n_clusters, embedding_dim)
        k-means centres, in the space of Y's rows (of length one if `row_normalize`).
    objective_ : ndarray of shape (n_iter_,)
        Eq. (6) after every iteration.
    n_iter_, converged_ : int, bool
    anchors_ : list of ndarray
        Anchors per view, in the scaled feature space.
    pattern_leakage_ : float
        Adjusted mutual information of ``labels_`` and the missing pattern; near 0 is
        good, a high value says that the clusters follow what is missing.
    inertia_ : float
        Sum of squared distances to the own centre.
    anchor_distance_ : ndarray of shape (n_views,)
        Root mean square distance to the nearest anchor, as of samples that the anchors
        do not know; NaN with fewer than five samples per anchor.
    drift_ : ndarray of shape (n_views,)
        The same of the samples of the last `update`, divided by ``anchor_distance_``;
        1 after a fit.
    n_features_in_, view_names_, sample_ids_, stage_seconds_ : tuple, tuple, array, dict

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

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_anchors": [Interval(Integral, 2, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "embedding_dim": [Interval(Integral, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "anchors": [StrOptions({"kmeans", "random", "das", "das-cosine"}), list, tuple],
        "graph": [StrOptions({"bipartite", "full"})],
        "completion": [
            StrOptions({"second-order", "first-order", "first-order-two-stage"})
        ],
        "init": [StrOptions({"svd", "identity"})],
        "metric": [StrOptions({"sqeuclidean", "euclidean"})],
        "scale": [StrOptions({"unit", "standard"}), None],
        "row_normalize": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "anchor_sample": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "memory_budget": [Interval(Integral, 1, None, closed="left"), str, None],
        "work_dir": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_clusters,
        *,
        n_anchors=None,
        n_neighbors=5,
        embedding_dim=None,
        beta=100.0,
        anchors="kmeans",
        graph="bipartite",
        completion="second-order",
        init="svd",
        metric="sqeuclidean",
        scale="unit",
        row_normalize=True,
        n_init=10,
        anchor_sample=5_000,
        max_iter=100,
        tol=1e-6,
        memory_budget=None,
        work_dir=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.embedding_dim = embedding_dim
        self.beta = beta
        self.anchors = anchors
        self.graph = graph
        self.completion = completion
        self.init = init
        self.metric = metric
        self.scale = scale
        self.row_normalize = row_normalize
        self.n_init = n_init
        self.anchor_sample = anchor_sample
        self.max_iter = max_iter
        self.tol = tol
        self.memory_budget = memory_budget
        self.work_dir = work_dir
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @property
    def _dim(self):
        return self.embedding_dim or self.n_clusters

    def _n_anchors(self):
        return self.n_anchors or max(100, 4 * self.n_clusters)

    def _check_against(self, runner):
        super()._check_against(runner)
        if self._dim > runner.n_samples:
            raise ValueError(
                f"embedding_dim={self._dim} exceeds the number of samples, "
                f"{runner.n_samples}; lower it."
            )
        if self.n_neighbors >= self._n_anchors() and isinstance(self.anchors, str):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be smaller than "
                f"n_anchors={self._n_anchors()}; lower it or raise n_anchors."
            )
        if runner.views is None:
            self._check_bounded()

    def _check_bounded(self):
        """Refuse what would need all rows in memory at once."""
        for name, value, other in (
            ("graph", "full", "'bipartite'"),
            ("anchors", "das", "'kmeans' or 'random'"),
            ("anchors", "das-cosine", "'kmeans' or 'random'"),
            ("anchor_sample", None, "a number of rows"),
        ):
            own = getattr(self, name)
            if own is None if value is None else isinstance(own, str) and own == value:
                raise ValueError(
                    f"{name}={value!r} needs all rows in memory, and these views are "
                    f"not; use {other}, or pass arrays in memory."
                )

    def _fit_blocks(self, runner, seeds):
        if self.graph != "full":
            return super()._fit_blocks(runner, seeds)
        Y = embed_full(self, runner.views, seeds[0], runner.map)
        Y, _ = runner.rows(
            "embedding",
            partial(part_of, array=Y, starts=runner.source.starts),
            Numbers(),
            width=Y.shape[1],
            dtype=Y.dtype,
        )
        with self._stage("kmeans"):
            leakage = self._partition_blocks(runner, Y, seeds[1])
        self.embedding_ = runner.array(Y)
        return self._conclude(runner, leakage)

    def _learn_graphs(self, runner, seed):
        anchors, deviations = runner.once(
            "anchors",
            lambda: choose_anchors(
                runner,
                seed,
                anchors=self.anchors,
                n_anchors=self._n_anchors(),
                scale=self.scale,
                sample=self.anchor_sample,
            ),
        )
        self._graphs = self._graph_model(anchors, deviations)
        self.anchors_ = list(anchors)

    _kept_by_update = {"anchors_"}

    def _graph_model(self, anchors, deviations):
        squared = self.metric == "sqeuclidean"
        return AnchorGraphs(anchors, self.scale, deviations, self.n_neighbors, squared)

    @property
    def _block_rows(self):
        return self._graphs

    @property
    def _width(self):
        return self._dim

    def _solve_blocks(self, runner, trained):
        sizes, d = self._graphs.sizes, self._dim
        rows, grams, n_views = trained.rows, trained.statistics.grams, runner.n_views
        if d > sum(sizes):
            raise ValueError(
                f"embedding_dim={d} exceeds the total number of anchors, {sum(sizes)}; "
                f"lower it or raise n_anchors."
            )
        started = self.init == "identity" and self.completion != "first-order-two-stage"
        if started:
            with self._stage("statistics"):
                sizes = (*sizes, d)
                rows = runner.keep(
                    "started", identity_start(runner, d), rows, Numbers()
                )
                grams = runner.total(
                    "started-statistics", partial(row_statistics, sizes=sizes), rows
                )
        scales = [inverse_sqrt(grams.column_sums(v)) for v in range(n_views)]
        scales += [np.ones(d)] * started
        with self._stage("solve"):
            consensus = self._solve(grams.scaled(scales), n_views)
            consensus = consensus.in_terms_of(scales)
        with self._stage("embedding"):
            function = partial(
                embed_rows, sizes=sizes, coefficients=consensus, d=d, dtype=runner.dtype
            )
            Y, _ = runner.rows(
                "embedding",
                partial(with_nothing, function=function),
                rows,
                width=d,
                dtype=runner.dtype,
            )
        self._consensus = consensus.without_start(n_views)
        return Y

    def _solve(self, grams, n_views):
        if self.completion == "first-order-two-stage":
            consensus = solve_two_stage(grams, n_views, self._dim)
        else:
            solver = solve if self.completion == "second-order" else solve_joint
            consensus = solver(
                grams,
                n_views,
                self.beta,
                self._dim,
                max_iter=self.max_iter,
                tol=self.tol,
                report=self._report,
            )
        self.objective_ = np.array(consensus.objective)
        self.n_iter_ = len(consensus.objective)
        self.converged_ = consensus.converged
        if consensus.rank < self._dim:
            warn_user(
                f"the graphs carry only {consensus.rank} of embedding_dim={self._dim} "
                f"dimensions; the other columns of embedding_ are zero.",
            )
        return consensus

    def _embed_block(self):
        if self.graph == "full":
            raise AttributeError(
                "RISE(graph='full') has no rule for new samples; use graph='bipartite'."
            )
        return partial(
            embed_block, graphs=self._graphs, consensus=self._consensus, d=self._dim
        )

    def beta_path(self, Xs, betas, *, embedding_dims=None, mask=None):
        """Fit many settings of `beta` (and `embedding_dim`) for the price of one.

        Anchors, graphs and their statistics are computed once. Every model equals
        the one that `fit` gives with the same settings and ``random_state``.

        Parameters
        ----------
        Xs, mask : as in `fit`
        betas : sequence of float
        embedding_dims : sequence of int, optional
            By default the estimator's own.

        Returns
        -------
        list of RISE
            Fitted, one per (embedding_dim, beta), betas varying fastest.
        """
        self._validate_params()
        if self.graph == "full":
            raise ValueError("beta_path needs graph='bipartite'; got graph='full'.")
        dims = [self.embedding_dim] if embedding_dims is None else embedding_dims
        models = [
            clone(self).set_params(beta=beta, embedding_dim=d, work_dir=None)
            for d in dims
            for beta in betas
        ]
        for model in models:
            model._validate_params()
        with self._runner(Xs, mask) as runner:
            for model in models:
                model._check_against(runner)
            self._check_survey(runner.survey(), runner)
            rng = check_random_state(self.random_state)
            seeds = draw_seed(rng), draw_seed(rng)
            first = clone(self)
            first._learn_graphs(runner, seeds[0])
            rows = runner.keep("graph", first._block_rows, runner.blocks)
            statistics = first._statistics(runner, rows)
            first._measure_anchors(statistics, runner.n_views)
            trained = Trained(rows, runner.source.starts, statistics, seeds)
            for model in models:
                model._remember(runner)
                model._take_over(first, trained, runner)
                model._finish(runner)
        return models

    def _take_over(self, first, trained, runner):
        """Go on from the graphs and statistics of another model."""
        self._graphs, self.anchors_ = first._graphs, first.anchors_
        self._trained, self._dtype = trained, runner.dtype
        self.anchor_distance_ = first.anchor_distance_
        self.drift_ = first.drift_

    def _get_state(self):
        if self.graph == "full":
            raise ValueError(
                "RISE(graph='full') cannot be saved: it has no rule for new samples."
            )
        arrays, values = self._consensus.to_state()
        for v, deviation in enumerate(self._graphs.deviations):
            if deviation is not None:
                arrays[f"deviation{v}"] = deviation
        return arrays, values

    def _set_state(self, arrays, values):
        self._consensus = Consensus.from_state(arrays, values)
        deviations = [arrays.get(f"deviation{v}") for v in range(self.n_views_in_)]
        self._graphs = self._graph_model(self.anchors_, deviations)


def embed_block(views, graphs, consensus, d, dtype):
    """Y of new samples."""
    return embed_rows(graphs(views), graphs.sizes, consensus, d, dtype)


def part_of(i, array, starts):
    """Rows of block ``i``, without a summary."""
    return array[starts[i] : starts[i + 1]], 0
