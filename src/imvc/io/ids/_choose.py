"""Which column of each file holds the ids: all files are looked at together.

A column that only counts rows is no id: it would pair rows by their position.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from imvc.io._errors import InputError, input_error, shown
from imvc.io.ids._candidates import (
    BY_ROW,
    FileColumns,
    IdCandidate,
    counts_rows,
    is_distinct,
)
from imvc.io.ids._contest import best_columns
from imvc.io.ids._names import is_index_name, is_nameless, is_row_index_name


@dataclass(frozen=True)
class IdChoice:
    """The id column of one file, and what was found on the way.

    Parameters
    ----------
    column : str, optional
        Its name in the file; None if the file has no ids.
    counters : tuple of str
        Columns that only count rows: neither ids nor features.
    note : str
        What was decided, for the user.
    """

    column: str | None
    counters: tuple[str, ...]
    note: str


def choose_ids(files: Sequence[FileColumns]) -> list[IdChoice]:
    """Choose the id column of every file, looking at all of them together.

    A column that only counts rows is no id where there is another column, and where
    there is none, only the user can say that it is. Of the others, that one is taken
    whose values are most in the other files (case, zeros in front and so on ignored);
    then one called like ids, then one of text that differs in every row, then the
    first.

    Parameters
    ----------
    files : sequence of FileColumns

    Returns
    -------
    list of IdChoice
        One per file.

    Raises
    ------
    InputError
        There are several files, and one of them has no ids but row numbers, or is a
        table without any.
    """
    counters = [[c for c in file.candidates if counts_rows(c)] for file in files]
    choices = []
    for file, counting, column in zip(files, counters, best_columns(files, counters)):
        if column is None and file.given is None:
            if len(files) > 1 and (file.tabular or counting):
                raise _no_ids(file, counting)
            column = _row_names(counting) if len(files) == 1 else None
        name = file.given if column is None else column.name
        name = None if name == BY_ROW else name
        left_out = [c for c in counting if c.name != name]
        parts = [_id_note(file, name, column in counting), _counter_note(left_out)]
        note = "; ".join(filter(None, parts))
        choices.append(IdChoice(name, tuple(c.name for c in left_out), note))
    return choices


def _row_names(counters: list[IdCandidate]) -> IdCandidate | None:
    """Of the columns of the only file that count rows, the one to call rows by."""
    usable = [
        c
        for c in counters
        if is_distinct(c.values.tolist())
        and (c.first or c.declared or is_index_name(c.name))
    ]
    return min(usable, key=lambda c: is_row_index_name(c.name), default=None)


def _id_note(file: FileColumns, name: str | None, counts: bool) -> str:
    if file.given == BY_ROW:
        return f"rows are taken in their order, as asked ({BY_ROW})"
    if name is None:
        return "no column of ids: rows are taken in their order"
    label = "the column without a name" if is_nameless(name) else f"column {name!r}"
    return f"ids from {label}" + (", which only counts rows" if counts else "")


def _counter_note(counters: list[IdCandidate]) -> str:
    if not counters:
        return ""
    if len(counters) == 1:
        return f"{_label(counters[0])} only counts rows and is left out"
    names = ", ".join(repr(_name(c)) for c in counters)
    return f"columns {names} only count rows and are left out"


def _label(column: IdCandidate) -> str:
    if not is_nameless(column.name):
        return f"column {column.name!r}"
    return "the first column" if column.first else "the column without a name"


def _name(column: IdCandidate) -> str:
    """The name that --id takes."""
    return column.name or "Unnamed: 0"


def _no_ids(file: FileColumns, counters: list[IdCandidate]) -> InputError:
    by_row = (
        f"pass --id {BY_ROW} (id_columns={BY_ROW!r}) if the rows of all files are the "
        "same samples in the same order."
    )
    if not counters:
        names = [_name(column) for column in file.candidates]
        found = f" among its columns {shown(names)}" if names else ""
        return input_error(
            file.source,
            f"no column of ids was found{found}, so its rows could be paired with "
            "those of the other files by position only; name the column with --id "
            f"COLUMN (id_columns=), or {by_row}",
        )
    counter = min(counters, key=lambda c: not (c.first or is_index_name(c.name)))
    name = _name(counter)
    return input_error(
        file.source,
        f"no ids were found but {_label(counter)}, which only counts rows "
        f"({shown(counter.values.tolist())}), so rows would be paired with those of "
        f"the other files by position; pass --id {shlex.quote(name)} "
        f"(id_columns={name!r}) if these numbers are the ids, name another column, or "
        f"{by_row}",
    )
