"""An hour of fits, updates, predictions, saves and loads: does anything grow or change?

python benchmarks/soak.py --minutes 60
python benchmarks/soak.py --minutes 60 --dask

Rounds of the jobs in soak_jobs.py, all in one process, or with --dask through two
worker processes. After every round memory, handles, threads, child processes and
temporary files are counted, and the labels of every fit are compared with its first
ones. Rounds are written to --out as they end, a line of JSON each. The exit code is 1
if labels changed, a job failed, handles or files grew, or memory surely grows.
"""

import argparse
import ctypes
import faulthandler
import gc
import hashlib
import json
import os
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil

from imvc._machine import give_back_memory
from soak_jobs import DASK, LOCAL, write_data
from soak_summary import problems, report

LONGEST_ROUND = 900  # seconds; what hangs is broken off, with a traceback
MALLINFO = ("arena", "ordblks", "smblks", "hblks", "hblkhd")  # of <malloc.h>
MALLINFO += ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
# Dask keeps histories for its dashboard that fill up for an hour, and an account of
# every computation (a span) that it never drops: both would be taken for leaks of ours.
SHORT_HISTORY = {
    "distributed.admin.log-length": 100,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.system-monitor.log-length": 100,
    "distributed.diagnostics.computations.max-history": 10,
    "distributed.diagnostics.erred-tasks.max-history": 10,
    "distributed.worker.profile.enabled": False,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--dask", action="store_true", help="through two workers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default="soak.jsonl", help="of all rounds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records = []
    with ExitStack() as stack, options.out.open("w") as out:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        soak = Soak(root, options.seed, stack if options.dask else None)
        try:
            for record in soak.rounds(60 * options.minutes):
                out.write(json.dumps(record) + "\n")
                out.flush()
                records.append(record)
                tell(records)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
    print(report(records))
    sys.exit(bool(problems(records)))


class Soak:
    """Data, jobs, and where to look at what they leave.

    Parameters
    ----------
    root : Path
        An empty folder. Temporary files of this process and its workers go there.
    seed : int
    stack : ExitStack, optional
        Keeps the cluster; without one everything is done in this process.
    """

    def __init__(self, root, seed=0, stack=None):
        for name in ("data", "temporary", "dask"):
            (root / name).mkdir()
        self._temporary = root / "temporary"
        tempfile.tempdir = os.environ["TMPDIR"] = str(self._temporary)
        self._data, self._client = write_data(root / "data", seed), None
        if stack is not None:
            self._client = start_cluster(stack, root / "dask")
        self._pids = self._processes()

    def rounds(self, seconds):
        """Records of rounds, until the time is over."""
        start, turn = time.monotonic(), 0
        while time.monotonic() - start < seconds:
            faulthandler.dump_traceback_later(LONGEST_ROUND, exit=True)
            record = {"round": turn} | self.round(turn)
            yield record | {"at": time.monotonic() - start}
            turn += 1
        faulthandler.cancel_dump_traceback_later()

    def round(self, turn):
        """All jobs once; what they found, and what is left of them."""
        start, labels, failures = time.monotonic(), {}, []
        jobs = LOCAL if self._client is None else DASK
        more = () if self._client is None else (self._client,)
        for job in jobs:
            try:
                labels |= {
                    x: digest(y) for x, y in job(self._data, turn, *more).items()
                }
            except Exception:  # to fail at minute 50 must not end the hour
                failures.append(f"{job.__name__}: {traceback.format_exc(limit=-3)}")
        seconds = time.monotonic() - start
        try:
            left = self._left()
        except Exception:
            left = {}
            failures.append(f"counting: {traceback.format_exc(limit=-3)}")
        return {"seconds": seconds, "labels": labels, "failures": failures} | left

    def _left(self):
        """Memory, handles, threads, child processes and temporary files."""
        # Counted before: what waits for the collector holds its handle until then.
        uncollected = self._files(), psutil.Process().num_fds()
        gc.collect()
        give_back_memory()  # what the allocator keeps for later is no leak
        if self._client is not None:
            tidy_workers(self._client)
        if (pids := self._processes()) != self._pids:
            raise RuntimeError(f"processes were {self._pids} and are {pids}")
        in_use = [allocated()]
        if self._client is not None:
            in_use += self._client.run(allocated).values()
        found = {x: measure(psutil.Process(p), dict(in_use)) for x, p in pids.items()}
        return {
            "processes": found,
            "children": len(psutil.Process().children(recursive=True)),
            "temporary": self._files(),
            "uncollected": uncollected,
        }

    def _files(self):
        return sum(1 for _ in self._temporary.rglob("*"))

    def _processes(self):
        """Process ids by name."""
        if self._client is None:
            return {"process": os.getpid()}
        workers = sorted(self._client.run(os.getpid).values())
        return {"client": os.getpid()} | {
            f"worker {i}": x for i, x in enumerate(workers)
        }


def start_cluster(stack, folder):
    """A client of two worker processes with one thread each; the scheduler is here."""
    import dask
    from distributed import Client, LocalCluster, scheduler, worker

    without_spans = [
        {name: own for name, own in known.items() if name != "spans"}
        for known in (scheduler.DEFAULT_EXTENSIONS, worker.DEFAULT_EXTENSIONS)
    ]
    folders = {"temporary-directory": str(folder)}
    stack.enter_context(dask.config.set(SHORT_HISTORY | folders))
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        scheduler_kwargs={"extensions": without_spans[0]},
        extensions=without_spans[1],
    )
    client = Client(stack.enter_context(cluster), set_as_default=False)
    return stack.enter_context(client)


def tidy_workers(client):
    """The same there; empty a cache of 100 000 task names everywhere."""
    from dask.utils import key_split

    key_split.cache_clear()
    for function in (key_split.cache_clear, gc.collect, give_back_memory):
        client.run(function)


def allocated():
    """``(process, MB that are allocated in it)``: what is in use, however scattered.

    NaN where the allocator is not that of glibc 2.33 or later.
    """
    try:
        tell = ctypes.CDLL("libc.so.6").mallinfo2
    except (OSError, AttributeError):
        return os.getpid(), float("nan")
    fields = [(name, ctypes.c_size_t) for name in MALLINFO]
    # Made here, since such a class cannot be sent to workers.
    tell.restype = type("State", (ctypes.Structure,), {"_fields_": fields})
    state = tell()
    return os.getpid(), (state.uordblks + state.hblkhd) / 1e6


def measure(process, in_use):
    """MB of a process, its handles and threads."""
    memory = process.memory_full_info()
    return {
        "allocated": in_use[process.pid],
        "rss": memory.rss / 1e6,
        "uss": memory.uss / 1e6,
        "handles": process.num_fds(),
        "threads": process.num_threads(),
    }


def digest(labels):
    """A short name for labels."""
    data = np.ascontiguousarray(labels, np.int64).tobytes()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def tell(records):
    """A line in every minute."""
    last, before = records[-1], records[-2]["at"] if len(records) > 1 else 0
    if last["at"] // 60 == before // 60:
        return
    memory = {x: f"{y['rss']:.1f} MB" for x, y in last.get("processes", {}).items()}
    failed = sum(len(x["failures"]) for x in records)
    cells = [f"{x} {y}" for x, y in memory.items()] + [f"{failed} failures"]
    print(f"minute {last['at'] // 60:.0f}, round {last['round']}: {', '.join(cells)}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
