"""Numbers as the page and the plots draw them: computed once, for both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imvc._plain import cut
from imvc.insight._associations import ColumnAssociation
from imvc.insight._confidence import Confidence

DOUBTFUL = 0.75  # a cluster of which less comes back from run to run
CLEAR, FLAT = 0.5, 1.0  # valleys up to the first are clear, from the second on none
RAMP = 7  # colours of the ramp that levels and numbers are drawn in
_FULLEST = 2.0  # valleys are drawn no higher: without any the ratio means little
_BINS = 20
_LEVEL = 40  # characters of a level


@dataclass(frozen=True, eq=False)
class NumberCurve:
    """A measure of every number of clusters that was tried.

    Parameters
    ----------
    name, unit : str
        What it is, and what its axis is called.
    k, y : ndarray of shape (n_candidates,)
        Numbers of clusters, and the measure; NaN where it is not known.
    levels : mapping of float to str
        Heights that mean something, and what.
    reach : tuple of (float, float)
        What the axis spans at least.
    """

    name: str
    unit: str
    k: np.ndarray
    y: np.ndarray
    levels: Mapping[float, str]
    reach: tuple[float, float]


def number_curves(stability_curve: Any) -> tuple[NumberCurve, ...]:
    """What comes back, and valleys, of ``stability_curve_`` (n_candidates, 3)."""
    if stability_curve is None or not len(stability_curve):
        return ()
    k, comes_back, valleys = np.asarray(stability_curve, dtype=float).T
    curves = (
        NumberCurve(
            name="How much of the worst cluster comes back",
            unit="share",
            k=k,
            y=comes_back,
            levels={DOUBTFUL: "above: every cluster comes back"},
            reach=(0, 1),
        ),
        NumberCurve(
            name="Valleys between the clusters",
            unit="borders against centres",
            k=k,
            y=np.minimum(valleys, _FULLEST),
            levels={CLEAR: "below: clusters set apart", FLAT: "above: no valleys"},
            reach=(0, 1.2),
        ),
    )
    return tuple(curve for curve in curves if np.isfinite(curve.y).any())


def number_taken(candidates: Sequence[Any] | None, labels: np.ndarray) -> int:
    """Number of clusters asked for or suggested; views apart have it each."""
    return int(candidates[0].k) if candidates else len(np.unique(labels))


def known_shares(cluster_stability: np.ndarray | None) -> dict[int, float]:
    """Cluster -> share of it that comes back, without unknown ones."""
    shares = [] if cluster_stability is None else np.asarray(cluster_stability).tolist()
    return {c: share for c, share in enumerate(shares) if share == share}


def doubtful_clusters(cluster_stability: np.ndarray | None) -> dict[int, float]:
    """The same of those clusters of which less than 75 % comes back."""
    shares = known_shares(cluster_stability)
    return {c: share for c, share in shares.items() if share < DOUBTFUL}


def confidence_counts(
    confidence: Confidence,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of 20 bins of the score; samples in each, and the flagged among them."""
    edges = np.linspace(0, 1, _BINS + 1)
    known = np.clip(confidence.score, 0, 1)
    every = np.histogram(known[~np.isnan(known)], edges)[0]
    flagged = np.histogram(known[confidence.low & ~np.isnan(known)], edges)[0]
    return edges, every, flagged


def drawn_levels(column: ColumnAssociation) -> tuple[list[str], np.ndarray]:
    """Levels to draw and their counts, clusters in rows; rare ones together.

    Levels keep their order; "others" is the last of seven.
    """
    counts, levels = np.array(column.counts), list(column.levels)
    if len(levels) > RAMP:
        common = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[: RAMP - 1])
        rest = counts.sum(axis=1) - counts[:, common].sum(axis=1)
        counts = np.column_stack([counts[:, common], rest])
        levels = [levels[i] for i in common] + [f"{len(levels) - RAMP + 1} others"]
    return [cut(level, _LEVEL) for level in levels], counts


def level_places(column: ColumnAssociation, n: int) -> list[int | None]:
    """Colours of the ramp for `n` drawn levels; None: that of what is left over."""
    ramp: list[int | None] = [round(i * (RAMP - 1) / max(1, n - 1)) for i in range(n)]
    return [*ramp[:-1], None] if len(column.levels) > RAMP else ramp
