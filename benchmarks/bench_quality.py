"""How good are the clusters without any tuning? RISE, AnchorBridge and the floor.

    python benchmarks/bench_quality.py quality   random gaps, all sets
    python benchmarks/bench_quality.py seeds     one mask, ten seeds: how much is luck
    python benchmarks/bench_quality.py missing   gaps that depend on class or values
    python benchmarks/bench_quality.py junk      a view of noise added to every set
    python benchmarks/bench_quality.py k         how often the true number is found
    python benchmarks/bench_quality.py speed     time against RISE, growth in n

Nothing is tuned per dataset. Labels only score. The parts after the first take 10 000
samples of FMNIST and of CIFAR10.
"""

import argparse
import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from common import available, dataset, exponent, seconds, table
from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import (
    class_dependent_mask,
    make_views,
    nested_masks,
    random_mask,
    value_dependent_mask,
)
from imvc.metrics import score_all

SETS = [
    "Prokaryotic",
    "WebKB",
    "Wikipedia",
    "3Sources",
    "Caltech101-7",
    "FMNIST",
    "CIFAR10",
    "digits",
]
RATES = (0.1, 0.5, 0.9)
METHODS = {
    "impute + k-means": ImputeKMeans,
    "RISE, raw rows": partial(RISE, row_normalize=False),
    "RISE": RISE,
    "AnchorBridge, unit": partial(AnchorBridge, partition="unit"),
    "AnchorBridge": AnchorBridge,
}


def smaller(name):
    """A set, large ones cut to 10 000 random samples: many runs in bearable time."""
    data = dataset(name)
    if data.n_samples <= 10_000:
        return data
    rows = np.sort(np.random.default_rng(0).permutation(data.n_samples)[:10_000])
    return replace(
        data, Xs=[X[rows] for X in data.Xs], y=data.y[rows], mask=data.mask[rows]
    )


def as_float(data):
    """The views in float32 where they were stored smaller."""
    return [
        X.astype(np.float32) if X.dtype.itemsize < 4 or X.dtype.kind in "iu" else X
        for X in data.Xs
    ]


def run(name, data, Xs, mask, seed):
    """Scores, leakage and seconds of one method on one mask."""
    model = METHODS[name](n_clusters=data.n_clusters, random_state=seed)
    time, _ = seconds(partial(model.fit, Xs, mask=mask))
    scores = score_all(data.y, model.labels_)
    leak = model.pattern_leakage_
    return [100 * scores[k] for k in ("acc", "nmi", "ari")] + [leak, time], model


def masks_of(data, seed):
    """The masks of a set at all ratios; a naturally incomplete set has one."""
    if not data.mask.all():
        return {"natural": data.mask}
    return nested_masks(data.n_samples, data.n_views, RATES, random_state=seed)


def cell(runs):
    acc, nmi, ari, leak, time = np.mean(runs, axis=0)
    spread = np.std([r[0] for r in runs], ddof=1) if len(runs) > 1 else 0
    error = spread / np.sqrt(len(runs))
    return f"{acc:.1f} / {nmi:.1f} / {ari:.1f} (±{error:.1f}), {leak:.2f}, {time:.2f} s"


def bench_quality(names, n_seeds):
    totals = {method: [] for method in METHODS}
    rows, by_rate = [], []
    for name in names:
        data = dataset(name)
        Xs = as_float(data)
        runs = {method: {} for method in METHODS}
        for seed in range(n_seeds):
            for rate, mask in masks_of(data, seed).items():
                for method in METHODS:
                    scores, _ = run(method, data, Xs, mask, seed)
                    runs[method].setdefault(rate, []).append(scores)
        rows.append([name])
        for method in METHODS:
            everything = [s for part in runs[method].values() for s in part]
            rows[-1].append(cell(everything))
            totals[method].append(np.mean(everything, axis=0))
        for rate in runs[method]:
            by_rate.append([name, rate] + [cell(runs[m][rate]) for m in METHODS])
        print(f"<!-- {rows[-1]} -->", flush=True)
    means = ["mean"]
    for method in METHODS:
        acc, nmi, ari, leak, time = np.mean(totals[method], axis=0)
        means.append(f"{acc:.1f} / {nmi:.1f} / {ari:.1f}, {leak:.2f}, {time:.2f} s")
    print("\n" + table(["set", *METHODS], [*rows, means]))
    print("\n" + table(["set", "ratio", *METHODS], by_rate))


