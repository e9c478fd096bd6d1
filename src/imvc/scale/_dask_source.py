"""Dask arrays as blocks of samples: one block per chunk of rows."""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.scale._block_checks import (
    absent_view,
    as_booleans,
    assemble_block,
    check_rows,
    refuse_uncovered,
)
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
    missing_values : {"error", "keep"}
        What to do about rows with some empty cells, as in `as_views`.
    """

    def __init__(
        self,
        Xs: Any,
        mask: Any = None,
        like: ViewSchema | None = None,
        missing_values: str = "error",
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
        widths = [0] * len(arrays) if like is None else like.n_features
        self.n_features = tuple(
            int(width if X is None else X.shape[1]) for X, width in zip(arrays, widths)
        )
        # A view that nobody has leaves the type to the others.
        dtypes = tuple(
            np.dtype(np.float32) if X is None else float_dtype(X.dtype) for X in arrays
        )
        self.dtype = np.result_type(*dtypes)
        present = tuple(X is not None for X in arrays)
        keep = missing_values == "keep"
        self.about = AboutViews(self.schema, dtypes, present, keep)
        columns = [names.index(name) if name in names else 0 for name in self.names]
        self._arrays = [None if X is None else X.rechunk((rows, -1)) for X in arrays]
        self._arrays.append(_mask_array(mask, rows, len(names), columns))
        self._tasks: dict = {}
        for v, X in enumerate(arrays):
            if X is not None and like is not None:
                check_features(self, v, like, v)

    @property
    def fingerprint(self) -> dict[str, Any]:
        # Dask names an array by a checksum of how it is made.
        return {
            "kind": "dask",
            "n_samples": self.n_samples,
            "arrays": [None if X is None else str(X.name) for X in self._arrays],
        }

    def __getstate__(self) -> dict:
        return {**vars(self), "_tasks": {}}

    def chunk(self, v: int, i: int) -> Any:
        """Delayed rows of a view of a block as they are, missing ones included.

        View -1 is the mask. None where there is no such view or mask.
        """
        X = self._arrays[v]
        if X is not None and v not in self._tasks:  # the graph is made once
            self._tasks[v] = X.to_delayed().ravel().tolist()
        return None if X is None else self._tasks[v][i]

    def block_task(self, i: int) -> Any:
        """Delayed IncompleteViews of a block."""
        from dask import delayed

        chunks = [self.chunk(v, i) for v in range(-1, self.n_views)]
        return delayed(self.about.block, pure=False)(i, *self.span(i), *chunks)

    def mask_task(self, i: int) -> Any:
        """Delayed mask of a block; reads the views only if there is no mask."""
        from dask import delayed

        allowed = self.chunk(-1, i)
        if allowed is None:
            return self.block_task(i).mask
        return delayed(self.about.mask, pure=False)(i, int(self.starts[i]), allowed)

    def block(self, i: int) -> IncompleteViews:
        return self.block_task(i).compute(scheduler="synchronous")

    def mask(self, i: int) -> np.ndarray:
        return self.mask_task(i).compute(scheduler="synchronous")

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        X = self.chunk(v, i).compute(scheduler="synchronous")
        return self.about.take(X, v, i, self.starts[i], local)


@dataclass(frozen=True)
class AboutViews:
    """What workers have to know of the views to make checked blocks of their chunks."""

    schema: ViewSchema
    dtypes: tuple[np.dtype, ...]  # float32 or float64
    present: tuple[bool, ...]
    keep: bool  # rows with some empty cells

    def block(self, i, start, stop, allowed, *chunks):
        """IncompleteViews of block ``i``: samples ``start`` to ``stop - 1``, checked.

        ``allowed`` is what the user's mask says, or None; the chunks are rows of every
        view, or None.
        """
        wanted = np.ones((stop - start, len(chunks)), bool)
        if allowed is not None:
            wanted = _booleans(allowed, i, start)
        parts = []
        for v, X in enumerate(chunks):
            if X is None:
                width = self.schema.n_features[v]
                parts.append(absent_view(stop - start, width, self.dtypes[v]))
            else:
                X = _rows(X).astype(self.dtypes[v], copy=False)
                strict, samples = allowed is not None, range(start, stop)
                seen = self._check(X, v, wanted[:, v], strict, i, samples)
                parts.append((X, None, seen))
        return assemble_block(self.schema, i, start, parts)

    def mask(self, i, start, allowed):
        """The user's mask of a block; no sample has a view that is not there."""
        mask = _booleans(allowed, i, start) & np.array(self.present)
        refuse_uncovered(mask, i, start)
        return read_only(mask)

    def take(self, X, v, i, start, local):
        """Some rows of a chunk, all said to be observed."""
        X = _rows(X)[local].astype(self.dtypes[v], copy=False)
        self._check(X, v, np.ones(len(local), bool), True, i, start + local)
        return X

    def _check(self, X, v, wanted, strict, i, samples):
        """`check_rows` of rows whose samples are known."""
        way_out = "mark the sample as missing in mask"
        if not strict:
            way_out = f"make the whole row NaN, or {way_out}"

        def place(row):
            return f"view {self.schema.names[v]!r}, block {i}, row {samples[row]}"

        return check_rows(X, wanted, strict, place, way_out, keep=self.keep)


def _rows(X):
    return sp.csr_array(X) if sp.issparse(X) else np.asarray(X)


def _booleans(mask, i, start):
    problem = "values other than 0 and 1; pass True where a sample is observed."
    return as_booleans(np.asarray(mask), "mask", i, start, problem)


def take_ranked(mask, X, i, ranks, starts, about, v):
    """Rows of a chunk by their rank among the observed ones of view ``v``."""
    local = np.flatnonzero(mask[:, v])[ranks]
    return about.take(X, v, i, starts[i], local)


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
    """Stands for a DaskSource where its block, or the mask of it, is at hand."""

    value: Any

    def block(self, i: int) -> Any:
        return self.value

    mask = block


def derived(value, i, source, what):
    """Block or mask of a source whose DaskSource was left behind, from that of it."""
    return getattr(rebased(source, OneBlock(value)), what)(i)


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
