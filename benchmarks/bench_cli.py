"""Times of the program imvc, as a user waits for it.

python benchmarks/bench_cli.py short      import imvc, imvc --help and other short ones
python benchmarks/bench_cli.py cluster    imvc cluster on three CSV files, by stage
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from common import seconds, table
from imvc.datasets import make_views

SHORT = (("--help",), ("cluster", "--help"), ("--version",), ("methods",))
ALONE = ("pass", "import imvc", "import imvc; imvc.RISE")


def program(*arguments, **options):
    """Run imvc in a process of its own; fails if it does."""
    command = [sys.executable, "-m", "imvc.cli", *map(str, arguments)]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, **options
    )


def python(code):
    """Run code in a process of its own."""
    subprocess.run([sys.executable, "-c", code], check=True)


def cpu_seconds(function, repeats):
    """Least user and system time of the processes that ``function`` waits for."""

    def used():
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    best = np.inf
    for _ in range(repeats):
        start = used()
        function()
        best = min(best, used() - start)
    return best


def bench_short(repeats):
    with tempfile.TemporaryDirectory() as folder:
        files = write_views(folder, 200, (8, 12))
        runs = {f"python -c '{code}'": partial(python, code) for code in ALONE}
        runs |= {f"imvc {' '.join(a)}": partial(program, *a) for a in SHORT}
        runs["imvc inspect, two files of 200 samples"] = partial(
            program, "inspect", *files
        )
        rows = []
        for name, run in runs.items():
            run()  # warms the cache of files
            wall, cpu = seconds(run, repeats)[0], cpu_seconds(run, repeats)
            rows.append([f"`{name}`", f"{cpu:.2f}", f"{wall:.2f}"])
    print(table(["command", "CPU, s", f"wall, s (least of {repeats})"], rows))


def write_views(folder, n, dims):
    """CSV files of planted views; each lacks the rows of the samples not seen."""
    data = make_views(n, dims, 5, separation=8, incomplete=0.3, random_state=0)
    ids = np.array([f"sample{i:07d}" for i in range(n)])
    paths = []
    for v, X in enumerate(data.Xs):
        path = Path(folder) / f"view{v}.csv"
        seen = data.mask[:, v]
        head = ",".join(["id", *(f"x{j}" for j in range(X.shape[1]))])
        with open(path, "w") as file:
            file.write(head + "\n")
            for name, row in zip(ids[seen], X[seen].tolist()):
                file.write(f"{name}," + ",".join(f"{x:.6g}" for x in row) + "\n")
        paths.append(path)
    return paths


def bench_cluster(n, dims, refits):
    with tempfile.TemporaryDirectory() as folder:
        paths = write_views(folder, n, dims)
        size = sum(path.stat().st_size for path in paths)
        out = Path(folder) / "out"
        run = partial(
            program, "cluster", *paths, "-k", 5, "-o", out, "--refits", refits
        )
        total, _ = seconds(run)
        stages = json.loads((out / "run.json").read_text())["seconds"]
    print(f"{n} samples, columns {dims}, {size / 1e6:.0f} MB of CSV, {refits} refits\n")
    rows = [[name, f"{s:.2f} s", f"{s / total:.0%}"] for name, s in stages.items()]
    other = total - sum(stages.values())
    rows.append(["start, imports, end", f"{other:.2f} s", f"{other / total:.0%}"])
    rows.append(["whole command", f"{total:.2f} s", "100%"])
    print(table(["stage", "time", "share"], rows))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", choices=["short", "cluster"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--columns", type=int, nargs="+", default=[16, 32, 16])
    parser.add_argument("--refits", type=int, nargs="+", default=[4])
    given = parser.parse_args()
    print(f"<!-- {os.cpu_count()} cores -->")
    if given.bench == "short":
        bench_short(given.repeats)
        return
    for refits in given.refits:
        bench_cluster(given.samples, tuple(given.columns), refits)


if __name__ == "__main__":
    main()
