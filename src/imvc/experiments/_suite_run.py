"""Do the runs of a plan that are not recorded yet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from imvc.experiments._config import RunSpec
from imvc.experiments._estimate import Estimate, estimate
from imvc.experiments._grid import Plan, group_runs
from imvc.experiments._record import Record
from imvc.experiments._store import RecordStore
from imvc.experiments._worker import Limits, Pool

_BEAT = 20.0  # seconds between signs of life


@dataclass(frozen=True)
class Progress:
    """Where a suite stands.

    Attributes
    ----------
    runs, done : int
    last : Record or None
        The one that was finished just now.
    """

    runs: int
    done: int
    last: Record | None = None


def unique_groups(plan: Plan) -> list[tuple[RunSpec, ...]]:
    """The groups of a plan, each run once however many labels it stands under."""
    specs = {run.spec.key: run.spec for run in plan.runs}
    return group_runs(specs.values())


def estimate_plan(
    plan: Plan,
    store: RecordStore | None = None,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
) -> Estimate:
    """How many runs are left and how long they will take.

    Parameters
    ----------
    plan : Plan
    store : RecordStore, optional
        Where timings are taken from and what is done already.
    jobs : int, default=1
    time_limit : float, optional
        Seconds per run; the suite's own by default.

    Returns
    -------
    Estimate
    """
    limit = time_limit or plan.suite.time_limit
    records = store.records() if store is not None else ()
    return estimate(
        unique_groups(plan), plan.shapes, records, jobs=jobs, time_limit=limit
    )


def run_plan(
    plan: Plan,
    store: RecordStore,
    *,
    jobs: int = 1,
    threads: int | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    data_home: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Do what is left of a plan; safe to stop at any time and to call again.

    Parameters
    ----------
    plan : Plan
    store : RecordStore
        Other processes may work on the same file; no run is done twice.
    jobs : int, default=1
        Child processes side by side.
    threads : int, optional
        Threads of each; by default the cores shared out among them.
    time_limit, memory_limit : float, optional
        Seconds and gigabytes per run; the suite's own by default.
    data_home : path-like, optional
        The folder of datasets.
    progress : callable, optional
        Called with a `Progress` after every run.

    Returns
    -------
    Progress
        ``done`` is less than ``runs`` if another process still works on some.
    """
    limits = Limits(
        time_limit or plan.suite.time_limit, memory_limit or plan.suite.memory_limit
    )
    groups = unique_groups(plan)
    keys = [spec.key for group in groups for spec in group]
    store.remember(plan.suite, plan.runs)
    tell = progress or (lambda _: None)
    state = Progress(len(keys), len(store.done(keys)))
    tell(state)

    def finish(records: list[Record]) -> None:
        nonlocal state
        store.finish(records)
        state = Progress(state.runs, state.done + len(records), records[-1])
        tell(state)

    threads = threads or max(1, (os.cpu_count() or 1) // jobs)
    home = None if data_home is None else os.fspath(data_home)
    with Pool(jobs, threads=threads, data_home=home) as pool:
        pool.work(_claimed(groups, store, limits), finish, _Heart(store).tick)
    return Progress(len(keys), len(store.done(keys)))


def _claimed(groups, store: RecordStore, limits: Limits) -> Iterator:
    """The groups that no one else has done or is doing, claimed one by one."""
    done = store.done(spec.key for group in groups for spec in group)
    for group in groups:
        if all(spec.key in done for spec in group):
            continue
        free = store.claim(group)
        if free:
            yield tuple(free), limits


class _Heart:
    """A sign of life every now and then."""

    def __init__(self, store: RecordStore) -> None:
        self._store, self._last = store, time.monotonic()

    def tick(self) -> None:
        if time.monotonic() - self._last > _BEAT:
            self._last = time.monotonic()
            self._store.beat()
