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

import warnings
from functools import partial
from itertools import pairwise
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from imvc.kernels._bipartite import inverse_sqrt_degrees
from imvc.kernels._gram_svd import inverse_sqrt
from imvc.kernels._kmeans import kmeans
from imvc.kernels._scale import unit_rows
from imvc.methods._anchor_graphs import statistics
from imvc.methods._base import draw_seed
from imvc.methods._bridge_agreement import (
    leading_without_constant,
)
from imvc.methods._bridge_clusters import (
    mean_agreement,
    partition,
    stability_curve,
    suggest,
)
from imvc.methods._bridge_components import inhabited, owners, view_components
from imvc.methods._bridge_evidence import weigh_evidence
from imvc.methods._bridge_graphs import VARIANTS, GraphRule, choose_graphs, stacked
from imvc.methods._bridge_guard import guarded_partition
from imvc.methods._bridge_joint import JointGraph, many_patterns
from imvc.methods._bridge_part import Part
from imvc.methods._inductive import InductiveClusterer
from imvc.scale import threaded_map
from imvc.views import as_views

_WARN_MISSINGNESS = 0.1
_LONGEST_TIME = 2.0**20  # equal singular values never fall below the target
_MOST_CLUSTERS = 15  # of the candidates where none are given
_SWEEP_ROWS = 10_000  # samples on which numbers of clusters are compared


