"""Tables of delimited text: CSV, TSV and their relatives, packed or not."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from imvc.io._arrow_columns import ArrowColumns
from imvc.io._checked_table import refuse_repeats
from imvc.io._dialect import NA_WORDS, WHITESPACE, Dialect, detect_dialect
from imvc.io._encoding import Text, as_utf8, as_western, single_tabs
from imvc.io._errors import input_error, reading
from imvc.io._file_bytes import load_bytes
from imvc.io._file_table import Request
from imvc.io._table_columns import numbers_in_text
from imvc.io._wide import MANY_COLUMNS, read_wide
from imvc.io.ids._names import is_index_name

_BLOCK = 2**20
_MAY_BE_IDS = 20  # columns that are kept as they are written


def read_text(file: Request) -> ArrowColumns:
    """Read delimited text with pyarrow, once its head has told how it is written."""
    source = file.source
    with reading(source, "text"):
        text = as_utf8(load_bytes(file.path, source), source)
        try:
            return parse_text(text, file)
        except _NotUtf8:
            return parse_text(as_western(text), file)


class _NotUtf8(Exception):
    """Raised where bytes beyond the head turn out not to be UTF-8."""


def parse_text(text: Text, file: Request, separator: str | None = None) -> ArrowColumns:
    """Read a text that is loaded; a `separator` that is known is not searched for."""
    source = file.source
    dialect = detect_dialect(text.data, text.start, source, separator)
    if dialect.separator == WHITESPACE:
        text = text._replace(data=single_tabs(text.data[text.start :]), start=0)
        dialect = replace(
            detect_dialect(text.data, 0, source), notes=dialect.notes, separator="\t"
        )
    names = _column_names(dialect, source)
    as_text = _read_as_written(names, dialect, file)
    if dialect.body >= len(text.data):
        raise input_error(source, "has a header and no rows below it.")

    def line_of(row: int) -> int | None:
        return next(islice(_records(text.data, dialect), row, None), (None,))[0]

    columns = ArrowColumns(
        None,
        source,
        file.name,
        [*text.notes, *dialect.notes],
        index=names[0] if dialect.row_names else None,
        first=names[0],
        lines=line_of,
        decimal_comma=dialect.decimal == ",",
    )
    wide = None
    if file.block and len(names) > MANY_COLUMNS:
        wide = read_wide(text.data, dialect, names, as_text)
    if wide is not None:
        columns.table, block_names, columns.block = wide
        columns.block_names = tuple(block_names)
        return columns
    table = _read_body(text.data, dialect, names, as_text, source)
    columns.table = _numbers_where_text(table, as_text, dialect.separator != ",")
    return columns


def _read_as_written(names: list[str], dialect: Dialect, file: Request) -> set[str]:
    """Columns that may hold ids, whose zeros in front would be lost in numbers."""
    called = [name for name in names if is_index_name(name)][:_MAY_BE_IDS]
    zeros = [names[j] for j in dialect.zero_led if j < len(names)][:_MAY_BE_IDS]
    given = {file.id_column, file.id_hint} & set(names)
    return {*called, *zeros, *(name for name in given if name is not None)}


def _numbers_where_text(table: Any, as_text: set[Any], decimal_comma: bool) -> Any:
    """Second chance for numbers that pyarrow does not know: ``" NA"``, late commas."""
    columns, changed = [], False
    for name, column in zip(table.column_names, table.columns):
        numbers = None
        if pa.types.is_string(column.type) and name not in as_text:
            numbers = numbers_in_text(column, decimal_comma)
        changed = changed or numbers is not None
        columns.append(column if numbers is None else numbers)
    return pa.table(columns, names=table.column_names) if changed else table


def _column_names(dialect: Dialect, source: str) -> list[str]:
    """Names with a number for every empty one but the first, which means ids."""
    names = [
        name or (f"column {j}" if j > 1 else "")
        for j, name in enumerate(dialect.names, start=1)
    ]
    refuse_repeats(source, names)
    return names


def _read_body(
    data: Any, dialect: Dialect, names: list[str], as_text: set[Any], source: str
) -> Any:
    body = pa.py_buffer(data).slice(dialect.body)
    # Without quotes the parser is faster, and stray ones cannot swallow lines.
    quoted = data.find(b'"', dialect.body) >= 0
    parse = pa_csv.ParseOptions(
        delimiter=dialect.separator,
        quote_char='"' if quoted else False,
        newlines_in_values=quoted,
    )
    convert = pa_csv.ConvertOptions(
        null_values=list(NA_WORDS),
        strings_can_be_null=False,
        decimal_point=dialect.decimal,
        column_types={name: pa.string() for name in as_text},
    )
    # A row must fit into a block; where one does not, blocks as large as the body will.
    for block in (max(_BLOCK, 4 * _longest_line(data, dialect.body)), len(body) + 1):
        read = pa_csv.ReadOptions(
            column_names=names, block_size=min(block, 2**31 - 2**20)
        )
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(body),
                read_options=read,
                parse_options=parse,
                convert_options=convert,
            )
            break
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                raise _NotUtf8 from error
            if "straddling" not in str(error):
                _explain(data, dialect, names, source, error)
    else:
        raise input_error(source, "has rows too long to read.")
    if any(pa.types.is_binary(column.type) for column in table.columns):
        raise _NotUtf8
    return table


def _longest_line(data: Any, start: int) -> int:
    """Length of the longest of the first few lines of the body."""
    longest = 0
    for _ in range(3):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        longest = max(longest, end - start)
        start = min(end + 1, len(data))
    return longest


def _explain(
    data: Any, dialect: Dialect, names: list[str], source: str, error: Exception
) -> None:
    """Raise an error that names the line pyarrow stumbled over."""
    for line, record in _records(data, dialect):
        if len(record) != len(names):
            raise input_error(
                source,
                f"has {len(record)} fields where {len(names)} are expected; mend the "
                "line (a separator inside a cell needs quotes around the cell).",
                line,
            ) from error
    raise input_error(source, f"cannot be read as a table ({error}).") from error


def _records(data: Any, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Rows with the lines where they begin: only ever asked for an error message."""
    raw = io.BytesIO(data[dialect.body :])
    text = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(text, delimiter=dialect.separator)
    line = dialect.first_line
    with suppress(csv.Error):  # a field beyond the limit of this module
        for record in reader:
            if record:
                yield line, record
            line = dialect.first_line + reader.line_num
