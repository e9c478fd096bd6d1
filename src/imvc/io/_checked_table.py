"""Tables made of matrices, ids and names: what no view may have is refused here."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import input_error, listed
from imvc.io._file_bytes import check_sparse
from imvc.io._file_table import FileTable
from imvc.views import count_nonfinite, float_dtype


def float_values(values: Any) -> Any:
    """Floating and C-ordered or CSR; float32 stays, all else becomes float64."""
    dtype = float_dtype(values.dtype)
    if sp.issparse(values):
        values = sp.csr_array(values).astype(dtype, copy=False)
        values.sum_duplicates()
        return values
    return np.ascontiguousarray(values, dtype=dtype)


def number_names(n: int) -> tuple[str, ...]:
    """Names of columns that have none: ``column 1``, ``column 2``, ..."""
    return tuple(f"column {j}" for j in range(1, n + 1))


def id_strings(values: Any) -> np.ndarray:
    """Ids as stripped text in an object array; whole floats lose their ``.0``."""
    values = np.asarray(values)
    if values.dtype.kind == "f" and np.isfinite(values).all():
        whole = values.astype(np.int64)
        values = whole if (whole == values).all() else values
    ids = np.empty(len(values), dtype=object)
    if values.dtype.kind == "S":
        ids[:] = np.char.strip(np.char.decode(values, "utf-8", "replace")).tolist()
    elif values.dtype.kind == "O":
        ids[:] = [_id_text(value) for value in values.tolist()]
    else:
        ids[:] = np.char.strip(values.astype(str)).tolist()
    return ids


def _id_text(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def matrix_table(
    values: Any,
    name: str,
    source: str,
    *,
    ids: np.ndarray | None = None,
    features: tuple[str, ...] | None = None,
    metadata: dict[str, np.ndarray] | None = None,
    notes: tuple[str, ...] = (),
) -> FileTable:
    """A checked FileTable of a matrix of numbers, dense or sparse."""
    if values.dtype.kind not in "biuf":
        raise input_error(
            source, f"holds values of type {values.dtype}; give real numbers."
        )
    if values.ndim != 2:
        raise input_error(
            source,
            f"holds an array of shape {values.shape}; give a matrix with one row per "
            "sample.",
        )
    if sp.issparse(values):
        check_sparse(source, values.shape, values.nnz)
    if values.shape[0] == 0:  # before columns are named, of which there may be billions
        raise input_error(source, "has no rows; give one row per sample.")
    if features is None:
        features = number_names(values.shape[1])
    if ids is None:
        notes = (*notes, "no ids: rows are taken in their order")
    return check_table(
        FileTable(
            name=name,
            source=source,
            ids=ids,
            values=float_values(values),
            features=features,
            notes=notes,
            metadata=metadata or {},
        )
    )


def to_object_array(values: np.ndarray) -> np.ndarray:
    """Values as Python objects, text as str."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    objects = np.empty(len(values), dtype=object)
    objects[:] = values.tolist()
    return objects


def check_table(table: FileTable, lines: Any = None) -> FileTable:
    """Refuse what no view may have: no rows, no features, bad ids, infinities.

    `lines` gives the line of the file that holds a row, for text.
    """
    n, d = table.values.shape
    if n == 0:
        raise input_error(table.source, "has no rows; give one row per sample.")
    if d == 0:
        raise input_error(
            table.source,
            "has no column that can be used; check the separator, or say what its "
            "columns are (--as COLUMN=KIND).",
        )
    if len(table.features) != d:
        raise input_error(
            table.source, f"has {d} columns and {len(table.features)} column names."
        )
    if table.ids is not None and len(table.ids) != n:
        raise input_error(table.source, f"has {n} rows and {len(table.ids)} ids.")
    check_ids(table.source, table.ids, table.id_column, lines)
    refuse_repeats(table.source, table.features)
    _, n_inf = count_nonfinite(table.values, np.ones(n, bool))
    if n_inf.any():
        row, column = first_cell(table.values, np.isinf)
        raise input_error(
            table.source,
            f"{table.row(row)} has an infinite value in column "
            f"{table.features[column]!r}; replace it, or leave the cell empty.",
            lines and lines(row),
        )
    return table


def check_ids(
    source: str, ids: np.ndarray | None, id_column: str | None, lines: Any = None
) -> None:
    """Refuse rows without an id, and ids that come twice."""
    if ids is None:
        return
    nameless = np.flatnonzero(ids == "")
    if len(nameless):
        raise input_error(
            source,
            f"{len(nameless)} rows have no id, first row {nameless[0]}; give them ids "
            "or drop them.",
            lines and lines(int(nameless[0])),
        )
    if len(set(ids.tolist())) < len(ids):
        _refuse_repeated_ids(source, ids, id_column, lines)


def _refuse_repeated_ids(
    source: str, ids: np.ndarray, id_column: str | None, lines: Any
) -> NoReturn:
    """Name the first ids that come twice, with their lines where those are known."""
    values, first, codes, counts = np.unique(
        ids.astype(str), return_index=True, return_inverse=True, return_counts=True
    )
    twice = np.flatnonzero(counts > 1)
    twice = twice[np.argsort(first[twice])]
    parts, place = [], None
    for code in twice[:3]:
        rows = np.flatnonzero(codes == code)[:3].tolist()
        found = [lines(row) for row in rows] if lines else [None]
        known = None not in found
        if known and place is None:
            place = found[1]
        where = ", ".join(map(str, found if known else rows))
        parts.append(f"{str(values[code])!r} ({'lines' if known else 'rows'} {where})")
    column = "" if id_column is None else f" in column {id_column!r}"
    raise input_error(
        source,
        f"{len(twice)} ids come more than once{column}: {listed(parts, len(twice))}; "
        "keep one row per id, or name another column of ids (--id).",
        place,
    )


def refuse_repeats(source: str, names: Any) -> None:
    """Raise where a column name comes twice."""
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    repeats = []
    for j, name in enumerate(names, start=1):
        if name in seen:
            repeats.append(f"{name!r} (columns {seen[name]} and {j})")
        seen.setdefault(name, j)
    named = listed(repeats[:3], len(repeats))
    raise input_error(source, f"column names come twice: {named}; rename them.")


def first_cell(X: Any, is_meant: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int]:
    """Row and column of the first number of a kind, of sparse ones as far as stored."""
    if not sp.issparse(X):
        row, column = np.argwhere(is_meant(X))[0]
        return int(row), int(column)
    entry = np.flatnonzero(is_meant(X.data))[0]
    row = np.searchsorted(X.indptr, entry, side="right") - 1
    return int(row), int(X.indices[entry])


def transposed(table: FileTable) -> FileTable:
    """The table of a file whose samples are in columns."""
    features = (
        tuple(f"row {i}" for i in range(table.n_rows))
        if table.ids is None
        else tuple(str(i) for i in table.ids)
    )
    ids = None
    if table.features != number_names(len(table.features)):
        ids = id_strings(np.array(table.features, dtype=object))
    notes = [*table.notes, "transposed: samples are in columns"]
    if table.metadata:
        names = ", ".join(map(repr, list(table.metadata)[:3]))
        notes.append(f"left out what describes features, not samples: {names}")
    return check_table(
        replace(
            table,
            ids=ids,
            values=float_values(table.values.T),
            features=features,
            notes=tuple(notes),
            metadata={},
            id_column=None,
            codes=(),
            owner=(),
        )
    )
