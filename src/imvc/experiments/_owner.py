"""Who holds a claim, and whether that process still lives."""

from __future__ import annotations

import os
import platform
import uuid
from dataclasses import dataclass

# A process that cannot be looked at is taken for dead after so many silent seconds.
SILENCE = 120.0


@dataclass(frozen=True)
class Owner:
    """A process that works on a records file."""

    id: str
    host: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Owner:
        pid = os.getpid()
        return cls(uuid.uuid4().hex, platform.node(), pid, _start_of(pid) or "")

    def alive(self, seconds_silent: float) -> bool:
        """Whether the process is there, or was heard of lately if one cannot look."""
        # Windows has no way to ask for a process that does not disturb it.
        if self.host != platform.node() or os.name == "nt":
            return seconds_silent < SILENCE
        started = _start_of(self.pid)
        return started is not None and started == self.started


def _start_of(pid: int) -> str | None:
    """When a process started, as the system counts it; None if there is no such one.

    Process numbers are used again; number and start together are not. Where the
    system does not tell the start, the number alone has to do.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return None
    except OSError:
        pass
    if os.name == "nt":  # where signal 0 is a Ctrl-C
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return ""
