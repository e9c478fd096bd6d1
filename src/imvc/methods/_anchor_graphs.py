"""Anchors of every view, and the graph rows of samples old or new."""

from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import (
    anchor_rows,
    column_moments,
    das_anchors,
    kmeans_anchors,
    merge_moments,
    scale_rows,
)
from imvc.kernels._kmeans import random_rows
from imvc.scale import graph_rows, map_observed

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

    def graph(self, g, v, X):
        """Graph row of every row ``X`` of view ``v``; there is one graph, ``g`` = 0."""
        X = scale_rows(X, self.scale, self.deviations[v])
        return anchor_rows(X, self.anchors[v], self.n_neighbors, squared=self.squared)

    def __call__(self, views):
        """GraphRows of a block of samples."""
        return graph_rows(views, self.graph)


def choose_anchors(runner, seed, *, anchors, n_anchors, scale, sample):
    """``(anchors, deviations)`` of every view.

    Parameters
    ----------
    runner : Runner, surveyed
    anchors : str or list of arrays
        The strategy, or the anchors themselves.
    sample : int or None
        Bound on the rows for ``anchors="kmeans"``.
    """
    views = range(runner.n_views)
    deviations = [None] * runner.n_views
    if scale == "standard":
        deviations = column_deviations(runner)
    if not isinstance(anchors, str):
        return _given(anchors, runner), deviations
    counts = runner.surveyed.observed.sum(axis=0)
    rngs = [np.random.RandomState([seed, v]) for v in views]

    def size(v):
        m = max(1, min(n_anchors, counts[v] - 1))
        if anchors == "random":
            return m
        if anchors == "kmeans" and sample:
            return min(max(sample, ROWS_PER_ANCHOR * m), counts[v])
        return counts[v]

    rows = [
        runner.observed_rows(
            v,
            random_rows(counts[v], size(v), rngs[v])
            if anchors == "random" or size(v) < counts[v]
            else None,
        )
        for v in views
    ]

    def choose(v):
        X = scale_rows(rows[v], scale, deviations[v])
        m = max(1, min(n_anchors, counts[v] - 1))
        if anchors == "kmeans":
            return kmeans_anchors(X, m, rngs[v])
        if anchors == "random":
            return X.toarray() if sp.issparse(X) else X
        return das_anchors(X, m, cosine=anchors == "das-cosine")

    return list(runner.map(choose, views)), deviations


def column_deviations(runner):
    """Standard deviation of the columns of every view, 1 where it is 0."""
    moments = runner.collect(block_moments, runner.blocks)
    result = []
    for own in zip(*moments):
        parts = [part for part in own if part is not None]
        count, _, squares = reduce(merge_moments, parts)
        deviation = in_round_numbers(np.sqrt(squares / count))
        deviation[deviation == 0] = 1
        result.append(deviation)
    return result


def in_round_numbers(x):
    """Positive numbers to 24 bits: sums over other blocks then give the same."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2**24) / 2**24, exponent)


def block_moments(views):
    """Column moments of every view of a block; None where nobody has the view."""
    return [
        reduce(merge_moments, map_observed(column_moments, views, v))
        if len(views.rows(v))
        else None
        for v in range(views.n_views)
    ]


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
