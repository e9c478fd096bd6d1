"""Rows in plain files: .npy and memory maps."""

import mmap
import os
from typing import Any

import numpy as np

from imvc.scale._paths import file_stamp
from imvc.scale._stores import Store, check_real, kind_of

__all__ = ["FileStore", "open_memmap", "open_npy"]


class FileStore(Store):
    """Rows of a C-ordered or strided array in a plain file.

    Rows are read, not mapped: mapped pages would count as memory of the process.

    Parameters
    ----------
    path : str
    label : str
    dtype : dtype
    shape : tuple of int
    offset : int
        First byte of the first row.
    strides : tuple of int, optional
        As of ndarrays; by default of a C-ordered array.
    """

    def __init__(self, path, label, dtype, shape, offset, strides=None):
        self.path, self.label, self.dtype = os.path.abspath(path), label, dtype
        self.shape, self.offset = (int(shape[0]), int(shape[1])), int(offset)
        width = self.shape[1] * dtype.itemsize
        self.strides = strides if strides is not None else (width, dtype.itemsize)
        self._packed = (self.strides[0] == width or self.shape[0] <= 1) and (
            self.strides[1] == dtype.itemsize or self.shape[1] <= 1
        )
        check_real(self)
        self._stamp = file_stamp(self.path)

    def read(self, start, stop):
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

    def take(self, rows):
        if len(rows) == 0:
            return self.read(0, 0)
        # A mapping of these rows alone, which goes when the copy is made.
        first = int(rows[0])
        return self._mapped(first, int(rows[-1]) + 1)[rows - first]

    def _mapped(self, start, stop):
        """Rows ``start`` to ``stop - 1`` as a mapping of the file."""
        if stop <= start or self.shape[1] == 0:
            return np.empty((stop - start, self.shape[1]), self.dtype)
        extents = [
            (n - 1) * s for n, s in zip((stop - start, self.shape[1]), self.strides)
        ]
        first = self.offset + start * self.strides[0]
        low = first + sum(min(e, 0) for e in extents)
        high = first + sum(max(e, 0) for e in extents) + self.dtype.itemsize
        base = low - low % mmap.ALLOCATIONGRANULARITY
        with open(self.path, "rb") as file:
            mapping = mmap.mmap(
                file.fileno(), high - base, access=mmap.ACCESS_READ, offset=base
            )
        return np.ndarray(
            (stop - start, self.shape[1]),
            self.dtype,
            mapping,
            first - base,
            self.strides,
        )

    @property
    def fingerprint(self):
        return {**kind_of("file", self), "offset": self.offset, **self._stamp}


def open_memmap(
    x: np.ndarray, label: str | None = None, ndim: int = 2
) -> FileStore | None:
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
    return FileStore(path, label or path, x.dtype, x.shape, offset, x.strides)


def open_npy(path: str, label: str, ndim: int = 2) -> FileStore:
    """A ``.npy`` file; of one dimension it becomes one column where `ndim` is 1."""
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                read = np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except ValueError as error:
            raise ValueError(
                f"{label}: is no .npy file ({error}); write it with numpy.save."
            ) from error
        offset = file.tell()
    if len(shape) != ndim:
        raise ValueError(
            f"{label}: has shape {shape}, expected {ndim} dimensions; write it anew."
        )
    shape = (shape[0], 1) if ndim == 1 else shape
    strides = (dtype.itemsize, shape[0] * dtype.itemsize) if fortran else None
    store = FileStore(path, label, dtype, shape, offset, strides)
    needed = offset + shape[0] * shape[1] * dtype.itemsize
    if os.path.getsize(path) < needed:
        raise ValueError(
            f"{label}: is truncated: {os.path.getsize(path)} bytes instead of "
            f"{needed}; write it anew."
        )
    return store
