"""How a text table is written: separator, decimal mark, header. Learnt from its head.

Only the head is looked at, line by line in Python; the body goes to pyarrow as it is.
"""

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from imvc.io._errors import input_error, shown

NA_WORDS = (
    "", "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "Nan", "-nan", "null", "NULL",
    "Null", "None", "none", "NONE", "<NA>", "#N/A", "#NA", "#N/A N/A", "#DIV/0!",
    "#VALUE!", "#NUM!", "#REF!", "-", "--", "?", ".", "missing",
)  # fmt: skip
NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
DECIMAL_COMMA = r"[-+]?(\d+,\d*|,\d+)([eE][-+]?\d+)?"

_NUMBER = re.compile(NUMBER)
_DECIMAL_COMMA = re.compile(DECIMAL_COMMA)
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")
_WORDS = frozenset(NA_WORDS)
_TRUTH = frozenset(("true", "false", "True", "False", "TRUE", "FALSE"))
_LINES = 100
_FIELDS = 200
WHITESPACE = " \t"
_CALLED = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    separator: str  # one character, or `WHITESPACE` for runs of blanks and tabs
    decimal: str  # "." or ","
    names: list[str]  # of the columns, stripped; empty where there is none
    body: int  # bytes before the first row
    first_line: int  # number of the line of the first row, from 1
    notes: tuple[str, ...]  # what is worth telling
    zero_led: tuple[int, ...] = ()  # columns with numbers such as 007
    row_names: bool = False  # whether the first column is R's, which has no name


def detect_dialect(
    data: Any, start: int, source: str, separator: str | None = None
) -> Dialect:
    """Learn the dialect of a table of UTF-8 text from its first lines.

    A `separator` that is known is neither searched for nor told.
    """
    lines = _head_lines(data, start)
    skipped = _leading_remarks(lines)
    if skipped == len(lines):
        raise input_error(source, "holds no table, only blank lines and comments.")
    told = []
    if separator is None:
        separator = _separator(lines[skipped : skipped + _LINES])
        told.append(f"separator {_CALLED.get(separator, 'blanks')}")
    n_titles, titles = _titles(lines[skipped : skipped + _LINES], separator)
    skipped += n_titles
    skipped += _leading_remarks(lines[skipped:]) if n_titles else 0
    table = lines[skipped:]
    records, ends = _records(table[:_LINES], separator)
    names, n_header, notes = _header(records, ends[0], lines[:skipped], separator)
    if n_header and len(records) < 2 and len(table) <= n_header:
        raise input_error(source, "has a header and no rows below it.")
    units = _units(records, separator) if n_header else []
    consumed = skipped + (ends[1] if units else n_header)
    body = records[1 + bool(units) :] if n_header else records
    decimal = _decimal(body, separator)
    if titles:
        lines_said = "1 line" if len(titles) == 1 else f"{len(titles)} lines"
        notes.append(f"{lines_said} above the header skipped: {shown(titles)}")
    if units:
        notes.append(f"line {consumed} skipped, as it holds units: {shown(units)}")
    told = [*notes, *told]
    if decimal == ",":
        told.append("decimal comma")
    return Dialect(
        separator=separator,
        decimal=decimal,
        names=names,
        body=start + sum(len(line.encode()) for line in lines[:consumed]),
        first_line=consumed + 1,
        notes=tuple(told),
        zero_led=_zero_led(body),
        row_names=len(names) == len(records[0]) + 1,
    )


def _zero_led(body: list[list[str]]) -> tuple[int, ...]:
    """Columns where a number starts with zeros that mean something, as in ids."""
    found = {
        j
        for record in body
        for j, field in enumerate(record[:_FIELDS])
        if len(field) > 1 and field[0] == "0" and field.isdigit()
    }
    return tuple(sorted(found))


