"""On a cluster: which runner, and what its workers can read."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from imvc.scale._dask_runner import DaskRunner
from imvc.scale._dask_source import DaskSource
from imvc.scale._elsewhere import data_plan, has_dask_arrays
from imvc.scale._folder import RunFolder
from imvc.scale._open import open_source
from imvc.scale._runner import threaded_map

_LARGEST_MASK = 64 * 2**20


@contextmanager
def dask_runner(
    Xs,
    mask=None,
    *,
    like=None,
    client=None,
    n_jobs=None,
    memory_budget=None,
    work_dir=None,
    plan=None,
):
    """A runner on a cluster, for Dask arrays and for stored views.

    Parameters
    ----------
    Xs, mask, like, n_jobs, memory_budget, work_dir, plan : as in `open_elsewhere`
    client : distributed.Client, optional
        By default the current one.

    Yields
    ------
    DaskRunner, or None where there is no client
    """
    client = _current_client() if client is None else client
    if client is None:
        yield None
        return
    _check_client(client)
    work_dir = None if work_dir is None else Path(work_dir).absolute()
    source = _open(Xs, mask, like, memory_budget, work_dir)
    folder = None
    if work_dir is not None:
        folder = RunFolder(work_dir, {**(plan or {}), **data_plan(source)})
    try:
        with threaded_map(n_jobs) as map:
            yield DaskRunner(source, client, map, folder)
    finally:
        if folder is not None:
            folder.release()


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


def _open(Xs, mask, like, memory_budget, work_dir):
    """A source that workers can read."""
    if has_dask_arrays(Xs):
        return DaskSource(Xs, mask, like)
    if isinstance(mask, np.ndarray) and mask.nbytes > _LARGEST_MASK:
        raise ValueError(
            f"mask has {mask.nbytes} bytes in memory, which would go to every worker; "
            "save it with np.save and pass the path."
        )
    source = open_source(
        Xs,
        mask,
        memory_budget=memory_budget,
        work_dir=work_dir,
        like=like,
    )
    if source.in_memory:
        raise ValueError(
            "client was given with views in the memory of this process, all of which "
            "would have to go through the scheduler; leave client out, or pass Dask "
            "arrays, zarr arrays or paths that workers can read."
        )
    if getattr(getattr(source, "_keep", None), "_temporary", None) is not None:
        raise ValueError(
            "these views had to be rewritten, in a temporary folder that workers may "
            "not see; pass work_dir, a folder that all machines share."
        )
    return source