class AnchorBridge(InductiveClusterer):
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

    def _embed(self, views, rng, map):
        seed = draw_seed(rng)
        self.overlap_ = views.mask.T.astype(np.int64) @ views.mask
        self._choose_number(views, seed, map)
        found = view_components(self.overlap_, self.n_clusters_)
        self.component_views_ = inhabited(views.mask, found)
        self._start_attributes(views.n_views)
        self._owned, blocks = list(self._components(views)), []
        for i, (rows, own) in enumerate(self._owned):
            c = min(self.n_clusters_, own.n_samples)
            part, evidence, Y = self._fit_part(own, c, (seed, i), map)
            self._collect(part, evidence, own.n_samples / views.n_samples)
            blocks.append((rows, Y))
        self._warn()
        return self._side_by_side(blocks, views)

    def _fit_part(self, views, c, seed, map):
        """Steps 1 to 6 (and 8) on views that shared samples join."""
        with self._stage("anchors"):
            graphs = choose_graphs(views, self._rule(c), seed, map, 1 + self.stability)
        evidence = self._evidence(views, graphs[0], c, map)
        for step, cut in enumerate(evidence.cuts, 1):
            self._report(step, cut)
        with self._stage("joint graph"):
            omega = mask_share(evidence.missingness) if self.mask_as_view else 0.0
            joint = JointGraph(evidence.bridges, omega)
            N, degrees = joint_statistics(joint, evidence, views)
            values, W = joint_spectrum(joint, N, degrees, 4 * c)
            time = diffusion_time(values, effective_dimension(c))
            part = Part(graphs[0], joint, values, W, time, views.n_samples, c)
            self._report(1 + len(VARIANTS), part.cut)
        with self._stage("embedding"):
            Y = part.embed(views, evidence.rows, map)
        if self.stability:
            other = self._evidence(views, graphs[1], c, map)
            with self._stage("stability"):
                spaces = single_spaces(views, [evidence, other], 4 * c, map)
                found = [partition(space(c), c, seed[0], map) for space in spaces]
                evidence.stability = mean_agreement(found)[0]
        return part, evidence, Y

    def _evidence(self, views, graphs, c, map):
        """Steps 2 to 4 for one anchor seed: graph rows, agreement and bridges."""
        with self._stage("graph"):
            rows = [
                graph.rows(views, v, map)
                for variant in graphs
                for v, graph in enumerate(variant)
            ]
        with self._stage("statistics"):
            sizes = tuple(len(graph.anchors) for variant in graphs for graph in variant)
            twice = stacked(views, [*range(views.n_views)] * len(VARIANTS))
            grams = statistics(twice, rows, sizes, map)
            if not many_patterns(views, sizes):
                grams = grams.densified()
        with self._stage("agreement"):
            return weigh_evidence(views, rows, grams, c, map)

    def _choose_number(self, views, seed, map):
        """Set ``n_clusters_``: of several candidates the most stable one."""
        candidates = self._candidates(views.n_samples)
        self.n_clusters_, self.evidence_, self.stability_curve_ = (
            candidates[0],
            None,
            None,
        )
        if len(candidates) == 1:
            return
        rows = np.random.RandomState(seed).permutation(views.n_samples)[:_SWEEP_ROWS]
        views, most = views.select(np.sort(rows)), max(candidates)
        graphs = choose_graphs(views, self._rule(most), (seed,), map, 2)
        evidence = [self._evidence(views, pair, most, map) for pair in graphs]
        with self._stage("number of clusters"):
            spaces = single_spaces(views, evidence, 4 * most, map)
            self.stability_curve_ = stability_curve(spaces, candidates, seed, map)
        self.n_clusters_, self.evidence_ = suggest(self.stability_curve_)

    def _components(self, views):
        """``(samples, IncompleteViews)`` of every component."""
        if len(self.component_views_) == 1:
            return [(np.arange(views.n_samples), views)]
        owner = owners(views.mask, self.component_views_)
        samples = [
            np.flatnonzero(owner == i) for i in range(len(self.component_views_))
        ]
        return [
            (rows, stacked(views, list(chosen)).select(rows))
            for rows, chosen in zip(samples, self.component_views_)
        ]

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
            warnings.warn(
                f"the views fall into groups that share too few samples, {groups}; "
                f"each group is clustered apart, its clusters have numbers of their "
                f"own, and nothing tells which of them belong together.",
                UserWarning,
                stacklevel=4,
            )
        u, v = np.unravel_index(self.missingness_.argmax(), self.missingness_.shape)
        if self.missingness_[u, v] > _WARN_MISSINGNESS:
            warnings.warn(
                f"views are not missing at random: view {self.view_names_[u]!r} "
                f"predicts where {self.view_names_[v]!r} is observed (missingness_ "
                f"{self.missingness_[u, v]:.2f}); clusters may follow what is missing.",
                UserWarning,
                stacklevel=4,
            )

    def _side_by_side(self, blocks, views):
        """One embedding of all components, each in columns of its own."""
        if len(self._parts) == 1:
            return blocks[0][1]
        columns = self._columns
        result = np.zeros((views.n_samples, columns[-1].stop), views.dtype)
        for (rows, Y), own in zip(blocks, columns):
            result[rows, own] = Y
        return result

    @property
    def _columns(self):
        """Columns of the embedding that belong to each component."""
        ends = np.cumsum([0, *(part.dim for part in self._parts)])
        return [slice(*pair) for pair in pairwise(ends)]

    def _partition(self, seed, map):
        """Steps 6 and 7; components are numbered one after the other."""
        Y, first, self.inertia_ = self.embedding_, 0, 0.0
        total = sum(part.c for part in self._parts)
        self.labels_ = np.zeros(len(Y), np.int64)
        self.cluster_centers_ = np.zeros((total, Y.shape[1]), Y.dtype)
        for part, columns, (rows, _) in zip(self._parts, self._columns, self._owned):
            X = unit_rows(Y[rows, columns])
            self._cluster_part(part, X, Y[rows, columns], seed, map)
            labels = part.place(X)
            self.labels_[rows] = first + labels
            self.cluster_centers_[first : first + part.c, columns] = part.centers
            self.inertia_ += float(np.square(X - part.centers[labels]).sum())
            first += part.c
        del self._owned

    def _cluster_part(self, part, X, Y, seed, map):
        """Learn where a component's clusters are, from its unit rows ``X``."""
        result = kmeans(X, part.c, n_init=self.n_init, random_state=seed, map=map)
        part.centers = result.centers
        if self.partition == "guarded" and 1 < part.c <= len(part.values) + 1:
            U = Y[:, 1:] / part.decay.astype(Y.dtype)
            part.guard = guarded_partition(
                X[:, 1:],
                U,
                part.values,
                result.labels,
                part.c,
                n_init=self.n_init,
                seed=seed,
                map=map,
            )
            labels = part.place(X)
            members = np.maximum(np.bincount(labels, minlength=part.c), 1)
            sums = np.stack(
                [np.bincount(labels, x, minlength=part.c) for x in X.T], axis=1
            )
            part.centers = (sums / members[:, None]).astype(X.dtype)

    def _embed_new(self, views, map):
        blocks = [
            (rows, part.embed(own, part.rows(own, map), map))
            for part, (rows, own) in zip(self._parts, self._components(views))
        ]
        return self._side_by_side(blocks, views)

    def predict(self, Xs, *, mask=None):
        """Nearest cluster of samples, new ones or those of the fit.

        Parameters
        ----------
        Xs, mask : as in `transform`

        Returns
        -------
        ndarray of int64, shape (n_samples,)
        """
        check_is_fitted(self)
        views = as_views(Xs, mask, like=self._schema)
        labels, first = np.zeros(views.n_samples, np.int64), 0
        with threaded_map(self.n_jobs) as map:
            for part, (rows, own) in zip(self._parts, self._components(views)):
                Y = part.embed(own, part.rows(own, map), map)
                labels[rows] = first + part.place(unit_rows(Y))
                first += part.c
        return labels

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


