"""Rows written once to files of our own, from where they can be read in any order."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.scale._store_file import open_npy
from imvc.scale._stores import CsrStore, Store

__all__ = ["ColumnWriter", "RowsWriter", "WorkFolder", "digest_of", "open_rows"]

_HEADER_BYTES = 128  # of a .npy file: enough for any shape, so it can be written last
_DONE = "complete"


class WorkFolder:
    """Where rewritten views are kept: a folder of the run, or a temporary one.

    Its name starts with a dot, so a run finds its folder as empty as it was. Copies in
    other processes refer to the same folder; a temporary one goes with the object that
    made it.

    Parameters
    ----------
    path : path-like, optional
        None: a temporary folder, made when it is first needed.
    key : str
        Of the data: what is made from other data has another folder.
    """

    def __init__(self, path: Any = None, key: str = "views") -> None:
        self._parent = None if path is None else Path(path) / ".views" / key
        self._temporary: tempfile.TemporaryDirectory | None = None

    @property
    def lasting(self) -> bool:
        """Whether the folder outlives this object."""
        return self._parent is not None

    def file(self, name: str) -> Path:
        """Path of a file in the folder, which is made if need be."""
        if self._parent is not None:
            self._parent.mkdir(parents=True, exist_ok=True)
            return self._parent.resolve() / name
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="imvc-views-")
        return Path(self._temporary.name) / name

    def fresh(self, name: str) -> Path:
        """A new empty folder in the folder."""
        path = self.file(name)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def is_done(self, name: str) -> bool:
        """Whether an earlier run wrote this whole."""
        return self.lasting and (self.file(name) / _DONE).exists()

    def done(self, name: str) -> None:
        """Note that a folder is complete."""
        (self.file(name) / _DONE).touch()

    def __getstate__(self) -> dict:
        # Only the maker removes a temporary folder.
        return {"_parent": self._parent, "_temporary": None}


def digest_of(value: Any) -> str:
    """A short name for something in JSON's types."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class ColumnWriter:
    """A ``.npy`` file that grows by rows; its shape is written when it is closed.

    Parameters
    ----------
    path : Path
    dtype : dtype
    width : int, optional
        None: one dimension.
    """

    def __init__(self, path: Path, dtype: np.dtype, width: int | None = None) -> None:
        self.path, self.dtype, self.width = path, np.dtype(dtype), width
        self.n_rows = 0
        self.digest = hashlib.blake2b(digest_size=16)
        self._partial = path.with_suffix(".partial")
        self._file = open(self._partial, "wb")
        self._file.write(bytes(_HEADER_BYTES))

    def append(self, rows: np.ndarray) -> None:
        """Write rows below those that are there."""
        rows = np.ascontiguousarray(rows, self.dtype)
        data = rows.reshape(-1).view(np.uint8).data if rows.size else b""
        self._file.write(data)
        self.digest.update(data)
        self.n_rows += len(rows)

    def close(self) -> None:
        """Write the shape and close the file."""
        if self._file.closed:
            return
        shape = (self.n_rows,) if self.width is None else (self.n_rows, self.width)
        text = repr(
            {
                "descr": np.lib.format.dtype_to_descr(self.dtype),
                "fortran_order": False,
                "shape": shape,
            }
        ).encode("latin1")
        size = _HEADER_BYTES - 10
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little"))
        self._file.write(text.ljust(size - 1) + b"\n")
        self._file.close()
        os.replace(self._partial, self.path)

    def store(self, label: str) -> Store:
        """What was written, for reading."""
        self.close()
        return open_npy(str(self.path), label, 1 if self.width is None else 2)


class RowsWriter:
    """Dense or sparse rows of one view, in a folder.

    Parameters
    ----------
    folder : Path
    dtype : dtype
    width : int
    sparse : bool
    """

    def __init__(self, folder: Path, dtype: np.dtype, width: int, sparse: bool) -> None:
        self.folder, self.width, self.sparse = folder, width, sparse
        if sparse:
            self._data = ColumnWriter(folder / "data.npy", dtype)
            self._indices = ColumnWriter(folder / "indices.npy", np.dtype(np.int32))
            self._indptr = ColumnWriter(folder / "indptr.npy", np.dtype(np.int64))
            self._indptr.append(np.zeros(1, np.int64))
            self._columns = [self._data, self._indices, self._indptr]
        else:
            self._columns = [ColumnWriter(folder / "rows.npy", dtype, width)]

    def append(self, X: Any) -> None:
        """Write rows below those that are there."""
        if not self.sparse:
            self._columns[0].append(X.toarray() if sp.issparse(X) else X)
            return
        X = sp.csr_array(X)
        self._indptr.append(X.indptr[1:].astype(np.int64) + self._data.n_rows)
        self._data.append(X.data)
        self._indices.append(X.indices)

    def close(self) -> None:
        for column in self._columns:
            column.close()

    @property
    def digest(self) -> str:
        """Of all that was written."""
        return "-".join(column.digest.hexdigest() for column in self._columns)

    def store(self, label: str) -> Store:
        """What was written, for reading."""
        self.close()
        return open_rows(self.folder, self.width, label)


def open_rows(folder: Path, width: int, label: str) -> Store:
    """What a RowsWriter wrote into a folder."""
    if (folder / "rows.npy").exists():
        return open_npy(str(folder / "rows.npy"), label)
    data, indices, indptr = (
        open_npy(str(folder / f"{name}.npy"), label, 1)
        for name in ("data", "indices", "indptr")
    )
    return CsrStore(data, indices, indptr, width, label)
