"""Tables of results as workbooks, through openpyxl."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc.io._errors import need

_MOST_ROWS = 2**20 - 1  # of a sheet, without the head
_MOST_CHARACTERS = 32_767  # of a cell
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_excel(path: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal length, with a head, to the only sheet of a workbook.

    Numbers and flags stay what they are, all else is text and never a formula; cells
    without a number are empty.
    """
    need("openpyxl", str(path), "excel", "writing it")
    from openpyxl import Workbook

    n = len(next(iter(columns.values())))
    if n > _MOST_ROWS:
        raise ValueError(
            f"{path.name!r}: a sheet has room for {_MOST_ROWS} samples, not for {n}; "
            f"write .csv or .parquet."
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("labels")
    sheet.append([_cell(sheet, name) for name in columns])
    for row in zip(*(_cells(sheet, column) for column in columns.values())):
        sheet.append(row)
    with atomic_write(path) as file:
        book.save(file)


def _cells(sheet: Any, column: np.ndarray) -> Iterator[Any]:
    return (_cell(sheet, value) for value in column.tolist())


def _cell(sheet: Any, value: Any) -> Any:
    """A value that openpyxl takes for what it is."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value in (np.inf, -np.inf):
        return str(value)
    if isinstance(value, bool | int | float):
        return value
    text = _FORBIDDEN.sub("\ufffd", str(value))[:_MOST_CHARACTERS]
    if not text.startswith(("=", "#")):
        return text
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, text)
    cell.data_type = "s"  # neither a formula nor an error
    return cell
