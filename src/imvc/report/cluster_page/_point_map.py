"""The samples as points of a plane, in the few bytes that a page can carry."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from imvc.report.cluster_page._cluster_report import ClusterReport

_DRAWN = 20_000  # points that a phone still redraws without a pause
_LANDMARKS = 1_000  # t-SNE of these takes seconds, of 10 000 samples minutes
_NEIGHBOURS = 3
_FEWEST = 10  # points below which neighbours tell nothing that principal axes do not
_WIDTH = 50  # principal coordinates that neighbours are sought in
_GRID = 9_999  # a map is drawn on some hundred pixels, zoomed in on a few thousand
_TEXT = 100  # characters of an id or a value
_METADATA_BYTES = 3_000_000
_FEW_NUMBERS = 12  # so many different whole numbers or fewer are taken for categories
_COLOURED = 48  # levels with a look of their own: 8 colours times 6 shapes


def cut(text: object, width: int = _TEXT) -> str:
    """`text` in at most `width` characters, with an ellipsis where it was cut."""
    line = str(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def script_json(data: object) -> str:
    """JSON that is safe inside ``<script>``: no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


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


def point_data(report: ClusterReport) -> dict[str, Any]:
    """What the page's script draws: JSON-able, one entry per drawn sample.

    ``planes`` are coordinates from 0 to 9999, ``columns`` what points can be coloured
    by, ``views`` the views present, ``low`` the flagged points, ``left_out`` the
    columns of metadata that did not fit.
    """
    rows = drawn_samples(report.labels, _DRAWN)
    columns, left_out = _columns(report, rows)
    patterns, codes = np.unique(report.mask[rows], axis=0, return_inverse=True)
    names = [cut(name) for name in report.view_names]
    return {
        "total": report.n_samples,
        "ids": [cut(value) for value in report.sample_ids[rows]],
        "planes": planes(report.embedding[rows]),
        "columns": columns,
        "left_out": left_out,
        "views": {
            "levels": [", ".join(np.compress(p, names)) for p in patterns],
            "codes": codes.ravel().tolist(),
        },
        "low": np.flatnonzero(report.confidence.low[rows]).tolist(),
    }


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
        coordinates = PCA(width, random_state=0).fit_transform(Y)
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
    return PCA(2).fit_transform(plane)


def _plane(name: str, XY: np.ndarray) -> dict[str, Any]:
    """Coordinates as whole numbers on one scale for both axes, y downwards."""
    XY = XY * (1, -1)
    XY = XY - XY.min(axis=0)
    XY = np.rint(XY * (_GRID / max(XY.max(), 1e-12))).astype(int)
    return {"name": name, "x": XY[:, 0].tolist(), "y": XY[:, 1].tolist()}


def _columns(
    report: ClusterReport, rows: np.ndarray
) -> tuple[list[dict[str, Any]], list[str]]:
    """Columns to colour by, and the names of those that are too large to carry."""
    labels, codes = np.unique(report.labels, return_inverse=True)
    count = report.mask.sum(axis=1)
    numbers = ["1 view", *(f"{k} views" for k in range(2, report.mask.shape[1] + 1))]
    doubt = {c: " (doubtful)" for c in report.doubtful}
    names = [f"Cluster {c}{doubt.get(c, '')}" for c in labels.tolist()]
    columns = [
        _levels("Cluster", names, codes),
        _levels("Number of views", numbers, count - 1, "ordered"),
        _numbers("Confidence", report.confidence.score.round(3), (0, 1)),
    ]
    columns = [_drawn(column, rows) for column in columns]
    left_out, room = [], _METADATA_BYTES
    for name, values in report.metadata.items():
        column = _drawn_metadata(str(name), np.asarray(values, dtype=object), rows)
        room -= (size := len(script_json(column).encode(errors="replace")))
        if room < 0:
            room += size
            left_out.append(cut(name))
        else:
            columns.append(column)
    return columns, left_out


def _drawn(column: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """A column of all samples, cut down to those that are drawn.

    What the legend counts is of all: ``many`` of every level with a look of its own
    and, where there are ``others``, of those together; and how many are ``unknown``.
    """
    if "codes" not in column:
        values = column["values"]
        drawn = [values[i] for i in rows]
        return {**column, "values": drawn, "unknown": values.count(None)}
    codes, levels = np.asarray(column["codes"]), column["levels"]
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    own = len(levels) if len(levels) <= _COLOURED else _COLOURED - 1
    rest = [int(counts[own:].sum())] if own < len(levels) else []
    drawn = codes[rows]
    kept = np.union1d(np.arange(own), drawn[drawn >= 0])
    return {
        **column,
        "levels": [levels[i] for i in kept],
        "codes": np.where(drawn < 0, -1, np.searchsorted(kept, drawn)).tolist(),
        "many": [*counts[:own].tolist(), *rest],
        "others": len(levels) - own,
        "unknown": int(np.count_nonzero(codes < 0)),
    }


def _drawn_metadata(name: str, values: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    """As `_drawn`; of numbers only those that are drawn are put into digits."""
    column = metadata_column(name, values[rows])
    if "codes" in column:
        return _drawn(metadata_column(name, values), rows)
    return {**column, "unknown": sum(_text(value) is None for value in values)}


def metadata_column(name: str, values: np.ndarray) -> dict[str, Any]:
    """A column of anything as numbers or as categories, whichever it is.

    Numbers are all finite where known and more than a few different ones; a column of
    few whole numbers (stages, plates) is taken for categories.
    """
    texts = [_text(value) for value in values]
    counts = Counter(text for text in texts if text is not None)
    numbers = _as_numbers(counts)
    if numbers is not None and not _few_whole(numbers.values()):
        known = [np.nan if text is None else numbers[text] for text in texts]
        return _numbers(name, np.array(known))
    if len(counts) > _COLOURED:
        levels = [text for text, _ in counts.most_common()]
    elif numbers is not None:
        levels = sorted(counts, key=numbers.__getitem__)
    else:
        levels = sorted(counts)
    place = {text: i for i, text in enumerate(levels)}
    codes = [-1 if text is None else place[text] for text in texts]
    return _levels(name, levels, codes)


def _text(value: Any) -> str | None:
    """The text of a value; None where it is unknown."""
    # NaN and NaT differ from themselves; pandas' NA refuses to be compared.
    if value is None or str(value) == "<NA>" or bool(value != value):
        return None
    return str(value).strip() or None


def _as_numbers(texts: Iterable[str]) -> dict[str, float] | None:
    """Texts as finite numbers; None unless all of them are."""
    try:
        numbers = {text: float(text) for text in texts}
    except ValueError:
        return None
    finite = all(np.isfinite(number) for number in numbers.values())
    return numbers if numbers and finite else None


def _few_whole(numbers: Iterable[float]) -> bool:
    different = set(numbers)
    return len(different) <= _FEW_NUMBERS and all(x == int(x) for x in different)


def _levels(
    name: str, levels: Sequence[str], codes: Any, kind: str = "category"
) -> dict[str, Any]:
    return {
        "name": cut(name),
        "kind": kind,
        "levels": [cut(level) for level in levels],
        "codes": np.asarray(codes).tolist(),
    }


def _numbers(
    name: str, values: np.ndarray, ends: tuple[float, float] | None = None
) -> dict[str, Any]:
    """Six digits of every number, and the range that the colours span.

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
        "values": [_short(x) if np.isfinite(x) else None for x in values],
    }


def _short(x: float) -> float:
    return float(f"{x:.6g}")
