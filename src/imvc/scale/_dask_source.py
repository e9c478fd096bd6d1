"""Dask arrays as blocks of samples: one block per chunk of rows."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError
from imvc.scale._block_checks import check_rows, refuse_uncovered
from imvc.scale._source import BlockSource
from imvc.views import (
    IncompleteViews,
    ViewSchema,
    check_features,
    float_dtype,
    named_entries,
    read_only,
)


class DaskSource(BlockSource):
    """Dask arrays, two-dimensional and with the same rows, as blocks.

    Rows are chunked as in the view with the longest rows; the others are rechunked,
    lazily. Runners on a cluster ask for tasks (`block_task`, `mask_task`); `block` and
    `mask` compute here, one chunk at a time.

    Parameters
    ----------
    Xs : list or dict of dask.array.Array
        None for absent views of new samples.
    mask : dask.array.Array or array-like of bool, shape (n_samples, n_views), optional
        None: rows of NaN are missing.
    like : ViewSchema, optional
        The views a model was fitted on.
    """

    def __init__(
        self, Xs: Any, mask: Any = None, like: ViewSchema | None = None
    ) -> None:
        names, entries = named_entries(Xs, like)
        given = {
            name: _checked(X, f"view {name!r}")
            for name, X in zip(names, entries)
            if X is not None
        }
        rows = _common_rows(given)
        self.starts = np.append(0, np.cumsum(rows, dtype=np.int64))
        self.names = tuple(names if like is None else like.names)
        self.feature_names = (None,) * len(self.names)
        arrays = [given.get(name) for name in self.names]
        self._arrays = [None if X is None else X.rechunk((rows, -1)) for X in arrays]
        self.n_features = _widths(self._arrays, like)
        # A view that nobody has leaves the type to the others.
        self._dtypes = tuple(
            np.dtype(np.float32) if X is None else float_dtype(X.dtype) for X in arrays
        )
        self.dtype = np.result_type(*self._dtypes)
        columns = [names.index(name) if name in names else 0 for name in self.names]
        self._mask = _mask_array(mask, rows, len(names), columns)
        self._tasks: dict = {}
        for v, X in enumerate(arrays):
            if X is not None and like is not None:
                check_features(self, v, like, v)

    @property
    def fingerprint(self) -> dict[str, Any]:
        # Dask names an array by a checksum of how it is made.
        arrays = [*self._arrays, self._mask]
        return {
            "kind": "dask",
            "n_samples": self.n_samples,
            "arrays": [None if X is None else str(X.name) for X in arrays],
        }

    def __getstate__(self) -> dict:
        return {**vars(self), "_tasks": {}}

    def _chunks(self, which: int) -> Any:
        """Delayed chunks of a view, or (-1) of the mask; their graph is made once."""
        if which not in self._tasks:
            X = self._mask if which < 0 else self._arrays[which]
            none = [None] * self.n_blocks
            self._tasks[which] = none if X is None else X.to_delayed().ravel().tolist()
        return self._tasks[which]

    def block_task(self, i: int) -> Any:
        """Delayed IncompleteViews of a block."""
        from dask import delayed

        parts = [self._chunks(v)[i] for v in range(self.n_views)]
        about = (i, int(self.starts[i]), int(self.starts[i + 1]))
        make = delayed(make_block, name="block", pure=False)
        return make(about, self._about_views(), self._chunks(-1)[i], *parts)

    def mask_task(self, i: int) -> Any:
        """Delayed mask of a block; reads the views only if there is no mask."""
        from dask import delayed

        if self._mask is None:
            return delayed(mask_of, pure=False)(self.block_task(i))
        about = (i, int(self.starts[i]))
        read = delayed(given_mask, name="mask", pure=False)
        return read(about, self._present(), self._chunks(-1)[i])

    def chunk_task(self, i: int, v: int) -> Any:
        """Delayed rows of one view of a block as they are, missing ones included."""
        return self._chunks(v)[i]

    def about_view(self, v: int) -> dict:
        """What `take_local` has to know about a view."""
        name, dtype = self.names[v], self._dtypes[v]
        return {"starts": self.starts, "name": name, "dtype": dtype}

    def _about_views(self) -> tuple:
        widths = tuple(int(width) for width in self.n_features)
        return self.names, widths, tuple(dtype.str for dtype in self._dtypes)

    def _present(self) -> tuple:
        return tuple(X is not None for X in self._arrays)

    def block(self, i: int) -> IncompleteViews:
        return self.block_task(i).compute(scheduler="synchronous")

    def mask(self, i: int) -> np.ndarray:
        return self.mask_task(i).compute(scheduler="synchronous")

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        X = self.chunk_task(i, v).compute(scheduler="synchronous")
        return take_local(X, local, i, **self.about_view(v))


def make_block(about, views, allowed, *parts):
    """IncompleteViews of a block, checked.

    Parameters
    ----------
    about : tuple
        Number of the block, its first sample and the one after its last.
    views : tuple
        Names, widths and types of the views.
    allowed : ndarray or None
        What the user's mask says.
    parts : ndarray, sparse matrix or None
        Rows of every view.
    """
    i, start, stop = about
    names, widths, dtypes = views
    if allowed is not None:
        allowed = _zeros_and_ones(allowed, i, start)
    arrays: list = []
    positions: list = []
    mask = np.zeros((stop - start, len(names)), bool)
    for v, (name, width, dtype, X) in enumerate(zip(names, widths, dtypes, parts)):
        if X is None:
            arrays.append(np.empty((0, width), dtype))
            positions.append(np.full(stop - start, -1, np.int64))
            continue
        X = (sp.csr_array(X) if sp.issparse(X) else np.asarray(X)).astype(
            dtype, copy=False
        )
        wanted = np.ones(stop - start, bool) if allowed is None else allowed[:, v]
        strict = allowed is not None
        mask[:, v] = _check(X, wanted, strict, name, i, range(start, stop))
        arrays.append(X)
        positions.append(None)
    refuse_uncovered(mask, i, start)
    return IncompleteViews(
        arrays=tuple(arrays),
        mask=read_only(mask),
        names=names,
        positions=tuple(positions),
        sample_ids=None,
        feature_names=(None,) * len(names),
    )


def mask_of(views):
    return views.mask


def given_mask(about, present, allowed):
    """The user's mask of a block; no sample has a view that is not there."""
    mask = _zeros_and_ones(allowed, *about) & np.array(present)
    refuse_uncovered(mask, *about)
    return read_only(mask)


