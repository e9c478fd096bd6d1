"""Peaks of resident memory by budget and threads; of Dask workers by their limit."""

from common import table
from scale_run import ROW_BYTES, filled, mib, score_cells

BUDGETS = ("64MiB", "128MiB", "256MiB", "512MiB")
THREADS = (1, 2, 4)
LIMITS = ("300MB", "400MB", "600MB")
TRIM = 65_536  # as Dask sets it where nobody says otherwise


def bench_memory(bench):
    """A table of fits on files, and one of fits on two single-thread workers."""
    n = (bench.options.n or [1_000_000])[0]
    place = bench.data(n)
    alone = bench.run(place=place, job="imports")["peak"]
    size = mib(n * ROW_BYTES)
    print(f"\nn = {n} in files of {size} MiB; importing alone takes {mib(alone)} MiB\n")
    header = ["method", "memory_budget", *(f"{x} threads MiB" for x in THREADS)]
    header += ["CPU s", "ACC", "NMI"]
    fits = [(x, budget) for x in bench.options.methods for budget in BUDGETS]
    print(table(header, [fit_cells(bench, place, *own) for own in fits]))
    print("\nTwo workers with one thread each, no memory_budget\n")
    header = ["method", "limit of a worker", "peaks MB", "fit s", "ACC", "NMI"]
    runs = [(x, limit) for x in bench.options.methods for limit in LIMITS]
    rows = [filled(worker_cells(bench, place, *own), header) for own in runs]
    print(table(header, rows))


def fit_cells(bench, place, method, budget):
    """Peaks of all numbers of threads; CPU by number too, scores of the last."""
    spec = {"job": "fit", "place": place, "method": method, "budget": budget}
    found = [bench.run(n_jobs=x, **spec) for x in THREADS]
    peaks = [own.get("failed") or mib(own["peak"]) for own in found]
    cpu = ", ".join(f"{own['cpu']:.1f}" for own in found if "cpu" in own)
    return [method, budget, *peaks, cpu, *score_cells(found[-1])]


def worker_cells(bench, place, method, limit):
    spec = {"method": method, "workers": 2, "limit": limit, "trim": TRIM}
    found = bench.run(job="dask", place=place, **spec)
    if "failed" in found:
        return [method, limit, found["failed"]]
    peaks = ", ".join(f"{x / 1e6:.0f}" for x in found["peaks"])
    return [method, limit, peaks, f"{found['seconds']:.1f}", *score_cells(found)]
