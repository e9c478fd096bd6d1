"""Steps 1 and 2 of AnchorBridge: features, anchors and graph rows of every view.

A view has one graph per *kind* of features: plain, rooted, and later learnt (step 7).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from imvc.kernels._anchor_graph import anchor_rows, anchor_weights, kmeans_anchors
from imvc.kernels._distances import row_products
from imvc.kernels._kmeans import random_rows
from imvc.kernels._pca import centred_features, principal_axes, signed_root_rows
from imvc.scale import GraphRows, map_observed
from imvc.views import name_places

PLAIN, ROOTED, LEARNT = 0, 1, 2


@dataclass(frozen=True)
class GraphRule:
    """How many anchors and neighbours a view gets; None: the rule of step 2."""

    n_clusters: int
    n_anchors: int | None
    n_neighbors: int | None
    n_components: int
    sample: int | None  # rows that principal axes and anchors are sought on
    least: int = 2  # anchors for each cluster, if there are so many samples

    def anchors(self, n_v):
        """m = min(max(200, 5c), n_v / 2); of few samples two per cluster, if so many.

        Samples that are joined to the same anchors cannot be told apart.
        """
        most = max(n_v // 2, min(n_v, self.least * self.n_clusters))
        return min(self.n_anchors or max(200, 5 * self.n_clusters), most)

    def neighbors(self, m):
        """k = m / c between 3 and 10, below m."""
        k = self.n_neighbors or min(max(m // self.n_clusters, 3), 10)
        return max(1, min(k, m - 1))

    def few(self, n_v, rng):
        """Numbers of the rows that axes and anchors come from, of ``n_v``."""
        size = n_v if self.sample is None else max(self.sample, self.anchors(n_v))
        return np.arange(n_v) if size >= n_v else random_rows(n_v, size, rng)


@dataclass(frozen=True)
class Coordinates:
    """Step 1 for one view and kind: centred unit rows, in principal coordinates."""

    rooted: bool  # whether sign(x) sqrt|x| replaces x
    mean: np.ndarray
    axes: np.ndarray | None  # where the view has more features than are kept

    @classmethod
    def learn(cls, X, rooted, n_components, rng):
        """From the observed rows of a view, or a sample of them."""
        X, axes = signed_root_rows(X) if rooted else X, None
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        if X.shape[1] > n_components:
            axes = principal_axes(X, mean, n_components, rng)
        return cls(rooted, mean, axes)

    def __call__(self, X):
        X = signed_root_rows(X) if self.rooted else X
        return centred_features(X, self.mean, self.axes)


@dataclass(frozen=True)
class Anchors:
    """Step 2 for one view and kind: from features to graph rows."""

    points: np.ndarray
    n_neighbors: int

    @classmethod
    def choose(cls, F, rule, n_v, seed):
        """k-means centres of features ``F``."""
        rng = np.random.RandomState(seed)
        points = kmeans_anchors(F, rule.anchors(n_v), rng)
        return cls(points, rule.neighbors(len(points)))

    def __len__(self):
        return len(self.points)

    def __call__(self, F, find=anchor_rows):
        return find(F, self.points, self.n_neighbors)


@dataclass(frozen=True)
class LearntMap:
    """Step 7 for one view: plain and rooted coordinates -> learnt features."""

    weights: np.ndarray
    offset: np.ndarray

    def __call__(self, F):
        F = np.hstack(F)
        predicted = row_products(F, self.weights.astype(F.dtype))
        return predicted - self.offset.astype(F.dtype)


@dataclass(frozen=True)
class ViewGraphs:
    """All that turns a row of one view into its graph rows, one per kind."""

    coordinates: tuple  # Coordinates of the plain and the rooted kind
    anchors: tuple  # Anchors of every kind
    map: LearntMap | None = None

    def features(self, X):
        """Features of every kind, of a block of rows."""
        F = [of_kind(X) for of_kind in self.coordinates]
        return F if self.map is None else [*F, self.map(F)]

    def __call__(self, X, find=anchor_rows):
        return [join(F, find) for join, F in zip(self.anchors, self.features(X))]


@dataclass(frozen=True)
class BridgeGraphs:
    """The graphs of all views: a block function that knows no training sample."""

    views: list  # ViewGraphs
    n_clusters: int  # that they were made for

    @property
    def sizes(self):
        """Anchors of every kind and view, kind by kind."""
        kinds = zip(*(own.anchors for own in self.views))
        return tuple(len(anchors) for kind in kinds for anchors in kind)

    def __call__(self, views, by_pattern=False):
        """GraphRows of a block of samples, one kind after the other.

        Those ``by_pattern`` are for an embedding alone, not to be kept.
        """
        rows = partial(self._rows, views, by_pattern=by_pattern)
        kinds = zip(*map(rows, range(views.n_views)))
        return stack_kinds(views.mask, kinds, by_pattern)

    def _rows(self, views, v, by_pattern):
        """Per kind (indices, weights, nearest) of the samples seen in view ``v``."""
        find = anchor_weights if by_pattern else anchor_rows
        join = partial(self.views[v], find=find)
        parts = list(map_observed(join, views, v, by_pattern=by_pattern))
        if not parts:  # one row of zeros tells the number and the types of columns
            X = np.zeros((1, views.n_features[v]), views.dtype)
            parts = [[(i[:0], w[:0], 0 * own) for i, w, own in join(X)]]
        return [
            (
                np.concatenate(indices),
                np.concatenate(weights),
                None if by_pattern else sum(nearest),
            )
            for indices, weights, nearest in (zip(*kind) for kind in zip(*parts))
        ]


def stack_kinds(mask, kinds, by_pattern=False):
    """GraphRows of kinds: per kind, per view, (indices, weights, nearest)."""
    found = [graph for kind in kinds for graph in kind]
    return GraphRows(
        np.tile(mask, len(found) // mask.shape[1]),
        tuple(graph[:2] for graph in found),
        tuple(graph[2] for graph in found),
        mask.shape[1] if by_pattern else 0,
    )


def add_kind(rows, kind):
    """GraphRows with one more kind: its (indices, weights, nearest) by view."""
    V = len(kind)
    return GraphRows(
        np.hstack([rows.mask, rows.mask[:, :V]]),
        (*rows.graphs, *(graph[:2] for graph in kind)),
        (*rows.nearest, *(graph[2] for graph in kind)),
    )


def view_seeds(views, seed):
    """A seed for every view that goes by its name; ``seed`` is a tuple."""
    return [(*seed, place) for place in name_places(views.names)]


def learn_features(views, rule, seeds, map):
    """Step 1: per view the Coordinates of both kinds, and the features of its rows."""

    def of_view(v):
        rows = views.rows(v)
        few = rule.few(len(rows), np.random.RandomState(seeds[v]))
        X = views.observed(v) if len(few) == len(rows) else views.take(v, rows[few])
        found = []
        for rooted in (False, True):
            rng = np.random.RandomState([*seeds[v], rooted])
            kind = Coordinates.learn(X, rooted, rule.n_components, rng)
            found.append((kind, np.concatenate(list(map_observed(kind, views, v)))))
        return tuple(zip(*found))

    return list(map(of_view, range(views.n_views)))


def choose_anchors(F, kind, rule, seeds, map):
    """Step 2: Anchors per view for features ``F`` of one kind, and their graph rows."""

    def of_view(task):
        seed, own = task
        few = rule.few(len(own), np.random.RandomState(seed))
        anchors = Anchors.choose(own[few], rule, len(own), [*seed, kind])
        return anchors, anchors(own)

    return list(map(of_view, zip(seeds, F)))
