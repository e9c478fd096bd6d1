"""Which runner a fit gets, by what its data are."""

import hashlib
import tempfile
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
from joblib import effective_n_jobs

from imvc.scale._folder import FolderStore
from imvc.scale._memory import ThreadRunner, threaded_map
from imvc.scale._open import open_source
from imvc.scale._source import parse_bytes

__all__ = ["block_budget", "data_plan", "open_runner"]


@contextmanager
def open_runner(
    Xs,
    mask=None,
    *,
    like=None,
    n_jobs=None,
    memory_budget=None,
    work_dir=None,
    client=None,
    plan=None,
    progress=None,
):
    """A runner for views in memory, in files, or on a Dask cluster.

    Parameters
    ----------
    Xs, mask : as in `fit`
    like : ViewSchema, optional
        Of a fitted model, for new samples.
    n_jobs : int, optional
        Threads.
    memory_budget : int or str, optional
        Bound on the memory of a pass over files, such as "1GiB".
    work_dir : path-like, optional
        Folder for what is kept of data that are not in memory.
    client : distributed.Client, optional
    plan : dict, optional
        What identifies the run, beside the data, in JSON's types.
    progress : callable, optional

    Yields
    ------
    Runner
    """
    if client is not None or _has_dask_arrays(Xs):
        from imvc.scale._dask import DaskSource, dask_runner

        with dask_runner(
            Xs,
            mask,
            like=like,
            client=client,
            n_jobs=n_jobs,
            memory_budget=memory_budget,
            work_dir=work_dir,
            plan=plan,
        ) as runner:
            if runner is not None:
                yield runner
                return
        # Dask arrays without a cluster: threads read them chunk by chunk.
        Xs, mask = DaskSource(Xs, mask, like), None
    source = open_source(
        Xs,
        mask,
        memory_budget=block_budget(memory_budget, n_jobs),
        work_dir=work_dir,
        like=like,
    )
    store = None
    if not source.in_memory or (work_dir, memory_budget) != (None, None):
        if work_dir is None:
            store = FolderStore(tempfile.TemporaryDirectory(prefix="imvc-"), {})
        else:
            store = FolderStore(work_dir, {**(plan or {}), **data_plan(source)})
    try:
        with threaded_map(n_jobs) as map:
            yield ThreadRunner(source, map, store, progress)
    finally:
        if store is not None:
            store.release()


def block_budget(memory_budget, n_jobs):
    """The share of the budget that blocks are cut for: that of two of all threads.

    Sources make a block a twelfth of the budget, which suits two threads.
    """
    if memory_budget is None:
        return None
    threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return parse_bytes(memory_budget) * 2 // max(threads, 2)


def data_plan(source):
    """What identifies the data of a run and their cutting into blocks."""
    starts = np.ascontiguousarray(source.starts, np.int64)
    return {
        "imvc": version("imvc"),
        "data": source.fingerprint,
        "blocks": hashlib.sha256(starts.tobytes()).hexdigest(),
    }


def _has_dask_arrays(Xs):
    entries = Xs.values() if isinstance(Xs, dict) else Xs
    return isinstance(Xs, list | tuple | dict) and any(
        type(X).__module__.partition(".")[0] == "dask" for X in entries
    )
