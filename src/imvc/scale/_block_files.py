"""What a run keeps of every block: a file each, or rows of one file."""

import io
import math
import os
import zlib

import numpy as np

from imvc._files import naming_full_disk, no_room, sync_file, sync_folder
from imvc.io._npy import write_header
from imvc.scale._checked_files import (
    DamagedFile,
    as_bytes,
    find_damage,
    read_arrays,
    removed,
    write_arrays,
)
from imvc.scale._source import GraphRows


class BlockFiles:
    """GraphRows or masks of every block, a file each.

    The digest of a block is checked when a run first reads it.
    """

    def __init__(self, folder):
        self._folder, self._checked = folder, set()
        with naming_full_disk(folder):
            folder.mkdir(exist_ok=True)

    def file(self, i):
        return self._folder / f"{i:06d}.block"

    def __contains__(self, i):
        return self.file(i).exists()

    def __setitem__(self, i, item):
        arrays = item.to_arrays() if isinstance(item, GraphRows) else [item]
        self._checked.discard(i)
        write_arrays(self.file(i), arrays, durable=False)  # `sync` sees to all at once

    def __getitem__(self, i):
        try:
            arrays = read_arrays(self.file(i), check=i not in self._checked)
        except DamagedFile as damage:
            raise removed(damage) from damage
        self._checked.add(i)
        return arrays[0] if len(arrays) == 1 else GraphRows.from_arrays(arrays)

    def damage(self, i):
        """What is wrong with the file of a block, as a DamagedFile; None: nothing."""
        return find_damage(self.file(i))

    def tidy(self):
        """Remove what a killed run began to write."""
        for file in self._folder.iterdir():
            if file.suffix != ".block":
                file.unlink()

    def sync(self):
        """See to it that all blocks outlive a loss of power."""
        for file in sorted(self._folder.iterdir()):
            sync_file(file)
        sync_folder(self._folder)
        sync_folder(self._folder.parent)


class RowFile:
    """One row per sample in a ``.npy`` file, read and written by blocks.

    Plain reads, no memory map: mapped pages would count as memory of this process. The
    file is for everybody to read, so its digests, one per block, stand elsewhere. They
    are checked when a run first reads a block: k-means reads it many times.

    Parameters
    ----------
    path : Path
    starts : ndarray of int64
        First sample of every block, and their number.
    width : int or None
        Columns; None: one number per sample.
    dtype : dtype
    durable : bool, default=True
        Whether the file must outlive a loss of power.
    """

    def __init__(self, path, starts, width, dtype, durable=True):
        self._path, self._starts, self._dtype = path, starts, np.dtype(dtype)
        self._tail = () if width is None else (int(width),)
        self._row_bytes = self._dtype.itemsize * math.prod(self._tail)
        self._durable = durable
        head = io.BytesIO()
        write_header(head, self._dtype, (int(starts[-1]), *self._tail))
        self._head = head.getvalue()
        self._size = len(self._head) + int(starts[-1]) * self._row_bytes
        self._partial = path.with_suffix(".partial")
        self.digests = [0] * (len(starts) - 1)
        self._checked = set()

    def open(self, again=False):
        """Let blocks be written; ``again`` keeps what is there of them."""
        with naming_full_disk(self._path):
            self._handle = open(self._partial, "r+b" if again else "wb")
            self._handle.write(self._head)
            self._handle.truncate(self._size)
            self._handle.flush()

    def sync(self):
        """See to it that what was written outlives a loss of power."""
        if self._durable:
            with naming_full_disk(self._path):
                os.fsync(self._handle.fileno())

    def finish(self):
        """Give the file its name."""
        self.close()
        os.replace(self._partial, self._path)
        if self._durable:
            sync_folder(self._path.parent)

    def close(self):
        self._handle.close()

    def __setitem__(self, i, rows):
        data = as_bytes(np.asarray(rows, self._dtype))
        self.digests[i] = zlib.crc32(data)
        self._checked.discard(i)
        # A handle for each block: threads write side by side, on every system.
        with (
            naming_full_disk(self._path),
            open(self._partial, "r+b", buffering=0) as handle,
        ):
            handle.seek(self._offset(i))
            while len(data):
                written = handle.write(data)
                if not written:
                    raise no_room(self._path)
                data = data[written:]

    def __getitem__(self, i):
        try:
            return self._read(self._path, i)
        except DamagedFile as damage:
            raise removed(damage) from damage

    def _offset(self, i):
        return len(self._head) + int(self._starts[i]) * self._row_bytes

    def _read(self, path, i):
        count = int(self._starts[i + 1] - self._starts[i]) * math.prod(self._tail)
        try:
            rows = np.fromfile(path, self._dtype, count, offset=self._offset(i))
        except FileNotFoundError as error:
            raise DamagedFile(path, "is missing") from error
        if len(rows) < count:
            raise DamagedFile(path, "is cut off")
        if i not in self._checked and zlib.crc32(as_bytes(rows)) != self.digests[i]:
            raise DamagedFile(path, f"is damaged: the digest of block {i} is another")
        self._checked.add(i)
        return rows.reshape(-1, *self._tail)

    def take_over(self, digests):
        """Use the file of an earlier run; DamagedFile if it is not what was written."""
        self._check(self._path, digests, len(self.digests))

    def take_over_part(self, digests, n):
        """The same of the first ``n`` blocks of a file that was not finished."""
        self._check(self._partial, digests, n)

    def _check(self, path, digests, n):
        try:
            with open(path, "rb") as file:
                head, size = file.read(len(self._head)), file.seek(0, os.SEEK_END)
        except FileNotFoundError as error:
            raise DamagedFile(path, "is missing") from error
        if size != self._size:
            raise DamagedFile(path, f"has {size} bytes instead of {self._size}")
        if head != self._head:
            raise DamagedFile(path, "is damaged in its first bytes")
        self.digests = list(digests)
        for i in range(n):
            self._read(path, i)

    def array(self):
        """Labels as an array; rows of several columns mapped from the file."""
        if self._tail:
            return np.load(self._path, mmap_mode="r")
        return np.concatenate([self[i] for i in range(len(self.digests))])
