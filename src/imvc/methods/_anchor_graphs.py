"""Anchors of every view, and the graph rows of samples old or new."""

from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from imvc.kernels._anchors import das_anchors, kmeans_anchors, random_rows
from imvc.kernels._patterns import pattern_grams
from imvc.kernels._scale import column_moments, merge_moments, scale_rows
from imvc.scale import anchor_graph, group_blocks, map_observed

ROWS_PER_ANCHOR = 20  # fewer would make centres of next to nothing


@dataclass(frozen=True)
class AnchorGraphs:
    """All that turns a row of a view into its graph row; knows no training sample.

    Parameters
    ----------
    anchors : list of ndarray (m_v, p_v)
    scale : {"unit", "standard"} or None
    deviations : list of ndarray (p_v,) or None
        Divisors of the columns, for ``scale="standard"``.
    n_neighbors : int
    squared : bool
    """

    anchors: list
    scale: str | None
    deviations: list
    n_neighbors: int
    squared: bool

    @property
    def sizes(self):
        return tuple(len(A) for A in self.anchors)

    def features(self, v):
        """Function from a block of rows of view ``v`` to its scaled features."""
        return partial(scale_rows, kind=self.scale, deviation=self.deviations[v])

    def rows(self, views, map):
        """Graph rows ``(indices, weights)`` of every view."""
        return [
            anchor_graph(
                views,
                v,
                self.features(v),
                self.anchors[v],
                self.n_neighbors,
                squared=self.squared,
                map=map,
            )
            for v in range(views.n_views)
        ]


def statistics(views, rows, sizes, map, extra=None):
    """PatternGrams of graph rows; ``extra`` as in `imvc.scale.group_blocks`."""
    blocks = ((p, graphs) for p, _, graphs in group_blocks(views, rows, extra))
    return pattern_grams(blocks, sizes, map)


def choose_anchors(views, seed, map, *, anchors, n_anchors, scale, sample):
    """``(anchors, deviations)`` of every view.

    Parameters
    ----------
    anchors : str or list of arrays
        The strategy, or the anchors themselves.
    sample : int or None
        Bound on the rows for ``anchors="kmeans"``.
    """
    deviations = [
        _deviation(views, v, map) if scale == "standard" else None
        for v in range(views.n_views)
    ]
    if not isinstance(anchors, str):
        return _given(anchors, views), deviations

    def choose(v):
        rng = check_random_state(np.random.RandomState([seed, v]))
        rows = views.rows(v)
        m = max(1, min(n_anchors, len(rows) - 1))
        features = partial(scale_rows, kind=scale, deviation=deviations[v])
        if anchors == "kmeans":
            size = max(sample, ROWS_PER_ANCHOR * m) if sample else len(rows)
            if len(rows) > size:
                rows = rows[random_rows(len(rows), size, rng)]
            return kmeans_anchors(features(views.take(v, rows)), m, rng)
        if anchors == "random":
            chosen = views.take(v, rows[random_rows(len(rows), m, rng)])
            chosen = features(chosen)
            return chosen.toarray() if sp.issparse(chosen) else chosen
        X = features(views.take(v, rows))
        return das_anchors(X, m, cosine=anchors == "das-cosine")

    return list(map(choose, range(views.n_views))), deviations


def _deviation(views, v, map):
    count, _, squares = reduce(
        merge_moments, map_observed(column_moments, views, v, map=map)
    )
    deviation = np.sqrt(squares / count)
    deviation[deviation == 0] = 1
    return deviation


def _given(anchors, views):
    """Anchors handed in by the user, checked."""
    if len(anchors) != views.n_views:
        raise ValueError(
            f"anchors has {len(anchors)} arrays, but there are {views.n_views} views; "
            f"give one array per view."
        )
    result = []
    for A, name, width in zip(anchors, views.names, views.n_features):
        A = np.asarray(A)
        if A.ndim != 2 or A.shape[1] != width or len(A) == 0:
            raise ValueError(
                f"anchors of view {name!r} have shape {A.shape}; expected "
                f"(n_anchors, {width})."
            )
        if not np.isfinite(A).all():
            raise ValueError(f"anchors of view {name!r} contain NaN or inf.")
        result.append(A)
    return result
