"""The map of samples: which are drawn, where, and what they can be coloured by."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from imvc._plain import cut
from imvc.insight._column_kinds import read_column

DRAWN = 20_000  # points that a phone still redraws without a pause
COLOURS, SHAPES = 8, 6  # looks of clusters and of levels
_LANDMARKS = 1_000  # t-SNE of these takes seconds, of 10 000 samples minutes
_NEIGHBOURS = 3
_FEWEST = 10  # points below which neighbours tell nothing that principal axes do not
_WIDTH = 50  # principal coordinates that neighbours are sought in
_GRID = 9_999  # a map is drawn on some hundred pixels, zoomed in on a few thousand
_COLOURED = COLOURS * SHAPES  # levels with a look of their own


def cluster_looks(labels: np.ndarray) -> dict[int, tuple[int, int]]:
    """Number of the colour and of the shape of every cluster, in all pictures."""
    return {
        int(label): (i % COLOURS, i // COLOURS % SHAPES)
        for i, label in enumerate(np.unique(labels))
    }


def drawn_samples(labels: np.ndarray, most: int) -> np.ndarray:
    """At most `most` samples, ascending: the same share of every cluster.

    The first sample of a cluster, in random order, is always drawn.
    """
    n = len(labels)
    if n <= most:
        return np.arange(n)
    shuffled = np.random.RandomState(0).permutation(n)
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    _, starts, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    rank = np.arange(n) - np.repeat(starts, sizes)
    share = rank / np.repeat(sizes, sizes)
    return np.sort(order[np.argsort(share, kind="stable")[:most]])


def planes(embedding: np.ndarray) -> list[dict[str, Any]]:
    """Planes to draw samples in: by neighbours (t-SNE), and by principal axes.

    A linear plane shows three clusters well and piles up ten of them; t-SNE keeps
    neighbours together however many clusters there are. It is run on landmarks only,
    on one thread (so that the same samples give the same map), and the other samples
    are put between their nearest landmarks.
    """
    Y = np.nan_to_num(np.asarray(embedding, dtype=np.float64))
    length = np.linalg.norm(Y, axis=1, keepdims=True)
    Y = Y / np.where(length == 0, 1, length)
    width = min(_WIDTH, *Y.shape)
    with np.errstate(invalid="ignore"):  # shares of no variance
        coordinates = np.asarray(PCA(width, random_state=0).fit_transform(Y))
    if width < 2:
        coordinates = np.column_stack([coordinates, np.zeros(len(Y))])
    found = [_plane("Principal axes", coordinates[:, :2])]
    if len(Y) >= _FEWEST and np.ptp(coordinates[:, 0]) > 1e-9:
        found.insert(0, _plane("Neighbours", _neighbour_plane(coordinates)))
    return found


def _neighbour_plane(Y: np.ndarray) -> np.ndarray:
    """t-SNE of at most 1000 landmarks, other rows between their nearest landmarks."""
    chosen = np.random.RandomState(0).permutation(len(Y))[:_LANDMARKS]
    perplexity = min(30.0, (len(chosen) - 1) / 3)
    with threadpool_limits(1):
        layout = TSNE(
            init="pca", perplexity=perplexity, max_iter=500, random_state=0
        ).fit_transform(Y[chosen])
    layout = np.asarray(layout)  # whatever scikit-learn is told to give
    plane = np.empty((len(Y), 2))
    plane[chosen] = layout
    others = np.setdiff1d(np.arange(len(Y)), chosen)
    if len(others):
        search = NearestNeighbors(n_neighbors=_NEIGHBOURS).fit(Y[chosen])
        distance, near = search.kneighbors(Y[others])
        weight = 1 / np.maximum(distance, 1e-12) ** 2
        weight /= weight.sum(axis=1, keepdims=True)
        plane[others] = np.einsum("ik,ikd->id", weight, layout[near])
    # The axes mean nothing: turn the map so that its length lies along the screen.
    return np.asarray(PCA(2).fit_transform(plane))


def _plane(name: str, XY: np.ndarray) -> dict[str, Any]:
    """Coordinates as whole numbers on one scale for both axes, y downwards."""
    XY = XY * (1, -1)
    XY = XY - XY.min(axis=0)
    XY = np.rint(XY * (_GRID / max(XY.max(), 1e-12))).astype(int)
    return {"name": name, "x": XY[:, 0].tolist(), "y": XY[:, 1].tolist()}


def cluster_column(
    labels: np.ndarray, doubtful: Collection[int], rows: Any
) -> dict[str, Any]:
    """The clusters of the drawn rows; names tell which of them are doubtful."""
    clusters, codes = np.unique(labels, return_inverse=True)
    names = [
        f"Cluster {c}{' (doubtful)' if c in doubtful else ''}"
        for c in clusters.tolist()
    ]
    return level_column("Cluster", names, codes, rows)


def metadata_column(
    name: str, values: np.ndarray, rows: Any = slice(None)
) -> dict[str, Any] | None:
    """What the script colours the drawn rows by: a scale, or levels.

    None of free text and identifiers: hundreds of colours tell nothing.
    """
    known = read_column(values)
    if known.kind == "text":
        return None
    if known.kind in ("number", "date"):
        column = number_column(name, known.values, rows)
        return {**column, "dates": True} if known.kind == "date" else column
    levels, codes = known.levels, known.codes
    if len(levels) > _COLOURED:
        # The script has no look of their own for the last ones.
        order = np.argsort(-np.bincount(codes[codes >= 0]), kind="stable")
        place = np.append(np.argsort(order), -1)  # unknown, -1, stays so
        levels, codes = tuple(levels[i] for i in order), place[codes]
    return level_column(name, levels, codes, rows)


def level_column(
    name: str, levels: Sequence[str], codes: Any, rows: Any, kind: str = "category"
) -> dict[str, Any]:
    """Levels of the drawn samples.

    What the legend counts is of all: ``many`` of every level with a look of its own
    and, where there are ``others``, of those together; and how many are ``unknown``.
    """
    codes = np.asarray(codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    own = len(levels) if len(levels) <= _COLOURED else _COLOURED - 1
    rest = [int(counts[own:].sum())] if own < len(levels) else []
    drawn = codes[rows]
    kept = np.union1d(np.arange(own), drawn[drawn >= 0])
    return {
        "name": cut(name),
        "kind": kind,
        "levels": [cut(levels[i]) for i in kept],
        "codes": np.where(drawn < 0, -1, np.searchsorted(kept, drawn)).tolist(),
        "many": [*counts[:own].tolist(), *rest],
        "others": len(levels) - own,
        "unknown": int(np.count_nonzero(codes < 0)),
    }


def number_column(
    name: str,
    values: np.ndarray,
    rows: Any = slice(None),
    ends: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Six digits of every drawn number, and the range that the colours span.

    The range leaves out the outermost hundredth on each side: one wild value must not
    give all others the same colour.
    """
    known = values[np.isfinite(values)]
    if ends is None:
        low, high = np.percentile(known, [1, 99]) if len(known) else (0.0, 0.0)
        ends = (low, high) if high > low else (known.min(), known.max())
    return {
        "name": cut(name),
        "kind": "number",
        "low": _short(ends[0]),
        "high": _short(ends[1]),
        "values": [_short(x) if np.isfinite(x) else None for x in values[rows]],
        "unknown": int(np.count_nonzero(~np.isfinite(values))),
    }


def _short(x: float) -> float:
    return float(f"{x:.6g}")
