"""Whole files of text, sheets, Parquet, Feather (version 2) and Arrow IPC."""

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from imvc.io._arrow_columns import ArrowColumns
from imvc.io._errors import input_error, reading
from imvc.io._excel import read_workbook
from imvc.io._file_bytes import check_size
from imvc.io._file_table import WORKBOOKS, Request
from imvc.io._text import read_text


def read_parquet(file: Request) -> ArrowColumns:
    """Read a whole file; a pandas index in it becomes the ids."""
    source = file.source
    with reading(source, "Parquet"):
        with open(file.path, "rb") as raw, pa_parquet.ParquetFile(raw) as stored:
            found = stored.metadata
            check_size(source, 8.0 * found.num_rows * found.num_columns)
            table = stored.read()
        table.validate(full=True)
        return ArrowColumns.of_file(table, source, file.name)


def read_feather(file: Request) -> ArrowColumns:
    """Read the whole table, in file or stream format."""
    source = file.source
    with reading(source, "Feather"):
        with open(file.path, "rb") as raw:
            head = raw.read(6)
            raw.seek(0)
            if head.startswith(b"FEA1"):
                raise input_error(
                    source, "is Feather version 1; write it again as version 2."
                )
            if head == b"ARROW1":
                table = pa.ipc.open_file(raw).read_all()
            else:
                table = pa.ipc.open_stream(raw).read_all()
        table.validate(full=True)
        return ArrowColumns.of_file(table, source, file.name)


_READERS = {
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".feather": read_feather,
    ".arrow": read_feather,
    ".ipc": read_feather,
}


def read_columns(kind: str, file: Request) -> list[ArrowColumns]:
    """The columns of a file that has them: of every sheet of a workbook, else of one.

    An unknown `kind` is text.
    """
    if kind in WORKBOOKS:
        return read_workbook(file)
    return [_READERS.get(kind, read_text)(file)]
