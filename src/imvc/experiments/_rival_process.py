"""Tasks for the Python of an adapter, by files and without pickles.

One such process lives on from run to run, so that its package is imported once. It ends
when another is needed (`leave_rivals`), with this process, or with the pool's worker.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

_LONGEST = 300  # letters of a message: some explain a library's manual
RUNNER = Path(__file__).parent / "_adapters" / "run_adapter.py"


class RivalError(Exception):
    """What went wrong in a rival: the status of the run, and the rival's own words."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _RivalProcess:
    """A Python that has loaded an adapter and waits for tasks."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.command = command
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(command[0]),
            start_new_session=True,  # it ends together with what it has started
        )

    def ask(self, folder: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        answered = b""
        with suppress(BrokenPipeError):
            self.process.stdin.write(f"{folder}\n".encode())
            answered = self.process.stdout.read(1)
        if not answered:
            raise RivalError("failed", ended(self.process.wait()))
        return json.loads(Path(folder, "result.json").read_text())

    def end(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait()


_last: _RivalProcess | None = None


def ask_rival(
    python: str,
    file: str,
    package: str,
    task: Mapping[str, Any],
    Xs: Sequence[np.ndarray] = (),
    mask: np.ndarray | None = None,
) -> dict[str, Any]:
    """What the adapter answers to a task; without one, whether it can be loaded.

    Raises `RivalError` for an error in the adapter or an end of its process.
    """
    global _last
    command = (python, str(RUNNER), file, package)
    if _last is None or _last.command != command:
        leave_rivals()
        _last = _RivalProcess(command)
    with tempfile.TemporaryDirectory(prefix="imvc-rival-") as folder:
        Path(folder, "task.json").write_text(json.dumps(dict(task)))
        if mask is not None:
            arrays: dict[str, Any] = {f"X{v}": X for v, X in enumerate(Xs)}
            np.savez(Path(folder, "views.npz"), mask=mask, **arrays)
        try:
            result = _last.ask(folder)
        except BaseException:
            leave_rivals()  # a late answer would be taken for that to the next task
            raise
    if "error" in result:
        status = "memory" if result["kind"] == "MemoryError" else "failed"
        raise RivalError(status, shorten(result["error"], _LONGEST, placeholder=" …"))
    return result


@atexit.register
def leave_rivals() -> None:
    """End the process that waits for tasks, if there is one."""
    global _last
    if _last is not None:
        _last.end()
        _last = None


def ended(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None or code >= 0:
        return f"the process ended by itself with code {code}"
    name = signal.Signals(-code).name
    hint = ", as a system short of memory does" if name == "SIGKILL" else ""
    return f"the process was killed by {name}{hint}"


def _environment(python: str) -> dict[str, str]:
    """Ours, without what would lead another Python to our packages."""
    hidden = () if python == sys.executable else ("PYTHONPATH", "PYTHONHOME")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return kept | {"PYTHONHASHSEED": "0"}  # a walk over a set is the same in every run
