"""Planted Gaussian clusters in several views."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from imvc.datasets._dataset import MultiViewDataset, default_view_names
from imvc.datasets._draw import RandomStateLike, as_random_state, check_count
from imvc.datasets._masks import random_mask

# Rows shifted to their cluster's centre at a time: the one temporary of size block x d.
BLOCK = 16384


def make_views(
    n_samples: int = 300,
    n_features: Sequence[int] = (20, 30, 15),
    n_clusters: int = 3,
    *,
    separation: float = 6.0,
    incomplete: float = 0.0,
    weights: ArrayLike | None = None,
    noise: float = 1.0,
    dtype: DTypeLike = np.float64,
    shuffle: bool = True,
    random_state: RandomStateLike = None,
) -> MultiViewDataset:
    """Draw samples from planted Gaussian clusters, seen in several views.

    Every view has its own centres; the noise is independent over views given the
    cluster. The arrays are drawn in `dtype` and shifted in place, so the memory needed
    is that of the result.

    Parameters
    ----------
    n_samples : int, default=300
        Number of samples, at least `n_clusters`.
    n_features : sequence of int, default=(20, 30, 15)
        Number of features of each view.
    n_clusters : int, default=3
        Number of clusters.
    separation : float, default=6.0
        Distance between neighbouring centres in every view. Views with at least
        `n_clusters` features have all centres equally far apart (a regular simplex at a
        random orientation); narrower ones have them on a cubic lattice. Along the line
        between two centres, a sample is on the wrong side with probability
        Phi(-separation / (2 noise)): 0.13 % by default, for each view alone. In wide
        views distances are dominated by noise, of size noise * sqrt(2 n_features).
    incomplete : float, default=0.0
        Share of incomplete samples, drawn as by `random_mask`.
    weights : array-like of shape (n_clusters,), default=None
        Relative sizes of the clusters, positive; None makes them equal. Sizes are exact
        up to rounding and at least 1.
    noise : float, default=1.0
        Standard deviation of every feature within a cluster.
    dtype : dtype, default=float64
        float32 or float64.
    shuffle : bool, default=True
        Whether to shuffle the samples; otherwise they are sorted by cluster.
    random_state : int, RandomState, Generator or None, default=None
        Seed of everything drawn.

    Returns
    -------
    MultiViewDataset
        `Xs` holds the complete views and `mask` what is observed.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> data = make_views(1000, (32, 8), n_clusters=5, incomplete=0.3, random_state=0)
    >>> data.n_features, data.n_clusters, int((~data.mask.all(axis=1)).sum())
    ((32, 8), 5, 300)
    """
    n, c = check_count(n_samples, "n_samples"), check_count(n_clusters, "n_clusters")
    if n < c:
        raise ValueError(
            f"n_samples={n} must be at least n_clusters={c}: no cluster is empty."
        )
    dims = _check_dims(n_features)
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} must be float32 or float64.")
    _check_not_negative(separation, "separation")
    _check_not_negative(noise, "noise")
    rng = as_random_state(random_state)
    y = np.repeat(np.arange(c), _cluster_sizes(n, c, weights))
    if shuffle:
        rng.shuffle(y)
    mask = random_mask(n, len(dims), incomplete, rng)
    # RandomState cannot draw float32; a Generator draws it without a float64 detour.
    fast = np.random.default_rng(rng.randint(2**32, size=4, dtype=np.uint32))
    Xs = [
        _draw_view(y, _centres(c, d, rng) * separation, noise, kind, fast) for d in dims
    ]
    text = f"{c} Gaussian clusters, separation {separation:g}, noise {noise:g}"
    return MultiViewDataset(Xs, y, mask, default_view_names(len(dims)), "planted", text)


def _draw_view(
    y: NDArray[np.int64],
    centres: NDArray[np.float64],
    noise: float,
    dtype: np.dtype[Any],
    rng: np.random.Generator,
) -> NDArray[Any]:
    X = np.empty((len(y), centres.shape[1]), dtype=dtype)
    centres = centres.astype(dtype)
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        rng.standard_normal(dtype=dtype.type, out=X[rows])
        X[rows] *= dtype.type(noise)
        X[rows] += centres[y[rows]]
    return X


def _centres(c: int, d: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Centres (c, d) with smallest distance 1, at a random orientation."""
    points = np.eye(c) / np.sqrt(2) if d >= c else _lattice(c, d)
    points = points[rng.permutation(c)]
    directions = np.linalg.qr(rng.standard_normal((d, points.shape[1])))[0]
    return (points - points.mean(axis=0)) @ directions.T


def _lattice(c: int, d: int) -> NDArray[np.float64]:
    """Fill the smallest cubic lattice of d axes that holds c points, row by row."""
    side = 2
    while side**d < c:
        side += 1
    codes, digits = np.arange(c), list[NDArray[np.int64]]()
    while codes.any() or not digits:
        codes, digit = np.divmod(codes, side)
        digits.append(digit)
    return np.column_stack(digits).astype(np.float64)


def _cluster_sizes(n: int, c: int, weights: ArrayLike | None) -> NDArray[np.int64]:
    """Split n into c sizes of at least 1, proportional to the weights."""
    w = np.ones(c) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (c,) or not np.isfinite(w).all() or (w <= 0).any():
        raise ValueError(
            f"weights={weights!r} must be {c} positive numbers, one per cluster."
        )
    # One sample each, the others by the largest remainders.
    exact = w / w.sum() * n
    sizes = np.maximum(np.floor(exact).astype(np.int64), 1)
    while sizes.sum() != n:
        step = 1 if sizes.sum() < n else -1
        gain = step * (exact - sizes)
        gain[(sizes == 1) & (step < 0)] = -np.inf
        sizes[np.argmax(gain)] += step
    return sizes


def _check_dims(n_features: Sequence[int]) -> list[int]:
    if np.ndim(n_features) != 1 or len(n_features) == 0:
        raise ValueError(
            f"n_features={n_features!r} must be a sequence with one number per view, "
            "for instance (20, 30)."
        )
    return [check_count(d, f"n_features[{v}]") for v, d in enumerate(n_features)]


def _check_not_negative(value: Any, name: str) -> None:
    is_number = isinstance(value, Real)
    if not is_number or not 0 <= value < float("inf"):
        raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")
