"""Speed and memory of RISE, as ratios measured in one run.

python benchmarks/bench_rise.py shapes     the paper's large sets, generated
python benchmarks/bench_rise.py growth     exponent in n, 1e4 to 1e6 samples
python benchmarks/bench_rise.py plain      against the algorithm written plainly
"""

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.cluster import KMeans

from common import PeakMemory, available, dataset, exponent, seconds, table
from imvc import RISE
from imvc.datasets import make_views, random_mask
from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import squared_distances
from imvc.metrics import clustering_accuracy, nmi
from imvc.scale import threaded_map

SHAPES = {
    "CIFAR10": (50_000, (512, 2048, 1024), 10),
    "FMNIST": (60_000, (512, 512, 1280), 10),
    "YoutubeFace": (101_499, (64, 512, 64, 647, 838), 31),
}
STAGES = ("anchors", "graph", "statistics", "solve", "embedding", "kmeans")


def planted(n, dims, c, seed=0):
    return make_views(
        n,
        dims,
        c,
        separation=10.0,
        incomplete=0.5,
        dtype=np.float32,
        random_state=seed,
    )


def timed_fit(model, data):
    return seconds(partial(model.fit, data.Xs, mask=data.mask))


def floor(data, m):
    """One blocked pass over the observed rows: row norms and X_v @ A_v.T."""
    anchors = [X[:m].copy() for X in data.Xs]

    def block(job):
        v, rows = job
        X = data.Xs[v][rows]
        return np.einsum("ij,ij->i", X, X).sum() + (X @ anchors[v].T)[0, 0]

    jobs = []
    for v, seen in enumerate(data.mask.T):
        rows = np.flatnonzero(seen)
        jobs += [(v, part) for part in np.array_split(rows, max(1, len(rows) // 2048))]
    with threaded_map() as map:
        return sum(map(block, jobs))


def imputed_kmeans(data):
    """scikit-learn's KMeans, one start, on the mean-imputed concatenation."""
    n, widths = data.n_samples, [X.shape[1] for X in data.Xs]
    joined = np.empty((n, sum(widths)), np.float32)
    at = 0
    for X, seen, d in zip(data.Xs, data.mask.T, widths):
        joined[:, at : at + d] = np.where(seen[:, None], X, X[seen].mean(axis=0))
        at += d
    model = KMeans(data.n_clusters, n_init=1, random_state=0)
    time, _ = seconds(partial(model.fit, joined))
    return time, clustering_accuracy(data.y, model.labels_)


def bench_shapes(scales):
    rows = []
    for name, (n, dims, c) in SHAPES.items():
        for scale in scales:
            # Four times YoutubeFace with its concatenated copy would not fit here.
            dims_here = tuple(max(32, d // 2) for d in dims) if scale == 4 else dims
            data = planted(scale * n, dims_here, c)
            size = sum(X.nbytes for X in data.Xs)
            base, _ = seconds(partial(floor, data, 4 * c), repeats=2)
            with PeakMemory() as memory:
                fit, model = timed_fit(RISE(c, n_anchors=4 * c, random_state=0), data)
            reference, reference_acc = imputed_kmeans(data)
            stages = [f"{model.stage_seconds_[stage]:.2f}" for stage in STAGES]
            rows.append(
                [
                    f"{name} {scale}x",
                    f"{scale * n}",
                    f"{fit:.2f}",
                    *stages,
                    f"{base:.2f}",
                    f"{fit / base:.1f}",
                    f"{reference:.1f}",
                    f"{fit / reference:.2f}",
                    f"{memory.above / size:.2f}",
                    f"{clustering_accuracy(data.y, model.labels_):.3f}",
                    f"{reference_acc:.3f}",
                ]
            )
            print(" ".join(rows[-1]), flush=True)
            del data, model  # before the next one is made
    header = ["shape", "n", "fit s", *STAGES, "floor s", "fit/floor", "KMeans s"]
    header += ["fit/KMeans", "memory/input", "ACC", "ACC KMeans"]
    print("\n" + table(header, rows))


def bench_growth():
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
    rows, totals, solves = [], [], []
    for n in sizes:
        data = planted(n, (32, 32, 32), 10)
        times, models = zip(
            *[
                timed_fit(RISE(10, random_state=0), data)
                for _ in range(2 if n > 100_000 else 3)
            ]
        )
        best = int(np.argmin(times))
        stages = models[best].stage_seconds_
        totals.append(times[best])
        solves.append(min(m.stage_seconds_["solve"] / m.n_iter_ for m in models))
        acc = clustering_accuracy(data.y, models[best].labels_)
        cells = [f"{stages[s]:.3f}" for s in STAGES]
        rows.append([n, f"{totals[-1]:.2f}", *cells, f"{acc:.3f}"])
    print(table(["n", "fit s", *STAGES, "ACC"], rows))
    print(f"\nexponent of the total: {exponent(sizes, totals):.2f}")
    print(f"exponent from 1e5 to 1e6: {exponent(sizes[2:], totals[2:]):.2f}")
    print(f"exponent of the solve (per iteration): {exponent(sizes, solves):.2f}")


def plain_rise(Xs, mask, c, m, k, beta, seed, max_iter=100, tol=1e-6):
    """RISE as the paper writes it: full k-means anchors, SVDs of n-row matrices."""
    h = [np.flatnonzero(seen) for seen in mask.T]
    B, n = [], len(mask)
    for X, rows in zip(Xs, h):
        X = unit_rows(X[rows].astype(np.float64))
        A = KMeans(m, init="random", n_init=10, max_iter=100, random_state=seed).fit(X)
        D = squared_distances(X, A.cluster_centers_)
        order = np.argsort(D, axis=1)[:, : k + 1]
        near = np.take_along_axis(D, order, axis=1)
        Z = np.zeros_like(D)
        gaps = near[:, k, None] - near[:, :k]
        weights = gaps / (gaps.sum(axis=1, keepdims=True) + 1e-16)
        np.put_along_axis(Z, order[:, :k], weights, axis=1)
        B.append(Z / np.sqrt(Z.sum(axis=0)))
    F = [np.linalg.svd(B_v, full_matrices=False)[0][:, :c] for B_v in B]
    last = np.inf
    for _ in range(max_iter):
        stacked = np.zeros((n, c * len(B)))
        for v, rows in enumerate(h):
            stacked[rows, v * c : (v + 1) * c] = F[v]
        Y = np.linalg.svd(stacked, full_matrices=False)[0][:, :c]
        value, F = 0.0, []
        for B_v, rows in zip(B, h):
            joined = np.hstack([np.sqrt(2) * Y[rows], np.sqrt(beta) * B_v])
            U, s, _ = np.linalg.svd(joined, full_matrices=False)
            F.append(U[:, :c])
            value += 2 * c - np.square(s[:c]).sum()
        if abs(last - value) <= tol * abs(value):
            break
        last = value
    model = KMeans(c, n_init=10, random_state=seed).fit(unit_rows(Y))
    return model.labels_


def bench_plain(n_seeds):
    if not available(["FMNIST"]):
        return
    data = dataset("FMNIST")
    Xs = [X.astype(np.float32) for X in data.Xs]
    c, m = data.n_clusters, 100
    rows = []
    for seed in range(n_seeds):
        mask = random_mask(data.n_samples, len(Xs), 0.5, random_state=seed)
        model = RISE(c, n_anchors=m, random_state=seed)
        fast, _ = seconds(partial(model.fit, Xs, mask=mask))
        slow, labels = seconds(partial(plain_rise, Xs, mask, c, m, 5, 100.0, seed))
        rows.append(
            [seed, fast, slow, slow / fast]
            + [100 * clustering_accuracy(data.y, x) for x in (model.labels_, labels)]
            + [100 * nmi(data.y, x) for x in (model.labels_, labels)]
        )
        print(" ".join(f"{x:.2f}" for x in rows[-1]), flush=True)
    header = ["seed", "RISE s", "plain s", "ratio", "ACC", "ACC plain"]
    header += ["NMI", "NMI plain"]
    means = ["mean", *np.mean(rows, axis=0)[1:]]
    body = [[x if isinstance(x, str | int) else f"{x:.2f}" for x in r] for r in rows]
    body.append([x if isinstance(x, str) else f"{x:.2f}" for x in means])
    print("\n" + table(header, body))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["shapes", "growth", "plain"])
    parser.add_argument("--scales", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "shapes":
        bench_shapes(options.scales)
    elif options.part == "growth":
        bench_growth()
    else:
        bench_plain(options.seeds)


if __name__ == "__main__":
    main()
