"""A column of text as somebody wants it, or an error that says why it cannot be."""

from collections.abc import Sequence

import numpy as np

from imvc.io._errors import shown
from imvc.io.columns._code import NOT_A_LEVEL, ColumnCode
from imvc.io.columns._dates import find_date_format, read_days_of_fit
from imvc.io.columns._numbers import read_numbers
from imvc.io.columns._text_kinds import TextColumn

_MOST = 0.5  # of the cells must be what is asked for; the others are taken as empty


def as_asked(
    column: TextColumn, kind: str, levels: Sequence[str] | None = None
) -> ColumnCode:
    """The code of a column for a kind of ``--as``, or for levels of ``--ordinal``."""
    if levels is not None:
        return _given_order(column, tuple(levels))
    return {
        "number": _number,
        "category": _category,
        "ordinal": _ordinal,
        "date": _date,
    }[kind](column)


def _number(column: TextColumn) -> ColumnCode:
    code = column.number(_MOST, asked=True)
    if code is None:
        cells = column.cells
        found = read_numbers(cells.texts, cells.counts, grouped=True)
        raise _refusal(column, "number", "numbers", np.isnan(found.values))
    return code


def _date(column: TextColumn) -> ColumnCode:
    code = column.date(_MOST, compact=True)
    if code is None:
        cells = column.cells
        found = find_date_format(cells.texts, cells.counts * column.known)
        odd = np.ones(len(cells.texts), dtype=bool)
        if found is not None:
            odd = np.isnan(read_days_of_fit(cells.texts, found.format))
        raise _refusal(column, "date", "dates", odd)
    return code


def _category(column: TextColumn) -> ColumnCode:
    # Who asks for it may have many levels; `balance` keeps the rare ones from ruling.
    code = column.category(share=0.0)
    if not code.levels:
        raise ValueError(
            f"column {column.name!r} cannot be --as {column.name}=category: each of "
            f"its {int(column.known.sum())} values is too rare; pass --as "
            f"{column.name}=metadata, or leave it out (--drop)."
        )
    return code


def _ordinal(column: TextColumn) -> ColumnCode:
    levels = column.numeric_levels()
    if levels is not None:
        return column.in_order(levels, "")
    code = column.ordinal(n_steps=2)
    if code is None:
        values = [column.cells.words[i] for i in np.flatnonzero(column.known)]
        raise ValueError(
            f"column {column.name!r} has values of unknown order ({shown(values)}), so "
            f"--as {column.name}=ordinal is not enough: give the order, lowest first, "
            f"with --ordinal {column.name}=a,b,c."
        )
    return code


def _given_order(column: TextColumn, levels: tuple[str, ...]) -> ColumnCode:
    code = column.in_order(levels, "")
    unlisted = ColumnCode(column.name, "category", "", levels).places(column.cells)
    odd = unlisted == NOT_A_LEVEL
    if odd.any():
        raise ValueError(
            f"column {column.name!r} has a value {column.cells.first(odd)!r} that is "
            f"not in --ordinal {column.name}={','.join(levels)}; add it to the list, "
            "or empty these cells."
        )
    return code


def _refusal(column: TextColumn, kind: str, called: str, odd: np.ndarray) -> ValueError:
    odd = odd & column.known
    return ValueError(
        f"column {column.name!r} cannot be --as {column.name}={kind}: "
        f"{column.cells.n_cells(odd)} of its {column.n_known} values are no {called}, "
        f"first {column.cells.first(odd)!r}; leave the option out."
    )
