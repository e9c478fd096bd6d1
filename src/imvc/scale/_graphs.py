"""Passes over the rows of incomplete views: graph rows, groups, embedding."""

import numpy as np

from imvc.kernels._bipartite import anchor_weights
from imvc.kernels._distances import block_slices
from imvc.kernels._patterns import group_rows

__all__ = ["anchor_graph", "embed_groups", "group_blocks", "map_observed"]

_GROUP_ENTRIES = 1 << 20  # weights of one block of a pattern's rows


def map_observed(function, views, v, *, map=map):
    """``function`` of the observed rows of view ``v``, block by block, in order."""
    rows = views.rows(v)
    complete = len(rows) == views.n_samples

    def block(part):
        return function(views.take(v, part if complete else rows[part]))

    return map(block, block_slices(len(rows), views.n_features[v]))


def anchor_graph(views, v, features, anchors, k, *, squared=True, map=map):
    """Graph rows ``(indices, weights)`` of the samples observed in view ``v``.

    Parameters
    ----------
    features : callable
        Block of rows of the view -> the features in which anchors live.
    anchors : ndarray of shape (m_v, p)
    k : int
        Neighbours; see ``anchor_weights``.
    """

    def graph(X):
        return anchor_weights(features(X), anchors, k, squared=squared)

    parts = list(map_observed(graph, views, v, map=map))
    if not parts:
        k = max(1, min(k, len(anchors) - 1))
        return np.empty((0, k), np.int32), np.empty((0, k), np.float64)
    return tuple(np.concatenate(arrays) for arrays in zip(*parts))


def group_blocks(views, graphs, extra=None):
    """Blocks of samples of one pattern: ``(pattern, rows, graph rows per view)``.

    ``extra`` is the graph of one more view that every sample has; it is numbered
    after the others.
    """
    position = np.cumsum(views.mask, axis=0) - 1
    for pattern in views.patterns():
        width = sum(graphs[v][0].shape[1] for v in pattern.views)
        for part in block_slices(len(pattern.rows), width, _GROUP_ENTRIES):
            rows = pattern.rows[part]
            parts = [
                (graphs[v][0][at], graphs[v][1][at])
                for v, at in ((v, position[rows, v]) for v in pattern.views)
            ]
            if extra is None:
                yield pattern.views, rows, parts
            else:
                parts.append((extra[0][rows], extra[1][rows]))
                yield (*pattern.views, views.n_views), rows, parts


def embed_groups(views, graphs, sizes, coefficients, d, *, dtype, extra=None, map=map):
    """The embedding (n, d) whose rows in pattern p are Z_p C_p.

    Parameters
    ----------
    coefficients : callable
        Pattern -> C_p of shape (M_p, d).
    """
    more = () if extra is None else (views.n_views,)
    C = {p.views + more: coefficients(p.views + more) for p in views.patterns()}
    Y = np.empty((views.n_samples, d), dtype)

    def block(item):
        p, rows, parts = item
        Y[rows] = group_rows(parts, [sizes[v] for v in p]) @ C[p]

    for _ in map(block, group_blocks(views, graphs, extra)):
        pass
    return Y
