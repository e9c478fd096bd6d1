"""Which clustering methods of the package imml reach n samples, and at what price.

imml gets an environment of its own. Its methods are tried at growing n, below the last
with a quarter of the time; one falls out when it fails, passes a limit, or is expected
to pass it by far.
"""

import subprocess
import sys

import numpy as np

from common import exponent, table
from scale_data import CLUSTERS
from scale_jobs import scores

SIZES = (2_000, 20_000, 200_000)
METHODS = ("OPIMC", "MLMF", "SIMCADC", "PIMVC", "EEIMVC", "LFIMVC")
METHODS += ("NEMO", "IMSR", "DAIMC", "SUMO", "MONET")
LEFT_OUT = {
    "IMSCAGL, MKKMIK, OMVC, OSLFIMVC": "only as Octave programs",
    "IntegrAO, MRGCN": "need PyTorch; full n x n graphs",
}


def probe(bench, n):
    """Print how far the methods get; what was found at n of those that reach it."""
    python = environment(bench.folder)
    sizes = [x for x in SIZES if x < n] + [n]
    history = {method: {} for method in bench.options.imml}
    for size in sizes:
        limit = bench.options.time_limit / (1 if size == n else 4)
        for method, found in history.items():
            if not any("failed" in x for x in found.values()):
                found[size] = attempt(bench, python, method, found, size, limit)
    rows = [
        [method, *(cell(found.get(size)) for size in sizes)]
        for method, found in history.items()
    ]
    rows += [[x, why, *["-"] * (len(sizes) - 1)] for x, why in LEFT_OUT.items()]
    limit, memory = bench.options.time_limit, bench.options.memory_limit
    print("\nimml: seconds, peak MiB above the start, ACC; limits:")
    print(f"{limit / 4:g} s and {memory:g} GiB, at the last size {limit:g} s\n")
    print(table(["method", *(f"n = {x}" for x in sizes)], rows))
    last = {method: found.get(n) for method, found in history.items()}
    return {x: found for x, found in last.items() if found and "failed" not in found}


def environment(folder):
    """The interpreter of an environment with imml, made if it is not there."""
    python, mark = folder / "imml-env/bin/python", folder / "imml-env/done"
    if not mark.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "imml-env"], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "imml"]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        mark.touch()
    return python


def attempt(bench, python, method, earlier, n, time_limit):
    """One method at one size; ``{"failed": why}`` where it cannot be."""
    memory_limit = int(bench.options.memory_limit * 2**30)
    if reason := hopeless(earlier, n, time_limit, memory_limit):
        return {"failed": reason}
    place = bench.data(n)
    labels = place / f"imml-{method}.npy"
    found = bench.run(
        "imml_fit.py",
        python,
        place=place,
        method=method,
        n=n,
        clusters=CLUSTERS,
        labels=labels,
        time_limit=time_limit,
        memory_limit=memory_limit,
    )
    if "failed" in found:
        return found
    return found | scores(place, np.load(labels))


def hopeless(earlier, n, time_limit, memory_limit):
    """Why a method is not tried at n, from what it needed at smaller sizes.

    Time and memory are taken to grow as between the last two sizes, and at least
    linearly. As this is a guess, only more than twice a limit counts.
    """
    limits = {
        "seconds": (time_limit, 1, "s"),
        "above": (memory_limit / 2**20, 2**20, "MiB"),
    }
    for what, (limit, unit, name) in limits.items():
        seen = [(size, max(x[what] / unit, 1e-3)) for size, x in earlier.items()][-2:]
        if not seen:
            continue
        power = max(exponent(*zip(*seen)), 1.0) if len(seen) == 2 else 1.0
        size, value = seen[-1]
        expected = value * (n / size) ** power
        if expected > 2 * limit:
            return f"not tried: n^{power:.1f} leads to {expected:.0f} {name}"
    return None


def cell(found):
    if found is None:
        return "-"
    if "failed" in found:
        return found["failed"]
    return f"{found['seconds']:.2f}, {found['above'] / 2**20:.0f}, {found['acc']:.3f}"
