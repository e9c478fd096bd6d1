"""compare_runs: where the samples of one run are in another."""

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from imvc._plain import plain
from imvc.metrics import adjusted_rand, nmi
from imvc.workflow._label_edits import LabelEdits


@dataclass(frozen=True)
class FlowCluster:
    """A cluster of one of two runs: its number, its name, its samples in all."""

    id: int
    name: str
    size: int


@dataclass(frozen=True, eq=False)
class Flow:
    """How the samples of two runs go from the clusters of one to those of the other.

    Parameters
    ----------
    clusters_a, clusters_b : tuple of FlowCluster
    n_shared : int
        Samples of both runs, by id.
    only_a, only_b : int
        Samples of one run alone.
    ari, nmi : float
        Adjusted Rand index and normalized mutual information of the shared samples.
    table : ndarray of int, shape (n_clusters_a, n_clusters_b)
        Shared samples in each pair of clusters.
    match : dict of int to int
        Cluster of `a` -> its cluster of `b`, one to one, so that most samples stay.
    rows_a, rows_b : ndarray of int
        Places of the shared samples in either run, in the order of `a`.
    moved : ndarray of int
        Places in `a` of shared samples that are not in the match of their cluster.
    """

    clusters_a: tuple[FlowCluster, ...]
    clusters_b: tuple[FlowCluster, ...]
    n_shared: int
    only_a: int
    only_b: int
    ari: float
    nmi: float
    table: np.ndarray
    match: dict[int, int]
    rows_a: np.ndarray
    rows_b: np.ndarray
    moved: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON."""
        found = asdict(self)
        found["match"] = {str(a): b for a, b in self.match.items()}
        for name in ("table", "rows_a", "rows_b", "moved"):
            found[name] = found[name].tolist()
        return plain(found, otherwise=lambda _: None)


def compare_runs(a: Any, b: Any) -> Flow:
    """Compare the clusters of two saved runs, after their edits where there are any.

    Parameters
    ----------
    a, b : LabelEdits, SavedRun or path-like
        Two runs or their folders.

    Returns
    -------
    Flow

    Raises
    ------
    ValueError
        The runs share no sample.

    Examples
    --------
    ``compare_runs("out", "again").ari``
    """
    one, two = (
        own if isinstance(own, LabelEdits) else LabelEdits(own) for own in (a, b)
    )
    ids_a, ids_b = one.run.ids, two.run.ids
    place = {key: j for j, key in enumerate(ids_b.tolist())}
    rows = np.array([place.get(key, -1) for key in ids_a.tolist()], np.int64)
    rows_a = np.flatnonzero(rows >= 0)
    rows_b = rows[rows_a]
    if len(rows_a) == 0:
        raise ValueError(
            f"{_shown(one)} and {_shown(two)} share no sample: the ids of one begin "
            f"with {str(ids_a[0])!r}, of the other with {str(ids_b[0])!r}; compare "
            f"runs of the same samples."
        )
    clusters_a, clusters_b = np.array(one.clusters), np.array(two.clusters)
    codes_a = np.searchsorted(clusters_a, one.labels[rows_a])
    codes_b = np.searchsorted(clusters_b, two.labels[rows_b])
    table = np.zeros((len(clusters_a), len(clusters_b)), np.int64)
    np.add.at(table, (codes_a, codes_b), 1)
    mine, theirs = linear_sum_assignment(table, maximize=True)
    partner = np.full(len(clusters_a), -1)
    partner[mine] = theirs
    stay = partner[codes_a] == codes_b
    return Flow(
        clusters_a=_clusters(one),
        clusters_b=_clusters(two),
        n_shared=len(rows_a),
        only_a=len(ids_a) - len(rows_a),
        only_b=len(ids_b) - len(rows_a),
        ari=float(adjusted_rand(codes_a, codes_b)),
        nmi=float(nmi(codes_a, codes_b)),
        table=table,
        match={int(clusters_a[i]): int(clusters_b[j]) for i, j in zip(mine, theirs)},
        rows_a=rows_a,
        rows_b=rows_b,
        moved=rows_a[~stay],
    )


def _clusters(edits: LabelEdits) -> tuple[FlowCluster, ...]:
    numbers, sizes = np.unique(edits.labels, return_counts=True)
    return tuple(
        FlowCluster(c, edits.name(c), n)
        for c, n in zip(numbers.tolist(), sizes.tolist())
    )


def _shown(edits: LabelEdits) -> str:
    return os.fspath(edits.run.folder)
