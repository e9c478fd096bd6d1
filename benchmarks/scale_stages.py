"""CPU time per sample and stage of the pass over files, beside its floor.

One thread and one block of rows, the least of many turns: every stage is run alone on
what the one before it left, so their sum leaves out what passes between them.
"""

import time
from dataclasses import replace

import numpy as np

from common import table
from scale_data import CLUSTERS, WIDTHS, load_files
from scale_jobs import BLOCK_ROWS

TURNS = 12


def bench_stages(bench):
    """Table of the stages of RISE's pass over all samples."""
    place = bench.data((bench.options.n or [1_000_000])[0])
    n, found = stages(place, bench.options.learn_sample or 50_000, bench.options.budget)
    floor = found["floor: read and multiply"]
    rows = [
        [name, f"{1e9 * own / n:.0f}", f"{own / floor:.2f}"]
        for name, own in found.items()
    ]
    print(f"\none block of {n} samples, one thread\n")
    print(table(["stage", "ns a sample", "of the floor"], rows))


def stages(place, learn_sample, budget):
    """``(samples of a block, least CPU seconds of every stage)``."""
    from imvc import RISE
    from imvc.kernels._anchor_graph import anchor_weights, unit_rows
    from imvc.kernels._distances import nearest_anchors
    from imvc.methods.anchor_model import label_block, place_block
    from imvc.scale import embed_rows, open_source

    arrays = load_files(place)
    Xs, mask = [arrays[f"view{v}"] for v in range(len(WIDTHS))], arrays["mask"]
    model = RISE(CLUSTERS, random_state=0, n_jobs=1, learn_sample=learn_sample)
    model.fit([np.array(X[:100_000]) for X in Xs], mask=np.array(mask[:100_000]))
    source = open_source(Xs, mask, memory_budget=budget)
    views, anchors = source.block(0), model.anchors_
    n = views.n_samples
    embed, put = model._embed_views()[0], model._place()
    graphs = model._graphs.by_pattern(views)
    rule = model._graphs.sizes, model._consensus, CLUSTERS, np.float32
    found = embed_rows(graphs, *rule)
    observed = [views.observed(v) for v in range(views.n_views)]
    scaled = [unit_rows(X) for X in observed]

    def read(start=0, stop=n):
        for X, d in zip(Xs, WIDTHS):
            at = X.offset + start * d * X.itemsize
            part = np.fromfile(X.filename, X.dtype, (stop - start) * d, offset=at)
            yield part.reshape(-1, d)

    def floor():
        for start in range(0, n, BLOCK_ROWS):
            for X, A in zip(read(start, min(start + BLOCK_ROWS, n)), anchors):
                X @ A.T

    def products():
        for X, A in zip(scaled, anchors):
            for start in range(0, len(X), BLOCK_ROWS):
                X[start : start + BLOCK_ROWS] @ A.T

    def each(function, k):
        return lambda: [function(X, A, k) for X, A in zip(scaled, anchors)]

    jobs = {
        "floor: read and multiply": floor,
        "read": lambda: list(read()),
        "read, check, mask": lambda: source.block(0),
        "observed rows": lambda: [views.observed(v) for v in range(views.n_views)],
        "unit rows": lambda: [unit_rows(X) for X in observed],
        "products with the anchors": products,
        "nearest anchors, products included": each(nearest_anchors, 6),
        "the same with weights": each(anchor_weights, 5),
        "embedding": lambda: embed_rows(graphs, *rule),
        "labels": lambda: label_block(found, views.mask, put, views.patterns()),
        "all but reading": lambda: place_block(replace(views), embed, put, np.float32),
    }
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(TURNS):
        for name, job in jobs.items():
            start = time.thread_time()
            job()
            best[name] = min(best[name], time.thread_time() - start)
    return n, best
