"""The preparation of one view: learnt from a table, applied to tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc._plain import plain
from imvc.io._checked_table import first_cell
from imvc.io._errors import input_error, listed, shown
from imvc.io._file_table import NEARLY_EMPTY, FileTable
from imvc.kernels._cell_moments import CellMoments
from imvc.kernels._low_rank import fit_low_rank
from imvc.kernels._ridge_fill import LowRank, fill_rows
from imvc.views import count_nonfinite

_BLOCK_BYTES = 8 * 2**20
_MOSTLY_EMPTY = 0.5  # share of empty cells of a column to warn of
_CODES = (-9.0, -99.0, -999.0, -9999.0, 999.0, 9999.0, 99999.0)
_LISTED = 12  # columns of plain numbers that are listed one by one
_MOST_ABSENT = 0.5  # share of columns that new samples may lack

# Learns how empty cells are filled; as `fit_low_rank`, or None if they never are.
Learn = Callable[..., LowRank | None]


@dataclass(frozen=True, eq=False)
class ViewPreparation:
    """What was learnt for one view; arrays are parallel to `features`."""

    name: str
    features: tuple[str, ...]
    log1p: bool
    fill: LowRank | None  # of empty cells, after log1p; None: they are refused
    center: np.ndarray | None
    scale: np.ndarray | None
    dropped: tuple[str, ...]  # features of the training file that are not used
    id_column: str | None
    codes: tuple[Any, ...]  # of a mixed table: how its columns are read
    owner: tuple[int, ...]  # of a mixed table: the code of each feature

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a file that features come from."""
        return tuple(code.name for code in self.codes) or self.features

    def table_codes(self) -> Sequence[Any]:
        """How the columns of a table are read; numbers unless the view is mixed."""
        if self.codes:
            return self.codes
        from imvc.io.columns._code import ColumnCode

        return [ColumnCode(name, "number", "as in the fit") for name in self.features]

    def check_columns(self, source: str, names: Sequence[str]) -> list[str]:
        """Columns that new samples lack; refused where too many are."""
        known = set(names)
        absent = [name for name in self.columns if name not in known]
        most = 0 if self.fill is None else _MOST_ABSENT * len(self.columns)
        if len(absent) > most:
            remedy = (
                "give a file with the same columns"
                if self.fill is None
                else "give a file with at least half of them"
            )
            raise input_error(
                source,
                f"lacks {len(absent)} of the {len(self.columns)} columns that the "
                f"model was fitted with as view {self.name!r}: {shown(absent, 5)}; "
                f"{remedy}.",
            )
        return absent


def fit_view(
    table: FileTable,
    notes: list[str],
    *,
    empty_cells: str,
    log1p: bool,
    standard: bool,
    top_variance: int | None,
    learn: Learn = fit_low_rank,
) -> ViewPreparation:
    """Learn what was asked for from a table, and add to the notes what was decided."""
    X = table.values
    mixed = any(table.codes[j].kind != "number" for j in table.owner)
    if log1p:
        X = _log1p(X, table, _number_features(table))
        notes.append("log(1 + x) taken")
    columns, dropped = _columns_with_data(X, table, notes)
    if top_variance is not None and mixed:
        notes.append("top variance: not of mixed columns, all are kept")
    elif top_variance is not None:
        moments = _moments(X)
        variance = moments.squares / np.maximum(moments.count, 1)
        columns = _most_variable(columns, variance, top_variance, notes)
    if len(columns) < X.shape[1]:
        X = X[:, columns]
    owner = tuple(table.owner[j] for j in columns) if mixed else ()
    center = scale = None
    if mixed:
        center, scale = _balanced(X, table, owner, notes)
    elif standard:
        center, scale = _standardised(X, notes)
    used = list(dict.fromkeys(owner))
    return ViewPreparation(
        name=table.name,
        features=tuple(table.features[j] for j in columns),
        log1p=log1p,
        fill=_learn_fill(X, empty_cells, center, scale, learn),
        center=center,
        scale=scale,
        dropped=tuple(dropped),
        id_column=table.id_column,
        codes=tuple(table.codes[j] for j in used),
        owner=tuple(used.index(j) for j in owner),
    )


