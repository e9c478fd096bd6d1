"""The Dask runner: block functions where the blocks are, sums by a tree.

Results of blocks stay on the workers. Only sums, samples of a few thousand rows and
counts per block come to the client; block functions and what they carry go out once.
"""

import uuid
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from typing import Any

import numpy as np

from imvc.scale._block_plan import MADE_BYTES
from imvc.scale._dask_source import dask_base, derived, rebased, take_ranked
from imvc.scale._dask_tasks import (
    Job,
    Stack,
    add_pairwise,
    collect_piece,
    few_samples,
    join_lists,
    ranked_rows,
    rows_piece,
    total_piece,
    unpack,
)
from imvc.scale._runner import KeptRows, Runner, SourceItems
from imvc.scale._worker_memory import gather_or_refuse

_PIECES_PER_THREAD = 4  # few tasks for the scheduler, enough to keep all workers busy
_FAN_IN = 8  # results that one task adds; a power of two, like the blocks of a piece
_RESULT_SHARE = 4  # of the budget: results of a piece
_SMALL = 10_000  # bytes that may go with every task


class DaskRunner(Runner):
    """Blocks on the workers of a cluster.

    Neighbouring blocks form *pieces*, a task each: with thousands of blocks there are
    still only a few tasks per worker in every pass. A sum has the same bits however
    many blocks a piece has.

    Parameters
    ----------
    source : BlockSource
        A DaskSource, or one that every worker can read.
    client : distributed.Client
    map, prefix : as in `Runner`
    folder : RunFolder, optional
        In a folder that all workers share. Finished stages are saved there, and so
        are embedding and labels.
    piece : int, optional
        Blocks of a piece, a power of two; by default by the number of threads.
    budget : int, optional
        Bytes that blocks were cut for: results of a piece keep to a share of it.
    """

    keeps_rows_here = False

    def __init__(
        self, source, client, map, folder=None, prefix="", piece=None, budget=None
    ):
        super().__init__(source, map, folder, prefix)
        self._client = client
        self.piece = self._piece_size(budget) if piece is None else piece

    def _piece_size(self, budget):
        threads = max(1, sum(self._client.nthreads().values()))
        most = self.n_blocks // (2 * _PIECES_PER_THREAD * threads)
        if budget is not None:
            rows = int(np.diff(self.source.starts).max(initial=1))
            results = self.n_views * MADE_BYTES * max(rows, 1)
            most = min(most, budget // _RESULT_SHARE // results // 2)
        size = 1
        while size <= most:
            size *= 2
        return size

    def collect(self, function, *inputs, at=None):
        tasks = self._tasks("collect", collect_piece, Job(function, inputs), at)
        found = join_lists(self._gather("collect", tasks))
        if at is None:
            return found
        by_block = dict(zip(sorted(at), found))
        return [by_block[i] for i in at]

    def total(self, name, function, *inputs):
        def add_up():
            job, label = Job(function, inputs), name or "sums"
            tasks = self._tasks(label, total_piece, job)
            return self._gather(label, [self._tree(tasks)])[0]

        return self.resume(name, add_up)

    def keep(self, name, function, *inputs):
        def make():
            tasks = self._tasks(name, collect_piece, Job(function, inputs))
            return self._compute(name, self._pieces(tasks))

        return Kept(self, make)

    def several_rows(self, name, function, *inputs, outputs):
        starts = self.source.starts
        stacks: list = [None] * len(outputs)
        if name is not None and self.folder is not None:
            stacks = [
                Stack(self.folder.path / f"{self._prefix}{own}.stack", self.n_blocks)
                for own in outputs
            ]
            for stack, kind in zip(stacks, outputs.values()):
                stack.prepare(starts, *kind)
        items: list = stacks  # of an earlier run, where there is one

        def work():
            nonlocal items
            dtypes = [np.dtype(dtype) for _, dtype in outputs.values()]
            job = Job(function, inputs, stacks, dtypes)
            part = _delayed(getitem)
            found = self._tasks(name or "rows", rows_piece, job)
            kept = [
                self._pieces([part(own, j) for own in found])
                for j in range(len(outputs))
            ]
            total = self._tree([part(own, -1) for own in found])
            kept, total = self._compute_all(name or "rows", kept, total)
            items = [
                Kept(self, partial(list, futures), stack, *kind)
                for futures, stack, kind in zip(kept, stacks, outputs.values())
            ]
            return self._wait(name or "rows", [total])[0]

        summary = self.resume(name, work, rows=stacks)
        return [KeptRows(self, own, starts) for own in items], summary

    def _compute_all(self, label, lists, total):
        """Futures of several lists of tasks and of one task, in one graph."""
        *futures, total = self._compute(label, [*join_lists(lists), total])
        found = iter(futures)
        return [[next(found) for _ in own] for own in lists], total

    def array(self, rows):
        import dask.array as da

        items = rows.items
        stack = items if isinstance(items, Stack) else items.stack
        if stack is not None:
            return da.from_npy_stack(str(stack.folder), mmap_mode=None)
        width = () if items.width is None else (items.width,)
        return da.concatenate(
            [
                da.from_delayed(items.task(i), (int(size), *width), items.dtype)
                for i, size in enumerate(np.diff(rows.starts))
            ]
        )

    def take_ranked(self, v, at):
        base = dask_base(self.source)
        if base is None:
            return super().take_ranked(v, at)
        if base is not self.source:
            return self.collect(partial(ranked_rows, v=v), self.blocks, at=at)
        pick = partial(take_ranked, starts=base.starts, about=base.about, v=v)
        chunks = ArrayTasks(partial(base.chunk, v))  # of this view only
        return self.collect(pick, self.masks, chunks, range(self.n_blocks), at=at)

    def take_samples(self, at):
        if dask_base(self.source) is None:
            return super().take_samples(at)
        return self.collect(few_samples, self.blocks, at=at)

    def _tasks(self, label, task, job, at=None):
        """Delayed results of a job, one per piece; per block where chunks come in."""
        inputs = [_as_tasks(x) for x in job.inputs]
        come = [x for x in inputs if isinstance(x, _COME)]
        read = tuple(None if isinstance(x, _COME) else x for x in inputs)
        size = 1 if any(isinstance(x, ArrayTasks) for x in come) else self.piece
        label = f"{label}-{uuid.uuid4().hex}"
        job = _packed(replace(job, inputs=read), label)
        run, tasks = _delayed(task), []
        for first in range(0, self.n_blocks, size):
            blocks = range(first, min(first + size, self.n_blocks))
            items: list = [(i,) for i in blocks]
            if at is not None:
                items = [(i, at[i]) for i in blocks if i in at]
            if items:
                order = _dumps((first, items))
                local = [x.part(first, size) for x in come]
                tasks.append(run(job, order, *local, dask_key_name=(label, first)))
        return tasks

    def _pieces(self, tasks):
        """Lists of all blocks of a piece, from tasks of pieces or of blocks."""
        if len(tasks) < self.n_blocks or self.piece == 1:
            return tasks
        join, size = _delayed(join_lists), self.piece
        return [join(tasks[i : i + size]) for i in range(0, len(tasks), size)]

    def _tree(self, tasks):
        add = _delayed(add_pairwise)
        while len(tasks) > 1:
            tasks = [add(tasks[i : i + _FAN_IN]) for i in range(0, len(tasks), _FAN_IN)]
        return tasks[0]

    def _compute(self, label, tasks):
        with self._watching(label):
            return self._client.compute(tasks)

    def _wait(self, label, futures):
        with self._watching(label):
            return gather_or_refuse(self._client, futures)

    def _gather(self, label, tasks):
        return self._wait(label, self._compute(label, tasks))

    @contextmanager
    def _watching(self, label):
        """Say what is left, and how to go on, when the cluster fails."""
        from distributed import KilledWorker
        from distributed.client import ClosedClientError
        from distributed.comm import CommClosedError

        lost = (CancelledError, ClosedClientError, CommClosedError)
        try:
            yield
        except KilledWorker as error:
            raise RuntimeError(
                f"workers died again and again in stage {label!r}, most often because "
                f"they ran out of memory: start them with more of it (--memory-limit), "
                f"or pass a smaller memory_budget or, of Dask arrays, smaller chunks. "
                f"{self._left()}"
            ) from error
        except MemoryError as error:
            raise MemoryError(f"stage {label!r}: {error} {self._left()}") from error
        except Exception as error:
            if not isinstance(error, lost) and self._client.status == "running":
                raise
            raise RuntimeError(
                f"the connection to the Dask scheduler was lost in stage {label!r} "
                f"({type(error).__name__}). {self._left()}"
            ) from error

    def _left(self):
        if self.folder is None:
            return (
                "Nothing was saved, since work_dir was not given: with work_dir, a "
                "folder that all workers share, a new fit goes on from there."
            )
        return (
            f"Finished stages are saved in work_dir={str(self.folder.path)!r}: "
            "connect to a new cluster and run the same fit again, and it goes on from "
            "there."
        )


class Kept:
    """What is kept on the workers: per piece of blocks a list in one future.

    ``make`` gives the futures. It is called when they are first needed: after an
    interruption, perhaps never. ``stack``, ``width`` and ``dtype`` are of rows, for
    `DaskRunner.array`.
    """

    def __init__(self, runner, make, stack=None, width=None, dtype=None):
        self._runner, self._make, self._futures = runner, make, None
        self.stack, self.width, self.dtype = stack, width, dtype

    @property
    def futures(self):
        if self._futures is None:
            self._futures, self._make = self._make(), None
        return self._futures

    def task(self, i):
        """Delayed result of block ``i``."""
        j, k = divmod(i, self._runner.piece)
        return _delayed(getitem)(self.futures[j], k)

    def part(self, first, size):
        if size == self._runner.piece:
            return self.futures[first // size]
        return [self.task(first)]

    def __getitem__(self, i):
        return self._runner._gather("rows", [self.task(i)])[0]


@dataclass(frozen=True, eq=False)
class ArrayTasks:
    """Blocks that chunks of Dask arrays make, as inputs."""

    task: Any  # number of the block -> Delayed

    def part(self, first, size):
        return [self.task(first)]


_COME = (Kept, ArrayTasks)  # inputs whose values come with the task


def _as_tasks(x):
    """Inputs that chunks make; all others as they are."""
    base = dask_base(x.source) if isinstance(x, SourceItems) else None
    if base is None:
        return x
    task = base.mask_task if x.what == "mask" else base.block_task
    if x.source is base:
        return ArrayTasks(task)
    derive = partial(derived, source=rebased(x.source, None), what=x.what)
    return ArrayTasks(lambda i: _delayed(derive)(task(i), i))


def _packed(job, label):
    """A job as bytes that go with the task; if large, a task of its own.

    A task can be run again, which a value scattered to workers cannot. Workers fetch
    its result from each other.
    """
    data = _dumps(job)
    if len(data) <= _SMALL:
        return data
    return _delayed(unpack)(data, dask_key_name=("function-" + label, 0))


def _delayed(function):
    from dask import delayed

    return delayed(function, pure=False)


def _dumps(value):
    import cloudpickle

    return cloudpickle.dumps(value)
