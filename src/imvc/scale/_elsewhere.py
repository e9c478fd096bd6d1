"""The runner for data that are not just arrays in memory: files, blocks, clusters."""

import hashlib
import tempfile
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
from joblib import effective_n_jobs

from imvc.scale._folder import RunFolder
from imvc.scale._open import open_source
from imvc.scale._runner import ThreadRunner, threaded_map
from imvc.scale._source import parse_bytes


@contextmanager
def open_elsewhere(
    Xs,
    mask=None,
    *,
    like=None,
    n_jobs=None,
    progress=None,
    memory_budget=None,
    work_dir=None,
    client=None,
    plan=None,
):
    """A runner for views wherever they are; `open_runner` with everything it takes.

    Parameters
    ----------
    Xs, mask, like, n_jobs, progress : as in `open_runner`
    memory_budget : int or str, optional
        Bound on the memory of a pass over files, such as "1GiB".
    work_dir : path-like, optional
        Folder for what is kept of data that are not in memory.
    client : distributed.Client, optional
    plan : dict, optional
        What identifies the run, beside the data, in JSON's types.
    """
    if client is not None or has_dask_arrays(Xs):
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
    folder = None
    if work_dir is not None:
        folder = RunFolder(work_dir, {**(plan or {}), **data_plan(source)})
    elif not source.in_memory or memory_budget is not None:
        folder = RunFolder(tempfile.TemporaryDirectory(prefix="imvc-"), {})
    try:
        with threaded_map(n_jobs) as map:
            yield ThreadRunner(source, map, folder, progress)
    finally:
        if folder is not None:
            folder.release()


def data_plan(source):
    """What identifies the data of a run and their cutting into blocks."""
    starts = np.ascontiguousarray(source.starts, np.int64)
    return {
        "imvc": version("imvc"),
        "data": source.fingerprint,
        "blocks": hashlib.sha256(starts.tobytes()).hexdigest(),
    }


def block_budget(memory_budget, n_jobs):
    """The share of the budget that blocks are cut for: that of two of all threads.

    Sources make a block a twelfth of the budget, which suits two threads.
    """
    if memory_budget is None:
        return None
    threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return parse_bytes(memory_budget) * 2 // max(threads, 2)


def has_dask_arrays(Xs):
    entries = Xs.values() if isinstance(Xs, dict) else Xs
    return isinstance(Xs, list | tuple | dict) and any(
        type(X).__module__.partition(".")[0] == "dask" for X in entries
    )
