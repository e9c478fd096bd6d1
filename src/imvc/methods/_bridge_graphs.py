"""Steps 1 and 2 of AnchorBridge: features, anchors and graph rows of every view."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchors import kmeans_anchors, random_rows
from imvc.kernels._pca import centred_features, principal_axes, signed_root_rows
from imvc.scale import anchor_graph

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

    def rows(self, views, v, map):
        """Graph rows ``(indices, weights)`` of the samples of view ``v``."""
        k = self.n_neighbors
        return anchor_graph(views, v, self.features, self.anchors, k, map=map)


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


def choose_graphs(views, rule, seed, map, n_replicates=1):
    """Graphs per anchor seed, variant and view: ``graphs[replicate][variant][v]``."""

    def choose(task):
        v, rooted = task
        rng = np.random.RandomState([*seed, v])  # both variants see the same rows
        rows = views.rows(v)
        m = rule.anchors(len(rows))
        size = max(rule.sample, m) if rule.sample else len(rows)
        if len(rows) > size:
            rows = rows[random_rows(len(rows), size, rng)]
        X = views.take(v, rows)
        return _variant_graphs(X, rooted, rule, m, [*seed, v, rooted], n_replicates)

    tasks = [(v, rooted) for rooted in VARIANTS for v in range(views.n_views)]
    found = list(map(choose, tasks))
    V = views.n_views
    return [
        [[found[g * V + v][s] for v in range(V)] for g in range(len(VARIANTS))]
        for s in range(n_replicates)
    ]


def stacked(views, chosen):
    """The views numbered ``chosen`` (repeats allowed), over the same samples."""
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
