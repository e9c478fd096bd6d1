"""Sheets of workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods), through python-calamine.

A sheet becomes text with a line for each of its rows and goes the way of all text
(`_text`), so that titles, headers, words for no value and blank rows are treated alike,
and the lines that messages name are the rows of the sheet. Hidden sheets and charts are
passed over unless they are named. Formulas give the values that were saved with them.

For 300 samples of 5000 genes (18 MB, 70 MB unpacked) on two busy cores, the checks take
0.5 s, calamine 1.2 s, the text 1.6 s and its parsing 1.5 s.
"""

import csv
import datetime
import difflib
import io
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from imvc.io._arrow_columns import ArrowColumns
from imvc.io._encoding import Text
from imvc.io._errors import InputError, input_error, need, one_line, reading, shown
from imvc.io._file_bytes import check_unpacked, magic, memory_limit
from imvc.io._file_table import ALL_SHEETS, WORKBOOKS, Request
from imvc.io._text import parse_text, read_text

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_CONTROLS = re.compile(r"[\x00-\x1f]+")
# Whole floats beyond this are not exact, and are better written with an exponent.
_EXACT = 2.0**53

_SHEET_FILE = re.compile(r"xl/worksheets/[^/]*\.xml")
_ROW = re.compile(rb"""<row\b[^>]*?\sr=["'](\d+)""")
_CELL = re.compile(rb"""<c\b[^>]*?\sr=["']([A-Z]+)""")
_MOST_COLUMNS = 2**14
# Calamine lays out all cells up to the last one, twice, in 32 bytes each.
_CELL_BYTES = 64
_CHUNK, _OVERLAP = 4 * 2**20, 256


def read_workbook(file: Request) -> list[ArrowColumns]:
    """Read the sheet that was asked for, the first that holds a table, or all."""
    source, asked = file.source, file.asked_sheet
    with reading(source, "a workbook"):
        if not _is_workbook(file.path, source):
            if asked not in (None, ALL_SHEETS):
                raise input_error(source, "is text, which has no sheets; name none.")
            columns = read_text(file)
            columns.notes.insert(0, "read as text, which it is in spite of its name")
            return [columns]
        calamine = need("python_calamine", source, "excel")
        with _calamine_errors(source):
            with calamine.CalamineWorkbook.from_path(str(file.path)) as book:
                sheets, notes = _choose(book, _visible(book, calamine), asked, source)
    tables = []
    for name, text in sheets.items():
        alone = asked is None and not notes
        part = replace(
            file,
            source=source if alone else f"{file.path}::{name}",
            name=name if asked == ALL_SHEETS else file.name,
        )
        with reading(part.source, "a sheet"):
            tables.append(parse_text(Text(text, 0, ()), part, separator="\t"))
    tables[0].notes[:0] = notes
    return tables


def sheet_names(path: str | os.PathLike[str]) -> list[str]:
    """Names of the sheets of a workbook that are shown; none of any other file.

    Nothing is raised: whatever is wrong with a file, reading it says better.
    """
    source = os.fspath(path)
    if Path(path).suffix.lower() not in WORKBOOKS or not os.path.isfile(path):
        return []
    with suppress(InputError, ImportError):
        with reading(source, "a workbook"), _calamine_errors(source):
            if not _is_workbook(Path(path), source):
                return []
            calamine = need("python_calamine", source, "excel")
            with calamine.CalamineWorkbook.from_path(source) as book:
                return _visible(book, calamine)
    return []


@contextmanager
def _calamine_errors(source: str) -> Iterator[None]:
    """Say what is wrong where the reader panics, which is no Exception in Python."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "PasswordError":
            raise _locked(source) from error
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise input_error(
            source,
            f"cannot be read as a workbook ({one_line(error)}); it may be damaged: "
            "save it anew.",
        ) from error


def _locked(source: str) -> Exception:
    return input_error(
        source, "is protected by a password; save a copy without one, or as CSV."
    )


# What a file is


def _is_workbook(path: Path, source: str) -> bool:
    """False for a text; refuses what is neither, and what would not fit in memory."""
    kind = path.suffix.lower()
    with open(path, "rb") as file:
        head = file.read(16)
        ole = head.startswith(_OLE)
        if ole and _ENCRYPTED in file.read():
            raise _locked(source)
    if ole and kind != ".xls":
        raise input_error(source, "is a workbook of the old kind; rename it to .xls.")
    if head.startswith(_ZIP):
        _check_zip(path, source)
        if kind == ".xls":
            raise input_error(
                source, "is a workbook of the new kind; rename it to .xlsx."
            )
        return True
    if ole:
        return True
    found = magic(path)
    if found:
        raise input_error(source, f"is {found[0]}, not a workbook; {found[1]}.")
    if head.lstrip().startswith(b"<"):
        raise input_error(
            source,
            "is a web page or XML and no workbook; open it in a spreadsheet program "
            "and save it as .xlsx or CSV.",
        )
    return False


def _check_zip(path: Path, source: str) -> None:
    """Refuse a workbook that unpacks, or is laid out, to more than memory holds."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        total = sum(part.file_size for part in parts)
        check_unpacked(source, total, path.stat().st_size, "save the sheet as CSV")
        for part in parts:
            if _SHEET_FILE.fullmatch(part.filename):
                _check_extent(archive, part, source)


