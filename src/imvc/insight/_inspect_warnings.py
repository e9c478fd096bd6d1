"""What may spoil a clustering, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from imvc.views import IncompleteViews

if TYPE_CHECKING:
    from imvc.insight._inspect import ViewSummary


# Transitions between two views are learnt on the samples that have both. With twenty of
# them even two clusters of equal size have only ten each; a share of 5 % means that
# nineteen of twenty samples say nothing about the other views.
_FEW_SHARED, _SMALL_SHARE = 20, 0.05
_FAR_APART = 1000.0  # ratio of scales from which a warning is due
_NAMED = 3  # examples in a warning


def coverage_warnings(views: IncompleteViews, overlap: np.ndarray) -> list[str]:
    """Views that are rare, or joined to the others by too few samples."""
    if views.n_views == 1:
        return []
    found, n, names = [], views.n_samples, views.names
    alone = views.mask.sum(axis=1) == 1
    for v, name in enumerate(names):
        own = int(overlap[v, v])
        shared = own - int((alone & views.mask[:, v]).sum())
        needed = max(_FEW_SHARED, _SMALL_SHARE * own)
        if own < _SMALL_SHARE * n:
            found.append(
                f"View {name!r} is observed in {own} of {n} samples "
                f"({100 * own / n:.1f} %): it can say little about the clusters."
            )
        if shared < min(needed, own) or shared == 0:
            found.append(
                f"Only {shared} of the {own} samples of view {name!r} have any other "
                f"view (at least {int(np.ceil(needed))} are wanted): what "
                f"{name!r} shares with the other views is learnt on those. Check that "
                f"the ids match, or leave the view out."
            )
    return found + _group_warnings(overlap, names)


def _group_warnings(overlap: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """A warning where groups of views are joined by too few samples."""
    sizes = np.diag(overlap)
    half = np.minimum.outer(sizes, sizes) / 2
    joined = (overlap > 0) & (overlap >= np.minimum(_FEW_SHARED, half))
    count, group = connected_components(sp.csr_array(joined), directed=False)
    if count == 1:
        return []
    apart = group[:, None] != group
    most = int(overlap[apart].max())
    texts = [
        " + ".join(repr(names[v]) for v in np.flatnonzero(group == i))
        for i in range(count)
    ]
    return [
        f"The views fall into {count} groups, {'; '.join(texts)}: no two views of "
        f"different groups share more than {most} samples, so nothing tells which "
        f"clusters of one group belong to those of another."
    ]


def feature_warnings(summaries: tuple[ViewSummary, ...]) -> list[str]:
    """Features and rows that say nothing or say it twice."""
    found = []
    for view in summaries:
        if len(view.constant) == view.n_features:
            found.append(
                f"View {view.name!r} is the same in all of its samples: it says "
                f"nothing; leave it out."
            )
        elif view.constant:
            found.append(
                f"View {view.name!r} has {_count(len(view.constant), 'feature')} with "
                f"a single value ({_some(view.constant)}), which cannot tell samples "
                f"apart."
            )
        if view.duplicates:
            extra = sum(len(group) - 1 for group in view.duplicates)
            examples = [" = ".join(group[:2]) for group in view.duplicates]
            found.append(
                f"View {view.name!r} has {_count(extra, 'copy', 'copies')} of "
                f"other features ({_some(examples)}): what is repeated weighs more."
            )
        if 0 < view.zero_rows < view.n_observed:
            found.append(
                f"{_count(view.zero_rows, 'sample')} of view {view.name!r} "
                f"{'is' if view.zero_rows == 1 else 'are'} all zeros: if zero means "
                f"'not measured' there, leave the row out of the table."
            )
    return found


def scale_warnings(summaries: tuple[ViewSummary, ...]) -> list[str]:
    """Scales that differ within a view, which matters, and between views."""
    found = []
    for view in summaries:
        low, high = view.sd_range
        if low > 0 and high / low >= _FAR_APART:
            found.append(
                f"Features of view {view.name!r} differ in scale (standard deviations "
                f"{low:.3g} to {high:.3g}): the largest decide alone. Standardise the "
                f"view, or take logarithms of counts, unless that is meant."
            )
    lengths = {view.name: view.row_norm for view in summaries if view.row_norm > 0}
    if len(lengths) > 1:
        small = min(lengths, key=lambda name: lengths[name])
        large = max(lengths, key=lambda name: lengths[name])
        if lengths[large] / lengths[small] >= _FAR_APART:
            found.append(
                f"Views {small!r} and {large!r} are on different scales (median row "
                f"lengths {lengths[small]:.3g} and {lengths[large]:.3g}). By default "
                f"every method here scales rows to length one, so that this does not "
                f"matter; it does with scale=None."
            )
    return found


def _count(n: int, noun: str, many: str = "") -> str:
    return f"{n} {noun if n == 1 else many or noun + 's'}"


def _some(names: Any) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(str(name) for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
