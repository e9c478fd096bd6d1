"""Memory of processes, as far as the system tells."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress


def resident(pid: int | str | None = "self") -> int:
    """Resident memory of a process in bytes; 0 where the system does not tell."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


class PeakMemory:
    """Peak resident memory above the start, in ``above`` after the block.

    The system's own high-water mark, put back first where the system lets us; a peak
    of an earlier run would hide a lower one otherwise.
    """

    above = 0

    def __enter__(self) -> PeakMemory:
        gc.collect()
        # What earlier runs freed but the allocator kept would hide new memory.
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        self._start = resident() or _peak()
        return self

    def __exit__(self, *_: object) -> None:
        self.above = max(0, _peak() - self._start)


def _peak() -> int:
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    with suppress(ImportError):  # there is no such module on Windows
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * 1024
    return 0
