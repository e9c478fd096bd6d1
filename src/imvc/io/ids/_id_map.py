"""A file that renames ids, and its use."""

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from imvc.io._encoding import as_utf8
from imvc.io._errors import InputError, input_error, reading, shown
from imvc.io._file_bytes import check_path, load_bytes

_HEADER_WORDS = frozenset(
    "old new from to before after alias aliases original renamed source target id ids "
    "oldid newid fromid toid oldname newname name key value sample sampleid samplename "
    "patient patientid subject subjectid alt neu ancien nouveau viejo nuevo".split()
)


def read_id_map(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a CSV or TSV file with two columns: an id as it is, and its new name.

    Tabs, semicolons or commas may stand between them. A first row is a header if both
    of its cells are words such as old, new, from, to, alias, id, sample_id and come
    nowhere else in the file. Blank lines and spaces around ids do not count.

    Returns
    -------
    dict of str to str
        Applied once: a map of a to b and b to c makes b of a.

    Raises
    ------
    InputError
        The file cannot be read, a row has not two cells, or an id has two new names.
    """
    source = str(path)
    rows = _rows(Path(path), source)
    first = [cells for _, cells in rows[:1] if _is_header(cells, rows[1:])]
    renames: dict[str, str] = {}
    for line, cells in rows[len(first) :]:
        if len(cells) != 2 or "" in cells:
            raise input_error(
                source,
                f"has {shown(cells)} where two cells should be, an id and its new "
                "name; separate them by a comma, semicolon or tab.",
                line,
            )
        old, new = cells
        if renames.setdefault(old, new) != new:
            raise input_error(
                source,
                f"renames {old!r} both to {renames[old]!r} and to {new!r}; keep one.",
                line,
            )
    if not renames:
        raise input_error(source, "renames nothing; give rows of an id and a new name.")
    return renames


def _rows(path: Path, source: str) -> list[tuple[int, list[str]]]:
    """Cells of each line that is not blank, with its number."""
    check_path(path, source)
    with reading(source, "a table of two columns"):
        text = as_utf8(load_bytes(path, source), source)
        decoded = bytes(text.data[text.start :]).decode("utf-8")
        attempts = [list(_cells(decoded, separator)) for separator in "\t;,"]
    in_two = [sum(len(cells) == 2 for _, cells in rows) for rows in attempts]
    return attempts[in_two.index(max(in_two))]


def _cells(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    for record in reader:
        cells = [cell.strip() for cell in record]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield reader.line_num, cells


def _is_header(cells: list[str], rows: list[tuple[int, list[str]]]) -> bool:
    plain = [re.sub(r"[\W_]", "", cell.casefold()) for cell in cells]
    if len(cells) != 2 or not _HEADER_WORDS.issuperset(plain):
        return False
    return not any(cell in cells for _, others in rows for cell in others)


def apply_id_map(
    source: str, ids: np.ndarray, id_map: Mapping[str, str]
) -> tuple[np.ndarray, int]:
    """The ids of a file under their new names, and how many have one.

    Raises
    ------
    InputError
        Two different ids would become the same.
    """
    old = ids.tolist()
    new = [id_map.get(text, text) for text in old]
    if len(set(new)) < len(set(old)):
        raise _merged(source, old, new)
    renamed = ids.copy()
    renamed[:] = new
    return renamed, sum(a != b for a, b in zip(old, new))


def _merged(source: str, old: list[str], new: list[str]) -> InputError:
    came_from: dict[str, str] = {}
    for a, b in zip(old, new):
        if came_from.setdefault(b, a) != a:
            break
    return input_error(
        source,
        f"the id map (--id-map) makes {b!r} of two different ids, {came_from[b]!r} and "
        f"{a!r}; give them different names.",
    )
