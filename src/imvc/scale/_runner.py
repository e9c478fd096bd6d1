"""What every runner offers: block functions over all blocks, wherever they are.

The methods speak to a runner only. Results of blocks that are needed again are *kept*
where the blocks live (in memory, in a folder, on Dask workers); only sums and a few
rows ever come together.
"""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._kmeans import add_results
from imvc.scale._source import BlockSource
from imvc.views import group_patterns, stack_samples

__all__ = [
    "Chain",
    "KeptRows",
    "KeptSource",
    "Runner",
    "SourceBlocks",
    "SourceMasks",
    "Survey",
    "in_turn",
]


@dataclass(frozen=True)
class SourceBlocks:
    """The blocks of a source, as inputs of block functions."""

    source: Any

    def __getitem__(self, i):
        return self.source.block(i)


@dataclass(frozen=True)
class SourceMasks:
    """The masks of the blocks of a source."""

    source: Any

    def __getitem__(self, i):
        return self.source.mask(i)


@dataclass(frozen=True)
class Survey:
    """Who is observed where, in numbers.

    Parameters
    ----------
    observed : ndarray of int64, shape (n_blocks, n_views)
        Observed samples per block and view.
    patterns : dict
        Tuple of views -> number of samples observed in just these.
    """

    observed: np.ndarray
    patterns: dict

    @property
    def overlap(self):
        """Samples seen in both of two views, (V, V)."""
        V = self.observed.shape[1]
        result = np.zeros((V, V), np.int64)
        for p, count in self.patterns.items():
            result[np.ix_(p, p)] += count
        return result


class KeptSource(BlockSource):
    """Samples of which only the graph rows are left.

    Parameters
    ----------
    rows : indexable
        GraphRows per block.
    starts : ndarray
    schema : ViewSchema
    dtype : dtype
    """

    def __init__(self, rows, starts, schema, dtype):
        self._rows, self.starts, self.dtype = rows, starts, dtype
        self.names, self.n_features = schema.names, schema.n_features
        self.feature_names = schema.feature_names

    @property
    def fingerprint(self):
        return {"kind": "graph rows", "n_samples": self.n_samples}

    def mask(self, i):
        return self._rows[i].mask[:, : self.n_views]

    def block(self, i):
        raise ValueError("only graph rows of these samples were kept.")


class Chain:
    """What was kept of several runs of blocks, one after the other.

    Parameters
    ----------
    parts : list of indexables
    counts : list of int
        Blocks of each.
    """

    def __init__(self, parts, counts):
        self._parts, self._ends = parts, np.cumsum(counts)

    def __getitem__(self, i):
        j = int(np.searchsorted(self._ends, i, side="right"))
        return self._parts[j][i - (int(self._ends[j - 1]) if j else 0)]


