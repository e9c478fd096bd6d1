"""AnchorBridge: clustering with missing views that needs no labels and no tuning.

Our own method; specification and measurements: docs/methods/bridge.md.

    1  features   F_v    centred unit rows, PCA; as they are and square-rooted
    2  graphs     Z_v    weights of samples over the anchors of view v (n_v x m_v)
    3  agreement  a_uv   canonical correlations of the views' spectra; weights w_v
    4  bridge     P_uv   anchors of u -> anchors of v, learnt on shared samples
    5  joint      B      [w_v Z~_v] Lambda^{-1/2}, Z~_v completed by the bridge
    6  embedding  Y      [u_0 / (c - 1), u_j s_j^t], unit rows, k-means

    c     clusters       p      a missing pattern (set of views)
    R     rows of [w_v Z~_v], equal to Z_p L_p for the samples of pattern p
    u_j, s_j             left singular vectors and values of B; u_0 is constant

As in RISE no step but the first two and the last touches a sample: the others act on
the statistics Z_p'Z_p.
"""

import os
from functools import partial
from itertools import pairwise
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._kmeans import random_rows
from imvc.methods._base import warn_user
from imvc.methods._blocks import BlockClusterer, Trained, with_nothing
from imvc.methods._bridge_clusters import (
    mean_agreement,
    partition,
    stability_curve,
    suggest,
)
from imvc.methods._bridge_components import (
    Components,
    ComponentSource,
    inhabited,
    view_components,
)
from imvc.methods._bridge_evidence import weigh_evidence
from imvc.methods._bridge_graphs import (
    VARIANTS,
    BridgeGraphs,
    GraphRule,
    ViewGraph,
    choose_graphs,
)
from imvc.methods._bridge_guard import guarded_partition, sums_of
from imvc.methods._bridge_joint import JointGraph, many_patterns
from imvc.methods._bridge_part import Part
from imvc.methods._bridge_place import (
    embed_parts,
    place_part,
    place_parts,
    side_by_side,
)
from imvc.methods._bridge_spectrum import (
    diffusion_time,
    effective_dimension,
    joint_spectrum,
    joint_statistics,
    mask_share,
    single_spaces,
)
from imvc.scale import KeptSource, ThreadRunner, ViewsSource, row_statistics

_WARN_MISSINGNESS = 0.1
_MOST_CLUSTERS = 15  # of the candidates where none are given
_SWEEP_ROWS = 10_000  # samples on which numbers of clusters are compared


