"""Blocks of samples: the sources that give them, and the graph rows made of them.

A source is the one interface between data and runners. What is made of a block is
pure: the same samples give the same numbers in whatever block they stand, and
whichever runner calls.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._file_stamps import check_unchanged
from imvc.kernels._anchor_graph import anchor_rows, anchor_weights, scale_rows
from imvc.kernels._distances import block_slices
from imvc.kernels._patterns import group_rows, pattern_grams
from imvc.views import (
    IncompleteViews,
    ViewSchema,
    group_patterns,
    id_keys,
    stack_samples,
)

_BLOCK_ROWS = 32_768  # of views in memory
_SPLIT_ROWS = 4_096  # smaller blocks are not worth a thread
_BLOCK_ENTRIES = 1 << 20  # numbers of one block of a view's rows
_GROUP_ENTRIES = 1 << 20  # weights of one block of a pattern's rows


class BlockSource(ABC):
    """Incomplete views as numbered blocks of consecutive samples.

    Sources travel to other processes, so they can be pickled; files are opened anew
    where they are read.

    Parameters
    ----------
    names : tuple of str
    n_features : tuple of int
    feature_names : tuple of (tuple of str or None)
    dtype : dtype
        float32 when every view gives float32 rows, else float64.
    starts : ndarray of int64, shape (n_blocks + 1,)
        First sample of every block, and the number of samples. Blocks may be empty.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    feature_names: tuple[tuple[str, ...] | None, ...]
    dtype: np.dtype
    starts: np.ndarray
    in_memory = False
    has_ids = False  # whether samples have ids of their own, not just numbers

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.starts[-1])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.names)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    @property
    def schema(self) -> ViewSchema:
        """Names and features, which new data must agree with."""
        return ViewSchema(self.names, self.n_features, self.feature_names)

    def span(self, i: int) -> tuple[int, int]:
        """First sample of block `i`, and the one after its last."""
        return int(self.starts[i]), int(self.starts[i + 1])

    @property
    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What identifies the data, in JSON's types: a killed run checks it."""

    @property
    def stamps(self) -> Any:
        """What holds the stamps of the files that are read; by default there are none.

        Dask arrays, and blocks that a program makes, are not watched.
        """
        return ()

    def check_unchanged(self, cause: Exception | None = None) -> None:
        """Refuse files that changed since they were opened."""
        check_unchanged(self.stamps, cause)

    @abstractmethod
    def mask(self, i: int) -> np.ndarray:
        """Which samples of block `i` are observed in which view, (n_i, V)."""

    @abstractmethod
    def block(self, i: int) -> IncompleteViews:
        """The samples of block `i`, checked; views that none of them has included."""

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        """Rows of view `v` of some samples of block `i`, numbered within it."""
        return self.block(i).take(v, local)

    def samples(self, i: int, local: np.ndarray, mask: np.ndarray) -> IncompleteViews:
        """Some samples of block `i`, without the rest of it, whose mask is at hand."""
        return stack_samples([self.block(i).select(local)])

    def ids(self, i: int) -> np.ndarray | None:
        """Ids of the samples of block `i`; None where samples are just numbered."""
        return None

    def keys(self, i: int) -> np.ndarray:
        """Keys of the samples of block `i`, made of their ids, which they must have."""
        ids = self.ids(i)
        assert ids is not None
        return id_keys(ids)

    def content(self) -> str:
        """Checksum of what is observed, for data that no file's time tells apart."""
        digest = hashlib.blake2b(digest_size=16)
        for i in range(self.n_blocks):
            views = self.block(i)
            digest.update(np.packbits(views.mask).tobytes())
            for v in range(self.n_views):
                X = views.observed(v)
                parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
                for part in parts:
                    digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()


