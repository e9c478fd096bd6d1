"""Other processes of the studio: the desk, which answers, and jobs, which fit.

The server itself neither reads tables nor fits. A process that dies, by a hostile file
or for want of memory, costs the one call or job; the server goes on.
"""

import itertools
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
import traceback
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from imvc._plain import error_text, is_wrong_input

logger = logging.getLogger(__name__)

INSIDE = "Something went wrong inside imvc; the terminal shows where."
_DIED = (
    "the process that worked on this ended without a word; the memory may not have "
    "sufficed, or a file is damaged."
)
_GRACE = 3.0  # seconds between asking a process to end and killing it
_TOLD = (ImportError, MemoryError, OSError)  # no wrong input, but the text helps
_SPAWN = multiprocessing.get_context("spawn")


class StudioError(Exception):
    """What went wrong in another process, as a text for the user.

    Parameters
    ----------
    text : str
    status : int
        Of HTTP: 400 where the user can mend it, else 500.
    """

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class Desk:
    """Calls methods of `imvc.studio._desk.Desk` in a process of its own, in turn.

    The process starts with the first call. One that dies is replaced with the next.

    Parameters
    ----------
    target : str, default="imvc.studio._desk:Desk"
        Module and class of the object that is called.
    """

    def __init__(self, target: str = "imvc.studio._desk:Desk") -> None:
        self._target = target
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="desk")
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._closed = False

    async def call(self, method: str, /, **arguments: Any) -> bytes:
        """The answer of a method as JSON, or a `StudioError`."""
        ask = partial(self._ask, method, arguments)
        return await get_running_loop().run_in_executor(self._thread, ask)

    def call_now(self, method: str, **arguments: Any) -> Any:
        """The answer of a method, waited for in a thread that may wait."""
        return json.loads(self._thread.submit(self._ask, method, arguments).result())

    def start(self) -> None:
        """Start the process before the first call, which is then quicker."""
        self._thread.submit(self._connect)

    def close(self) -> None:
        """End the process; a call that is waiting gets an error."""
        self._closed = True
        if self._process is not None:
            end_process(self._process)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _ask(self, method: str, arguments: dict[str, Any]) -> bytes:
        pipe = self._connect()
        try:
            pipe.send((method, arguments))
            outcome, *what = pipe.recv()
        except (EOFError, OSError):
            self._drop()
            raise StudioError(f"{_DIED[0].upper()}{_DIED[1:]}", 500) from None
        if outcome == "done":
            return what[0]
        raise _told_error(*what)

    def _connect(self) -> Connection:
        if self._closed:
            raise StudioError("The studio is being closed.", 503)
        if self._pipe is None:
            self._process, self._pipe = start_process(answer_calls, self._target)
        return self._pipe

    def _drop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            end_process(self._process)
        self._process = self._pipe = None


@dataclass
class Job:
    """A fit, split or prediction: asked for, waiting, running or over.

    Parameters
    ----------
    id, kind, name : str
    task : str
        Module and function that runs in another process, ``module:function``.
    arguments : dict
    run : str, optional
        The run that is made, split or predicted with.
    then : callable, optional
        Takes the result once it is there, in the thread that follows the job; what it
        returns is the job's result.
    undo : callable, optional
        Called if the job fails or is cancelled.
    """

    id: str
    kind: str
    name: str
    task: str
    arguments: dict[str, Any]
    run: str | None = None
    then: Callable[[Any], Any] | None = None
    undo: Callable[[], None] | None = None
    state: str = "waiting"
    error: str | None = None
    result: Any = None
    messages: list[str] = field(default_factory=list)
    progress: dict[str, Any] = field(default_factory=dict)
    started: float | None = None
    ended: float | None = None
    process: BaseProcess | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in ("done", "failed", "cancelled")

    def to_dict(self) -> dict[str, Any]:
        """The job in JSON's types, with the time at which it is asked for."""
        now = time.monotonic() if self.ended is None else self.ended
        tell = dict.fromkeys(("stage", "done", "total", "share", "left"))
        tell |= {k: v for k, v in self.progress.items() if k in tell}
        told = self.progress.get("at")
        if tell["left"] is not None and told is not None:
            tell["left"] = max(0.0, tell["left"] - (now - told))
        if self.is_over:
            tell["left"] = None
        if self.state == "done":
            tell["share"] = 1.0
        waiting = "Waiting for what runs before it"
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "state": self.state,
            **tell,
            "stage": waiting
            if self.state == "waiting"
            else tell["stage"] or "Starting",
            "seconds": 0.0 if self.started is None else now - self.started,
            "messages": list(self.messages),
            "error": self.error,
            "run": self.run,
            "result": self.result,
        }


