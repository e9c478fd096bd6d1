"""The preparation of one view: learnt from a table, applied to tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._checked_table import first_cell
from imvc.io._errors import input_error, shown
from imvc.io._file_table import FileTable
from imvc.io._moments import column_counts, column_moments
from imvc.views import count_nonfinite


@dataclass(frozen=True)
class ViewSteps:
    """What is asked for one view."""

    log1p: bool
    standard: bool
    top_variance: int | None


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
    table: FileTable, steps: ViewSteps, impute: bool, notes: list[str]
) -> ViewPreparation:
    X = table.values
    if steps.log1p:
        X = _log1p(X, table)
        notes.append("log(1 + x) taken")
    needed = impute or steps.standard or steps.top_variance is not None
    count, mean, variance = column_moments(X) if needed else column_counts(X)
    if not count.any():
        raise input_error(table.source, "holds no number at all; leave it out.")
    columns = np.flatnonzero(count)
    empty = [table.features[j] for j in np.flatnonzero(count == 0)]
    if empty:
        notes.append(f"left out {len(empty)} columns without a number: {shown(empty)}")
    columns = _most_variable(columns, variance, steps.top_variance, notes)
    mean, deviation = mean[columns], np.sqrt(variance[columns])
    scale = center = None
    if steps.standard:
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
        log1p=steps.log1p,
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
    arrays = {"fill": view.fill, "center": view.center, "scale": view.scale}
    return {
        "name": view.name,
        "features": list(view.features),
        "log1p": view.log1p,
        **{key: None if a is None else a.tolist() for key, a in arrays.items()},
        "dropped": list(view.dropped),
        "id_column": view.id_column,
        "onehot": {column: list(values) for column, values in view.onehot.items()},
    }


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
