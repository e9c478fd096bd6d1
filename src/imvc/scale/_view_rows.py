"""One view, or a mask, whatever it is given as: its rows and their samples."""

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imvc.io._errors import BlockError
from imvc.io._open_rows import open_numbers, open_rows
from imvc.io._row_reader import PATHS, RowReader

_INDEX_PIECE = 1 << 20  # sample numbers read at once


class ObservedRows:
    """A view of which only the observed rows are stored.

    Parameters
    ----------
    values : array, memory map, zarr array, path or URL
        The observed rows, as any view can be given.
    rows : array of int, memory map, zarr array or path of a ``.npy`` file
        The sample of every row of `values`, ascending.
    n_samples : int, optional
        Number of samples; by default that of the other views.
    """

    def __init__(self, values: Any, rows: Any, n_samples: int | None = None) -> None:
        self.values, self.rows, self.n_samples = values, rows, n_samples

    def __repr__(self) -> str:
        return f"ObservedRows({self.values!r}, {self.rows!r}, {self.n_samples!r})"


@dataclass
class ViewRows:
    """One view: its stored rows, and the samples they belong to."""

    name: str
    rows: Any  # RowReader, or None for a view that no sample has
    width: int
    # Sample of every stored row, ascending; None: row j is sample j.
    index: RowReader | None = None
    listed: bool = False  # whether the user says that every stored row is observed
    fingerprint: dict = field(default_factory=dict)  # of the data as they were given

    @property
    def label(self) -> str:
        return f"view {self.name!r}" if self.rows is None else self.rows.label

    @property
    def dtype(self) -> np.dtype:
        # A view that nobody has leaves the type to the others.
        return np.dtype(np.float32) if self.rows is None else self.rows.dtype

    def cuts(self, starts: np.ndarray) -> np.ndarray:
        """First stored row of every block; checks the index on the way."""
        if self.rows is None:
            return np.zeros(len(starts), np.int64)
        if self.index is None:
            return np.minimum(starts, self.rows.shape[0])
        return _index_cuts(self.index, starts)


def open_view(name: str, x: Any) -> ViewRows:
    """The rows of a view that need not be in memory."""
    if isinstance(x, ObservedRows):
        rows = open_rows(name, x.values, ids_needed=False)
        index = open_numbers(f"view {name!r}, rows", name, x.rows)
        if index.shape[0] != rows.shape[0]:
            raise ValueError(
                f"{index.label}: has {index.shape[0]} entries, but {rows.label} has "
                f"{rows.shape[0]} rows; give the sample of every row."
            )
        found = {**rows.fingerprint, "rows": index.fingerprint}
    else:
        rows, index = open_rows(name, x), None
        found = rows.fingerprint
    if rows.shape[1] == 0:
        raise ValueError(f"{rows.label}: has no features; leave it out.")
    return ViewRows(name, rows, rows.shape[1], index, index is not None, found)


def open_mask(mask: Any) -> RowReader:
    """The rows of a mask, one per sample."""
    if isinstance(mask, PATHS) and not os.fspath(mask).endswith((".npy", ".zarr")):
        raise ValueError(f"mask={os.fspath(mask)!r} is neither .npy nor .zarr.")
    return open_rows("mask", mask)


def _index_cuts(index: RowReader, starts: np.ndarray) -> np.ndarray:
    """How many entries of an ascending index are below each start.

    Reads the index once, in pieces, and refuses one that does not ascend or leaves the
    samples.
    """
    cuts, last, n = np.zeros(len(starts), np.int64), -1, int(starts[-1])
    for at in range(0, index.shape[0], _INDEX_PIECE):
        piece = index.read(at, min(at + _INDEX_PIECE, index.shape[0]))[:, 0]
        steps = np.diff(piece.astype(np.int64), prepend=last)
        down = np.flatnonzero(steps <= 0)
        if len(down):
            j = int(down[0])
            before = last if j == 0 else int(piece[j - 1])
            if before < 0:
                raise BlockError(
                    f"{index.label}, entry {at + j}: row {piece[j]} is negative; "
                    "number samples from 0."
                )
            raise BlockError(
                f"{index.label}, entry {at + j}: row {piece[j]} comes after row "
                f"{before}; rows must ascend: sort values and rows."
            )
        last = int(piece[-1])
        if last >= n:
            j = int(np.searchsorted(piece, n))
            raise BlockError(
                f"{index.label}, entry {at + j}: row {piece[j]} is outside the {n} "
                "samples; correct it, or raise n_samples."
            )
        cuts += np.searchsorted(piece, starts)
    return cuts
