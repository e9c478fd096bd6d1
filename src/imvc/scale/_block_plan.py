"""How many samples make a block, and where blocks start: a budget of bytes in rows."""

import re

import numpy as np

from imvc.io._row_reader import cut_rows

_MOST_ROWS = 1 << 16  # results of a block grow with its rows, however narrow they are
_DEFAULT_BYTES = 64 * 2**20
_FEWEST_ROWS = 256  # of a block: below, a pass is all overhead
# Each of two threads holds a block, copies of parts of it and what is made of it, and
# one result more waits.
_BUDGET_SHARE = 8
MADE_BYTES = 256  # made of a sample per view that it has: neighbours, weights, results
_FINE = 64  # chunks this many times smaller than a block need no alignment
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class SmallBudgetError(ValueError):
    """A memory budget that holds too few samples to work with."""


def block_rows(row_bytes, n_views, memory_budget=None):
    """Most samples of a block, each of so many bytes over all of its views.

    `memory_budget` is that of two threads; a block, with what is made of it, holds
    about an eighth of it.
    """
    if memory_budget is None:
        share = max(_DEFAULT_BYTES, _FEWEST_ROWS * row_bytes)
    else:
        budget = parse_bytes(memory_budget)
        share = budget / _BUDGET_SHARE
        if share < _FEWEST_ROWS * row_bytes:
            least = -(-int(_FEWEST_ROWS * row_bytes * _BUDGET_SHARE) // 2**20)
            raise SmallBudgetError(
                f"memory_budget={memory_budget!r} is too small for samples of "
                f"{int(row_bytes)} bytes; pass at least '{least}MiB'."
            )
        row_bytes += n_views * MADE_BYTES
        share = max(share, _FEWEST_ROWS * row_bytes)
    return int(min(_MOST_ROWS, max(share // max(row_bytes, 1.0), 1)))


def share_of_threads(budget, threads):
    """The part of a budget for all threads that blocks are cut for: that of two."""
    return budget * 2 // max(threads, 2)


def plan_blocks(n, rows, boundaries):
    """First sample of every block, and the number `n` of samples.

    A block has at most `rows` samples. `boundaries` has, per view that is stored in
    chunks, the samples at which chunks start: blocks start there, so that no chunk is
    unpacked twice in one pass.
    """
    common = None
    for own in boundaries:
        size = int(np.diff(own).max(initial=1))
        if rows // _FINE < size <= rows:
            both = own if common is None else np.intersect1d(common, own)
            # Chunks that never meet: those of the earlier view stay whole.
            if common is None or np.diff(both).max(initial=1) <= rows:
                common = both
    return cut_rows(n, rows, common)


def parse_bytes(size: int | str, name: str = "memory_budget") -> int:
    """Bytes of a size like ``"512MiB"``, ``"2 GB"`` or ``1_000_000``.

    Parameters
    ----------
    size : int or str
        Units: B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (of 1024).
    name : str
        The parameter, for the error.

    Returns
    -------
    int

    Examples
    --------
    >>> parse_bytes("1.5GiB")
    1610612736
    """
    if isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0:
        return int(size)
    if isinstance(size, str):
        pattern = r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?\s*"
        found = re.fullmatch(pattern, size.replace("_", ""), re.IGNORECASE)
        if found:
            number, letter, binary = found.groups()
            units = _BINARY_UNITS if binary else _UNITS
            n_bytes = int(float(number) * units[letter.upper()])
            if n_bytes > 0:
                return n_bytes
    raise ValueError(
        f"{name}={size!r} is no size; pass a number of bytes or text like '512MiB' "
        "or '2GB'."
    )
