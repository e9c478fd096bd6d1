"""Checks of the numbers of a block, and errors that say where they are."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError, one_line
from imvc.views import IncompleteViews, count_nonfinite, find_overflow, read_only


def check_rows(X, wanted, strict, place, way_out, columns=None, keep=False):
    """Which of the wanted rows are observed: all but those that are NaN throughout.

    `X` has floating numbers; rows that are not wanted may contain anything. Where
    `strict`, a row of NaN is an error too. For the error about a row that cannot be
    used, `place` tells of a row where it is, `way_out` what to do about it other than
    to mend it, and `columns` are the names of the columns, where they have any. Rows
    with some empty cells are such, unless they are to be kept.
    """
    n_nan, n_inf = count_nonfinite(X, wanted)
    missing = n_nan == X.shape[1]
    for bad, what, remedy in (
        (n_inf > 0, "infinite", "replace it"),
        (
            (n_nan > 0) & ~missing,
            "partly NaN",
            'pass empty_cells="fill" (--empty-cells fill)',
        ),
    ):
        if bad.any() and not (keep and what == "partly NaN"):
            row = int(np.flatnonzero(bad)[0])
            problem = f"{what}{_column(X, row, columns)}; {remedy}, or {way_out}."
            raise BlockError(f"{place(row)}: {problem}")
    found = find_overflow(X, wanted & ~missing)
    if found is not None:
        row, j = found
        raise BlockError(
            f"{place(row)}: in column {j if columns is None else columns[j]!r} a "
            f"number whose square overflows, beside others that are far smaller; "
            f"correct it, or {way_out}."
        )
    if strict and missing.any():
        row = int(np.flatnonzero(missing)[0])
        problem = f"all NaN, but said to be observed; {way_out}."
        raise BlockError(f"{place(row)}: {problem}")
    return wanted & ~missing


def _column(X, row, columns):
    """The first column without a finite number, for an error."""
    values = X[[row]]
    values = values if isinstance(values, np.ndarray) else values.toarray()
    j = int(np.flatnonzero(~np.isfinite(values[0]))[0])
    return f" in column {j if columns is None else columns[j]!r}"


def refuse_uncovered(mask, i, start, id_text=lambda sample: ""):
    """Raise an error for a sample without any view."""
    covered = np.zeros(len(mask), bool)
    for column in mask.T:  # much faster than a reduction over so short an axis
        covered |= column
    lost = np.flatnonzero(~covered)
    if len(lost):
        sample = start + int(lost[0])
        raise BlockError(
            f"all views, block {i}, row {sample}{id_text(sample)}: observed in no view "
            f"({len(lost)} such samples in this block); drop them."
        )


def absent_view(n, width, dtype, sparse=False):
    """Array, positions and observed samples of a view that none of `n` samples has."""
    X = sp.csr_array((0, width), dtype=dtype) if sparse else np.empty((0, width), dtype)
    return X, np.full(n, -1, np.int64), np.zeros(n, bool)


def assemble_block(schema, i, start, parts, id_text=lambda sample: ""):
    """Block `i` from array, positions and observed samples of every view."""
    arrays, positions, columns = zip(*parts)
    mask = np.column_stack(columns)
    refuse_uncovered(mask, i, start, id_text)
    return IncompleteViews(
        arrays=arrays,
        mask=read_only(mask),
        names=schema.names,
        positions=positions,
        sample_ids=None,
        feature_names=schema.feature_names,
    )


def as_booleans(mask, label, i, start, problem):
    """The mask of a block, whose other values than 0 and 1 are an error."""
    if mask.dtype == bool:
        return mask
    odd = np.flatnonzero(((mask != 0) & (mask != 1)).any(axis=1))
    if len(odd):
        row = start + int(odd[0])
        raise BlockError(f"{label}, block {i}, row {row}: {problem}")
    return mask.astype(bool)


@contextmanager
def as_block_error(label: str, i: int, start: int, stop: int) -> Iterator[None]:
    """Turn whatever a reader raises on damaged data into a BlockError."""
    try:
        yield
    except (BlockError, ImportError, MemoryError):
        raise
    # Readers meet damage in many places, and each raises in its own way.
    except Exception as error:
        raise BlockError(
            f"{label}, block {i}, rows {start} to {stop - 1}: cannot be read "
            f"({one_line(error)}); it may be damaged or truncated: write it anew."
        ) from error