def _number_features(table: FileTable) -> list[int]:
    """Places of the features that are numbers, not categories, ranks or dates."""
    if not table.codes:
        return [*range(len(table.features))]
    kinds = [table.codes[j].kind for j in table.owner]
    return [j for j, kind in enumerate(kinds) if kind == "number"]


def _columns_with_data(
    X: Any, table: FileTable, notes: list[str]
) -> tuple[np.ndarray, list[str]]:
    """Places of the columns that are used, and names of those with too few numbers.

    The columns of tables were chosen as they were read: only empty ones are left.
    """
    n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
    count, present = _counts(X), int((n_nan < X.shape[1]).sum())
    if not count.any():
        raise input_error(table.source, "holds no number at all; leave it out.")
    least = 0 if table.codes else (1 - NEARLY_EMPTY) * present
    used = (count > 0) & (count >= least)
    empty = [table.features[j] for j in np.flatnonzero(count == 0)]
    scarce = [table.features[j] for j in np.flatnonzero((count > 0) & ~used)]
    if empty:
        notes.append(f"left out {len(empty)} columns without a number: {shown(empty)}")
    if scarce:
        notes.append(
            f"left out {len(scarce)} columns with more than {NEARLY_EMPTY:.0%} empty "
            f"cells: {shown(scarce)}"
        )
    return np.flatnonzero(used), empty + scarce


