"""Cells filled from the rest of their rows, given a low-rank model of the columns.

    (x - mean) / scale = y = V z + noise,    V'V = I
    z = (V_o'V_o + diag(ridge))^-1 V_o'y_o   of a row that is observed in the cells o

How the model is learnt: `imvc.kernels._low_rank`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.kernels._distances import block_slices, row_products

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
    """

    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray
    ridge: np.ndarray

    def __post_init__(self) -> None:
        d, r = np.size(self.mean), np.size(self.ridge)
        wanted = {"mean": (d,), "scale": (d,), "axes": (d, r), "ridge": (r,)}
        for name, shape in wanted.items():
            value = np.asarray(getattr(self, name), np.float64)
            if value.shape != shape or not np.isfinite(value).all():
                raise ValueError(
                    f"{name} of a low-rank model must be finite numbers of shape "
                    f"{shape}, got shape {value.shape}; learn the model anew."
                )
            object.__setattr__(self, name, value)
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
        return {name: value.tolist() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, tree: dict[str, Any]) -> "LowRank":
        """The inverse of `to_dict`; a ValueError for anything else."""
        names = ("mean", "scale", "axes", "ridge")
        try:
            return cls(*(np.asarray(tree[name], np.float64) for name in names))
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
        filled.data[empty] = model.mean[X.indices[empty]]
        return filled
    ridge = RidgeFill(model.axes, model.ridge)
    for part in block_slices(len(X), max(X.shape[1], model.rank**2), BLOCK_ENTRIES):
        empty = np.isnan(X[part])
        rows = np.flatnonzero(empty.any(axis=1) & ~empty.all(axis=1))
        if len(rows) == 0:
            continue
        Y, seen = standard_rows(X[part][rows], model)
        fitted = ridge.fitted(Y, ridge.systems(seen))
        values = model.mean + model.scale * fitted
        filled[part.start + rows] = np.where(seen, X[part][rows], values)
    return filled


class RidgeFill:
    """Ridge regression of rows on axes, from the cells that are observed."""

    def __init__(self, axes: np.ndarray, ridge: np.ndarray) -> None:
        self._axes, self._ridge = axes, ridge
        self._upper = np.triu_indices(len(ridge))
        self._pairs = axes[:, self._upper[0]] * axes[:, self._upper[1]]

    def fitted(self, Y: np.ndarray, systems: np.ndarray) -> np.ndarray:
        """V z of rows with zeros in empty cells, by what `systems` gave for them."""
        right = row_products(Y, self._axes)[:, :, None]
        z = np.linalg.solve(systems, right)[:, :, 0]
        return row_products(z, self._axes.T)

    def lacking(self, seen: np.ndarray, systems: np.ndarray) -> np.ndarray:
        """Per column (d, r, r), the sum of the inverses of rows that lack its cell."""
        inverse = self._packed(np.linalg.inv(systems))
        holes = ~seen
        if holes.mean() <= _FEW_HOLES:
            return self._unpacked(sp.csr_array(holes, dtype=float).T @ inverse)
        return self._unpacked(holes.T.astype(float) @ inverse)

    def systems(self, seen: np.ndarray) -> np.ndarray:
        """V_o'V_o + diag(ridge) of every row, (n, r, r)."""
        r = len(self._ridge)
        few = (~seen).mean(axis=1) <= _FEW_HOLES
        packed = np.empty((len(seen), self._pairs.shape[1]))
        packed[~few] = row_products(seen[~few].astype(float), self._pairs)
        # V_o'V_o = I - V_m'V_m with the empty cells m. Both products of a row are the
        # same, bit for bit, whatever rows stand around it.
        empty = sp.csr_array(~seen[few], dtype=float) @ self._pairs
        packed[few] = self._packed(np.eye(r)) - empty
        systems = self._unpacked(packed)
        systems[:, range(r), range(r)] += self._ridge
        return systems

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
