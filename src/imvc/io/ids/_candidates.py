"""Columns that might hold ids, and those of them that only count rows."""

import re
from dataclasses import dataclass

import numpy as np

from imvc.io.ids._names import is_counter_name, is_row_index_name

BY_ROW = "@row"
# In a short table, numbers of any meaning may happen to be 1, 2, 3.
_MANY_ROWS = 10
_PADDED = re.compile(r"[-+]?0\d+")


@dataclass(frozen=True, eq=False)
class IdCandidate:
    """A column of one file that might hold ids.

    Parameters
    ----------
    name : str
        Empty, or what a program made up, if the column has none.
    values : ndarray of object
        Stripped text, empty where there is none.
    whole : bool
        All known values are whole numbers.
    first : bool
        It is the first column of its file.
    declared : bool
        The file itself calls it its index, its row names or observation names.
    """

    name: str
    values: np.ndarray
    whole: bool
    first: bool = False
    declared: bool = False


@dataclass(frozen=True, eq=False)
class FileColumns:
    """The columns of one file that might hold ids.

    Parameters
    ----------
    source : str
        The file, for messages.
    candidates : tuple of IdCandidate
        In the order of the file.
    given : str, optional
        The column that was asked for, or that of the fit, or "@row" for rows in their
        order; nothing is chosen then.
    tabular : bool
        Whether there are named columns; a matrix such as .npy need not have ids.
    """

    source: str
    candidates: tuple[IdCandidate, ...]
    given: str | None = None
    tabular: bool = True


def counts_rows(column: IdCandidate) -> bool:
    """Tell whether a column only counts rows, or is what is left of such a column.

    Whole numbers 0, 1, 2, ... or 1, 2, 3, ... count rows under any name, but in a short
    table only where the name does not speak of something else. The index of a table
    that was filtered, shuffled or put below another one is known by its lack of a name.
    """
    if not column.whole or len(column.values) == 0:
        return False
    may_be_short = column.declared or is_counter_name(column.name)
    if (may_be_short or len(column.values) >= _MANY_ROWS) and is_range(column.values):
        return True
    if not (column.first or column.declared) or not is_row_index_name(column.name):
        return False
    texts = column.values.tolist()
    return (is_distinct(texts) or _restarts(texts)) and not is_padded(texts)


def is_distinct(texts: list[str]) -> bool:
    """All different, and none empty."""
    return len(set(texts) - {""}) == len(texts)


def is_padded(texts: list[str]) -> bool:
    """Zeros in front of some numbers: whoever writes them names things."""
    return any(map(_PADDED.fullmatch, texts))


def is_range(values: np.ndarray) -> bool:
    """Nothing but 0, 1, 2, ... or 1, 2, 3, ..., as pandas and R write row numbers."""
    n, start = len(values), {"0": 0, "1": 1}.get(values[0])
    if start is None or values[-1] != str(start + n - 1):
        return False
    return values.tolist() == list(map(str, range(start, start + n)))


def _restarts(texts: list[str]) -> bool:
    """Tables below each other: 0, 1, 2, 0, 1, ..."""
    if "" in texts:
        return False
    numbers = list(map(int, texts))
    steps = zip([-1, *numbers], numbers)
    return all(now == before + 1 or now in (0, 1) for before, now in steps)
