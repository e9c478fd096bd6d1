"""Do the runs of a plan that are not recorded yet."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from imvc.experiments._records_file import RecordStore
from imvc.experiments._run_group import failure
from imvc.experiments._run_record import Record
from imvc.experiments._suite import RunSpec
from imvc.experiments._suite_plan import Group, Plan, unique_groups
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

    # Only runs of this plan speak: another suite in the file had other limits.
    planned = set(keys)
    exhausted = _Exhausted(plan.suite.give_up_after)
    exhausted.note([r for r in store.records() if r.spec.key in planned])

    def finish(records: list[Record]) -> None:
        nonlocal state
        store.finish(records)
        exhausted.note(records)
        state = Progress(state.runs, state.done + len(records), records[-1])
        tell(state)

    threads = threads or max(1, (os.cpu_count() or 1) // jobs)
    home = None if data_home is None else os.fspath(data_home)
    with Pool(
        jobs, limits, threads=threads, data_home=home, outsiders=plan.outsiders
    ) as pool:
        free = exhausted.without(_claimed(groups, store), finish)
        pool.work(free, finish, _signs_of_life(store))
    return Progress(len(keys), len(store.done(keys)))


class _Exhausted:
    """Settings that ran out of time or memory so often that the rest is not tried.

    Which views are missing hardly changes what a fit takes, so a method that needs too
    long on a dataset once needs too long on it with every mask.
    """

    def __init__(self, after: int | None) -> None:
        self.after = after
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._last: dict[tuple[str, str, str], Record] = {}

    def note(self, records: list[Record]) -> None:
        for record in records:
            if record.status in ("timeout", "memory"):
                place = self._place(record.spec)
                self._counts[place] += 1
                self._last.setdefault(place, record)

    def without(
        self, groups: Iterator[Group], finish: Callable[[list[Record]], None]
    ) -> Iterator[Group]:
        """The groups worth a try; the others are finished as what they would become."""
        for group in groups:
            gone = [spec for spec in group if self._is_gone(spec)]
            if gone:
                finish([self._record(spec) for spec in gone])
            left = tuple(spec for spec in group if spec not in gone)
            if left:
                yield left

    def _is_gone(self, spec: RunSpec) -> bool:
        return self.after is not None and self._counts[self._place(spec)] >= self.after

    def _record(self, spec: RunSpec) -> Record:
        first = self._last[self._place(spec)]
        told = f"not tried: rate {first.spec.rate:g} took {first.reason}"
        return failure(spec, first.status, told)

    @staticmethod
    def _place(spec: RunSpec) -> tuple[str, str, str]:
        return spec.dataset, spec.method, spec.setting


def _claimed(groups: list[Group], store: RecordStore) -> Iterator[Group]:
    """The groups that no one else has done or is doing, claimed one by one."""
    done = store.done(spec.key for group in groups for spec in group)
    for group in groups:
        if all(spec.key in done for spec in group):
            continue
        free = store.claim(group)
        if free:
            yield tuple(free)


def _signs_of_life(store: RecordStore) -> Callable[[], None]:
    """A function that, called often, tells other hosts now and then of this process."""
    last = time.monotonic()

    def tick() -> None:
        nonlocal last
        if time.monotonic() - last > _BEAT:
            last = time.monotonic()
            store.beat()

    return tick
