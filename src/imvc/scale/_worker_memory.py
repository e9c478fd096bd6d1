"""What the workers of a Dask cluster have of memory, and how much a fit may take."""

import math
from dataclasses import dataclass
from pathlib import Path

from imvc._machine import resident_memory
from imvc.scale._block_plan import parse_bytes, share_of_threads
from imvc.scale._folder import read_plan

LEAST_ROOM = 24 * 2**20  # of a worker beside Python: the scratch of a task
_MOST_BUDGET = 768 * 2**20  # that of blocks of 64 MB: larger ones are no faster
_PAUSE = 0.8  # Dask's own share of the limit at which a worker takes no more tasks
_PATIENCE = 15.0  # seconds between two looks at workers that hand in nothing
_ROOM_SHARE = 2 / 3  # of the room for blocks: who comes to its end is paused
_AT_WORK = ("executing", "fetch", "flight")  # states of tasks that go on
KEY = "worker_budget"  # in the plan of a run


@dataclass(frozen=True)
class WorkerMemory:
    """Memory of one worker, in bytes, once the packages of a fit are loaded."""

    limit: int
    pause: float  # share of the limit from which on a worker takes no more tasks
    resident: int
    threads: int

    @property
    def room(self):
        """What a fit may take beside the interpreter and its packages."""
        return int(self.pause * self.limit) - self.resident


def block_budget_of_workers(
    client, memory_budget=None, work_dir=None, least_room=LEAST_ROOM
):
    """The budget that blocks are cut for, such that every worker has room for them.

    Parameters
    ----------
    client : distributed.Client
    memory_budget : int or str, optional
        Of one worker, all of its threads together; never more than it has room for.
    work_dir : path-like, optional
        A run that goes on from there keeps its blocks, whatever the workers.
    least_room : int
        Bytes that a worker must have beside Python and its packages.

    Returns
    -------
    int or None
        None: neither a budget nor workers with a limit.
    """
    given = None if memory_budget is None else parse_bytes(memory_budget)
    budgets = [_MOST_BUDGET]
    for worker in _ask(client):
        if given is not None:
            budgets.append(share_of_threads(given, worker.threads))
        if worker.limit:
            _check_room(worker, least_room)
            share = share_of_threads(worker.room, worker.threads)
            budgets.append(int(_ROOM_SHARE * share))
    if len(budgets) == 1:
        return given
    known = _remembered(work_dir)
    if known is not None and (given is None or known <= given):
        return known
    return min(budgets)


def _ask(client):
    """WorkerMemory of all workers, from tasks: they load what a fit needs as well."""
    from distributed import KilledWorker

    rule = {"allow_other_workers": True, "pure": False}  # one may go meanwhile
    workers = sorted(client.nthreads())
    try:
        return gather_or_refuse(
            client,
            [client.submit(_memory_here, workers=[own], **rule) for own in workers],
        )
    except KilledWorker as error:
        raise MemoryError(
            "workers died again and again while they loaded Python's packages, most "
            "often because they ran out of memory; start them with more of it "
            "(--memory-limit, LocalCluster(memory_limit=...))."
        ) from error


def _memory_here():
    from distributed import get_worker

    worker = get_worker()
    memory = worker.memory_manager
    pause = memory.memory_pause_fraction or _PAUSE
    return WorkerMemory(
        memory.memory_limit or 0, pause, resident_memory(), worker.state.nthreads
    )


def _check_room(worker, least_room):
    if worker.room >= least_room:
        return
    least_limit = (worker.resident + least_room) / worker.pause
    raise MemoryError(
        f"workers have a memory limit of {worker.limit / 1e6:.0f} MB, of which Dask "
        f"lets them use {worker.pause * worker.limit / 1e6:.0f} MB before it pauses "
        f"them, and Python with its packages takes {worker.resident / 1e6:.0f} MB; "
        f"start workers with at least {math.ceil(least_limit / 1e6)} MB "
        f"(--memory-limit, LocalCluster(memory_limit=...))."
    )


def gather_or_refuse(client, futures):
    """Results of futures; a MemoryError once workers are paused for good.

    Dask pauses a worker that comes near its memory limit until its memory shrinks. If
    it keeps its tasks and none goes on, nobody would ever hear of it.
    """
    from distributed import wait

    seen = None
    while True:
        try:
            with client.as_current():
                wait(futures, timeout=_PATIENCE)
            break
        except TimeoutError:
            if any(own.status == "error" for own in futures):
                break
            last, seen = seen, _idle_if_paused(client)
            if seen is not None and seen == last:
                _refuse_paused(client)
    return client.gather(futures)


def _idle_if_paused(client):
    """Counts of tasks by worker, if some are paused and none is at work; else None."""
    workers = client.scheduler_info()["workers"]
    counts = {own: dict(x["metrics"]["task_counts"]) for own, x in workers.items()}
    idle = not any(own.get(x) for own in counts.values() for x in _AT_WORK)
    paused = any(x["status"] == "paused" for x in workers.values())
    return counts if paused and idle else None


def _refuse_paused(client):
    workers = client.scheduler_info()["workers"].values()
    limit = min(x["memory_limit"] or 0 for x in workers)
    held = max(x["metrics"]["memory"] for x in workers)
    raise MemoryError(
        f"workers are paused by Dask, since they are near their memory limit of "
        f"{limit / 1e6:.0f} MB (up to {held / 1e6:.0f} MB are taken), and nothing goes "
        f"on; start workers with more memory (--memory-limit) or fewer threads, "
        f"or pass a smaller memory_budget or, of Dask arrays, smaller chunks."
    )


def _remembered(work_dir):
    """The budget of an earlier run in a folder; None where there is none."""
    if work_dir is None:
        return None
    found = read_plan(Path(work_dir))
    known = None if found is None else found[0].get(KEY)
    return known if isinstance(known, int) and known > 0 else None
