"""Values of a view that need care: no plain numbers, sparse, infinite, partly NaN.

Every pass goes over bounded blocks of rows, so a view larger than half the memory can
be checked. A view of plain finite numbers never comes here.
"""

from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from imvc.views._container import float_dtype, row_blocks
from imvc.views._frames import Table

# Largest number, and inverse of the smallest, whose square is safe, by bytes: a view
# outside is multiplied by a power of two before it is squared (imvc.scale.SafeRange).
SAFE_SIZE = {4: 1e15, 8: 1e100}


def to_numbers(table: Table, wanted: np.ndarray) -> Any:
    """Values as real numbers, where they are objects that can be; else an error."""
    X, name = table.X, table.name
    if X.dtype.kind == "O" and not sp.issparse(X):
        # NaN for None and for pandas' NA, and in all rows that are not wanted.
        numbers = np.full(X.shape, np.nan)
        values, good = np.frompyfunc(_number_from_object, 1, 2)(X[wanted])
        numbers[wanted] = values.astype(np.float64)
        bad = np.flatnonzero(~good.astype(bool).all(axis=0))
        if len(bad):
            raise TypeError(
                f"view {name!r} has {_columns(table, bad)} with values that are not "
                "real numbers; encode or drop them."
            )
        return numbers
    kinds = {"c": "complex numbers", "M": "dates", "m": "time spans"}
    what = kinds.get(X.dtype.kind, "text" if X.dtype.kind in "US" else "no numbers")
    raise TypeError(f"view {name!r} holds {what} (dtype {X.dtype}); pass real numbers.")


def _number_from_object(value: object) -> tuple[float, bool]:
    """Value as a float, and whether it was a number or the absence of one."""
    if isinstance(value, Real | Decimal | np.bool_):
        return float(value), True
    return np.nan, value is None or type(value).__name__ == "NAType"


def count_sparse(X: Any, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of NaN and of infinities in each wanted row, as far as stored."""
    n = X.shape[0]
    n_nan, n_inf = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for block in row_blocks(X.data[:, None]):
        data = X.data[block]
        with np.errstate(all="ignore"):
            if np.isfinite(data.sum()):
                continue
        entries = np.flatnonzero(~np.isfinite(data))
        rows = np.searchsorted(X.indptr, block.start + entries, side="right") - 1
        nan = np.isnan(data[entries])
        n_nan += np.bincount(rows[nan], minlength=n)
        n_inf += np.bincount(rows[~nan], minlength=n)
    return n_nan * wanted, n_inf * wanted


def refuse_infinite(table: Table, X: Any, n_inf: np.ndarray) -> NoReturn:
    """Name the first infinite value and what to do about it."""
    rows = np.flatnonzero(n_inf)
    values = X[rows[:1]]
    values = values.toarray() if sp.issparse(values) else values
    column = int(np.flatnonzero(np.isinf(values[0]))[0])
    raise ValueError(
        f"view {table.name!r} has infinite values in {len(rows)} rows, first at "
        f"{where(rows[:1], table.index)}, {_columns(table, [column])}; replace them, "
        f"or {_way_out(table)}."
    )


def out_of_range(X: Any, wanted: np.ndarray) -> tuple[int, int] | None:
    """Row and column of the largest number, if most rows are far below it; else None.

    For a view with squares that overflow: where all rows are about as large, a power
    of two brings them into range.
    """
    sizes = abs(X)
    if sp.issparse(X):
        sizes.data[np.isnan(sizes.data)] = 0
        sizes = sizes.max(axis=1).toarray().reshape(-1, 1)
    sizes = np.where(wanted, np.fmax.reduce(sizes, axis=1), 0)
    safe, row = SAFE_SIZE[float_dtype(X.dtype).itemsize], int(sizes.argmax())
    if sizes[row] < safe:  # only rows that are not wanted are so large
        return None
    positive = np.sort(sizes[sizes > 0])
    typical = positive[len(positive) // 2]
    if typical > safe and sizes[row] / typical < safe:
        return None
    return row, int(np.nanargmax(np.abs(_dense(X[[row]])[0])))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def refuse_overflow(table: Table, X: Any, place: tuple[int, int]) -> NoReturn:
    """Name a number that is too large beside the others, and what to do about it."""
    row, column = place
    value = float(_dense(X[[row]])[0, column])
    raise ValueError(
        f"view {table.name!r} has the number {value:.3g} at "
        f"{where(np.array([row]), table.index)}, {_columns(table, [column])}, whose "
        f"square overflows, beside others that are far smaller; correct it, or "
        f"{_way_out(table)}."
    )


def refuse_partly_missing(table: Table, rows: np.ndarray) -> NoReturn:
    """Name the rows that are partly NaN and what to do about them."""
    raise ValueError(
        f"view {table.name!r} has {len(rows)} rows that are partly NaN, first at "
        f'{where(rows, table.index)}; pass empty_cells="fill" to the estimator, which '
        f"then fills them from the rest of their rows, or {_way_out(table)}."
    )


def _way_out(table: Table) -> str:
    """How to declare rows missing: tables with ids of their own have no common mask."""
    if table.index is None:
        return "mark these samples as missing in mask"
    return "drop these rows from the table"


def where(rows: np.ndarray, ids: Any) -> str:
    """First few rows, with their ids where there are any."""
    rows = rows[:3]
    text = f"row {rows[0]}" if len(rows) == 1 else f"rows {rows.tolist()}"
    return text if ids is None else f"{text} (ids {ids[rows].tolist()})"


def _columns(table: Table, columns: Any) -> str:
    names = table.feature_names
    shown = [int(j) if names is None else names[j] for j in columns[:3]]
    if len(columns) == 1:
        return f"column {shown[0]!r}"
    return f"{len(columns)} columns, first {shown}"
