"""profiles: the strongest features of all clusters, as a heatmap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imvc._plain import cut
from imvc.insight import Explanation
from imvc.insight._profiles import DEEPEST
from imvc.insight._sample_map import cluster_looks
from imvc.plot._look import MARKERS, Look, axes_or_new, look_of, mixed, only_axis
from imvc.plot._taken import part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBERED = 14  # clusters up to which numbers fit into the cells
_FEATURE, _VIEW = 40, 24  # characters of names


def profiles(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the means of the strongest features in every cluster.

    Parameters
    ----------
    result : ClusterRun or Explanation
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Means in standard deviations from the mean of all samples; beyond 2 in the
        deepest colour. A dash: no sample of the cluster has the view.

    Examples
    --------
    >>> import imvc
    >>> from imvc.datasets import make_views
    >>> data = make_views(90, (3, 2), 3, random_state=0)
    >>> model = imvc.AnchorBridge(3, random_state=0).fit(data.Xs)
    >>> found = imvc.explain(model, data.Xs)
    >>> ax = imvc.plot.profiles(found)
    >>> ax.collections[0].get_array().shape
    (5, 3)
    """
    found: Explanation = part(result, "explanation", Explanation)
    if not found.profiles:
        raise ValueError(
            "the Explanation has no profiles: no feature differs between its clusters, "
            "or it was made with n_features=0."
        )
    labels = [cluster.label for cluster in found.clusters]
    means = np.array([profile.means for profile in found.profiles])
    n, k = means.shape
    wide = 0.42 if k <= _NUMBERED else 0.25
    panel = axes_or_new(ax, 2.6 + wide * max(k, 4), 0.9 + 0.2 * n)
    look = look_of(panel)
    _cells(panel, look, means)
    features = [cut(profile.feature, _FEATURE) for profile in found.profiles]
    panel.set_yticks(np.arange(n) + 0.5, features)
    _heads(panel, look, labels)
    if len({profile.view for profile in found.profiles}) > 1:
        for i, profile in enumerate(found.profiles):
            panel.annotate(
                cut(profile.view, _VIEW),
                (1, i + 0.5),
                xytext=(4, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
                color=look.muted,
            )
    panel.set_xlim(0, k)
    panel.set_ylim(n, 0)
    panel.set_xlabel(
        "means of clusters, in standard\ndeviations from that of all samples"
    )
    only_axis(panel)
    return panel


def _cells(ax: Any, look: Look, means: np.ndarray) -> None:
    """Shades of the means, and the numbers where they are readable."""
    from matplotlib.colors import LinearSegmentedColormap

    ground = mixed(look.ground, look.ground, 1)
    ends = [mixed(look.ground, end, look.deep) for end in (look.cold, look.hot)]
    shades = LinearSegmentedColormap.from_list("imvc", [ends[0], ground, ends[1]])
    mesh = ax.pcolormesh(
        np.ma.masked_invalid(means),
        cmap=shades,
        vmin=-DEEPEST,
        vmax=DEEPEST,
        edgecolors=[ground],
        linewidth=1.5,
    )
    if means.shape[1] > _NUMBERED:
        bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.4, aspect=15, extend="both")
        bar.outline.set_visible(False)
        bar.ax.tick_params(color=look.ink, labelcolor=look.ink)
        return
    for (i, j), z in np.ndenumerate(means):
        text = f"{round(z, 1) + 0.0:.1f}".replace("-", "\u2212")  # no minus zero
        how = {"ha": "center", "va": "center", "fontsize": "x-small"}
        text = text if np.isfinite(z) else "–"
        ax.text(j + 0.5, i + 0.5, text, color=look.ink, **how)


def _heads(ax: Any, look: Look, labels: list[int]) -> None:
    """Number, colour and shape of every cluster above its column."""
    from matplotlib.transforms import ScaledTranslation

    ax.set_xticks(np.arange(len(labels)) + 0.5, [str(label) for label in labels])
    ax.xaxis.tick_top()
    ax.tick_params(length=0, labelsize="small")
    ax.tick_params(axis="x", pad=12)
    scale = ax.figure.dpi_scale_trans
    above = ax.get_xaxis_transform() + ScaledTranslation(0, 7 / 72, scale)
    for j, (colour, shape) in enumerate(cluster_looks(np.array(labels)).values()):
        sign = {"marker": MARKERS[shape], "color": look.clusters[colour], "ms": 5.5}
        ax.plot(j + 0.5, 1, ls="", transform=above, clip_on=False, **sign)