def bench_seeds(names, n_seeds):
    rows = []
    for name in names:
        data = smaller(name)
        Xs = as_float(data)
        for rate, mask in masks_of(data, 0).items():
            cells = []
            for method in METHODS:
                acc = [
                    run(method, data, Xs, mask, seed)[0][0] for seed in range(n_seeds)
                ]
                cells.append(f"{min(acc):.1f} to {max(acc):.1f} (sd {np.std(acc):.1f})")
            rows.append([name, rate, *cells])
            print(f"<!-- {rows[-1]} -->", flush=True)
    print("\n" + table(["set", "ratio", *METHODS], rows))


def mechanisms(data, Xs, seed, ratio=0.5):
    """Masks of the same ratio whose gaps depend on ever more."""
    n, V = data.n_samples, data.n_views
    return {
        "random": random_mask(n, V, ratio, random_state=seed),
        "by class": class_dependent_mask(data.y, V, ratio, random_state=seed),
        "by values (MAR)": value_dependent_mask(
            Xs, ratio, random_state=seed, mechanism="mar"
        ),
        "by values (MNAR)": value_dependent_mask(
            Xs, ratio, random_state=seed, mechanism="mnar"
        ),
    }


def bench_missing(names, n_seeds):
    rows, means = [], {}
    for name in names:
        data = smaller(name)
        if not data.mask.all():
            continue
        Xs = as_float(data)
        runs, warned = {}, {}
        for seed in range(n_seeds):
            for kind, mask in mechanisms(data, Xs, seed).items():
                for method in METHODS:
                    scores, model = run(method, data, Xs, mask, seed)
                    runs.setdefault((kind, method), []).append(scores)
                    means.setdefault((kind, method), []).append(scores)
                off = model.missingness_[~np.eye(data.n_views, dtype=bool)]
                warned.setdefault(kind, []).append(np.nanmax(off))
        for kind, values in warned.items():
            told = f"{np.mean(values):.2f}, warns {np.mean(np.array(values) > 0.1):.0%}"
            rows.append([name, kind, *(cell(runs[kind, m]) for m in METHODS), told])
        print(f"<!-- {name} done -->", flush=True)
    for kind in dict.fromkeys(kind for kind, _ in means):
        rows.append(["mean", kind, *(cell(means[kind, m]) for m in METHODS), ""])
    print("\n" + table(["set", "gaps", *METHODS, "missingness_"], rows))


def bench_junk(names, n_seeds):
    rows, losses = [], {"noise": [], "permuted": []}
    for name in names:
        data = smaller(name)
        Xs = as_float(data)
        runs = {"none": [], "noise": [], "permuted": []}
        for seed in range(n_seeds):
            rng = np.random.default_rng(seed)
            for mask in masks_of(data, seed).values():
                observed = mask if data.mask.all() else data.mask
                junk = {
                    "none": None,
                    "noise": rng.standard_normal((data.n_samples, 50)).astype("f"),
                    "permuted": _permuted(Xs[0], observed[:, 0], rng),
                }
                extra = rng.random(data.n_samples) < mask.mean()
                for kind, X in junk.items():
                    views, seen = Xs, mask
                    if X is not None:
                        views, seen = [*Xs, X], np.column_stack([mask, extra])
                    scores, _ = run("AnchorBridge", data, views, seen, seed)
                    runs[kind].append(scores)
        base = np.mean(runs["none"], axis=0)[0]
        for kind in losses:
            losses[kind].append(base - np.mean(runs[kind], axis=0)[0])
        rows.append([name, *(cell(runs[kind]) for kind in runs)])
        print(f"<!-- {rows[-1]} -->", flush=True)
    loss = [f"loses {np.mean(losses[kind]):.1f} points of ACC" for kind in losses]
    print(
        "\n"
        + table(
            ["set", "as it is", "+ Gaussian view", "+ permuted view 0"],
            [*rows, ["mean", "", *loss]],
        )
    )


