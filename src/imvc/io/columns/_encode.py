"""From columns of all kinds to numbers, and their balance as in factor analysis.

Factor analysis of mixed data puts numbers and categories on one footing: a number has
variance 1, and a category of K levels has K indicators, each divided by the square root
of its frequency p, with variance 1 - p and so K - 1 together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._arrow_columns import is_numeric
from imvc.io._errors import shown
from imvc.io.columns._cells import Cells
from imvc.io.columns._code import NOT_A_LEVEL, ColumnCode
from imvc.io.columns._dates import days_of_arrow, is_date, read_days_of_fit
from imvc.io.columns._numbers import read_numbers
from imvc.io.columns._text_kinds import TextColumn

_LEAST_FREQUENCY = 0.01
_A_FEW = 5  # cells that cannot be read, of which a note is enough
_FEW_TEXTS = 12
_PADDED = "^0[0-9]"


@dataclass
class Encoded:
    """The features of a table.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        NaN where a cell is empty.
    features : tuple of str
        Names of the features.
    owner : tuple of int
        For each feature the place of its column among the codes.
    notes : list of str
        What could not be read. In the fit `classify` has told it already.
    warnings : list of str
        The same of columns of which most could not be read.
    """

    values: np.ndarray
    features: tuple[str, ...]
    owner: tuple[int, ...]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def encode(
    table: Any, codes: Sequence[ColumnCode], *, decimal_comma: bool = False
) -> Encoded:
    """Turn the columns of a table into features, in the fit and for new data alike.

    Parameters
    ----------
    table : pyarrow.Table
        Its columns may stand in any order and have other types than in the fit; those
        that have no code are ignored, those that it lacks are empty.
    codes : sequence of ColumnCode
        From `classify`.
    decimal_comma : bool
        Whether this file writes 3,5 for 3.5.
    """
    columns = dict(zip(table.column_names, table.columns))
    names = [code.features for code in codes]
    owner = tuple(i for i, own in enumerate(names) for _ in own)
    features = tuple(name for own in names for name in own)
    values = np.full((table.num_rows, len(features)), np.nan)
    notes: list[str] = []
    warned: list[str] = []
    absent: list[str] = []
    end = 0
    for code, own in zip(codes, names):
        start, end = end, end + len(own)
        if own and code.name in columns:
            column = columns[code.name]
            block = values[:, start:end]
            n_odd, first = _fill(block, column, code, decimal_comma)
            if n_odd:
                n_read = np.isfinite(block[:, 0]).sum()
                n_read -= n_odd if code.kind == "category" else 0
                told = warned if n_odd > max(n_read, _A_FEW) else notes
                told.append(_unread(code, n_odd, first))
        elif own:
            absent.append(code.name)
    if absent:
        notes.append(
            f"lacks {len(absent)} column{'s' * (len(absent) > 1)} of the fit, taken as "
            f"empty: {shown(absent)}"
        )
    return Encoded(values, features, owner, notes, warned)


def _fill(
    block: np.ndarray,
    column: Any,
    code: ColumnCode,
    decimal_comma: bool,
) -> tuple[int, str]:
    """Write the features of one column; tell how many cells are odd, and the first."""
    dtype = column.type
    if code.kind == "number" and is_numeric(dtype):
        block[:, 0] = column.cast(pa.float64()).to_numpy()
    elif code.kind == "date" and is_date(dtype):
        block[:, 0] = days_of_arrow(column)
        odd = np.isnan(block[:, 0]) & pc.is_valid(column).to_numpy()
        if odd.any():
            return int(odd.sum()), str(column[int(np.argmax(odd))].as_py())
    else:
        cells = Cells.of(column)
        values, odd = _values_of_texts(cells, code, decimal_comma)
        of_rows = cells.spread(values)
        block[:, 0] = of_rows
        if code.kind == "category":
            known = ~np.isnan(of_rows)
            for level in range(block.shape[1]):
                block[known, level] = of_rows[known] == level
        if odd.any():
            return cells.n_cells(odd), cells.first(odd)
    return 0, ""


def _values_of_texts(
    cells: Cells, code: ColumnCode, decimal_comma: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The number of each text, NaN where there is none, and which cannot be read."""
    if code.kind == "number":
        found = read_numbers(
            cells.texts,
            cells.counts,
            decimal_comma=decimal_comma,
            number_format=code.number_format,
        )
        values = found.values
    elif code.kind == "date":
        values = read_days_of_fit(cells.texts, code.date_format)
    else:
        place = code.places(cells)
        odd = place == NOT_A_LEVEL
        if code.kind == "category":
            # One beyond the levels: the indicator of "other" where there is one.
            place = np.where(odd, len(code.levels), place)
        return np.where(place >= 0, place, np.nan), odd
    return values, np.isnan(values) & ~cells.is_blank & ~cells.is_unknown


