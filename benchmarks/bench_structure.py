"""Is noise called noise, and are clusters not? Prints tables for RESULTS.md.

    python benchmarks/bench_structure.py [noise] [planted] [real] [continuum] [time]

Without arguments all of them, about six minutes on two free cores. Every case is one
set of data, one fit and one `imvc.structure` with its defaults.
"""

import sys
import warnings
from collections import defaultdict
from functools import partial
from itertools import count, cycle

import numpy as np

from common import FILES, available, dataset, seconds, table
from imvc import structure
from imvc.datasets import make_views, random_mask
from imvc.methods import get_method
from imvc.metrics import adjusted_rand
from imvc.views import as_views

WIDTHS = (2, 5, 20, 100)
SEEDS = count(1000)
RATES = cycle((0.0, 0.5))  # incomplete samples
METHODS = cycle(("bridge", "bridge", "impute-kmeans"))


def judge(Xs, n_clusters, mask=None, method="bridge"):
    """Fit, and ask whether there are clusters: the model and the answer."""
    views = as_views(Xs, mask)
    if mask is None:
        rate = next(RATES)
        mask = random_mask(
            views.n_samples, views.n_views, rate, random_state=next(SEEDS)
        )
        views = as_views(Xs, mask)
    model = get_method(method)(n_clusters=n_clusters, random_state=0).fit(views)
    return model, structure(model, views)


def show(head, rows):
    print(f"{table(head, rows)}\n", flush=True)


def noise():
    """Independent columns: how often that is called no cluster structure."""
    told, by_fit = defaultdict(list), defaultdict(list)
    sizes = {100: (2, 3, 5, None), 300: (2, 3, 5, None), 1000: (3,)}
    for d in WIDTHS:
        for n, numbers in sizes.items():
            for k in numbers:
                for n_views in (2, 3):
                    for kind in ("standard_normal", "random"):
                        rng = np.random.default_rng(next(SEEDS))
                        Xs = [getattr(rng, kind)((n, d)) for _ in range(n_views)]
                        method = "bridge" if k is None else next(METHODS)
                        model, found = judge(Xs, k, method=method)
                        none = getattr(model, "evidence_", None) == "none"
                        told[d, n].append(found.found is False)
                        by_fit[k is None].append((found.found is False, none))
    print("### Noise: called so, of all\n")
    rows = [
        [d, *(f"{sum(told[d, n])} of {len(told[d, n])}" for n in sizes)] for d in WIDTHS
    ]
    show(["features per view", *(f"n = {n}" for n in sizes)], rows)
    searched = np.array(by_fit[True])
    print(
        f'Number searched: structure {searched[:, 0].sum()}, evidence "none" '
        f"{searched[:, 1].sum()}, either {searched.any(axis=1).sum()} of "
        f"{len(searched)}.\n"
    )


def planted():
    """Planted clusters: how often called noise, by how well the fit found them."""
    told = defaultdict(list)
    for separation in (2, 3, 4, 6):
        for d in WIDTHS:
            for n, k in ((100, 3), (300, 2), (300, 5), (1000, 3)):
                data = make_views(
                    n, (d, d), k, separation=separation, random_state=next(SEEDS)
                )
                model, found = judge(data.Xs, k, method=next(METHODS))
                ari = adjusted_rand(data.y, model.labels_)
                told[separation].append((ari, found.found is False))
    print("### Planted clusters: called noise, of all\n")
    bins = ((-1, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.1))
    rows = []
    for separation, values in told.items():
        cells = []
        for low, high in bins:
            inside = [wrong for ari, wrong in values if low <= ari < high]
            cells.append(f"{sum(inside)} of {len(inside)}" if inside else "")
        rows.append([separation, *cells])
    heads = ("below 0.2", "0.2 to 0.5", "0.5 to 0.8", "from 0.8 on")
    show(["separation", *(f"ARI of the fit {head}" for head in heads)], rows)


def real():
    """The benchmark sets, half of the samples incomplete or as published."""
    rows = []
    for name in available([*FILES, "digits"]):
        data = dataset(name)
        some = np.random.default_rng(0).permutation(data.n_samples)[:2000]
        Xs = [X[some] for X in data.Xs]
        mask = None if data.mask is None or data.mask.all() else data.mask[some]
        if mask is None:
            mask = random_mask(len(some), len(Xs), 0.5, random_state=0)
        for method in ("bridge", "impute-kmeans"):
            time, (model, found) = seconds(
                partial(judge, Xs, data.n_clusters, mask, method)
            )
            ari = adjusted_rand(data.y[some], model.labels_)
            numbers = (found.stability, found.shuffled, ari)
            cells = [f"{number:.2f}" for number in numbers]
            answer = {True: "clusters", False: "**noise**"}.get(found.found, "?")
            rows.append([name, method, *cells, answer, f"{time:.1f}"])
    print("### Real sets\n")
    show(
        ["set", "method", "stability", "shuffled", "ARI", "called", "s, with the fit"],
        rows,
    )


def continuum():
    """One strong factor in every view, its own or the same: no clusters, but ties."""
    rows = []
    for shared in (False, True):
        for n, d, k in ((100, 5, 3), (300, 5, 2), (300, 20, 3), (1000, 20, 5)):
            rng = np.random.default_rng(next(SEEDS))
            factors = rng.standard_normal((2, n))
            Xs = [
                np.outer(factors[0 if shared else v], rng.standard_normal(d))
                + 0.5 * rng.standard_normal((n, d))
                for v in range(2)
            ]
            found = judge(Xs, k, np.ones((n, 2), bool))[1]
            searched = get_method("bridge")(n_clusters=None, random_state=0).fit(Xs)
            rows.append(
                [
                    "shared" if shared else "its own",
                    *(n, d, k, f"{found.stability:.2f}", f"{found.shuffled:.2f}"),
                    "noise" if found.found is False else "clusters",
                    searched.evidence_,
                ]
            )
    print("### A continuum\n")
    head = ["factor", "n", "features", "k", "stability", "shuffled", "called"]
    show([*head, "evidence if k is searched"], rows)


def time():
    """Seconds of the fit and of the question, for clusters and for noise."""
    rows = []
    for method, n in (
        *(("bridge", n) for n in (1000, 10_000)),
        *((name, 1000) for name in ("impute-kmeans", "rise", "daimc", "hcls-cgl")),
        *((name, 600) for name in ("gsrimc", "ueaf")),
    ):
        most = {"hcls-cgl": 1000, "gsrimc": 300, "ueaf": 300}.get(method, 2000)
        planted = make_views(n, (30, 20, 10), 4, incomplete=0.5, random_state=0)
        rng = np.random.default_rng(0)
        for name, Xs in (
            ("clusters", planted.Xs),
            ("noise", [rng.standard_normal(X.shape) for X in planted.Xs]),
        ):
            views = as_views(Xs, planted.mask)
            model = get_method(method)(n_clusters=4, random_state=0)
            fit, _ = seconds(partial(model.fit, views))
            ask, found = seconds(partial(structure, model, views, max_samples=most))
            rows.append([method, n, name, f"{fit:.1f}", f"{ask:.1f}", found.n_fits])
    print("### Seconds\n")
    show(["method", "n", "data", "fit", "structure", "its fits"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parts = {f.__name__: f for f in (noise, planted, real, continuum, time)}
    for name in sys.argv[1:] or parts:
        parts[name]()
