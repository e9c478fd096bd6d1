"""Runners apply block functions to all blocks of samples, wherever these are.

The methods speak to a runner only. Results of blocks that are needed again are *kept*
where the blocks live (in memory, in a folder, on Dask workers); only sums and a few
rows ever come together. Here are the interface, and the runner that uses the threads
of this process.
"""

import mmap as memory_maps
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from operator import getitem
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from imvc.kernels._kmeans import add_results, random_rows
from imvc.scale._draw import draw_by_key, draw_by_pattern
from imvc.scale._source import ViewsSource
from imvc.views import IncompleteViews, as_views, group_patterns, stack_samples

_SEED_LIMIT = np.iinfo(np.int32).max


@contextmanager
def open_runner(
    Xs,
    mask=None,
    *,
    like=None,
    missing_values="error",
    n_jobs=None,
    progress=None,
    **elsewhere,
):
    """A runner for views in memory, in files, or on a Dask cluster.

    Parameters
    ----------
    Xs, mask : as in `fit`
    like : ViewSchema, optional
        Of a fitted model, for new samples.
    missing_values : {"error", "keep"}
        What to do about rows with some empty cells, as in `as_views`.
    n_jobs : int, optional
        Threads.
    progress : callable, optional
    elsewhere : client, memory_budget, work_dir, plan, worker_room
        As in `imvc.scale._elsewhere.open_elsewhere`, for what is not in memory.

    Yields
    ------
    Runner
    """
    asked = {name: value for name, value in elsewhere.items() if value is not None}
    rule = {"like": like, "missing_values": missing_values}
    if asked.keys() <= {"plan", "worker_room"} and _are_arrays(Xs) and _is_array(mask):
        source = ViewsSource(as_views(Xs, mask, **rule))
        with threaded_map(n_jobs) as map:
            yield ThreadRunner(source, map, progress=progress)
        return
    from imvc.scale._elsewhere import open_elsewhere

    with open_elsewhere(
        Xs, mask, **rule, n_jobs=n_jobs, progress=progress, **asked
    ) as runner:
        yield runner


def _are_arrays(Xs):
    if isinstance(Xs, Mapping):
        Xs = list(Xs.values())
    if isinstance(Xs, list | tuple):
        return all(_is_array(X) for X in Xs)
    return isinstance(Xs, IncompleteViews)


def _is_array(X):
    """Tell a NumPy or SciPy array from memory maps and whatever else may be a view."""
    if X is None or sp.issparse(X):
        return True
    base = X
    while type(base) is np.ndarray:
        base = base.base
    return type(X) is np.ndarray and not isinstance(base, np.memmap | memory_maps.mmap)


def n_threads(n_jobs=None):
    """Threads that ``n_jobs`` stands for; None and -1: as many as there are cores."""
    return effective_n_jobs(-1 if n_jobs is None else n_jobs)


@contextmanager
def threaded_map(n_jobs=None):
    """A ``map`` that runs on ``n_jobs`` threads, each with a single BLAS thread.

    NumPy, SciPy's sparse products and BLAS release the interpreter lock, so blocks
    of rows run side by side. BLAS is held to one thread even when there is only one
    worker: results then do not depend on the number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None and -1: all cores that this process may use (one inside a joblib worker).

    Yields
    ------
    callable
        ``map(function, items)``: an iterator over the results in order; only one
        result more than there are workers exists at any time, so they may be large.
    """
    workers = n_threads(n_jobs)
    with blas_libraries().limit(limits=1, user_api="blas"):
        if workers == 1:
            yield map
            return
        with ThreadPoolExecutor(workers) as pool:

            def ordered(function, items):
                waiting: deque = deque()
                try:
                    for item in items:
                        waiting.append(pool.submit(function, item))
                        if len(waiting) > workers:
                            yield waiting.popleft().result()
                    while waiting:
                        yield waiting.popleft().result()
                finally:  # after an error nobody asks for the rest
                    for task in waiting:
                        task.cancel()

            yield ordered


@cache
def blas_libraries():
    """The BLAS of this process; looked for once, since that takes milliseconds."""
    import scipy.linalg  # noqa: F401  SciPy has one of its own, loaded with this

    return ThreadpoolController()


@dataclass(frozen=True)
class SourceItems:
    """The blocks of a source, or their masks, as inputs of block functions."""

    source: Any
    what: str  # "block" or "mask"

    def __getitem__(self, i):
        return getattr(self.source, self.what)(i)


