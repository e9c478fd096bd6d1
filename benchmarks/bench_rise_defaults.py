"""Which n_anchors and row_normalize should be RISE's defaults?

Every rule for the number of anchors, with and without unit rows, on all sets at once;
labels only score, they never choose per dataset.

    python benchmarks/bench_rise_defaults.py
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from sklearn.base import clone

from common import available, dataset, table
from imvc import RISE
from imvc.datasets import nested_masks
from imvc.methods._base import draw_seed
from imvc.metrics import score_all
from imvc.scale import threaded_map

SETS = ["Prokaryotic", "WebKB", "Wikipedia", "Caltech101-7", "FMNIST", "digits"]
RATES = (0.1, 0.5, 0.9)
RULES = {
    "2c": lambda c: 2 * c,
    "4c": lambda c: 4 * c,
    "6c": lambda c: 6 * c,
    "10c": lambda c: 10 * c,
    "max(50, 4c)": lambda c: max(50, 4 * c),
    "max(100, 4c)": lambda c: max(100, 4 * c),
    "max(200, 5c)": lambda c: max(200, 5 * c),
}
MEASURES = ("acc", "nmi", "ari")


def scores_both_ways(data, mask, n_anchors, seed):
    """Scores of one fit with raw rows and with unit rows of the same embedding."""
    c = data.n_clusters
    model = RISE(c, n_anchors=max(n_anchors, 6), row_normalize=False, random_state=seed)
    model.fit(data.Xs, mask=mask)
    yield False, score_all(data.y, model.labels_) | {"leak": model.pattern_leakage_}
    unit = clone(model).set_params(row_normalize=True)
    unit.__dict__.update(
        {k: v for k, v in vars(model).items() if k not in model.get_params()}
    )
    with threaded_map() as map:
        unit._partition(draw_seed(np.random.RandomState(seed)), map)
    from imvc.metrics import pattern_leakage

    leak = pattern_leakage(unit.labels_, mask)
    yield True, score_all(data.y, unit.labels_) | {"leak": leak}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records = defaultdict(list)
    for name in available(options.sets):
        data = dataset(name)
        for seed in range(options.seeds):
            masks = nested_masks(data.n_samples, len(data.Xs), RATES, random_state=seed)
            for rate in RATES:
                for rule, anchors in RULES.items():
                    m = anchors(data.n_clusters)
                    for unit, s in scores_both_ways(data, masks[rate], m, seed):
                        records[name, rule, unit].append([rate, seed, s])
        print(f"<!-- {name} done -->", flush=True)
    names = list(dict.fromkeys(key[0] for key in records))
    print("\nMean over rates and seeds: ACC / NMI(max) / ARI in percent, leakage\n")
    rows = []
    for rule in RULES:
        for unit in (False, True):
            cells = [mean_cell(records[name, rule, unit]) for name in names]
            means = np.mean(
                [mean_values(records[n, rule, unit]) for n in names], axis=0
            )
            rows.append([rule, "unit" if unit else "raw", cell(means), *cells])
    print(table(["n_anchors", "rows", "mean", *names], rows))
    print("\nSpread over anchor and mask seeds (largest minus least ACC, points):\n")
    rows = []
    for rule in RULES:
        for unit in (False, True):
            spread = [spreads(records[name, rule, unit]) for name in names]
            rows.append([rule, "unit" if unit else "raw", *spread])
    print(table(["n_anchors", "rows", *names], rows))


def mean_values(runs):
    keys = (*MEASURES, "leak")
    return np.mean([[s[k] for k in keys] for _, _, s in runs], axis=0)


def cell(values):
    acc, nmi, ari, leak = values
    return f"{100 * acc:.1f} / {100 * nmi:.1f} / {100 * ari:.1f}, {leak:.2f}"


def mean_cell(runs):
    return cell(mean_values(runs))


def spreads(runs):
    parts = []
    for rate in RATES:
        acc = [s["acc"] for r, _, s in runs if r == rate]
        parts.append(f"{100 * (max(acc) - min(acc)):.0f}")
    return " / ".join(parts)


if __name__ == "__main__":
    main()
