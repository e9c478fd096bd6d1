"""IncompleteViews: several views of the same samples, many of them missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from imvc._notebook import (
    box,
    first_few,
    import_pandas,
    pattern_table,
    table,
    wrapped,
)
from imvc._plain import cut
from imvc.views._frames import JoinReport
from imvc.views._keys import id_keys

BLOCK_BYTES = 4 * 2**20  # of rows that are looked at in one go
_SHOWN_PATTERNS = 8  # of a summary
_NAME = 24  # characters of a view's name in a repr


class Pattern(NamedTuple):
    """The samples observed in exactly the same views.

    Attributes
    ----------
    views : tuple of int
        The views observed, ascending.
    rows : ndarray of int64
        The samples, ascending.
    """

    views: tuple[int, ...]
    rows: np.ndarray


@dataclass(frozen=True)
class ViewSchema:
    """What a fitted model remembers of its views, and new data must agree with.

    Parameters
    ----------
    names : tuple of str
        The views, in the order of the fit.
    n_features : tuple of int
        Number of columns of each view.
    feature_names : tuple of (tuple of str or None)
        Names of the columns of each view, where they were known.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    feature_names: tuple[tuple[str, ...] | None, ...]


@dataclass(frozen=True, eq=False, repr=False)
class IncompleteViews:
    """Several views of the same samples, with a mask of what was observed.

    Made by :func:`as_views`, which checks everything; the constructor checks nothing.
    ``views[rows]`` are some of the samples, so that scikit-learn's searches and
    cross-validation split it by samples, which they do not with a list of views.
    The data are neither copied nor changed. What unobserved rows contain is never
    read, so methods ask for rows with `observed` and `take` instead of `arrays`.

    Parameters
    ----------
    arrays : tuple
        Per view a 2-D ndarray or a SciPy ``csr_array``.
    mask : ndarray of bool, shape (n_samples, n_views)
        True where a sample was observed in a view. Kept read-only.
    names : tuple of str
        Names of the views.
    positions : tuple of (ndarray of int64 or None)
        Per view the row of the array that holds each sample, -1 where there is none;
        None when row ``i`` is sample ``i``.
    sample_ids : ndarray of shape (n_samples,), optional
        The ids of the samples, when the data came as tables with an index.
    feature_names : tuple of (tuple of str or None)
        Names of the columns of each view, where they are known.
    join_report : JoinReport, optional
        How the tables matched, when they were joined by their index.
    empty_cells : bool
        Whether observed rows may have empty cells (NaN): only where `as_views` was told
        to keep them, for an estimator that fills them.
    numbered : bool
        Whether `sample_ids` are only the numbers of rows that have no ids.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.views import as_views
    >>> text = np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, np.nan]])
    >>> image = np.array([[5.0], [np.nan], [6.0]])
    >>> views = as_views({"text": text, "image": image})
    >>> views.rows(1)
    array([0, 2])
    >>> [pattern.views for pattern in views.patterns()]
    [(0,), (0, 1), (1,)]
    """

    arrays: tuple[Any, ...]
    mask: np.ndarray
    names: tuple[str, ...]
    positions: tuple[np.ndarray | None, ...]
    sample_ids: np.ndarray | None
    feature_names: tuple[tuple[str, ...] | None, ...]
    join_report: JoinReport | None = None
    empty_cells: bool = False
    numbered: bool = False

    def __post_init__(self) -> None:
        if self.mask.flags.writeable:
            object.__setattr__(self, "mask", read_only(self.mask.copy()))

    @property
    def n_samples(self) -> int:
        """Number of samples, observed in whichever views."""
        return self.mask.shape[0]

    @property
    def n_views(self) -> int:
        """Number of views."""
        return self.mask.shape[1]

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of columns of each view."""
        return tuple(X_v.shape[1] for X_v in self.arrays)

    @property
    def dtype(self) -> np.dtype:
        """float32 when `take` gives float32 for every view, else float64."""
        return np.result_type(*(float_dtype(X_v.dtype) for X_v in self.arrays))

    @property
    def schema(self) -> ViewSchema:
        """Names and features, for ``as_views(new, like=schema)``."""
        return ViewSchema(self.names, self.n_features, self.feature_names)

    @cached_property
    def sample_keys(self) -> np.ndarray | None:
        """Random bits for every sample, from its id; None where samples have no ids."""
        if self.sample_ids is None or self.numbered:
            return None
        return read_only(id_keys(self.sample_ids))

    @cached_property
    def _rows(self) -> tuple[np.ndarray, ...]:
        columns = np.ascontiguousarray(self.mask.T)
        return tuple(
            read_only(np.flatnonzero(seen).astype(np.int64, copy=False))
            for seen in columns
        )

    @cached_property
    def _patterns(self) -> tuple[Pattern, ...]:
        return group_patterns(self.mask)

    def rows(self, v: int) -> np.ndarray:
        """Samples observed in view `v`, ascending; int64, read-only."""
        return self._rows[v]

    def patterns(self) -> tuple[Pattern, ...]:
        """Return the groups of samples with the same views, ordered by those views."""
        return self._patterns

    def observed(self, v: int) -> Any:
        """Rows of view `v` that were observed, in the order of ``rows(v)``.

        Floating, as `take` gives them. Not copied when the view is complete, floating
        and not joined from a table: do not write into the result.
        """
        rows = self.rows(v)
        return self.take(v, slice(None) if len(rows) == self.n_samples else rows)

    def take(self, v: int, rows: Any) -> Any:
        """Rows of view `v` for some samples.

        Parameters
        ----------
        v : int
            The view.
        rows : array-like of int, or slice
            Samples, all of them observed in view `v`.

        Returns
        -------
        ndarray or csr_array, shape (n_rows, n_features[v])
            float32 for float32 and float16 data, else float64. A slice of floating
            data is a view on them, not a copy.
        """
        rows = _as_indices(rows)
        seen = self.mask[rows, v]
        if not seen.all():
            absent = np.arange(self.n_samples)[rows][~seen]
            raise ValueError(
                f"{len(absent)} of the rows asked for are not observed in view "
                f"{self.names[v]!r}, first {absent[:3].tolist()}; "
                f"rows({v}) lists the observed ones."
            )
        X_v, position = self.arrays[v], self.positions[v]
        if position is not None:
            rows = position[rows]
        # SciPy copies even on X[:].
        everything = isinstance(rows, slice) and (
            rows.indices(X_v.shape[0]) == (0, X_v.shape[0], 1)
        )
        block = X_v if everything else X_v[rows]
        return block.astype(float_dtype(X_v.dtype), copy=False)

    def select(self, rows: Any) -> "IncompleteViews":
        """Some of the samples, in the order asked for; the data are not copied.

        Parameters
        ----------
        rows : array-like of int, boolean mask of length n_samples, or slice
            Samples to keep. A sample may come twice.

        Returns
        -------
        IncompleteViews
            `join_report` still tells of the whole join.
        """
        rows = _as_indices(rows)
        chosen = np.arange(self.n_samples, dtype=np.int64)[rows]
        ids = self.sample_ids
        arrays: list = []
        positions: list = []
        for X_v, position in zip(self.arrays, self.positions):
            if position is not None:
                position = position[chosen]
            elif isinstance(rows, slice) and isinstance(X_v, np.ndarray):
                X_v = X_v[rows]
            else:
                position = chosen
            arrays.append(X_v)
            positions.append(position)
        return replace(
            self,
            arrays=tuple(arrays),
            mask=self.mask[rows],
            positions=tuple(positions),
            sample_ids=None if ids is None else ids[chosen],
        )

    def select_views(self, chosen: Sequence[int]) -> "IncompleteViews":
        """Some of the views, by number and in the order asked for; nothing is copied.

        Samples that have none of them stay, without any view.
        """
        return replace(
            self,
            arrays=tuple(self.arrays[v] for v in chosen),
            mask=self.mask[:, chosen],
            names=tuple(self.names[v] for v in chosen),
            positions=tuple(self.positions[v] for v in chosen),
            feature_names=tuple(self.feature_names[v] for v in chosen),
        )

    def summary(self) -> str:
        """Return a small table of what is observed where."""
        counts = self.mask.sum(axis=0)
        complete = int(self.mask.all(axis=1).sum())
        width = max(len("view"), *map(len, self.names))
        lines = [
            f"{self.n_samples} samples, {self.n_views} views; "
            f"{complete} samples have every view",
            f"{'view':<{width}}  features  observed",
        ]
        for name, d, count in zip(self.names, self.n_features, counts):
            share = 100 * count / max(self.n_samples, 1)
            lines.append(f"{name:<{width}}  {d:>8}  {count:>8} ({share:.1f} %)")
        patterns = sorted(self.patterns(), key=lambda p: -len(p.rows))
        lines.append(f"{len(patterns)} patterns of observed views")
        for pattern in patterns[:_SHOWN_PATTERNS]:
            names = " + ".join(self.names[v] for v in pattern.views) or "(none)"
            lines.append(f"{len(pattern.rows):>8}  {names}")
        smaller = patterns[_SHOWN_PATTERNS:]
        if smaller:
            rest = sum(len(pattern.rows) for pattern in smaller)
            lines.append(f"{rest:>8}  in {len(smaller)} smaller patterns")
        return "\n".join(lines)

    @property
    def shape(self) -> tuple[int, int]:
        """``(n_samples, n_views)``; scikit-learn asks for it before it splits."""
        return self.mask.shape

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, rows: Any) -> "IncompleteViews":
        """Some of the samples, as `select` gives them."""
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]  # how scikit-learn asks for rows
        if isinstance(rows, tuple):
            raise TypeError(
                "views are indexed by samples alone: views[rows]; select_views takes "
                "some of the views."
            )
        return self.select(rows)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError(
            f"IncompleteViews holds {self.n_views} tables, not one matrix; give it to "
            "a method of imvc, or one view, views.observed(v), to what takes a matrix. "
            "In a Pipeline the method comes first: its scale= and empty_cells= do what "
            "scalers and imputers would."
        )

    def to_frame(self) -> Any:
        """The mask as a pandas DataFrame: samples by their ids, a column per view."""
        ids = self.sample_ids
        index = None if ids is None else import_pandas().Index(ids, name="id")
        return import_pandas().DataFrame(self.mask, index, self.names, copy=True)

    def __repr__(self) -> str:
        counts = self.mask.sum(axis=0).tolist()
        views = first_few(
            f"{cut(name, _NAME)} {count} x {d}"
            for name, count, d in zip(self.names, counts, self.n_features)
        )
        return wrapped(f"<IncompleteViews of {self._counted()}: {views}>")

    def _counted(self) -> str:
        """How many samples, and how many of them lack a view."""
        incomplete = self.n_samples - int(self.mask.all(axis=1).sum())
        return f"{self.n_samples} samples, {incomplete} incomplete"

    def _repr_html_(self) -> str:
        shares = self.mask.mean(axis=0) if self.n_samples else np.zeros(self.n_views)
        counts = self.mask.sum(axis=0).tolist()
        patterns = sorted(self.patterns(), key=lambda p: (-len(p.rows), p.views))
        return box(
            f"{self._counted()}, {self.n_views} views",
            table(
                "rlrrr",
                ["", "view", "features", "observed", "share"],
                (
                    [v, name, d, count, f"{100 * share:.1f} %"]
                    for v, (name, d, count, share) in enumerate(
                        zip(self.names, self.n_features, counts, shares), 1
                    )
                ),
            ),
            pattern_table(self.names, [(p.views, len(p.rows)) for p in patterns]),
        )


def read_only(a: np.ndarray) -> np.ndarray:
    """Forbid writing into an array of our own making, and return it."""
    a.setflags(write=False)
    return a


def _as_indices(rows: Any) -> np.ndarray | slice:
    if isinstance(rows, slice):
        return rows
    rows = np.atleast_1d(np.asarray(rows))
    if rows.size == 0:
        return rows.astype(np.int64)
    if rows.dtype.kind not in "iub":
        raise TypeError(f"rows has dtype {rows.dtype}; pass integers or a slice.")
    return rows


def stack_samples(parts: Sequence[IncompleteViews]) -> IncompleteViews:
    """Samples of several containers with the same views, one after the other.

    Only observed rows are copied.
    """
    first, mask = parts[0], np.concatenate([part.mask for part in parts])
    arrays = []
    for v in range(first.n_views):
        blocks = [part.observed(v) for part in parts]
        sparse = any(sp.issparse(block) for block in blocks)
        arrays.append(
            sp.vstack(blocks, format="csr") if sparse else np.concatenate(blocks)
        )
    ids = [part.sample_ids for part in parts if part.sample_ids is not None]
    return replace(
        first,
        arrays=tuple(arrays),
        mask=mask,
        positions=_one_after_another(mask),
        sample_ids=np.concatenate(ids) if len(ids) == len(parts) else None,
    )


def with_observed(views: IncompleteViews, rows: Sequence[Any]) -> IncompleteViews:
    """The same samples with other numbers, given the observed rows of every view."""
    return replace(views, arrays=tuple(rows), positions=_one_after_another(views.mask))


def _one_after_another(mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Positions in arrays of nothing but the observed rows, -1 for the others."""
    return tuple(np.where(seen, np.cumsum(seen) - 1, -1) for seen in mask.T)


