"""What may spoil a clustering, in plain sentences."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from imvc.insight._sentences import few
from imvc.views import IncompleteViews

if TYPE_CHECKING:
    from imvc.insight._inspect import ViewSummary


# Transitions between two views are learnt on the samples that have both. With twenty of
# them even two clusters of equal size have only ten each; a share of 5 % means that
# nineteen of twenty samples say nothing about the other views.
_FEW_SHARED, _SMALL_SHARE = 20, 0.05
_FAR_APART = 1000.0  # ratio of scales from which a warning is due
# The ratio where few features carry nearly all of the variance. In none of the 25 views
# of the benchmark sets so few do; of age, body mass index and platelet count, one.
_ONE_RULES = 10.0
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


def scale_warnings(summaries: tuple[ViewSummary, ...]) -> list[str]:
    """Counts, and features of one view that differ in scale."""
    found = []
    for view in summaries:
        low, high = view.sd_range
        ratio = high / low if low > 0 else 0.0
        if view.counts:
            found.append(
                f"View {view.name!r} looks like counts (whole numbers from 0 on with a "
                f"long tail): the largest decide alone. Take logarithms with --log1p "
                f"{shlex.quote(view.name)} (Preparation(log1p=...))."
            )
        elif ratio >= _FAR_APART or (view.dominant and ratio >= _ONE_RULES):
            found.append(
                f"Features of view {view.name!r} differ in scale (standard deviations "
                f"{low:.3g} to {high:.3g}): {_rulers(view.dominant)}. Unless that is "
                f"meant, bring them to one scale with --scale "
                f"{shlex.quote(view.name + '=standard')} (Preparation(scale=...))."
            )
    return found


def _rulers(dominant: tuple[str, ...]) -> str:
    if not dominant:
        return "the largest decide alone"
    verb = "carries" if len(dominant) == 1 else "carry"
    return f"{_some(dominant)} {verb} nearly all of the variance"


def repeated_warnings(
    views: IncompleteViews, digests: Sequence[np.ndarray]
) -> list[str]:
    """Views whose every column stands in another view of the same samples.

    `digests` has those of the columns that vary, view by view.
    """
    found, columns = [], [set(own.tolist()) for own in digests]
    names = views.names
    for v, own in enumerate(columns):
        for u, other in enumerate(columns):
            # Of two equal views the later one is named.
            if u == v or not own or not own <= other or (own == other and v < u):
                continue
            if not np.array_equal(views.mask[:, u], views.mask[:, v]):
                continue
            same = (
                f"View {names[v]!r} has the same numbers as view {names[u]!r}"
                if own == other
                else f"Every column of view {names[v]!r} is in view {names[u]!r} too"
            )
            found.append(f"{same}: what is there twice counts twice; leave one out.")
            break
    return found


def feature_warnings(summaries: tuple[ViewSummary, ...]) -> list[str]:
    """Features and rows that say nothing or say it twice."""
    copies, empty = [], []
    for view in summaries:
        if len(view.constant) == view.n_features:
            empty.append(
                f"View {view.name!r} is the same in all of its samples: it says "
                f"nothing; leave it out."
            )
        elif view.constant:
            empty.append(
                f"View {view.name!r} has {_count(len(view.constant), 'feature')} with "
                f"a single value ({_some(view.constant)}), which cannot tell samples "
                f"apart{_drop(view, view.constant)}."
            )
        if view.duplicates:
            extra = [name for group in view.duplicates for name in group[1:]]
            examples = [" = ".join(group[:2]) for group in view.duplicates]
            copies.append(
                f"View {view.name!r} has {_count(len(extra), 'copy', 'copies')} of "
                f"other features ({_some(examples)}): what is repeated weighs more"
                f"{_drop(view, extra)}."
            )
        if 0 < view.zero_rows < view.n_observed:
            empty.append(
                f"{_count(view.zero_rows, 'sample')} of view {view.name!r} "
                f"{'is' if view.zero_rows == 1 else 'are'} all zeros: if zero means "
                f"'not measured' there, leave the row out of the table."
            )
    return copies + empty


def _drop(view: ViewSummary, features: Sequence[str]) -> str:
    """How the first of these features is left out on the command line."""
    if features[0].startswith(f"{view.name}["):  # a number of ours, not a name
        return ""
    return f"; leave out with --drop {shlex.quote(f'{view.name}={features[0]}')}"


def length_warnings(summaries: tuple[ViewSummary, ...]) -> list[str]:
    """Views on different scales."""
    lengths = {view.name: view.row_norm for view in summaries if view.row_norm > 0}
    if len(lengths) < 2:
        return []
    small = min(lengths, key=lambda name: lengths[name])
    large = max(lengths, key=lambda name: lengths[name])
    if lengths[large] / lengths[small] < _FAR_APART:
        return []
    return [
        f"Views {small!r} and {large!r} are on different scales (median row lengths "
        f"{lengths[small]:.3g} and {lengths[large]:.3g}). Unless a method is told "
        f"otherwise it brings rows to length one, so that this does no harm; else "
        f"--scale {shlex.quote(large + '=standard')} helps."
    ]


def _count(n: int, noun: str, many: str = "") -> str:
    return f"{n} {noun if n == 1 else many or noun + 's'}"


def _some(names: Any) -> str:
    return few([str(name) for name in names], _NAMED)
