"""Rows of one view where they are stored: what every store offers, arrays.

A store gives rows by range or by number, and says what they will cost. It knows
nothing of samples and blocks: that is `imvc.scale._stored`. Stores can be pickled,
and open their files anew for every read.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.views import float_dtype

__all__ = [
    "ArrayStore",
    "CsrStore",
    "Store",
    "canonical_csr",
    "check_real",
    "csr_row_bytes",
    "cut_rows",
    "id_array",
    "kind_of",
    "no_rows",
]

_PIECE_BYTES = 16 * 2**20  # of what is read at once where nothing else sets a size


class Store(ABC):
    """Rows of one view, in the order they are stored.

    Attributes
    ----------
    label : str
        How errors name the store: its file, or the view where there is none.
    shape : tuple of int
        Stored rows and columns.
    dtype : dtype
        As stored.
    sparse : bool
        Whether rows come as ``csr_array``.
    feature_names : tuple of str, or None
    traced : bool
        Whether the fingerprint changes when the data do.
    """

    label: str
    shape: tuple[int, int]
    dtype: np.dtype
    sparse = False
    feature_names: tuple[str, ...] | None = None
    traced = True

    @abstractmethod
    def read(self, start: int, stop: int) -> Any:
        """Rows ``start`` to ``stop - 1``: an ndarray or a canonical ``csr_array``."""

    def take(self, rows: np.ndarray) -> Any:
        """Some rows, ascending; by default from one read that covers them."""
        if len(rows) == 0:
            return self.read(0, 0)
        return self.read(int(rows[0]), int(rows[-1]) + 1)[rows - rows[0]]

    @property
    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """What identifies the stored data, in JSON's types."""

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in memory, as stored or as floating numbers."""
        return self.shape[1] * max(
            self.dtype.itemsize, float_dtype(self.dtype).itemsize
        )

    def boundaries(self) -> np.ndarray | None:
        """Rows at which reads should start and stop; None: anywhere is as good."""
        return None

    @property
    def has_ids(self) -> bool:
        """Whether rows have ids to be joined by."""
        return False

    def read_ids(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """Ids of rows ``start`` to ``stop - 1`` in pieces: int64, or objects (str)."""
        raise ValueError(f"{self.label} has no ids.")

    def place(self, row: int) -> str:
        """Where a stored row is, for errors about ids."""
        return f"{self.label}, row {row}"

    def stream(self, piece_bytes: int = _PIECE_BYTES) -> Iterator[Any]:
        """All rows in order, in pieces that are cheap to read."""
        step = max(1, int(piece_bytes // max(1.0, self.row_bytes)))
        cuts = cut_rows(self.shape[0], step, self.boundaries(), whole=True)
        for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist()):
            yield self.read(start, stop)


def cut_rows(n, step, boundaries=None, whole=False):
    """Cuts of ``n`` rows into runs of at most ``step``, at boundaries where possible.

    Parameters
    ----------
    boundaries : ndarray, optional
        Ascending.
    whole : bool
        Whether runs between two boundaries stay whole even if longer than ``step``.

    Returns
    -------
    ndarray of int64
        From 0 to ``n``.
    """
    if boundaries is None:
        return np.append(np.arange(0, n, step, dtype=np.int64), n)
    cuts = [0]
    while cuts[-1] < n:
        start = cuts[-1]
        j = int(np.searchsorted(boundaries, start + step, side="right"))
        end = int(boundaries[j - 1]) if j else start
        if end <= start:
            end = int(boundaries[j]) if whole and j < len(boundaries) else start + step
        cuts.append(min(end, n))
    return np.array(cuts, np.int64)


class ArrayStore(Store):
    """An array in memory, among views that are elsewhere.

    Parameters
    ----------
    X : ndarray or csr_array
    label : str
    ids : ndarray, optional
    feature_names : tuple of str, optional
    """

    def __init__(self, X, label, ids=None, feature_names=None):
        self.label, self.X, self.ids = label, X, ids
        self.shape, self.dtype = X.shape, X.dtype
        self.sparse = sp.issparse(X)
        self.feature_names = feature_names
        check_real(self)

    def read(self, start, stop):
        return self.X[start:stop]

    def take(self, rows):
        return self.X[rows]

    @property
    def row_bytes(self):
        if not self.sparse:
            return super().row_bytes
        return csr_row_bytes(self.dtype, self.X.nnz, self.shape[0])

    @property
    def fingerprint(self):
        digest = hashlib.blake2b(digest_size=16)
        for X in self.stream():
            parts = (X.data, X.indices, X.indptr) if self.sparse else (X,)
            for part in parts:
                digest.update(np.ascontiguousarray(part).tobytes())
        if self.ids is not None:
            digest.update("\n".join(map(str, self.ids.tolist())).encode())
        return {**kind_of("memory", self), "digest": digest.hexdigest()}

    @property
    def has_ids(self):
        return self.ids is not None

    def read_ids(self, start, stop):
        yield id_array(self.ids[start:stop], self.label)


class CsrStore(Store):
    """Sparse rows as three stores: entries, columns, and where each row starts.

    Parameters
    ----------
    data, indices : Store of shape (n_entries, 1)
    indptr : Store of shape (n_rows + 1, 1)
    width : int
    label : str
    """

    sparse = True

    def __init__(self, data, indices, indptr, width, label):
        self.data, self.indices, self.indptr = data, indices, indptr
        self.label, self.dtype = label, data.dtype
        self.shape = (indptr.shape[0] - 1, int(width))

    def read(self, start, stop):
        indptr = self.indptr.read(start, stop + 1)[:, 0].astype(np.int64)
        lo, hi = int(indptr[0]), int(indptr[-1])
        data = self.data.read(lo, hi)[:, 0]
        indices = self.indices.read(lo, hi)[:, 0]
        return canonical_csr(data, indices, indptr - lo, self.shape[1])

    @property
    def row_bytes(self):
        return csr_row_bytes(self.dtype, self.data.shape[0], self.shape[0])

    @property
    def fingerprint(self):
        return {**kind_of("csr", self), "data": self.data.fingerprint}


def canonical_csr(data, indices, indptr, width):
    """Checked ``csr_array`` with sorted columns and no column twice in a row."""
    shape = (len(indptr) - 1, width)
    # SciPy trusts what it is given; a column out of bounds would crash the process.
    if len(indices) and (indices.min() < 0 or indices.max() >= width):
        raise ValueError(f"a sparse row has a column outside 0 to {width - 1}")
    if (
        (np.diff(indptr) < 0).any()
        or indptr[-1] != len(data)
        or len(indices) != len(data)
    ):
        raise ValueError("the lengths of sparse rows do not add up")
    X = sp.csr_array((data, indices, indptr), shape=shape)
    if not X.has_canonical_format:
        X.sum_duplicates()
    return X


def csr_row_bytes(dtype, n_entries, n_rows):
    """Mean bytes of a sparse row in memory: entry, column and row start."""
    entry = max(dtype.itemsize, float_dtype(dtype).itemsize) + 8
    return 8 + entry * n_entries / max(n_rows, 1)


def no_rows(width: int, dtype: np.dtype, sparse: bool) -> Any:
    """What stands for a view that no sample of a block has."""
    if sparse:
        return sp.csr_array((0, width), dtype=dtype)
    return np.empty((0, width), dtype)


def check_real(store: Store) -> None:
    """Refuse stores of anything but real numbers."""
    if store.dtype.kind not in "biuf":
        raise TypeError(
            f"{store.label}: holds values of dtype {store.dtype}; store real numbers."
        )


def id_array(ids: Any, label: str) -> np.ndarray:
    """Ids as int64, or as objects that are all text."""
    ids = np.asarray(ids)
    if ids.dtype.kind in "iub":
        return ids.astype(np.int64)
    if ids.dtype.kind == "S":
        ids = np.char.decode(ids, "utf-8")
    if ids.dtype.kind in "UT":
        return ids.astype(object)
    if ids.dtype.kind != "O":
        raise TypeError(
            f"{label}: its ids are of dtype {ids.dtype}; use text or integers."
        )
    kinds = set(map(type, ids.tolist()))
    if all(issubclass(kind, str) for kind in kinds):
        return ids
    if kinds <= {int}:
        return ids.astype(np.int64)
    shown = sorted(kind.__name__ for kind in kinds - {str})
    raise TypeError(
        f"{label}: has ids of type {', '.join(shown)}; use text or integers."
    )


def kind_of(kind, store):
    """The part of a fingerprint that all stores have."""
    return {"kind": kind, "shape": list(store.shape), "dtype": store.dtype.str}
