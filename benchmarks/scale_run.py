"""Jobs of bench_scale.py in fresh processes: started, limited, remembered, told."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from scale_data import WIDTHS, planted_files

HERE = Path(__file__).resolve().parent
ROW_BYTES = 4 * sum(WIDTHS)
LONGEST = 7200  # seconds of a job of ours


class Bench:
    """Runs jobs in fresh processes and remembers what they found."""

    def __init__(self, options):
        self.options, self.folder = options, options.folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.folder / "measured.jsonl"
        self._known = {}
        if self._file.exists() and not options.fresh:
            self._known = dict(map(json.loads, self._file.read_text().splitlines()))

    def data(self, n):
        """Folder with the files of n planted samples."""
        return planted_files(self.folder, n)

    def run(self, script="scale_jobs.py", python=sys.executable, again=0, **spec):
        """What the job found, or ``{"failed": why}``; ``again`` tells repeats apart."""
        key = json.dumps([script, spec, again], sort_keys=True, default=str)
        found = self._known.get(key)
        if found is None:
            found = self._start([str(python), str(HERE / script)], spec)
            # To fail within limits is a result; any other failure may be mended.
            if "failed" not in found or "time_limit" in spec:
                self._known[key] = found
                with self._file.open("a") as file:
                    file.write(json.dumps([key, found]) + "\n")
        told = [spec["place"].name, *(x for x in spec.values() if isinstance(x, str))]
        what = found.get("failed") or f"{found['seconds']:.2f} s, load {found['load']}"
        print(f"<!-- {' '.join(told)}: {what} -->", flush=True)
        return found

    def best(self, **spec):
        """The fastest of the rounds."""
        return fastest([self.run(again=i, **spec) for i in range(self.options.rounds)])

    def _start(self, command, spec):
        # Dask's workers look functions of these scripts up by name.
        paths = filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
        load = round(os.getloadavg()[0], 1)
        child = subprocess.Popen(
            [*command, json.dumps(spec, default=str)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        limit = spec.get("time_limit", LONGEST)
        try:
            out, err = child.communicate(timeout=limit)
        except BaseException as error:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return {"failed": f"over {limit:g} s"}
            raise
        if child.returncode:
            return {"failed": reason(err) or f"exit code {child.returncode}"}
        return json.loads(out.strip().splitlines()[-1]) | {"load": load}


def reason(errors):
    """The exception in what a process wrote to standard error."""
    lines = [x for x in errors.splitlines() if re.match(r"[\w.]+(Error|Exception)", x)]
    last = lines[-1] if lines else ""
    if least := re.search(r"MemoryError.*(at least \d+ MB)", last):
        return f"refused: needs {least[1]}"
    return "out of memory" if "MemoryError" in last else last[:120]


def fastest(found):
    return min(found, key=lambda x: x.get("seconds", np.inf))


def mib(size):
    return f"{size / 2**20:.0f}"


def score_cells(found):
    return [f"{found[x]:.4f}" if x in found else "-" for x in ("acc", "nmi")]


def filled(cells, header):
    """A row of a table, with dashes where there is nothing to tell."""
    return [*cells, *["-"] * (len(header) - len(cells))]


def one_round(bench, place, jobs, i):
    """All jobs once, in turned order in every second round."""
    found = {}
    for name in list(jobs)[:: -1 if i % 2 else 1]:
        again = f"cold {i}" if bench.options.cold else i
        if bench.options.cold:
            drop_cache(place)
        elif i == 0 and not found:
            read_through(place)
        found[name] = bench.run(place=place, again=again, **jobs[name])
    return found


def drop_cache(place):
    """Ask the kernel to forget the files: the job then reads from the disk."""
    os.sync()
    for path in place.glob("*.npy"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_through(place):
    """Read the files once, so that the first job finds what the others find."""
    for path in place.glob("*.npy"):
        with path.open("rb", buffering=0) as file:
            while file.read(1 << 24):
                pass
