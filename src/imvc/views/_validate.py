"""as_views: every input error of the library is raised here, with its remedy.

Plain arrays of finite numbers are read in this file alone. Tables of other libraries
and their ids, values that need care, and views for a fitted model have files beside it.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from imvc.views._conform import check_known, conform
from imvc.views._container import IncompleteViews, ViewSchema, float_dtype, row_blocks
from imvc.views._frames import (
    Joined,
    Table,
    check_mask_fits_join,
    join_by_index,
    read_table,
    warn_of_doubtful_join,
)
from imvc.views._values import (
    count_sparse,
    out_of_range,
    refuse_infinite,
    refuse_overflow,
    refuse_partly_missing,
    to_numbers,
    where,
)


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
    missing_values : {"error", "keep"}, default "error"
        What to do about rows that are partly NaN: raise an error, or keep them, for an
        estimator that fills them in (its ``empty_cells``).
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
    <IncompleteViews of 3 samples, 2 incomplete: view0 2 x 3, view1 2 x 2>
    """
    if missing_values not in ("error", "keep"):
        raise ValueError(
            f"missing_values={missing_values!r} is unknown; pass 'error' or 'keep'."
        )
    if not isinstance(Xs, IncompleteViews):
        views = _read_views(Xs, mask, missing_values, like)
    elif mask is None:
        views = Xs
    else:
        allowed = _read_mask(mask, Xs.n_samples, Xs.names)
        views = replace(Xs, mask=Xs.mask & allowed)
    if views.empty_cells and missing_values == "error":
        _refuse_empty_cells(views)
    if like is not None:
        views = conform(views, like)
    _check_coverage(views, fitted=like is not None)
    return views


def _read_views(Xs: Any, mask: Any, missing_values: str, like: Any) -> IncompleteViews:
    names, entries = named_entries(Xs, like)
    given = [j for j, entry in enumerate(entries) if entry is not None]
    tables = [_read_view(names[j], entries[j]) for j in given]
    joined = join_tables(tables)
    if like is None and joined.index is not None:
        warn_of_doubtful_join(tables, joined)
    allowed = None
    if mask is not None:
        if joined.index is not None:
            check_mask_fits_join(mask, joined)
        allowed = _read_mask(mask, joined.n_samples, names)[:, given]
    return assemble_views(tables, joined, allowed, missing_values)


def _read_view(name: str, x: Any) -> Table:
    if type(x) is np.ndarray and x.ndim == 2 and x.shape[1]:
        return Table(name, x, index=None, feature_names=None)
    return read_table(name, x)


def join_tables(tables: list[Table]) -> Joined:
    """Outer join on the index, or by position when no table has an index."""
    shapes = ", ".join(f"{table.name!r} {table.X.shape}" for table in tables)
    heights = {table.X.shape[0] for table in tables}
    if heights == {0}:
        raise ValueError(f"views have no samples: {shapes}; pass at least one row.")
    if any(table.index is not None for table in tables):
        return join_by_index(tables)
    if len(heights) > 1:
        raise ValueError(
            f"views have different numbers of rows: {shapes}; pass one row per "
            "sample (NaN where it is missing), or DataFrames to join them by id."
        )
    return Joined(heights.pop(), (None,) * len(tables), index=None, report=None)


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
    empty_cells = False
    for v, (table, position) in enumerate(zip(tables, joined.positions)):
        n_rows = table.X.shape[0]
        wanted = np.ones(n_rows, bool) if allowed is None else allowed[:, v]
        X_v, observed, partly = _clean_view(table, wanted, missing_values)
        empty_cells = empty_cells or partly
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
        empty_cells=empty_cells,
    )


def _clean_view(
    table: Table, wanted: np.ndarray, missing_values: str
) -> tuple[Any, np.ndarray, bool]:
    """Array of numbers of one view, its observed rows, if any has empty cells."""
    X = table.X if table.X.dtype.kind in "biuf" else to_numbers(table, wanted)
    n_nan, n_inf = count_nonfinite(X, wanted)
    if n_inf.any():
        refuse_infinite(table, X, n_inf)
    missing = n_nan == X.shape[1]
    observed = wanted & ~missing
    partly = np.flatnonzero((n_nan > 0) & ~missing)
    if len(partly) and missing_values == "error":
        refuse_partly_missing(table, partly)
    place = find_overflow(X, observed)
    if place is not None:
        refuse_overflow(table, X, place)
    return X, observed, len(partly) > 0


