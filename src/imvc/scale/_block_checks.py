"""Checks of the numbers of a block, and errors that say where they are."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from imvc.io._errors import BlockError, one_line
from imvc.views import IncompleteViews, count_nonfinite, read_only


def check_rows(X, wanted, strict, refuse, way_out, columns=None):
    """Which of the wanted rows are observed: all but those that are NaN throughout.

    Parameters
    ----------
    X : ndarray or csr_array of floating numbers
    wanted : ndarray of bool
        The other rows may contain anything.
    strict : bool
        Whether a row of NaN is an error too.
    refuse : callable
        Called with a row that cannot be used and the problem; raises.
    way_out : str
        What to do about such a row, other than to mend it.
    columns : sequence of str, optional
    """
    n_nan, n_inf = count_nonfinite(X, wanted)
    if n_inf.any():
        row = int(np.flatnonzero(n_inf)[0])
        refuse(row, f"infinite{_column(X, row, columns)}; replace it, or {way_out}.")
    missing = n_nan == X.shape[1]
    partly = np.flatnonzero((n_nan > 0) & ~missing)
    if len(partly):
        row = int(partly[0])
        refuse(row, f"partly NaN{_column(X, row, columns)}; fill it in, or {way_out}.")
    if strict and missing.any():
        row = int(np.flatnonzero(missing)[0])
        refuse(row, f"all NaN, but said to be observed; {way_out}.")
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


def assemble_block(source, i, parts, id_text=lambda sample: ""):
    """Block `i` of a source from (array, positions, observed) of every view."""
    arrays, positions, columns = zip(*parts)
    mask = np.column_stack(columns)
    refuse_uncovered(mask, i, int(source.starts[i]), id_text)
    return IncompleteViews(
        arrays=arrays,
        mask=read_only(mask),
        names=source.names,
        positions=positions,
        sample_ids=None,
        feature_names=source.feature_names,
    )


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
