"""Steps 1 and 2 of AnchorBridge: features, anchors and graph rows of every view."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import anchor_rows, kmeans_anchors
from imvc.kernels._pca import centred_features, principal_axes, signed_root_rows
from imvc.methods.anchor_model import sample_rows
from imvc.scale import graph_rows

VARIANTS = (False, True)  # whether features are rooted first: linear, sqrt


@dataclass(frozen=True)
class ViewGraph:
    """All that turns a row of one view into its graph row, for one variant.

    Parameters
    ----------
    rooted : bool
        Whether sign(x) sqrt|x| replaces x.
    mean : ndarray of shape (p,)
        Of the (rooted) observed rows.
    axes : ndarray of shape (p, r) or None
        Principal axes, where the view has more than r features.
    anchors : ndarray of shape (m, p or r)
    n_neighbors : int
    """

    rooted: bool
    mean: np.ndarray
    axes: np.ndarray | None
    anchors: np.ndarray
    n_neighbors: int

    def features(self, X):
        """Step 1 on a block of rows."""
        X = signed_root_rows(X) if self.rooted else X
        return centred_features(X, self.mean, self.axes)

    def rows(self, X):
        """Graph rows of a block of rows."""
        return anchor_rows(self.features(X), self.anchors, self.n_neighbors)

    def to_tree(self):
        """Its parts, for a file; `ViewGraph(*parts)` is the inverse."""
        return self.rooted, self.mean, self.axes, self.anchors, self.n_neighbors


@dataclass(frozen=True)
class BridgeGraphs:
    """The graphs of all views, for every variant: a block function.

    Parameters
    ----------
    variants : list of list of ViewGraph
    """

    variants: list

    @property
    def sizes(self):
        """Anchors of every variant and view."""
        return tuple(len(g.anchors) for views in self.variants for g in views)

    def to_tree(self):
        """Its parts, for a file; `from_tree` is the inverse."""
        return [[graph.to_tree() for graph in views] for views in self.variants]

    @classmethod
    def from_tree(cls, tree):
        return cls([[ViewGraph(*graph) for graph in views] for views in tree])

    def __call__(self, views):
        """GraphRows of a block of samples, one variant after the other."""
        return graph_rows(views, self._graph, len(self.variants))

    def _graph(self, g, v, X):
        return self.variants[g][v].rows(X)


@dataclass(frozen=True)
class GraphRule:
    """How many anchors and neighbours a view gets; None: the rule of step 2.

    Parameters
    ----------
    n_clusters : int
    n_anchors, n_neighbors : int or None
    n_components : int
    sample : int or None
        Rows that principal axes and anchors are sought on.
    """

    n_clusters: int
    n_anchors: int | None
    n_neighbors: int | None
    n_components: int
    sample: int | None

    def anchors(self, n_v):
        """m = min(max(200, 5c), n_v / 2), at least one."""
        return max(1, min(self.n_anchors or max(200, 5 * self.n_clusters), n_v // 2))

    def neighbors(self, m):
        """k = m / c between 3 and 10, below m."""
        k = self.n_neighbors or min(max(m // self.n_clusters, 3), 10)
        return max(1, min(k, m - 1))


def choose_graphs(runner, rule, seed, n_replicates=1):
    """BridgeGraphs for every anchor seed."""
    V, counts = runner.n_views, runner.surveyed.observed.sum(axis=0)

    def sample(v):
        rng = np.random.RandomState([*seed, v])  # both variants see the same rows
        size = max(rule.sample, rule.anchors(counts[v])) if rule.sample else counts[v]
        return sample_rows(runner, v, size, rng)

    rows = [sample(v) for v in range(V)]

    def choose(task):
        v, rooted = task
        m = rule.anchors(counts[v])
        return _variant_graphs(
            rows[v], rooted, rule, m, [*seed, v, rooted], n_replicates
        )

    tasks = [(v, rooted) for rooted in VARIANTS for v in range(V)]
    found = list(runner.map(choose, tasks))
    return [
        BridgeGraphs([[found[g * V + v][s] for v in range(V)] for g in range(2)])
        for s in range(n_replicates)
    ]


def choose_views(views, chosen):
    """The views numbered ``chosen``, over the same samples."""
    return replace(
        views,
        arrays=tuple(views.arrays[v] for v in chosen),
        mask=views.mask[:, chosen],
        names=tuple(views.names[v] for v in chosen),
        positions=tuple(views.positions[v] for v in chosen),
        feature_names=tuple(views.feature_names[v] for v in chosen),
    )


def _variant_graphs(X, rooted, rule, m, seed, n_replicates):
    """One view and variant: a graph per anchor seed, on the same features.

    Means and axes come from the same rows as the anchors: all of them, or a sample.
    """
    X, axes = signed_root_rows(X) if rooted else X, None
    mean = _column_means(X)
    if X.shape[1] > rule.n_components:
        rng = np.random.RandomState(seed)
        axes = principal_axes(X, mean, rule.n_components, rng)
    F = centred_features(X, mean, axes)
    graphs = []
    for s in range(n_replicates):
        anchors = kmeans_anchors(F, m, np.random.RandomState([*seed, s]))
        k = rule.neighbors(len(anchors))
        graphs.append(ViewGraph(rooted, mean, axes, anchors, k))
    return graphs


def _column_means(X):
    if sp.issparse(X):
        return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return X.mean(axis=0, dtype=np.float64)
