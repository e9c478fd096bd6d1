"""patterns: which views samples have, in the manner of UpSet plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imvc._plain import cut
from imvc.insight import Inspection
from imvc.insight._upset import NAME, PATTERNS, short_count
from imvc.plot._look import Look, axes_or_new, look_of, only_axis
from imvc.plot._taken import part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.2  # height of a view's row against the tallest bar
_BAR = 0.66


def patterns(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how many samples have which views (UpSet).

    Parameters
    ----------
    result : Inspection or ClusterRun
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Its first container holds the bars of the patterns (at most 20, most frequent
        first), the second the sizes of the views.

    Examples
    --------
    >>> import imvc
    >>> from imvc.datasets import make_views
    >>> data = make_views(200, (5, 4), 3, incomplete=0.5, random_state=0)
    >>> ax = imvc.plot.patterns(imvc.inspect(data.Xs, mask=data.mask))
    >>> [int(bar.get_height()) for bar in ax.containers[0]]
    [100, 55, 45]
    """
    found: Inspection = part(result, "inspection", Inspection)
    shown, rest = found.patterns[:PATTERNS], found.patterns[PATTERNS:]
    n, n_views = len(shown), len(found.views)
    panel = axes_or_new(ax, 2.9 + 0.33 * max(n, 4), 1.9 + 0.25 * n_views)
    look = look_of(panel)
    counts = [pattern.count for pattern in shown]
    most = max(counts, default=1)
    bars = panel.bar(range(n), counts, _BAR, color=look.mark)
    texts = [short_count(count) for count in counts]
    panel.bar_label(bars, texts, padding=1, fontsize="small", color=look.ink)
    rows = -_ROW * most * (np.arange(n_views) + 0.75)
    _sizes(panel, look, found, rows, n)
    for i, pattern in enumerate(shown):
        have = np.array([view.name in pattern.views for view in found.views])
        panel.scatter(np.full(n_views, i)[~have], rows[~have], s=34, color=look.rest)
        panel.plot(
            np.full(have.sum(), i), rows[have], "o-", color=look.mark, ms=6, lw=2
        )
    if rest:
        total = sum(pattern.count for pattern in rest)
        text = f"and {len(rest)} more patterns, {total} samples together"
        panel.set_xlabel(text, loc="right", fontsize="small")
    names = [cut(view.name, NAME) for view in found.views]
    panel.set_yticks(rows, names)
    panel.tick_params(length=0)
    panel.set_xticks([])
    panel.set_ylim(rows[-1] - 0.6 * _ROW * most, 1.1 * most)
    panel.text(-0.8, most, "samples", ha="right", va="top", color=look.ink)
    only_axis(panel)
    return panel


def _sizes(ax: Any, look: Look, found: Inspection, rows: np.ndarray, n: int) -> None:
    """Samples of every view, as bars that end at its dots."""
    longest = max(2.0, 0.22 * n)
    sizes = np.array([view.n_observed for view in found.views])
    width = longest * sizes / max(1, found.n_samples)
    high = abs(_ROW * found.patterns[0].count)
    bars = ax.barh(rows, -width, 0.55 * high, left=-0.8, color=look.muted, alpha=0.75)
    texts = [short_count(size) for size in sizes.tolist()]
    ax.bar_label(bars, texts, padding=2, fontsize="small", color=look.ink)
    ax.set_xlim(-0.8 - longest - 0.3 * longest, n - 0.4)
    for row in rows[::2]:
        ax.axhspan(row - high / 2, row + high / 2, color=look.ink, alpha=0.05, lw=0)