def _check_extent(archive: zipfile.ZipFile, part: zipfile.ZipInfo, source: str) -> None:
    """Refuse a sheet with a cell so far out that the grid up to it fills the memory.

    The numbers of the rows are looked at first: they are few.
    """
    rows = max((int(found[1]) for found in _find(archive, part, _ROW)), default=0)
    columns = _MOST_COLUMNS
    if rows * columns * _CELL_BYTES > memory_limit():
        letters = {found[1] for found in _find(archive, part, _CELL)}
        columns = max(map(_column_number, letters), default=0)
    if rows * columns * _CELL_BYTES > memory_limit():
        raise input_error(
            source,
            f"a sheet of it has cells up to row {rows} and column {columns}, more than "
            "fits into memory; delete what stands far below or beside the table, or "
            "save the sheet as CSV.",
        )


def _find(
    archive: zipfile.ZipFile, part: zipfile.ZipInfo, pattern: re.Pattern[bytes]
) -> Iterator[re.Match[bytes]]:
    """Every place of a pattern in a part of the archive, some of them twice."""
    with archive.open(part) as stream:
        tail = b""
        while chunk := stream.read(_CHUNK):
            yield from pattern.finditer(tail + chunk)
            tail = chunk[-_OVERLAP:]


def _column_number(letters: bytes) -> int:
    """1 for A, 27 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


# Which sheets


def _visible(book: Any, calamine: Any) -> list[str]:
    return [
        sheet.name
        for sheet in book.sheets_metadata
        if sheet.typ == calamine.SheetTypeEnum.WorkSheet
        and sheet.visible == calamine.SheetVisibleEnum.Visible
    ]


def _choose(
    book: Any, visible: list[str], asked: str | None, source: str
) -> tuple[dict[str, bytes], list[str]]:
    """Texts of the sheets to read, by name, and notes about the others."""
    if asked in book.sheet_names:
        return {str(asked): _as_text(book.get_sheet_by_name(asked))}, []
    if asked not in (None, ALL_SHEETS):
        names = {name.casefold(): name for name in book.sheet_names}
        near = difflib.get_close_matches(str(asked).casefold(), names, n=1, cutoff=0.5)
        hint = f"did you mean {names[near[0]]!r}? Its" if near else "its"
        raise input_error(
            source,
            f"has no sheet {asked!r}; {hint} sheets are {shown(book.sheet_names, 10)}.",
        )
    texts: dict[str, bytes] = {}
    others, empty = [], []
    for name in visible:
        sheet = book.get_sheet_by_name(name)
        if not _holds_table(sheet):
            empty.append(name)
        elif asked == ALL_SHEETS or not texts:
            texts[name] = _as_text(sheet)
        else:
            others.append(name)
    if not texts:
        raise input_error(
            source,
            f"no sheet that is shown holds a table (two rows of two cells); name one "
            f"of {shown(book.sheet_names, 10)} with sheet (--sheet) to read it anyway.",
        )
    if others:
        first = next(iter(texts))
        return texts, [
            f"sheet {first!r} was read, the first with a table; others are "
            f"{shown(others, 10)}: take one with ::{others[0]} behind the file's name "
            f"or sheet (--sheet {others[0]!r}), every one with --sheet {ALL_SHEETS}"
        ]
    if empty and asked == ALL_SHEETS:
        return texts, [f"sheets without a table left out: {shown(empty, 10)}"]
    return texts, []


def _holds_table(sheet: Any) -> bool:
    """Whether two rows have two cells each; prose stands in one column."""
    n = 0
    for row in sheet.iter_rows():
        n += sum(cell != "" for cell in row) > 1
        if n == 2:
            return True
    return False


# From cells to text


def _as_text(sheet: Any) -> bytes:
    """Cells separated by tabs, a line for each row of the sheet from its first on."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
    for row in sheet.iter_rows():
        cells = [_cell_text(cell) for cell in row]
        if any(cells):
            writer.writerow(cells)
        else:
            lines.write("\n")
    return lines.getvalue().encode()


def _cell_text(cell: Any) -> str:
    """Numbers as short as they are exact, dates in ISO form, durations in days."""
    if isinstance(cell, str):
        return _CONTROLS.sub(" ", cell)
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < _EXACT
        return str(int(cell)) if whole else repr(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return _cell_text(cell / datetime.timedelta(days=1))
    return str(cell)
