"""Tables with typed columns, as pyarrow reads them, and which column holds the ids."""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._dialect import NUMBER
from imvc.io._errors import input_error, shown
from imvc.io._file_table import Request

_INDEX_NAMES = frozenset(
    "id ids index key sample samples sampleid samplename barcode barcodes cell cells "
    "cellid patient patients patientid subject subjects subjectid participant "
    "participantid donor donorid case caseid rownames row name names".split()
)


@dataclass
class ArrowColumns:
    """A table with typed columns, and what its file says of ids and lines."""

    table: Any  # pyarrow.Table
    source: str
    name: str
    notes: list[str] = field(default_factory=list)
    index: str | None = None  # the column that the file itself calls its index
    first: str | None = None  # the first column of the file
    likely_ids: str | None = None  # the same, if it is called like ids
    lines: Callable[[int], int | None] | None = None
    # Of a wide table: the numeric columns, which are then not in `table`.
    block_names: tuple[str, ...] = ()
    block: np.ndarray | None = None

    @classmethod
    def of_file(cls, table: Any, source: str, name: str) -> "ArrowColumns":
        """A table of a Parquet or Feather file; its pandas index becomes the ids."""
        described = table.schema.pandas_metadata or {}
        stored = [c for c in described.get("index_columns", []) if isinstance(c, str)]
        known = [c for c in stored if c in table.column_names]
        index = known[0] if len(known) == 1 else None
        first = table.column_names[0] if table.num_columns else None
        likely = None
        if index is None and first is not None:
            likely = first if is_index_name(first) else None
        return cls(table, source, name, index=index, first=first, likely_ids=likely)

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


def is_index_name(name: str) -> bool:
    """Tell whether a first column of this name is meant to hold ids."""
    plain = re.sub(r"[\s_.-]", "", name.casefold())
    return plain in _INDEX_NAMES or is_nameless(name)


def is_nameless(name: str) -> bool:
    """No name, or the one that pandas makes up for none."""
    return name == "" or re.fullmatch(r"Unnamed: \d+", name) is not None


def pick_ids(columns: ArrowColumns, request: Request) -> str | None:
    """The column that holds the ids, with a note if nobody named it."""
    names = columns.names
    if request.id_column is not None:
        if request.id_column not in names:
            near = difflib.get_close_matches(request.id_column, names, n=1)
            hint = f"its columns are {shown(names, 5)}."
            raise input_error(
                columns.source,
                f"has no column {request.id_column!r} for the ids; "
                + (f"did you mean {near[0]!r}?" if near else hint),
            )
        return request.id_column
    if request.id_hint in names:
        columns.notes.append(f"ids from column {request.id_hint!r}, as in the fit")
        return request.id_hint
    chosen = columns.index or _guess_ids(columns)
    if chosen is None:
        columns.notes.append("no column of ids: rows are taken in their order")
    else:
        label = "without a name" if is_nameless(chosen) else repr(chosen)
        columns.notes.append(f"ids from column {label}")
    return chosen


def _guess_ids(columns: ArrowColumns) -> str | None:
    def n_distinct(name: str) -> int:
        return pc.count_distinct(id_text(table.column(name)), mode="all").as_py()

    table, likely = columns.table, columns.likely_ids
    if likely is not None:
        text = id_text(table.column(likely))
        # A first column with such a name is taken for ids even where they repeat:
        # the check of ids will then say so. Fractions are measurements.
        if is_nameless(likely) or not _has_fractions(text):
            return likely
    texts = [
        name
        for name, column in zip(table.column_names, table.columns)
        if name != likely and not (is_numeric(column.type) or is_nested(column.type))
    ]
    for name in texts:
        if n_distinct(name) == columns.n_rows:
            return name
    first = texts[0] if texts else None
    if first is not None and first == columns.first:
        # Nearly all different: ids with a few repeats rather than a feature.
        if n_distinct(first) >= 0.9 * columns.n_rows:
            return first
    return None


def _has_fractions(text: Any) -> bool:
    numbers = pc.match_substring_regex(text, rf"^{NUMBER}$")
    whole = pc.match_substring_regex(text, r"^[-+]?\d+$")
    return bool(pc.all(numbers).as_py()) and not pc.all(whole).as_py()


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


def drop_blank_rows(columns: ArrowColumns, id_column: str) -> None:
    """Leave out rows that hold nothing at all: spreadsheets have them at the end."""
    table, lines = columns.table, columns.lines
    blank = pc.equal(id_text(table.column(id_column)), "")
    if not pc.any(blank).as_py():
        return
    for name in table.column_names:
        if name != id_column:
            blank = pc.and_(blank, _is_blank(table.column(name)))
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


def _is_blank(column: Any) -> Any:
    if pa.types.is_string(column.type):
        return pc.equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), "")
    return pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