def mask_share(missing):
    """omega: how well a view's absence is predicted by another, mean over views."""
    return float(np.maximum(missing.max(axis=0), 0).mean())


def joint_statistics(joint, evidence, views):
    """R'R and the column sums of R: by patterns, or by rows where that is less."""
    if many_patterns(views, joint.sizes):
        return joint.row_statistics(views, evidence.rows)
    return joint.statistics(evidence.grams)


def joint_spectrum(joint, N, degrees, K):
    """Step 5: squared singular values of B and W with u_j = R W_j, without u_0."""
    scale = inverse_sqrt_degrees(degrees) * joint.factors
    values, Q = leading_without_constant(N, degrees, scale, K)
    kept = values > 0
    values, Q = values[kept], Q[:, kept]
    # In the order of rows, as a model file keeps it: products round alike.
    return values, np.ascontiguousarray(scale[:, None] * Q * inverse_sqrt(values))


def effective_dimension(c):
    """d_eff = (c - 1) + min(1.5 (c - 1), 3 sqrt(c - 1))."""
    return (c - 1) + min(1.5 * (c - 1), 3 * np.sqrt(c - 1))


def diffusion_time(values, target):
    """t >= 0 with (sum_j s_j^2t)^2 / sum_j s_j^4t = target, by bisection."""

    def dimension(t):
        powers = (values / values[0]) ** t
        return powers.sum() ** 2 / np.square(powers).sum()

    if len(values) <= target:
        return 0.0
    low, high = 0.0, 1.0
    while dimension(high) > target and high < _LONGEST_TIME:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if dimension(middle) > target else (low, middle)
    return (low + high) / 2


def single_spaces(views, evidence, K, map):
    """For every single graph a function k -> its unit rows of step 6 (for step 8)."""
    spaces = []
    for found in evidence:
        whole = JointGraph(found.bridges)
        N, degrees = joint_statistics(whole, found, views)
        for g, bridge in enumerate(found.bridges):
            own, single = whole.columns(g, range(views.n_views)), JointGraph([bridge])
            values, W = joint_spectrum(single, N[np.ix_(own, own)], degrees[own], K)
            rows = found.rows[g * views.n_views : (g + 1) * views.n_views]
            U = single.embed(views, rows, W, 1 / np.sqrt(views.n_samples), map)
            spaces.append(partial(diffusion_rows, U, values))
    return spaces


def diffusion_rows(U, values, c):
    """Unit rows of [u_0 / (c - 1), u_j s_j^t] with the 4c leading vectors."""
    values = values[: 4 * c]
    decay = values ** (diffusion_time(values, effective_dimension(c)) / 2)
    factors = np.concatenate([[1 / max(c - 1, 1)], decay]).astype(U.dtype)
    return unit_rows(U[:, : len(factors)] * factors)
