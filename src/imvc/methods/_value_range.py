"""What a fit looks at before it squares anything: the size of the numbers of a view.

A thousand rows of every view tell it. Views outside the range in which squares are safe
are multiplied by a power of two, which changes no digit; the model keeps the power for
new samples. Views whose differences drown in a common offset get a warning.
"""

import numpy as np
import scipy.sparse as sp

from imvc.methods._base import warn_user
from imvc.scale import SafeRange, fill_source
from imvc.views import SAFE_SIZE

_MOST_ROWS, _FEWEST_ROWS, _MOST_CELLS = 1024, 16, 1 << 22  # that are looked at
_RUNS = 8  # of consecutive rows: few blocks of a file are read
_STEPS = 1000  # of rounding that differences must be worth


def bring_into_range(model, runner):
    """Let a surveyed runner read views in safe range; sets ``_range``, warns by name.

    ``_range`` is a `SafeRange`, None where no view needs it.
    """
    looks = runner.resume("values", lambda: look_at_views(runner))
    for name, (_, offset, steps) in zip(runner.names, looks):
        _warn_of_offset(model, name, offset, steps)
    exponents = tuple(int(exponent) for exponent, _, _ in looks)
    model._range = SafeRange(exponents) if any(exponents) else None
    if model._range is not None:
        runner.read_from(fill_source(runner.source, model._range, runner.map))


def look_at_views(runner):
    """`look_at_rows` of some rows of every view, spread over all of them."""
    looks = []
    for v, n_v in enumerate(runner.surveyed.observed.sum(axis=0)):
        cells = _MOST_CELLS // runner.n_features[v]
        size = min(max(cells, _FEWEST_ROWS), _MOST_ROWS) // _RUNS
        starts = np.linspace(0, max(n_v - size, 0), _RUNS).astype(np.int64)
        ranks = np.unique(starts[:, None] + np.arange(min(size, n_v)))
        looks.append(look_at_rows(runner.observed_rows(v, ranks)))
    return np.array(looks, np.float64).reshape(-1, 3)


def look_at_rows(X):
    """``(exponent, offset, steps)`` of rows, of which cells may be NaN.

    ``2**exponent`` brings them into range; ``offset`` is the length of the mean row in
    terms of the spread around it; ``steps`` is the spread in terms of what rounding
    adds. Offset 0 and infinitely many steps where nothing differs, and of sparse rows,
    which stay sparse: their zeros are in the midst of their spread.
    """
    size = np.fmax.reduce(np.abs(X.data if sp.issparse(X) else X), axis=0, initial=0)
    largest, safe = size.max(initial=0), SAFE_SIZE[X.dtype.itemsize]
    exponent = 0
    if largest and not 1 / safe <= largest <= safe:
        exponent = -int(np.frexp(largest)[1])
    if sp.issparse(X):
        return exponent, 0.0, np.inf
    known = ~np.isnan(X)
    scaled = np.ldexp(np.where(known, X, 0).astype(np.float64), exponent)
    count = np.maximum(known.sum(axis=0), 1)
    mean = scaled.sum(axis=0) / count
    squares = (np.square(scaled - mean) * known).sum(axis=0) / count
    step = np.ldexp(np.spacing(size).astype(np.float64), exponent)
    differs = np.fmax.reduce(X) > np.fmin.reduce(X)  # a mean may be rounded
    spread = np.sqrt(squares[differs].sum())
    if not spread:  # whole numbers that rounding made equal would differ by 1 or more
        return exponent, 0.0, 0.0 if np.spacing(largest) >= 1 else np.inf
    offset = np.linalg.norm(mean) / spread
    return exponent, offset, spread / np.linalg.norm(step[differs])


def _warn_of_offset(model, name, offset, steps):
    if steps < _STEPS:
        warn_user(
            f"the numbers of view {name!r} differ by only {steps:.3g} times their "
            f"rounding: a common offset, or numbers too small for their type, took the "
            f"other digits; subtract the offset, or multiply them, before they are "
            f"stored, or store them as float64."
        )
    elif offset > model._most_offset:
        warn_user(
            f"the numbers of view {name!r} are {offset:.3g} times larger than their "
            f"spread; {type(model).__name__} compares the directions of rows, which "
            f"are nearly the same then: subtract the mean of every column, or "
            f"standardise them (--scale {name}=standard)."
        )
