"""The runner for data that are not just arrays in memory: files, blocks, clusters."""

import hashlib
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from joblib import effective_n_jobs

from imvc._version import __version__
from imvc.io._errors import ChangedFileError
from imvc.scale._block_plan import SmallBudgetError, parse_bytes, share_of_threads
from imvc.scale._dask_runner import DaskRunner
from imvc.scale._dask_source import DaskSource
from imvc.scale._folder import LOCK, RunFolder, check_work_dir
from imvc.scale._open import open_source
from imvc.scale._runner import ThreadRunner, threaded_map
from imvc.scale._worker_memory import KEY, LEAST_ROOM, block_budget_of_workers

_LARGEST_MASK = 64 * 2**20  # bytes that may go to every worker


@contextmanager
def open_elsewhere(
    Xs,
    mask=None,
    *,
    like=None,
    missing_values="error",
    n_jobs=None,
    progress=None,
    memory_budget=None,
    work_dir=None,
    client=None,
    plan=None,
    worker_room=LEAST_ROOM,
):
    """A runner for views wherever they are; `open_runner` with everything it takes.

    Parameters
    ----------
    Xs, mask, like, missing_values, n_jobs, progress : as in `open_runner`
    memory_budget : int or str, optional
        Bound on the memory of a pass over files, such as "1GiB", for all threads
        together: of this process or, with a client, of each worker.
    work_dir : path-like, optional
        Folder for what is kept of data that are not in memory.
    client : distributed.Client, optional
        For Dask arrays by default the current one.
    plan : dict, optional
        What identifies the run, beside the data, in JSON's types.
    worker_room : int
        Bytes that a worker needs beside Python and its packages.
    """
    if work_dir is not None:
        check_work_dir(work_dir)
    dask, rule = has_dask_arrays(Xs), {"like": like, "missing_values": missing_values}
    budget, about = None, dict(plan or {})
    if client is None and dask:
        client = _current_client()
    if client is None:
        if dask:  # without a cluster threads read them chunk by chunk
            Xs, mask = DaskSource(Xs, mask, **rule), None
        budget = block_budget(memory_budget, n_jobs)
        source = open_source(Xs, mask, memory_budget=budget, work_dir=work_dir, **rule)
    else:
        _check_client(client)
        work_dir = None if work_dir is None else Path(work_dir).absolute()
        budget = block_budget_of_workers(client, memory_budget, work_dir, worker_room)
        about[KEY] = budget
        try:
            source = _open_for_workers(Xs, mask, rule, budget, work_dir)
        except SmallBudgetError as error:
            if memory_budget is not None:
                raise
            raise MemoryError(
                f"the memory limit of the workers leaves them too little: {error} "
                f"Start them with more (--memory-limit), or with fewer threads."
            ) from error
    folder = None
    if work_dir is not None:
        folder = RunFolder(work_dir, {**about, **data_plan(source)})
    elif client is None and (not source.in_memory or memory_budget is not None):
        folder = RunFolder(tempfile.TemporaryDirectory(prefix="imvc-"), {})
    try:
        with threaded_map(n_jobs) as map, _same_files(source, folder):
            if client is None:
                yield ThreadRunner(source, map, folder, progress)
            else:
                yield DaskRunner(source, client, map, folder, budget=budget)
    finally:
        if folder is not None:
            folder.release()


@contextmanager
def _same_files(source, folder):
    """Compare the files with what was opened, and drop what was made of others."""
    try:
        try:
            yield
        except Exception as error:
            source.check_unchanged(error)
            raise
        source.check_unchanged()
    except ChangedFileError:
        if folder is not None:
            _drop_stages(folder.path)
        raise


def _drop_stages(path):
    """Empty the folder of a run: its stages may be of two versions of a file."""
    for left in path.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        elif left.name != LOCK:
            left.unlink()


def data_plan(source):
    """What identifies the data of a run and their cutting into blocks."""
    starts = np.ascontiguousarray(source.starts, np.int64)
    return {
        "imvc": __version__,
        "data": source.fingerprint,
        "blocks": hashlib.sha256(starts.tobytes()).hexdigest(),
    }


def block_budget(memory_budget, n_jobs):
    """The share of the budget that blocks are cut for: that of two of all threads."""
    if memory_budget is None:
        return None
    threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    return share_of_threads(parse_bytes(memory_budget), threads)


def has_dask_arrays(Xs):
    entries = Xs.values() if isinstance(Xs, dict) else Xs
    return isinstance(Xs, list | tuple | dict) and any(
        type(X).__module__.partition(".")[0] == "dask" for X in entries
    )


def _current_client():
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None


def _check_client(client):
    if not hasattr(client, "nthreads") or not hasattr(client, "compute"):
        raise TypeError(
            f"client is a {type(client).__name__}; pass a distributed.Client."
        )
    if client.asynchronous:
        raise ValueError(
            "client is asynchronous; make it with Client(..., asynchronous=False)."
        )
    if client.status != "running":
        raise ValueError(
            f"client is {client.status}; connect to a cluster: Client(address)."
        )


def _open_for_workers(Xs, mask, rule, memory_budget, work_dir):
    """A source that workers can read."""
    if has_dask_arrays(Xs):
        return DaskSource(Xs, mask, **rule)
    if isinstance(mask, np.ndarray) and mask.nbytes > _LARGEST_MASK:
        raise ValueError(
            f"mask has {mask.nbytes} bytes in memory, which would go to every worker; "
            "save it with np.save and pass the path."
        )
    source = open_source(
        Xs, mask, memory_budget=memory_budget, work_dir=work_dir, **rule
    )
    if source.in_memory:
        raise ValueError(
            "client was given with views in the memory of this process, all of which "
            "would have to go through the scheduler; leave client out, or pass Dask "
            "arrays, zarr arrays or paths that workers can read."
        )
    if getattr(getattr(source, "folder", None), "_temporary", None) is not None:
        raise ValueError(
            "these views had to be rewritten, in a temporary folder that workers may "
            "not see; pass work_dir, a folder that all machines share."
        )
    return source