@dataclass(frozen=True)
class Survey:
    """Who is observed where, in numbers."""

    observed: np.ndarray  # samples per block and view, (n_blocks, n_views)
    patterns: dict  # tuple of views -> number of samples observed in just these

    @property
    def overlap(self):
        """Samples seen in both of two views, (V, V)."""
        V = self.observed.shape[1]
        result = np.zeros((V, V), np.int64)
        for p, count in self.patterns.items():
            result[np.ix_(p, p)] += count
        return result


class Runner(ABC):
    """Runs block functions over the blocks of a source.

    A block function takes what the ``inputs`` hold of one block: `blocks` gives its
    IncompleteViews, `masks` its mask, what `keep` and `rows` returned their own, and
    ``range(n_blocks)`` its number. Functions and what they carry must be picklable.

    Parameters
    ----------
    source : BlockSource
    map : callable
        Of `threaded_map`, for items that are here.
    folder : RunFolder, optional
        Where results are kept and finished stages saved.
    prefix : str
        Before the names of what is kept.
    """

    def __init__(self, source, map, folder=None, prefix=""):
        self.map = map
        self.folder, self._prefix = folder, prefix
        self.masks = SourceItems(source, "mask")
        self.read_from(source)

    def read_from(self, source):
        """Let blocks come from another source with the same masks."""
        self.source = source
        self.blocks = SourceItems(source, "block")

    n_samples = property(lambda self: self.source.n_samples)
    n_views = property(lambda self: self.source.n_views)
    n_features = property(lambda self: self.source.n_features)
    n_blocks = property(lambda self: self.source.n_blocks)
    names = property(lambda self: self.source.names)
    dtype = property(lambda self: self.source.dtype)
    schema = property(lambda self: self.source.schema)

    keeps_rows_here = True  # whether this process can read what `keep` kept
    keys: Any = None  # per block, where samples have ids; `survey` makes them

    @property
    def views(self):
        """All samples, where they are in memory; else None."""
        return self.source.views if self.source.in_memory else None

    @property
    def sample_ids(self):
        return None if self.views is None else self.views.sample_ids

    @property
    def mask(self):
        """Who is observed where, if the samples are in memory; else None."""
        return None if self.views is None else self.views.mask

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
    def several_rows(self, name, function, *inputs, outputs):
        """One pass: a block function that gives ``(rows, ..., summary)``.

        Parameters
        ----------
        name : str or None
            Of the stage. None says: of passing interest, so kept close (labels only).
        outputs : dict
            Name -> (width, dtype) of rows, one per sample, in the order in which the
            function gives them; a width of None: one number per sample.

        Returns
        -------
        rows : list of KeptRows
        summary
            The sum of the summaries.
        """

    def rows_and_total(self, name, function, *inputs, width, dtype):
        """`several_rows` of a function that gives ``(rows, summary)``: one KeptRows."""
        outputs = {name: (width, dtype)}
        (rows,), summary = self.several_rows(name, function, *inputs, outputs=outputs)
        return rows, summary

    def rows(self, name, function, *inputs, width, dtype):
        """`rows_and_total` of a block function that gives rows alone; KeptRows."""
        function = partial(without_summary, function=function)
        return self.rows_and_total(name, function, *inputs, width=width, dtype=dtype)[0]

    def resume(self, name, compute, **rule):
        """``compute()``, or what an interrupted run saved of it under ``name``.

        Nothing is saved without a name, or without a folder. The rule is that of
        `RunFolder.resume`.
        """
        if name is None or self.folder is None:
            return compute()
        return self.folder.resume(self._prefix + name, compute, **rule)

    @abstractmethod
    def array(self, rows):
        """What the user gets of KeptRows: an array, on disk or elsewhere if large."""

    def survey(self):
        """Count who is observed where, and keep masks and keys at hand."""
        self.masks = self.keep_masks()
        if self.keys is None:
            self.keys = self.keep_keys()

        def count():
            found = self.collect(count_mask, self.masks)
            observed = np.array([own for own, _ in found]).reshape(-1, self.n_views)
            patterns: Counter = sum((own for _, own in found), Counter())
            return observed, dict(sorted(patterns.items()))

        self.surveyed = Survey(*self.resume("survey", count))
        return self.surveyed

    def keep_masks(self):
        """Masks as inputs that need no second look at the data."""
        return self.keep("mask", np.asarray, self.masks)

    def keep_keys(self):
        """Keys of the samples of every block; None where they have no ids."""
        if not self.source.has_ids:
            return None
        return self.keep("keys", self.source.keys, range(self.n_blocks))

    def random_rows(self, v, size, rng):
        """At most ``size`` observed rows of view ``v``, drawn at random.

        They come in the order of the samples or, where these have keys, of the keys.
        """
        if self.keys is not None:
            at, order = draw_by_key(self, size, rng.randint(_SEED_LIMIT), v)
            return stack_rows(self.take_ranked(v, at))[order]
        count = self.surveyed.observed[:, v].sum()
        return self.observed_rows(
            v, random_rows(count, size, rng) if size < count else None
        )

    def observed_rows(self, v, ranks=None):
        """Rows of view ``v`` by their rank among its observed ones, ascending."""
        if ranks is None:
            ranks = np.arange(self.surveyed.observed[:, v].sum())
        return stack_rows(self.take_ranked(v, self._rank_blocks(v, ranks)))

    def take_ranked(self, v, at):
        """Rows of view ``v``, per block by their rank among its observed ones."""
        pick = partial(take_observed, source=self.source, v=v)
        return self.collect(pick, self.masks, range(self.n_blocks), at=at)

    def observed_samples(self, v, count):
        """Numbers of the first samples observed in view ``v``."""
        n_v = self.surveyed.observed[:, v].sum()
        at = self._rank_blocks(v, np.arange(min(count, n_v)))
        parts = self.collect(partial(observed_numbers, v=v), self.masks, at=at)
        starts = self.source.starts
        return np.concatenate([starts[i] + part for i, part in zip(at, parts)])

    def _rank_blocks(self, v, ranks):
        """Ranks among the observed samples of a view: block -> ranks within it."""
        ends = np.cumsum(self.surveyed.observed[:, v])
        return cut_by_block(ranks, np.append(0, ends))

    def samples(self, numbers):
        """Some samples, ascending, as IncompleteViews in memory; only they are read."""
        if self.views is not None:
            return self.views.select(numbers)
        at = cut_by_block(numbers, self.source.starts)
        return stack_samples(self.take_samples(at))

    def take_samples(self, at):
        """IncompleteViews of some samples, per block by their numbers within it."""
        pick = partial(pick_samples, source=self.source)
        return self.collect(pick, self.masks, range(self.n_blocks), at=at)

    def sample(self, size, seed):
        """At most ``size`` samples as IncompleteViews in memory, in their order.

        They are drawn by missing pattern, rare ones more often than they occur, and
        alike for every cutting into blocks; a ``size`` of None: all samples. Where they
        have keys, they come in the order of these and without ids: it is their places
        then that count.
        """
        numbers = np.arange(self.n_samples)
        if size is not None and size < self.n_samples:
            numbers = draw_by_pattern(self, size, seed)
        elif self.keys is None and self.views is not None:
            return self.views
        drawn = self.samples(numbers)
        if self.keys is None:
            return drawn
        return replace(drawn.select(self.key_order(numbers)), sample_ids=None)

    def key_order(self, numbers):
        """Puts some samples, ascending, into the order of their keys."""
        at = cut_by_block(numbers, self.source.starts)
        keys = np.concatenate(self.collect(getitem, self.keys, at=at))
        return np.argsort(keys, kind="stable")


