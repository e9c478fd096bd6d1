"""What digests and fsync of a working folder cost, as shares of a fit on files."""

import os
import shutil
import threading
import time
import zlib

from common import table
from scale_jobs import estimator, inputs, written


class Timed:
    """A function, and the seconds that all calls of it took by a clock."""

    def __init__(self, function, clock):
        self.function, self.clock = function, clock
        self.seconds, self.lock = 0.0, threading.Lock()

    def __call__(self, *args):
        start = self.clock()
        try:
            return self.function(*args)
        finally:
            with self.lock:
                self.seconds += self.clock() - start


def bench_folder(bench):
    """Table of fits with a working folder; digests are spread over two threads."""
    rows = []
    for n in bench.options.n or [1_000_000]:
        for method in bench.options.methods:
            found = [
                measure(bench.data(n), method, bench.options)
                for _ in range(bench.options.rounds)
            ]
            rows += [[method, n, *own] for own in found]
    header = [
        "method",
        "n",
        "fit s",
        "CPU s",
        "written MiB",
        "digests CPU s",
        "of the CPU",
    ]
    print(table([*header, "fsync s", "of the fit"], rows))


def measure(place, method, options):
    """Cells of one fit: `zlib.crc32` and `os.fsync` are timed call by call."""
    work = place / f"work-{method}"
    shutil.rmtree(work, ignore_errors=True)
    given = {"memory_budget": options.budget, "work_dir": work}
    if options.learn_sample:
        given["learn_sample"] = options.learn_sample
    model, (Xs, mask) = estimator(method, **given), inputs(place, "r")
    os.sync()  # what others left to be written is not ours
    # Digests take the processor, fsync waits for the disk.
    digests = Timed(zlib.crc32, time.thread_time)
    syncs = Timed(os.fsync, time.perf_counter)
    zlib.crc32, os.fsync = digests, syncs
    try:
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(Xs, mask=mask)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    finally:
        zlib.crc32, os.fsync = digests.function, syncs.function
    size = written(work)["written"] / 2**20
    shutil.rmtree(work)
    spent = [digests.seconds, digests.seconds / cpu, syncs.seconds]
    return [
        f"{seconds:.2f}",
        f"{cpu:.2f}",
        f"{size:.0f}",
        f"{spent[0]:.3f}",
        f"{100 * spent[1]:.2f} %",
        f"{spent[2]:.2f}",
        f"{100 * spent[2] / seconds:.1f} %",
    ]