def _unread(code: ColumnCode, n: int, first: str) -> str:
    """Note about values of new data that the fit has no number for."""
    samples = "1 sample has a value" if n == 1 else f"{n} samples have values"
    if code.kind == "category" and code.other:
        return (
            f"{samples} of {code.name!r} that the fit knew as rare or not at all, e.g. "
            f"{first!r}: read as 'other'"
        )
    if code.kind == "category":
        return f"{samples} of {code.name!r} that the fit did not know, e.g. {first!r}"
    called = {"number": "number", "date": "date"}.get(code.kind, "level of the fit")
    be = "is" if n == 1 else "are"
    return (
        f"{samples} of {code.name!r} that {be} no {called}, e.g. {first!r}: taken as "
        "empty"
    )


def balance(
    values: np.ndarray, codes: Sequence[ColumnCode], owner: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Centre and scale of each feature under which no kind of column rules the others.

    ``(x - mean) / deviation``, and for an indicator ``(x - p) / sqrt(p)`` with its
    frequency p among the known cells. A constant feature is moved to 0 and not
    stretched. No indicator weighs more than one of 1 %: a level that `classify` kept is
    at least that frequent, and one cell of "other" shall not stand apart from all.
    """
    d = values.shape[1]
    center, scale = np.zeros(d), np.ones(d)
    for j in range(d):
        x = values[:, j]
        x = x[np.isfinite(x)]
        if len(x) == 0:
            continue
        with np.errstate(over="ignore"):
            center[j], deviation = x.mean(), x.std()
        if deviation <= 10 * np.finfo(np.float64).eps * np.abs(center[j]):
            continue
        indicator = codes[owner[j]].kind == "category"
        scale[j] = np.sqrt(max(center[j], _LEAST_FREQUENCY)) if indicator else deviation
    return center, scale


def metadata_values(table: Any, codes: Sequence[ColumnCode]) -> dict[str, np.ndarray]:
    """Columns of kind "metadata" as objects, None where empty; numbers stay numbers.

    A column of many texts that are all numbers but for words such as "unknown" is read
    as those. Few texts are categories, and 007 is a name.
    """
    columns = dict(zip(table.column_names, table.columns))
    return {
        code.name: _as_objects(code.name, columns[code.name])
        for code in codes
        if code.kind == "metadata" and code.name in columns
    }


def _as_objects(name: str, column: Any) -> np.ndarray:
    if is_numeric(column.type):
        objects = np.empty(len(column), dtype=object)
        objects[:] = column.to_pylist()
        return objects
    text = TextColumn(name, column)
    cells = text.cells
    named = pc.match_substring_regex(cells.texts, _PADDED)
    code = None
    if text.known.sum() > _FEW_TEXTS and not pc.any(named).as_py():
        code = text.number(1.0)
    if code is not None:
        values = cells.spread(_values_of_texts(cells, code, False)[0])
        numbers = values.astype(object)
        numbers[np.isnan(values)] = None
        return numbers
    words = np.array([*cells.words, None], dtype=object)
    words[:-1][cells.is_blank] = None
    return words[cells.rows]
