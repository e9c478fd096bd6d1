"""How much memory is free, and a refusal before it runs out."""

import os
from pathlib import Path

_GIB = 2**30


def check_memory(n_bytes, what, *, available=None):
    """Raise where ``n_bytes`` exceed the free memory.

    Parameters
    ----------
    n_bytes : number
        The need, e.g. ``6 * V * n**2 * 8``.
    what : str
        What needs it, for the message: ``"UEAF on 50000 samples"``.
    available : int, optional
        Free bytes; by default `available_memory()`. If unknown, nothing is checked.

    Raises
    ------
    MemoryError
        Names the need and what is free in GiB.
    """
    free = available_memory() if available is None else available
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs about {n_bytes / _GIB:.1f} GiB of memory and "
            f"{free / _GIB:.1f} GiB are free; use fewer samples or a method whose "
            "cost is linear in their number."
        )


def available_memory():
    """Free bytes of the machine or, if fewer, its control group; None if unknown.

    Linux: MemAvailable and the memory limit of version 1 or 2 control groups; elsewhere
    the free pages of os.sysconf, where it knows them.
    """
    known = [x for x in (_machine_memory(), _group_memory()) if x is not None]
    return min(known) if known else None


def _machine_memory(meminfo="/proc/meminfo"):
    for line in _read(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group_memory(root="/sys/fs/cgroup"):
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


def _read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""
