"""From the typed columns of a table to ids, features and metadata.

Text files, sheets, Parquet and Feather all come here as pyarrow tables. There are loops
over columns, never over rows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._arrow_columns import (
    ArrowColumns,
    are_whole,
    drop_blank_rows,
    id_text,
    is_blank,
    is_nested,
    is_numeric,
    known_texts,
)
from imvc.io._checked_table import check_ids, check_table, refuse_repeats
from imvc.io._dialect import DECIMAL_COMMA, NA_WORDS
from imvc.io._errors import input_error, shown
from imvc.io._file_table import NEARLY_EMPTY, FileTable
from imvc.io.columns._classify import classify
from imvc.io.columns._code import ColumnCode
from imvc.io.columns._encode import encode, metadata_values
from imvc.io.ids._choose import IdChoice
from imvc.io.ids._names import is_index_name, is_nameless

_HARDLY_REPEATS = 0.9  # share of different values


def table_from_columns(
    columns: ArrowColumns, choice: IdChoice, asked: Mapping[str, Any]
) -> FileTable:
    """A view as its columns say; `asked` as `ColumnOptions.for_view` gives it."""
    ids, table = _take_ids(columns, choice.column)
    try:
        codes, notes = classify(
            table,
            **asked,
            counters=choice.counters,
            identifiers=_identifiers(table),
            decimal_comma=columns.decimal_comma,
            present=_present_rows(table, columns.block),
        )
    except ValueError as error:
        raise input_error(columns.source, str(error)) from error
    codes += _block_codes(columns, asked, choice.counters)
    columns.notes += notes
    result = _encoded(columns, table, codes, choice.column, ids, is_fit=True)
    result = replace(
        result,
        metadata=metadata_values(table, codes),
        warnings=(*result.warnings, *_torn_columns(columns.torn, codes)),
    )
    return check_table(result, columns.lines)


def _torn_columns(torn: Collection[str], codes: Sequence[ColumnCode]) -> list[str]:
    """A warning of columns that are numbers in some files of the view only."""
    names = [
        c.name for c in codes if c.name in torn and c.kind not in ("number", "left out")
    ]
    if not names:
        return []
    return [
        f"numbers in some of its files and text in others: {shown(names)}, so no "
        "numbers in any; write them the same way, or leave them out with --drop "
        "VIEW=COLUMN."
    ]


def table_like_fit(
    columns: ArrowColumns, choice: IdChoice, codes: Sequence[ColumnCode]
) -> FileTable:
    """New rows, coded as in the fit; columns that the fit lacks describe samples.

    Columns of the fit that are not there are left out, to be filled in later.
    """
    ids, table = _take_ids(columns, choice.column)
    there = set(columns.names)
    used = [c for c in codes if c.is_used and c.name in there]
    result = _encoded(columns, table, used, choice.column, ids)
    known = {code.name for code in codes} | set(choice.counters)
    rest = [name for name in table.column_names if name not in known]
    described = [ColumnCode(name, "metadata", "not of the model") for name in rest]
    metadata = metadata_values(table.select(rest), described)
    return check_table(replace(result, metadata=metadata), columns.lines)


def metadata_from_columns(
    columns: ArrowColumns, id_column: str | None, counters: Collection[str] = ()
) -> tuple[np.ndarray | None, dict[str, np.ndarray]]:
    """Ids and all other columns of a table as metadata, numbers included."""
    ids, table = _take_ids(columns, id_column)
    check_ids(columns.source, ids, id_column, columns.lines)
    names = [name for name in table.column_names if name not in counters]
    codes = [ColumnCode(name, "metadata", "describes samples") for name in names]
    return ids, metadata_values(table.select(names), codes)


def _take_ids(
    columns: ArrowColumns, id_column: str | None
) -> tuple[np.ndarray | None, Any]:
    """The ids, and the other columns."""
    refuse_repeats(columns.source, columns.names)
    if columns.n_rows == 0:
        raise input_error(columns.source, "has a header and no rows below it.")
    if id_column is None:
        return None, columns.table
    drop_blank_rows(columns, id_column)
    ids = id_text(columns.table.column(id_column)).to_numpy()
    return ids, columns.table.drop([id_column])


def _identifiers(table: Any) -> list[str]:
    """Columns of numbers that are called like ids and hardly repeat: no measurements.

    Text that hardly repeats is known as such by its values.
    """
    found = []
    for name, column in zip(table.column_names, table.columns):
        if is_nested(column.type) or is_nameless(name) or not is_index_name(name):
            continue
        known = known_texts(id_text(column))
        distinct = pc.count_distinct(known).as_py()
        if are_whole(known) and distinct >= _HARDLY_REPEATS * max(1, len(known)):
            found.append(name)
    return found


def _present_rows(table: Any, block: np.ndarray | None) -> np.ndarray:
    """Rows that hold anything: of the others the samples lack this view."""
    present = np.zeros(table.num_rows if block is None else len(block), dtype=bool)
    if block is not None:
        present |= ~np.isnan(block).all(axis=1)
    for column in table.columns:
        if present.all():
            break
        present |= ~np.asarray(is_blank(column).to_numpy(), dtype=bool)
    return present


def _block_codes(
    columns: ArrowColumns, asked: Mapping[str, Any], counters: Collection[str]
) -> list[ColumnCode]:
    """Codes of the numeric columns of a wide table."""
    if columns.block is None:
        return []
    present = ~np.isnan(columns.block).all(axis=1)
    n_empty = np.isnan(columns.block[present]).sum(axis=0).tolist()
    most = NEARLY_EMPTY * present.sum()
    found = []
    for name, empty in zip(columns.block_names, n_empty):
        kind, why = "number", "numbers"
        kept = asked["keep"]
        if name in asked["drop"] or (kept is not None and name not in kept):
            kind, why = "left out", "asked for"
        elif name in counters:
            kind, why = "left out", "counts rows"
        elif empty > most and kept is None:
            kind, why = "left out", f"{empty / present.sum():.0%} empty"
        found.append(ColumnCode(name, kind, why, n_empty=empty))
    return found


def _encoded(
    columns: ArrowColumns,
    table: Any,
    codes: Sequence[ColumnCode],
    id_column: str | None,
    ids: np.ndarray | None,
    *,
    is_fit: bool = False,
) -> FileTable:
    """The columns that are used as numbers: those of the table, then of its block."""
    used = [j for j, code in enumerate(codes) if code.is_used]
    own = [j for j in used if codes[j].name in set(table.column_names)]
    warned: tuple[str, ...] = ()
    plain = all(
        codes[j].kind == "number" and is_numeric(table.column(codes[j].name).type)
        for j in own
    )
    if plain:
        names = [codes[j].name for j in own]
        values = _dense({name: table.column(name) for name in names}, columns.n_rows)
        features, owner = names, list(own)
    else:
        coded = encode(
            table, [codes[j] for j in own], decimal_comma=columns.decimal_comma
        )
        values, features = coded.values, list(coded.features)
        owner = [own[j] for j in coded.owner]
        if not is_fit:  # of a fit `classify` has told it
            columns.notes += coded.notes
            warned = tuple(coded.warnings)
    place = {name: j for j, name in enumerate(columns.block_names)}
    rest = [j for j in used if codes[j].name in place]
    if rest and columns.block is not None:
        block = columns.block
        if len(rest) < block.shape[1]:
            block = block[:, [place[codes[j].name] for j in rest]]
        values = np.hstack([values, block]) if features else block
        features += [codes[j].name for j in rest]
        owner += rest
    return FileTable(
        name=columns.name,
        source=columns.source,
        ids=ids,
        values=values,
        features=tuple(features),
        notes=tuple(columns.notes),
        warnings=warned,
        id_column=id_column,
        codes=tuple(codes),
        owner=tuple(owner),
    )


def numbers_in_text(column: Any, decimal_comma: bool = False) -> Any | None:
    """Numbers that a text column holds, or None if any cell is something else."""
    if not pa.types.is_string(column.type):
        return None
    text = pc.utf8_trim_whitespace(column)
    if decimal_comma:
        points = pc.match_substring_regex(text, r"^[-+]?[1-9]\d{0,2}\.\d{3}$")
        if pc.any(points).as_py():  # thousands, if all of the column agrees
            return None
        fits = pc.match_substring_regex(text, rf"^({DECIMAL_COMMA})$")
        swapped = pc.replace_substring(text, ",", ".")
        text = pc.if_else(fits, swapped, text)
    missing = pc.is_in(text, value_set=pa.array(NA_WORDS))
    text = pc.if_else(missing, pa.scalar(None, pa.string()), text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        return None


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
