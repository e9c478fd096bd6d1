"""Feather (version 2) and Arrow IPC files, in file or stream format."""

from imvc.io._arrow_columns import ArrowColumns
from imvc.io._errors import input_error, need, reading
from imvc.io._file_table import Request


def read_feather(file: Request) -> ArrowColumns:
    """Read the whole table."""
    source = file.source
    pa = need("pyarrow", source)
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
