"""Step 8 of AnchorBridge: stability of its clusters, and the number it suggests.

Each single graph (variant x anchor seed) is clustered alone; the stability of k
clusters is the mean adjusted Rand index between these partitions. The curve over k is
what the data say about the number of clusters: it is shown, not only its top.
"""

from functools import partial
from itertools import combinations

import numpy as np

from imvc.kernels._kmeans import assign, kmeans_centers, random_rows
from imvc.methods.anchor_model import total_statistics
from imvc.methods.bridge.graphs import choose_graphs
from imvc.methods.bridge.spectrum import single_spaces
from imvc.metrics import adjusted_rand_of
from imvc.scale import ThreadRunner, ViewsSource, apply_all, row_statistics

_STARTS = 5
_SWEEP_ROWS = 10_000  # samples on which numbers of clusters are compared
_STRONG = 0.6  # a stability below this says that partitions differ for every k
_MARGIN = 0.05  # what the score of a suggested k must be ahead of all others


def choose_number(model, runner, seed):
    """Set ``n_clusters_`` of an AnchorBridge: of several candidates the most stable."""
    candidates = model._candidates(runner.n_samples)
    model.n_clusters_, model.evidence_ = candidates[0], None
    model.stability_curve_ = None
    if len(candidates) > 1:
        compare = partial(compare_numbers, model, runner, candidates, seed)
        model.stability_curve_ = runner.resume("number", compare)
        model.n_clusters_, model.evidence_ = suggest(model.stability_curve_)


def compare_numbers(model, runner, candidates, seed):
    """Stability of every candidate, on a sample."""
    n, most = runner.n_samples, max(candidates)
    rng = np.random.RandomState(seed)
    source = ViewsSource(runner.samples(random_rows(n, min(n, _SWEEP_ROWS), rng)))
    runner = ThreadRunner(source, runner.map)
    runner.survey()
    evidence = []
    for graphs in choose_graphs(runner, model._rule(most), (seed,), 2):
        with model._stage("graph"):
            rows = runner.keep("graph", graphs, runner.blocks)
        with model._stage("statistics"):
            found = total_statistics(runner, rows, graphs.sizes)
        evidence.append(model._weigh(runner, rows, found.grams, most))
    with model._stage("number of clusters"):
        spaces = single_spaces(runner, evidence, 4 * most)
        return stability_curve(runner, spaces, candidates, seed)


def measure_stability(model, runner, evidence, graphs, c, seed):
    """Agreement of the partitions of four single graphs.

    Parameters
    ----------
    evidence : Evidence
        Of the first anchors.
    graphs : list of BridgeGraphs
        Of the first and the second anchors.
    """
    with model._stage("stability"):
        if not runner.source.readable:
            return np.nan  # the second anchors never saw these samples
        rows = runner.keep("second-graph", graphs[1], runner.blocks)
        function = partial(row_statistics, sizes=graphs[1].sizes)
        grams = runner.total("second-statistics", function, rows)
        other = model._weigh(runner, rows, grams, c)
        spaces = single_spaces(runner, [evidence, other], 4 * c)
        found = [partition(runner, space(c), c, seed) for space in spaces]
        return mean_agreement(runner, found)[0]


def mean_agreement(runner, partitions):
    """Mean and standard deviation of the adjusted Rand index over pairs.

    Parameters
    ----------
    partitions : list of KeptRows
        Labels.
    """
    scores = [
        adjusted_rand_of(merge_tables(runner.collect(cross_table, a.items, b.items)))
        for a, b in combinations(partitions, 2)
    ]
    return float(np.mean(scores)), float(np.std(scores))


def cross_table(a, b):
    """How many samples of a block have which pair of labels."""
    shape = (int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1)
    cells = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1])
    return cells.reshape(shape)


def merge_tables(tables):
    """Sum of tables that may differ in size."""
    total = np.zeros(np.max([table.shape for table in tables], axis=0), np.int64)
    for table in tables:
        total[: table.shape[0], : table.shape[1]] += table
    return total


def partition(runner, space, k, seed):
    """Labels of a single graph's embedding: k-means with five starts; KeptRows."""
    centers, _ = kmeans_centers(
        space, k, n_init=_STARTS, random_state=seed, map=runner.map
    )
    place = partial(apply_and_assign, functions=space.functions, centers=centers)
    return runner.rows(None, place, space.items, width=None, dtype=np.int64)


def apply_and_assign(rows, functions, centers):
    """Labels of a block of rows, as they are after the functions."""
    return assign(apply_all(rows, functions), centers)[0]


def stability_curve(runner, spaces, candidates, seed):
    """Rows (k, stability, spread) for every candidate.

    Parameters
    ----------
    spaces : list of callable
        One per graph: k -> the KeptRows that k-means works on.
    """
    curve = []
    for k in candidates:
        partitions = [partition(runner, space(k), k, seed) for space in spaces]
        curve.append((k, *mean_agreement(runner, partitions)))
    return np.array(curve, dtype=np.float64)


def suggest(curve):
    """``(k, evidence)`` from a stability curve.

    Coarse partitions agree more easily than fine ones, so the k with the largest
    stability times (1 - 1/k)^(1/3) is suggested. The evidence is "strong" when its
    stability is high and its score clearly above that of every other candidate.
    """
    k, stability = curve[:, 0].astype(int), curve[:, 1]
    score = stability * np.cbrt(1 - 1 / k)
    top = int(score.argmax())
    ahead = score[top] - np.delete(score, top).max(initial=0)
    strong = stability[top] >= _STRONG and ahead >= _MARGIN
    return int(k[top]), "strong" if strong else "weak"
