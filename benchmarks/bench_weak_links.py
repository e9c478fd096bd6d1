"""Are clusters matched across views where any two of them share few samples?

    python benchmarks/bench_weak_links.py

Planted clusters; every sample has one view, every other one a second, drawn at random.
ARI with the planted clusters of AnchorBridge and RISE, mean over seeds; into how many
groups of views AnchorBridge falls, and how often it warns that the match is uncertain.
"Before" is AnchorBridge when it joined views by large overlaps only, on the same data
(separation 6, three seeds).
"""

import argparse
import warnings
from itertools import product

import numpy as np

from common import table
from imvc import RISE, AnchorBridge
from imvc.datasets import make_views
from imvc.metrics import adjusted_rand

VIEWS, CLUSTERS, SAMPLES = (6, 12), (3, 5), (120, 300, 600, 1500)
BEFORE = {
    (6, 3): (0.24, 0.99, 0.99, 1.00),
    (6, 5): (0.26, 0.67, 0.98, 0.99),
    (12, 3): (0.10, 0.14, 0.25, 0.99),
    (12, 5): (0.07, 0.13, 0.14, 0.99),
}


def one_or_two_views(n, n_views, c, separation, seed):
    """Views, mask and planted clusters."""
    widths, rng = range(8, 8 + n_views), np.random.default_rng(seed)
    data = make_views(n, widths, c, separation=separation, random_state=seed)
    order = rng.random((n, n_views)).argsort(axis=1)
    mask = np.zeros((n, n_views), bool)
    mask[np.arange(n), order[:, 0]] = True
    mask[np.arange(0, n, 2), order[::2, 1]] = True
    return data.Xs, mask, data.y


def measure(n_views, c, n, separation, seeds):
    """A line of the table."""
    found, told, largest = [], 0, []
    for seed in range(seeds):
        Xs, mask, y = one_or_two_views(n, n_views, c, separation, seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bridge = AnchorBridge(c, random_state=seed).fit(Xs, mask=mask)
            told += any("is uncertain" in str(w.message) for w in caught)
            rise = RISE(c, random_state=seed).fit_predict(Xs, mask=mask)
        scores = [adjusted_rand(y, own) for own in (bridge.labels_, rise)]
        found.append([*scores, len(bridge.component_views_)])
        largest.append(np.triu(bridge.overlap_, 1).max())
    ari, rise, groups = np.mean(found, axis=0)
    before = BEFORE[n_views, c][SAMPLES.index(n)]
    shown = [f"{score:.2f}" for score in (before, ari, rise)]
    told = f"{told} of {seeds}"
    return [n_views, c, n, max(largest), *shown, f"{groups:.0f}", told]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--separation", type=float, default=6.0)
    args = parser.parse_args()
    settings = product(VIEWS, CLUSTERS, SAMPLES)
    rows = [measure(*own, args.separation, args.seeds) for own in settings]
    scores = ["before", "AnchorBridge", "RISE"]
    header = ["views", "c", "n", "largest overlap", *scores, "groups", "warned"]
    print(table(header, rows), flush=True)


if __name__ == "__main__":
    main()
