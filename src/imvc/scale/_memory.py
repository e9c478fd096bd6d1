"""Threads: the runner of blocks that this process reads itself."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

from imvc.scale._runner import KeptRows, Runner, merge

__all__ = ["MemoryStore", "ThreadRunner", "threaded_map"]


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
    workers = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    with threadpool_limits(1, user_api="blas"):
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


class ThreadRunner(Runner):
    """Blocks on threads; what is kept stays in ``store``.

    Parameters
    ----------
    source : BlockSource
    map : callable
        Of `threaded_map`.
    store : MemoryStore or FolderStore
    progress : callable, optional
        Called as ``progress(name, done, n_blocks)`` during a pass over all blocks.
    prefix : str
        Before the names of what is kept.
    """

    def __init__(self, source, map, store=None, progress=None, prefix=""):
        super().__init__(source)
        self._map, self._progress, self._prefix = map, progress, prefix
        self.store = MemoryStore() if store is None else store
        self.folder = store

    def map(self, function, items):
        return self._map(function, items)

    def collect(self, function, *inputs, at=None):
        if at is not None:

            def call(item):
                i, argument = item
                return function(*(x[i] for x in inputs), argument)

            return list(self._map(call, at.items()))
        return list(self._pass("collect", function, inputs))

    def total(self, name, function, *inputs):
        def add_up():
            return merge(self._pass(name or "sums", function, inputs))

        return add_up() if name is None else self.once(name, add_up)

    def keep(self, name, function, *inputs):
        kept = self.store.kept(self._prefix + name, self.n_blocks)

        def fill(i, *values):
            if i not in kept:  # an interrupted run may have left some
                kept[i] = function(*(x[i] for x in inputs))

        for _ in self._pass(name, fill, [range(self.n_blocks)]):
            pass
        return kept

    def keep_masks(self):
        if self.folder is None or self.source.in_memory:
            return self.masks
        return self.keep("mask", np.asarray, self.masks)

    def rows(self, name, function, *inputs, width, dtype):
        starts = self.source.starts
        store = MemoryStore() if name is None else self.store
        kept = store.kept_rows(self._prefix + (name or ""), starts, width, dtype)

        def fill(i):
            kept[i], summary = function(*(x[i] for x in inputs))
            return summary

        def work():
            with kept.writing():
                return merge(self._pass(name, fill, [range(self.n_blocks)]))

        summary = work() if name is None else self.once(name, work)
        return KeptRows(self, kept, starts), summary

    def once(self, name, function):
        return self.store.once(self._prefix + name, function)

    def over(self, source, prefix):
        prefix = self._prefix + prefix
        return ThreadRunner(source, self._map, self.folder, self._progress, prefix)

    def array(self, rows):
        return rows.items.array()

    def _pass(self, name, function, inputs):
        """``function`` of what the inputs hold of every block, in order."""

        def call(i):
            return function(*(x[i] for x in inputs))

        results = self._map(call, range(self.n_blocks))
        for done, result in enumerate(results, 1):
            if self._progress is not None:
                self._progress(name, done, self.n_blocks)
            yield result


class MemoryStore:
    """Keeps everything in memory."""

    def once(self, name, function):
        return function()

    def kept(self, name, n_blocks):
        return {}

    def kept_rows(self, name, starts, width, dtype):
        return ArrayRowsKept(starts, width, dtype)


class ArrayRowsKept:
    """The rows of all blocks in one array."""

    def __init__(self, starts, width, dtype):
        shape = (int(starts[-1]),) if width is None else (int(starts[-1]), width)
        self._array, self._starts = np.empty(shape, dtype), starts

    def _slice(self, i):
        return slice(int(self._starts[i]), int(self._starts[i + 1]))

    def __getitem__(self, i):
        return self._array[self._slice(i)]

    def __setitem__(self, i, rows):
        self._array[self._slice(i)] = rows

    @contextmanager
    def writing(self):
        yield

    def array(self):
        return self._array
