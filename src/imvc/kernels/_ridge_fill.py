"""Cells filled from the rest of their rows, given a low-rank model of the columns.

    (x - mean) / scale = y = V z + noise,    V'V = I
    z = (V_o'V_o + diag(ridge))^-1 V_o'y_o   of a row that is observed in the cells o

How the model is learnt: `imvc.kernels._low_rank`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices, row_products

PARTS = ("mean", "scale", "axes", "ridge", "zero_below")  # of a LowRank
BLOCK_ENTRIES = 1 << 20
_FEW_HOLES = 0.1  # of a row: up to here a sparse product is quicker


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
    zero_below : ndarray of shape (d,)
        Cells to be filled with less, in magnitude, are filled with zero. For columns
        of counts that are nearly always zero: what they would be filled with else is
        a little of everything, which no row has.
    """

    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray
    ridge: np.ndarray
    zero_below: np.ndarray

    def __post_init__(self) -> None:
        d, r = np.size(self.mean), np.size(self.ridge)
        shapes = ((d,), (d,), (d, r), (r,), (d,))
        for name, shape in zip(PARTS, shapes):
            value = np.asarray(getattr(self, name), np.float64)
            if value.shape != shape or not np.isfinite(value).all():
                raise ValueError(
                    f"{name} of a low-rank model must be finite numbers of shape "
                    f"{shape}, got shape {value.shape}; learn the model anew."
                )
            object.__setattr__(self, name, value)
        if r > d:  # their products would be without bounds
            raise ValueError(
                f"a low-rank model of {d} columns has {r} axes, at most {d} can be; "
                f"learn it anew."
            )
        if not ((self.scale > 0).all() and (self.ridge > 0).all()):
            raise ValueError(
                "scale and ridge of a low-rank model must be positive; learn it anew."
            )
        if np.abs(self.axes.T @ self.axes - np.eye(r)).max(initial=0) > 1e-6:
            raise ValueError(
                "axes of a low-rank model must be orthonormal; learn it anew."
            )

    @property
    def rank(self) -> int:
        """Number of axes; 0: column means."""
        return self.axes.shape[1]

    def to_dict(self) -> dict[str, Any]:
        """The model in the types of JSON."""
        return {name: getattr(self, name).tolist() for name in PARTS}

    def in_units(self, fitted: np.ndarray) -> np.ndarray:
        """What rows of coordinates V z are in the units of the table."""
        values = self.mean + self.scale * fitted
        return np.where(np.abs(values) < self.zero_below, 0, values)

    @classmethod
    def from_dict(cls, tree: dict[str, Any]) -> "LowRank":
        """The inverse of `to_dict`; a ValueError for anything else."""
        try:
            return cls(*(np.asarray(tree[name], np.float64) for name in PARTS))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is no low-rank model: {error!r}.") from error


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
        means = model.in_units(np.zeros(X.shape[1]))
        filled.data[empty] = means[X.indices[empty]]
        return filled
    ridge = RidgeFill(model.axes, model.ridge)
    for part in block_slices(len(X), max(X.shape[1], model.rank**2), BLOCK_ENTRIES):
        empty = np.isnan(X[part])
        rows = np.flatnonzero(empty.any(axis=1) & ~empty.all(axis=1))
        if len(rows) == 0:
            continue
        Y, seen = standard_rows(X[part][rows], model)
        for own, holes in by_holes(seen):
            values = model.in_units(ridge.fitted(Y[own], ridge.inverses(holes)))
            at = part.start + rows[own]
            filled[at] = np.where(seen[own], X[at], values)
    return filled


def by_holes(seen: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
    """Rows with few empty cells, then all others: ``(rows, ones in empty cells)``.

    The first as CSR. Which a row belongs to does not depend on the others.
    """
    few = (~seen).mean(axis=1) <= _FEW_HOLES
    if few.any():
        yield np.flatnonzero(few), sp.csr_array(~seen[few], dtype=np.float64)
    if not few.all():
        yield np.flatnonzero(~few), (~seen[~few]).astype(np.float64)


class RidgeFill:
    """Ridge regression of rows on axes, from the cells that are observed."""

    def __init__(self, axes: np.ndarray, ridge: np.ndarray) -> None:
        self._axes, self._ridge = axes, ridge
        self._upper = np.triu_indices(len(ridge))
        self._pairs = axes[:, self._upper[0]] * axes[:, self._upper[1]]

    def inverses(self, holes: Any) -> np.ndarray:
        """(V_o'V_o + diag(ridge))^-1 of rows, (n, r, r), by ones in empty cells."""
        r = len(self._ridge)
        # Both products of a row are the same, bit for bit, among any other rows.
        if sp.issparse(holes):
            packed = self._packed(np.eye(r)) - holes @ self._pairs
        else:
            packed = row_products(1 - holes, self._pairs)
        systems = self._unpacked(packed)
        systems[:, range(r), range(r)] += self._ridge
        return np.linalg.inv(systems)

    def fitted(self, Y: np.ndarray, inverses: np.ndarray) -> np.ndarray:
        """V z of rows with zeros in empty cells."""
        z = inverses @ row_products(Y, self._axes)[:, :, None]
        return row_products(z[:, :, 0], self._axes.T)

    def lacking(self, holes: Any, inverses: np.ndarray) -> np.ndarray:
        """Per column (d, r, r), the sum of the inverses of rows that lack its cell."""
        return self._unpacked(holes.T @ self._packed(inverses))

    def _packed(self, A: np.ndarray) -> np.ndarray:
        """Upper triangles of symmetric matrices, as rows."""
        return A[..., self._upper[0], self._upper[1]]

    def _unpacked(self, rows: np.ndarray) -> np.ndarray:
        r, (i, j) = len(self._ridge), self._upper
        A = np.empty((len(rows), r, r))
        A[:, i, j] = A[:, j, i] = rows
        return A


def standard_rows(X: np.ndarray, model: LowRank) -> tuple[np.ndarray, np.ndarray]:
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
