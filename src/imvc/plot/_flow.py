"""flow: two clusterings of the same samples, as ribbons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from imvc._plain import cut
from imvc.metrics import adjusted_rand
from imvc.metrics._labels import encode_labels
from imvc.plot._look import Look, axes_or_new, look_of, only_axis
from imvc.plot._taken import labels_and_ids

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.15  # of all samples: what lies between the clusters of a side, together
_BLOCK = 0.035  # width of a cluster
_LABEL = 24  # characters of a label


def flow(
    labels_a: Any,
    labels_b: Any,
    names: Sequence[str] = ("first", "second"),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw which samples of one clustering are together in another.

    Parameters
    ----------
    labels_a, labels_b : array-like of shape (n_samples,), ClusterRun or estimator
        Two clusterings of the same samples, or a clustering and known classes. Series,
        runs and estimators with sample ids are matched by these, whatever their order.
    names : two str, default=("first", "second")
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Its patches are the clusters of both sides and then the ribbons; heights are
        numbers of samples. Ribbons have the colours of the first clustering; clusters
        of the second stand where the fewest ribbons cross.

    Examples
    --------
    >>> import imvc
    >>> ax = imvc.plot.flow([0, 0, 1, 1, 1], ["x", "x", "x", "y", "y"])
    >>> ax.get_xlabel()
    'adjusted Rand index 0.17'
    """
    if isinstance(names, str) or len(names) != 2:
        raise ValueError(f"names={names!r} must be two names, one per clustering.")
    a, b = _matched(labels_and_ids(labels_a, "labels_a"), labels_b)
    (left_names, left), (right_names, right) = _codes(a, "a"), _codes(b, "b")
    table = np.zeros((len(left_names), len(right_names)), dtype=int)
    np.add.at(table, (left, right), 1)
    order = np.argsort(np.arange(len(table)) @ table / table.sum(axis=0), kind="stable")
    table, right_names = table[:, order], [right_names[i] for i in order]
    panel = axes_or_new(ax, 4.4, 3.6)
    look = look_of(panel)
    colours = [look.clusters[i % len(look.clusters)] for i in range(len(table))]
    _clusters(panel, look, table.sum(axis=1), left_names, colours, right=False)
    muted = [look.muted] * len(right_names)
    _clusters(panel, look, table.sum(axis=0), right_names, muted, right=True)
    _ribbons(panel, table, colours)
    panel.set_xlim(-_BLOCK, 1 + _BLOCK)
    panel.set_ylim((1 + _GAP) * len(a), 0)
    panel.set_xticks([0, 1], [cut(name, _LABEL) for name in names])
    panel.xaxis.tick_top()
    panel.tick_params(length=0)
    index = round(adjusted_rand(left, right), 2) + 0.0  # no minus zero
    panel.set(yticks=[], xlabel=f"adjusted Rand index {index:.2f}")
    only_axis(panel)
    return panel


def _clusters(
    ax: Any, look: Look, sizes: np.ndarray, names: list[str], colours: Any, right: bool
) -> None:
    """Blocks of one side, with names and sizes beside them."""
    from matplotlib.patches import Rectangle

    x, at = (1.0, 1 + _BLOCK) if right else (-_BLOCK, -_BLOCK)
    for y, size, name, colour in zip(_tops(sizes), sizes.tolist(), names, colours):
        ax.add_patch(Rectangle((x, y), _BLOCK, size, color=colour, linewidth=0))
        ax.annotate(
            f"{cut(name, _LABEL)} ({size})",
            (at, y + size / 2),
            xytext=(4 if right else -4, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize="small",
            color=look.ink,
            annotation_clip=False,
        )


def _ribbons(ax: Any, table: np.ndarray, colours: list[str]) -> None:
    """A ribbon for every two clusters with samples in common."""
    from matplotlib.patches import PathPatch

    left, right = _tops(table.sum(axis=1)), _tops(table.sum(axis=0))
    for i, j in np.argwhere(table):
        path = _ribbon(left[i], right[j], table[i, j])
        ax.add_patch(PathPatch(path, facecolor=colours[i], alpha=0.5, linewidth=0))
        left[i] += table[i, j]
        right[j] += table[i, j]


def _matched(
    first: tuple[np.ndarray, np.ndarray | None], other: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of both sides in the order of the first, by id where both have them."""
    (a, ids_a), (b, ids_b) = first, labels_and_ids(other, "labels_b")
    if len(a) != len(b):
        raise ValueError(
            f"labels_a has {len(a)} samples and labels_b {len(b)}; compare clusterings "
            "of the same samples."
        )
    if ids_a is None or ids_b is None or np.array_equal(ids_a, ids_b):
        return a, b
    place = {key: i for i, key in enumerate(ids_b.tolist())}
    absent = [key for key in ids_a.tolist() if key not in place]
    if absent or len(place) < len(b):
        told = f"{absent[0]!r} is not in labels_b" if absent else "some ids come twice"
        raise ValueError(
            f"samples cannot be matched by their ids: {told}; give both the same ids, "
            "or pass plain arrays in the same order."
        )
    return a, b[[place[key] for key in ids_a.tolist()]]


def _codes(labels: np.ndarray, side: str) -> tuple[list[str], np.ndarray]:
    """Different labels in their order, and which of them each sample has."""
    encode_labels(labels, f"labels_{side}")  # or what is wrong with them
    values = labels.astype(str) if labels.dtype == object else labels
    names, codes = np.unique(values, return_inverse=True)
    return [str(name) for name in names.tolist()], codes.ravel()


def _tops(sizes: np.ndarray) -> np.ndarray:
    """Where clusters begin, from above, with gaps that are the same in all."""
    gap = _GAP * sizes.sum() / max(1, len(sizes) - 1)
    return np.concatenate([[0.0], np.cumsum(sizes + gap)[:-1]])


def _ribbon(y: float, z: float, count: int) -> Any:
    """From `y` on the left to `z` on the right, `count` high at both ends."""
    from matplotlib.path import Path

    there = [(0, y), (0.5, y), (0.5, z), (1, z)]
    back = [(1, z + count), (0.5, z + count), (0.5, y + count), (0, y + count)]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
    return Path([*there, *back, (0, y)], [*codes, Path.CLOSEPOLY])
