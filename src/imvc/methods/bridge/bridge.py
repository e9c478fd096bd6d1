"""AnchorBridge: clustering with missing views that needs no labels and no tuning.

Our own method; specification and measurements: docs/methods/bridge.md.

    1  features   F_v    centred unit rows, PCA; as they are and square-rooted
    2  graphs     Z_v    weights of samples over the anchors of view v (n_v x m_v)
    3  agreement  a_uv   canonical correlations of the views' spectra; weights w_v
    4  bridge     P_uv   anchors of u -> anchors of v, learnt on shared samples
    5  joint      B      [w_v Z~_v] Lambda^{-1/2}, Z~_v completed by the bridge
    6  embedding  Y      [u_0 / (c - 1), u_j s_j^t], unit rows
    7  learnt     l_v    what view v predicts of Y; a third kind of features: 2 to 6
    8  partition         k-means, guarded against clusters of very unequal size

    c     clusters       p      a missing pattern (set of views)
    R     rows of [w_v Z~_v], equal to Z_p L_p for the samples of pattern p
    u_j, s_j             left singular vectors and values of B; u_0 is constant

All of this is learnt on at most ``learn_sample`` samples in memory. Then every sample,
those included, is placed by one pass: features, graph rows, Y, cluster.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from itertools import count
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.methods import anchor_model
from imvc.methods._parameters import AtLeastTwo, Count, estimator
from imvc.methods.bridge.components import (
    Components,
    Links,
    inhabited,
    join_groups,
    view_components,
    weak_links,
)
from imvc.methods.bridge.graphs import GraphRule, add_kind
from imvc.methods.bridge.model import ComponentModel, LearntMixin, embed_kept
from imvc.methods.bridge.number import (
    Reruns,
    cluster_stability,
    partitions_of,
    sweep,
)
from imvc.methods.bridge.passes import Learner
from imvc.methods.bridge.rounding import guarded_partition, sums_of, unit_centers
from imvc.methods.bridge.spectrum import diffused

_Several = Annotated[Sequence[int] | np.ndarray, "array-like"]
_FEW_SAMPLES = 20  # per cluster
_MOST_CLUSTERS = 20  # of the candidates where none are given


@estimator
class AnchorBridge(LearntMixin, anchor_model.AnchorClusterer):
    """Bridged anchor graphs: label-free clustering of incomplete views.

    Per view, samples are joined to a few hundred anchors. Where a sample lacks a view,
    its weights over that view's anchors are carried over from the views it has, by
    transition matrices learnt on the samples that have both. Every view then learns to
    predict the consensus of all, and a second joint graph, in which these predictions
    take part, is clustered by k-means on its diffusion embedding. Nothing needs tuning.

    Parameters
    ----------
    n_clusters : int, sequence of int or None, default=None
        Number of clusters; of several candidates (None: 2 to 20) the largest whose
        clusters all come back when anchors are drawn anew, see ``evidence_``.
    partition : {"guarded", "unit"}
        "guarded" keeps a large cluster whole where sizes are very unequal; "unit" is
        plain k-means.
    mask_as_view : bool, default=False
        Let what is missing count as a view of its own, as far as it can be predicted
        from the data; for users who know that absence means something.
    stability : bool, default=False
        Compute ``cluster_stability_`` also for a given number of clusters, for about
        the price of three more fits on at most 10 000 samples.
    n_anchors : int, optional
        Anchors per view; by default ``max(200, 5 n_clusters)``. Never more than half
        of the view's samples.
    n_neighbors : int, optional
        Anchors that a sample is joined to; by default the number of anchors divided
        by the number of clusters, between 3 and 10.
    n_components : int, default=100
        Principal coordinates kept of a view with more features.
    n_init : int, optional
        k-means starts; by default 20, fewer for more than 20 clusters.
    anchor_sample : int or None, default=5000
        Rows per view that principal axes and anchors are sought on; None: all rows.
    learn_sample : int or None, default=20000
        Samples that everything is learnt from, drawn by missing pattern and held in
        memory, at least 200 for each cluster; all samples are then placed by what was
        learnt, in one pass, as `predict` does. None: learn from all samples.
    verbose : int, default=0
        1 writes stages, 2 also the objectives, to standard error.
    callback : callable, optional
        Called as ``callback(step, cut)`` with the relaxed normalised cuts (see
        ``objective_``) of the graphs of plain features (1), of rooted ones (2), of
        their joint graph (3), of the graphs of learnt features (4) and of the joint
        graph of all (5).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, 1 + n_vectors)
        Y before its rows are scaled to length one; `transform` gives the same.
    cluster_centers_ : ndarray of shape (n_clusters_, 1 + n_vectors)
        Means of the clusters' unit rows.
    n_clusters_ : int
        As given, or as suggested.
    evidence_ : {"strong", "weak", "none"} or None
        How clearly the data speak for the suggested number; "none": there may be no
        clusters at all, and a warning says so. None: the number was given.
    evidence_reason_ : str or None
        Why, in words.
    candidates_ : list of Candidate or None
        At most three numbers worth a look, the one taken first, each with k, r, v and
        the reason.
    stability_curve_ : ndarray of shape (n_candidates, 3) or None
        Candidate k; r, how much of its worst cluster comes back (0 to 1); v, how many
        samples lie between clusters rather than within (about 1: no valleys).
    cluster_stability_ : ndarray of shape (n_clusters_,) or None
        How much of every cluster comes back when anchors are drawn anew (mean best
        Jaccard index); below 0.75 a cluster is doubtful, NaN: not known.
    stability_ : float or None
        The same, mean over samples.
    view_weights_ : ndarray of shape (n_views,)
        Share of every view in the joint graph.
    view_agreement_ : ndarray of shape (n_views, n_views)
        0.01 (views that do not agree) to 1, mean of plain and rooted features.
    overlap_ : ndarray of int64, shape (n_views, n_views)
        Number of samples seen in both views.
    missingness_ : ndarray of shape (n_views, n_views)
        Entry (u, v): how well the spectrum of view u predicts that v is observed, an
        adjusted R^2. Above 0.1 views are hardly missing at random: a warning says so.
    component_views_ : list of tuple of int
        Groups of views joined by shared samples; more than one are clustered apart.
    weak_links_ : list of tuple
        Where groups hang by few samples: ``(views, n_shared)``, views that only
        ``n_shared`` samples, 2 n_clusters + 2 or less, link to the others of their
        group, fewest first. How their clusters match is uncertain: a warning says so,
        also where groups hang by many links that are all small.
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

    n_clusters: AtLeastTwo | _Several | None = field(  # type: ignore[assignment]
        kw_only=False, default=None
    )
    partition: Literal["guarded", "unit"] = "guarded"
    mask_as_view: bool = False
    stability: bool = False
    n_anchors: AtLeastTwo | None = None
    n_neighbors: Count | None = None
    n_components: Count = 100
    n_init: Count | None = None  # type: ignore[assignment]
    learn_sample: Count | None = 20_000

    _row_normalize = True
    _most_offset = np.inf  # features are centred
    # Three kinds of graphs, and what maps one view to another.
    _worker_room: ClassVar[int | None] = 48 * 2**20
    _learnt_before_solving: ClassVar[set] = {
        *("n_clusters_", "evidence_", "evidence_reason_", "candidates_"),
        *("stability_curve_", "component_views_"),
    }

    def _check_against(self, data):
        n = data.n_samples
        given: Any = self.n_clusters
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
        if self.n_anchors:
            anchor_model.check_neighbors(self.n_neighbors or 0, self.n_anchors)

    def _candidates(self, n):
        """Numbers of clusters to choose from, ascending."""
        if self.n_clusters is None:
            return list(range(2, max(2, min(_MOST_CLUSTERS, n // 5)) + 1))
        return sorted({int(k) for k in np.atleast_1d(self.n_clusters)})

    def _most_clusters(self, n):
        return max(self._candidates(n))

    def _learning_bytes(self, runner):
        kept = np.minimum(runner.n_features, self.n_components)
        columns = 4 * self._most_clusters(runner.n_samples) + 1
        # Views and features; the regressions of two views at a time; vectors of both
        # passes and predictions of every view; graph rows of all kinds.
        numbers = sum(runner.n_features) + 2 * kept.sum() + 8 * kept.max()
        numbers += (4 + 2 * runner.n_views) * columns + 120 * runner.n_views
        return int(numbers) * runner.dtype.itemsize

    def _statistics_bytes(self, runner, size):
        c = self._most_clusters(runner.n_samples)
        m = 3 * min(self.n_anchors or max(200, 5 * c), size // 2)  # of three kinds
        widths = m * np.array([len(p) for p in runner.surveyed.patterns])
        # Of every pattern, unless the samples are fewer numbers; and the joint graph's.
        grams = np.square(widths).sum() if widths.sum() <= size else 0
        return 8 * int(grams + 2 * (m * runner.n_views) ** 2)

    def _learn_blocks(self, runner, seeds):
        views = runner.sample(None, seeds[0])
        self._choose_number(runner, views, seeds)
        components = self._components(runner, self.n_clusters_)
        self._start_attributes(components.views, runner.n_views)
        self._survey_links(runner, components.views, self.n_clusters_)
        for i in range(len(components.views)):
            own = components.select(views, i)
            c = min(self.n_clusters_, own.n_samples)
            graphs, passes = self._learner(c, runner.map).learn(own, (seeds[0], i))
            share = own.n_samples / views.n_samples
            kept = add_kind(passes.rows, passes.placed)
            self._round(graphs, passes, kept, seeds[1], share, runner.map)
            if self.stability or self.evidence_ is not None:
                self._measure_stability(own, share, seeds, runner.map)
        self._collect_centers()
        self._warn()
        if len(components.views) == 1:
            self._keep_samples(runner, kept, seeds)

    def _components(self, runner, c):
        """Which views and samples belong together, if there are c clusters."""
        found = view_components(runner.surveyed.overlap, c)
        joined = join_groups(found, Links(runner.surveyed.patterns), c)
        return Components(inhabited(runner.surveyed.patterns, joined))

    def _survey_links(self, runner, component_views, c):
        """Count who is shared by which views; sets ``overlap_``, ``weak_links_``."""
        self.overlap_, links = runner.surveyed.overlap, Links(runner.surveyed.patterns)
        groups = view_components(self.overlap_, c)
        self.weak_links_ = weak_links(groups, component_views, links, c)

    def _choose_number(self, runner, views, seeds):
        """Set ``n_clusters_``, of several candidates the largest that comes back."""
        candidates = self._candidates(runner.n_samples)
        self.n_clusters_, self.evidence_ = candidates[0], None
        self.evidence_reason_ = self.candidates_ = self.stability_curve_ = None
        if len(candidates) == 1:
            return
        with self._stage("number of clusters"):
            most = candidates[-1]
            # Joined by as few links as the least number needs: views that only many
            # clusters would set apart must not be searched one by one.
            views = self._components(runner, candidates[0]).select(views, 0)
            learner = self._learner(most, runner.map, silent=True)
            reruns = Reruns.of(learner, views, (seeds[0],), both_passes=False)
            found = sweep(reruns.spaces, candidates, seeds[1], runner.map)
        self.n_clusters_, self.evidence_ = found.n_clusters, found.evidence
        self.evidence_reason_, self.candidates_ = found.reason, found.candidates
        self.stability_curve_ = found.curve

    def _measure_stability(self, views, share, seeds, map):
        """How well the clusters of the last component come back."""
        with self._stage("stability"):
            component = self._learnt[-1]
            learner = self._learner(component.c, map, silent=True)
            reruns = Reruns.of(learner, views, (seeds[0],), both_passes=True)
            partitions = partitions_of(reruns.spaces, component.c, seeds[1], map)
            labels = component.predict(reruns.views)
            J = cluster_stability(labels, partitions, component.c)
            self._collect_stability(J, labels, share)

    def _place_others(self, learning, runner):
        """Place all samples as new ones are, those that were learnt from too."""
        if hasattr(self, "_samples") and learning is not runner:
            self._samples = replace(self._samples, stand_for=runner.n_samples)
        anchor_model.place_all(self, runner)

    def _learner(self, c, map, silent=False):
        rule = self.n_anchors, self.n_neighbors, self.n_components, self.anchor_sample
        learner = Learner(GraphRule(c, *rule), self.mask_as_view, map)
        if silent:
            return learner
        steps = count(1)
        tell = lambda cut: self._report(next(steps), cut)  # noqa: E731
        return replace(learner, stage=self._stage, report=tell)

    def _starts(self, c):
        """k-means starts; with many clusters one costs more, and gains less."""
        return self.n_init or min(20, max(4, 400 // c))

    def _round(self, graphs, passes, kept, seed, share, map):
        """Step 8: the clusters of one component, from both of its passes.

        ``kept`` are the graph rows of its samples as KeptGraphs makes them.
        """
        c, (values, U) = (
            graphs.n_clusters,
            (passes.second.spectrum.values, passes.second.U),
        )
        with self._stage("kmeans"):
            X = diffused(U, values, c)
            starts = {"n_init": self._starts(c), "seed": seed, "map": map}
            centers, guard = unit_centers(X, c, **starts), None
            if self.partition == "guarded" and 2 < c <= len(values) + 1:
                guard = guarded_partition(passes, centers, c, **starts)
                sums, counts = sums_of(X, guard.assign(X[:, 1:]), c)
                centers = sums / np.maximum(counts, 1)[:, None]
            centers = centers.astype(self._dtype)
        component = ComponentModel(
            graphs,
            passes.second.joint,
            passes.second.spectrum,
            c,
            len(X),
            passes.r_squared,
            centers,
            guard,
        )
        if len(X) <= _FEW_SAMPLES * c:
            Y = unit_rows(embed_kept(kept, component, self._dtype))
            if len(np.unique(component.place(Y))) < c:
                # So few samples may be placed elsewhere than they were learnt.
                centers = unit_centers(Y, c, **starts).astype(self._dtype)
                component = replace(component, centers=centers, guard=None)
        self._collect(component, passes, share)
