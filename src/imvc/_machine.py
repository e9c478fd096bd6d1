"""The machine and the versions a result was made with, and the memory it took."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from imvc._version import __version__

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as <malloc.h> numbers them
_PACKAGES = ("imvc", "numpy", "scipy", "scikit-learn")


def machine_info() -> dict[str, Any]:
    """Versions, BLAS and cores, in plain types ready for JSON.

    Returns
    -------
    dict
        ``python``, ``system``, ``processor``, ``cores``, ``versions`` (per package)
        and ``blas`` (name, version and threads of each library loaded). Nothing that
        names the host or its user.

    Examples
    --------
    >>> from imvc.experiments import machine_info
    >>> sorted(machine_info())
    ['blas', 'cores', 'processor', 'python', 'system', 'versions']
    """
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "versions": dict.fromkeys(_PACKAGES, "unknown") | package_versions(_PACKAGES),
        "blas": sorted(
            {
                (
                    str(pool["internal_api"]),
                    str(pool.get("version")),
                    int(pool["num_threads"]),
                )
                for pool in threadpool_info()
                if pool["user_api"] == "blas"
            }
        ),
    }


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed."""
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            # What is installed may lag behind the sources of an editable install.
            found[name] = __version__ if name == "imvc" else version(name)
    return found


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def available_memory() -> int | None:
    """Free bytes of the machine or, if fewer, its control group; None if unknown.

    Linux: MemAvailable and the memory limit of version 1 or 2 control groups; elsewhere
    the free pages of os.sysconf, where it knows them.
    """
    known = [x for x in (_machine_memory(), _group_memory()) if x is not None]
    return min(known) if known else None


def _machine_memory(meminfo: str | Path = "/proc/meminfo") -> int | None:
    for line in _read(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group_memory(root: str | Path = "/sys/fs/cgroup") -> int | None:
    for folder, limit, usage, cache in (
        ("", "memory.max", "memory.current", "inactive_file"),
        (
            "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        here = Path(root) / folder
        most, used = _read(here / limit).strip(), _read(here / usage).strip()
        if most.isdigit() and used.isdigit():
            stat = dict(
                line.split(maxsplit=1)
                for line in _read(here / "memory.stat").splitlines()
                if " " in line
            )
            # Cached file pages count as used but are given back on demand.
            return max(int(most) - int(used) + int(stat.get(cache, 0)), 0)
    return None


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def resident_memory(pid: int | str | None = "self") -> int:
    """Resident memory of a process in bytes; 0 where the system does not tell."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def queue_seconds(pid: int) -> float:
    """Seconds that a process was ready but had no core; 0 where nothing tells."""
    with suppress(ValueError, IndexError):
        return int(_read(Path(f"/proc/{pid}/schedstat")).split()[1]) / 1e9
    return 0.0


def descendants(pid: int) -> list[int]:
    """Processes that a process has started, and that those have; Linux only."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _read(path).split()):
            found += [child, *descendants(child)]
    return found


def peak_memory() -> int | None:
    """Most bytes that this process has had in memory, where the system tells."""
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    with suppress(ImportError):  # there is no such module on Windows
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * 1024
    return None


def give_back_memory() -> None:
    """Hand freed memory, which the allocator keeps for later, back to the system."""
    with suppress(OSError, AttributeError):  # where there is no such allocator
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def keep_little_freed_memory() -> None:
    """Let the allocator keep at most 16 MiB of freed memory for each thread.

    Left alone it comes to keep up to 64 MiB of every thread that ever held large
    arrays (glibc, whose thresholds grow with what is freed). It holds for the process.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        for threshold in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            library.mallopt(threshold, 16 * 2**20)


class PeakMemory:
    """Peak resident memory above the start, in ``above`` after the block.

    The system's own high-water mark, put back first where the system lets us; a peak
    of an earlier run would hide a lower one otherwise.
    """

    above = 0

    def __enter__(self) -> PeakMemory:
        gc.collect()
        give_back_memory()  # what earlier runs freed would hide new memory
        with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        self._start = resident_memory() or peak_memory() or 0
        return self

    def __exit__(self, *_: object) -> None:
        self.above = max(0, (peak_memory() or 0) - self._start)
