"""How many samples make a block, and where blocks start."""

import numpy as np

from imvc.io._row_reader import cut_rows
from imvc.scale._source import parse_bytes

_MOST_ROWS = 1 << 16  # results of a block grow with its rows, however narrow they are
_DEFAULT_BYTES = 64 * 2**20
_FEWEST_ROWS = 256  # of a block: below, a pass is all overhead
# A runner holds a few blocks, their casts and results, and the interpreter itself.
_BUDGET_SHARE = 12
_FINE = 64  # chunks this many times smaller than a block need no alignment


def block_rows(row_bytes, memory_budget=None):
    """Most samples of a block.

    Parameters
    ----------
    row_bytes : float
        Data of one sample, over all views.
    memory_budget : int or str, optional
        Memory of the whole fit; a block holds about a twelfth of it.
    """
    if memory_budget is None:
        share = max(_DEFAULT_BYTES, _FEWEST_ROWS * row_bytes)
    else:
        budget = parse_bytes(memory_budget)
        share = budget / _BUDGET_SHARE
        if share < _FEWEST_ROWS * row_bytes:
            least = -(-int(_FEWEST_ROWS * row_bytes * _BUDGET_SHARE) // 2**20)
            raise ValueError(
                f"memory_budget={memory_budget!r} is too small for samples of "
                f"{int(row_bytes)} bytes; pass at least '{least}MiB'."
            )
    return int(min(_MOST_ROWS, max(share // max(row_bytes, 1.0), 1)))


def plan_blocks(n, rows, boundaries):
    """First sample of every block, and the number of samples.

    Parameters
    ----------
    n, rows : int
        Samples, and most samples of a block.
    boundaries : list of ndarray
        Per view that is stored in chunks, the samples at which chunks start. Blocks
        start there, so that no chunk is unpacked twice in one pass.
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