def _head_lines(data: Any, start: int) -> list[str]:
    """Complete lines from the start: a few hundred kB, but at least seven lines."""
    size = 256 * 1024
    while True:
        head = bytes(data[start : start + size])
        whole = start + len(head) >= len(data)
        if whole or head.count(b"\n") >= 8:
            break
        size *= 2
    text = head.decode("utf-8", "replace")
    lines = list(io.StringIO(text, newline=""))
    return lines if whole else lines[:-1]


def _leading_remarks(lines: list[str]) -> int:
    """Number of blank lines and comments before the table."""
    for i, line in enumerate(lines):
        sep_line = i == 0 and re.fullmatch(r"sep=.", line.strip(), re.IGNORECASE)
        if line.strip(" \t\r\n,;") and not line.startswith("#") and not sep_line:
            return i
    return len(lines)


def _records(lines: list[str], separator: str) -> tuple[list[list[str]], list[int]]:
    """Fields of each record that is not blank, and the line with which it ends."""
    if separator == WHITESPACE:
        numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
        return [line.split() for _, line in numbered], [i for i, _ in numbered]
    reader = csv.reader(iter(lines), delimiter=separator)
    records, ends = [], []
    try:
        for record in reader:
            if record:
                records.append([field.strip() for field in record])
                ends.append(reader.line_num)
    except csv.Error:
        pass  # a field beyond the limit of this module: what came before will do
    return records, ends


def _separator(lines: list[str]) -> str:
    """The separator under which the lines look most like a table of numbers."""
    present = [s for s in "\t;|," if any(s in line for line in lines[:3])]
    scores = {s: _table_score(_records(lines, s)[0], s) for s in present}
    best = max(present, key=lambda s: scores[s], default="")
    if best and scores[best][0] >= 1:
        return best
    titled = {}
    for s in (s for s in "\t;|," if any(s in line for line in lines)):
        if n_titles := _titles(lines, s)[0]:
            titled[s] = _table_score(_records(lines[n_titles:], s)[0], s)
    best = max(titled, key=lambda s: titled[s], default="")
    if best and titled[best][0] >= 1:
        return best
    spaces = [s for s in (" ", WHITESPACE) if any(" " in x for x in lines[:3])]
    scores |= {s: _table_score(_records(lines, s)[0], s) for s in spaces}
    best = max([*present, *spaces], key=lambda s: scores[s], default="")
    return best if best and scores[best] > (0.0,) else ","


