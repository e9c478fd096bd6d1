"""The strongest features of all clusters, and their means in every cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from imvc.insight._view_columns import GroupMoments

DEEPEST = 2.0  # standard deviations drawn in the deepest colour
_ROWS = 30


@dataclass(frozen=True)
class FeatureProfile:
    """One feature over all clusters.

    Parameters
    ----------
    view, feature : str
    means : tuple of float
        For every cluster, in the order of `Explanation.clusters`: its mean less that of
        all samples, in standard deviations of all samples; NaN where no sample of the
        cluster is observed in the view.
    """

    view: str
    feature: str
    means: tuple[float, ...]


def standard_means(moments: GroupMoments, j: int) -> np.ndarray:
    """Means of feature `j` in all groups, in deviations from that of all samples."""
    counts, means = moments.counts, moments.means[:, j]
    n = counts.sum()
    overall = counts @ means / n
    squares = moments.squares[:, j].sum() + counts @ np.square(means - overall)
    deviation = np.sqrt(squares / (n - 1))
    return np.where(counts > 0, means - overall, np.nan) / deviation


def strongest_profiles(
    ranked: Sequence[Sequence[FeatureProfile]],
) -> tuple[FeatureProfile, ...]:
    """At most 30 features: in turn the strongest of every cluster that is not there.

    `ranked` has a list per cluster, its strongest feature first. Those that set the
    same cluster apart stand together, the highest first.
    """
    different: dict[tuple[str, str], FeatureProfile] = {}
    for turn in zip_longest(*ranked):
        for one in turn:
            if one is not None:
                different.setdefault((one.view, one.feature), one)
    return tuple(sorted(list(different.values())[:_ROWS], key=_place))


def _place(profile: FeatureProfile) -> tuple[int, float]:
    means = np.nan_to_num(profile.means)
    cluster = int(np.abs(means).argmax())
    return cluster, -float(means[cluster])
