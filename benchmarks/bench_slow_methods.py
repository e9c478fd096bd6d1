"""Time of the cubic methods on 1000 samples, against another state of the source.

    python benchmarks/bench_slow_methods.py
    python benchmarks/bench_slow_methods.py --against ../before/src --methods imvtsc-mvi

Every fit is one of a child process, half of the samples incomplete, default settings.
With ``--against`` both sources take turns; medians and their ratios. CPU seconds do not
count what other programs take, but count all threads: for those, set OMP_NUM_THREADS=1
and OPENBLAS_NUM_THREADS=1 beforehand; wall seconds need an idle machine and the default
threads. "same" is the ARI of the two labellings.
"""

import argparse
import os
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from common import available, dataset, table
from imvc import get_method
from imvc.datasets import make_views, nested_masks
from imvc.metrics import adjusted_rand

HERE = Path(__file__).resolve().parent
SAMPLES = 1000
# The data sets of each method: "planted" and names in common.py.
METHODS = {
    "gsrimc": ("planted", "WebKB", "Wikipedia", "Caltech101-7"),
    "ueaf": ("planted", "WebKB", "Wikipedia", "Caltech101-7"),
    "imvtsc-mvi": ("planted", "WebKB", "Wikipedia", "Caltech101-7"),
}


def load(name, n):
    """Views, mask and number of clusters of at most ``n`` samples."""
    if name == "planted":
        data = make_views(
            n, (50, 80, 40), 5, separation=8, incomplete=0.5, random_state=0
        )
        return data.Xs, data.mask, 5
    data = dataset(name)
    rows = np.random.RandomState(0).permutation(data.n_samples)[:n]
    mask = nested_masks(len(rows), data.n_views, (0.5,), random_state=0)[0.5]
    return [X[rows].astype(np.float64) for X in data.Xs], mask, data.n_clusters


def fit(method, name, n, max_iter):
    """CPU and wall seconds, iterations and labels of one fit; max_iter 0: default."""
    Xs, mask, c = load(name, n)
    model = get_method(method)(c, random_state=0)
    if max_iter:
        model.set_params(max_iter=max_iter)
    cpu, wall = time.process_time(), time.perf_counter()
    model.fit(Xs, mask=mask)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, wall, model.n_iter_, model.labels_


def fit_elsewhere(source, *job):
    """`fit` in a process of its own that imports imvc from ``source``."""
    child = subprocess.run(
        [sys.executable, __file__, "--fit", *map(str, job)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return pickle.loads(child.stdout)


def measure(method, name, options, sources):
    """A line of the table: medians of both sources in turns."""
    job = method, name, options.samples, options.max_iter
    runs = [
        [fit_elsewhere(source, *job) for source in sources]
        for _ in range(options.repeats)
    ]
    cells = [method, name, runs[0][0][2]]
    cpu = np.median([[run[0] for run in turn] for turn in runs], axis=0)
    wall = np.median([[run[1] for run in turn] for turn in runs], axis=0)
    cells += [f"{c:.2f} ({w:.2f})" for c, w in zip(cpu, wall)]
    if len(sources) == 2:
        cells.append(f"{cpu[0] / cpu[1]:.2f}")
        cells.append(f"{wall[0] / wall[1]:.2f}")
        cells.append(f"{adjusted_rand(runs[0][0][3], runs[0][1][3]):.3f}")
    return cells


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--against", type=Path, help="src of another checkout")
    parser.add_argument("--sets", nargs="*", help="data sets; none: all of a method")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-iter", type=int, default=0, help="0: until it ends")
    parser.add_argument("--fit", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fit:
        warnings.simplefilter("ignore")
        method, name, n, max_iter = args.fit
        found = fit(method, name, int(n), int(max_iter))
        sys.stdout.buffer.write(pickle.dumps(found))
        return
    sources = [HERE.parent / "src", *([args.against.resolve()] if args.against else [])]
    rows = []
    for method in args.methods:
        for name in args.sets or METHODS[method]:
            if name == "planted" or available([name]):
                rows.append(measure(method, name, args, sources))
                print(f"<!-- {rows[-1]} -->", flush=True)
    header = ["method", "data", "iterations", "now, CPU s (wall)"]
    header += (
        ["before", "ratio of CPU", "ratio of wall", "same"] if args.against else []
    )
    print(table(header, rows))


if __name__ == "__main__":
    main()