def _refuse_empty_cells(views: IncompleteViews) -> None:
    """Refuse views whose empty cells were kept, where nobody fills them."""
    for v, rows in enumerate(map(views.rows, range(views.n_views))):
        n_nan, _ = count_nonfinite(views.observed(v), np.ones(len(rows), bool))
        if n_nan.any():
            table = Table(views.names[v], views.arrays[v], views.sample_ids, None)
            refuse_partly_missing(table, rows[n_nan > 0])


def count_nonfinite(X: Any, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of NaN and of infinities in each wanted row; 0 in all other rows.

    Over bounded blocks of rows, so a view larger than half the memory can be checked;
    only rows that look suspicious are looked at number by number.
    """
    n, d = X.shape
    if X.dtype.kind == "f" and sp.issparse(X):
        return count_sparse(X, wanted)
    n_nan, n_inf = np.zeros(n, np.int64), np.zeros(n, np.int64)
    if X.dtype.kind != "f":
        return n_nan, n_inf
    ones = np.ones(d, float_dtype(X.dtype))
    for block in row_blocks(X):
        # A finite sum has finite terms. The converse fails on overflow, so the rows
        # whose sum is not finite are counted exactly.
        with np.errstate(all="ignore"):
            suspect = ~np.isfinite(X[block] @ ones)
        rows = block.start + np.flatnonzero(suspect & wanted[block])
        if len(rows):
            values = X[rows]
            n_nan[rows] = np.isnan(values).sum(axis=1)
            n_inf[rows] = np.isinf(values).sum(axis=1)
    return n_nan, n_inf


def find_overflow(X: Any, wanted: np.ndarray) -> tuple[int, int] | None:
    """Row and column of a number too large to be squared, beside far smaller ones.

    None also where most of the wanted rows are as large: `imvc.scale.SafeRange` brings
    such a view into range.
    """
    if X.dtype.kind != "f":
        return None
    dtype = float_dtype(X.dtype)
    if sp.issparse(X):
        largest = np.fmax.reduce(np.abs(X.data), initial=0)
        overflows = largest > np.finfo(dtype).max ** 0.5
    else:
        overflows = False
        for block in row_blocks(X):
            # Summed up as methods do, and silently: most products of NumPy do not warn.
            part = X[block].astype(dtype, copy=False)
            squares = np.einsum("ij,ij->i", part, part)
            overflows |= bool((np.isinf(squares) & wanted[block]).any())
    return out_of_range(X, wanted) if overflows else None


def _refuse_split_list(Xs: list | tuple) -> None:
    """Refuse a list of views that scikit-learn has split as if views were samples.

    Its searches and cross-validation take the entries of a list for samples, and a part
    of the views looks like any other list. Only who called, and with what, tells: a
    step of a Pipeline may have made the list of a matrix that was split by samples.
    """
    frame = sys._getframe(1)
    while frame is not None:
        caller = frame.f_globals.get("__name__", "")
        splits = caller.startswith("sklearn.model_selection")
        if splits and isinstance(frame.f_locals.get("X"), list | tuple):
            raise TypeError(
                "Xs is a list of views, which scikit-learn's cross-validation and "
                "searches split by views instead of samples; pass "
                "imvc.as_views(Xs, mask), which is split by samples."
            )
        # Between two of our frames there may be that of a context manager.
        if not caller.startswith(("imvc.", "sklearn.", "contextlib")):
            return  # somebody who made the list for us
        frame = frame.f_back  # type: ignore[assignment]


def named_entries(Xs: Any, like: Any) -> tuple[list[str], list[Any]]:
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
            check_known(names, like)
    elif isinstance(Xs, list | tuple):
        _refuse_split_list(Xs)
        entries = list(Xs)
        names = [f"view{j}" for j in range(len(entries))]
        if like is not None:  # a model knows the views of a list by their order
            if len(entries) != len(like.names):
                raise ValueError(
                    f"Xs has {len(entries)} views, the model was fitted with "
                    f"{len(like.names)}: {list(like.names)}; pass None for the views "
                    "that are missing, or a dict by name."
                )
            names = list(like.names)
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
