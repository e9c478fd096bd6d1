"""Random rows, in time and memory that do not grow with the rows there are."""

import numpy as np

__all__ = ["random_rows"]

_PERMUTED = 1_000_000  # up to here a permutation of all rows costs nothing


def random_rows(n, m, rng):
    """``m`` distinct row numbers out of ``n``, ascending."""
    if n <= _PERMUTED or m > n // 10:
        return np.sort(rng.choice(n, m, replace=False))
    found = np.empty(0, np.int64)
    while len(found) < m:
        drawn = rng.randint(n, size=2 * m, dtype=np.int64)
        found = np.unique(np.append(found, drawn))
    return np.sort(rng.choice(found, m, replace=False))
