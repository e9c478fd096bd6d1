"""Parquet and Feather (Arrow) files."""

from pathlib import Path
from typing import Any

from imvc.io._arrow_types import ArrowColumns, Options
from imvc.io._errors import input_error, need, reading
from imvc.io._ids import is_index_name
from imvc.io._open import check_size


def read_parquet(path: Path, source: str, name: str, options: Options) -> ArrowColumns:
    """Read a Parquet file; a pandas index in it becomes the ids."""
    parquet = need("pyarrow.parquet", source)
    with reading(source, "Parquet"):
        with open(path, "rb") as raw, parquet.ParquetFile(raw) as file:
            found = file.metadata
            check_size(source, 8.0 * found.num_rows * found.num_columns)
            table = file.read()
        return _with_index(table, source, name)


def read_feather(path: Path, source: str, name: str, options: Options) -> ArrowColumns:
    """Read a Feather (version 2) or Arrow IPC file, in file or stream format."""
    need("pyarrow.feather", source)
    import pyarrow as pa

    with reading(source, "Feather"):
        with open(path, "rb") as raw:
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
        return _with_index(table, source, name)


def _with_index(table: Any, source: str, name: str) -> ArrowColumns:
    """Note which column pandas wrote as its index, if it wrote one."""
    described = table.schema.pandas_metadata or {}
    stored = [c for c in described.get("index_columns", []) if isinstance(c, str)]
    known = [c for c in stored if c in table.column_names]
    index = known[0] if len(known) == 1 else None
    first = table.column_names[0] if table.num_columns else None
    likely = None
    if index is None and first is not None:
        likely = first if is_index_name(first) else None
    return ArrowColumns(
        table, source, name, index=index, first=first, likely_ids=likely
    )
