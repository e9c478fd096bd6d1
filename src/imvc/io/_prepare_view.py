"""The preparation of one view: learnt from a table, applied to tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc._plain import plain
from imvc.io._checked_table import first_cell
from imvc.io._errors import input_error, shown
from imvc.io._file_table import FileTable
from imvc.views import count_nonfinite

_BLOCK_BYTES = 8 * 2**20


@dataclass(frozen=True, eq=False)
class ViewPreparation:
    """What was learnt for one view; arrays are parallel to `features`."""

    name: str
    features: tuple[str, ...]
    log1p: bool
    fill: np.ndarray | None  # means to impute, after log1p
    center: np.ndarray | None
    scale: np.ndarray | None
    dropped: tuple[str, ...]  # columns of the training file that hold no number
    id_column: str | None
    onehot: Mapping[str, tuple[str, ...]]


def fit_view(
    table: FileTable,
    notes: list[str],
    *,
    impute: bool,
    log1p: bool,
    standard: bool,
    top_variance: int | None,
) -> ViewPreparation:
    """Learn what was asked for from a table, and add to the notes what was decided."""
    X = table.values
    if log1p:
        X = _log1p(X, table)
        notes.append("log(1 + x) taken")
    needed = impute or standard or top_variance is not None
    count, mean, variance = _moments(X) if needed else _counts(X)
    if not count.any():
        raise input_error(table.source, "holds no number at all; leave it out.")
    columns = np.flatnonzero(count)
    empty = [table.features[j] for j in np.flatnonzero(count == 0)]
    if empty:
        notes.append(f"left out {len(empty)} columns without a number: {shown(empty)}")
    columns = _most_variable(columns, variance, top_variance, notes)
    mean, deviation = mean[columns], np.sqrt(variance[columns])
    scale = center = None
    if standard:
        # A constant column is moved to 0 and not stretched.
        tiny = np.finfo(X.dtype).eps * np.maximum(np.abs(mean), np.finfo(X.dtype).tiny)
        scale = np.where(deviation > 10 * tiny, deviation, 1.0)
        center = None if sp.issparse(X) else mean
        notes.append(
            "sparse: divided by the standard deviation, not centred"
            if center is None
            else "scaled to mean 0 and standard deviation 1"
        )
    return ViewPreparation(
        name=table.name,
        features=tuple(table.features[j] for j in columns),
        log1p=log1p,
        fill=mean if impute else None,
        center=center,
        scale=scale,
        dropped=tuple(empty),
        id_column=table.id_column,
        onehot=dict(table.onehot),
    )


def _most_variable(
    columns: np.ndarray, variance: np.ndarray, top: int | None, notes: list[str]
) -> np.ndarray:
    if top is None:
        return columns
    if top >= len(columns):
        notes.append(f"top variance {top}: all {len(columns)} columns kept")
        return columns
    order = np.argsort(-variance[columns], kind="stable")[:top]
    notes.append(f"kept the {top} of {len(columns)} columns with the largest variance")
    return columns[np.sort(order)]


def _log1p(X: Any, table: FileTable) -> Any:
    data = X.data if sp.issparse(X) else X
    with np.errstate(invalid="ignore"):
        n_negative = int((data < 0).sum())
    if n_negative:
        row, column = first_cell(X, lambda values: values < 0)
        raise input_error(
            table.source,
            f"view {table.name!r} has {n_negative} negative values, first in "
            f"{table.row(row)}, column {table.features[column]!r}, so log(1 + x) "
            "makes no sense; leave log1p out for this view.",
        )
    if not sp.issparse(X):
        return np.log1p(X)
    X = X.copy()
    X.data = np.log1p(X.data)
    return X


def _blocks(X: np.ndarray) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK_BYTES // max(1, 8 * X.shape[1]))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


def _moments(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count, mean and variance of the numbers of each column, NaN left out.

    Two passes, so that a large mean does not swallow a small variance. Entries that a
    sparse matrix does not store count as zeros.
    """
    return _sparse_moments(X) if sp.issparse(X) else _dense_moments(X)


