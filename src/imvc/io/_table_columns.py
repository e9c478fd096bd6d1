"""From the typed columns of a table to ids, features and metadata.

Text files, Parquet and Feather all come here as pyarrow tables. There are loops over
columns, never over rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._arrow_columns import (
    ArrowColumns,
    as_text,
    drop_blank_rows,
    id_text,
    is_nested,
    is_numeric,
    pick_ids,
)
from imvc.io._checked_table import check_ids, check_table, refuse_repeats
from imvc.io._dialect import DECIMAL_COMMA, NA_WORDS, NUMBER
from imvc.io._errors import input_error, listed
from imvc.io._file_table import FileTable, Request

_MAX_CATEGORIES = 100


def table_from_columns(columns: ArrowColumns, request: Request) -> FileTable:
    """Tell ids, numbers and text apart, and check the result."""
    source = columns.source
    id_column, ids, table = _take_ids(columns, request)
    lines = columns.lines
    numbers, texts = _numbers_and_texts(table, columns.likely_ids)
    values, features = _dense(numbers, columns.n_rows), list(numbers)
    if columns.block is not None:
        values = np.hstack([values, columns.block]) if features else columns.block
        features += columns.block_names
    onehot: dict[str, tuple[str, ...]] = {}
    if texts and request.non_numeric == "error":
        raise input_error(
            source,
            f"has {_describe_texts(texts, lines)}; drop them, or pass "
            "non_numeric='onehot' (--non-numeric onehot).",
        )
    if texts and request.non_numeric == "onehot":
        encoded = {key: _one_hot(text, key, source) for key, text in texts.items()}
        onehot = {key: kinds for key, (_, kinds) in encoded.items()}
        values = np.hstack([values, *(block for block, _ in encoded.values())])
        features += [f"{key}={kind}" for key in onehot for kind in onehot[key]]
        columns.notes.append(f"one-hot encoded {_describe_texts(texts, lines)}")
    elif texts:
        columns.notes.append(f"left out {_describe_texts(texts, lines)}")
    result = FileTable(
        name=columns.name,
        source=source,
        ids=ids,
        values=values,
        features=tuple(features),
        notes=tuple(columns.notes),
        metadata={key: _as_metadata(text) for key, text in texts.items()},
        id_column=id_column,
        onehot=onehot,
    )
    return check_table(result, lines)


def metadata_from_columns(
    columns: ArrowColumns, request: Request
) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
    """Ids and all other columns of a table as metadata, numbers included."""
    id_column, ids, table = _take_ids(columns, request)
    check_ids(columns.source, ids, id_column, columns.lines)
    return ids, {
        key: _as_metadata(column)
        for key, column in zip(table.column_names, table.columns)
    }


def _take_ids(
    columns: ArrowColumns, request: Request
) -> tuple[str | None, np.ndarray | None, Any]:
    """Column of the ids, the ids, and the other columns."""
    refuse_repeats(columns.source, columns.names)
    if columns.n_rows == 0:
        raise input_error(columns.source, "has a header and no rows below it.")
    id_column = pick_ids(columns, request)
    if id_column is None:
        return None, None, columns.table
    drop_blank_rows(columns, id_column)
    ids = id_text(columns.table.column(id_column)).to_numpy()
    return id_column, ids, columns.table.drop([id_column])


def numbers_in_text(column: Any, decimal_comma: bool = False) -> Any | None:
    """Numbers that a text column holds, or None if any cell is something else."""
    if not pa.types.is_string(column.type):
        return None
    text = pc.utf8_trim_whitespace(column)
    if decimal_comma:
        fits = pc.match_substring_regex(text, rf"^({DECIMAL_COMMA})$")
        swapped = pc.replace_substring(text, ",", ".")
        text = pc.if_else(fits, swapped, text)
    missing = pc.is_in(text, value_set=pa.array(NA_WORDS))
    text = pc.if_else(missing, pa.scalar(None, pa.string()), text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


def _numbers_and_texts(
    table: Any, likely: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns by name: those that are numbers, and the others."""
    numbers: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns):
        if name == likely:  # read as text because it could have held ids
            converted = numbers_in_text(column)
            column = column if converted is None else converted
        (numbers if is_numeric(column.type) else texts)[name] = column
    return numbers, texts


def _dense(columns: dict[str, Any], n: int) -> np.ndarray:
    """Columns side by side, NaN where null, filled block of rows by block of rows."""
    kind = pa.types
    narrow = columns and all(
        kind.is_float32(c.type) or kind.is_float16(c.type) for c in columns.values()
    )
    out = np.empty((n, len(columns)), dtype=np.float32 if narrow else np.float64)
    if not columns:
        return out
    start = 0
    for batch in pa.table(columns).to_batches():
        block = out[start : start + batch.num_rows]
        for j, column in enumerate(batch.columns):
            if not (kind.is_integer(column.type) or kind.is_floating(column.type)):
                column = column.cast(pa.float64())
            # Nulls of every type come out as NaN.
            block[:, j] = column.to_numpy(zero_copy_only=False)
        start += batch.num_rows
    return out


def _as_metadata(column: Any) -> np.ndarray:
    """Objects, None where there is no value; numbers stay numbers."""
    if is_numeric(column.type) or is_nested(column.type):
        values = column.to_pylist()
        if is_nested(column.type):
            values = [None if value is None else str(value) for value in values]
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        return objects
    text = pc.utf8_trim_whitespace(as_text(column))
    missing = pc.is_in(text, value_set=pa.array(NA_WORDS))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text).to_numpy()


def _one_hot(column: Any, name: str, source: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """0/1 columns of a text column, NaN where it has no value; and its values."""
    values = _as_metadata(column)
    known = values != np.array(None, dtype=object)
    categories, codes = np.unique(values[known].astype(str), return_inverse=True)
    if len(categories) > _MAX_CATEGORIES:
        raise input_error(
            source,
            f"column {name!r} has {len(categories)} different texts, e.g. "
            f"{str(categories[0])!r}: too many to one-hot encode (at most "
            f"{_MAX_CATEGORIES}); drop the column.",
        )
    block = np.full((len(values), len(categories)), np.nan)
    block[known] = codes[:, None] == np.arange(len(categories))
    return block, tuple(str(c) for c in categories)


def _describe_texts(
    texts: dict[str, Any], lines: Callable[[int], int | None] | None = None
) -> str:
    """``2 text columns: 'tissue' (e.g. 'brain'), ...``."""
    count = f"{len(texts)} text column{'s' if len(texts) > 1 else ''}"
    parts = [_example(name, column, lines) for name, column in list(texts.items())[:5]]
    return f"{count}: {listed(parts, len(texts))}"


def _example(name: str, column: Any, lines: Callable[[int], int | None] | None) -> str:
    """A column with an example; with its odd cell if it is numbers but for a few."""
    if is_nested(column.type):
        return f"{name!r} ({column.type})"
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    empty = pc.is_in(text, value_set=pa.array(NA_WORDS))
    odd = pc.invert(pc.or_(empty, pc.match_substring_regex(text, rf"^{NUMBER}$")))
    n_odd, n_full = pc.sum(odd).as_py(), len(text) - pc.sum(empty).as_py()
    row = pc.index(odd, True).as_py()
    if row < 0:
        return f"{name!r}"
    value = text[row].as_py()
    if 2 * n_odd >= n_full:
        return f"{name!r} (e.g. {value[:40]!r})"
    line = lines(row) if lines else None
    place = f"row {row}" if line is None else f"line {line}"
    return f"{name!r} (numbers but for {n_odd} cells, first {value[:40]!r} at {place})"
