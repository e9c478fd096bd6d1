"""FileTable: one view as it was read from a file, and how it was asked for."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

# Files of several sheets, each of which may be a table.
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
ALL_SHEETS = "all"
NEARLY_EMPTY = 0.95  # share of empty cells beyond which a column says nothing


def split_sheet(source: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """The file and, where ``book.xlsx::RNA`` names one, the sheet.

    A file whose own name is so written comes first.
    """
    whole = os.fspath(source)
    book, mark, sheet = whole.rpartition("::")
    is_book = Path(book).suffix.lower() in WORKBOOKS
    if mark and is_book and not os.path.exists(whole):
        return Path(book), sheet
    return Path(whole), None


def file_of(source: str | os.PathLike[str]) -> Path:
    """The file of a source that may name a sheet of it."""
    return split_sheet(source)[0]


@dataclass(frozen=True)
class Request:
    """One file and how to read it; see `read_file`."""

    source: str  # the path as it was given, which may name a sheet: book.xlsx::RNA
    name: str = ""  # of the view
    id_column: str | None = None
    layer: str | None = None
    # The id column of the file a model was fitted on: taken where it exists.
    id_hint: str | None = None
    # Whether numbers may come as one matrix instead of columns.
    block: bool = True
    # Of a workbook: the name of a sheet, or "all"; one that `source` names comes first.
    sheet: str | None = None
    # Whether to read files that can crash their libraries in another process first.
    guard: bool = False

    @property
    def path(self) -> Path:
        """The file."""
        return file_of(self.source)

    @property
    def asked_sheet(self) -> str | None:
        """The sheet that was asked for; None: the first that holds a table."""
        named = split_sheet(self.source)[1]
        return self.sheet if named is None else named


@dataclass(frozen=True, eq=False)
class FileTable:
    """One view as read from a file: numbers, ids and what was decided on the way.

    Parameters
    ----------
    name : str
        Name of the view; by default the file's name without its endings.
    source : str
        The file as it was given, with ``::key`` for one of several views in a file.
    ids : ndarray of object (str), shape (n,), or None
        One id per row; None when the file has none and rows count.
    values : ndarray or csr_array, shape (n, d)
        float32 or float64; NaN where a cell is empty. Categories are 0/1 columns,
        ordered categories ranks, dates days.
    features : tuple of str
        Names of the columns of `values`.
    notes : tuple of str
        What was decided: separator, encoding, id column, columns left out, ...
    warnings : tuple of str
        What may spoil a clustering.
    metadata : dict of str to ndarray of object, shape (n,)
        Columns that are no features, such as free text; None where a cell is empty.
    id_column : str or None
        The column that `ids` were read from.
    codes : tuple of ColumnCode
        How every column of a table was read, those left out included; empty for
        matrices, whose columns are all numbers.
    owner : tuple of int
        Which of `codes` each feature comes from.
    """

    name: str
    source: str
    ids: np.ndarray | None
    values: Any
    features: tuple[str, ...]
    notes: tuple[str, ...] = ()
    metadata: dict[str, np.ndarray] = field(default_factory=dict)
    id_column: str | None = None
    codes: tuple[Any, ...] = ()
    owner: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the file, as far as features come from them."""
        if not self.codes:
            return self.features
        return tuple(dict.fromkeys(self.codes[j].name for j in self.owner))

    def row(self, i: int) -> str:
        """How a message calls row `i`: by its id where there is one."""
        return f"row {i}" if self.ids is None else f"row {str(self.ids[i])!r}"

    def with_notes(self, *notes: str) -> "FileTable":
        """Return the table with more notes."""
        return replace(self, notes=self.notes + notes)

    def __repr__(self) -> str:
        n, d = self.values.shape
        ids = "no ids" if self.ids is None else "ids"
        return f"<FileTable {self.name!r}: {n} rows, {d} features, {ids}>"
