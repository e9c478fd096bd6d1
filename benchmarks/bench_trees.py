"""Two checkouts of imvc against each other: the same fits, in turns, as ratios.

python benchmarks/bench_trees.py OLD NEW

For every job the two take turns in processes of their own; the best time of each
counts, and the largest memory. Labels must be the same.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from common import table

JOBS = {
    "RISE, 2e5 x 3 x 32 in memory": ("rise", 200_000, "memory"),
    "AnchorBridge, 1e5 x 3 x 32 in memory": ("bridge", 100_000, "memory"),
    "RISE, 1e6 x 3 x 32 from .npy, 256 MiB": ("rise", 1_000_000, "files"),
    "AnchorBridge, 2e5 x 3 x 32 from .npy, 256 MiB": ("bridge", 200_000, "files"),
    "RISE, 1e5 x 3 x 32 on Dask arrays": ("rise", 100_000, "dask"),
}
COMMANDS = (("methods",), ("--help",), ("cluster", "--help"))


def write_views(folder, n):
    """Planted views as .npy files, a third of the samples incomplete."""
    from imvc.datasets import make_views

    data = make_views(n, (32, 32, 32), 10, incomplete=0.3, random_state=0)
    for v, X in enumerate(data.Xs):
        np.save(folder / f"view{v}.npy", X.astype(np.float32))
    np.save(folder / "mask.npy", data.mask)


def fit(method, folder, where):
    """One fit, as a line of JSON: seconds, peak memory and a checksum of the labels."""
    import imvc

    paths = [str(folder / f"view{v}.npy") for v in range(3)]
    options = {"random_state": 0}
    Xs, mask = paths, str(folder / "mask.npy")
    if where == "files":
        options["memory_budget"] = "256MiB"
    else:
        Xs, mask = [np.load(path) for path in paths], np.load(mask)
    if where == "dask":
        import dask.array as da

        Xs = [da.from_array(X, chunks=(20_000, -1)) for X in Xs]
    start = perf_counter()
    model = imvc.get_method(method)(10, **options).fit(Xs, mask=mask)
    taken = perf_counter() - start
    labels = np.ascontiguousarray(model.labels_, np.int64)
    return {
        "seconds": taken,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "labels": hashlib.sha256(labels.tobytes()).hexdigest(),
    }


def run(tree, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(Path(tree) / "src")}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def compare_fits(old, new, rounds):
    rows = []
    for title, (method, n, where) in JOBS.items():
        with tempfile.TemporaryDirectory() as folder:
            # Elsewhere, since a child's peak memory starts at that of its parent.
            run(new, __file__, "--write", folder, str(n))
            found = {tree: [] for tree in (old, new)}
            for _ in range(rounds):
                for tree, runs in found.items():
                    told = run(tree, __file__, "--fit", method, folder, where)
                    runs.append(json.loads(told))
        (a, b) = (min(r["seconds"] for r in found[tree]) for tree in (old, new))
        (p, q) = (max(r["bytes"] for r in found[tree]) / 2**20 for tree in (old, new))
        same = len({r["labels"] for runs in found.values() for r in runs}) == 1
        rows.append(
            [title, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}", f"{p:.0f}", f"{q:.0f}"]
            + ["same" if same else "DIFFER"]
        )
    head = ["fit", "old, s", "new, s", "new / old", "old, MiB", "new, MiB", "labels"]
    print(table(head, rows))


def compare_commands(old, new, rounds):
    rows = []
    for arguments in COMMANDS:
        best = {}
        for _ in range(rounds):
            for tree in (old, new):
                start = perf_counter()
                run(tree, "-m", "imvc.cli", *arguments)
                taken = perf_counter() - start
                best[tree] = min(best.get(tree, taken), taken)
        rows.append(
            [f"imvc {' '.join(arguments)}", f"{best[old]:.2f}", f"{best[new]:.2f}"]
        )
    print(table(["command", "old, s", "new, s"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="*", metavar="OLD NEW")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_views(Path(given.write[0]), int(given.write[1]))
        return
    if given.fit:
        method, folder, where = given.fit
        print(json.dumps(fit(method, Path(folder), where)))
        return
    if len(given.trees) != 2:
        parser.error("give two checkouts")
    old, new = given.trees
    compare_commands(old, new, given.rounds)
    print()
    compare_fits(old, new, given.rounds)


if __name__ == "__main__":
    main()