class Jobs:
    """Jobs in the order in which they were asked for, one at a time."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jobs")
        self._guard = threading.Lock()
        self._followed: dict[str, Future[None]] = {}

    def submit(self, kind: str, name: str, task: str, **more: Any) -> Job:
        """Start a job, or let it wait for those before it; `more` as in `Job`."""
        job = Job(f"j{next(self._numbers)}", kind, name, task, **more)
        self._jobs[job.id] = job
        self._followed[job.id] = self._thread.submit(self._follow, job)
        return job

    def wait(self, id: str) -> None:
        """Wait until a job is over and its process is gone."""
        self._followed[id].result()

    def get(self, id: str) -> Job | None:
        """The job of an id."""
        return self._jobs.get(id)

    def to_list(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        return [job.to_dict() for job in reversed(list(self._jobs.values()))]

    def active_runs(self) -> set[str]:
        """Runs that are being made."""
        jobs = list(self._jobs.values())
        return {j.run for j in jobs if j.run and j.kind == "cluster" and not j.is_over}

    def uses(self, run: str) -> bool:
        """Whether a job that is not over works on a run."""
        return any(j.run == run and not j.is_over for j in list(self._jobs.values()))

    def cancel(self, id: str) -> None:
        """End a job and its process; one that is over stays as it is."""
        with self._guard:
            job = self._jobs[id]
            if job.is_over:
                return
            waiting, process = job.state == "waiting", job.process
            job.state, job.ended = "cancelled", time.monotonic()
            if waiting and job.undo is not None:
                job.undo()
        if process is not None:
            end_process(process)

    def forget(self, id: str) -> None:
        """Take a job that is over from the list."""
        if self._jobs[id].is_over:
            del self._jobs[id], self._followed[id]

    def close(self) -> None:
        """Cancel all that is not over; it stays as what was interrupted."""
        for id, job in list(self._jobs.items()):
            job.undo = None
            self.cancel(id)
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _follow(self, job: Job) -> None:
        """Run a job and listen to it until it is over."""
        with self._guard:
            if job.is_over:  # cancelled while it was waiting
                return
            job.process, pipe = start_process(run_task, job.task, job.arguments)
            job.state, job.started = "running", time.monotonic()
        outcome: tuple[Any, ...] = ("failed", _DIED, 500, "")
        with suppress(EOFError, OSError):
            while True:
                kind, *what = pipe.recv()
                if kind == "progress":
                    _hear(job, *what)
                else:
                    outcome = (kind, *what)
                    break
        pipe.close()
        end_process(job.process)
        self._finish(job, outcome)

    def _finish(self, job: Job, outcome: tuple[Any, ...]) -> None:
        state, error, result = "failed", None, None
        try:
            if job.state == "cancelled":
                state = "cancelled"
            elif outcome[0] == "done":
                result = outcome[1] if job.then is None else job.then(outcome[1])
                state = "done"
            else:
                error = str(_told_error(*outcome[1:]))
        except Exception as problem:
            text, status, trace = told(problem)
            error = str(_told_error(text, status, trace))
        with self._guard:
            if job.state == "cancelled":  # just now
                state = "cancelled"
            if state != "done" and job.undo is not None:
                job.undo()
            job.error, job.result, job.ended = error, result, time.monotonic()
            job.state, job.process = state, None


def start_process(
    target: Callable[..., None], *arguments: Any
) -> tuple[BaseProcess, Connection]:
    """A process that runs ``target(pipe, *arguments)``, and our end of the pipe."""
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()  # so that its end is noticed
    return process, ours


def end_process(process: BaseProcess) -> None:
    """End a process and those that it started; kill them if they do not go."""
    for number in ("SIGTERM", "SIGKILL"):
        if not process.is_alive():
            break
        try:
            os.killpg(process.pid or 0, getattr(signal, number))
        except (AttributeError, OSError):  # Windows; or it leads no group yet
            process.terminate() if number == "SIGTERM" else process.kill()
        process.join(_GRACE)
    process.join(_GRACE)


def answer_calls(pipe: Connection, target: str) -> None:
    """In the process of the desk: call what is asked for, until nobody asks."""
    _settle_in()
    desk = _find(target)()
    while True:
        try:
            method, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            found = getattr(desk, method)(**arguments)
            text = json.dumps(found, allow_nan=False, separators=(",", ":"))
            answer: tuple[Any, ...] = ("done", text.encode())
        except Exception as error:
            answer = ("failed", *told(error))
        pipe.send(answer)


def run_task(pipe: Connection, target: str, arguments: dict[str, Any]) -> None:
    """In the process of a job: run its task and tell how that went."""
    _settle_in()
    try:
        result = _find(target)(
            lambda **state: pipe.send(("progress", state)), **arguments
        )
        pipe.send(("done", result))
    except Exception as error:
        pipe.send(("failed", *told(error)))


def told(error: Exception) -> tuple[str, int, str]:
    """Text, status and traceback of an error, to be told in another process."""
    if isinstance(error, StudioError):
        return str(error), error.status, ""
    text, trace = error_text(error), "".join(traceback.format_exception(error))
    if is_wrong_input(error):
        return text, 400, ""
    return (text, 500, trace) if isinstance(error, _TOLD) else (INSIDE, 500, trace)


def _told_error(text: str, status: int, trace: str) -> StudioError:
    if trace:
        logger.error("%s", trace.rstrip())
    return StudioError(text, status)


def _find(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def _settle_in() -> None:
    """Lead a group of processes, away from Ctrl-C, and end when the server does."""
    # The server ends us with itself, as a daemon, but joblib uses one core in daemons.
    multiprocessing.current_process().daemon = False
    if hasattr(os, "setpgid"):
        with suppress(OSError):
            os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    """End this process, and what it started, once its parent is gone."""
    parent.join()
    with suppress(AttributeError, OSError):
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _hear(job: Job, state: dict[str, Any]) -> None:
    """Take in what a job tells of itself."""
    message = state.pop("message", None)
    if message:
        job.messages.append(message)
    if state:
        job.progress = {**job.progress, **state, "at": time.monotonic()}
