"""Blocks of samples that are brought into range, or filled, as they are read."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices
from imvc.kernels._ridge_fill import PARTS, LowRank, fill_rows
from imvc.scale._safe_range import SafeRange
from imvc.scale._source import BlockSource, ViewsSource
from imvc.views import IncompleteViews, count_nonfinite, float_dtype

_BLOCK_ENTRIES = 1 << 20  # cells of rows that are filled in one go


@dataclass(frozen=True)
class CellFill:
    """Fills the empty cells of views: a block function, the same for any cutting."""

    models: tuple[LowRank, ...]  # one for each view

    def __call__(self, views: IncompleteViews, map: Any = map) -> IncompleteViews:
        """Views with the empty cells of observed rows filled, in copies."""
        arrays = tuple(self._array(views, v, map) for v in range(views.n_views))
        return replace(views, arrays=arrays, empty_cells=False)

    def _array(self, views: IncompleteViews, v: int, map: Any) -> Any:
        X, position = views.arrays[v], views.positions[v]
        wanted = np.zeros(X.shape[0], bool)
        wanted[views.rows(v) if position is None else position[views.rows(v)]] = True
        empty = count_nonfinite(X, wanted)[0] > 0
        if not empty.any():
            return X
        filled = X.astype(float_dtype(X.dtype))
        if sp.issparse(X):  # rows that are not observed may hold anything
            chosen = np.repeat(empty, np.diff(X.indptr))
            filled.data[chosen] = self.rows(v, filled).data[chosen]
            return filled
        rows = np.flatnonzero(empty)

        def fill(part: slice) -> None:
            filled[rows[part]] = self.rows(v, filled[rows[part]])

        for _ in map(fill, block_slices(len(rows), X.shape[1], _BLOCK_ENTRIES)):
            pass
        return filled

    def rows(self, v: int, X: Any) -> Any:
        """Rows of view `v` with their empty cells filled."""
        return fill_rows(X, self.models[v])

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All models as arrays with names of their own."""
        return {
            f"fill{v}.{part}": getattr(model, part)
            for v, model in enumerate(self.models)
            for part in PARTS
        }

    @classmethod
    def from_arrays(cls, arrays: Any, widths: tuple[int, ...]) -> "CellFill | None":
        """The inverse of `to_arrays` for views of some widths; None: nothing learnt.

        A ValueError for arrays that are not those of such views.
        """
        if "fill0.mean" not in arrays:
            return None
        found = []
        for v, width in enumerate(widths):
            names = [f"fill{v}.{part}" for part in PARTS]
            own = [arrays[name] for name in names if name in arrays]
            if len(own) < len(PARTS) or own[0].shape != (width,):
                raise ValueError(
                    f"what fills the empty cells of view {v} does not fit its {width} "
                    "features."
                )
            found.append(LowRank(*own))
        return cls(tuple(found))


class FilledSource(BlockSource):
    """The blocks of another source after a `CellFill` or `SafeRange`."""

    def __init__(self, base: BlockSource, fill: CellFill | SafeRange) -> None:
        self.base, self.fill = base, fill
        self.names, self.n_features = base.names, base.n_features
        self.feature_names, self.dtype = base.feature_names, base.dtype
        self.starts, self.has_ids = base.starts, base.has_ids

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.base.fingerprint  # what is learnt follows from the data

    @property
    def stamps(self) -> Any:
        return self.base.stamps

    def mask(self, i: int) -> np.ndarray:
        return self.base.mask(i)

    def block(self, i: int) -> IncompleteViews:
        return self.fill(self.base.block(i))

    def rows(self, i: int, v: int, local: np.ndarray) -> Any:
        return self.fill.rows(v, self.base.rows(i, v, local))

    def samples(self, i: int, local: np.ndarray, mask: np.ndarray) -> IncompleteViews:
        return self.fill(self.base.samples(i, local, mask))

    def ids(self, i: int) -> np.ndarray | None:
        return self.base.ids(i)


def fill_source(
    source: BlockSource, fill: CellFill | SafeRange, map: Any = map
) -> BlockSource:
    """A source of blocks that were filled; views in memory are filled once."""
    if not isinstance(source, ViewsSource):
        return FilledSource(source, fill)
    filled = copy(source)
    filled.views = fill(source.views, map)
    return filled
