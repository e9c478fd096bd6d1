"""Masks that depend on the classes or on the data: views not missing at random."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.decomposition import PCA

from imvc.datasets._draw import (
    RandomStateLike,
    as_random_state,
    check_count,
    check_share,
    draw_patterns,
    n_incomplete,
)
from imvc.datasets._masks import mask_of

Mechanism = Literal["mnar", "mar"]


def class_dependent_mask(
    y: ArrayLike,
    n_views: int,
    ratio: float,
    random_state: RandomStateLike = None,
    *,
    strength: float = 0.8,
) -> NDArray[np.bool_]:
    """Let each view be missing mostly for one class, a different class per view.

    Missing not at random (MNAR): absence depends on the class, which no method sees.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Known classes.
    n_views : int
        Number of views; at least two unless nothing is missing.
    ratio : float
        Share of samples that are incomplete, from 0 to 1; exactly
        ``floor(ratio * n_samples)`` of them are.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw. One seed gives nested masks over the ratios.
    strength : float, default=0.8
        From 0 (independent of the class: the law of `random_mask`) to 1 (a view is
        absent in its class only, as far as `ratio` allows).

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at least one True.

    Notes
    -----
    Every view v is given a class t_v at random, all different while there are classes
    enough. View v of a sample is absent with probability (1 + strength) / 2 if the
    sample is of class t_v and (1 - strength) / 2 otherwise, independently over views,
    given that one view at least is kept and one lost. Which samples are incomplete is
    drawn without replacement with the probability of such an outcome as weight, so the
    classes t_v come first and fill up before the others.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.datasets import class_dependent_mask
    >>> y = np.repeat([0, 1, 2], 100)
    >>> mask = class_dependent_mask(y, 3, 0.5, random_state=0, strength=1.0)
    >>> [np.unique(y[~mask[:, v]]).tolist() for v in range(3)]
    [[2], [1], [0]]
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"y must be one-dimensional and not empty, got shape {labels.shape}; "
            "pass one label per sample."
        )
    n_views = check_count(n_views, "n_views")
    strength = check_share(strength, "strength")
    count = n_incomplete(len(labels), n_views, ratio)
    rng = as_random_state(random_state)
    if count == 0:
        return np.ones((len(labels), n_views), dtype=bool)
    classes, codes = np.unique(labels, return_inverse=True)
    target = np.resize(rng.permutation(len(classes)), n_views)
    absence = _absence(codes[:, None] == target, strength)
    queue, patterns = draw_patterns(absence, rng)
    return mask_of(queue[:count], patterns)


