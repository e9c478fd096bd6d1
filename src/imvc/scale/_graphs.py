"""Graph rows of a block of samples, and what the methods make of them.

Every function here is pure: the same samples give the same numbers in whatever block
they stand, and whichever runner calls it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from imvc.kernels._distances import block_slices
from imvc.kernels._patterns import group_rows, pattern_grams
from imvc.views import group_patterns

__all__ = [
    "GraphRows",
    "embed_rows",
    "graph_rows",
    "map_observed",
    "row_statistics",
]

_BLOCK_ENTRIES = 1 << 20  # numbers of one block of a view's rows
_GROUP_ENTRIES = 1 << 20  # weights of one block of a pattern's rows


def map_observed(function, views, v, *, map=map):
    """``function`` of the observed rows of view ``v``, block by block, in order."""
    rows = views.rows(v)
    complete = len(rows) == views.n_samples

    def block(part):
        return function(views.take(v, part if complete else rows[part]))

    return map(block, block_slices(len(rows), views.n_features[v], _BLOCK_ENTRIES))


@dataclass(frozen=True)
class GraphRows:
    """The weights of a block of samples over the anchors of their views.

    Parameters
    ----------
    mask : ndarray of bool, shape (n, n_views)
    graphs : tuple of (indices, weights), each of shape (n_v, k_v)
        Per view, of its observed samples in order; indices in the smallest unsigned
        type that holds them.
    nearest : tuple of ndarrays of shape (m_v, 2)
        Per view and anchor, how many samples it is the nearest of, and the sum of
        their squared distances: how well the anchors cover the view.
    """

    mask: np.ndarray
    graphs: tuple
    nearest: tuple

    @property
    def n_samples(self):
        return len(self.mask)

    @cached_property
    def patterns(self):
        """Groups of samples with the same views."""
        return group_patterns(self.mask)

    def select(self, chosen):
        """Some of the views, by number."""
        return GraphRows(
            self.mask[:, chosen],
            tuple(self.graphs[v] for v in chosen),
            tuple(self.nearest[v] for v in chosen),
        )

    def with_start(self, graph):
        """One more view that every sample has."""
        seen = np.ones((self.n_samples, 1), bool)
        return GraphRows(
            np.hstack([self.mask, seen]),
            (*self.graphs, graph),
            (*self.nearest, np.zeros((graph[0].shape[1], 2))),
        )

    def groups(self):
        """Blocks of samples of one pattern: ``(pattern, rows, graphs per view)``."""
        position = np.cumsum(self.mask, axis=0) - 1
        for pattern in self.patterns:
            width = sum(self.graphs[v][0].shape[1] for v in pattern.views)
            for part in block_slices(len(pattern.rows), width, _GROUP_ENTRIES):
                rows = pattern.rows[part]
                at = [(v, position[rows, v]) for v in pattern.views]
                graphs = [(self.graphs[v][0][i], self.graphs[v][1][i]) for v, i in at]
                yield pattern.views, rows, graphs

    def to_arrays(self):
        """A flat list of arrays; `from_arrays` is the inverse."""
        graphs = [array for graph in self.graphs for array in graph]
        shape = np.array(self.mask.shape)
        return [shape, np.packbits(self.mask), *graphs, *self.nearest]

    @classmethod
    def from_arrays(cls, arrays):
        (n, n_views), bits, *rest = arrays
        mask = np.unpackbits(bits, count=n * n_views).astype(bool)
        graphs, nearest = rest[: 2 * n_views], rest[2 * n_views :]
        pairs = tuple(zip(graphs[::2], graphs[1::2]))
        return cls(mask.reshape(n, n_views), pairs, tuple(nearest))


def graph_rows(views, graph_of, count=1):
    """GraphRows of a block.

    Parameters
    ----------
    views : IncompleteViews
    graph_of : callable
        ``graph_of(g, v, X)``: `anchor_rows` of rows ``X`` of view ``v`` in graph ``g``.
    count : int
        Graphs per view; the views of the second stand after those of the first.
    """
    V, graphs, nearest = views.n_views, [], []
    for i in range(count * V):
        g, v = divmod(i, V)
        parts = list(map_observed(lambda X: graph_of(g, v, X), views, v))  # noqa: B023
        if not parts:  # one row of zeros tells the number and the types of columns
            X = np.zeros((1, views.n_features[v]), views.dtype)
            indices, weights, own = graph_of(g, v, X)
            parts = [(indices[:0], weights[:0], 0 * own)]
        indices, weights, own = zip(*parts)
        graphs.append((np.concatenate(indices), np.concatenate(weights)))
        nearest.append(sum(own))
    return GraphRows(np.tile(views.mask, count), tuple(graphs), tuple(nearest))


def row_statistics(rows, sizes):
    """PatternGrams of a block of graph rows; they add up over blocks."""
    return pattern_grams(((p, graphs) for p, _, graphs in rows.groups()), sizes)


def embed_rows(rows, sizes, coefficients, d, dtype):
    """The embedding (n, d) whose rows in pattern p are Z_p C_p.

    Parameters
    ----------
    rows : GraphRows
    coefficients : callable
        Pattern -> C_p of shape (M_p, d).
    """
    C = {p.views: coefficients(p.views) for p in rows.patterns}
    Y = np.empty((rows.n_samples, d), dtype)
    for p, at, graphs in rows.groups():
        Y[at] = group_rows(graphs, [sizes[v] for v in p]) @ C[p]
    return Y
