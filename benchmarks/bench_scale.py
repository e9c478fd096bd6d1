"""RISE and AnchorBridge past one machine's memory, and past one machine.

python benchmarks/bench_scale.py out-of-core   files, against the cost of reading them
python benchmarks/bench_scale.py in-memory     beside MiniBatchKMeans and imml
python benchmarks/bench_scale.py dask          against memory; bytes, weak scaling
python benchmarks/bench_scale.py stages        what a sample costs where, one thread
python benchmarks/bench_scale.py folder        digests and fsync as shares of a fit
python benchmarks/bench_scale.py memory        peaks by budget, threads, Dask's limits

Every measurement has a process of its own. Data and finished measurements stay in
--folder: a second call goes on where the first one stopped.
"""

import argparse
import sys
from pathlib import Path

import scale_imml
from common import exponent, table
from scale_dask import bench_dask
from scale_folder import bench_folder
from scale_memory import bench_memory
from scale_run import ROW_BYTES, Bench, fastest, filled, mib, one_round, score_cells
from scale_stages import bench_stages


def bench_out_of_core(bench):
    options = bench.options
    sizes = options.n or [1_000_000, 10_000_000]
    jobs = {"floor": {"job": "floor"}}
    for x in options.methods:
        jobs[x] = {"job": "fit", "method": x, "budget": options.budget}
        jobs[x] |= learning(options)
    # All sizes in every round: a busy hour then does not pass for growth.
    rounds = [
        {n: one_round(bench, bench.data(n), jobs, i) for n in sizes}
        for i in range(options.rounds)
    ]
    header = ["method", "n", "floor s", "fit s", "ratio", "by round", "floor CPU s"]
    header += ["fit CPU s", "CPU ratio", "peak RSS MiB", "files MiB", "written MiB"]
    header += ["ACC", "NMI", "stages s"]
    best = {(x, n): fastest([r[n][x] for r in rounds]) for x in jobs for n in sizes}
    rows = []
    for n in sizes:
        for x in options.methods:
            ratios = [
                f"{r[n][x]['seconds'] / r[n]['floor']['seconds']:.2f}"
                for r in rounds
                if "failed" not in r[n][x]
            ]
            cells = file_cells(n, best["floor", n], best[x, n], " ".join(ratios))
            rows.append(filled([x, n, *cells], header))
    kind = "dropped before every job" if options.cold else "left to the kernel"
    print(f"\nmemory_budget={options.budget}; page cache {kind}\n")
    print(table(header, rows) + "\n")
    for x in jobs:
        print_growth(x, {n: best[x, n] for n in sizes if "failed" not in best[x, n]})


def learning(options):
    """How many samples to learn from, if not as many as by default."""
    return {"learn_sample": options.learn_sample} if options.learn_sample else {}


def file_cells(n, floor, found, ratios):
    """Cells of one fit on files."""
    if "failed" in found:
        return [found["failed"]]
    pairs = [(floor[x], found[x], found[x] / floor[x]) for x in ("seconds", "cpu")]
    wall, cpu = ([f"{x:.2f}" for x in pair] for pair in pairs)
    sizes = [mib(x) for x in (found["peak"], n * ROW_BYTES, found["written"])]
    stages = ", ".join(f"{x} {s:.2f}" for x, s in found["stages"].items())
    return [*wall, ratios, *cpu, *sizes, *score_cells(found), stages]


def print_growth(method, found):
    if len(found) > 1:
        ends = [min(found), max(found)]
        wall, cpu = (
            exponent(ends, [found[n][x] for n in ends]) for x in ("seconds", "cpu")
        )
        span = f"{ends[0]} to {ends[1]}"
        print(f"growth exponent of {method}, {span}: {wall:.3f} (CPU {cpu:.3f})")


def bench_in_memory(bench):
    n = (bench.options.n or [1_000_000])[0]
    place = bench.data(n)
    own = learning(bench.options)
    jobs = {x: {"job": "fit", "method": x, **own} for x in bench.options.methods}
    jobs["MiniBatchKMeans, mean-imputed"] = {"job": "minibatch"}
    found = {name: bench.best(place=place, **job) for name, job in jobs.items()}
    reached = scale_imml.probe(bench, n)
    found |= {f"imml {x}": own for x, own in reached.items()}
    header = ["method", "fit s", "fit CPU s", "peak RSS MiB", "above start MiB"]
    header += ["ACC", "NMI"]
    rows = []
    for name, own in found.items():
        if "failed" in own:
            rows.append(filled([name, own["failed"]], header))
            continue
        cells = [f"{own['seconds']:.2f}", f"{own['cpu']:.2f}"]
        cells += [mib(own["peak"]), mib(own["above"]), *score_cells(own)]
        rows.append([name, *cells])
    size = mib(n * ROW_BYTES)
    print(f"\nn = {n}, {size} MiB of float32 (imml: the same as float64)\n")
    print(table(header, rows))


PARTS = {
    "out-of-core": bench_out_of_core,
    "in-memory": bench_in_memory,
    "dask": bench_dask,
    "stages": bench_stages,
    "folder": bench_folder,
    "memory": bench_memory,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add, count = parser.add_argument, lambda text: int(float(text))
    add("part", choices=PARTS)
    add("--folder", type=Path, default=Path("bench-scale"), help="data and results")
    add("--n", type=count, nargs="*", help="numbers of samples, as 1e6")
    add("--methods", nargs="*", default=["rise", "bridge"])
    add("--rounds", type=int, default=2, help="repeats, in turned order; least counts")
    add("--learn-sample", type=count, help="samples to learn from; else the default")
    add("--budget", default="1GiB", help="memory_budget of fits on files")
    add("--cold", action="store_true", help="drop cached files before every job")
    add("--per-worker", type=count, default=500_000, help="samples of weak scaling")
    add("--form", choices=["npy", "zarr"], default="npy", help="files for Dask")
    add("--imml", nargs="*", default=scale_imml.METHODS, help="methods of imml")
    add("--time-limit", type=float, default=600, help="seconds for imml at n")
    add("--memory-limit", type=float, default=12, help="GiB for imml")
    add("--fresh", action="store_true", help="measure again what was measured")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    # Where the files were is of no interest to who reads the tables.
    told = [x for x, last in zip(sys.argv[1:], sys.argv) if "--folder" not in (x, last)]
    print(f"`python benchmarks/bench_scale.py {' '.join(told)}`\n", flush=True)
    PARTS[options.part](Bench(options))


if __name__ == "__main__":
    main()
