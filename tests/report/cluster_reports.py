"""A small clustering with everything that a page can show."""

import numpy as np

from imvc.datasets import make_views
from imvc.insight import (
    ClusterSummary,
    Confidence,
    Explanation,
    FeatureEffect,
    ViewAgreement,
    inspect,
)
from imvc.report import ClusterReport
from study_files import Candidate

VIEWS = ("genes", "proteins")


def cluster_report(n=60, n_clusters=3, view_names=VIEWS, feature="gene", **changes):
    """A report of planted clusters; `changes` replace its fields."""
    data = make_views(n, (5, 4), n_clusters, incomplete=0.5, random_state=0)
    labels, mask = data.y, data.mask
    score = np.linspace(0, 1, n)
    fields = {
        "title": "Planted clusters",
        "method": "bridge",
        "labels": labels,
        "sample_ids": np.array([f"s{i:05d}" for i in range(n)], dtype=object),
        "mask": mask,
        "view_names": view_names,
        "embedding": np.eye(n_clusters)[labels]
        + 0.1 * np.random.RandomState(0).standard_normal((n, n_clusters)),
        "confidence": Confidence(score, np.ones(n), score, score < 0.1, "Below 0.1."),
        "inspection": inspect(dict(zip(view_names, data.Xs)), mask=mask),
        "explanation": explanation(labels, mask, view_names, feature),
        "metadata": {"age": np.linspace(20, 80, n)},
        "parameters": {"n_clusters": n_clusters, "n_anchors": None},
        "versions": {"imvc": "0.1.0"},
        "stability_curve": None,
        "evidence": None,
        "objective": np.array([1.0]),
        "notes": (),
        "seconds": {"fit": 1.25},
    }
    return ClusterReport(**{**fields, **changes})


def judged_report(evidence, reason, **changes):
    """A report whose number of clusters, 3, was suggested, with everything known."""
    curve = np.array([[2, 0.99, 0.3], [3, 0.95, 0.4], [4, 0.5, 0.8]])
    best = Candidate(3, 0.95, 0.4, "the largest number whose clusters all come back")
    fields = {
        "evidence": evidence,
        "evidence_reason": reason,
        "stability_curve": curve,
        "candidates": [best, Candidate(2, 0.99, 0.3, "the better of its neighbours")],
        "cluster_stability": np.array([0.98, 0.52, 0.95]),
    }
    return cluster_report(**{**fields, **changes})


def explanation(labels, mask, view_names=VIEWS, feature="gene"):
    n_clusters = labels.max() + 1
    return Explanation(
        clusters=tuple(
            ClusterSummary(
                int(c),
                int(np.sum(labels == c)),
                float(np.mean(labels == c)),
                dict(zip(view_names, mask[labels == c].mean(axis=0).tolist())),
            )
            for c in range(n_clusters)
        ),
        features=tuple(
            FeatureEffect(name, c, f"{feature}{c}", (-1) ** c * 1.5, 2.5, 0.5, 9)
            for c in range(n_clusters)
            for name in view_names
        ),
        views=tuple(ViewAgreement(name, 40, 0.75, None) for name in view_names),
        pattern_leakage=0.01,
        leakage_warning=None,
    )
