"""New views for a fitted model: its order, its features, absent views included."""

from dataclasses import replace
from typing import Any

import numpy as np

from imvc.views._container import IncompleteViews


def conform(views: IncompleteViews, like: Any) -> IncompleteViews:
    """Bring views into the order a model was fitted with, absent ones included.

    Columns of the same names in another order are put into that of the fit.
    """
    check_known(views.names, like)
    for v, name in enumerate(views.names):
        fitted = list(like.names).index(name)
        views = _reorder_columns(views, v, _names_of(like)[fitted])
        check_features(views, v, like, fitted)
    if views.names == tuple(like.names):
        return views
    n, n_views = views.n_samples, len(like.names)
    # One number stands for a whole absent view. float32 leaves `dtype` to the others.
    arrays = [np.broadcast_to(np.float32(np.nan), (n, d)) for d in like.n_features]
    mask = np.zeros((n, n_views), dtype=bool)
    positions: list = [None] * n_views
    feature_names: list = [None] * n_views
    for v, name in enumerate(views.names):
        j = list(like.names).index(name)
        arrays[j], mask[:, j] = views.arrays[v], views.mask[:, v]
        positions[j], feature_names[j] = views.positions[v], views.feature_names[v]
    return replace(
        views,
        arrays=tuple(arrays),
        mask=mask,
        names=tuple(like.names),
        positions=tuple(positions),
        feature_names=tuple(feature_names),
    )


def _reorder_columns(
    views: IncompleteViews, v: int, fitted: tuple[str, ...] | None
) -> IncompleteViews:
    """The same views with the columns of `v` as fitted, if it has the same ones."""
    new = views.feature_names[v]
    if new is None or fitted is None or new == fitted or set(new) != set(fitted):
        return views
    place = {name: j for j, name in enumerate(new)}
    if not len(place) == len(new) == len(fitted):  # names that come twice
        return views
    arrays, names = list(views.arrays), list(views.feature_names)
    arrays[v] = arrays[v][:, [place[name] for name in fitted]]
    names[v] = fitted
    return replace(views, arrays=tuple(arrays), feature_names=tuple(names))


def _names_of(like: Any) -> tuple[tuple[str, ...] | None, ...]:
    """Names of features of every view; another make of schema may know none."""
    return getattr(like, "feature_names", (None,) * len(like.names))


def check_known(names: Any, like: Any) -> None:
    """Refuse views that the model was not fitted with."""
    unknown = [name for name in names if name not in like.names]
    if unknown:
        raise ValueError(
            f"views {unknown} are unknown to the model; it was fitted with "
            f"{list(like.names)}."
        )


def check_features(views: Any, v: int, like: Any, fitted: int) -> None:
    """Refuse view `v` where its features are not those of the fitted one.

    `views` may be anything with names, n_features and feature_names per view.
    """
    name, n_new, n_old = views.names[v], views.n_features[v], like.n_features[fitted]
    if n_new != n_old:
        raise ValueError(
            f"view {name!r} has {n_new} features, the model was fitted with {n_old}; "
            "pass the same features."
        )
    new = views.feature_names[v]
    old = _names_of(like)[fitted]
    if new is None or old is None or new == old:
        return
    j = next(j for j in range(n_old) if new[j] != old[j])
    same = set(new) == set(old)
    remedy = "reorder the columns" if same else "pass the same features"
    raise ValueError(
        f"view {name!r} has feature {new[j]!r} at column {j}, the model was fitted "
        f"with {old[j]!r} there; {remedy}."
    )
