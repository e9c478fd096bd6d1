"""as_views: every input error of the library is raised here, with its remedy."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from imvc.views._container import IncompleteViews, ViewSchema
from imvc.views._frames import (
    Joined,
    Table,
    is_frame,
    join_tables,
    read_table,
    warn_of_doubtful_join,
)
from imvc.views._values import clean_view, where


def as_views(
    Xs: Any,
    mask: Any = None,
    *,
    missing_values: str = "error",
    like: ViewSchema | IncompleteViews | None = None,
) -> IncompleteViews:
    """Check several views of the same samples and note what is missing.

    A sample is missing in a view when its row is all NaN, when the mask says so, when
    its id is not in that table, or when the whole view is None. What such rows contain
    does not matter. Dense data are not copied.

    Parameters
    ----------
    Xs : list, tuple, dict, MuData or IncompleteViews
        The views, each an array of shape (n_samples, n_features), a SciPy sparse
        matrix or a table; a dict gives them names. pandas DataFrames and AnnData are
        joined on their index (outer join, ids in the order of first appearance).
        Tables without an index (polars, pyarrow) are taken by position, like arrays.
        A sparse row is missing only when all its entries are stored NaN.
    mask : array-like of bool or 0/1, shape (n_samples, n_views), optional
        False where a sample is missing in a view; one column per entry of `Xs`.
    missing_values : {"error", "impute"}, default "error"
        What to do about rows that are partly NaN: raise an error, or fill in the
        column means of the observed rows of that view (in a copy).
    like : ViewSchema or IncompleteViews, optional
        The views a model was fitted on. New views must have its features. They may be
        None, be left out of a dict, come in another order in a dict, or have no
        observed sample.

    Returns
    -------
    IncompleteViews
        `Xs` itself when it is one already and nothing has to change.

    Raises
    ------
    ValueError
        For values that cannot be used: the message names them and the remedy.
    TypeError
        For things that are not views, and for columns that are not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.views import as_views
    >>> as_views([np.eye(3), np.ones((3, 2))], mask=[[1, 1], [1, 0], [0, 1]])
    <IncompleteViews of 3 samples, 2 views (view0: 3, view1: 2), 66.7 % observed>
    """
    if missing_values not in ("error", "impute"):
        raise ValueError(
            f"missing_values={missing_values!r} is unknown; pass 'error' or 'impute'."
        )
    if not isinstance(Xs, IncompleteViews):
        views = _read_views(Xs, mask, missing_values, like)
    elif mask is None:
        views = Xs
    else:
        allowed = _read_mask(mask, Xs.n_samples, Xs.names)
        views = replace(Xs, mask=Xs.mask & allowed)
    if like is not None:
        views = _conform(views, like)
    _check_coverage(views, fitted=like is not None)
    return views


def _read_views(Xs: Any, mask: Any, missing_values: str, like: Any) -> IncompleteViews:
    names, entries = _named_entries(Xs, like)
    given = [j for j, entry in enumerate(entries) if entry is not None]
    tables = [read_table(names[j], entries[j]) for j in given]
    joined = join_tables(tables)
    if like is None:
        warn_of_doubtful_join(tables, joined)
    allowed = None
    if mask is not None:
        _check_mask_fits_join(mask, joined)
        allowed = _read_mask(mask, joined.n_samples, names)[:, given]
    return assemble_views(tables, joined, allowed, missing_values)


def assemble_views(
    tables: list[Table],
    joined: Joined,
    allowed: np.ndarray | None = None,
    missing_values: str = "error",
) -> IncompleteViews:
    """Joined tables as one container, after a check of their values.

    Where `allowed`, of shape (n_samples, n_views), is False nothing is observed.
    """
    arrays, seen = [], np.empty((joined.n_samples, len(tables)), dtype=bool)
    for v, (table, position) in enumerate(zip(tables, joined.positions)):
        n_rows = table.X.shape[0]
        wanted = np.ones(n_rows, bool) if allowed is None else allowed[:, v]
        X_v, observed = clean_view(table, wanted, missing_values)
        arrays.append(X_v)
        if position is not None:
            present = position >= 0
            present[present] = observed[position[present]]
            observed = present
        seen[:, v] = observed
    return IncompleteViews(
        arrays=tuple(arrays),
        mask=seen,
        names=tuple(table.name for table in tables),
        positions=joined.positions,
        sample_ids=None if joined.index is None else joined.index.to_numpy(),
        feature_names=tuple(table.feature_names for table in tables),
        join_report=joined.report,
    )


def _named_entries(Xs: Any, like: Any) -> tuple[list[str], list[Any]]:
    """Names and views in the order given; errors for what is no collection of views."""
    if isinstance(getattr(Xs, "mod", None), Mapping):  # a MuData
        Xs = dict(Xs.mod)
    if isinstance(Xs, Mapping):
        names, entries = list(Xs), list(Xs.values())
        odd = [name for name in names if not isinstance(name, str)]
        if odd:
            raise TypeError(
                f"names of views must be text, got {odd[:3]}; use str keys."
            )
        if like is not None:
            _check_known(names, like)
    elif isinstance(Xs, list | tuple):
        entries = list(Xs)
        names = [f"view{j}" for j in range(len(entries))]
        if like is not None:
            names = _names_by_position(entries, like)
    else:
        _refuse_collection(Xs)
    if not entries:
        raise ValueError("Xs has no views; pass a list with at least one array.")
    absent = [name for name, entry in zip(names, entries) if entry is None]
    if len(absent) == len(entries):
        raise ValueError("every view in Xs is None; pass at least one array.")
    if absent and like is None:
        raise ValueError(
            f"views {absent} are None and so have no sample at all; leave them out."
        )
    return names, entries


def _names_by_position(entries: list[Any], like: Any) -> list[str]:
    if len(entries) != len(like.names):
        raise ValueError(
            f"Xs has {len(entries)} views, the model was fitted with "
            f"{len(like.names)}: {list(like.names)}; pass None for the views that are "
            "missing, or a dict by name."
        )
    return list(like.names)


def _refuse_collection(Xs: Any) -> NoReturn:
    if isinstance(Xs, np.ndarray) and (Xs.ndim == 3 or Xs.dtype == object):
        raise TypeError(
            f"Xs is one array of shape {Xs.shape}; pass list(Xs) if its first axis "
            "runs over the views, or [X] for one view."
        )
    if hasattr(Xs, "shape") or hasattr(Xs, "to_pandas"):
        raise TypeError(
            f"Xs is a single {type(Xs).__name__} of shape {getattr(Xs, 'shape', '?')}; "
            "pass a list of views, or [X] for one view."
        )
    raise TypeError(
        f"Xs is a {type(Xs).__name__}; pass a list, tuple or dict of 2-D arrays."
    )


def _check_mask_fits_join(mask: Any, joined: Joined) -> None:
    if any(position is not None for position in joined.positions):
        raise ValueError(
            "mask was given with DataFrames whose indexes differ, so its rows have no "
            "meaning; drop the missing rows from each table, or reindex all tables to "
            "the same ids."
        )
    by_id = is_frame(mask) and joined.index is not None
    if by_id and not mask.index.equals(joined.index):
        raise ValueError(
            "mask is a DataFrame whose index differs from that of the views; pass "
            "mask.reindex(X.index)."
        )


def _read_mask(mask: Any, n_samples: int, names: Any) -> np.ndarray:
    """Boolean copy of a mask of zeros and ones."""
    mask = np.asarray(mask)
    shape = (n_samples, len(names))
    if mask.shape != shape:
        remedy = "one row per sample and one column per view"
        if mask.shape == shape[::-1]:
            remedy = "pass mask.T"
        raise ValueError(
            f"mask has shape {mask.shape}, expected (n_samples, n_views) = {shape}; "
            f"{remedy}."
        )
    if mask.dtype.kind not in "biuf":
        raise TypeError(f"mask has dtype {mask.dtype}; pass booleans, or 0 and 1.")
    bad = mask[(mask != 0) & (mask != 1)]
    if bad.size:
        raise ValueError(
            f"mask has {bad.size} values other than 0 and 1, first "
            f"{bad[:3].tolist()}; pass True where a sample is observed."
        )
    return mask.astype(bool)


def _conform(views: IncompleteViews, like: Any) -> IncompleteViews:
    """Bring views into the order a model was fitted with, absent ones included."""
    _check_known(views.names, like)
    for v, name in enumerate(views.names):
        _check_features(views, v, like, list(like.names).index(name))
    if views.names == tuple(like.names):
        return views
    source = {name: v for v, name in enumerate(views.names)}
    order = [source.get(name) for name in like.names]
    n = views.n_samples
    # One number stands for a whole absent view. float32 leaves `dtype` to the others.
    blank = [np.broadcast_to(np.float32(np.nan), (n, d)) for d in like.n_features]
    mask = np.zeros((n, len(order)), dtype=bool)
    for j, source_v in enumerate(order):
        if source_v is not None:
            mask[:, j] = views.mask[:, source_v]
    return replace(
        views,
        arrays=tuple(b if v is None else views.arrays[v] for b, v in zip(blank, order)),
        mask=mask,
        names=tuple(like.names),
        positions=tuple(None if v is None else views.positions[v] for v in order),
        feature_names=tuple(
            None if v is None else views.feature_names[v] for v in order
        ),
    )


def _check_known(names: Any, like: Any) -> None:
    unknown = [name for name in names if name not in like.names]
    if unknown:
        raise ValueError(
            f"views {unknown} are unknown to the model; it was fitted with "
            f"{list(like.names)}."
        )


def _check_features(views: IncompleteViews, v: int, like: Any, fitted: int) -> None:
    name, n_new, n_old = views.names[v], views.n_features[v], like.n_features[fitted]
    if n_new != n_old:
        raise ValueError(
            f"view {name!r} has {n_new} features, the model was fitted with {n_old}; "
            "pass the same features."
        )
    new = views.feature_names[v]
    # A schema of another make may know nothing of feature names.
    old = getattr(like, "feature_names", (None,) * len(like.names))[fitted]
    if new is None or old is None or new == old:
        return
    j = next(j for j in range(n_old) if new[j] != old[j])
    remedy = f"pass X[{list(old)}]" if n_old <= 5 else "reorder the columns"
    if set(new) != set(old):
        remedy = "pass the same features"
    raise ValueError(
        f"view {name!r} has feature {new[j]!r} at column {j}, the model was fitted "
        f"with {old[j]!r} there; {remedy}."
    )


def _check_coverage(views: IncompleteViews, fitted: bool) -> None:
    """Every sample needs a view; for a fit, every view needs a sample."""
    lost = np.flatnonzero(~views.mask.any(axis=1))
    if len(lost):
        one = len(lost) == 1
        raise ValueError(
            f"{len(lost)} {'sample is' if one else 'samples are'} observed in no view, "
            f"first at {where(lost, views.sample_ids)}; drop "
            f"{'it' if one else 'them'} before {'predicting' if fitted else 'fitting'}."
        )
    if fitted:
        return
    empty = [views.names[v] for v in range(views.n_views) if not views.mask[:, v].any()]
    if empty:
        raise ValueError(
            f"views {empty} have no observed sample; leave them out, or check mask."
        )
