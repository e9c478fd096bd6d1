"""What kind each column of a table is, and why."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._arrow_columns import as_text, is_nested, is_numeric
from imvc.io._errors import listed
from imvc.io._file_table import NEARLY_EMPTY
from imvc.io.columns._asked_kinds import as_asked
from imvc.io.columns._cells import Cells, level_key
from imvc.io.columns._code import ColumnCode
from imvc.io.columns._dates import ISO, days_of_arrow, is_date
from imvc.io.columns._text_kinds import TextColumn

_SHOWN = 5
_NOTES = {
    "left out": "left out as features: {}",
    "nearly empty": "left out columns over 95 % empty: {}; pass --as COL=number (or "
    "category, ...) to use one",
    "metadata": "kept as metadata, not as features: {}; pass --as COL=category to use "
    "one",
    "odd": "took cells as empty that are no value of their column: {}",
    "censored": "read bounds as the number itself: {}",
    "groups": "cannot tell thousands from decimals, so these are no numbers: {}; pass "
    "--as COL=number to read thousands",
    "dates": "cannot tell day from month, read day first: {}; write dates as "
    "2020-12-31, or pass --as COL=metadata",
    "rare": "put rare values together as 'other': {}",
    "spellings": "took spellings for one value: {}",
    "blanks": "took words for nothing as values of a scale: {}",
}

Remarks = list[tuple[str, str]]


def classify(
    table: Any,
    *,
    kinds: Mapping[str, str] = {},
    ordinals: Mapping[str, Sequence[str]] = {},
    drop: Collection[str] = (),
    keep: Collection[str] | None = None,
    counters: Collection[str] = (),
    identifiers: Collection[str] = (),
    text: str = "use",
    decimal_comma: bool = False,
    present: np.ndarray | None = None,
) -> tuple[list[ColumnCode], list[str]]:
    """Say how each column of a table is read.

    Parameters
    ----------
    table : pyarrow.Table
        The columns of a file without its ids.
    kinds : mapping of str to str
        Kinds that somebody asked for, by column (``--as``).
    ordinals : mapping of str to sequence of str
        Levels from low to high, by column (``--ordinal``).
    drop : collection of str
        Columns to leave out (``--drop``).
    keep : collection of str, optional
        The only columns to use (``--keep``), even where they are nearly empty.
    counters : collection of str
        Columns that count the rows.
    identifiers : collection of str
        Columns of numbers that name things.
    text : {"use", "drop", "error"}
        What becomes of text that is neither numbers nor dates: use it, make it
        metadata, or refuse the table. A kind that was asked for comes first.
    decimal_comma : bool
        Whether the file writes 3,5 for 3.5.
    present : ndarray of bool, optional
        Rows that hold anything at all; shares are of these. By default all.

    Returns
    -------
    codes : list of ColumnCode
        One for each column, in their order.
    notes : list of str
        What is worth telling.

    Raises
    ------
    ValueError
        If a column cannot be what was asked for, or holds text and `text="error"`.
    """
    _check_request(kinds, ordinals)
    if present is not None:
        table = table.filter(pa.array(present, pa.bool_()))
    drop, counters = frozenset(drop), frozenset(counters)
    keep = None if keep is None else frozenset(keep)
    codes: list[ColumnCode] = []
    remarks: Remarks = []
    texts: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns):
        told: Remarks = []
        if name in drop:
            code = _plain(name, column, "left out", "asked for by --drop")
        elif keep is not None and name not in keep:
            code = _plain(name, column, "left out", "not asked for by --keep")
        elif name in ordinals or name in kinds:
            kind = kinds.get(name, "ordinal")
            code, told = _asked(name, column, kind, ordinals.get(name), decimal_comma)
        elif name in counters:
            code = _plain(name, column, "left out", "counts rows")
        elif name in identifiers:
            code = _plain(name, column, "metadata", "called like ids, hardly repeats")
        else:
            code, told = _guessed(name, column, text, decimal_comma)
            if keep is None:
                code, told = _unless_nearly_empty(code, told, table.num_rows)
            if text == "error" and _is_text(code, column):
                texts[name] = column
        codes.append(code)
        remarks += [*told, *_remark_on(code)]
    if texts:
        _refuse_texts(texts)
    return codes, _notes(remarks)


def _is_text(code: ColumnCode, column: Any) -> bool:
    """Whether a column holds words, or lists, that could be used or kept."""
    typed = is_numeric(column.type) or is_date(column.type)
    empty = code.why == "no value" or code.why.endswith("% empty")
    return not (typed or empty or code.kind in ("number", "date"))


def _check_request(
    kinds: Mapping[str, str], ordinals: Mapping[str, Sequence[str]]
) -> None:
    for name, kind in kinds.items():
        if name in ordinals and kind != "ordinal":
            raise ValueError(
                f"column {name!r} cannot be both --as {name}={kind} and --ordinal; "
                "leave one out."
            )


def _guessed(
    name: str, column: Any, text: str, decimal_comma: bool
) -> tuple[ColumnCode, Remarks]:
    """The kind of a column of which nobody said anything."""
    dtype = column.type
    if is_nested(dtype):
        return _plain(name, column, "metadata", f"nested ({dtype})"), []
    if is_date(dtype):
        return _arrow_date(name, column)
    if pa.types.is_boolean(dtype):
        code = _plain(name, column, "yes-no", "true or false", ("false", "true"))
    elif is_numeric(dtype):
        code = _plain(name, column, "number", "numbers")
    else:
        return _guessed_text(name, column, text, decimal_comma)
    if code.n_empty == len(column):
        code = _plain(name, column, "left out", "no value")
    return code, []


def _guessed_text(
    name: str, column: Any, text: str, decimal_comma: bool
) -> tuple[ColumnCode, Remarks]:
    found = TextColumn(name, column, decimal_comma)
    order = _own_order(column)
    if order is None:
        code = found.guess()
    else:
        code = found.in_order(order, "ordered by the file")
    if text == "drop" and code.kind not in ("number", "date") and found.n_known:
        return _plain(name, column, "metadata", "text"), []
    return code, found.remarks


def _asked(
    name: str,
    column: Any,
    kind: str,
    levels: Sequence[str] | None,
    decimal_comma: bool,
) -> tuple[ColumnCode, Remarks]:
    """A column as somebody wants it."""
    why = "asked for by --as" if levels is None else "asked for by --ordinal"
    dtype = column.type
    if kind == "metadata":
        return _plain(name, column, "metadata", why), []
    if is_nested(dtype):
        raise ValueError(
            f"column {name!r} ({dtype}) holds several values in a cell, so it cannot "
            f"be --as {name}={kind}; pass --as {name}=metadata, or --drop it."
        )
    if kind == "number" and is_numeric(dtype):
        return _plain(name, column, "number", why), []
    if kind == "date" and is_date(dtype):
        code, remarks = _arrow_date(name, column)
        return replace(code, why=why), remarks
    found = TextColumn(name, column, decimal_comma and not is_numeric(dtype))
    if found.n_known == 0:
        return _plain(name, column, "left out", "no value"), []
    code = as_asked(found, kind, levels)
    return replace(code, why=why), found.remarks


def _arrow_date(name: str, column: Any) -> tuple[ColumnCode, Remarks]:
    """Dates that the file itself calls dates."""
    days = days_of_arrow(column)
    odd = np.isnan(days) & pc.is_valid(column).to_numpy()
    n_odd, n_empty = int(odd.sum()), column.null_count
    remarks = []
    if n_odd:
        first = str(column[int(np.argmax(odd))].as_py())
        count = f"{n_odd} cell{'s' * (n_odd > 1)}"
        remarks = [("odd", f"{name!r} ({count}, first {first!r})")]
    if n_odd + n_empty == len(column):
        return _plain(name, column, "left out", "no value"), remarks
    code = ColumnCode(name, "date", "dates", date_format=ISO)
    return replace(code, n_empty=n_empty, n_odd=n_odd), remarks


def _own_order(column: Any) -> tuple[str, ...] | None:
    """Levels of a column of ordered categories, as pandas stores them."""
    dtype = column.type
    if not pa.types.is_dictionary(dtype) or not dtype.ordered:
        return None
    if is_numeric(dtype.value_type):
        return None
    coded = column.unify_dictionaries().combine_chunks()
    used = np.unique(coded.indices.drop_null().to_numpy())
    levels = as_text(coded.dictionary.take(pa.array(used))).to_pylist()
    known = {level_key(level): level.strip() for level in levels}
    return tuple(known.values()) if len(known) > 1 else None


def _plain(
    name: str, column: Any, kind: str, why: str, levels: tuple[str, ...] = ()
) -> ColumnCode:
    """A code for which only the empty cells need to be counted."""
    dtype = column.type
    if is_nested(dtype) or is_numeric(dtype) or is_date(dtype):
        empty = pc.is_null(column, nan_is_null=pa.types.is_floating(dtype))
        n_empty = pc.sum(empty).as_py() or 0
    else:
        cells = Cells.of(column)
        n_empty = len(column) - cells.n_cells(~cells.is_blank)
    return ColumnCode(name, kind, why, levels=levels, n_empty=n_empty)


def _unless_nearly_empty(
    code: ColumnCode, remarks: Remarks, n_rows: int
) -> tuple[ColumnCode, Remarks]:
    n_without = code.n_empty + code.n_odd
    if code.kind == "left out" or n_without <= NEARLY_EMPTY * n_rows:
        return code, remarks
    why = f"{100 * n_without // n_rows} % empty"
    return ColumnCode(code.name, "left out", why, n_empty=n_without), []


def _remark_on(code: ColumnCode) -> Remarks:
    """What there is to tell of a column that gives no features unasked."""
    # Of row counters the choice of the ids tells.
    if code.why.startswith(("asked for", "not asked for", "counts rows")):
        return []
    if code.kind == "metadata":
        return [("metadata", f"{code.name!r} ({code.why})")]
    if code.kind == "left out":
        topic = "nearly empty" if code.why.endswith("% empty") else "left out"
        return [(topic, f"{code.name!r} ({code.why})")]
    return []


def _notes(remarks: Remarks) -> list[str]:
    """One note for each topic that was remarked on."""
    notes = []
    for topic, note in _NOTES.items():
        told = [remark for about, remark in remarks if about == topic]
        if told:
            notes.append(note.format(listed(told[:_SHOWN], len(told))))
    return notes


def _refuse_texts(texts: Mapping[str, Any]) -> None:
    """Say which columns hold text, with an example of each."""
    examples = []
    for name, column in list(texts.items())[:_SHOWN]:
        if is_nested(column.type):
            examples.append(f"{name!r} ({column.type})")
        else:
            cells = Cells.of(column)
            examples.append(f"{name!r} (e.g. {cells.first(~cells.is_blank)!r})")
    raise ValueError(
        f"has {len(texts)} text column{'s' * (len(texts) > 1)}: "
        f"{listed(examples, len(texts))}; drop them (--drop VIEW=COL), or say what "
        "they are (--as COL=category)."
    )
