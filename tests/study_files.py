"""A small study in files: rows, ids and columns as people have them."""

import csv
from typing import NamedTuple

import numpy as np

from imvc.datasets import make_views

HOSTILE = '<script>alert("x")</script>'


def write_study(folder, n=90, seed=0):
    """rna.csv, protein.tsv and clinical.csv; returns their paths and the classes.

    Every sample is in one file at least, half of them not in all. Protein is separated
    by tabs, clinical has a text column, and one column of rna has a hostile name.
    """
    data = make_views(n, (6, 5, 4), 3, separation=8, incomplete=0.5, random_state=seed)
    ids = [f"p{i:03d}" for i in range(n)]
    heads = [
        ["patient", HOSTILE, *(f"gene{j}" for j in range(5))],
        ["patient", *(f"prot{j}" for j in range(5))],
        ["patient", "sex", *(f"lab{j}" for j in range(4))],
    ]
    paths = [folder / name for name in ("rna.csv", "protein.tsv", "clinical.csv")]
    for v, (path, head) in enumerate(zip(paths, heads)):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if v == 1 else ",")
            writer.writerow(head)
            for i in np.flatnonzero(data.mask[:, v]):
                text = ["f" if i % 2 else "m"] if v == 2 else []
                writer.writerow([ids[i], *text, *data.Xs[v][i].tolist()])
    return paths, dict(zip(ids, data.y.tolist()))


def write_classes(path, classes):
    """A table of ids and classes."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "kind"])
        writer.writerows((key, f"kind {value}") for key, value in classes.items())
    return path


def read_table(path):
    """The rows of a CSV file as dicts."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Candidate(NamedTuple):
    k: int
    r: float
    v: float
    reason: str


def set_judgement(model, evidence="none", reason="no number of clusters comes back"):
    """Let a fitted model of three clusters say that it suggested them, and why."""
    model.evidence_, model.evidence_reason_ = evidence, reason
    model.candidates_ = [
        Candidate(3, 0.4, 1.1, "comes back best"),
        Candidate(2, 0.3, np.nan, "its neighbour"),
    ]
    model.stability_curve_ = np.array([[2, 0.3, np.nan], [3, 0.4, 1.1]])
    model.cluster_stability_ = np.array([0.9, 0.52, np.nan])
