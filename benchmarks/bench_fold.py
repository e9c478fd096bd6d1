"""How sFSR-IMVC lays out the samples, and what their order is worth to it.

python benchmarks/bench_fold.py          rows sorted by class: ACC / NMI in per cent,
                                         means over seeds of mask and estimator
python benchmarks/bench_fold.py --speed  CPU seconds of the authors' 150-sample case
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np

from common import SHARED, available, dataset, table
from imvc import SFSRIMVC, as_views
from imvc.datasets import random_mask
from imvc.methods._iterations import Iterations
from imvc.methods.sfsr_imvc import solve, start_view
from imvc.metrics import score_all

SETS = ["Wikipedia", "Prokaryotic", "WebKB", "Caltech101-7"]
RATES = (0.1, 0.5, 0.9)


def layouts(c):
    """Settings by name: the authors', theirs without the order, and lines."""
    return {
        "balanced, rows as sorted": {"fold": "balanced", "shuffle": False},
        "balanced, shuffled": {"fold": "balanced"},
        "line": {"fold": "line"},
        "line, r = 4, c + 1 anchors": {"ring_rank": 4, "n_anchors": c + 1},
    }


def scores(data, order, rate, options, seed):
    mask = random_mask(data.n_samples, data.n_views, rate, random_state=seed)[order]
    Xs = [X[order].astype(np.float64) for X in data.Xs]
    model = SFSRIMVC(data.n_clusters, random_state=seed, **options)
    labels, y = model.fit_predict(Xs, mask=mask), data.y[order]
    found = score_all(y, labels)
    return 100 * found["acc"], 100 * found["nmi"]


def bench_speed(octave=0.5, repeats=15):
    case = np.load(SHARED / "reference/small_case/small_case.npz")
    views = as_views([case[f"X{v}"] for v in range(3)], case["mask"])

    def solver():
        parts = [start_view(views, v, 4, 4) for v in range(3)]
        rule = 4, 1e-4, 1.0, np.random.default_rng(0)
        solve(parts, *rule, Iterations(50, 1e-6), fold=(15, 10))

    authors = {"n_anchors": 4, "ring_rank": 4, "fold": (15, 10), "shuffle": False}
    jobs = {
        "start and solver, the authors' settings": solver,
        "whole fit, the authors' settings": partial(
            SFSRIMVC(3, random_state=0, **authors).fit, views
        ),
        "whole fit, default settings": partial(SFSRIMVC(3, random_state=0).fit, views),
    }
    body = []
    for name, job in jobs.items():
        cpu = np.inf
        for _ in range(repeats):
            start = time.process_time()
            job()
            cpu = min(cpu, time.process_time() - start)
        body.append([name, f"{cpu:.3f}", octave, f"{octave / cpu:.0f}x"])
    print(table(["what", "CPU s", "Octave CPU s", "ratio"], body))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--rates", nargs="*", type=float, default=RATES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.speed:
        return bench_speed()
    body = []
    for name in available(options.sets):
        data = dataset(name)
        order = np.argsort(data.y, kind="stable")
        for label, parameters in layouts(data.n_clusters).items():
            cells = []
            for rate in options.rates:
                runs = [
                    scores(data, order, rate, parameters, seed)
                    for seed in range(options.seeds)
                ]
                acc, score = np.mean(runs, axis=0)
                cells.append(f"{acc:.1f} ± {np.std(runs, axis=0)[0]:.1f} / {score:.1f}")
            body.append([name, label, *cells])
            print(f"<!-- {body[-1]} -->", flush=True)
    print("\n" + table(["set", "fold", *map(str, options.rates)], body))


if __name__ == "__main__":
    main()
