"""Blocks as users give them: their parts, and what all of them must agree in."""

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError
from imvc.scale._block_checks import check_rows
from imvc.views import ViewSchema, float_dtype, read_table


class BlockPart(NamedTuple):
    """One block as it was given: 2-D arrays by name, and the mask of their samples."""

    n: int
    arrays: dict[str, Any]
    allowed: np.ndarray | None  # columns as in `names`
    names: list[str]


class BlockParser:
    """Reads blocks and remembers what all of them must agree in."""

    def __init__(self, like: ViewSchema | None = None) -> None:
        self.like = like
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
        return BlockPart(n, arrays, allowed, names)

    def _named(self, Xs, i):
        if isinstance(Xs, Mapping):
            for name in Xs:
                if self.like is not None and name not in self.widths:
                    raise BlockError(
                        f"view {name!r}, block {i}: is unknown to the model; it was "
                        f"fitted with {list(self.widths)}."
                    )
                self.widths.setdefault(name, None)
            return list(Xs), list(Xs.values())
        if self._count is None:
            self._count = len(Xs)
        if len(Xs) != self._count:
            raise BlockError(
                f"block {i}: has {len(Xs)} views instead of {self._count}; give None "
                "for a view that the block lacks."
            )
        names = [f"view{j}" for j in range(len(Xs))]
        if self.like is not None:
            names = list(self.like.names)
        for name in names:
            self.widths.setdefault(name, None)
        return names, list(Xs)

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
    pair = isinstance(item, tuple) and len(item) == 2
    if pair and isinstance(item[0], list | tuple | Mapping):
        item, mask = item
    else:
        mask = None
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


def checked_rows(part: BlockPart, name: str, X: Any, i: int, start: int) -> np.ndarray:
    """Which rows of a view of a block are observed."""
    wanted = np.ones(part.n, bool)
    if part.allowed is not None:
        wanted = part.allowed[:, part.names.index(name)]

    def refuse(row: int, problem: str) -> NoReturn:
        raise BlockError(f"view {name!r}, block {i}, row {start + row}: {problem}")

    return check_rows(X, wanted, False, refuse, "mark the sample as missing")
