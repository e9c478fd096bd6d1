"""Dask against memory, weak scaling, and an estimate for a real cluster."""

import os

import numpy as np

from common import table
from scale_run import ROW_BYTES, fastest, filled, mib, one_round, score_cells


def bench_dask(bench):
    options, rows, bytes_rows = bench.options, [], []
    n = (options.n or [2_000_000])[0]
    place = bench.data(n)
    header = ["method", "2 threads s", "loading s", "2 workers s", "ratio"]
    header += ["CPU s", "CPU s workers", "CPU ratio", "ACC", "NMI"]
    header += ["ACC workers", "NMI workers"]
    for method in options.methods:
        jobs = {"memory": {"job": "fit"}}
        jobs["dask"] = {"job": "dask", "workers": 2, "form": options.form}
        jobs = {name: job | {"method": method} for name, job in jobs.items()}
        rounds = [one_round(bench, place, jobs, i) for i in range(options.rounds)]
        one, two = (fastest([x[name] for x in rounds]) for name in jobs)
        if failed := [x["failed"] for x in (one, two) if "failed" in x]:
            rows.append(filled([method, *failed], header))
            continue
        cells = [one["seconds"], one["load_seconds"], two["seconds"]]
        cells += [two["seconds"] / one["seconds"], one["cpu"], two["cpu"]]
        cells.append(two["cpu"] / one["cpu"])
        scored = score_cells(one) + score_cells(two)
        rows.append([method, *(f"{x:.2f}" for x in cells), *scored])
        for process, (received, sent) in two["traffic"].items():
            cells = [method, process, received, sent]
            bytes_rows.append([*cells, f"{(received + sent) / n:.3f}"])
    print(f"\nn = {n}: in memory, and on single-thread workers from {options.form}\n")
    print(table(header, rows))
    print("\nBytes through sockets during the fit with 2 workers\n")
    header = ["method", "process", "received", "sent", "both per sample"]
    print(table(header, bytes_rows))
    print("\nCPU seconds are of all processes: workers, scheduler and client.")
    for method in options.methods:
        weak_scaling(bench, method)
        print_estimate(bench, method)


def weak_scaling(bench, method):
    """Fits on 1, 2 and 4 workers with as many samples each."""
    header = ["workers", "n", "fit s", "efficiency", "CPU s", "seconds in tasks"]
    header += ["tasks", "scheduler received MiB", "sent MiB", "peak of a worker MiB"]
    rows, first = [], np.nan
    for workers in (1, 2, 4):
        n = workers * bench.options.per_worker
        one = dask_fit(bench, method, n, workers)
        if "failed" in one:
            rows.append(filled([workers, n, one["failed"]], header))
            continue
        first = one["seconds"] if workers == 1 else first
        busy, count = task_sums(one)
        times = [one["seconds"], first / one["seconds"], one["cpu"], busy]
        sizes = [x / 2**20 for x in one["traffic"]["scheduler"]]
        cells = [f"{x:.2f}" for x in times] + [count] + [f"{x:.2f}" for x in sizes]
        rows.append([workers, n, *cells, mib(one["peak"])])
    cores = len(os.sched_getaffinity(0))
    print(f"\nWeak scaling of {method} on {cores} cores: more workers oversubscribe\n")
    print(table(header, rows))


def dask_fit(bench, method, n, workers):
    spec = {"method": method, "workers": workers, "form": bench.options.form}
    return bench.best(job="dask", place=bench.data(n), **spec)


def task_sums(found):
    """Seconds in tasks, and their number."""
    tasks = found["tasks"].values()
    return sum(x["seconds"] for x in tasks), sum(x["count"] for x in tasks)


def print_estimate(bench, method, workers=100, samples=10**10):
    """What 100 workers would need for 1e10 samples, from two runs on one worker."""
    sizes = [bench.options.per_worker, 4 * bench.options.per_worker]
    found = [dask_fit(bench, method, n, 1) for n in sizes]
    if any("failed" in x for x in found):
        return
    print_kinds(found[1]["tasks"], sizes[1])
    busy, tasks = zip(*map(task_sums, found))
    c, n = busy[1] / sizes[1], sizes[1]
    # The kind of task with most work runs once per block.
    blocks = max(found[1]["tasks"].values(), key=lambda x: x["seconds"])["count"]
    k = tasks[1] / blocks
    o, O = slope(tasks, [x["seconds"] - own for x, own in zip(found, busy)])
    q, Q = slope(tasks, [sum(x["traffic"]["scheduler"]) for x in found])
    S, g, r = max(x["saved"] for x in found), 1.25e9, 1e9
    least = 1e-3  # two short runs may hide what a task costs the scheduler
    print(
        f"""
Estimate on paper for {method}: N = {samples:.0e} samples, W = {workers} workers.
Measured on one worker, n = {n} in {blocks} blocks:
c = {c * 1e6:.2f} us in tasks per sample; k = {k:.1f} tasks per block;
S = {S / 2**20:.2f} MiB, the statistics, which do not grow with the samples.
With n = {sizes[0]} beside it, lines over the number of tasks T:
O + o T seconds outside of tasks, O = {O:.2f} s, o = {o * 1e3:.2f} ms;
Q + q T bytes through the scheduler, Q = {Q / 2**20:.2f} MiB, q = {q:.0f} bytes.
Assumed: g = {g:.2e} bytes/s between machines; every worker reads its files,
b = {ROW_BYTES} bytes per sample, at r = {r:.0e} bytes/s; o at least {least * 1e3:g} ms.
"""
    )
    header = ["samples per block s", "T = k N / s", "tasks: N c / W s"]
    header += ["one read: N b / (W r) s", "outside: O + o T s"]
    header += ["sum over workers: log2(W) S / g s", "scheduler: Q + q T GB"]
    rows = []
    for size in (n / blocks, 1e6, 1e7):
        T = k * samples / size
        cells = [size, T, samples * c / workers, samples * ROW_BYTES / workers / r]
        cells += [O + max(o, least) * T, np.log2(workers) * S / g, (Q + q * T) / 1e9]
        rows.append([f"{x:.3g}" for x in cells])
    print(table(header, rows))


def slope(x, y):
    """Slope and height at zero of the line through two points; neither below zero."""
    rise = max((y[1] - y[0]) / (x[1] - x[0]), 0) if x[1] != x[0] else 0.0
    return rise, max(y[0] - rise * x[0], 0)


def print_kinds(tasks, n):
    rows = [
        [name, x["count"], f"{x['seconds']:.2f}", f"{x['bytes'] / x['count']:.0f}"]
        for name, x in sorted(tasks.items(), key=lambda item: -item[1]["seconds"])
    ]
    print(f"\nIts tasks on one worker, n = {n}\n")
    print(table(["task", "count", "seconds", "mean bytes of a result"], rows))
