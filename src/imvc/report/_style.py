"""One look for all figures: told apart in grey by dashes and markers."""

from contextlib import contextmanager
from typing import Any

# Okabe and Ito's colours, which differ in lightness too; dashes and markers repeat with
# other periods, so that no two of the first 35 lines look alike.
_COLORS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "*", "d", "p")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo", "--", "**")

_SETTINGS: dict[Any, Any] = {
    "figure.dpi": 100,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "imvc",
    "pdf.fonttype": 42,
}


@contextmanager
def figure_style():
    """Within it, figures have the look of this library."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def line_look(i: int) -> dict[str, Any]:
    """Colour, dashes and marker of the i-th line."""
    return {
        "color": _COLORS[i % len(_COLORS)],
        "linestyle": _DASHES[i % len(_DASHES)],
        "marker": _MARKERS[i % len(_MARKERS)],
    }


def bar_look(i: int) -> dict[str, Any]:
    """Grey and hatching of the i-th bar."""
    grey = 0.9 - 0.6 * (i % 4) / 3
    return {
        "facecolor": str(grey),
        "edgecolor": "black",
        "hatch": HATCHES[i % len(HATCHES)],
        "linewidth": 0.6,
    }


def legend_beside(ax) -> None:
    """The legend to the right of the axes, where it covers no data."""
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        ax.legend(handles, labels, loc="center left", bbox_to_anchor=(1.01, 0.5))