def group_patterns(mask: np.ndarray) -> tuple[Pattern, ...]:
    """Group equal rows of a mask; in linear time with up to 16 views."""
    n, n_views = mask.shape
    if n == 0:
        return ()
    if n_views <= 16:
        codes = mask @ (1 << np.arange(n_views, dtype=np.uint16))
    else:
        bits = np.packbits(mask, axis=1)
        words = np.zeros((n, -(-n_views // 64) * 8), dtype=np.uint8)
        words[:, : bits.shape[1]] = bits
        words = words.view(np.uint64)
        keys, axis = (words[:, 0], None) if words.shape[1] == 1 else (words, 0)
        codes = np.unique(keys, axis=axis, return_inverse=True)[1].ravel()
    size = np.bincount(codes)
    # Small integers are sorted by radix, in linear time.
    codes = codes.astype(np.min_scalar_type(len(size) - 1), copy=False)
    order = np.argsort(codes, kind="stable").astype(np.int64, copy=False)
    patterns = (
        Pattern(tuple(np.flatnonzero(mask[rows[0]]).tolist()), read_only(rows))
        for rows in np.split(order, np.cumsum(size[size > 0])[:-1])
    )
    return tuple(sorted(patterns, key=lambda pattern: pattern.views))


def name_order(names: Sequence[str]) -> list[int]:
    """Numbers of views by their names, so that the order they come in does not count.

    Shorter names go first: those that were made up, view0, view1 and so on, keep the
    order of the views.
    """
    return sorted(range(len(names)), key=lambda v: (len(names[v]), names[v]))


def name_places(names: Sequence[str]) -> list[int]:
    """The place of every view in `name_order`."""
    return np.argsort(name_order(names)).tolist()


def float_dtype(dtype: np.dtype) -> np.dtype:
    """float32 for floats of at most 32 bits, else float64; native byte order."""
    narrow = dtype.kind == "f" and dtype.itemsize <= 4
    return np.dtype(np.float32 if narrow else np.float64)


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Slices that cut the rows of a dense array into blocks of about 4 MB."""
    n, d = X.shape
    step = max(1, BLOCK_BYTES // max(1, d * X.itemsize))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
