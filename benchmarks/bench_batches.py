"""Do clusters come back when batches shift the views? Plain, means removed, adjusted.

    python benchmarks/bench_batches.py planted    shifts and compositions
    python benchmarks/bench_batches.py digits     the same on digits
    python benchmarks/bench_batches.py harm       no batch effect at all

Every batch of a view is shifted by a random vector, whose entries have the standard
deviation ``shift`` in units of the noise within clusters (digits: of the column).
Scores are adjusted Rand indices, means over seeds: with the classes, and once of the
plain clusters with the batches. "Means removed" subtracts the mean of every batch.
"""

import argparse
import warnings

import numpy as np

from common import table
from imvc import AnchorBridge
from imvc.datasets import load_digits_views, make_views, random_mask
from imvc.metrics import adjusted_rand
from imvc.workflow import adjust_batches

SEEDS = (10, 11)  # none that thresholds were chosen on
COMPOSITIONS = {
    "equal": lambda k, q: np.ones((k, q)),
    "different": lambda k, q: np.where(np.arange(k)[:, None] % q == np.arange(q), 3, 1),
    "very different": lambda k, q: np.where(
        np.arange(k)[:, None] % q == np.arange(q), 9, 1
    ),
    "one lacks a cluster": lambda k, q: (
        1 - np.outer(np.arange(k) == 0, np.arange(q) == 0)
    ),
    "confounded": lambda k, q: np.arange(k)[:, None] % q == np.arange(q),
}
HEAD = ["batches", "shift", "incomplete", "views shifted", "composition"]
SCORES = ["batch, plain", "plain", "means removed", "adjusted", "not told apart"]


def draw_batches(y, q, composition, rng):
    """A batch for every sample, by its class."""
    odds = COMPOSITIONS[composition](int(y.max()) + 1, q).astype(float)
    odds /= odds.sum(axis=1, keepdims=True)
    return np.array([rng.choice(q, p=odds[c]) for c in y])


def shifted(Xs, batch, shift, views, rng):
    """Copies of the views with a random shift for every batch of some of them."""
    Xs = [X.copy() for X in Xs]
    for v in views:
        drawn = rng.standard_normal((batch.max() + 1, Xs[v].shape[1]))
        Xs[v] += shift * drawn[batch]
    return Xs


def without_means(Xs, mask, batch):
    """Every batch of a view at the mean of all."""
    Xs = [X.copy() for X in Xs]
    for X, seen in zip(Xs, mask.T):
        middle = X[seen].mean(axis=0)
        for t in np.unique(batch[seen]):
            X[batch == t] += middle - X[seen & (batch == t)].mean(axis=0)
    return Xs


def scores(Xs, mask, y, batch, k):
    """What the three ways find, and whether batch and cluster were told apart."""
    model = AnchorBridge(k, random_state=0)
    plain = model.fit(Xs, mask=mask).labels_
    means = model.fit(without_means(Xs, mask, batch), mask=mask).labels_
    found = adjust_batches(model, Xs, batch, mask=mask)
    return [
        adjusted_rand(batch, plain),
        adjusted_rand(y, plain),
        adjusted_rand(y, means),
        adjusted_rand(y, found.model.labels_),
        found.confounded,
    ]


def row(name, data_of, q, shift, incomplete, views, composition):
    """A row of the table: means over the seeds."""
    found = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        Xs, y = data_of(seed)
        batch = draw_batches(y, q, composition, rng)
        mask = random_mask(len(y), len(Xs), incomplete, seed)
        Xs = shifted(Xs, batch, shift, views, rng)
        found.append(scores(Xs, mask, y, batch, int(y.max()) + 1))
    *means, told = np.mean(found, axis=0)
    shown = f"{len(views)} of {len(Xs)}"
    return [name, str(q), f"{shift:g}", f"{incomplete:.0%}", shown, composition] + [
        *(f"{value:.2f}" for value in means),
        f"{told:.0%}",
    ]


def planted(seed, k=3):
    data = make_views(450, (20, 30, 15), k, random_state=seed)
    return data.Xs, data.y


def digits(seed):
    """800 digits; columns in units of their standard deviation, constant ones left."""
    data = load_digits_views()
    chosen = np.random.default_rng(seed).permutation(len(data.y))[:800]
    Xs = [np.asarray(X, float)[chosen] for X in data.Xs]
    return [
        (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1) for X in Xs
    ], data.y[chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["planted", "digits", "harm"])
    part = parser.parse_args().part
    warnings.simplefilter("ignore")
    every, first, rows = (0, 1, 2), (0,), []
    if part == "planted":
        for composition in COMPOSITIONS:
            for shift in (1, 2, 4):
                rows.append(row("3 clusters", planted, 2, shift, 0, every, composition))
            rows.append(row("3 clusters", planted, 3, 2, 0.5, every, composition))
            rows.append(
                row(
                    "5 clusters", lambda s: planted(s, 5), 4, 2, 0.5, every, composition
                )
            )
            rows.append(row("3 clusters", planted, 2, 4, 0.5, first, composition))
    elif part == "digits":
        views = tuple(range(len(digits(0)[0])))
        for composition in ("equal", "different", "one lacks a cluster"):
            for shift in (0, 1, 2):
                rows.append(row("digits", digits, 2, shift, 0, views, composition))
            rows.append(row("digits", digits, 4, 1, 0.5, views, composition))
    else:
        for composition in COMPOSITIONS:
            for q, incomplete in ((2, 0), (4, 0.5)):
                rows.append(
                    row("3 clusters", planted, q, 0, incomplete, every, composition)
                )
                rows.append(
                    row(
                        "5 clusters",
                        lambda s: planted(s, 5),
                        q,
                        0,
                        incomplete,
                        every,
                        composition,
                    )
                )
    print(table(["data", *HEAD, *SCORES], rows))


if __name__ == "__main__":
    main()