@dataclass(frozen=True)
class KeptRows:
    """One row per sample, kept by a runner: the RowBlocks of k-means."""

    runner: Runner
    items: Any  # per block its rows
    starts: np.ndarray  # first sample of every block, and their number
    functions: tuple = ()  # turn the kept rows of a block into those that are meant

    @property
    def n(self):
        return int(self.starts[-1])

    def then(self, function):
        """Rows after one more block function, which is applied whenever asked for."""
        return replace(self, functions=(*self.functions, function))

    def __getitem__(self, i):
        return apply_all(self.items[i], functions=self.functions)

    def draw(self, size, rng):
        """At most ``size`` random rows, as `Runner.random_rows` draws them."""
        order: Any = slice(None)
        if self.runner.keys is not None:
            at, order = draw_by_key(self.runner, size, rng.randint(_SEED_LIMIT))
        else:
            every = self.n <= size
            rows = np.arange(self.n) if every else random_rows(self.n, size, rng)
            at = cut_by_block(rows, self.starts)
        function = partial(take_and_apply, functions=self.functions)
        return stack_rows(self.runner.collect(function, self.items, at=at))[order]

    def total(self, function):
        """Sum of ``function`` of every block of rows."""
        function = partial(apply_all, functions=(*self.functions, function))
        return self.runner.total(None, function, self.items)

    def collect(self, function):
        """Results of ``function`` of every block of rows."""
        function = partial(apply_all, functions=(*self.functions, function))
        return self.runner.collect(function, self.items)


