"""Columns of text: kept as metadata, one-hot encoded, described in a note."""

from collections.abc import Callable
from typing import Any

import numpy as np

from imvc.io._arrow_types import as_text, is_nested, is_numeric, to_objects
from imvc.io._dialect import NA_WORDS, NUMBER
from imvc.io._errors import input_error

MAX_CATEGORIES = 100


def as_metadata(column: Any) -> np.ndarray:
    """Objects, None where there is no value; numbers stay numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_numeric(column.type):
        objects = np.empty(len(column), dtype=object)
        objects[:] = column.to_pylist()
        return objects
    if is_nested(column.type):
        objects = np.empty(len(column), dtype=object)
        objects[:] = [None if v is None else str(v) for v in column.to_pylist()]
        return objects
    text = pc.utf8_trim_whitespace(as_text(column))
    missing = pc.is_in(text, value_set=pa.array(NA_WORDS))
    return to_objects(pc.if_else(missing, pa.scalar(None, pa.string()), text))


def one_hot(column: Any, name: str, source: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """0/1 columns of a text column, NaN where it has no value; and its values."""
    values = as_metadata(column)
    known = values != np.array(None, dtype=object)
    categories, codes = np.unique(values[known].astype(str), return_inverse=True)
    if len(categories) > MAX_CATEGORIES:
        raise input_error(
            source,
            f"column {name!r} has {len(categories)} different texts, e.g. "
            f"{str(categories[0])!r}: too many to one-hot encode (at most "
            f"{MAX_CATEGORIES}); drop the column.",
        )
    block = np.full((len(values), len(categories)), np.nan)
    block[known] = codes[:, None] == np.arange(len(categories))
    return block, tuple(str(c) for c in categories)


def describe_columns(
    texts: dict[str, Any], lines: Callable[[int], int | None] | None = None
) -> str:
    """``2 text columns: 'tissue' (e.g. 'brain'), ...``."""
    count = f"{len(texts)} text column{'s' if len(texts) > 1 else ''}"
    parts = [_example(name, column, lines) for name, column in list(texts.items())[:5]]
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return f"{count}: {', '.join(parts)}{more}"


def _example(name: str, column: Any, lines: Callable[[int], int | None] | None) -> str:
    """A column with an example; with its odd cell if it is numbers but for a few."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_nested(column.type):
        return f"{name!r} ({column.type})"
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    empty = pc.is_in(text, value_set=pa.array(NA_WORDS))
    odd = pc.invert(pc.or_(empty, pc.match_substring_regex(text, rf"^{NUMBER}$")))
    n_odd, n_full = pc.sum(odd).as_py(), len(text) - pc.sum(empty).as_py()
    row = pc.index(odd, True).as_py()
    if row < 0:
        return f"{name!r}"
    value = text[row].as_py()
    if 2 * n_odd >= n_full:
        return f"{name!r} (e.g. {value[:40]!r})"
    line = lines(row) if lines else None
    place = f"row {row}" if line is None else f"line {line}"
    return f"{name!r} (numbers but for {n_odd} cells, first {value[:40]!r} at {place})"
