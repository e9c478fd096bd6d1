"""Time, memory and quality of every method.

python benchmarks/bench_methods.py speed     time and memory by n, ratio to RISE
python benchmarks/bench_methods.py octave    against the authors' programs
python benchmarks/bench_methods.py quality   default parameters, three real sets
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.model_selection import ParameterGrid

from common import SHARED, PeakMemory, available, dataset, exponent, seconds, table
from imvc import as_views, get_method, list_methods
from imvc.datasets import make_views, nested_masks
from imvc.methods._registry import METHODS
from imvc.metrics import score_all

SMALL, LARGE = (500, 2000), (20_000, 100_000)
RATES = (0.1, 0.5, 0.9)
SETS = ["Prokaryotic", "WebKB", "Wikipedia"]
# Table 2 of the RISE paper, means over nine ratios: ACC / NMI / purity.
PAPER = {
    "ueaf": ("53.5/27.1/66.9", "76.6/17.2/80.9", "46.0/36.1/49.4"),
    "pimvc": ("54.0/25.9/64.0", "86.1/23.9/85.0", "46.1/34.1/50.8"),
    "hcls-cgl": ("56.6/7.3/59.6", "82.0/17.0/82.2", "39.7/28.3/44.5"),
    "gsrimc": ("49.4/17.0/61.7", "87.3/40.9/88.5", "47.5/23.8/39.1"),
    "imvtsc-mvi": ("53.9/19.5/58.1", "81.5/9.2/81.5", "45.1/38.9/50.8"),
    "daimc": ("51.3/16.0/58.4", "81.8/16.6/81.7", "46.9/32.4/49.0"),
    "sfsr-imvc": ("55.1/11.1/57.8", "78.7/2.3/78.7", "48.0/34.4/37.2"),
    "psimvc-pg": ("47.2/22.8/59.0", "71.1/10.8/78.3", "47.4/35.8/51.1"),
    "imvc-cbg": ("54.9/31.3/68.8", "86.7/34.1/86.7", "47.2/38.0/50.9"),
    "simvc-sa": ("60.4/32.7/72.8", "83.6/25.1/83.6", "47.2/39.2/51.6"),
    "rise": ("75.1/38.6/77.5", "93.0/53.6/93.4", "48.6/35.8/57.0"),
}


def bench_speed(methods):
    rows = {name: {} for name in methods}
    for n in (*SMALL, *LARGE):
        data = make_views(
            n, (50, 80, 40), 5, separation=8, incomplete=0.5, random_state=0
        )
        size = sum(X.nbytes for X in data.Xs)
        for name in methods:
            if n > SMALL[-1] and METHODS[name].cost != "O(n)":
                continue
            model = get_method(name)(5, random_state=0)
            with PeakMemory() as memory:
                cpu = time.process_time()
                wall, _ = seconds(partial(model.fit, data.Xs, mask=data.mask))
                cpu = time.process_time() - cpu
            rows[name][n] = wall, cpu, memory.above / 2**20, size / 2**20
            print(f"<!-- {name} {n} {wall:.2f} s {cpu:.2f} cpu -->", flush=True)
    body = []
    for name, found in rows.items():
        cells = []
        for n in (*SMALL, *LARGE):
            if n not in found:
                cells.append("-")
                continue
            wall, cpu, peak, _ = found[n]
            ratio = wall / rows["rise"][n][0]
            cells.append(f"{wall:.2f} s, {ratio:.0f}x, {peak:.0f} MiB")
        sizes = sorted(found)
        slope = exponent(sizes[-3:], [found[n][0] for n in sizes[-3:]])
        body.append([name, METHODS[name].cost, *cells, f"{slope:.2f}"])
    print(
        "\n" + table(["method", "cost", *map(str, (*SMALL, *LARGE)), "exponent"], body)
    )


def small_case():
    case = np.load(SHARED / "reference/small_case/small_case.npz")
    return [case[f"X{v}"] for v in range(3)], case["mask"], 3


def prokaryotic():
    data = dataset("Prokaryotic")
    masks = nested_masks(data.n_samples, data.n_views, (0.5,), random_state=0)
    return data.Xs, masks[0.5], data.n_clusters


def big_case():
    """The timing case of the reference, from its recipe."""
    rng = np.random.default_rng(0)
    n, k, dims = 20_000, 10, (100, 200, 50)
    y = rng.integers(0, k, n)
    Xs = []
    for d in dims:
        centres = rng.normal(size=(k, d)) * 0.5
        Xs.append(centres[y] + rng.normal(size=(n, d)))
    order, patterns = rng.permutation(n), rng.integers(0, 2, (n, 3))
    while (bad := np.isin(patterns.sum(axis=1), (0, 3))).any():
        patterns[bad] = rng.integers(0, 2, (bad.sum(), 3))
    mask = np.ones((n, 3), bool)
    hidden = order[: n // 2]
    mask[hidden] = patterns[hidden].astype(bool)
    return Xs, mask, k


SFSR_SMALL = {"n_anchors": 4, "ring_rank": 4, "fold": (15, 10), "shuffle": False}
# CPU seconds of the authors' programs under Octave, as their references state them.
OCTAVE = [
    ("daimc", "small case", small_case, {}, 0.1, "rounded to 0.1 s"),
    ("daimc", "Prokaryotic", prokaryotic, {}, 2.4, "2.1 to 2.7; another mask"),
    ("imvtsc-mvi", "small case", small_case, {}, 12.0, "2 settings: 9 and 12"),
    ("sfsr-imvc", "small case", small_case, SFSR_SMALL, 0.5, "their settings"),
    ("psimvc-pg", "big case", big_case, {}, 55.0, "solver only"),
    ("simvc-sa", "big case", big_case, {}, 250.0, "estimate: 12 s a sweep"),
]


def bench_octave():
    body = []
    for name, label, load, params, octave, note in OCTAVE:
        Xs, mask, c = load()
        cpu = solver = np.inf
        for seed in range(3):
            model = get_method(name)(c, random_state=seed, **params)
            start = time.process_time()
            model.fit(Xs, mask=mask)
            cpu = min(cpu, time.process_time() - start)
            views, rng = as_views(Xs, mask), np.random.RandomState(seed)
            start = time.process_time()
            model._embed(views, rng)
            solver = min(solver, time.process_time() - start)
        print(f"<!-- {name}, {label}: start and solver {solver:.4f} -->", flush=True)
        body.append([name, label, f"{cpu:.3f}", octave, f"{octave / cpu:.0f}x", note])
    print(table(["method", "case", "CPU s", "Octave CPU s", "ratio", "note"], body))


def bench_quality(methods, sets, n_seeds):
    body = []
    for name in available(sets):
        at = SETS.index(name)
        data = dataset(name)
        Xs = [X.astype(np.float64) for X in data.Xs]
        for method in methods:
            cells, everything = [], []
            for rate in RATES:
                runs = []
                for seed in range(n_seeds):
                    masks = nested_masks(
                        data.n_samples, data.n_views, RATES, random_state=seed
                    )
                    model = get_method(method)(data.n_clusters, random_state=seed)
                    wall, _ = seconds(partial(model.fit, Xs, mask=masks[rate]))
                    s = score_all(data.y, model.labels_)
                    keys = ("acc", "nmi", "ari", "purity")
                    runs.append([100 * s[k] for k in keys] + [wall])
                everything += runs
                cells.append(scores(runs))
            paper = PAPER[method][at] if method in PAPER else "-"
            body.append([name, method, *cells, scores(everything), paper])
            print(f"<!-- {body[-1]} -->", flush=True)
    header = ["set", "method", *map(str, RATES), "mean", "paper (mean of nine)"]
    print("\nACC / NMI(max) / ARI / purity, seconds\n\n" + table(header, body))


# Parts of the authors' grids (docs/methods), as far as they run in minutes.
GRIDS = {
    "rise": {
        "n_anchors": (8, 16, 24),
        "n_neighbors": (3, 5),
        "beta": (0.1, 1, 10, 100, 1000),
        "row_normalize": (False,),
    },
    "ueaf": {
        "feature_smoothness": (1e-5, 1e-2, 1),
        "sample_smoothness": (1e-2, 1e-1, 10),
    },
    "pimvc": {"ridge": (1e-3, 1e-1, 10, 1e3, 1e5), "graph_weight": (1e-3, 0.1, 1, 10)},
    "hcls-cgl": {"ridge": (1e-5, 1e-3, 1e-1, 1), "spectral_weight": (1e-5, 1e-3, 0.1)},
    "daimc": {"alpha": (1e-4, 1e-2, 1, 1e2), "beta": (1e-2, 1, 1e2, 1e4)},
    "sfsr-imvc": {
        "n_anchors": (4, 8, 16),
        "ring_rank": (2, 4, 8),
        "feature_penalty": (1e-4, 1e-2, 10),
    },
    "imvc-cbg": {"ridge": (0.001, 0.1, 1, 10), "n_anchors": (4, 8, 12, 20)},
    "simvc-sa": {
        "alignment": (1e-4, 1e-2, 1, 1e2),
        "ridge": (0, 1e-4, 1e-2, 1, 1e2),
        "n_anchors": (4, 8, 20),
    },
}


def bench_oracle(sets, rate=0.5):
    """What choosing by labels adds: the best ACC over a grid, one mask, one seed."""
    body = []
    for name in available(sets):
        data = dataset(name)
        Xs = [X.astype(np.float64) for X in data.Xs]
        mask = nested_masks(data.n_samples, data.n_views, (rate,), random_state=0)[rate]
        for method, grid in GRIDS.items():
            best = (-1.0,)
            for params in ParameterGrid(grid):
                model = get_method(method)(data.n_clusters, random_state=0, **params)
                labels = model.fit_predict(Xs, mask=mask)
                s = score_all(data.y, labels)
                best = max(best, (s["acc"], s["nmi"], s["purity"], str(params)))
            acc, nmi, purity, params = best
            found = f"{100 * acc:.1f}/{100 * nmi:.1f}/{100 * purity:.1f}"
            size = len(ParameterGrid(grid))
            paper = PAPER[method][SETS.index(name)]
            body.append([name, method, size, found, paper, params])
            print(f"<!-- {body[-1]} -->", flush=True)
    header = ["set", "method", "settings", "best ACC/NMI/purity", "paper", "chosen"]
    print("\n" + table(header, body))


def scores(runs):
    acc, nmi, ari, purity, wall = np.mean(runs, axis=0)
    return f"{acc:.1f} / {nmi:.1f} / {ari:.1f} / {purity:.1f}, {wall:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["speed", "octave", "quality", "oracle"])
    parser.add_argument("--methods", nargs="*", default=list(list_methods()))
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "speed":
        bench_speed(options.methods)
    elif options.part == "octave":
        bench_octave()
    elif options.part == "oracle":
        bench_oracle(options.sets)
    else:
        bench_quality(options.methods, options.sets, options.seeds)


if __name__ == "__main__":
    main()
