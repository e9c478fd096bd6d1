"""Text tables with thousands of columns.

A parser of columns pays for every column: for 300 samples of 20 000 genes (55 MB) on
two busy cores pyarrow takes 15 s and 590 MB even in one block, pandas 13 to 21 s. Here
the cells are read as one long column instead and folded into a matrix, in 5 s and
350 MB; text columns are cut out before.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from imvc.io._dialect import NA_WORDS, Dialect, is_number
from imvc.io._table_columns import numbers_in_text

MANY_COLUMNS = 1000
_MAX_TEXT = 50


def read_wide(
    data: Any, dialect: Dialect, names: list[str], as_text: set[Any]
) -> tuple[Any, list[str], np.ndarray] | None:
    """Text columns, names of the numeric columns, and their numbers, NaN where empty.

    The columns `as_text` stay text whatever they hold. None where the table is not of
    this simple kind: with quotes, ragged rows, cells that are neither text by the first
    row nor numbers. The general reader then decides.
    """
    body = _plain_body(data, dialect.body)
    if body is None:
        return None
    ends = _cell_ends(body, dialect.separator, len(names))
    if ends is None:
        return None
    texts = _text_columns(body, ends, dialect, names, as_text)
    if len(texts) > _MAX_TEXT:
        return None
    cut = {names[j]: _cut_out(body, ends, j) for j in texts}
    values = _numbers(body, dialect, ends.shape)
    if values is None:
        return None
    try:
        columns = {n: [cell.decode() for cell in cells] for n, cells in cut.items()}
    except UnicodeDecodeError:
        return None
    table = pa.table({n: pa.array(c, pa.string()) for n, c in columns.items()})
    if any(
        name not in as_text and numbers_in_text(table.column(name)) is not None
        for name in columns
    ):
        return None
    numeric = [name for j, name in enumerate(names) if j not in set(texts)]
    return table, numeric, np.delete(values, texts, axis=1) if texts else values


def _plain_body(data: Any, start: int) -> bytearray | None:
    """A copy of the body with a newline after every row and no blank lines."""
    if data.find(b'"', start) >= 0:
        return None
    body = bytearray(data[start:])
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n")
    if not body.endswith(b"\n"):
        body += b"\n"
    while b"\n\n" in body:
        body = body.replace(b"\n\n", b"\n")
    return body.removeprefix(b"\n")


def _cell_ends(body: bytearray, separator: str, d: int) -> np.ndarray | None:
    """Where each cell ends, shape (n_rows, d); None if rows are ragged."""
    raw = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero((raw == ord(separator)) | (raw == ord("\n")))
    if len(ends) == 0 or len(ends) % d:
        return None
    folded = ends.reshape(-1, d)
    newline = raw[folded] == ord("\n")
    regular = newline[:, -1].all() and not newline[:, :-1].any()
    return folded if regular else None


def _text_columns(
    body: bytearray, ends: np.ndarray, dialect: Dialect, names: list[str], as_text: Any
) -> list[int]:
    """Columns that must be text, or are by the first row."""
    first = bytes(body[: ends[0, -1]]).decode("utf-8", "replace")
    cells = first.split(dialect.separator)
    return [
        j
        for j, (name, cell) in enumerate(zip(names, cells))
        if name in as_text or not is_number(cell.strip(), dialect.separator)
    ]


def _cut_out(body: bytearray, ends: np.ndarray, j: int) -> list[bytes]:
    """Cells of a text column, which become zeros in `body`."""
    flat = ends.ravel()
    stops = ends[:, j]
    position = np.arange(len(stops)) * ends.shape[1] + j
    starts = np.where(position > 0, flat[position - 1] + 1, 0)
    cells = []
    for start, stop in zip(starts.tolist(), stops.tolist()):
        cells.append(bytes(body[start:stop]))
        body[start:stop] = b"0" * (stop - start)
    return cells


def _numbers(
    body: bytearray, dialect: Dialect, shape: tuple[int, ...]
) -> np.ndarray | None:
    """All cells as numbers, or None if one is something else."""
    column = bytes(body).replace(dialect.separator.encode(), b"\n")
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(column),
            read_options=pa_csv.ReadOptions(column_names=["x"]),
            # The separator is gone; a byte that no text has keeps cells whole.
            parse_options=pa_csv.ParseOptions(
                delimiter="\x01", quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pa_csv.ConvertOptions(
                null_values=list(NA_WORDS),
                decimal_point=dialect.decimal,
                column_types={"x": pa.float64()},
            ),
        )
    except pa.ArrowInvalid:
        return None
    values = table.column("x").to_numpy()
    return values.reshape(shape) if len(values) == shape[0] * shape[1] else None
