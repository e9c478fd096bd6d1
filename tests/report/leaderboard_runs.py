"""Made-up runs of a leaderboard: 6 methods x 5 datasets x 4 masks x 3 seeds."""

import numpy as np

from imvc.experiments import (
    Entry,
    MethodSpec,
    PlannedRun,
    Record,
    RecordStore,
    RunSpec,
    Suite,
)

METHODS = ("rise", "bridge", "daimc", "nemo", "slow", "broken")
DATASETS = {"digits": 0.8, "webkb": 0.6, "wiki": 0.5, "cells": 0.7, "faces": 0.4}
KINDS = {"digits": "images", "faces": "images", "webkb": "text", "wiki": "text"}
MASKS = {"paired-share": (0.3, 0.5), "single-view": (0.5,), "by-class": (0.5,)}
SEEDS = (0, 1, 2)
SKILL = {"rise": 0.1, "bridge": 0.12, "daimc": 0.0, "nemo": -0.03, "slow": 0.13}
SPEED = {"rise": 0.2, "bridge": 0.9, "daimc": 4.0, "nemo": 2.0, "slow": 25.0}
SCORES = ("acc", "nmi", "ari")
MACHINE = {
    "processor": "test processor",
    "cores": 2,
    "system": "Linux",
    "python": "3.12",
    "versions": {"imvc": "0.1.0", "numpy": "2.0"},
}
TOLD = "ValueError: broken has no neighbours"


def suite(methods=METHODS, datasets=tuple(DATASETS), **changes):
    about = {
        "title": "Leaderboard",
        "rates": (0.3, 0.5),
        "mask_seeds": SEEDS,
        "seeds": (0,),
        "protocols": MASKS,
        "kinds": KINDS,
        "tables": ("leaderboard",),
        "metrics": SCORES,
        "time_limit": 30,
        "memory_limit": 6,
    }
    specs = tuple(MethodSpec(name, name) for name in methods)
    about |= {"name": "leaderboard", "size": "quick", "methods": specs}
    return Suite(**(about | {"datasets": datasets} | changes))


def entries():
    """All runs: `slow` runs out of time on faces, and once on cells; `broken` fails.

    Scores are drawn around the level of the dataset, the skill of the method and what
    the mask takes away. `broken` has results on wiki only.
    """
    rng = np.random.default_rng(0)
    return [
        Entry(method, "default", _record(rng, dataset, method, protocol, rate, seed))
        for dataset in DATASETS
        for method in METHODS
        for protocol, rates in MASKS.items()
        for rate in rates
        for seed in SEEDS
    ]


def _record(rng, dataset, method, protocol, rate, seed):
    spec = RunSpec(dataset, method, {}, rate, seed, 0, protocol)
    noise = rng.normal(0, 0.02, len(SCORES))
    level = DATASETS[dataset] + SKILL.get(method, -0.2) - 0.3 * rate
    if method == "broken" and dataset != "wiki":
        return Record(spec, "failed", TOLD, machine=MACHINE)
    late = dataset == "faces" or (dataset, rate, seed) == ("cells", 0.3, 1)
    if method == "slow" and late:
        return Record(spec, "timeout", "longer than 30 s", machine=MACHINE)
    scores = np.clip(level * np.array([1, 0.8, 0.7]) + noise, -0.1, 1)
    seconds = SPEED.get(method, 0.05) * (1 + DATASETS[dataset])
    missing = 100 * rate / (1 if protocol == "single-view" else 2)
    return Record(
        spec,
        scores=dict(zip(SCORES, scores.tolist()))
        | {"pattern_leakage": 0.01 + 0.3 * (method == "nemo")},
        seconds={"total": 2 * seconds, "processor": seconds},
        peak_memory=int(1e6 * (1 + seconds)),
        shape={
            "n_samples": 100,
            "n_views": 2,
            "n_clusters": 4,
            "n_incomplete": int(100 * rate),
            "n_missing": int(missing) + seed,
        },
        machine=MACHINE,
    )


def write_records(path, own, board_suite=None, pending=0):
    """A records file with these entries, and some runs that are not done."""
    planned = [PlannedRun(e.label, e.role, e.record.spec) for e in own]
    planned += [
        PlannedRun("rise", "default", RunSpec("digits", "rise", {}, 0.9, i, 0))
        for i in range(pending)
    ]
    with RecordStore(path) as store:
        store.remember(board_suite or suite(), planned)
        store.finish([e.record for e in own])
    return path
