"""Rows in plain files: ``.npy`` and memory maps, whole, by rows, and written.

Nothing is ever unpickled.
"""

import hashlib
import mmap
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc._files import naming_full_disk
from imvc.io._checked_table import matrix_table
from imvc.io._errors import InputError, input_error, one_line, reading
from imvc.io._file_bytes import check_size
from imvc.io._file_stamps import stamp_file
from imvc.io._file_table import FileTable, Request
from imvc.io._row_reader import CsrReader, RowReader


def read_npy(file: Request) -> list[FileTable]:
    """Read one matrix; rows are samples and have no ids."""
    source = file.source
    with reading(source, "a NumPy array"):
        with open(file.path, "rb") as raw:
            shape, dtype = check_header(raw, source)
            size = file.path.stat().st_size - raw.tell()
            if dtype.itemsize * float(np.prod(shape, dtype=float)) > size:
                raise input_error(
                    source, f"is truncated: it should hold an array of shape {shape}."
                )
        values = np.load(file.path, allow_pickle=False)
        return [matrix_table(values, file.name, source)]


def check_header(file: Any, source: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type that a .npy stream announces, if they can be loaded."""
    shape, _, dtype = _read_header(file, source)
    if dtype.hasobject:
        raise input_error(
            source,
            "holds pickled Python objects, which are never loaded; save numbers only "
            "(X.astype(float)).",
        )
    check_size(source, dtype.itemsize * float(np.prod(shape, dtype=float)))
    return shape, dtype


def _read_header(file: Any, source: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        found = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        found = np.lib.format.read_array_header_2_0(file)
    else:
        raise input_error(source, f"is a NumPy array of unknown version {version}.")
    if min(found[0], default=0) < 0:
        raise input_error(source, f"says that it has shape {found[0]}; make it again.")
    return found


class NpyReader(RowReader):
    """Rows of a C-ordered or strided array in a plain file.

    Rows are read, not mapped: mapped pages would count as memory of the process. The
    first row starts at the byte `offset`; `strides` are those of ndarrays.
    """

    def __init__(
        self,
        path: str,
        label: str,
        dtype: np.dtype,
        shape: tuple[int, ...],
        offset: int,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.path, self.label, self.dtype = os.path.abspath(path), label, dtype
        self.shape, self.offset = (int(shape[0]), int(shape[1])), int(offset)
        width = self.shape[1] * dtype.itemsize
        self.strides = strides if strides is not None else (width, dtype.itemsize)
        self._packed = (self.strides[0] == width or self.shape[0] <= 1) and (
            self.strides[1] == dtype.itemsize or self.shape[1] <= 1
        )
        self.check_real()

    def read(self, start: int, stop: int) -> Any:
        n, d = stop - start, self.shape[1]
        if not self._packed:
            return self._mapped(start, stop).copy()
        at = self.offset + start * self.strides[0]
        values = np.fromfile(self.path, self.dtype, n * d, offset=at)
        if len(values) < n * d:
            raise EOFError(
                f"the file ends at row {start + len(values) // max(d, 1)} of "
                f"{self.shape[0]}"
            )
        return values.reshape(n, d)

    def take(self, rows: np.ndarray) -> Any:
        if len(rows) == 0:
            return self.read(0, 0)
        # A mapping of these rows alone, which goes when the copy is made.
        first = int(rows[0])
        return self._mapped(first, int(rows[-1]) + 1)[rows - first]

    def _mapped(self, start: int, stop: int) -> np.ndarray:
        """Rows ``start`` to ``stop - 1`` as a mapping of the file."""
        shape = (stop - start, self.shape[1])
        if stop <= start or self.shape[1] == 0:
            return np.empty(shape, self.dtype)
        extents = [(n - 1) * stride for n, stride in zip(shape, self.strides)]
        first = self.offset + start * self.strides[0]
        low = first + sum(min(e, 0) for e in extents)
        high = first + sum(max(e, 0) for e in extents) + self.dtype.itemsize
        mapped = np.memmap(self.path, np.uint8, "r", low, (high - low,))
        return np.ndarray(shape, self.dtype, mapped.data, first - low, self.strides)

    @cached_property
    def _stamp(self) -> dict[str, Any]:
        # Files of our own are never asked for theirs.
        return stamp_file(self.path)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**self.described("file"), "offset": self.offset, **self._stamp}


def open_memmap(
    x: np.ndarray, label: str | None = None, ndim: int = 2
) -> NpyReader | None:
    """The file behind a memory map, or a part of one; None where there is none."""
    base: Any = x
    while isinstance(base, np.ndarray) and not isinstance(base.base, mmap.mmap):
        base = base.base
    # Changes to a copy-on-write map are in memory only.
    if not isinstance(base, np.memmap) or base.filename is None or base.mode == "c":
        return None
    mapping: Any = base.base
    begin = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
    start = base.offset - base.offset % mmap.ALLOCATIONGRANULARITY
    offset = start + x.__array_interface__["data"][0] - begin
    path = str(base.filename)
    if ndim == 1:
        x = x[:, None]
    return NpyReader(path, label or path, x.dtype, x.shape, offset, x.strides)


def block_reader(array: Any) -> Callable[[int, int], np.ndarray]:
    """A function that reads rows; of a memory map without mapping its pages."""
    shape = np.shape(array)
    if isinstance(array, np.ndarray):
        stored = open_memmap(array, ndim=len(shape))
        if stored is not None:
            return lambda start, stop: stored.read(start, stop).reshape(
                stop - start, *shape[1:]
            )
    return lambda start, stop: np.asarray(array[start:stop])


def open_npy(path: str, label: str, ndim: int = 2) -> NpyReader:
    """A ``.npy`` file; of one dimension it becomes one column where `ndim` is 1."""
    with open(path, "rb") as file:
        try:
            shape, fortran, dtype = _read_header(file, label)
        except InputError:
            raise
        # A head is read as Python's own text, and fails in the ways of that.
        except Exception as error:
            raise ValueError(
                f"{label}: is no .npy file ({one_line(error)}); write it with "
                "numpy.save."
            ) from error
        offset = file.tell()
    if len(shape) != ndim:
        raise ValueError(
            f"{label}: has shape {shape}, expected {ndim} dimensions; write it anew."
        )
    shape = (shape[0], 1) if ndim == 1 else shape
    strides = (dtype.itemsize, shape[0] * dtype.itemsize) if fortran else None
    reader = NpyReader(path, label, dtype, shape, offset, strides)
    needed = offset + shape[0] * shape[1] * dtype.itemsize
    if os.path.getsize(path) < needed:
        raise ValueError(
            f"{label}: is truncated: {os.path.getsize(path)} bytes instead of "
            f"{needed}; write it anew."
        )
    return reader


def write_header(file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """The head of a .npy file, of the same length for any number of rows."""
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


class NpyWriter:
    """A ``.npy`` file that grows by rows; its shape is written when it is closed.

    Without a `width` it has one dimension.
    """

    def __init__(self, path: Path, dtype: Any, width: int | None = None) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        self._tail = () if width is None else (width,)
        self.n_rows = 0
        self.digest = hashlib.blake2b(digest_size=16)
        self._partial = path.with_suffix(".partial")
        self._file = open(self._partial, "wb")
        write_header(self._file, self.dtype, (0, *self._tail))

    def append(self, rows: np.ndarray) -> None:
        """Write rows below those that are there."""
        rows = np.ascontiguousarray(rows, self.dtype)
        data = rows.reshape(-1).view(np.uint8).data if rows.size else b""
        with naming_full_disk(self.path):
            self._file.write(data)
        self.digest.update(data)
        self.n_rows += len(rows)

    def close(self) -> None:
        """Write the shape and close the file."""
        if self._file.closed:
            return
        with naming_full_disk(self.path):
            self._file.seek(0)
            write_header(self._file, self.dtype, (self.n_rows, *self._tail))
            self._file.close()
        os.replace(self._partial, self.path)

    def reader(self, label: str) -> NpyReader:
        """What was written."""
        self.close()
        return open_npy(str(self.path), label, 1 + len(self._tail))


class RowsWriter:
    """Dense or sparse rows of one view as ``.npy`` files in a folder."""

    def __init__(self, folder: Path, dtype: np.dtype, width: int, sparse: bool) -> None:
        self.folder, self.width, self.sparse = folder, width, sparse
        if sparse:
            self._data = NpyWriter(folder / "data.npy", dtype)
            self._indices = NpyWriter(folder / "indices.npy", np.int32)
            self._indptr = NpyWriter(folder / "indptr.npy", np.int64)
            self._indptr.append(np.zeros(1, np.int64))
            self._files = [self._data, self._indices, self._indptr]
        else:
            self._files = [NpyWriter(folder / "rows.npy", dtype, width)]

    def append(self, X: Any) -> None:
        """Write rows below those that are there."""
        if not self.sparse:
            self._files[0].append(X.toarray() if sp.issparse(X) else X)
            return
        X = sp.csr_array(X)
        self._indptr.append(X.indptr[1:].astype(np.int64) + self._data.n_rows)
        self._data.append(X.data)
        self._indices.append(X.indices)

    @property
    def digest(self) -> str:
        """Of all that was written."""
        return "-".join(file.digest.hexdigest() for file in self._files)

    def reader(self, label: str) -> RowReader:
        """What was written."""
        for file in self._files:
            file.close()
        return open_rows_folder(self.folder, self.width, label)


def open_rows_folder(folder: Path, width: int, label: str) -> RowReader:
    """What a RowsWriter wrote into a folder."""
    if (folder / "rows.npy").exists():
        return open_npy(str(folder / "rows.npy"), label)
    data, indices, indptr = (
        open_npy(str(folder / f"{name}.npy"), label, 1)
        for name in ("data", "indices", "indptr")
    )
    return CsrReader(data, indices, indptr, width, label)
