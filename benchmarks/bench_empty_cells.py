"""Do filled cells cluster as well as complete ones, and what do they cost?

    python benchmarks/bench_empty_cells.py quality    four sets, 5, 20 and 50 % of cells
    python benchmarks/bench_empty_cells.py speed      a hundred thousand samples

Half of the samples lack views; of the views that they have, cells are emptied at
random. AnchorBridge with ``empty_cells`` "fill" and "mean", and on the complete cells.
All views are dense arrays here, word and gene counts too: a zero is an observed cell
like any other, and columns are standardised for the model of the cells only.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer

from common import available, dataset, seconds, table
from imvc import AnchorBridge
from imvc.datasets import make_views, random_mask
from imvc.metrics import score_all

SETS = ["Prokaryotic", "WebKB", "digits"]
SHARES = (0.05, 0.2, 0.5)
INCOMPLETE = 0.5


def clinical():
    """Views, classes and their number: 30 columns of 569 patients, standardised."""
    data = load_breast_cancer()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    return [X[:, :10], X[:, 10:20], X[:, 20:]], data.target, 2


def tables(name):
    """Views as dense floating arrays, classes and their number."""
    if name == "breast cancer":
        return clinical()
    data = dataset(name)
    Xs = [X.toarray() if hasattr(X, "toarray") else X for X in data.Xs]
    return [np.asarray(X, np.float64) for X in Xs], data.y, data.n_clusters


def emptied(Xs, share, rng):
    """Copies with a share of the cells empty; no row loses all of them."""
    found = []
    for X in Xs:
        empty = rng.random(X.shape) < share
        empty[empty.all(axis=1)] = False
        found.append(np.where(empty, np.nan, X))
    return found


def cell_error(model, holey, Xs, mask):
    """Root mean square error of the filled cells, in deviations of their columns."""
    views, squares = model.filled_views(holey, mask=mask), []
    for v, X in enumerate(Xs):
        rows = views.rows(v)
        deviation = X[rows].std(axis=0)
        told = deviation > 1e-9 * np.abs(X).max()
        empty = np.isnan(holey[v][rows]) & told
        error = (views.observed(v) - X[rows]) / np.where(told, deviation, 1)
        squares.append(np.square(error[empty]))
    return np.sqrt(np.concatenate(squares).mean())


def run(Xs, mask, y, c, how, seed, truth):
    """ACC, NMI, error of the cells, seconds of filling and of the rest."""
    model = AnchorBridge(c, empty_cells=how, random_state=seed)
    time, _ = seconds(lambda: model.fit(Xs, mask=mask))
    scores = score_all(y, model.labels_)
    filling = model.stage_seconds_.get("empty cells", 0.0)
    error = 0.0 if how == "error" else cell_error(model, Xs, truth, mask)
    return [100 * scores["acc"], 100 * scores["nmi"], error, filling, time - filling]


def bench_quality(names, n_seeds):
    rows = []
    for name in [*available(names), "breast cancer"]:
        Xs, y, c = tables(name)
        found = {}
        for seed in range(n_seeds):
            mask = random_mask(len(y), len(Xs), INCOMPLETE, random_state=seed)
            found.setdefault("complete", []).append(
                run(Xs, mask, y, c, "error", seed, Xs)
            )
            for share in SHARES:
                holey = emptied(Xs, share, np.random.default_rng(100 + seed))
                for how in ("fill", "mean"):
                    result = run(holey, mask, y, c, how, seed, Xs)
                    found.setdefault((share, how), []).append(result)
        means = {key: np.mean(results, axis=0) for key, results in found.items()}
        for share in SHARES:
            fill, mean = means[share, "fill"], means[share, "mean"]
            rows.append([name, f"{100 * share:.0f} %"])
            rows[-1] += [f"{m[0]:.1f} / {m[1]:.1f}" for m in (means["complete"], fill)]
            rows[-1] += [f"{mean[0]:.1f} / {mean[1]:.1f}"]
            rows[-1] += [f"{fill[2]:.2f}", f"{mean[2]:.2f}"]
            rows[-1] += [f"{fill[3]:.2f}", f"{fill[4]:.2f}"]
            print(f"<!-- {rows[-1]} -->", flush=True)
    header = ["set", "empty", "complete", "fill", "mean", "error of fill", "of mean"]
    print("\n" + table([*header, "filling, s", "rest of the fit, s"], rows))


def bench_speed(n):
    rows = []
    for dims in ((32, 32, 32), (256, 256, 256)):
        data = make_views(
            n, dims, 10, incomplete=INCOMPLETE, dtype=np.float32, random_state=0
        )
        for share in SHARES:
            holey = emptied(data.Xs, share, np.random.default_rng(100))
            result = run(holey, data.mask, data.y, 10, "fill", 0, data.Xs)
            rows.append([n, "/".join(map(str, dims)), f"{100 * share:.0f} %"])
            rows[-1] += [f"{result[3]:.2f}", f"{result[4]:.2f}", f"{result[0]:.1f}"]
    print(table(["n", "dims", "empty", "filling, s", "rest, s", "ACC"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["quality", "speed"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "speed":
        bench_speed(options.n)
    else:
        bench_quality(options.sets, options.seeds)


if __name__ == "__main__":
    main()
