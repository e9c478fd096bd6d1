"""RowReader: rows of one view where they are stored, by range or by number.

A reader says what rows will cost, and gives them. It knows nothing of samples and
blocks: that is `imvc.scale`. Readers can be pickled, and open their files anew for
every read.
"""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.views import float_dtype

PATHS = (str, os.PathLike)
_PIECE_BYTES = 16 * 2**20  # of what is read at once where nothing else sets a size


class RowReader(ABC):
    """Rows of one view, in the order they are stored.

    Attributes
    ----------
    label : str
        How errors name what is read: its file, or the view where there is none.
    shape : tuple of int
        Stored rows and columns.
    dtype : dtype
        As stored.
    sparse : bool
        Whether rows come as ``csr_array``.
    n_entries : int
        Numbers that are stored of sparse rows.
    feature_names : tuple of str, or None
    has_ids : bool
        Whether rows have ids to be joined by.
    traced : bool
        Whether the fingerprint changes when the data do.
    """

    label: str
    shape: tuple[int, int]
    dtype: np.dtype
    sparse = False
    n_entries = 0
    feature_names: tuple[str, ...] | None = None
    has_ids = False
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

    def described(self, kind: str) -> dict[str, Any]:
        """The part of a fingerprint that all readers have."""
        return {"kind": kind, "shape": list(self.shape), "dtype": self.dtype.str}

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in memory, as stored or as floating numbers."""
        number = max(self.dtype.itemsize, float_dtype(self.dtype).itemsize)
        if not self.sparse:
            return self.shape[1] * number
        # The mean of entry, column and row start.
        return 8 + (number + 8) * self.n_entries / max(self.shape[0], 1)

    def boundaries(self) -> np.ndarray | None:
        """Rows at which reads should start and stop; None: anywhere is as good."""
        return None

    def read_ids(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """Ids of rows ``start`` to ``stop - 1`` in pieces: int64, or objects (str)."""
        raise ValueError(f"{self.label} has no ids.")

    def place(self, row: int) -> str:
        """Where a stored row is, for errors about ids."""
        return f"{self.label}, row {row}"

    def stream(self) -> Iterator[Any]:
        """All rows in order, in pieces that are cheap to read."""
        step = max(1, int(_PIECE_BYTES // max(1.0, self.row_bytes)))
        cuts = cut_rows(self.shape[0], step, self.boundaries(), whole=True)
        for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist()):
            yield self.read(start, stop)

    def check_real(self) -> None:
        """Refuse anything but real numbers."""
        if self.dtype.kind not in "biuf":
            raise TypeError(
                f"{self.label}: holds values of dtype {self.dtype}; store real numbers."
            )


def cut_rows(
    n: int, step: int, boundaries: np.ndarray | None = None, whole: bool = False
) -> np.ndarray:
    """Cuts of `n` rows into runs of at most `step`, at boundaries where possible.

    The cuts go from 0 to `n`. With `whole`, runs between two of the boundaries, which
    ascend, stay whole even if longer than `step`.
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


class ArrayReader(RowReader):
    """An array in memory, dense or CSR, among views that are elsewhere."""

    def __init__(
        self,
        X: Any,
        label: str,
        ids: np.ndarray | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> None:
        self.label, self.X, self.ids = label, X, ids
        self.shape, self.dtype = X.shape, X.dtype
        self.sparse = sp.issparse(X)
        self.n_entries = X.nnz if self.sparse else 0
        self.feature_names, self.has_ids = feature_names, ids is not None
        self.check_real()

    def read(self, start: int, stop: int) -> Any:
        return self.X[start:stop]

    def take(self, rows: np.ndarray) -> Any:
        return self.X[rows]

    @property
    def fingerprint(self) -> dict[str, Any]:
        digest = hashlib.blake2b(digest_size=16)
        for X in self.stream():
            parts = (X.data, X.indices, X.indptr) if self.sparse else (X,)
            for part in parts:
                digest.update(np.ascontiguousarray(part).tobytes())
        if self.ids is not None:
            digest.update("\n".join(map(str, self.ids.tolist())).encode())
        return {**self.described("memory"), "digest": digest.hexdigest()}

    def read_ids(self, start: int, stop: int) -> Iterator[np.ndarray]:
        assert self.ids is not None
        yield id_array(self.ids[start:stop], self.label)


class CsrReader(RowReader):
    """Sparse rows as entries, their columns, and where each row starts.

    `data` and `indices` have a row per entry, `indptr` one more than there are rows.
    """

    sparse = True

    def __init__(
        self,
        data: RowReader,
        indices: RowReader,
        indptr: RowReader,
        width: int,
        label: str,
    ) -> None:
        self.data, self.indices, self.indptr = data, indices, indptr
        self.label, self.dtype, self.n_entries = label, data.dtype, data.shape[0]
        self.shape = (indptr.shape[0] - 1, int(width))

    def read(self, start: int, stop: int) -> Any:
        indptr = self.indptr.read(start, stop + 1)[:, 0].astype(np.int64)
        lo, hi = int(indptr[0]), int(indptr[-1])
        data = self.data.read(lo, hi)[:, 0]
        indices = self.indices.read(lo, hi)[:, 0]
        return canonical_csr(data, indices, indptr - lo, self.shape[1])

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**self.described("csr"), "data": self.data.fingerprint}


def canonical_csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int
) -> Any:
    """Checked ``csr_array`` with sorted columns and no column twice in a row."""
    # SciPy trusts what it is given; a column out of bounds would crash the process.
    if len(indices) and (indices.min() < 0 or indices.max() >= width):
        raise ValueError(f"a sparse row has a column outside 0 to {width - 1}")
    if (
        (np.diff(indptr) < 0).any()
        or indptr[-1] != len(data)
        or len(indices) != len(data)
    ):
        raise ValueError("the lengths of sparse rows do not add up")
    X = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
    if not X.has_canonical_format:
        X.sum_duplicates()
    return X


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
    others = sorted(kind.__name__ for kind in kinds - {str})
    raise TypeError(
        f"{label}: has ids of type {', '.join(others)}; use text or integers."
    )


def local_path(path: str | os.PathLike) -> str | None:
    """The path on this machine; None for URLs of other places."""
    text = os.fspath(path)
    if text.startswith("file://"):
        return text.removeprefix("file://")
    return None if "://" in text else text


def must_exist(path: str | os.PathLike, name: str) -> None:
    """Refuse paths that lead nowhere, or to what can be read only once."""
    local = local_path(path)
    if local is None or os.path.isfile(local) or os.path.isdir(local):
        return
    file = f"view {name!r}: the file {os.fspath(path)!r}"
    if os.path.exists(local):
        raise ValueError(f"{file} is not a regular file; save its content first.")
    raise FileNotFoundError(f"{file} does not exist; check the path.")
