"""Anchors: a few points that cover the samples of one view."""

import numpy as np
import scipy.sparse as sp

from imvc.kernels._kmeans import ArrayRows, dense_rows, kmeans_plusplus, lloyd
from imvc.kernels._sample import random_rows

__all__ = ["das_anchors", "das_rows", "distinct_rows", "kmeans_anchors"]

_LLOYD_STEPS = 10  # anchors must cover the data, not minimise the inertia
_SEED_ROWS = 5  # rows per anchor that k-means++ draws from: its cost is rows x m x p


def kmeans_anchors(X, m, rng, *, max_iter=_LLOYD_STEPS):
    """At most ``m`` distinct k-means centres of the rows of ``X``.

    One k-means++ start on a few of the rows, then ``max_iter`` Lloyd steps on all.
    O(max_iter n m p).
    """
    size = max(_SEED_ROWS * m, 300)
    few = X if X.shape[0] <= size else X[random_rows(X.shape[0], size, rng)]
    first = dense_rows(few, kmeans_plusplus(few, m, rng))
    centers, _ = lloyd(ArrayRows(X), distinct_rows(first), max_iter=max_iter)
    return distinct_rows(centers.astype(X.dtype))


def das_rows(scores, m):
    """Directly alternate sampling: the ``m`` rows it picks by their scores, ascending.

    Repeats: take the largest score, replace every s by s (1 - s), rescale to
    maximum one. Where all scores vanish, the rest is filled with the first unused
    rows. O(n m).
    """
    scores = np.array(scores, dtype=np.float64)
    picked: list[int] = []
    for _ in range(m):
        largest = scores.max()
        if largest == 0 or not np.isfinite(largest):
            unused = np.setdiff1d(np.arange(len(scores)), picked)
            picked.extend(unused[: m - len(picked)])
            break
        scores /= largest
        picked.append(int(scores.argmax()))
        with np.errstate(over="ignore"):  # negative scores run off to -inf, unpicked
            scores *= 1 - scores
    return np.unique(picked)


def das_anchors(X, m, *, cosine=False):
    """Rows of ``X`` chosen by directly alternate sampling; O(n p + n m).

    The score of a row is the sum of its features after shifting every feature to
    minimum zero; with ``cosine``, its summed inner products with all rows, X (X'1).
    """
    if cosine:
        scores = X @ np.asarray(X.sum(axis=0)).ravel()
    else:
        lowest = X.min(axis=0)
        lowest = lowest.toarray() if sp.issparse(lowest) else lowest
        scores = np.asarray(X.sum(axis=1)).ravel() - lowest.sum()
    return distinct_rows(dense_rows(X, das_rows(scores, m)))


def distinct_rows(A):
    """Rows of ``A`` without repeats, in their order."""
    _, first = np.unique(A, axis=0, return_index=True)
    return A if len(first) == len(A) else A[np.sort(first)]