def _counts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_moments`, for those who only need the counts: the rest is zero."""
    if sp.issparse(X):
        holes = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    else:
        n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
        holes = np.isnan(X[n_nan > 0]).sum(axis=0)
    zeros = np.zeros(X.shape[1])
    return X.shape[0] - holes, zeros, zeros


def _dense_moments(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    d = X.shape[1]
    count, total = np.zeros(d, np.int64), np.zeros(d)
    for block in _blocks(X):
        known = ~np.isnan(block)
        count += known.sum(axis=0)
        total += np.sum(block, axis=0, where=known, dtype=np.float64)
    mean = total / np.maximum(count, 1)
    squares = np.zeros(d)
    for block in _blocks(X):
        centred = np.nan_to_num(block - mean, nan=0.0)
        squares += np.einsum("ij,ij->j", centred, centred)
    return count, mean, squares / np.maximum(count, 1)


def _sparse_moments(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, d = X.shape
    hole = np.isnan(X.data)
    columns, data = X.indices[~hole], X.data[~hole].astype(np.float64)
    count = n - np.bincount(X.indices[hole], minlength=d)
    safe = np.maximum(count, 1)
    mean = np.bincount(columns, weights=data, minlength=d) / safe
    centred = np.bincount(columns, weights=(data - mean[columns]) ** 2, minlength=d)
    zeros = count - np.bincount(columns, minlength=d)
    return count, mean, (centred + zeros * mean**2) / safe


def apply_view(
    view: ViewPreparation, table: FileTable, impute: bool, tell_extra: bool = True
) -> FileTable:
    """Give a table the columns, fill values and scales of the fit."""
    X, extra, notes = _select_columns(view, table)
    if extra and tell_extra:
        notes.append(f"ignored {len(extra)} columns that the fit lacks: {shown(extra)}")
    table = replace(table, name=view.name, features=view.features, values=X)
    if view.log1p:
        X = _log1p(X, table)
    X = _fill_holes(X, table, view, impute, notes)
    if view.scale is not None:
        X = _rescale(X, view)
    return replace(table, values=X, notes=table.notes + tuple(notes))


def _select_columns(
    view: ViewPreparation, table: FileTable
) -> tuple[Any, list[str], list[str]]:
    """The columns of the fit, found by name; what else there is; and notes."""
    if table.features == view.features:
        return table.values, [], []
    place = {feature: j for j, feature in enumerate(table.features)}
    absent = [feature for feature in view.features if feature not in place]
    encoded = {f"{c}={v}": c for c, values in view.onehot.items() for v in values}
    # A category that no new sample has is a column of zeros, not a missing one.
    unseen = [f for f in absent if encoded.get(f) in table.onehot]
    lost = [f for f in absent if f not in set(unseen)]
    if lost:
        raise input_error(
            table.source,
            f"lacks {len(lost)} of the {len(view.features)} columns that the model was "
            f"fitted with as view {view.name!r}: {shown(lost, 5)}; give a file with "
            "the same columns.",
        )
    known = {*view.features, *view.dropped}
    extra = [feature for feature in table.features if feature not in known]
    if not unseen:
        return table.values[:, [place[f] for f in view.features]], extra, []
    X = np.zeros((table.n_rows, len(view.features)), table.values.dtype)
    for j, feature in enumerate(view.features):
        if feature in place:
            X[:, j] = table.values[:, place[feature]]
        else:
            # NaN where the cell of the text column is empty.
            known = table.metadata[encoded[feature]] != np.array(None, dtype=object)
            X[:, j] = np.where(known, 0.0, np.nan)
    return X, extra, [f"no sample has {shown(unseen)}"]


def _fill_holes(
    X: Any, table: FileTable, view: ViewPreparation, impute: bool, notes: list[str]
) -> Any:
    """Impute cells that are empty in rows that are not, or refuse them."""
    n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
    n_absent = int((n_nan == X.shape[1]).sum())
    partly = np.flatnonzero((n_nan > 0) & (n_nan < X.shape[1]))
    if n_absent:
        notes.append(f"{n_absent} rows are empty: these samples lack the view")
    if len(partly) == 0:
        return X
    if not impute or view.fill is None:
        row, (_, column) = int(partly[0]), first_cell(X[partly[:1]], np.isnan)
        raise input_error(
            table.source,
            f"{table.row(row)} has no number in column {table.features[column]!r}, and "
            f"so have {len(partly)} rows somewhere; pass --impute (impute=True) to "
            "fill in column means, or empty the whole row if the sample lacks the "
            "view.",
        )
    notes.append(f"imputed column means into {len(partly)} rows")
    return _imputed(X, partly, view.fill)


def _imputed(X: Any, rows: np.ndarray, fill: np.ndarray) -> Any:
    X = X.copy()
    if sp.issparse(X):
        chosen = np.zeros(X.shape[0], dtype=bool)
        chosen[rows] = True
        holes = np.isnan(X.data) & np.repeat(chosen, np.diff(X.indptr))
        X.data[holes] = fill[X.indices[holes]]
        return X
    block = X[rows]
    holes = np.isnan(block)
    X[rows] = np.where(holes, fill, block)
    return X


def _rescale(X: Any, view: ViewPreparation) -> Any:
    assert view.scale is not None
    if sp.issparse(X):
        X = X.copy()
        X.data = (X.data / view.scale[X.indices]).astype(X.dtype, copy=False)
        return X
    center = 0.0 if view.center is None else view.center
    return ((X - center) / view.scale).astype(X.dtype, copy=False)


def view_to_dict(view: ViewPreparation) -> dict[str, Any]:
    found = {field.name: getattr(view, field.name) for field in fields(view)}
    return plain(found, np.ndarray.tolist)


def view_from_dict(d: Mapping[str, Any]) -> ViewPreparation:
    features = tuple(str(f) for f in d["features"])
    arrays = {}
    for key in ("fill", "center", "scale"):
        array = None if d[key] is None else np.asarray(d[key], dtype=np.float64)
        if array is not None and array.shape != (len(features),):
            raise ValueError(f"{key} does not fit the {len(features)} features")
        arrays[key] = array
    return ViewPreparation(
        name=str(d["name"]),
        features=features,
        log1p=bool(d["log1p"]),
        dropped=tuple(str(f) for f in d["dropped"]),
        id_column=None if d["id_column"] is None else str(d["id_column"]),
        onehot={str(c): tuple(map(str, v)) for c, v in d["onehot"].items()},
        **arrays,
    )
