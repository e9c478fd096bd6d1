"""Child processes that do runs: limits are kept, and a crash costs one run only.

Children live on from run to run and are replaced after they die or are stopped. The
parent watches their time and resident memory; a child watches that its parent lives.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from imvc._machine import descendants, queue_seconds, resident_memory
from imvc.experiments._outsiders import Outsider
from imvc.experiments._rival_process import ended
from imvc.experiments._run_group import failure, run_group
from imvc.experiments._run_record import Record
from imvc.experiments._suite_plan import Group, load

_BLAS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
)
_LOOK = 0.02  # seconds between looks at the children
_GB = 1e9


@dataclass(frozen=True)
class Limits:
    """What one run may take: seconds, and gigabytes of its process and what it starts.

    A group of runs may take as much time as its runs together. Time in which a run
    was ready but other programs had the cores does not count, where the system tells.
    """

    seconds: float | None = None
    gigabytes: float | None = None


class Pool:
    """Child processes, each with so many threads, that do groups of runs."""

    def __init__(
        self,
        jobs: int,
        limits: Limits,
        *,
        threads: int = 1,
        data_home: str | None = None,
        outsiders: Mapping[str, Outsider] | None = None,
    ) -> None:
        if limits.gigabytes and not resident_memory():
            warnings.warn(
                f"memory_limit={limits.gigabytes:g} cannot be kept: this system does "
                f"not tell the memory of a process (/proc); runs go on without it.",
                stacklevel=3,
            )
        self._arguments = (limits, threads, data_home, outsiders or {})
        self._children: list[_Child] = []
        self._jobs = jobs

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.stop()

    def work(
        self,
        groups: Iterator[Group],
        finish: Callable[[list[Record]], None],
        tick: Callable[[], None],
    ) -> None:
        """Do all groups; ``finish`` gets the records of each as soon as it is done.

        ``groups`` is asked for the next one only when a child is free. ``tick`` is
        called some fifty times a second.
        """
        exhausted = False
        while True:
            while not exhausted and (child := self._idle()) is not None:
                group = next(groups, None)
                if group is None:
                    exhausted = True
                else:
                    child.give(group)
            busy = [child for child in self._children if child.group]
            if not busy:
                if exhausted:
                    return
                continue
            wait([child.pipe for child in busy], timeout=_LOOK)
            for child in busy:
                records = child.look()
                if records is not None:
                    finish(records)
            self._children = [child for child in self._children if child.usable]
            tick()

    def _idle(self) -> _Child | None:
        for child in self._children:
            if not child.group:
                return child
        if len(self._children) < self._jobs:
            self._children.append(_Child(*self._arguments))
            return self._children[-1]
        return None


class _Child:
    """The parent's side of one child process."""

    def __init__(
        self,
        limits: Limits,
        threads: int,
        data_home: str | None,
        outsiders: Mapping[str, Outsider],
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(other, threads, data_home, outsiders), daemon=True
        )
        # Whatever the child leaves behind when it is stopped is in a folder of its own.
        self.folder = tempfile.mkdtemp(prefix="imvc-")
        variables = dict.fromkeys(_BLAS, str(threads)) | {"TMPDIR": self.folder}
        with _environment(variables):
            self.process.start()
        other.close()
        self.limits = limits
        self.group: Group = ()
        self.ready = False
        self.usable = True
        self._start_clock()

    def give(self, group: Group) -> None:
        self.group = group
        self._start_clock()
        with suppress(OSError):  # a child that is dead already is found by `look`
            self.pipe.send(group)

    def look(self) -> list[Record] | None:
        """The records of the group in hand if it has come to an end of any kind."""
        try:
            while self.pipe.poll():
                message = self.pipe.recv()
                if message == "ready":
                    self.ready = True
                    self._start_clock()
                    continue
                self.group = ()
                return message
        except (EOFError, OSError):
            return self._end("failed", self._cause())
        seconds, gigabytes = self.limits.seconds, self.limits.gigabytes
        if self.ready and seconds and self._is_over(seconds * len(self.group)):
            runs = f" for each of {len(self.group)} runs" if len(self.group) > 1 else ""
            return self._end("timeout", f"longer than {seconds:g} s{runs}")
        if gigabytes and self._memory() > gigabytes * _GB:
            return self._end("memory", f"more than {gigabytes:g} GB of memory")
        return None

    def _start_clock(self) -> None:
        self.began = time.monotonic()
        self.queued = {pid: queue_seconds(pid) for pid in self._processes()}

    def _is_over(self, seconds: float) -> bool:
        passed = time.monotonic() - self.began
        if passed <= seconds:
            return False
        # A rival works in a process of its own, and the child waits for it.
        waits = (queue_seconds(p) - self.queued.get(p, 0.0) for p in self._processes())
        return passed - max(waits, default=0.0) > seconds

    def _processes(self) -> list[int]:
        pid = self.process.pid or 0
        return [pid, *descendants(pid)]

    def _memory(self) -> int:
        return sum(map(resident_memory, self._processes()))

    def _end(self, status: str, reason: str) -> list[Record]:
        group, self.group, self.usable = self.group, (), False
        self.stop()
        return [failure(spec, status, reason) for spec in group]

    def _cause(self) -> str:
        self.process.join(5)
        return ended(self.process.exitcode)

    def stop(self) -> None:
        self.usable = False
        started = descendants(self.process.pid or 0)
        self.process.kill()
        for pid in started:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.join()
        self.pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _serve(
    pipe: Connection,
    threads: int,
    data_home: str | None,
    outsiders: Mapping[str, Outsider],
) -> None:
    """The child: do groups until the pipe closes."""
    from threadpoolctl import threadpool_limits

    os.dup2(2, 1)  # what a method prints is no part of the command's output
    # Ctrl-C reaches the whole group of processes; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    pipe.send("ready")
    data: Any = None
    name = None
    with threadpool_limits(threads), suppress(EOFError, OSError):
        while True:
            group = pipe.recv()
            try:
                if group[0].dataset != name:
                    name = data = None
                    data = load(group[0].dataset, data_home)
                    name = group[0].dataset
                records: Any = run_group(group, data, threads, outsiders)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                records = [failure(spec, "failed", reason) for spec in group]
            pipe.send(records)


def _die_with_parent() -> None:
    """End this process when its parent is gone, even in the middle of a run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables for the children: BLAS reads them once, when it is loaded."""
    old = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
