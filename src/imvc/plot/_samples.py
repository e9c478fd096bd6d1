"""samples: every sample as a point of a plane, as on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from imvc._plain import cut
from imvc.insight import Confidence
from imvc.insight._drawn import doubtful_clusters
from imvc.insight._sample_map import (
    COLOURS,
    DRAWN,
    cluster_column,
    drawn_samples,
    level_column,
    metadata_column,
    number_column,
    planes,
)
from imvc.plot._look import (
    MARKERS,
    Look,
    axes_or_new,
    date_axis,
    legend,
    look_of,
    ramp_map,
)
from imvc.plot._taken import fitted, is_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLANES = {"neighbours": "Neighbours", "principal axes": "Principal axes"}
_VECTOR = 2_000  # points beyond which they are drawn as an image in vector formats
_ROWS = 18  # of the legend
_LEVEL = 32  # characters of a level
_MAP = 3.8  # inches


def samples(
    result: Any,
    colour: Any = "cluster",
    *,
    plane: str = "neighbours",
    ax: Axes | None = None,
) -> Axes:
    """Draw the map of samples: those that are alike over all views lie close together.

    Parameters
    ----------
    result : ClusterRun or fitted estimator
    colour : {"cluster", "confidence", "pattern"}, str, Confidence or array of \