def _titles(lines: list[str], separator: str) -> tuple[int, list[str]]:
    """Number of lines of titles above the table, and what they say.

    Titles fill at most half as many cells as the rows, and a header comes below them.
    Blanks separate words as well as columns, so no title is told from a row there; nor
    is it where the rows have two cells. Above a header of numbers, only a lone word is
    a title: more could be the header itself, or a row with empty cells.
    """
    if separator in (" ", WHITESPACE):
        return 0, []
    records, ends = _records(lines, separator)
    filled = [[cell for cell in record if cell not in _WORDS] for record in records]
    counts = Counter(len(cells) for cells in filled)
    width = max((size for size, n in counts.items() if n > 1), default=0)
    if width < 3:
        return 0, []
    narrow = takewhile(lambda cells: len(cells) <= width // 2, filled)
    said = [" ".join(cells) for cells in narrow]
    n = len(said)
    if n == 0 or n + 1 >= len(records) or not _is_header(records[n:], separator):
        return 0, []
    if any(is_number(cell, separator) for cell in filled[n]):
        above = [cells for cells in filled[:n] if cells]
        if any(len(cells) > 1 or is_number(cells[0], separator) for cells in above):
            return 0, []
    return ends[n - 1], [text for text in said if text]


def _units(records: list[list[str]], separator: str) -> list[str]:
    """Units in the row below the header: words over numbers, in a row without an id."""
    below = records[2:]
    if not below or len(records[0]) != len(records[1]):
        return []
    first, *rest = records[1]
    units = {j: cell for j, cell in enumerate(rest, 1) if cell not in _WORDS}
    columns = [[row[j] for row in below if j < len(row)] for j in units]
    over_numbers = all(
        all(is_number(cell, separator) for cell in column)
        and any(cell not in _WORDS for cell in column)
        for column in columns
    )
    words = not any(is_number(unit, separator) for unit in units.values())
    named = first == "" or first.casefold() in ("unit", "units")
    return list(units.values()) if named and words and over_numbers else []


def _table_score(records: list[list[str]], separator: str) -> tuple[float, ...]:
    """How much this looks like a table: 2 or 1 if regular, then its share of numbers.

    A header one shorter than the rows is how R writes row names, and scores 1.
    """
    counts = Counter(len(record) for record in records)
    width, n_usual = max(counts.items(), key=lambda item: (item[1], item[0]))
    first = len(records[0])
    regular = 2 if n_usual == len(records) else 0
    if len(records) > 1 and n_usual == len(records) - 1 and first == width - 1 > 0:
        regular = 1
    if width < 2:
        return (0.0,)
    body = [field for record in records[1:21] for field in record[:_FIELDS]]
    numbers = sum(is_number(field, separator) for field in body)
    share = numbers / max(1, len(body))
    return (regular or 0.5 * n_usual / len(records), round(share, 2), width)


def is_number(field: str, separator: str = ",") -> bool:
    """Tell whether a cell is a number or a word for none."""
    if field in _WORDS or field in _TRUTH or _NUMBER.fullmatch(field):
        return True
    return separator != "," and _DECIMAL_COMMA.fullmatch(field) is not None


def _decimal(body: list[list[str]], separator: str) -> str:
    """A comma if some cell needs it and none has a decimal point.

    The point of 1.234 may set thousands apart, and does beside 3,5.
    """
    if separator == ",":
        return "."
    fields = {field for record in body for field in record[:_FIELDS]}
    points = {field for field in fields if "." in field and _NUMBER.fullmatch(field)}
    commas = {field for field in fields if _DECIMAL_COMMA.fullmatch(field)}
    if points:
        commas = {field for field in commas if not _THOUSANDS.fullmatch(field)}
    return "," if commas and all(map(_THOUSANDS.fullmatch, points)) else "."


def _header(
    records: list[list[str]], used: int, remarks: list[str], separator: str
) -> tuple[list[str], int, list[str]]:
    """Names of the columns, the lines they take below the remarks, and notes."""
    first = records[0]
    width = len(records[1]) if len(records) > 1 else len(first)
    if len(first) == width - 1:
        note = "header one shorter than the rows: the first column holds row names"
        return ["", *first], used, [note]
    if _is_header(records, separator):
        return first, used, []
    marked = [line[1:] for line in remarks if line.startswith("#")][-1:]
    if marked:
        fields = _records(marked, separator)[0]
        if fields and len(fields[0]) == len(first) > 1:
            return fields[0], 0, ["header taken from the comment above the table"]
    names = [f"column {j}" for j in range(1, len(first) + 1)]
    return names, 0, ["no header: columns are numbered"]


def _is_header(records: list[list[str]], separator: str) -> bool:
    """Tell names from numbers; names may be numbers themselves (years, m/z)."""
    first, body = records[0], records[1:] or [[]]
    numeric = [
        name
        for name, below in zip(first, body[0])
        if is_number(below, separator) and below not in _WORDS
    ]
    if body == [[]]:
        return not all(is_number(name, separator) for name in first)
    if not numeric or not all(
        is_number(name, separator) and name not in _WORDS for name in numeric
    ):
        return True
    return _is_axis(numeric)


def _is_axis(names: list[str]) -> bool:
    """Numbers that stand for columns: 0, 1, 2, ...; years; a growing scale."""
    try:
        axis = [float(name.replace(",", ".")) for name in names]
    except ValueError:
        return False
    if any(a >= b for a, b in pairwise(axis)) or len(axis) < 2:
        return False
    counting = axis[0] in (0.0, 1.0) and axis[-1] - axis[0] == len(axis) - 1
    years = 1800 <= axis[0] and axis[-1] <= 2100 and all(a.is_integer() for a in axis)
    return counting or years or len(axis) >= 5
