"""What Dask's workers run: plain functions of plain values, all of them pure.

A worker that is lost costs no more than time: Dask runs its tasks again elsewhere. So
tasks must depend on other tasks only, never on values that lie on one worker.
"""

import pickle
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write, naming_full_disk
from imvc._machine import give_back_memory
from imvc.kernels._kmeans import add_results
from imvc.kernels._patterns import LargeGroup, PatternGrams, SmallGroup
from imvc.scale._checked_files import (
    DamagedFile,
    find_damage,
    read_arrays,
    removed,
    write_arrays,
)
from imvc.scale._runner import blas_libraries
from imvc.scale._source import GraphRows
from imvc.views import IncompleteViews, stack_samples


@dataclass(frozen=True)
class Job:
    """A block function, and what workers read of its inputs by themselves."""

    function: Any
    inputs: tuple  # indexed by the number of the block; None: they come with the task
    stacks: Any = ()  # where each of the rows are written, or None
    dtypes: Any = ()  # of each of the rows

    def call(self, i, first, local, *more):
        """The function of block ``i`` of a piece that starts at block ``first``."""
        come = iter(local)
        values = [next(come)[i - first] if x is None else x[i] for x in self.inputs]
        return self.function(*values, *more)


def unpack(data):
    """A job from its pickle, which no other process has to open."""
    return pickle.loads(data) if isinstance(data, bytes) else data


def collect_piece(job, order, *local):
    """Results of the blocks of a piece, as a list.

    ``order`` has the first block, and the blocks to visit as tuples of a number and
    arguments; ``local`` the inputs that came with the task, lists over the piece.
    """
    return list(_results(job, order, local))


def total_piece(job, order, *local):
    """Sum over the blocks of a piece."""
    return add_pairwise(_results(job, order, local))


def rows_piece(job, order, *local):
    """``(rows of every block, ..., sum of the summaries)``."""
    job, (first, items) = unpack(job), unpack(order)
    kept: list = [[] for _ in job.dtypes]
    summaries = []
    for (i,), (*found, summary) in zip(items, _results(job, (first, items), local)):
        for own, rows, stack, dtype in zip(kept, found, job.stacks, job.dtypes):
            own.append(np.asarray(rows, dtype))
            if stack is not None:
                stack.write(i, own[-1])
        summaries.append(summary)
    return *kept, add_pairwise(summaries)


def _results(job, order, local):
    job, (first, items) = unpack(job), unpack(order)
    _tell_sizes()
    # As many tasks run side by side as the worker has threads: BLAS gets one each.
    with blas_libraries().limit(limits=1, user_api="blas"):
        for i, *more in items:
            yield job.call(i, first, local, *more)
    give_back_memory()  # Dask pauses a worker for what the allocator keeps


@lru_cache(maxsize=1)
def _tell_sizes():
    """Let Dask see how large our results are, or it moves them about too lightly."""
    from dask.sizeof import sizeof

    def of_fields(value):
        return sum(sizeof(own) for own in vars(value).values())

    for kind in (GraphRows, IncompleteViews, PatternGrams, LargeGroup, SmallGroup):
        sizeof.register(kind)(of_fields)


def add_pairwise(results):
    """Sum by a binary tree over neighbours; None where there are no results.

    The order of the additions depends on the number of results alone: sums of aligned
    runs of 2^k results, added in the same way, give the same bits.
    """
    stack: list = []
    for result in results:
        level = 0
        while stack and stack[-1][0] == level:
            result, level = add_results(stack.pop()[1], result), level + 1
        stack.append((level, result))
    total = stack.pop()[1] if stack else None
    while stack:
        total = add_results(stack.pop()[1], total)
    return total


def join_lists(lists):
    return [item for own in lists for item in own]


def ranked_rows(views, ranks, v):
    """Rows of view ``v`` by their rank among the observed ones."""
    return views.take(v, views.rows(v)[ranks])


def few_samples(views, local):
    """Some samples without the rest of their block."""
    return stack_samples([views.select(local)])


@dataclass(frozen=True)
class Stack:
    """Rows of every block in a folder, as `dask.array.from_npy_stack` reads them.

    A file per block, since blocks differ in size and workers must not write into
    parts of one file. Each ends with its digest, which readers of ``.npy`` pass over.
    """

    folder: Path
    n_blocks: int
    digests = None  # beside those in the files

    def prepare(self, starts, width, dtype):
        """Make the folder, and the description that Dask asks for."""
        sizes = tuple(np.diff(starts).tolist())
        chunks = (sizes,) if width is None else (sizes, (width,))
        with naming_full_disk(self.folder):
            self.folder.mkdir(exist_ok=True)
        with atomic_write(self.folder / "info") as file:
            pickle.dump({"chunks": chunks, "dtype": np.dtype(dtype), "axis": 0}, file)

    def write(self, i, rows):
        if not self.folder.is_dir():
            raise RuntimeError(
                f"work_dir={str(self.folder.parent)!r} is not there for a worker; give "
                "a folder that all machines share, under the same path."
            )
        # Whole or not at all, also if two workers come to write the same block.
        write_arrays(self.file(i), [rows])

    def file(self, i):
        return self.folder / f"{i}.npy"

    def take_over(self, digests):
        """Use the files of an earlier run; DamagedFile if one of them is not whole."""
        for i in range(self.n_blocks):
            damage = find_damage(self.file(i))
            if damage is not None:
                raise damage

    def __getitem__(self, i):
        try:
            return read_arrays(self.file(i))[0]
        except DamagedFile as damage:
            raise removed(damage) from damage