class Runner(ABC):
    """Runs block functions over the blocks of a source.

    A block function takes what the ``inputs`` hold of one block: `blocks` gives its
    IncompleteViews, `masks` its mask, and what `keep` and `rows` returned their own.
    Functions and what they carry must be picklable.

    Parameters
    ----------
    source : BlockSource
    """

    def __init__(self, source):
        self.source = source
        self.blocks = SourceBlocks(source)
        self.masks = SourceMasks(source)

    n_samples = property(lambda self: self.source.n_samples)
    n_views = property(lambda self: self.source.n_views)
    n_features = property(lambda self: self.source.n_features)
    n_blocks = property(lambda self: self.source.n_blocks)
    names = property(lambda self: self.source.names)
    dtype = property(lambda self: self.source.dtype)
    schema = property(lambda self: self.source.schema)

    @property
    def views(self):
        """All samples, where they are in memory; else None."""
        return self.source.views if self.source.in_memory else None

    folder = None  # keeps what is on disk alive
    keeps_rows_here = True  # whether this process can read what `keep` kept

    @property
    def sample_ids(self):
        return None if self.views is None else self.views.sample_ids

    @abstractmethod
    def map(self, function, items):
        """``function`` of some items that are here, on the threads at hand."""

    @abstractmethod
    def collect(self, function, *inputs, at=None):
        """Results of a block function as a list.

        ``at`` is a dict from block to one more argument: only these blocks are
        visited, in its order.
        """

    @abstractmethod
    def total(self, name, function, *inputs):
        """Sum over blocks of a block function.

        It is saved under ``name``, where there is a name and a place to save it.
        """

    @abstractmethod
    def keep(self, name, function, *inputs):
        """Apply a block function that gives GraphRows, and keep its results."""

    @abstractmethod
    def rows(self, name, function, *inputs, width, dtype):
        """Apply a block function that gives ``(rows, summary)``, one row per sample.

        Parameters
        ----------
        name : str or None
            None: of passing interest, so kept close (labels only).
        width : int or None
            Columns; None: one number per sample.

        Returns
        -------
        KeptRows, and the sum of the summaries
        """

    @abstractmethod
    def once(self, name, function):
        """``function()``, or what an interrupted run saved of it."""

    @abstractmethod
    def over(self, source, prefix):
        """The same kind of runner over another source; names get a prefix."""

    @abstractmethod
    def array(self, rows):
        """What the user gets of KeptRows: an array, on disk or elsewhere if large."""

    def survey(self):
        """Count who is observed where, and keep the masks at hand."""
        self.masks = self.keep_masks()

        def count():
            found = self.collect(count_mask, self.masks)
            observed = np.array([own for own, _ in found]).reshape(-1, self.n_views)
            patterns: Counter = sum((own for _, own in found), Counter())
            return observed, dict(sorted(patterns.items()))

        self.surveyed = Survey(*self.once("survey", count))
        return self.surveyed

    def keep_masks(self):
        """Masks as inputs that need no second look at the data."""
        return self.masks

    def observed_rows(self, v, ranks=None):
        """Rows of view ``v`` by their rank among its observed ones, ascending."""
        ends = np.cumsum(self.surveyed.observed[:, v])
        ranks = np.arange(ends[-1]) if ranks is None else ranks
        at = self._cut(ranks, np.append(0, ends))
        pick = partial(take_observed, source=self.source, v=v)
        parts = self.collect(pick, self.masks, Numbers(), at=at)
        return stack_rows(parts)

    def observed_samples(self, v, count):
        """Numbers of the first samples observed in view ``v``."""
        ends = np.cumsum(self.surveyed.observed[:, v])
        at = self._cut(np.arange(min(count, ends[-1])), np.append(0, ends))
        parts = self.collect(partial(observed_numbers, v=v), self.masks, at=at)
        starts = self.source.starts
        return np.concatenate([starts[i] + part for i, part in zip(at, parts)])

    def samples(self, numbers):
        """Some samples, ascending, as IncompleteViews in memory."""
        if self.views is not None:
            return self.views.select(numbers)
        at = self._cut(numbers, self.source.starts)
        return stack_samples(self.collect(select_samples, self.blocks, at=at))

    @staticmethod
    def _cut(numbers, starts):
        """Ascending numbers as a dict: block -> numbers within it."""
        ends = np.searchsorted(numbers, starts)
        return {
            i: numbers[ends[i] : ends[i + 1]] - starts[i]
            for i in np.flatnonzero(np.diff(ends)).tolist()
        }


@dataclass(frozen=True)
class Numbers:
    """The number of the block itself, as an input."""

    def __getitem__(self, i):
        return i


@dataclass(frozen=True)
class KeptRows:
    """One row per sample, kept by a runner: the RowBlocks of k-means.

    Parameters
    ----------
    runner : Runner
    items : indexable
        Per block its rows.
    starts : ndarray
        First sample of every block, and their number.
    functions : tuple of callable
        What turns the kept rows of a block into those that are meant.
    """

    runner: Runner
    items: Any
    starts: np.ndarray
    functions: tuple = ()

    @property
    def n(self):
        return int(self.starts[-1])

    def then(self, function):
        """Rows after one more block function, which is applied whenever asked for."""
        return replace(self, functions=(*self.functions, function))

    def __getitem__(self, i):
        return in_turn(self.items[i], functions=self.functions)

    def take(self, rows):
        """Some rows by number, ascending; None: all."""
        rows = np.arange(self.n) if rows is None else rows
        at = Runner._cut(rows, self.starts)
        function = partial(take_in_turn, functions=self.functions)
        return stack_rows(self.runner.collect(function, self.items, at=at))

    def total(self, function):
        """Sum of ``function`` of every block of rows."""
        function = partial(in_turn, functions=(*self.functions, function))
        return self.runner.total(None, function, self.items)

    def collect(self, function):
        """Results of ``function`` of every block of rows."""
        function = partial(in_turn, functions=(*self.functions, function))
        return self.runner.collect(function, self.items)


def in_turn(rows, functions):
    """Functions one after the other."""
    for function in functions:
        rows = function(rows)
    return rows


def take_in_turn(rows, local, functions):
    return in_turn(rows[local], functions)


def count_mask(mask):
    """``(observed samples per view, patterns and how many samples have them)``."""
    patterns = Counter({p.views: len(p.rows) for p in group_patterns(mask)})
    return mask.sum(axis=0, dtype=np.int64), patterns


def observed_numbers(mask, ranks, v):
    """Samples of a block by their rank among those observed in view ``v``."""
    return np.flatnonzero(mask[:, v])[ranks]


def take_observed(mask, i, ranks, source, v):
    return source.rows(i, v, observed_numbers(mask, ranks, v))


def select_samples(views, local):
    return views.select(local)


def stack_rows(parts):
    """Blocks of rows, dense or sparse, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def merge(results):
    """Sum in the order of the blocks; None where there are none."""
    total = None
    for result in results:
        total = result if total is None else add_results(total, result)
    return total