shape (n_samples,), default="cluster"
        What samples are coloured by; other names are columns of the metadata of a
        ClusterRun. Arrays may hold numbers, dates or categories. "pattern" is which
        views a sample has. An estimator knows "cluster" only: pass the others.
    plane : {"neighbours", "principal axes"}, default="neighbours"
        t-SNE, which keeps neighbours together whatever the number of clusters, and
        whose distances between groups mean little; or PCA, with true distances along
        two directions. Fewer than ten samples have the latter only.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        The legend, or the colour bar, stands beside it. Hollow marks are samples whose
        cluster is uncertain, where the confidence is known.

    Notes
    -----
    Of more than 20 000 samples that many are drawn, the same share of every cluster,
    and the legend counts all. More than 2000 points are an image in SVG and PDF.

    Examples
    --------
    >>> import imvc
    >>> from imvc.datasets import make_views
    >>> data = make_views(90, (5, 4), 3, separation=8, random_state=0)
    >>> model = imvc.AnchorBridge(3, random_state=0).fit(data.Xs)
    >>> ax = imvc.plot.samples(model)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['Cluster 0 (30)', 'Cluster 1 (30)', 'Cluster 2 (30)']
    """
    model = fitted(result)
    if plane not in _PLANES:
        raise ValueError(f"plane={plane!r} must be one of {', '.join(_PLANES)}.")
    embedding = getattr(model, "embedding_", None)
    if embedding is None:
        raise ValueError(
            f"the {type(model).__name__} has no embedding_, as models that were fitted "
            "by blocks and loaded; fit it on views in memory."
        )
    labels = np.asarray(model.labels_)
    rows = drawn_samples(labels, DRAWN)
    column = _column(result, model, labels, colour, rows)
    found = {one["name"]: one for one in planes(np.asarray(embedding)[rows])}
    place = found.get(_PLANES[plane], found["Principal axes"])
    XY = np.column_stack([place["x"], place["y"]])
    known = colour if isinstance(colour, Confidence) else None
    known = result.confidence if known is None and is_run(result) else known
    low = np.zeros(len(rows), bool) if known is None else np.asarray(known.low)[rows]
    panel = axes_or_new(ax, *_size(column, XY), layout="compressed")
    draw = _numbers if column["kind"] == "number" else _levels
    draw(panel, look_of(panel), column, XY, low)
    margin = 0.03 * max(1, XY.max())
    panel.set_xlim(-margin, XY[:, 0].max() + margin)
    panel.set_ylim(XY[:, 1].max() + margin, -margin)  # downwards, as on the page
    panel.set_aspect("equal")
    panel.set(xticks=[], yticks=[])
    panel.grid(False)
    if place["name"] == "Principal axes":
        panel.set(xlabel="first principal axis", ylabel="second principal axis")
    if len(rows) < len(labels):
        panel.set_xlabel(f"{len(rows)} of {len(labels)} samples", fontsize="small")
    return panel


def _column(
    result: Any, model: Any, labels: np.ndarray, colour: Any, rows: np.ndarray
) -> dict[str, Any]:
    """What the drawn rows are coloured by, as the page has it."""
    name, known = "Value", result.confidence if is_run(result) else None
    if isinstance(colour, str):
        if colour == "cluster":
            known = getattr(model, "cluster_stability_", None)
            if known is not None and len(known) != len(np.unique(labels)):
                known = None  # views apart have clusters that were not compared
            return cluster_column(labels, doubtful_clusters(known), rows)
        if colour == "pattern" and hasattr(getattr(result, "views", None), "mask"):
            return _pattern_column(result.views, rows)
        if colour != "confidence" or known is None:
            name, colour = colour, _metadata(result, colour)
        else:
            colour = known
    if isinstance(colour, Confidence):
        _check_length(colour.score, labels)
        return number_column("Confidence", colour.score.round(3), rows, (0, 1))
    values = np.asarray(colour)
    _check_length(values, labels)
    column = metadata_column(getattr(colour, "name", None) or name, values, rows)
    if column is None:
        raise ValueError(
            f"colour {name!r} is free text or an identifier, with "
            f"{len(set(values.tolist()))} different values; colour by numbers, dates "
            "or categories."
        )
    return column


def _pattern_column(views: Any, rows: np.ndarray) -> dict[str, Any]:
    """Which views samples have, in few words, the most frequent pattern first."""
    patterns, codes = np.unique(views.mask, axis=0, return_inverse=True)
    order = np.argsort(-np.bincount(codes.ravel()), kind="stable")
    levels = []
    for own in patterns[order]:
        lacking = np.compress(~own, views.names)
        have = ", ".join(np.compress(own, views.names))
        some = f"without {', '.join(lacking)}" if len(lacking) < own.sum() else have
        levels.append(some if len(lacking) else "all views")
    return level_column("Views", levels, np.argsort(order)[codes.ravel()], rows)


def _metadata(result: Any, name: str) -> Any:
    metadata: Mapping[str, Any] = result.metadata if is_run(result) else {}
    if name in metadata:
        return metadata[name]
    if not is_run(result):
        raise ValueError(
            f"colour={name!r} is not known of a fitted {type(result).__name__}; pass "
            "an array, what imvc.confidence gives, or a ClusterRun."
        )
    pattern = ["pattern"] if hasattr(result.views, "mask") else []
    known = [] if result.confidence is None else ["confidence"]
    names = ["cluster", *known, *pattern, *metadata]
    raise ValueError(
        f"colour={name!r} is nothing that the ClusterRun has; choose one of "
        f"{', '.join(map(repr, names))}, or pass an array."
    )


def _check_length(values: np.ndarray, labels: np.ndarray) -> None:
    if values.shape != labels.shape:
        raise ValueError(
            f"colour has shape {values.shape}, but there are {len(labels)} samples; "
            "give one value per sample."
        )


def _size(column: dict[str, Any], XY: np.ndarray) -> tuple[float, float]:
    """Inches of a figure that holds the map and its legend."""
    names = [name for name, _ in _entries(column)]
    columns = _legend_columns(len(names) + 1)
    longest = max([12, *(min(len(name), _LEVEL) for name in names)])
    ratio = XY[:, 1].max() / max(1, XY[:, 0].max())
    high = max(_MAP * min(max(ratio, 0.5), 1.1), 0.19 * len(names) / columns)
    return _MAP + 0.3 + columns * (0.5 + 0.08 * longest), high + 0.3


def _legend_columns(n: int) -> int:
    return 1 + (n - 1) // _ROWS


def _entries(column: dict[str, Any]) -> list[tuple[str, int]]:
    """Names in the legend, and how many of all samples each stands for."""
    if column["kind"] == "number":
        return []
    others, unknown = column["others"], column["unknown"]
    names = column["levels"][: len(column["many"]) - bool(others)]
    names = [*names, *([f"{others} others"] if others else [])]
    found = list(zip(names, column["many"]))
    return [*found, ("not known", unknown)] if unknown else found


def _levels(
    ax: Any, look: Look, column: dict[str, Any], XY: np.ndarray, low: np.ndarray
) -> None:
    """A colour and a shape per level; what has none of its own is muted."""
    from matplotlib.lines import Line2D

    entries, codes = _entries(column), np.array(column["codes"], int)
    own = len(column["many"]) - bool(column["others"])
    last = len(column["many"]) - 1
    codes = np.where(codes < 0, len(entries) - 1, np.minimum(codes, last))
    keys = []
    for i, (name, count) in enumerate(entries):
        colour = look.clusters[i % COLOURS] if i < own else look.muted
        rest = "s" if i <= last else "o"
        marker = MARKERS[i // COLOURS % len(MARKERS)] if i < own else rest
        for chosen, fill in ((~low, colour), (low, "none")):
            mine = XY[chosen & (codes == i)]
            look_ = {"marker": marker, "fc": fill, "ec": colour, "alpha": 0.85}
            _points(ax, mine, len(XY), **look_)
        key = Line2D([], [], ls="", marker=marker, color=colour, ms=5.5)
        key.set_label(f"{cut(name, _LEVEL)} ({count})")
        keys.append(key)
    _legend(ax, look, keys, low, "beside")


def _numbers(
    ax: Any, look: Look, column: dict[str, Any], XY: np.ndarray, low: np.ndarray
) -> None:
    """Colours of the ramp, and a bar of them beside."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    values = np.array([np.nan if x is None else x for x in column["values"]])
    shades = ramp_map(look).with_extremes(bad=look.muted)
    mapping = ScalarMappable(Normalize(column["low"], column["high"], True), shades)
    colours = mapping.to_rgba(np.ma.masked_invalid(values))
    fills = np.where(low[:, None], 0.0, colours)
    _points(ax, XY, len(XY), marker="o", fc=fills, ec=colours)
    bar = ax.figure.colorbar(mapping, cax=ax.inset_axes((1.03, 0, 0.035, 1)))
    bar.set_label(column["name"], color=look.ink)
    bar.outline.set_visible(False)
    bar.ax.tick_params(color=look.ink, labelcolor=look.ink)
    if column.get("dates"):
        date_axis(bar.ax.yaxis)
    _legend(ax, look, [], low, "above")


def _points(ax: Any, XY: np.ndarray, total: int, **look: Any) -> None:
    size = float(np.clip(9_000 / total, 3, 26))
    ax.scatter(*XY.T, s=size, lw=0.8, rasterized=total > _VECTOR, **look)


def _legend(ax: Any, look: Look, keys: list[Any], low: np.ndarray, where: str) -> None:
    from matplotlib.lines import Line2D

    if low.any():
        hollow = Line2D([], [], ls="", marker="o", ms=5.5, mfc="none", mec=look.muted)
        hollow.set_label("hollow: uncertain")
        keys = [*keys, hollow]
    if keys:
        columns = _legend_columns(len(keys))
        legend(ax, look, where, handles=keys, ncols=columns, handletextpad=0.2)
