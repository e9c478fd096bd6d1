"""Empty cells of a table from the rest of their rows: a low-rank model of its columns.

    (x - mean) / scale = V z + noise,    V'V = I

    V        axes, (d, r)              lambda   their eigenvalues
    s2       what noise adds to an eigenvalue
    z        (V_o'V_o + diag(ridge))^-1 V_o'y_o  of a row y observed in the cells o
    ridge    s2 / (lambda - s2)

Regularised iterative PCA (Josse, Husson, J. Stat. Softw. 70, 2016, as in missMDA) fills
the table, takes its axes, shrinks them by (lambda - s2) / lambda, fills anew, and so on.
With the axes held still, what a row converges to is the ridge regression above, so each
pass here takes that at once, and then one step of subspace iteration for the axes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices, row_products
from imvc.kernels._patterns import fix_signs, leading_eigh

RANKS = (0, 1, 2, 3, 5, 8, 12, 20)
_MOST_PASSES = 30
_TOLERANCE = 1e-3  # of the model's covariance, from pass to pass
_CHOICE_ROWS, _CHOICE_CELLS = 2_000, 1 << 22  # that ranks are compared on, at most
_COMPLETE_ROWS = 5_000  # to learn from where no cell is empty
_HIDDEN = 0.1  # of the observed cells, to compare ranks by
_HIDDEN_CELLS, _MOST_REPEATS = 2_000, 5  # hide again until there are so many
_LEAST_NOISE = 1e-6  # of the mean eigenvalue: a row of one cell needs some
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class LowRank:
    """Columns of a table as combinations of a few; arrays are float64.

    Parameters
    ----------
    mean, scale : ndarray of shape (d,)
    axes : ndarray of shape (d, r), with orthonormal columns
        Of the rows (x - mean) / scale; r = 0 says that cells are filled with the mean.
    ridge : ndarray of shape (r,)
        How much the regression on each axis is held back; positive.
    """

    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray
    ridge: np.ndarray

    def __post_init__(self) -> None:
        for name in ("mean", "scale", "axes", "ridge"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        d, r = self.mean.size, self.ridge.size
        axes = self.axes.reshape(d, 0) if r == 0 and self.axes.size == 0 else self.axes
        object.__setattr__(self, "axes", axes)
        wanted = {"mean": (d,), "scale": (d,), "axes": (d, r), "ridge": (r,)}
        for name, shape in wanted.items():
            value = getattr(self, name)
            if value.shape != shape or not np.isfinite(value).all():
                raise ValueError(
                    f"{name} of a low-rank model must be finite numbers of shape "
                    f"{shape}, got shape {value.shape}; learn the model anew."
                )
        if not ((self.scale > 0).all() and (self.ridge > 0).all()):
            raise ValueError(
                "scale and ridge of a low-rank model must be positive; learn it anew."
            )

    @property
    def rank(self) -> int:
        """Number of axes; 0: column means."""
        return self.axes.shape[1]

    def to_dict(self) -> dict[str, Any]:
        """The model in the types of JSON."""
        return {name: value.tolist() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, tree: dict[str, Any]) -> "LowRank":
        """The inverse of `to_dict`; a ValueError for anything else."""
        names = ("mean", "scale", "axes", "ridge")
        try:
            return cls(*(np.asarray(tree[name], np.float64) for name in names))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no low-rank model: {error!r}.") from error


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Count, mean and sum of squared deviations of every column's observed cells.

    Those of stacked blocks are the sum of those of each.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, X: Any) -> "CellMoments":
        """Moments of the cells that are not NaN; not stored ones of CSR are zeros."""
        if sp.issparse(X):
            return _sparse_moments(X)
        seen = ~np.isnan(X)
        count = seen.sum(axis=0)
        # Sums of differences to some cell lose no digits to a large offset.
        first = np.take_along_axis(X, seen.argmax(axis=0)[None], axis=0)[0]
        first = np.where(count > 0, first, 0).astype(np.float64)
        shifted = np.subtract(X, first, out=np.zeros(X.shape), where=seen)
        mean = shifted.sum(axis=0) / np.maximum(count, 1)
        np.subtract(shifted, mean, out=shifted, where=seen)
        return cls(count, first + mean, np.square(shifted).sum(axis=0))

    def __add__(self, other: "CellMoments") -> "CellMoments":
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        shift = np.where(self.count > 0, other.mean - self.mean, 0)
        mean = np.where(self.count > 0, self.mean, other.mean) + shift * share
        squares = self.squares + other.squares + np.square(shift) * self.count * share
        return CellMoments(count, mean, squares)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations, 1 for columns that are constant up to rounding."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean)
        return np.where(deviation > rounding, deviation, 1.0)


def _sparse_moments(X: Any) -> CellMoments:
    empty = np.isnan(X.data)
    at, d = X.indices, X.shape[1]
    count = X.shape[0] - np.bincount(at[empty], minlength=d)
    values = np.where(empty, 0, X.data).astype(np.float64)
    total = np.bincount(at, weights=values, minlength=d)
    mean = total / np.maximum(count, 1)
    squares = np.bincount(at, weights=np.square(values), minlength=d)
    return CellMoments(count, mean, np.maximum(squares - count * np.square(mean), 0))


def fit_low_rank(
    data: Any,
    *,
    mean: np.ndarray | None = None,
    scale: np.ndarray | None = None,
    rank: int | None = None,
    seed: int = 0,
) -> LowRank:
    """Learn to fill the empty cells (NaN) of a table from the rest of their rows.

    Parameters
    ----------
    data : ndarray or CSR of shape (n, d), or callable
        A callable is called for every pass and gives an iterable of blocks of rows.
        Rows that are NaN throughout are left out. Stored NaN of a sparse table are
        filled with column means (rank 0), so that it is never made dense.
    mean, scale : ndarray of shape (d,), optional
        Given together; by default means and standard deviations of observed cells.
    rank : int, optional
        Number of axes. By default the smallest of 0, 1, 2, 3, 5, 8, 12 and 20 within
        one standard error of the best, by cells hidden in at most 2000 rows spread
        evenly: filling is hardly ever worse than by means.
    seed : int
        Of the hidden cells.

    Returns
    -------
    LowRank
        Its rank may be less than asked for, where the rest is noise.

    Raises
    ------
    ValueError
        For a table without rows, and for columns without any number.

    Notes
    -----
    At most 30 passes, each O(n d r), and O(d r^2) more for an incomplete row; beside
    the blocks some d r numbers. A complete table is learnt from 5000 of its rows.
    """
    blocks = data if callable(data) else _cut(data)
    moments, counts = _survey(blocks)
    if mean is None or scale is None:
        _refuse_empty(moments.count)
        mean, scale = moments.mean, moments.scale
    means = LowRank(mean, scale, np.empty((len(mean), 0)), np.empty(0))
    if rank == 0 or counts.sparse or counts.rows < 3 or len(mean) < 2:
        return means
    start = _gathered(blocks, means, counts.rows, _sample_size(len(mean)))
    most = min(counts.rows - 2, len(mean) - 1)
    if rank is None:
        rank = _choose_rank(*start, [r for r in RANKS if r <= most], seed)
    if rank == 0:
        return means
    found = _iterate(lambda: [start], _start(start[0], min(rank, most)))
    if counts.incomplete == 0:
        rows = _gathered(blocks, means, counts.rows, _COMPLETE_ROWS)
        found = _iterate(lambda: [rows], found)
    elif counts.rows > len(start[0]):
        found = _iterate(lambda: (_standard(X, means) for X in blocks()), found)
    kept = found.values > found.noise
    return LowRank(mean, scale, found.axes[:, kept], found.ridge[kept])


def fill_rows(X: Any, model: LowRank) -> Any:
    """Copy of ``X`` whose empty cells (NaN) are filled from the rest of their rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Floating numbers. Complete rows and rows that are NaN throughout stay as they
        are, observed cells too. Stored NaN of CSR get column means.
    model : LowRank

    Returns
    -------
    array of the type and dtype of ``X``

    Notes
    -----
    A row is filled alike, bit for bit, whatever rows stand around it. O(d r^2) for an
    incomplete row.
    """
    if X.shape[1] != len(model.mean):
        raise ValueError(
            f"rows have {X.shape[1]} columns, the low-rank model {len(model.mean)}; "
            "pass the columns that it was learnt on."
        )
    filled = X.copy()
    if sp.issparse(X):
        empty = np.isnan(X.data)
        filled.data[empty] = model.mean[X.indices[empty]]
        return filled
    fill = RidgeFill(model.axes, model.ridge)
    for part in block_slices(len(X), max(X.shape[1], model.rank**2), _BLOCK_ENTRIES):
        empty = np.isnan(X[part])
        rows = np.flatnonzero(empty.any(axis=1) & ~empty.all(axis=1))
        if len(rows) == 0:
            continue
        Y, seen = _standard(X[part][rows], model)
        values = model.mean + model.scale * fill(Y, seen)
        filled[part.start + rows] = np.where(seen, X[part][rows], values)
    return filled


class RidgeFill:
    """Rows y with zeros in empty cells -> V z, the ridge regression on the axes."""

    def __init__(self, axes: np.ndarray, ridge: np.ndarray) -> None:
        self._axes, self._ridge = axes, ridge
        self._upper = np.triu_indices(len(ridge))
        self._pairs = axes[:, self._upper[0]] * axes[:, self._upper[1]]

    def __call__(self, Y: np.ndarray, seen: np.ndarray) -> np.ndarray:
        r, (i, j) = len(self._ridge), self._upper
        if r == 0:
            return np.zeros_like(Y)
        grams = np.empty((len(Y), r, r))
        grams[:, i, j] = grams[:, j, i] = row_products(seen.astype(float), self._pairs)
        grams[:, range(r), range(r)] += self._ridge
        right = row_products(Y, self._axes)
        z = np.linalg.solve(grams, right[:, :, None])[:, :, 0]
        return row_products(z, self._axes.T)


class _Counts(NamedTuple):
    """Rows that are not NaN throughout, those of them with empty cells, the kind."""

    rows: int
    incomplete: int
    sparse: bool


class _Spectrum(NamedTuple):
    """Axes (d, r), their eigenvalues, and what noise adds to an eigenvalue."""

    axes: np.ndarray
    values: np.ndarray
    noise: float

    @property
    def signal(self) -> np.ndarray:
        return np.maximum(self.values - self.noise, 0)

    @property
    def ridge(self) -> np.ndarray:
        # An axis of noise alone is all but shut, and left out in the end.
        return self.noise / np.maximum(self.signal, 1e-9 * self.noise)


def _cut(X: Any) -> Callable[[], Iterator[Any]]:
    """A callable that gives bounded blocks of the rows of an array."""
    X = X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
    parts = block_slices(X.shape[0], X.shape[1], _BLOCK_ENTRIES)
    return lambda: (X[part] for part in parts)


def _survey(blocks: Callable) -> tuple[CellMoments, _Counts]:
    """Moments of the observed cells, and how many rows there are."""
    moments, counts, sparse = None, np.zeros(2, np.int64), False
    for X in blocks():
        own = CellMoments.of(X)
        moments = own if moments is None else moments + own
        sparse = sparse or sp.issparse(X)
        if not sparse:
            empty = np.isnan(X).sum(axis=1)
            present = empty < X.shape[1]
            counts += present.sum(), (present & (empty > 0)).sum()
    if moments is None or not moments.count.any():
        raise ValueError("the table has no rows with numbers; pass at least one.")
    return moments, _Counts(int(counts[0]), int(counts[1]), sparse)


def _refuse_empty(count: np.ndarray) -> None:
    columns = np.flatnonzero(count == 0)
    if len(columns):
        raise ValueError(
            f"{len(columns)} columns have no number, first {columns[:3].tolist()}; "
            "drop them."
        )


def _standard(X: np.ndarray, model: LowRank) -> tuple[np.ndarray, np.ndarray]:
    """Rows (x - mean) / scale with zeros in empty cells, and what is observed.

    Rows that are NaN throughout are left out.
    """
    seen = ~np.isnan(X)
    present = seen.any(axis=1)
    if not present.all():
        X, seen = X[present], seen[present]
    Y = np.subtract(X, model.mean, out=np.zeros(X.shape), where=seen)
    Y /= model.scale
    return Y, seen


def _sample_size(d: int) -> int:
    return min(_CHOICE_ROWS, max(_CHOICE_CELLS // d, 16))


def _gathered(
    blocks: Callable, means: LowRank, n: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """`_standard` of at most ``size`` of the ``n`` present rows, spread evenly."""
    chosen = np.unique(np.linspace(0, n - 1, min(n, size)).astype(np.int64))
    parts, first = [], 0
    for X in blocks():
        present = np.flatnonzero(~np.isnan(X).all(axis=1))
        last = first + len(present)
        own = chosen[(chosen >= first) & (chosen < last)] - first
        parts.append(_standard(X[present[own]], means))
        first = last
    Y, seen = zip(*parts)
    return np.concatenate(Y), np.concatenate(seen)


def _start(Y: np.ndarray, rank: int) -> _Spectrum:
    """Leading axes of rows whose empty cells are zeros."""
    n, d = Y.shape
    if d <= n:
        values, axes = leading_eigh(Y.T @ Y / n, rank)
    else:
        values, left = leading_eigh(Y @ Y.T / n, rank)
        axes = Y.T @ left
        axes /= np.maximum(np.sqrt(n * values), np.finfo(float).tiny)
    # Directions without any variance have no axis: fewer are left.
    axes, values = axes[:, values > 0], values[values > 0]
    total = np.square(Y).sum() / n
    return _Spectrum(
        axes, values, _noise(total - values.sum(), total, n, d, len(values))
    )


def _noise(rest: float, total: float, n: int, d: int, r: int, share: float = 1.0):
    """What noise adds to an eigenvalue, of the variance ``rest`` beside r axes.

    A cell's noise is rest n / ((n - 1 - r) (d - r)), less where a ``share`` of the
    cells is observed: filled ones carry none.
    """
    freedom = max((n - 1 - r) * (d - r), 1) * share
    cell = max(rest, 0) * n / freedom
    return max(cell * max(1, d / (n - 1)), _LEAST_NOISE * total / d)


def _iterate(blocks: Callable, found: _Spectrum) -> _Spectrum:
    """Fill, take axes and fill anew, until the model stands still.

    ``blocks()`` gives ``(rows, observed)`` as `_standard` does.
    """
    for _ in range(_MOST_PASSES if found.values.size else 0):
        before, found = found, _step(blocks, found)
        if _change(before, found) <= _TOLERANCE:
            break
    return found


def _step(blocks: Callable, found: _Spectrum) -> _Spectrum:
    """One pass: rows filled by the model, then one step of subspace iteration."""
    axes, fill = found.axes, RidgeFill(found.axes, found.ridge)
    turned, total, cells, n = np.zeros_like(axes), 0.0, 0, 0
    for Y, seen in blocks():
        holes = np.flatnonzero(~seen.all(axis=1))
        filled = Y.copy()
        for part in block_slices(len(holes), max(Y.shape[1], axes.shape[1] ** 2)):
            rows = holes[part]
            filled[rows] = np.where(seen[rows], Y[rows], fill(Y[rows], seen[rows]))
        turned += filled.T @ (filled @ axes)
        total += np.square(filled).sum()
        cells, n = cells + int(seen.sum()), n + len(Y)
    U, values, _ = np.linalg.svd(turned / n, full_matrices=False)
    d, r = axes.shape
    rest = total / n - values.sum()
    noise = _noise(rest, total / n, n, d, r, cells / (n * d))
    return _Spectrum(fix_signs(U), values, noise)


def _change(before: _Spectrum, after: _Spectrum) -> float:
    """Relative change of V diag(lambda - s2) V', by its Frobenius norm."""
    a, b = before.signal, after.signal
    size = np.square(b).sum()
    common = np.square(before.axes.T @ after.axes) * np.outer(a, b)
    change = np.square(a).sum() + size - 2 * common.sum()
    return float(np.sqrt(max(change, 0) / size)) if size > 0 else 0.0


