"""Do filled cells cluster as well as complete ones, and what do they cost?

    python benchmarks/bench_empty_cells.py quality    four sets, 5, 20 and 50 % of cells
    python benchmarks/bench_empty_cells.py mixed      a clinical table of all kinds
    python benchmarks/bench_empty_cells.py speed      a hundred thousand samples

Half of the samples lack views; of the views that they have, cells are emptied at
random. AnchorBridge with ``empty_cells`` "fill" and "mean", and on the complete cells.
All views are dense arrays here, word and gene counts too: a zero is an observed cell
like any other, and columns are standardised for the model of the cells only.
"""

import argparse
import csv
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from common import available, dataset, seconds, table
from imvc import AnchorBridge
from imvc.datasets import make_views, random_mask
from imvc.io import Preparation, read_views
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


def mixed_tables():
    """Breast cancer as clinics write it: a third of the columns yes/no or stages.

    Three tables by view, of columns of objects: numbers; size classes by quartile,
    as ordered words; and yes or no, by the median.
    """
    Xs, y, _ = clinical()
    names = load_breast_cancer().feature_names.reshape(3, 10)
    found = []
    for X, own in zip(Xs, names):
        table = {}
        for j, name in enumerate(own):
            if j % 3 == 0:
                places = np.searchsorted(np.quantile(X[:, j], [1 / 3, 2 / 3]), X[:, j])
                table[name] = np.array(["low", "medium", "high"], dtype=object)[places]
            elif j % 3 == 1:
                high = (X[:, j] > np.median(X[:, j])).astype(int)
                table[name] = np.array(["no", "yes"], dtype=object)[high]
            else:
                table[name] = X[:, j].astype(object)
        found.append(table)
    return found, y


def write_tables(folder, found, mask, share, rng):
    """CSV files of the observed rows with a share of their cells empty."""
    paths = []
    for v, columns in enumerate(found):
        empty = rng.random((len(mask), len(columns))) < share
        empty[empty.all(axis=1)] = False
        paths.append(folder / f"view{v}.csv")
        with open(paths[-1], "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", *columns])
            for i in np.flatnonzero(mask[:, v]):
                cells = [c[i] for c in columns.values()]
                row = ["" if gone else cell for cell, gone in zip(cells, empty[i])]
                writer.writerow([f"p{i:03d}", *row])
    return paths


def bench_mixed(n_seeds):
    """Mixed tables from files: fill in the form of factor analysis of mixed data."""
    found, y = mixed_tables()
    rows = []
    for share in (0.0, *SHARES):
        results = {}
        for seed in range(n_seeds):
            mask = random_mask(len(y), 3, INCOMPLETE, random_state=seed)
            with tempfile.TemporaryDirectory() as folder:
                rng = np.random.default_rng(100 + seed)
                paths = write_tables(Path(folder), found, mask, share, rng)
                for how in ("fill", "mean"):
                    read = partial(read_views, paths, preparation=Preparation(how))
                    time, files = seconds(read)
                    order = [int(i[1:]) for i in files.views.sample_ids]
                    labels = AnchorBridge(2, random_state=seed).fit_predict(files.views)
                    scores = score_all(y[order], labels)
                    own = [100 * scores["acc"], 100 * scores["nmi"], time]
                    results.setdefault(how, []).append(own)
        fill, mean = (np.mean(results[how], axis=0) for how in ("fill", "mean"))
        rows.append([f"{100 * share:.0f} %", f"{fill[0]:.1f} / {fill[1]:.1f}"])
        rows[-1] += [
            f"{mean[0]:.1f} / {mean[1]:.1f}",
            f"{fill[2]:.2f}",
            f"{mean[2]:.2f}",
        ]
    header = ["empty", "fill", "mean", "reading with fill, s", "with means, s"]
    print(table(header, rows))


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
    parser.add_argument("part", choices=["quality", "mixed", "speed"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--n", type=int, default=100_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "speed":
        bench_speed(options.n)
    elif options.part == "mixed":
        bench_mixed(options.seeds)
    else:
        bench_quality(options.sets, options.seeds)


if __name__ == "__main__":
    main()
