"""The protocol for any other data: an iterable or a sequence of blocks.

A block is ``Xs``, a list of arrays (None for a view that no sample of the block has)
or a dict of arrays by name (such views left out), or the tuple ``(Xs, mask)``.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError
from imvc.io._row_reader import cut_rows
from imvc.scale._block_checks import (
    absent_view,
    assemble_block,
    check_rows,
    refuse_uncovered,
)
from imvc.scale._block_plan import block_rows
from imvc.scale._rewrite import NumberedRowsWriter, WorkFolder, digest_of
from imvc.scale._row_source import RowSource
from imvc.scale._source import BlockSource
from imvc.scale._view_rows import ViewRows
from imvc.views import IncompleteViews, ViewSchema, float_dtype, read_table


class Blocks:
    """Blocks of samples, where a plain list would be taken for a list of views.

    Parameters
    ----------
    items : sequence or iterable
        The blocks, each ``Xs`` or ``(Xs, mask)``: `Xs` is a list of arrays, with None
        for a view that the block lacks, or a dict of arrays by name. What has a length
        and can be indexed is read in place, once per pass; anything else is written to
        disk block by block and so asked only once.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.scale import Blocks, open_source
    >>> source = open_source(Blocks([[np.ones((2, 3)), None], [None, np.ones((1, 2))]]))
    >>> source.n_samples, source.n_features
    (3, (3, 2))
    """

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items


def is_sequence(x: Any) -> bool:
    """Tell whether blocks can be read by number, again and again."""
    return hasattr(x, "__len__") and hasattr(x, "__getitem__")


class BlockPart(NamedTuple):
    """One block as it was given: 2-D arrays by name, and the mask of their samples."""

    n: int
    arrays: dict[str, Any]
    allowed: np.ndarray | None  # columns as in `names`
    names: list[str]
    keep: bool  # rows with some empty cells

    def observed(self, name: str, X: Any, i: int, start: int) -> np.ndarray:
        """Which rows of a view are observed; `X` has them as floating numbers."""
        wanted = np.ones(self.n, bool)
        if self.allowed is not None:
            wanted = self.allowed[:, self.names.index(name)]

        def place(row: int) -> str:
            return f"view {name!r}, block {i}, row {start + row}"

        way_out = "mark the sample as missing"
        return check_rows(X, wanted, False, place, way_out, keep=self.keep)


class BlockParser:
    """Reads blocks and remembers what all of them must agree in."""

    def __init__(self, like: ViewSchema | None = None, keep: bool = False) -> None:
        self.like, self.keep = like, keep
        self.widths: dict[str, int | None] = {}
        self.dtypes: dict[str, np.dtype] = {}
        self.sparse: set[str] = set()
        if like is not None:
            self.widths = dict(zip(like.names, like.n_features))
        self._count: int | None = None if like is None else len(like.names)

    def read(self, item: Any, i: int) -> BlockPart:
        """One block, as far as it can be checked without looking at numbers."""
        Xs, mask = _split(item, i)
        names, entries = self._named(Xs, i)
        arrays = {
            name: self._array(name, entry, i)
            for name, entry in zip(names, entries)
            if entry is not None
        }
        sizes = {name: X.shape[0] for name, X in arrays.items()}
        allowed = None if mask is None else np.asarray(mask)
        if len(set(sizes.values())) > 1:
            raise BlockError(
                f"block {i}: its views have different numbers of rows: {sizes}; give "
                "one row per sample, or None for a view that the block lacks."
            )
        n = next(iter(sizes.values()), 0 if allowed is None else len(allowed))
        if allowed is not None:
            allowed = _read_mask(allowed, (n, len(names)), i)
        return BlockPart(n, arrays, allowed, names, self.keep)

    def _named(self, Xs, i):
        if isinstance(Xs, Mapping):
            names, entries = list(Xs), list(Xs.values())
            for name in names:
                if self.like is not None and name not in self.widths:
                    raise BlockError(
                        f"view {name!r}, block {i}: is unknown to the model; it was "
                        f"fitted with {list(self.widths)}."
                    )
        else:
            if self._count is None:
                self._count = len(Xs)
            if len(Xs) != self._count:
                raise BlockError(
                    f"block {i}: has {len(Xs)} views instead of {self._count}; give "
                    "None for a view that the block lacks."
                )
            names, entries = [f"view{j}" for j in range(len(Xs))], list(Xs)
            if self.like is not None:
                names = list(self.like.names)
        for name in names:
            self.widths.setdefault(name, None)
        return names, entries

    def _array(self, name, entry, i):
        try:
            table = read_table(name, entry)
        except (TypeError, ValueError) as error:
            raise BlockError(f"block {i}: {error}") from error
        X, width = table.X, self.widths[name]
        if table.index is not None or X.dtype.kind not in "biuf":
            what = (
                f"dtype {X.dtype}" if table.index is None else "a table with an index"
            )
            raise BlockError(
                f"view {name!r}, block {i}: is {what}; give blocks as arrays of real "
                "numbers."
            )
        if width is None:
            self.widths[name] = X.shape[1]
        elif X.shape[1] != width:
            raise BlockError(
                f"view {name!r}, block {i}: has {X.shape[1]} features instead of "
                f"{width}; give the same features in all blocks."
            )
        if sp.issparse(X):
            self.sparse.add(name)
        known = self.dtypes.get(name, X.dtype)
        self.dtypes[name] = np.result_type(known, X.dtype)
        return X

    def names(self) -> list[str]:
        """All views, once every block was read."""
        if not self.widths:
            raise ValueError("Xs has no blocks; give at least one.")
        unknown = [name for name, width in self.widths.items() if width is None]
        if unknown:
            raise ValueError(
                f"views {unknown} are None in every block; leave them out."
            )
        return list(self.widths)

    def dtype(self, name: str) -> np.dtype:
        """float32 or float64 for a view; float32 leaves the choice to the others."""
        return float_dtype(self.dtypes.get(name, np.dtype(np.float32)))


def _split(item, i):
    pair, mask = isinstance(item, tuple) and len(item) == 2, None
    if pair and isinstance(item[0], list | tuple | Mapping):
        item, mask = item
    if not isinstance(item, list | tuple | Mapping):
        raise BlockError(
            f"block {i}: is a {type(item).__name__}; give a list or dict of arrays, or "
            "such with a mask as a tuple (Xs, mask)."
        )
    return item, mask


def _read_mask(mask, shape, i):
    if mask.shape != shape or not ((mask == 0) | (mask == 1)).all():
        raise BlockError(
            f"block {i}: its mask has shape {mask.shape} and dtype {mask.dtype}; give "
            f"booleans of shape (samples, views) = {shape}."
        )
    return mask.astype(bool)


class SequenceSource(BlockSource):
    """Blocks that can be asked for by number, each time anew."""

    def __init__(
        self, items: Any, like: ViewSchema | None = None, keep: bool = False
    ) -> None:
        self._items, self._keep = items, keep
        parser = BlockParser(like)
        sizes = [parser.read(items[i], i).n for i in range(len(items))]
        self.names = tuple(parser.names())
        self.n_features = tuple(int(parser.widths[name] or 0) for name in self.names)
        self.feature_names = (None,) * len(self.names)
        self._dtypes = {name: parser.dtype(name) for name in self.names}
        self._sparse = parser.sparse
        self.dtype = np.result_type(*self._dtypes.values())
        self.starts = np.append(0, np.cumsum(sizes, dtype=np.int64))

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {
            "kind": "sequence",
            "type": type(self._items).__name__,
            "starts": digest_of(self.starts.tolist()),
            "names": list(self.names),
            "n_features": list(self.n_features),
            "content": self.content(),
        }

    def mask(self, i: int) -> np.ndarray:
        return self.block(i).mask

    def block(self, i: int) -> IncompleteViews:
        part = BlockParser(self.schema, self._keep).read(self._items[i], i)
        start = int(self.starts[i])
        if part.n != self.starts[i + 1] - start:
            raise BlockError(
                f"block {i}: has {part.n} samples now and had "
                f"{self.starts[i + 1] - start} before; blocks must not change."
            )
        views: list[tuple[Any, Any, np.ndarray]] = []
        for name, width in zip(self.names, self.n_features):
            X, dtype = part.arrays.get(name), self._dtypes[name]
            if X is None:
                views.append(absent_view(part.n, width, dtype, name in self._sparse))
            else:
                X = X.astype(dtype, copy=False)
                views.append((X, None, part.observed(name, X, i, start)))
        return assemble_block(self, i, start, views)


def spool_blocks(
    items: Iterable[Any],
    work_dir: Any = None,
    memory_budget: int | str | None = None,
    like: ViewSchema | None = None,
    keep: bool = False,
) -> RowSource:
    """Write the observed rows of all blocks to disk, taking each block once."""
    folder, parser = WorkFolder(work_dir, "blocks"), BlockParser(like, keep)
    writers: dict[str, NumberedRowsWriter] = {}
    starts = [0]
    for i, item in enumerate(items):
        part, start = parser.read(item, i), starts[-1]
        mask = np.zeros((part.n, max(len(part.arrays), 1)), bool)
        for column, (name, X) in enumerate(part.arrays.items()):
            # Half floats are checked as what they will be read as.
            numbers = X.astype(float_dtype(X.dtype), copy=False)
            mask[:, column] = seen = part.observed(name, numbers, i, start)
            if name not in writers:
                path = folder.fresh(f"view-{len(writers)}")
                width, sparse = X.shape[1], sp.issparse(X)
                writers[name] = NumberedRowsWriter(path, X.dtype, width, sparse)
            if not np.can_cast(X.dtype, writers[name].dtype, "safe"):
                raise BlockError(
                    f"view {name!r}, block {i}: has dtype {X.dtype}, earlier blocks "
                    f"{writers[name].dtype}; give all blocks in one type."
                )
            own = X if seen.all() else X[seen]
            writers[name].append(own, start + np.flatnonzero(seen))
        refuse_uncovered(mask, i, start)
        starts.append(start + part.n)
    views = [
        _spooled_view(name, writers.get(name), int(parser.widths[name] or 0))
        for name in parser.names()
    ]
    row_bytes = sum(view.rows.row_bytes for view in views if view.rows is not None)
    rows = block_rows(row_bytes, len(views), memory_budget)
    cuts = _split_blocks(starts, rows)
    return RowSource(views, cuts, folder=folder, keep=keep)


def _spooled_view(name, writer, width):
    if writer is None:
        return ViewRows(name, None, width)
    rows, samples = writer.readers(f"view {name!r}")
    found = {**rows.described("blocks"), "digest": writer.digest}
    return ViewRows(name, rows, width, samples, True, found)


def _split_blocks(starts, rows):
    """Blocks as they were given, those with too many samples cut."""
    cuts = [np.zeros(1, np.int64)]
    for start, stop in pairwise(starts):
        within = cut_rows(stop - start, rows)[1:]
        cuts.append(start + (within if stop > start else np.zeros(1, np.int64)))
    return np.concatenate(cuts).astype(np.int64)
