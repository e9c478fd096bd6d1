"""What a fitted model says about the samples it was fitted on."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from imvc.views import IncompleteViews, as_views


def model_views(model: Any, Xs: Any, mask: Any) -> IncompleteViews:
    """Views in the order of the model's fit, or an error that names the difference.

    Empty cells are filled where the model does so.
    """
    check_is_fitted(model)
    if hasattr(model, "filled_views"):
        return model.filled_views(Xs, mask=mask)
    return as_views(Xs, mask, like=getattr(model, "_schema", None))


def check_same_samples(model: Any, views: IncompleteViews, remedy: str) -> None:
    """Refuse views of other samples than those of the fit."""
    name, n = type(model).__name__, len(model.labels_)
    if views.n_samples != n:
        raise ValueError(
            f"Xs has {views.n_samples} samples, the {name} was fitted on {n}; {remedy}."
        )
    fitted, given = getattr(model, "sample_ids_", None), views.sample_ids
    if fitted is None or given is None:
        return
    unequal = np.asarray(fitted).astype(object) != np.asarray(given).astype(object)
    if unequal.any():
        i = int(unequal.argmax())
        raise ValueError(
            f"Xs has the id {given[i]!r} at row {i}, the {name} was fitted with "
            f"{fitted[i]!r} there; {remedy}."
        )


def labels_of_copy(model: Any, views: IncompleteViews, **options: Any) -> np.ndarray:
    """Labels of a fresh fit by a silent copy, with those options that it takes."""
    again = clone(model)
    options |= {"stability": False, "callback": None, "verbose": 0}
    known = again.get_params(deep=False)
    again.set_params(**{k: v for k, v in options.items() if k in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit that counts says all of it
        return np.asarray(again.fit(views).labels_)


def clustering_space(model: Any, Y: np.ndarray) -> np.ndarray:
    """Rows as k-means saw them."""
    space = getattr(model, "_clustering_space", None)
    return np.asarray(Y if space is None else space(Y))


def cluster_centers(model: Any) -> np.ndarray:
    """Centres of the clusters: the model's, or the means of their samples."""
    centers = getattr(model, "cluster_centers_", None)
    if centers is not None:
        return np.asarray(centers, np.float64)
    X, labels = clustering_space(model, model.embedding_), model.labels_
    sizes = np.bincount(labels)
    sums = np.stack([np.bincount(labels, x) for x in X.T], axis=1)
    return sums / np.maximum(sizes, 1)[:, None]
