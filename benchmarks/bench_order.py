"""How much do clusters depend on the order of rows and views?

    python benchmarks/bench_order.py                  all methods
    python benchmarks/bench_order.py rise imvc-cbg    some of them

Digits in five views, half of the samples incomplete. A method is fitted on the data as
they are and in other orders, its ``random_state`` being the same; ARI of its labels
with those of the first fit, mean and least. Without ids random choices go by position;
with ids and names they should not. Beside it, for scale, fits that differ in nothing
but ``random_state``. Methods whose time grows faster than the samples see 500 of these.
"""

import argparse
import warnings
from dataclasses import replace

import numpy as np

from common import table
from imvc.datasets import load_digits_views, paired_mask
from imvc.methods import get_method
from imvc.methods._registry import METHODS
from imvc.metrics import adjusted_rand
from imvc.views import as_views

FEW = 500
KINDS = ("rows", "views", "both")


def digits(name):
    """Views, mask, and number of clusters, of as many samples as a method can take."""
    data = load_digits_views()
    n = len(data.y) if METHODS[name].cost == "O(n)" else FEW
    rows = np.random.RandomState(0).permutation(len(data.y))[:n]
    mask = paired_mask(n, len(data.Xs), 0.5, random_state=0)
    return [X[rows] for X in data.Xs], mask, data.n_clusters


def ordered(Xs, mask, rows, views, ids):
    """The data in another order, by position only or with ids and names."""
    arrays = [Xs[v][rows] for v in views]
    mask = mask[rows][:, views]
    if not ids:
        return as_views(arrays, mask)
    named = dict(zip((f"digits {v}" for v in views), arrays))
    names = np.array([f"sample {i}" for i in rows], object)
    return replace(as_views(named, mask), sample_ids=names)


def labels(name, c, views, rows, seed=0):
    """Labels of a fit, in the first order of the samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = get_method(name)(n_clusters=c, random_state=seed).fit(views)
    found = np.empty_like(model.labels_)
    found[rows] = model.labels_
    return found


def shown(values):
    return f"{np.mean(values):.3f} ({np.min(values):.3f})"


def measure(name, permutations):
    """A line of the table."""
    Xs, mask, c = digits(name)
    n, V = mask.shape
    as_is = np.arange(n), np.arange(V)
    cells = [name, n]
    for ids in (False, True):
        first = labels(name, c, ordered(Xs, mask, *as_is, ids), as_is[0])
        for kind in KINDS:
            found = []
            for seed in range(permutations):
                rng = np.random.RandomState(seed)
                rows = as_is[0] if kind == "views" else rng.permutation(n)
                views = as_is[1] if kind == "rows" else rng.permutation(V)
                data = ordered(Xs, mask, rows, views, ids)
                found.append(adjusted_rand(first, labels(name, c, data, rows)))
            cells.append(shown(found))
    data = ordered(Xs, mask, *as_is, True)
    others = [
        adjusted_rand(first, labels(name, c, data, as_is[0], seed))
        for seed in range(1, permutations + 1)
    ]
    return [*cells, shown(others)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("methods", nargs="*", help="names in the registry; none: all")
    parser.add_argument("--permutations", type=int, default=5)
    args = parser.parse_args()
    rows = [measure(name, args.permutations) for name in args.methods or METHODS]
    by_place = [f"{kind}, no ids" for kind in KINDS]
    by_id = [f"{kind}, ids" for kind in KINDS]
    header = ["method", "n", *by_place, *by_id, "other seeds"]
    print(table(header, rows), flush=True)


if __name__ == "__main__":
    main()
