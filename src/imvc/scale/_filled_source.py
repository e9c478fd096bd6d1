"""Blocks of samples whose empty cells are filled as they are read."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._low_rank import LowRank, fill_rows
from imvc.scale._source import BlockSource, ViewsSource
from imvc.views import IncompleteViews, count_nonfinite, float_dtype

_PARTS = ("mean", "scale", "axes", "ridge")  # of a LowRank


@dataclass(frozen=True)
class CellFill:
    """Fills the empty cells of views: a block function, the same for any cutting."""

    models: tuple[LowRank, ...]  # one for each view

    def __call__(self, views: IncompleteViews) -> IncompleteViews:
        """Views with the empty cells of observed rows filled, in copies."""
        arrays = tuple(self._array(views, v) for v in range(views.n_views))
        return replace(views, arrays=arrays, empty_cells=False)

    def _array(self, views: IncompleteViews, v: int) -> Any:
        X, position = views.arrays[v], views.positions[v]
        wanted = np.zeros(X.shape[0], bool)
        wanted[views.rows(v) if position is None else position[views.rows(v)]] = True
        empty = count_nonfinite(X, wanted)[0] > 0
        if not empty.any():
            return X
        if sp.issparse(X):
            return self._sparse(X, v, empty)
        filled = X.astype(float_dtype(X.dtype))
        filled[empty] = self.rows(v, filled[empty])
        return filled

    def _sparse(self, X: Any, v: int, empty: np.ndarray) -> Any:
        """CSR with the stored NaN of some rows filled; the other rows may hold any."""
        filled = X.astype(float_dtype(X.dtype))
        chosen = np.repeat(empty, np.diff(X.indptr))
        filled.data[chosen] = self.rows(v, filled).data[chosen]
        return filled

    def rows(self, v: int, X: Any) -> Any:
        """Rows of view `v` with their empty cells filled."""
        return fill_rows(X, self.models[v])

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All models as arrays with names of their own."""
        return {
            f"fill{v}.{part}": getattr(model, part)
            for v, model in enumerate(self.models)
            for part in _PARTS
        }

    @classmethod
    def from_arrays(cls, arrays: Any, n_views: int) -> "CellFill | None":
        """The inverse of `to_arrays`; None where nothing was learnt."""
        if "fill0.mean" not in arrays:
            return None
        return cls(
            tuple(
                LowRank(*(arrays[f"fill{v}.{part}"] for part in _PARTS))
                for v in range(n_views)
            )
        )


class FilledSource(BlockSource):
    """The blocks of another source after a `CellFill`."""

    def __init__(self, base: BlockSource, fill: CellFill) -> None:
        self.base, self.fill = base, fill
        self.names, self.n_features = base.names, base.n_features
        self.feature_names, self.dtype = base.feature_names, base.dtype
        self.starts = base.starts

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self.base.fingerprint  # what is learnt follows from the data

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


def fill_source(source: BlockSource, fill: CellFill) -> BlockSource:
    """A source whose blocks have no empty cells; views in memory are filled once."""
    if not isinstance(source, ViewsSource):
        return FilledSource(source, fill)
    filled = copy(source)
    filled.views = fill(source.views)
    return filled
