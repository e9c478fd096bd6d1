"""The protocol for any other data: an iterable or a sequence of blocks.

A block is ``Xs``, a list of arrays (None for a view that no sample of the block has)
or a dict of arrays by name (such views left out), or the tuple ``(Xs, mask)``.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError
from imvc.io._row_reader import cut_rows
from imvc.scale._block_checks import assemble_block, refuse_uncovered
from imvc.scale._block_parts import BlockParser, checked_rows
from imvc.scale._block_plan import block_rows
from imvc.scale._row_source import RowSource, no_rows
from imvc.scale._sort_rows import NumberedRowsWriter
from imvc.scale._source import BlockSource
from imvc.scale._view_rows import ViewRows
from imvc.scale._work_folder import WorkFolder, digest_of
from imvc.views import IncompleteViews, ViewSchema, float_dtype


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


class SequenceSource(BlockSource):
    """Blocks that can be asked for by number, each time anew."""

    def __init__(self, items: Any, like: ViewSchema | None = None) -> None:
        self._items = items
        parser = BlockParser(like)
        sizes = [parser.read(items[i], i).n for i in range(len(items))]
        self.names = tuple(parser.names())
        self.n_features = tuple(int(parser.widths[name] or 0) for name in self.names)
        self.feature_names = (None,) * len(self.names)
        self._dtypes = {name: parser.dtype(name) for name in self.names}
        self._sparse = parser.sparse
        self.dtype = np.result_type(*self._dtypes.values())
        self.starts = np.append(0, np.cumsum(sizes, dtype=np.int64)).astype(np.int64)

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
        part = BlockParser(self.schema).read(self._items[i], i)
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
                blank = no_rows(width, dtype, name in self._sparse)
                nowhere = np.full(part.n, -1, np.int64)
                views.append((blank, nowhere, np.zeros(part.n, bool)))
            else:
                X = X.astype(dtype, copy=False)
                views.append((X, None, checked_rows(part, name, X, i, start)))
        return assemble_block(self, i, views)


class _ViewSpool:
    """Observed rows of one view and the samples they belong to."""

    def __init__(self, folder: WorkFolder, name: str, number: int, X: Any) -> None:
        path = folder.fresh(f"view-{number}")
        self.name, self.dtype = name, X.dtype
        self._writer = NumberedRowsWriter(path, X.dtype, X.shape[1], sp.issparse(X))

    def append(self, X, seen, i, start):
        if not np.can_cast(X.dtype, self.dtype, "safe"):
            raise BlockError(
                f"view {self.name!r}, block {i}: has dtype {X.dtype}, earlier blocks "
                f"{self.dtype}; give all blocks in one type."
            )
        observed = X if seen.all() else X[seen]
        self._writer.append(observed, start + np.flatnonzero(seen))

    def view(self) -> ViewRows:
        rows, samples = self._writer.readers(f"view {self.name!r}")
        found = {**rows.described("blocks"), "digest": self._writer.digest}
        return ViewRows(self.name, rows, rows.shape[1], samples, True, found)


def spool_blocks(
    items: Iterable[Any],
    work_dir: Any = None,
    memory_budget: int | str | None = None,
    like: ViewSchema | None = None,
) -> RowSource:
    """Write the observed rows of all blocks to disk, taking each block once."""
    folder, parser = WorkFolder(work_dir, "blocks"), BlockParser(like)
    spools: dict[str, _ViewSpool] = {}
    starts = [0]
    for i, item in enumerate(items):
        part = parser.read(item, i)
        mask = np.zeros((part.n, max(len(part.arrays), 1)), bool)
        for column, (name, X) in enumerate(part.arrays.items()):
            # Half floats are checked as what they will be read as.
            numbers = X.astype(float_dtype(X.dtype), copy=False)
            mask[:, column] = checked_rows(part, name, numbers, i, starts[-1])
            if name not in spools:
                spools[name] = _ViewSpool(folder, name, len(spools), X)
            spools[name].append(X, mask[:, column], i, starts[-1])
        refuse_uncovered(mask, i, starts[-1])
        starts.append(starts[-1] + part.n)
    views = [
        spools[name].view()
        if name in spools
        else ViewRows(name, None, int(parser.widths[name] or 0))
        for name in parser.names()
    ]
    row_bytes = sum(view.rows.row_bytes for view in views if view.rows is not None)
    rows = block_rows(row_bytes, memory_budget)
    return RowSource(views, _split_blocks(starts, rows), keep=folder)


def _split_blocks(starts, rows):
    """Blocks as they were given, those with too many samples cut."""
    cuts = [np.zeros(1, np.int64)]
    for start, stop in pairwise(starts):
        within = cut_rows(stop - start, rows)[1:]
        cuts.append(start + (within if stop > start else np.zeros(1, np.int64)))
    return np.concatenate(cuts).astype(np.int64)
