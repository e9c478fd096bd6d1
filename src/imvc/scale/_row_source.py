"""Blocks of samples from stored rows: which rows are in a block, and their checks."""

import hashlib
from typing import Any

import numpy as np

from imvc.io._row_reader import RowReader
from imvc.scale._block_checks import (
    absent_view,
    as_block_error,
    as_booleans,
    assemble_block,
    check_rows,
    refuse_uncovered,
)
from imvc.scale._join_ids import JoinedIds
from imvc.scale._source import BlockSource
from imvc.scale._view_rows import ViewRows
from imvc.views import IncompleteViews, float_dtype, read_only


class RowSource(BlockSource):
    """Views in files, as blocks.

    `columns` are those of the mask for each view, and `folder` is what must live as
    long as the source: a temporary one. Rows with some empty cells may be kept.
    """

    def __init__(
        self,
        views: list[ViewRows],
        starts: np.ndarray,
        mask: RowReader | None = None,
        columns: list[int] | None = None,
        ids: JoinedIds | None = None,
        folder: Any = None,
        keep: bool = False,
    ) -> None:
        self._views, self._mask, self._columns = views, mask, columns
        self._ids, self.folder, self._keep = ids, folder, keep
        self.has_ids = ids is not None
        self.starts = starts
        self.names = tuple(view.name for view in views)
        self.n_features = tuple(view.width for view in views)
        self.feature_names = tuple(
            None if view.rows is None else view.rows.feature_names for view in views
        )
        self.dtype = np.result_type(*(float_dtype(view.dtype) for view in views))
        self._mask_found = None if mask is None else mask.fingerprint
        self._cuts = [view.cuts(starts) for view in views]

    @property
    def fingerprint(self) -> dict[str, Any]:
        digest = hashlib.blake2b(self.starts.tobytes(), digest_size=16).hexdigest()
        return {
            "kind": "stores",
            "n_samples": self.n_samples,
            "blocks": digest,
            "views": [{"name": view.name, **view.fingerprint} for view in self._views],
            "mask": self._mask_found,
        }

    @property
    def stamps(self) -> Any:
        return self.fingerprint

    def mask(self, i: int) -> np.ndarray:
        allowed = self._allowed(i)
        columns = [self._seen(i, v, allowed) for v in range(self.n_views)]
        mask = np.column_stack(columns)
        refuse_uncovered(mask, i, int(self.starts[i]), self._id_text)
        return read_only(mask)

    def block(self, i: int) -> IncompleteViews:
        allowed = self._allowed(i)
        parts = [self._part(i, v, allowed) for v in range(self.n_views)]
        return assemble_block(self, i, int(self.starts[i]), parts, self._id_text)

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        rows, local = self._views[v].rows, np.asarray(local, np.int64)
        if rows is None or len(local) == 0:
            return self._absent(v, 0)[0]
        at = np.searchsorted(self._samples(i, v), local)
        with self._reading(i, v):
            X = rows.take(int(self._cuts[v][i]) + at)
        X = X.astype(float_dtype(X.dtype), copy=False)
        self._check(i, v, X, local, np.ones(len(local), bool), strict=True)
        return X

    def samples(self, i: int, local: np.ndarray, mask: np.ndarray) -> IncompleteViews:
        parts = []
        for v, seen in enumerate(mask[local].T):
            position = np.where(seen, np.cumsum(seen) - 1, -1)
            parts.append((self.rows(i, v, local[seen]), position, seen))
        return assemble_block(self, i, int(self.starts[i]), parts, self._id_text)

    def ids(self, i: int) -> np.ndarray | None:
        return None if self._ids is None else self._ids.read(*self.span(i))

    def _allowed(self, i: int) -> np.ndarray | None:
        """What the user's mask says about a block."""
        if self._mask is None:
            return None
        start, stop = self.span(i)
        with as_block_error(self._mask.label, i, start, stop):
            mask = self._mask.read(start, stop)
        problem = (
            "the mask has values other than 0 and 1; rows True where a sample is "
            "observed."
        )
        return as_booleans(mask[:, self._columns], self._mask.label, i, start, problem)

    def _samples(self, i: int, v: int) -> np.ndarray:
        """Samples of the stored rows of a block, numbered within it."""
        lo, hi = int(self._cuts[v][i]), int(self._cuts[v][i + 1])
        index = self._views[v].index
        if index is None or lo == hi:
            return np.arange(hi - lo)
        with self._reading(i, v, index.label):
            return index.read(lo, hi)[:, 0].astype(np.int64) - self.starts[i]

    def _seen(self, i: int, v: int, allowed: np.ndarray | None) -> np.ndarray:
        """Which samples of a block are observed in a view; reads data if it must."""
        view = self._views[v]
        if allowed is None and not view.listed and view.dtype.kind == "f":
            return self._part(i, v, allowed)[2]
        start, stop = self.span(i)
        seen = np.zeros(stop - start, bool)
        seen[self._samples(i, v)] = True
        return seen if allowed is None else seen & allowed[:, v]

    def _part(self, i: int, v: int, allowed: np.ndarray | None) -> tuple:
        """Array, positions and observed samples of one view in a block."""
        lo, hi = int(self._cuts[v][i]), int(self._cuts[v][i + 1])
        start, stop = self.span(i)
        rows = self._views[v].rows
        absent = self._absent(v, stop - start)
        if rows is None or lo == hi:
            return absent
        samples = self._samples(i, v)
        wanted = np.ones(hi - lo, bool) if allowed is None else allowed[samples, v]
        if not wanted.any():
            return absent
        with self._reading(i, v):
            X = rows.read(lo, hi)
        X = X.astype(float_dtype(X.dtype), copy=False)
        strict = allowed is not None or self._views[v].listed
        _, position, seen = absent
        seen[samples] = self._check(i, v, X, samples, wanted, strict)
        if hi - lo == stop - start:
            return X, None, seen
        position[samples] = np.arange(hi - lo)
        return X, position, seen

    def _absent(self, v: int, n: int) -> tuple:
        view = self._views[v]
        sparse = view.rows is not None and view.rows.sparse
        return absent_view(n, view.width, float_dtype(view.dtype), sparse)

    def _check(self, i, v, X, samples, wanted, strict):
        """Which rows are observed; refuses those that are not wholly numbers."""
        view, columns = self._views[v], self.feature_names[v]

        def place(row: int) -> str:
            sample = int(self.starts[i] + samples[row])
            return f"{view.label}, block {i}, row {sample}{self._id_text(sample)}"

        way_out = self._way_out(view)
        return check_rows(X, wanted, strict, place, way_out, columns, self._keep)

    def _way_out(self, view: ViewRows) -> str:
        if self._mask is not None:
            return "mark the sample as missing in mask"
        if view.listed:
            return "leave the row out of the observed rows"
        if self._ids is not None:
            return "drop the row"
        return "make the whole row NaN, or mark the sample as missing in mask"

    def _id_text(self, sample: int) -> str:
        if self._ids is None:
            return ""
        return f" (id {self._ids.read(sample, sample + 1)[0]!r})"

    def _reading(self, i: int, v: int, label: str | None = None) -> Any:
        return as_block_error(label or self._views[v].label, i, *self.span(i))