def _choose_rank(Y: np.ndarray, seen: np.ndarray, ranks: list, seed: int) -> int:
    """The smallest rank that fills hidden cells about as well as the best does."""
    rng = np.random.default_rng(seed)
    errors, hidden = np.zeros((len(ranks), len(Y))), np.zeros(len(Y))
    repeats = np.clip(_HIDDEN_CELLS / max(_HIDDEN * seen.sum(), 1), 1, _MOST_REPEATS)
    for _ in range(int(np.ceil(repeats))):
        hide = seen & (rng.random(seen.shape) < _HIDDEN)
        hide[(hide == seen).all(axis=1)] = False  # a row needs something left
        own, left = np.where(hide, 0, Y), seen & ~hide
        hidden += hide.sum(axis=1)
        widest = _start(own, max(ranks))
        for k, rank in enumerate(ranks):
            errors[k] += _errors(Y, own, left, hide, widest, rank)
    if not hidden.any():
        return 0
    best = int(errors.sum(axis=1).argmin())
    worse = errors - errors[best]
    mean = worse.sum(axis=1) / hidden.sum()
    spread = np.sqrt(np.square(worse - mean[:, None] * hidden).sum(axis=1))
    return ranks[int(np.flatnonzero(mean <= spread / hidden.sum())[0])]


def _errors(Y, own, left, hide, widest, rank):
    """Sum of the squared errors of every row's hidden cells."""
    fitted = np.zeros_like(Y)
    if rank:
        axes, values = widest.axes[:, :rank], widest.values[:rank]
        n, d = own.shape
        total = np.square(own).sum() / n
        noise = _noise(total - values.sum(), total, n, d, len(values))
        found = _iterate(lambda: [(own, left)], _Spectrum(axes, values, noise))
        fitted = RidgeFill(found.axes, found.ridge)(own, left)
    return np.square(np.where(hide, Y - fitted, 0)).sum(axis=1)
