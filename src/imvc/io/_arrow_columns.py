"""Tables with typed columns, as pyarrow reads them, and which column holds the ids."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._errors import input_error, shown
from imvc.io.ids._candidates import IdCandidate, counts_rows
from imvc.io.ids._names import is_index_name


@dataclass
class ArrowColumns:
    """A table with typed columns, and what its file says of ids and lines."""

    table: Any  # pyarrow.Table
    source: str
    name: str
    notes: list[str] = field(default_factory=list)
    index: str | None = None  # the column that the file itself calls its index
    first: str | None = None  # the first column of the file
    lines: Callable[[int], int | None] | None = None
    decimal_comma: bool = False  # whether 3,5 is a number
    # Of a wide table: the numeric columns, which are then not in `table`.
    block_names: tuple[str, ...] = ()
    block: np.ndarray | None = None
    # Of rows from several files: columns that are numbers in some and text in others.
    torn: frozenset[str] = frozenset()

    @classmethod
    def of_file(cls, table: Any, source: str, name: str) -> "ArrowColumns":
        """A table of a Parquet or Feather file; its pandas index becomes the ids."""
        described = table.schema.pandas_metadata or {}
        stored = [c for c in described.get("index_columns", []) if isinstance(c, str)]
        known = [c for c in stored if c in table.column_names]
        index = known[0] if len(known) == 1 else None
        first = table.column_names[0] if table.num_columns else None
        return cls(table, source, name, index=index, first=first)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.block) if self.block is not None else self.table.num_rows

    @property
    def names(self) -> list[str]:
        """All columns; of a wide table those of text first."""
        return [*self.table.column_names, *self.block_names]


def is_numeric(dtype: Any) -> bool:
    kind = pa.types
    return (
        kind.is_integer(dtype)
        or kind.is_floating(dtype)
        or kind.is_boolean(dtype)
        or kind.is_decimal(dtype)
        or kind.is_null(dtype)
    )


def is_nested(dtype: Any) -> bool:
    return pa.types.is_nested(dtype)


def as_text(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = column.cast(pa.large_string())
    return column.cast(pa.string())


def id_candidates(columns: ArrowColumns) -> tuple[IdCandidate, ...]:
    """The columns of a table that might hold ids: text, or whole numbers."""
    found = []
    for name, column in zip(columns.table.column_names, columns.table.columns):
        if is_nested(column.type) or not _may_be_ids(columns, name, column):
            continue
        text = id_text(column)
        found.append(
            IdCandidate(
                name,
                text.to_numpy(),
                whole=are_whole(known_texts(text)),
                first=name == columns.first,
                declared=name == columns.index,
            )
        )
    return tuple(found)


def _may_be_ids(columns: ArrowColumns, name: str, column: Any) -> bool:
    """Leave out what is plainly measured: fractions, and numbers that repeat."""
    if name in (columns.index, columns.first) or is_index_name(name):
        return True
    if not is_numeric(column.type):
        return True
    if not pa.types.is_integer(column.type):
        return False
    return pc.count_distinct(column, mode="all").as_py() == len(column)


def id_text(column: Any) -> Any:
    """A column as stripped text, empty where it is null; 7.0 becomes 7."""
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        if pc.all(pc.equal(pc.round(column), column)).as_py():
            column = column.cast(pa.int64(), safe=False)
    text = pc.utf8_trim_whitespace(as_text(column))
    text = pc.fill_null(text, "")
    if pc.all(pc.match_substring_regex(text, r"^-?\d+\.0+$")).as_py():
        text = pc.replace_substring_regex(text, r"\.0+$", "")
    return text


def known_texts(text: Any) -> Any:
    """Those of the texts that are not empty."""
    return pc.filter(text, pc.not_equal(text, ""))


def are_whole(known: Any) -> bool:
    """Whether all texts are whole numbers."""
    return bool(pc.all(pc.match_substring_regex(known, r"^[-+]?\d+$")).as_py())


def drop_blank_rows(columns: ArrowColumns, id_column: str) -> None:
    """Leave out rows that hold nothing at all: spreadsheets have them at the end."""
    table, lines = columns.table, columns.lines
    blank = pc.equal(id_text(table.column(id_column)), "")
    if not pc.any(blank).as_py():
        return
    for name in table.column_names:
        if name != id_column:
            blank = pc.and_(blank, is_blank(table.column(name)))
    empty = np.asarray(blank.to_numpy(), dtype=bool)
    if columns.block is not None:
        empty &= np.isnan(columns.block).all(axis=1)
    if not empty.any():
        return
    if empty.all():
        raise input_error(columns.source, "has rows that hold nothing.")
    columns.notes.append(f"left out {empty.sum()} rows that hold nothing")
    kept = np.flatnonzero(~empty)
    columns.table = table.filter(pa.array(~empty))
    if columns.block is not None:
        columns.block = columns.block[kept]
    if lines is not None:
        columns.lines = lambda row: lines(int(kept[row]))


def is_blank(column: Any) -> Any:
    """Where the cells of a column hold nothing."""
    if pa.types.is_string(column.type):
        return pc.equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), "")
    return pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))


def stack_parts(parts: list[ArrowColumns], name: str, source: str) -> ArrowColumns:
    """The rows of several files of one view, below one another.

    A column that one of them lacks is empty there. Row counters start anew in every
    file and are left out.
    """
    counting: dict[str, bool] = {}
    for column in (column for part in parts for column in id_candidates(part)):
        counting[column.name] = counts_rows(column) and counting.get(column.name, True)
    tables = [_without(part.table, counting) for part in parts]
    names = dict.fromkeys(c for table in tables for c in table.column_names)
    notes = [f"{part.source}: {note}" for part in parts for note in part.notes]
    lacking = {
        part.source: [c for c in names if c not in table.column_names]
        for part, table in zip(parts, tables)
    }
    for file, absent in lacking.items():
        if absent:
            notes.append(f"{file}: lacks {len(absent)} columns: {shown(absent)}")
    stacked = {c: _stack_column(c, tables) for c in names}
    left_out = [name for name in counting if counting[name]]
    if left_out:
        notes.append(f"left out columns that only count rows: {shown(left_out)}")
    return ArrowColumns(
        pa.table(stacked),
        source,
        name,
        [*notes, f"rows of {len(parts)} files"],
        index=parts[0].index,
        first=next(iter(names), None),
        torn=frozenset(c for c in names if _is_torn(c, tables)),
    )


def _without(table: Any, counting: Mapping[str, bool]) -> Any:
    return table.drop([name for name in table.column_names if counting.get(name)])


def _is_torn(name: str, tables: list[Any]) -> bool:
    """Whether a column is numbers in some tables and text in others."""
    types = [t.column(name).type for t in tables if name in t.column_names]
    numeric = [is_numeric(dtype) for dtype in types if not pa.types.is_null(dtype)]
    return any(numeric) and not all(numeric)


def _stack_column(name: str, tables: list[Any]) -> Any:
    """One column of several tables; as text where their types do not go together."""
    pieces = [
        t.column(name) if name in t.column_names else pa.nulls(t.num_rows)
        for t in tables
    ]
    types = {piece.type for piece in pieces if not pa.types.is_null(piece.type)}
    if len(types) > 1:
        both = pa.float64() if all(map(is_numeric, types)) else pa.string()
        cast = as_text if both == pa.string() else lambda piece: piece.cast(both)
        pieces = [p if pa.types.is_null(p.type) else cast(p) for p in pieces]
        types = {both}
    kind = next(iter(types), pa.null())
    chunks = [chunk for piece in pieces for chunk in getattr(piece, "chunks", [piece])]
    return pa.chunked_array([chunk.cast(kind) for chunk in chunks], kind)