def value_dependent_mask(
    Xs: Sequence[Any],
    ratio: float,
    random_state: RandomStateLike = None,
    *,
    strength: float = 0.8,
    mechanism: Mechanism = "mnar",
    driver: int = 0,
) -> NDArray[np.bool_]:
    """Let the absence of a view depend on the values of the samples.

    Parameters
    ----------
    Xs : sequence of array-like or sparse matrix, each (n_samples, n_features_v)
        The complete views.
    ratio : float
        Share of samples that are incomplete, from 0 to 1; exactly
        ``floor(ratio * n_samples)`` of them are.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw. One seed gives nested masks over the ratios.
    strength : float, default=0.8
        From 0 (independent of the values) to 1 (absent on one side of the median only,
        as far as `ratio` allows).
    mechanism : {"mnar", "mar"}, default="mnar"
        ``"mnar"``, missing not at random: the absence of a view depends on that view's
        own values, which are then unseen, as when high readings saturate a detector.
        ``"mar"``, missing at random: the view `driver` is always observed, and the
        absence of every other view depends on the values of the driver only, as when a
        cheap test decides who gets the costly one.
    driver : int, default=0
        The view that is always observed under ``"mar"``; not used under ``"mnar"``.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at least one True.

    Notes
    -----
    The score of a sample in a view is its coordinate on the view's first principal
    component (centred, not scaled; the largest loading is positive). A view is *likely*
    absent, with probability (1 + strength) / 2, on one side of the median score, and
    unlikely, (1 - strength) / 2, on the other. Under ``"mnar"`` the score is the view's
    own and the likely side is above the median. Under ``"mar"`` the score is the
    driver's, and the likely side is above the median for the first, third, ... of the
    other views and not above it for the second, fourth, ..., so that they are not all
    absent together. The draw given these probabilities is that of
    `class_dependent_mask`.

    Examples
    --------
    >>> from imvc.datasets import make_views, value_dependent_mask
    >>> data = make_views(random_state=0)
    >>> mask = value_dependent_mask(data.Xs, 0.5, random_state=0, mechanism="mar")
    >>> bool(mask[:, 0].all()), int((~mask.all(axis=1)).sum())
    (True, 150)
    """
    if mechanism not in get_args(Mechanism):
        raise ValueError(f"mechanism={mechanism!r} is unknown; use 'mnar' or 'mar'.")
    strength = check_share(strength, "strength")
    n, n_views = _check_complete(Xs)
    if mechanism == "mar" and not 0 <= check_count(driver, "driver", 0) < n_views:
        raise ValueError(
            f"driver={driver} is no view: Xs has views 0 to {n_views - 1}."
        )
    count = n_incomplete(n, n_views, ratio)
    rng = as_random_state(random_state)
    if count == 0:
        return np.ones((n, n_views), dtype=bool)
    if mechanism == "mnar":
        absence = _absence(np.column_stack([_is_high(X) for X in Xs]), strength)
    else:
        absence = _driven_absence(_is_high(Xs[driver]), n_views, driver, strength)
    queue, patterns = draw_patterns(absence, rng)
    return mask_of(queue[:count], patterns)


def _absence(likely: NDArray[np.bool_], strength: float) -> NDArray[np.float64]:
    """Probabilities of absence; never quite 0 or 1, so that every ratio can be met."""
    p = np.where(likely, (1 + strength) / 2, (1 - strength) / 2)
    return np.clip(p, 1e-6, 1 - 1e-6)


def _driven_absence(
    high: NDArray[np.bool_], n_views: int, driver: int, strength: float
) -> NDArray[np.float64]:
    others = [v for v in range(n_views) if v != driver]
    absence = np.zeros((len(high), n_views))
    for position, v in enumerate(others):
        absence[:, v] = _absence(high if position % 2 == 0 else ~high, strength)
    return absence


def _check_complete(Xs: Sequence[Any]) -> tuple[int, int]:
    """Return (n_samples, n_views) of complete views of equal length."""
    if len(Xs) == 0:
        raise ValueError("Xs is empty; pass one array per view.")
    lengths = [np.shape(X)[0] if len(np.shape(X)) == 2 else -1 for X in Xs]
    if min(lengths) < 1 or len(set(lengths)) > 1:
        shapes = ", ".join(str(np.shape(X)) for X in Xs)
        raise ValueError(
            f"Xs has views of shapes {shapes}; pass two-dimensional views with the "
            "same samples in rows."
        )
    for v, X in enumerate(Xs):
        values = X.data if sparse.issparse(X) else np.asarray(X)
        if not np.isfinite(values).all():
            raise ValueError(
                f"view {v} of Xs has NaN or infinite values; the mask is computed from "
                "complete views."
            )
    return lengths[0], len(Xs)


def _is_high(X: Any) -> NDArray[np.bool_]:
    """Whether the first principal score of a sample is above the median."""
    if not sparse.issparse(X):
        X = np.asarray(X)
    X = X.astype(np.promote_types(X.dtype, np.float32), copy=False)
    if min(X.shape) == 1:
        score = (X.toarray() if sparse.issparse(X) else X)[:, 0]
    else:
        solver = "arpack" if sparse.issparse(X) else "auto"
        axis = PCA(1, svd_solver=solver, random_state=0)
        score = np.asarray(axis.fit_transform(X))[:, 0]
    return score > np.median(score)