def _permuted(X, seen, rng):
    """A real view whose rows were given to other samples."""
    rows = np.flatnonzero(seen)
    return X[rng.choice(rows, len(X), replace=True)]


def bench_k(names, n_seeds):
    rows, tally = [], []
    for name in names:
        data = smaller(name)
        Xs, c = as_float(data), data.n_clusters
        for rate, _ in masks_of(data, 0).items():
            found, told = [], []
            for seed in range(n_seeds):
                mask = masks_of(data, seed)[rate]
                model = AnchorBridge(n_clusters=None, random_state=seed)
                model.fit(Xs, mask=mask)
                found.append(model.n_clusters_)
                told.append(model.evidence_)
                strong = told[-1] == "strong"
                tally.append((found[-1] == c, abs(found[-1] - c) <= 1, strong))
            rows.append(
                [name, c, rate, *(", ".join(map(str, x)) for x in (found, told))]
            )
            print(f"<!-- {rows[-1]} -->", flush=True)
    print("\n" + table(["set", "true", "ratio", "suggested", "evidence"], rows))
    right, near, strong = np.mean(tally, axis=0)
    clear = np.mean([hit for _, hit, sure in tally if sure] or [np.nan])
    print(f"\nright {right:.0%}, within one {near:.0%}, strong {strong:.0%}")
    print(f"within one where strong: {clear:.0%}")


def bench_speed():
    rows = []
    for n, dims, c in (
        (2_000, (512, 512, 1280), 10),
        (50_000, (512, 512, 1280), 10),
        (100_000, (512, 512, 1280), 10),
    ):
        rows.append(_race(n, dims, c))
    print(table(["n", "dims", "RISE s", "AnchorBridge s", "ratio", "stages"], rows))
    sizes, times, growth = [10_000, 30_000, 100_000, 300_000, 1_000_000], [], []
    for n in sizes:
        growth.append(_race(n, (32, 32, 32), 10, repeats=2))
        times.append(float(growth[-1][3]))
    print(
        "\n"
        + table(["n", "dims", "RISE s", "AnchorBridge s", "ratio", "stages"], growth)
    )
    print(f"\nexponent of AnchorBridge in n: {exponent(sizes, times):.2f}; ", end="")
    print(f"from 1e5 to 1e6: {exponent(sizes[2:], times[2:]):.2f}")


def _race(n, dims, c, repeats=1):
    data = make_views(
        n, dims, c, separation=10, incomplete=0.5, dtype=np.float32, random_state=0
    )
    times, models = [], []
    for method in (RISE, AnchorBridge):
        model = method(c, random_state=0)
        times.append(seconds(partial(model.fit, data.Xs, mask=data.mask), repeats)[0])
        models.append(model)
    stages = ", ".join(f"{k} {v:.2f}" for k, v in models[1].stage_seconds_.items())
    ratio = f"{times[1] / times[0]:.1f}"
    return [
        n,
        "/".join(map(str, dims)),
        f"{times[0]:.2f}",
        f"{times[1]:.2f}",
        ratio,
        stages,
    ]


def main():
    parts = {
        "quality": bench_quality,
        "seeds": bench_seeds,
        "missing": bench_missing,
        "junk": bench_junk,
        "k": bench_k,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=[*parts, "speed"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=METHODS)
    options = parser.parse_args()
    for name in set(METHODS) - set(options.methods):
        del METHODS[name]
    warnings.simplefilter("ignore")
    if options.part == "speed":
        bench_speed()
    else:
        default = {"quality": 5, "seeds": 10, "missing": 3, "junk": 3, "k": 3}
        n_seeds = options.seeds or default[options.part]
        parts[options.part](available(options.sets), n_seeds)


if __name__ == "__main__":
    main()