def take_local(X, local, i, starts, name, dtype):
    """Some rows of a chunk, all said to be observed."""
    X = (sp.csr_array(X) if sp.issparse(X) else np.asarray(X))[local]
    X = X.astype(dtype, copy=False)
    _check(X, np.ones(len(local), bool), True, name, i, starts[i] + local)
    return X


def take_ranked(mask, X, i, ranks, v, about):
    """Rows of a chunk by their rank among the observed ones of view ``v``."""
    return take_local(X, np.flatnonzero(mask[:, v])[ranks], i, **about)


def dask_base(source):
    """The DaskSource that a source reads from, directly or not; None: none."""
    while source is not None and not isinstance(source, DaskSource):
        source = getattr(source, "base", None)
    return source


def rebased(source, base):
    """A source that reads from ``base`` instead of a DaskSource."""
    if source is None or isinstance(source, DaskSource):
        return base
    result = copy(source)
    result.base = rebased(source.base, base)
    return result


@dataclass(frozen=True)
class OneBlock:
    """What stands for a DaskSource where one of its blocks is at hand."""

    views: Any = None
    seen: Any = None

    def block(self, i: int) -> Any:
        return self.views

    def mask(self, i: int) -> Any:
        return self.seen


def derived_block(source, i, views):
    """Block of a source whose DaskSource was left behind."""
    return rebased(source, OneBlock(views=views)).block(i)


def derived_mask(source, i, mask):
    return rebased(source, OneBlock(seen=mask)).mask(i)


def _check(X, wanted, strict, name, i, samples):
    """`check_rows` of rows whose samples are known."""

    def refuse(row, problem):
        raise BlockError(f"view {name!r}, block {i}, row {samples[row]}: {problem}")

    way_out = "mark the sample as missing in mask"
    if not strict:
        way_out = f"make the whole row NaN, or {way_out}"
    return check_rows(X, wanted, strict, refuse, way_out)


def _zeros_and_ones(allowed, i, start):
    allowed = np.asarray(allowed)
    if allowed.dtype == bool:
        return allowed
    odd = ((allowed != 0) & (allowed != 1)).any(axis=1)
    if odd.any():
        row = start + int(np.flatnonzero(odd)[0])
        raise BlockError(
            f"mask, block {i}, row {row}: values other than 0 and 1; pass True where a "
            "sample is observed."
        )
    return allowed.astype(bool)


def _checked(X, label):
    """A Dask array that can be cut into blocks of rows."""
    import dask.array as da

    if not isinstance(X, da.Array):
        kind = f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
        remedy = "pass all views as Dask arrays, or none"
        if hasattr(X, "to_dask_array"):
            remedy = "pass X.to_dask_array(lengths=True)"
        raise TypeError(f"{label} is a {kind} beside Dask arrays; {remedy}.")
    if X.ndim != 2:
        raise ValueError(
            f"{label} is a Dask array of {X.ndim} dimensions; pass one of shape "
            "(n_samples, n_features)."
        )
    if any(np.isnan(size) for axis in X.chunks for size in axis):
        raise ValueError(
            f"{label} is a Dask array with chunks of unknown size; call "
            "X.compute_chunk_sizes() first."
        )
    if X.dtype.kind not in "biuf":
        raise TypeError(f"{label} has dtype {X.dtype}; pass real numbers.")
    return X


def _common_rows(given):
    """Chunks of the rows for all views: those of the view with the longest rows."""
    counts = {name: X.shape[0] for name, X in given.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"views have different numbers of samples: {counts}; pass one row per "
            "sample, NaN where it is missing."
        )
    if not any(counts.values()):
        raise ValueError("views have no samples; pass at least one row.")
    widest = max(given.values(), key=lambda X: X.shape[1] * X.dtype.itemsize)
    return widest.chunks[0]


def _widths(arrays, like):
    old = [0] * len(arrays) if like is None else like.n_features
    return tuple(int(w if X is None else X.shape[1]) for X, w in zip(arrays, old))


def _mask_array(mask, rows, n_views, columns):
    """The mask as a Dask array with the chunks and views of the data, or None."""
    import dask.array as da

    if mask is None:
        return None
    if not isinstance(mask, da.Array):
        mask = da.from_array(np.asarray(mask), chunks=(rows, -1))
    mask = _checked(mask, "mask")
    if mask.shape != (sum(rows), n_views):
        raise ValueError(
            f"mask has shape {mask.shape}, expected (n_samples, n_views) = "
            f"{(sum(rows), n_views)}; one row per sample and one column per view."
        )
    chosen = mask if columns == list(range(n_views)) else mask[:, columns]
    return chosen.rechunk((rows, -1))