class ViewsSource(BlockSource):
    """Views in memory, cut into slices of about equal size.

    Parameters
    ----------
    views : IncompleteViews
    block_rows : int, optional
        By default up to 32 768, and four blocks where the samples are fewer: a
        number that does not depend on the threads, as results must not.
    """

    in_memory = True

    def __init__(self, views: IncompleteViews, block_rows: int | None = None) -> None:
        n = views.n_samples
        self.views = views
        self.has_ids = views.sample_ids is not None and not views.numbered
        self.names, self.n_features = views.names, views.n_features
        self.feature_names, self.dtype = views.feature_names, views.dtype
        if block_rows is None:
            count = max(-(-n // _BLOCK_ROWS), min(4, -(-n // _SPLIT_ROWS)), 1)
            self.starts = np.linspace(0, n, count + 1).astype(np.int64)
        else:
            self.starts = np.append(np.arange(0, n, block_rows, dtype=np.int64), n)

    @property
    def fingerprint(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "kind": "memory",
            "n_samples": self.n_samples,
            "n_features": list(self.n_features),
            "content": self.content(),
        }
        keys = self.views.sample_keys
        if keys is not None:  # draws go by them
            found["ids"] = hashlib.blake2b(keys.tobytes(), digest_size=16).hexdigest()
        return found

    def _slice(self, i: int) -> slice:
        return slice(*self.span(i))

    def mask(self, i: int) -> np.ndarray:
        return self.views.mask[self._slice(i)]

    def block(self, i: int) -> IncompleteViews:
        return self.views if self.n_blocks == 1 else self.views.select(self._slice(i))

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        return self.views.take(v, self.starts[i] + local)

    def ids(self, i: int) -> np.ndarray | None:
        ids = self.views.sample_ids
        return None if ids is None else ids[self._slice(i)]


def map_observed(function, views, v, *, map=map, by_pattern=False):
    """``function`` of the observed rows of view ``v``, block by block, in order.

    The order is that of the samples or, ``by_pattern``, pattern after pattern.
    """
    rows = views.rows(v)
    complete = len(rows) == views.n_samples
    if by_pattern and len(views.patterns()) > 1:
        own = [pattern.rows for pattern in views.patterns() if v in pattern.views]
        rows, complete = np.concatenate([rows[:0], *own]), False

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
        their squared distances: how well the anchors cover the view. None where
        nobody asks for it.
    by_pattern : int
        0: the rows of a view stand in the order of the samples. Else they stand by the
        patterns of so many views, of which there may be several graphs.
    """

    mask: np.ndarray
    graphs: tuple
    nearest: tuple
    by_pattern: int = 0

    @property
    def n_samples(self):
        return len(self.mask)

    @cached_property
    def patterns(self):
        """Groups of samples with the same views."""
        found = group_patterns(self.mask)
        if not self.by_pattern:
            return found
        return sorted(found, key=lambda p: [v for v in p.views if v < self.by_pattern])

    @classmethod
    def stack(cls, parts):
        """The rows of several blocks, one after the other."""
        if len(parts) == 1:
            return parts[0]
        graphs = [
            tuple(np.concatenate(arrays) for arrays in zip(*own))
            for own in zip(*(part.graphs for part in parts))
        ]
        nearest = [sum(own) for own in zip(*(part.nearest for part in parts))]
        mask = np.concatenate([part.mask for part in parts])
        return cls(mask, tuple(graphs), tuple(nearest))

    def take(self, samples):
        """Some of the samples, by number; the rows of views stand in their order."""
        position, mask = np.cumsum(self.mask, axis=0) - 1, self.mask[samples]
        at = [own[samples][seen] for own, seen in zip(position.T, mask.T)]
        graphs = tuple((i[own], w[own]) for (i, w), own in zip(self.graphs, at))
        return GraphRows(mask, graphs, self.nearest)

    def select(self, chosen):
        """Some of the views, by number."""
        return GraphRows(
            self.mask[:, chosen],
            tuple(self.graphs[v] for v in chosen),
            tuple(self.nearest[v] for v in chosen),
            self.by_pattern,
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
        position = None if self.by_pattern else np.cumsum(self.mask, axis=0) - 1
        done = [0] * self.mask.shape[1]
        for pattern in self.patterns:
            width = sum(self.graphs[v][0].shape[1] for v in pattern.views)
            for part in block_slices(len(pattern.rows), width, _GROUP_ENTRIES):
                rows, graphs = pattern.rows[part], []
                for v in pattern.views:
                    if position is None:
                        at = slice(done[v] + part.start, done[v] + part.stop)
                    else:
                        at = position[rows, v]
                    indices, weights = self.graphs[v]
                    graphs.append((indices[at], weights[at]))
                yield pattern.views, rows, graphs
            for v in pattern.views:
                done[v] += len(pattern.rows)

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


def graph_rows(views, graph_of, by_pattern=False):
    """GraphRows of a block.

    ``graph_of(v, X)`` gives `anchor_rows` of rows ``X`` of view ``v``; or, for rows
    ``by_pattern``, which nobody will keep, `anchor_weights`.
    """
    V, graphs, nearest = views.n_views, [], []
    for v in range(V):
        function = partial(graph_of, v)
        parts = list(map_observed(function, views, v, by_pattern=by_pattern))
        if not parts:  # one row of zeros tells the number and the types of columns
            X = np.zeros((1, views.n_features[v]), views.dtype)
            indices, weights, own = graph_of(v, X)
            parts = [(indices[:0], weights[:0], 0 * own)]
        indices, weights, own = zip(*parts)
        if len(parts) > 1:
            graphs.append((np.concatenate(indices), np.concatenate(weights)))
        else:
            graphs.append((indices[0], weights[0]))
        nearest.append(None if by_pattern else sum(own))
    order = V if by_pattern else 0
    rows = GraphRows(views.mask, tuple(graphs), tuple(nearest), order)
    if by_pattern:
        vars(rows)["patterns"] = views.patterns()  # cached there, known here
    return rows


@dataclass(frozen=True)
class AnchorGraphs:
    """Graph rows from anchors: a block function that knows no training sample."""

    anchors: list  # per view an ndarray (m_v, p_v)
    deviations: list  # per view divisors of the columns, for "standard"; else None
    scale: str | None  # "unit", "standard" or None
    n_neighbors: int
    squared: bool  # whether weights come from squared distances

    @property
    def sizes(self):
        return tuple(len(A) for A in self.anchors)

    def __call__(self, views):
        return graph_rows(views, partial(self._rows, anchor_rows))

    def by_pattern(self, views):
        """Graph rows that nobody keeps, by pattern: all that an embedding needs."""
        return graph_rows(views, partial(self._rows, anchor_weights), by_pattern=True)

    def _rows(self, find, v, X):
        """Of rows ``X`` of view ``v``."""
        X = scale_rows(X, self.scale, self.deviations[v])
        return find(X, self.anchors[v], self.n_neighbors, squared=self.squared)


def row_statistics(rows, sizes, **options):
    """PatternGrams of a block of graph rows; they add up over blocks.

    ``options`` are those of `pattern_grams`.
    """
    groups = ((p, graphs) for p, _, graphs in rows.groups())
    return pattern_grams(groups, sizes, **options)


def embed_rows(rows, sizes, coefficients, d, dtype):
    """The embedding (n, d) whose rows in pattern p are Z_p C_p.

    ``coefficients`` gives C_p, of shape (M_p, d), of a pattern of the GraphRows; the
    product is made in its precision.
    """
    C = {p.views: coefficients(p.views) for p in rows.patterns}
    Y = np.empty((rows.n_samples, d), dtype)
    for p, at, graphs in rows.groups():
        Y[at] = group_rows(graphs, [sizes[v] for v in p], C[p].dtype) @ C[p]
    return Y