class AnchorBridge(BlockClusterer):
    """Bridged anchor graphs: label-free clustering of incomplete views.

    Per view, samples are joined to a few hundred anchors. Where a sample lacks a view,
    its weights over that view's anchors are carried over from the views it has, by
    transition matrices learnt on the samples that have both. The joint graph's
    diffusion embedding is clustered by k-means. Nothing needs tuning.

    Parameters
    ----------
    n_clusters : int, sequence of int or None, default=None
        Number of clusters; of several candidates (None: 2 to 15) the one whose
        clusters are most stable is taken, see ``stability_curve_``.
    partition : {"unit", "guarded"}
        "guarded" keeps a large cluster whole when sizes are very unequal.
    mask_as_view : bool, default=False
        Let what is missing count as a view of its own, as far as it can be predicted
        from the data; for users who know that absence means something.
    stability : bool, default=False
        Compute ``stability_``, for about the price of a second fit.
    n_anchors : int, optional
        Anchors per view; by default ``max(200, 5 n_clusters)``. Never more than half
        of the view's samples.
    n_neighbors : int, optional
        Anchors that a sample is joined to; by default the number of anchors divided
        by the number of clusters, between 3 and 10.
    n_components : int, default=100
        Principal coordinates kept of a view with more features.
    n_init : int, default=20
        k-means starts.
    anchor_sample : int or None, default=5000
        Rows per view that principal axes and anchors are sought on; None: all rows.
    memory_budget : int or str, optional
        Bound on the working memory of a fit on files, such as ``"1GiB"``.
    work_dir : path-like, optional
        Folder for what does not fit into memory, from which an interrupted fit goes
        on; by default a temporary one, where it is needed. See docs/scale.md.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    random_state : int, RandomState instance or None
    verbose : int, default=0
        1 writes stages, 2 also the objectives, to standard error.
    callback : callable, optional
        Called as ``callback(step, objective)`` after the graphs of plain features
        (1), of square-rooted features (2) and the joint graph (3), each with its
        relaxed normalised cut (see ``objective_``).

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, 1 + n_vectors)
        Y before its rows are scaled to length one; `transform` gives the same.
    cluster_centers_ : ndarray of shape (n_clusters_, 1 + n_vectors)
        Means of the clusters' unit rows.
    n_clusters_ : int
        As given, or as suggested by the stability curve.
    stability_curve_ : ndarray of shape (n_candidates, 3) or None
        Candidate, stability, and its standard deviation over pairs of partitions.
    evidence_ : {"strong", "weak"} or None
        Whether the curve speaks clearly for ``n_clusters_``.
    stability_ : float or None
        Mean adjusted Rand index between partitions of single graphs (two kinds of
        features, two anchor seeds); near 0.1: do not trust the clusters.
    view_weights_ : ndarray of shape (n_views,)
    view_agreement_ : ndarray of shape (n_views, n_views)
        0.01 (views that do not agree) to 1, mean of the two kinds of features.
    overlap_ : ndarray of int64, shape (n_views, n_views)
        Number of samples seen in both views.
    missingness_ : ndarray of shape (n_views, n_views)
        Entry (u, v): how well the spectrum of view u predicts that v is observed, an
        adjusted R^2. Above 0.1 views are hardly missing at random: a warning says so.
    component_views_ : list of tuple of int
        Groups of views joined by shared samples; more than one are clustered apart.
    pattern_leakage_ : float
        Adjusted mutual information of ``labels_`` and the missing pattern.
    objective_ : ndarray of shape (1,)
        Relaxed normalised cut, the sum of 1 - s_j^2 over the c - 1 leading
        non-constant singular values; summed over components.
    singular_values_ : ndarray
        s_1, s_2, ... of the joint graph (of the largest component).
    diffusion_time_ : float
        t of the largest component.
    n_iter_, converged_ : int, bool
        Always 1 and True: there is no iteration.
    inertia_ : float
        Sum of squared distances of unit rows to the own centre.
    anchor_distance_ : ndarray of shape (n_views,)
        Root mean square distance to the nearest anchor, as of samples that the anchors
        do not know; NaN with fewer than five samples per anchor.
    drift_ : ndarray of shape (n_views,)
        The same of the samples of the last `update`, divided by ``anchor_distance_``;
        1 after a fit.
    n_features_in_, view_names_, sample_ids_, stage_seconds_ : tuple, tuple, array, dict

    References
    ----------
    The anchor graphs are those of X. Wang, Y. Zhang, Y. Zhou, AAAI 2025,
    doi:10.48550/arXiv.2501.11898; the method is described in docs/methods/bridge.md.

    Examples
    --------
    >>> from imvc import AnchorBridge
    >>> from imvc.datasets import make_views
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = AnchorBridge(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.labels_.shape
    (200,)
    >>> model.predict([data.Xs[0][:2], None, None]).shape
    (2,)
    """

    _row_normalize = True
    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 2, None, closed="left"), "array-like", None],
        "partition": [StrOptions({"unit", "guarded"})],
        "mask_as_view": ["boolean"],
        "stability": ["boolean"],
        "n_anchors": [Interval(Integral, 2, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "anchor_sample": [Interval(Integral, 1, None, closed="left"), None],
        "memory_budget": [Interval(Integral, 1, None, closed="left"), str, None],
        "work_dir": [str, os.PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_clusters=None,
        *,
        partition="unit",
        mask_as_view=False,
        stability=False,
        n_anchors=None,
        n_neighbors=None,
        n_components=100,
        n_init=20,
        anchor_sample=5_000,
        memory_budget=None,
        work_dir=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.n_clusters = n_clusters
        self.partition = partition
        self.mask_as_view = mask_as_view
        self.stability = stability
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.n_init = n_init
        self.anchor_sample = anchor_sample
        self.memory_budget = memory_budget
        self.work_dir = work_dir
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _candidates(self, n):
        """Numbers of clusters to choose from, ascending."""
        if self.n_clusters is None:
            return list(range(2, max(2, min(_MOST_CLUSTERS, n // 5)) + 1))
        if isinstance(self.n_clusters, Integral):
            return [int(self.n_clusters)]
        return sorted({int(k) for k in self.n_clusters})

    def _check_against(self, views):
        n, given = views.n_samples, self.n_clusters
        if not isinstance(given, Integral | None) and not (
            len(given) and all(isinstance(k, Integral) and int(k) >= 2 for k in given)
        ):
            raise ValueError(
                f"n_clusters={given!r} must be an integer, None or a sequence of "
                f"integers, all at least 2."
            )
        if max(self._candidates(n)) > n:
            raise ValueError(
                f"n_clusters={given!r} exceeds the number of samples, {n}; lower it."
            )
        if self.n_anchors and (self.n_neighbors or 0) >= self.n_anchors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be smaller than "
                f"n_anchors={self.n_anchors}; lower it or raise n_anchors."
            )

    def _rule(self, c):
        return GraphRule(
            c, self.n_anchors, self.n_neighbors, self.n_components, self.anchor_sample
        )

    _kept_by_update = {
        *("n_clusters_", "evidence_", "stability_curve_", "component_views_"),
    }

    def _fit_blocks(self, runner, seeds):
        self.overlap_ = runner.surveyed.overlap
        self._choose_number(runner, seeds[0])
        found = view_components(self.overlap_, self.n_clusters_)
        self.component_views_ = inhabited(runner.surveyed.patterns, found)
        if len(self.component_views_) == 1:
            super()._fit_blocks(runner, seeds)
        else:
            self._fit_apart(runner, seeds)

    def _learn_graphs(self, runner, seed):
        self._replicates = self._choose_graphs(runner, (seed, 0))

    @property
    def _block_rows(self):
        return self._replicates[0]

    def _choose_graphs(self, runner, seed):
        """Graphs of every anchor seed; one, or two where stability is asked for."""
        rule = self._rule(min(self.n_clusters_, runner.n_samples))

        def choose():
            chosen = choose_graphs(runner, rule, seed, 1 + self.stability)
            return [
                [[graph.to_tree() for graph in views] for views in graphs.variants]
                for graphs in chosen
            ]

        return [
            BridgeGraphs([[ViewGraph(*graph) for graph in views] for views in variants])
            for variants in runner.once("anchors", choose)
        ]

    def _solve_blocks(self, runner, trained):
        self.overlap_ = runner.surveyed.overlap
        self._start_attributes(runner.n_views)
        Y = self._fit_part(runner, trained, self._replicates, 1.0)
        self._warn()
        return Y

    def _fit_apart(self, runner, seeds):
        """Components one by one; their embeddings then stand side by side."""
        self._start_attributes(runner.n_views)
        components, kept = Components(self.component_views_), []
        for i in range(len(components.views)):
            own = runner.over(ComponentSource(runner, components, i), f"part{i}-")
            own.survey()
            with self._stage("anchors"):
                graphs = self._choose_graphs(own, (seeds[0], i))
            with self._stage("graph"):
                rows = own.keep("graph", graphs[0], own.blocks)
            with self._stage("statistics"):
                found = self._statistics_of(own, rows, graphs[0].sizes)
            trained = Trained(rows, own.source.starts, found, seeds)
            share = own.n_samples / runner.n_samples
            kept.append((own, self._fit_part(own, trained, graphs, share)))
        self._warn()
        with self._stage("kmeans"):
            for part, (own, Y) in zip(self._parts, kept):
                self._cluster_part(own, part, Y, seeds[1])
            self._collect_centers()
            Y, _ = runner.rows(
                "embedding",
                partial(side_by_side, components=components, columns=self._columns),
                runner.masks,
                *(Y.items for _, Y in kept),
                width=self._width,
                dtype=runner.dtype,
            )
            leakage = self._label_blocks(runner, Y)
        self.embedding_ = runner.array(Y)
        self.__dict__.pop("_trained", None)  # of an earlier fit
        self.anchor_distance_ = np.full(runner.n_views, np.nan)
        self.drift_ = np.ones(runner.n_views)
        self._conclude(runner, leakage)

    def _fit_part(self, runner, trained, graphs, share):
        """Steps 3 to 6 (and 8) on views that shared samples join; KeptRows of Y."""
        c = min(self.n_clusters_, runner.n_samples)
        seed, rows = trained.seeds[0], trained.rows
        evidence = self._evidence(runner, rows, trained.statistics.grams, c)
        for step, cut in enumerate(evidence.cuts, 1):
            self._report(step, cut)
        with self._stage("joint graph"):
            omega = mask_share(evidence.missingness) if self.mask_as_view else 0.0
            joint = JointGraph(evidence.bridges, omega)
            N, degrees = joint_statistics(runner, joint, evidence)
            values, W = joint_spectrum(joint, N, degrees, 4 * c)
            time = diffusion_time(values, effective_dimension(c))
            part = Part(graphs[0], joint, values, W, time, runner.n_samples, c)
            self._report(1 + len(VARIANTS), part.cut)
        with self._stage("embedding"):
            embed = partial(part.embed, dtype=runner.dtype)
            Y, _ = runner.rows(
                "embedding",
                partial(with_nothing, function=embed),
                rows,
                width=part.dim,
                dtype=runner.dtype,
            )
        if self.stability:
            evidence.stability = self._measure_stability(
                runner, evidence, graphs[1], c, seed
            )
        self._collect(part, evidence, share)
        return Y

    def _measure_stability(self, runner, evidence, graphs, c, seed):
        """Step 8: agreement of the partitions of four single graphs."""
        with self._stage("stability"):
            if isinstance(runner.source, KeptSource):
                return np.nan  # the second anchors never saw these samples
            other = self._second_evidence(runner, graphs, c)
            spaces = single_spaces(runner, [evidence, other], 4 * c)
            found = [partition(runner, space(c), c, seed) for space in spaces]
            return mean_agreement(runner, found)[0]

    def _second_evidence(self, runner, graphs, c):
        rows = runner.keep("second-graph", graphs, runner.blocks)
        grams = runner.total(
            "second-statistics", partial(row_statistics, sizes=graphs.sizes), rows
        )
        return self._evidence(runner, rows, grams, c)

    def _evidence(self, runner, rows, grams, c):
        """Steps 3 and 4 for one anchor seed: agreement and bridges."""
        with self._stage("agreement"):
            if not many_patterns(runner.surveyed.patterns, grams.sizes, runner.n_views):
                grams = grams.densified()
            return weigh_evidence(runner, rows, grams, c)

    def _choose_number(self, runner, seed):
        """Set ``n_clusters_``: of several candidates the most stable one."""
        candidates = self._candidates(runner.n_samples)
        self.n_clusters_, self.evidence_, self.stability_curve_ = (
            candidates[0],
            None,
            None,
        )
        if len(candidates) == 1:
            return
        self.stability_curve_ = runner.once(
            "number", lambda: self._sweep(runner, candidates, seed)
        )
        self.n_clusters_, self.evidence_ = suggest(self.stability_curve_)

    def _sweep(self, runner, candidates, seed):
        """Stability of every candidate, on a sample."""
        n, most = runner.n_samples, max(candidates)
        rng = np.random.RandomState(seed)
        source = ViewsSource(runner.samples(random_rows(n, min(n, _SWEEP_ROWS), rng)))
        runner = ThreadRunner(source, runner.map)
        runner.survey()
        evidence = []
        for graphs in choose_graphs(runner, self._rule(most), (seed,), 2):
            with self._stage("graph"):
                rows = runner.keep("graph", graphs, runner.blocks)
            with self._stage("statistics"):
                found = self._statistics_of(runner, rows, graphs.sizes)
            evidence.append(self._evidence(runner, rows, found.grams, most))
        with self._stage("number of clusters"):
            spaces = single_spaces(runner, evidence, 4 * most)
            return stability_curve(runner, spaces, candidates, seed)

    def _start_attributes(self, n_views):
        self._parts = []
        self.view_weights_ = np.zeros(n_views)
        self.view_agreement_ = np.eye(n_views)
        self.missingness_ = np.zeros((n_views, n_views))
        self.stability_ = 0.0 if self.stability else None
        self.objective_, self.n_iter_, self.converged_ = np.zeros(1), 1, True

    def _collect(self, part, evidence, share):
        """Put what one component says about its views into the attributes."""
        chosen = list(self.component_views_[len(self._parts)])
        self._parts.append(part)
        weights = [bridge.weights for bridge in evidence.bridges]
        self.view_weights_[chosen] = share * np.mean(weights, axis=0)
        self.view_agreement_[np.ix_(chosen, chosen)] = evidence.agreement.mean(axis=0)
        self.missingness_[np.ix_(chosen, chosen)] = evidence.missingness
        self.objective_ += part.cut
        if self.stability:
            self.stability_ += share * evidence.stability
        if len(self._parts) == 1:
            self.singular_values_ = np.sqrt(part.values)
            self.diffusion_time_ = part.time

    def _warn(self):
        if len(self.component_views_) > 1:
            groups = [[self.view_names_[v] for v in p] for p in self.component_views_]
            warn_user(
                f"the views fall into groups that share too few samples, {groups}; "
                f"each group is clustered apart, its clusters have numbers of their "
                f"own, and nothing tells which of them belong together.",
            )
        u, v = np.unravel_index(self.missingness_.argmax(), self.missingness_.shape)
        if self.missingness_[u, v] > _WARN_MISSINGNESS:
            warn_user(
                f"views are not missing at random: view {self.view_names_[u]!r} "
                f"predicts where {self.view_names_[v]!r} is observed (missingness_ "
                f"{self.missingness_[u, v]:.2f}); clusters may follow what is missing.",
            )

    @property
    def _columns(self):
        """Columns of the embedding that belong to each component."""
        ends = np.cumsum([0, *(part.dim for part in self._parts)])
        return [slice(*pair) for pair in pairwise(ends)]

    @property
    def _width(self):
        return self._columns[-1].stop

    def _partition_blocks(self, runner, Y, seed):
        """Steps 6 and 7."""
        self._cluster_part(runner, self._parts[0], Y, seed)
        self._collect_centers()
        return self._label_blocks(runner, Y)

    def _collect_centers(self):
        """Centres of all components, numbered one after the other."""
        total = sum(part.c for part in self._parts)
        centers = np.zeros((total, self._width), self._parts[0].centers.dtype)
        first = 0
        for part, columns in zip(self._parts, self._columns):
            centers[first : first + part.c, columns] = part.centers
            first += part.c
        self.cluster_centers_ = centers

    def _cluster_part(self, runner, part, Y, seed):
        """Learn where a component's clusters are, from the unit rows of ``Y``."""
        part.centers = self._find_centers(runner, Y.then(unit_rows), part.c, seed)
        if self.partition == "guarded" and 1 < part.c <= len(part.values) + 1:
            labels = self._label_part(runner, part, Y)
            part.guard = guarded_partition(
                runner, Y, part, labels, n_init=self.n_init, seed=seed
            )
            labels = self._label_part(runner, part, Y)
            function = partial(sums_of, c=part.c, function=unit_rows)
            sums, counts = runner.total(None, function, Y.items, labels.items)
            centers = sums / np.maximum(counts, 1)[:, None]
            part.centers = centers.astype(part.centers.dtype)

    def _label_part(self, runner, part, Y):
        function = partial(place_part, part=part)
        return runner.rows(None, function, Y.items, width=None, dtype=np.int64)[0]

    def _embed_block(self):
        return self._of_parts(embed_parts)

    def _place(self):
        return self._of_parts(place_parts)

    def _of_parts(self, function):
        """A block function that knows the components and where their columns are."""
        return partial(
            function,
            parts=self._parts,
            components=Components(self.component_views_),
            columns=self._columns,
        )

    def _get_state(self):
        arrays: dict = {}
        values = []
        for i, part in enumerate(self._parts):
            own, plain = part.state(f"part{i}")
            arrays |= own
            values.append(plain)
        return arrays, {"parts": values}

    def _set_state(self, arrays, values):
        self.component_views_ = [tuple(p) for p in self.component_views_]
        self._parts = [
            Part.from_state(f"part{i}", arrays, plain)
            for i, plain in enumerate(values["parts"])
        ]
        self._replicates = [self._parts[0].graphs]
