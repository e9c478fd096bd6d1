"""Masks that know nothing of the data: views missing completely at random."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from imvc.datasets._draw import (
    RandomStateLike,
    as_random_state,
    check_count,
    draw_patterns,
    n_incomplete,
)


def random_mask(
    n_samples: int,
    n_views: int,
    ratio: float,
    random_state: RandomStateLike = None,
) -> NDArray[np.bool_]:
    """Make a share of the samples incomplete, each with a random set of views.

    The protocol of the RISE paper and its predecessors: ``floor(ratio * n_samples)``
    samples, chosen at random, get a pattern drawn uniformly from the ``2**n_views - 2``
    that keep at least one view and lose at least one; all others are complete. About
    ``ratio / 2`` of all (sample, view) cells are missing.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratio : float
        Share of samples that are incomplete, from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw. One seed gives nested masks: the samples incomplete at a
        smaller ratio are incomplete, with the same pattern, at a larger one.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at least one True.

    See Also
    --------
    nested_masks : The masks of several ratios at once.

    Examples
    --------
    >>> from imvc.datasets import random_mask
    >>> mask = random_mask(10, 3, 0.4, random_state=0)
    >>> int((~mask.all(axis=1)).sum()), bool(mask.any(axis=1).all())
    (4, True)
    """
    return nested_masks(n_samples, n_views, [ratio], random_state)[ratio]


def nested_masks(
    n_samples: int,
    n_views: int,
    ratios: Iterable[float],
    random_state: RandomStateLike = None,
) -> dict[float, NDArray[np.bool_]]:
    """Masks of several ratios from one draw, as `random_mask` makes them.

    One permutation of the samples and one pattern per sample serve all ratios, so the
    samples incomplete at one ratio are incomplete at every larger one, with the same
    pattern.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratios : iterable of float
        Shares of samples that are incomplete, each from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    dict of float to ndarray of bool, shape (n_samples, n_views)
        The mask of each ratio, in the order given.

    Examples
    --------
    >>> from imvc.datasets import nested_masks
    >>> masks = nested_masks(100, 3, [0.1, 0.5], random_state=0)
    >>> [int((~mask.all(axis=1)).sum()) for mask in masks.values()]
    [10, 50]
    >>> bool((masks[0.5] <= masks[0.1]).all())
    True
    """
    n = check_count(n_samples, "n_samples")
    n_views = check_count(n_views, "n_views")
    ratios = list(ratios)
    counts = [n_incomplete(n, n_views, ratio) for ratio in ratios]
    rng = as_random_state(random_state)
    if n_views == 1:
        return {ratio: np.ones((n, 1), dtype=bool) for ratio in ratios}
    queue, patterns = draw_patterns(np.full((n, n_views), 0.5), rng)
    return {
        ratio: mask_of(queue[:count], patterns) for ratio, count in zip(ratios, counts)
    }


def paired_mask(
    n_samples: int,
    n_views: int,
    ratio: float,
    random_state: RandomStateLike = None,
) -> NDArray[np.bool_]:
    """Leave some samples complete and show every other one in exactly one view.

    The partial-view setting: ``floor(ratio * n_samples)`` samples, chosen at random,
    are dealt out to the views, equally many to each (up to one).

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratio : float
        Share of samples that are incomplete, from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed.

    Examples
    --------
    >>> from imvc.datasets import paired_mask
    >>> paired_mask(6, 3, 0.5, random_state=0).sum(axis=1).tolist().count(1)
    3
    """
    n = check_count(n_samples, "n_samples")
    n_views = check_count(n_views, "n_views")
    count = n_incomplete(n, n_views, ratio)
    rng = as_random_state(random_state)
    lone = rng.permutation(n)[:count]
    order = rng.permutation(n_views)
    mask = np.ones((n, n_views), dtype=bool)
    mask[lone] = False
    mask[lone, order[np.arange(count) % n_views]] = True
    return mask


def per_view_mask(
    n_samples: int,
    n_views: int,
    ratio: float,
    random_state: RandomStateLike = None,
) -> NDArray[np.bool_]:
    """Take the same share of samples out of every view, independently of the others.

    Every view loses ``floor(ratio * n_samples)`` samples chosen at random. A sample
    that would lose all its views keeps one of them, chosen at random, so at high ratios
    less than ``ratio`` of the (sample, view) cells is missing.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratio : float
        Share of samples that each view loses, from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw. One seed gives nested losses over the ratios, but for the
        views that are given back.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at least one True.

    Examples
    --------
    >>> from imvc.datasets import per_view_mask
    >>> mask = per_view_mask(1000, 3, 0.5, random_state=0)
    >>> (~mask).mean(axis=0).round(2).tolist()  # some samples got a view back
    [0.45, 0.46, 0.46]
    >>> float(mask.all(axis=1).mean().round(2))
    0.13
    """
    n = check_count(n_samples, "n_samples")
    n_views = check_count(n_views, "n_views")
    count = n_incomplete(n, n_views, ratio)
    rng = as_random_state(random_state)
    mask = np.ones((n, n_views), dtype=bool)
    for v in range(n_views):
        mask[rng.permutation(n)[:count], v] = False
    kept = rng.randint(n_views, size=n)
    lost = np.flatnonzero(~mask.any(axis=1))
    mask[lost, kept[lost]] = True
    return mask


def one_missing_mask(
    n_samples: int,
    n_views: int,
    ratio: float,
    random_state: RandomStateLike = None,
) -> NDArray[np.bool_]:
    """Let a share of the samples lack exactly one view, any of them.

    ``floor(ratio * n_samples)`` samples, chosen at random, lose one view each, drawn
    uniformly; all others are complete. ``ratio / n_views`` of the cells are missing.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratio : float
        Share of samples that are incomplete, from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw. One seed gives nested masks over the ratios.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at most one False.

    Examples
    --------
    >>> from imvc.datasets import one_missing_mask
    >>> mask = one_missing_mask(10, 3, 0.4, random_state=0)
    >>> sorted((~mask).sum(axis=1).tolist())
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    """
    n = check_count(n_samples, "n_samples")
    n_views = check_count(n_views, "n_views")
    count = n_incomplete(n, n_views, ratio)
    rng = as_random_state(random_state)
    queue, lost = rng.permutation(n), rng.randint(n_views, size=n)
    mask = np.ones((n, n_views), dtype=bool)
    mask[queue[:count], lost[queue[:count]]] = False
    return mask


def block_mask(
    n_samples: int,
    n_views: int,
    ratio: float,
    random_state: RandomStateLike = None,
) -> NDArray[np.bool_]:
    """Take one contiguous run of samples out of every view.

    As when each instrument was out of order for a while. The runs do not overlap and
    have equal lengths (up to one), so an incomplete sample lacks exactly one view;
    together they cover ``floor(ratio * n_samples)`` samples. Their order and the gaps
    between them are random. If rows are sorted by class, the gaps depend on the class.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratio : float
        Share of samples that are incomplete, from 0 to 1.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at least one True.

    Examples
    --------
    >>> from imvc.datasets import block_mask
    >>> block_mask(6, 2, 1.0, random_state=0).astype(int).T.tolist()
    [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]
    """
    n = check_count(n_samples, "n_samples")
    n_views = check_count(n_views, "n_views")
    count = n_incomplete(n, n_views, ratio)
    rng = as_random_state(random_state)
    length = (count + np.arange(n_views)) // n_views
    order = rng.permutation(n_views)
    # Cut points of the complete samples: where the runs are slipped in between them.
    before = np.sort(rng.randint(0, n - count + 1, size=n_views))
    start = before + np.cumsum(length) - length
    mask = np.ones((n, n_views), dtype=bool)
    for v, first, size in zip(order, start, length):
        mask[first : first + size, v] = False
    return mask


def mask_of(
    incomplete: NDArray[np.int64], patterns: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Give the samples listed their pattern and all others every view."""
    mask = np.ones(patterns.shape, dtype=bool)
    mask[incomplete] = patterns[incomplete]
    return mask