def _balanced(
    X: np.ndarray, table: FileTable, owner: tuple[int, ...], notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Centres and scales by which no kind of column of a mixed table rules others."""
    from imvc.io.columns._encode import balance

    kinds = [table.codes[j].kind for j in dict.fromkeys(owner)]
    listing = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(kinds))
    notes.append(f"mixed columns ({listing}), balanced: each weighs about the same")
    return balance(X, table.codes, owner)


def _standardised(X: Any, notes: list[str]) -> tuple[np.ndarray | None, np.ndarray]:
    moments = _moments(X)
    mean = moments.mean
    deviation = np.sqrt(moments.squares / np.maximum(moments.count, 1))
    # A constant column is moved to 0 and not stretched.
    tiny = np.finfo(X.dtype).eps * np.maximum(np.abs(mean), np.finfo(X.dtype).tiny)
    scale = np.where(deviation > 10 * tiny, deviation, 1.0)
    if sp.issparse(X):
        notes.append("sparse: divided by the standard deviation, not centred")
        return None, scale
    notes.append("scaled to mean 0 and standard deviation 1")
    return mean, scale


def learn_where_empty(X: Any, **options: Any) -> LowRank | None:
    """`fit_low_rank`, but None where no cell is to be filled.

    For tables to look at: no new samples, which may have empty cells, will follow.
    """
    n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
    if not np.any((n_nan > 0) & (n_nan < X.shape[1])):
        return None
    return fit_low_rank(X, **options)


def _learn_fill(
    X: Any,
    empty_cells: str,
    center: np.ndarray | None,
    scale: np.ndarray | None,
    learn: Learn,
) -> LowRank | None:
    """How empty cells are filled, also where only new samples will have some."""
    if empty_cells == "error":
        return None
    if empty_cells == "fill" and not sp.issparse(X):
        return learn(X, mean=center, scale=scale)
    return learn(X, rank=0)


def _most_variable(
    columns: np.ndarray, variance: np.ndarray, top: int, notes: list[str]
) -> np.ndarray:
    if top >= len(columns):
        notes.append(f"top variance {top}: all {len(columns)} columns kept")
        return columns
    order = np.argsort(-variance[columns], kind="stable")[:top]
    notes.append(f"kept the {top} of {len(columns)} columns with the largest variance")
    return columns[np.sort(order)]


def _log1p(X: Any, table: FileTable, numbers: list[int]) -> Any:
    """log(1 + x) of the columns of numbers; the others of a mixed table stay."""
    if len(numbers) < X.shape[1]:
        X = X.copy()
        own = replace(table, features=tuple(table.features[j] for j in numbers))
        X[:, numbers] = _log1p(X[:, numbers], own, [*range(len(numbers))])
        return X
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


def _moments(X: Any) -> CellMoments:
    """Count, mean and deviations of the numbers of each column, NaN left out."""
    if sp.issparse(X):
        return CellMoments.of(X)
    step = max(1, _BLOCK_BYTES // max(1, 8 * X.shape[1]))
    parts = (X[start : start + step] for start in range(0, X.shape[0], step))
    return reduce(add, map(CellMoments.of, parts))


def _counts(X: Any) -> np.ndarray:
    """How many numbers each column has."""
    if sp.issparse(X):
        holes = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    else:
        n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
        holes = np.isnan(X[n_nan > 0]).sum(axis=0)
    return X.shape[0] - holes


def missing_codes(table: FileTable) -> list[str]:
    """Warn of numbers that stand for "unknown", such as -999, and would be measured.

    Two cells or more hold one, and it is farther from all other numbers of its column
    than these are from each other.
    """
    X = table.values
    if sp.issparse(X):
        return []
    found = []
    for code in _CODES:
        held = X == code
        for j in np.flatnonzero(held.sum(axis=0) > 1).tolist():
            others = X[~held[:, j] & ~np.isnan(X[:, j]), j]
            if len(others) == 0 or others.min() <= code <= others.max():
                continue
            gap = min(abs(others.min() - code), abs(others.max() - code))
            if gap > np.ptp(others):
                found.append(f"{table.features[j]!r} ({code:g})")
    if not found:
        return []
    return [
        f"numbers that may stand for 'unknown' were taken as measured in "
        f"{listed(found[:3], len(found))}; if they do, empty these cells."
    ]


def apply_view(
    view: ViewPreparation, table: FileTable, training: bool = False
) -> FileTable:
    """Give a table the columns, fill values and scales of the fit.

    Columns that were not kept are no news to `training` data; empty ones are.
    """
    absent = view.check_columns(table.source, table.columns)
    X, extra = _select_columns(view, table)
    notes, warned = [], missing_codes(table) if training else []
    if extra and not training:
        notes.append(f"ignored {len(extra)} columns that the fit lacks: {shown(extra)}")
    if absent:
        warned.append(
            f"lacks {len(absent)} of the {len(view.columns)} columns of view "
            f"{view.name!r} ({shown(absent)}): they were filled in from the others."
        )
    owner = view.owner
    table = replace(
        table,
        name=view.name,
        features=view.features,
        values=X,
        codes=view.codes if owner else (),
        owner=owner,
    )
    if view.log1p:
        X = _log1p(X, table, _number_features(table))
    X, mostly = _fill_holes(X, table, view, notes)
    if mostly and training:
        warned.append(
            f"more than half of the cells are empty in {shown(mostly)}: most of what "
            f"is there was filled in; leave such columns out with --drop "
            f"{view.name}={mostly[0]}, unless they matter."
        )
    if view.scale is not None:
        X = _rescale(X, view)
    return replace(
        table,
        values=X,
        notes=table.notes + tuple(notes),
        warnings=table.warnings + tuple(warned),
    )


def _select_columns(view: ViewPreparation, table: FileTable) -> tuple[Any, list[str]]:
    """The columns of the fit by name, NaN where absent; and what else there is."""
    if table.features == view.features:
        return table.values, []
    place = {feature: j for j, feature in enumerate(table.features)}
    known = {*view.features, *view.dropped}
    extra = [feature for feature in table.features if feature not in known]
    at = [place.get(feature, -1) for feature in view.features]
    if -1 not in at:
        return table.values[:, at], extra
    X = table.values.toarray() if sp.issparse(table.values) else table.values
    X = np.column_stack([X, np.full(len(X), np.nan, X.dtype)])
    return X[:, at], extra  # -1 is the column of NaN


def _fill_holes(
    X: Any, table: FileTable, view: ViewPreparation, notes: list[str]
) -> tuple[Any, list[str]]:
    """Fill cells that are empty in rows that are not, or refuse them.

    Also the columns that are more than half empty.
    """
    n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
    n_absent = int((n_nan == X.shape[1]).sum())
    partly = np.flatnonzero((n_nan > 0) & (n_nan < X.shape[1]))
    if n_absent:
        notes.append(f"{n_absent} rows are empty: these samples lack the view")
    if len(partly) == 0:
        return X, []
    if view.fill is None:
        row, (_, column) = int(partly[0]), first_cell(X[partly[:1]], np.isnan)
        raise input_error(
            table.source,
            f"{table.row(row)} has no value in column {table.features[column]!r}, and "
            f"{len(partly)} rows have empty cells; leave out --empty-cells error "
            "(empty_cells='fill') to fill them, or empty the whole row if the sample "
            "lacks the view.",
        )
    n_present = X.shape[0] - n_absent
    shares = _empty_shares(X, n_present, view)
    cells = round(sum(shares.values()) * n_present)
    how = "by column means"
    if view.fill.rank:
        how = f"from the rest of their rows (rank {view.fill.rank})"
    most = [f"{name!r} ({share:.0%})" for name, share in [*shares.items()][:3]]
    notes.append(
        f"filled {cells} empty cells in {len(partly)} rows {how}; most in "
        f"{listed(most, len(shares))}"
    )
    mostly = [name for name, share in shares.items() if share > _MOSTLY_EMPTY]
    return fill_rows(X, view.fill), mostly


def _empty_shares(X: Any, n_present: int, view: ViewPreparation) -> dict[str, float]:
    """Share of empty cells of the columns that have some, the largest first."""
    names = [view.codes[j].name for j in view.owner] or view.features
    shares: dict[str, float] = {}
    for name, known in zip(names, _counts(X).tolist()):
        if known < n_present:
            shares[name] = 1 - known / n_present
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def column_table(
    table: FileTable, view: ViewPreparation, listed: int = _LISTED
) -> list[tuple[str, str, str, int, int, int]]:
    """How columns were read: name, kind, why, empty cells, rows, number of columns.

    More columns of numbers without an empty cell than `listed` share one entry.
    """
    X = table.values
    n_nan, _ = count_nonfinite(X, np.ones(X.shape[0], bool))
    present = int((n_nan < X.shape[1]).sum())
    codes: Any = [(c.name, c.kind, c.why, c.n_empty + c.n_odd) for c in table.codes]
    if not codes:
        dropped = set(view.dropped)
        codes = [
            (name, "left out", "nearly empty", present - count)
            if name in dropped
            else (name, "number", "numbers", present - count)
            for name, count in zip(table.features, _counts(X).tolist())
        ]
    plain = [c for c in codes if c[1] == "number" and c[2] == "numbers" and c[3] <= 0]
    if len(plain) <= listed:
        return [(*code, present, 1) for code in codes]
    first, last = plain[0][0], plain[-1][0]
    known = set(plain)
    rest = [code for code in codes if code not in known]
    together = (f"{first} ... {last}", "number", "numbers", 0, present, len(plain))
    return [together, *((*code, present, 1) for code in rest)]


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
    found["fill"] = None if view.fill is None else view.fill.to_dict()
    found["codes"] = [code.to_dict() for code in view.codes]
    return plain(found, np.ndarray.tolist)


def view_from_dict(d: Mapping[str, Any]) -> ViewPreparation:
    features = tuple(str(f) for f in d["features"])
    arrays = {}
    for key in ("center", "scale"):
        array = None if d[key] is None else np.asarray(d[key], dtype=np.float64)
        if array is not None and array.shape != (len(features),):
            raise ValueError(f"{key} does not fit the {len(features)} features")
        arrays[key] = array
    fill = None if d["fill"] is None else LowRank.from_dict(d["fill"])
    if fill is not None and len(fill.mean) != len(features):
        raise ValueError(f"fill does not fit the {len(features)} features")
    codes: tuple[Any, ...] = ()
    if d["codes"]:
        from imvc.io.columns._code import ColumnCode

        codes = tuple(ColumnCode.from_dict(code) for code in d["codes"])
    owner = tuple(int(j) for j in d["owner"])
    if owner and (len(owner) != len(features) or not 0 <= max(owner) < len(codes)):
        raise ValueError("owner does not fit the columns")
    return ViewPreparation(
        name=str(d["name"]),
        features=features,
        log1p=bool(d["log1p"]),
        fill=fill,
        dropped=tuple(str(f) for f in d["dropped"]),
        id_column=None if d["id_column"] is None else str(d["id_column"]),
        codes=codes,
        owner=owner,
        **arrays,
    )
