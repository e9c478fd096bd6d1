"""How well one view alone tells the clusters of all."""

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._distances import nearest_anchors
from imvc.kernels._pca import centred_features, principal_axes
from imvc.views import IncompleteViews

_SAMPLES = 5000
_NEIGHBORS = 10
_COMPONENTS = 50


def view_agreement(views: IncompleteViews, v: int, labels: np.ndarray) -> float:
    """Adjusted mutual information of `labels` and those of a view's neighbours.

    Every observed sample (5000 of them where there are more) is given the most
    frequent label of its ten nearest others in view `v`. Vote and truth never share a
    sample, so a view of noise has 0 whatever its width. Against a cross-validated ridge
    classifier and nearest centroids this was the best reader of views whose clusters
    are not round (digits: 0.84 against 0.80 and 0.74, mean of five views). From 0 to 1;
    0 where the view has seen one cluster only.
    """
    rng = np.random.default_rng(0)
    rows = views.rows(v)
    if len(rows) > _SAMPLES:
        rows = np.sort(rng.choice(rows, _SAMPLES, replace=False))
    own = labels[rows]
    if len(rows) < 2 or (own == own[0]).all():
        return 0.0
    votes = _votes(_features(views, v, rows, rng), own)
    return max(0.0, float(adjusted_mutual_info_score(own, votes)))


def _features(
    views: IncompleteViews, v: int, rows: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rows as the methods see them: of length one, centred, in few coordinates."""
    X = unit_rows(views.take(v, rows).astype(np.float64))
    mean = np.asarray(X.mean(axis=0)).ravel()
    axes = principal_axes(X, mean, min(_COMPONENTS, *X.shape), rng)
    return centred_features(X, mean, axes).astype(np.float32)


def _votes(F: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Most frequent label of every row's nearest others, the least of equal ones."""
    n, k = len(F), min(_NEIGHBORS + 1, len(F))
    nearest, _ = nearest_anchors(F, F, k)
    others = nearest != np.arange(n)[:, None]
    others[others.all(axis=1), -1] = False  # among many equal rows its own is not there
    votes = np.zeros((n, int(labels.max()) + 1))
    row, place = np.nonzero(others)
    np.add.at(votes, (row, labels[nearest[row, place]]), 1)
    return votes.argmax(axis=1)
