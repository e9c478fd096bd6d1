"""What the benchmarks share: data, timing, peak memory, tables."""

import contextlib
import ctypes
import gc
import os
import threading
import time
from pathlib import Path

import numpy as np

from imvc.datasets import load_dataset, load_digits_views

SHARED = Path(__file__).resolve().parents[2] / "shared"
FILES = {
    "Prokaryotic": "prokaryotic",
    "WebKB": "webkb",
    "Wikipedia": "wikipedia",
    "3Sources": "3sources_incomplete",
    "Caltech101-7": "caltech101_7_recomputed",
    "FMNIST": "fmnist_cnn",
    "CIFAR10": "cifar10_resnet20",
}


def dataset(name):
    """A benchmark set by its short name; ``digits`` needs no file."""
    if name == "digits":
        return load_digits_views()
    return load_dataset(FILES[name], data_home=SHARED / "data")


def available(names):
    """Those of ``names`` whose files are there; says which are not."""
    found = []
    for name in names:
        if name == "digits" or (SHARED / "data" / f"{FILES[name]}.npz").exists():
            found.append(name)
        else:
            print(f"{name}: no data file, left out")
    return found


def seconds(function, repeats=1):
    """Least wall time of ``function`` over ``repeats`` calls, and its last result."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


class PeakMemory:
    """Peak resident memory above the start, sampled every 5 ms."""

    def __enter__(self):
        # What earlier work freed but the allocator kept would hide new memory.
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        self.start = self.peak = _resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._done.wait(0.005):
            self.peak = max(self.peak, _resident())

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        self.peak = max(self.peak, _resident())

    @property
    def above(self):
        """Bytes above the start."""
        return self.peak - self.start


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def table(header, rows):
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def exponent(sizes, times):
    """Slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