class ThreadRunner(Runner):
    """Blocks on the threads of this process; what is kept stays in memory or on disk.

    Parameters
    ----------
    source, map, folder, prefix : as in `Runner`
        Without a folder results are kept in memory.
    progress : callable, optional
        Called as ``progress(name, done, n_blocks)`` during a pass over all blocks.
    """

    def __init__(self, source, map, folder=None, progress=None, prefix=""):
        super().__init__(source, map, folder, prefix)
        self._progress = progress

    def collect(self, function, *inputs, at=None):
        if at is not None:

            def call(item):
                i, argument = item
                return function(*(x[i] for x in inputs), argument)

            return list(self.map(call, at.items()))
        return list(self._pass("collect", function, inputs))

    def total(self, name, function, *inputs):
        def add_up():
            return merge(self._pass(name or "sums", function, inputs))

        return self.resume(name, add_up)

    def keep(self, name, function, *inputs):
        folder, own = self.folder, self._prefix + name
        kept = {} if folder is None else folder.blocks(own, self.n_blocks, self.map)

        def fill(i):
            if i not in kept:  # an interrupted run may have left some
                kept[i] = function(*(x[i] for x in inputs))

        for _ in self._pass(name, fill, [range(self.n_blocks)]):
            pass
        if folder is not None:
            folder.finish_blocks(own, kept)
        return kept

    def keep_masks(self):
        if self.folder is None or self.source.in_memory:
            return self.masks
        return super().keep_masks()

    def several_rows(self, name, function, *inputs, outputs):
        starts, folder = self.source.starts, None if name is None else self.folder
        kept = [
            RowArray.empty(starts, *kind)
            if folder is None
            else folder.rows(self._prefix + own, starts, *kind)
            for own, kind in outputs.items()
        ]

        def fill(i):
            *found, summary = function(*(x[i] for x in inputs))
            for rows, own in zip(kept, found):
                rows[i] = own
            return summary

        def work():
            if folder is None:
                return merge(self._pass(name, fill, [range(self.n_blocks)]))
            with folder.writing(self._prefix + name, kept) as reached:
                for summary in self._pass(
                    name, fill, [range(self.n_blocks)], reached.n
                ):
                    reached.add(summary)
            return reached.total

        summary = self.resume(name, work, rows=kept)
        return [KeptRows(self, rows, starts) for rows in kept], summary

    def array(self, rows):
        return rows.items.array()

    def _pass(self, name, function, inputs, first=0):
        """``function`` of what the inputs hold of every block, in order."""

        def call(i):
            return function(*(x[i] for x in inputs))

        results = self.map(call, range(first, self.n_blocks))
        for done, result in enumerate(results, first + 1):
            if self._progress is not None:
                self._progress(name, done, self.n_blocks)
            yield result


class RowArray:
    """The rows of all blocks in one array."""

    def __init__(self, array, starts):
        self._array, self._starts = array, starts

    @classmethod
    def empty(cls, starts, width, dtype):
        shape = (int(starts[-1]),) if width is None else (int(starts[-1]), width)
        return cls(np.empty(shape, dtype), starts)

    def _slice(self, i):
        return slice(int(self._starts[i]), int(self._starts[i + 1]))

    def __getitem__(self, i):
        return self._array[self._slice(i)]

    def __setitem__(self, i, rows):
        self._array[self._slice(i)] = rows

    def array(self):
        return self._array


def apply_all(rows, functions):
    """Rows after several functions, the first one first."""
    for function in functions:
        rows = function(rows)
    return rows


def take_and_apply(rows, local, functions):
    return apply_all(rows[local], functions)


def without_summary(*inputs, function):
    return function(*inputs), 0


def cut_by_block(numbers, starts):
    """Ascending numbers as a dict: block -> numbers within it."""
    ends = np.searchsorted(numbers, starts)
    return {
        i: numbers[ends[i] : ends[i + 1]] - starts[i]
        for i in np.flatnonzero(np.diff(ends)).tolist()
    }


def count_mask(mask):
    """``(observed samples per view, patterns and how many samples have them)``."""
    patterns = Counter({p.views: len(p.rows) for p in group_patterns(mask)})
    return mask.sum(axis=0, dtype=np.int64), patterns


def observed_numbers(mask, ranks, v):
    """Samples of a block by their rank among those observed in view ``v``."""
    return np.flatnonzero(mask[:, v])[ranks]


def take_observed(mask, i, ranks, source, v):
    return source.rows(i, v, observed_numbers(mask, ranks, v))


def pick_samples(mask, i, local, source):
    return source.samples(i, local, mask)


def stack_rows(parts):
    """Blocks of rows, dense or sparse, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def merge(results):
    """Sum in the order of the blocks; None where there are none."""
    return reduce(add_results, results, next(results, None))
