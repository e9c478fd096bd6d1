"""Arrays and states in files that end with a digest, by which damage is noticed.

A file is a row of ``.npy`` arrays and 16 bytes: a mark, the CRC-32 of its name and of
all that stands before, and how long that is. Readers of ``.npy`` see the first array.
"""

import json
import os
import struct
import zlib
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from imvc._files import atomic_write
from imvc.io._npy import write_header
from imvc.kernels._patterns import PatternGrams

_END = struct.Struct("<4sIQ")
_MARK = b"imvc"
_PIECE = 1 << 20  # bytes looked at together


class DamagedFile(ValueError):
    """A file of a run is not what was written.

    Parameters
    ----------
    path : path-like
    why : str
        What is the matter, and what was done about it.
    """

    def __init__(self, path, why):
        super().__init__(path, why)
        self.path, self.why = Path(path), why

    def __str__(self):
        return f"{self.path} {self.why}"


def removed(damage):
    """Remove a damaged file that a run has come to need; the error that says so."""
    damage.path.unlink(missing_ok=True)
    return DamagedFile(
        damage.path,
        f"{damage.why}; it was removed, and the same command, or the same fit with "
        f"the same work_dir, makes it again.",
    )


def write_arrays(path, arrays, durable=True):
    """Write arrays into a file, which takes its name when it is whole."""
    with atomic_write(path, durable=durable) as file:
        checked = _Summing(file, _name_crc(path))
        for array in arrays:
            array = np.asarray(array)
            write_header(checked, array.dtype, array.shape)
            checked.write(as_bytes(array))
        file.write(_END.pack(_MARK, checked.digest, checked.size))


def read_arrays(path, check=True):
    """What `write_arrays` wrote; DamagedFile if a single bit is another.

    Without ``check`` only as far as the end of the file tells.
    """
    arrays = []
    with _checked(path, check) as (file, size):
        try:
            while file.tell() < size:
                arrays.append(np.lib.format.read_array(file, allow_pickle=False))
        except (ValueError, EOFError) as error:
            raise DamagedFile(path, f"holds something else ({error})") from error
    return arrays


def find_damage(path):
    """What is wrong with a file of `write_arrays`, as a DamagedFile; None: nothing."""
    try:
        with _checked(path):
            return None
    except DamagedFile as damage:
        return damage


@contextmanager
def _checked(path, check=True):
    """Open a file of `write_arrays` that is whole; yields it, and where arrays end."""
    path = Path(path)
    try:
        file = open(path, "rb")
    except FileNotFoundError as error:
        raise DamagedFile(path, "is missing") from error
    with file:
        size = file.seek(0, os.SEEK_END) - _END.size
        if size < 0:
            raise DamagedFile(path, "is empty" if size == -_END.size else "is cut off")
        file.seek(size)
        mark, digest, length = _END.unpack(file.read(_END.size))
        if (mark, length) != (_MARK, size):
            raise DamagedFile(path, "is cut off or damaged at its end")
        file.seek(0)
        if check and crc_of(file, size, _name_crc(path)) != digest:
            raise DamagedFile(path, "is damaged: its digest is another")
        file.seek(0)
        yield file, size


def crc_of(file, size, start=0):
    """CRC-32 of the next bytes of a file, after those that gave ``start``."""
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        start, size = zlib.crc32(piece, start), size - len(piece)
    return start


def _name_crc(path):
    """Where the digest of a file starts: a file under another name is another."""
    return zlib.crc32(path.name.encode())


class _Summing:
    """A file that is written to, and the digest of what was."""

    def __init__(self, file, start):
        self._file, self.digest, self.size = file, start, 0

    def write(self, data):
        self.digest = zlib.crc32(data, self.digest)
        self.size += len(data)
        return self._file.write(data)


def as_bytes(array):
    """The numbers of an array, in C order, as something to be written."""
    array = np.ascontiguousarray(array)
    return array.reshape(-1).view(np.uint8).data if array.nbytes else b""


def save_state(path, value):
    """Write nested tuples, lists, dicts, numbers, text and arrays, atomically."""
    arrays: list = []
    tree = json.dumps(_plain(value, arrays)).encode()
    write_arrays(path, [np.frombuffer(tree, np.uint8), *arrays])


def load_state(path):
    """The inverse of `save_state`; DamagedFile if it is not what was saved."""
    arrays = read_arrays(path)
    try:
        tree, *arrays = arrays
        return _revive(json.loads(tree.tobytes()), arrays)
    # A right digest does not say that the content is ours.
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise DamagedFile(path, f"holds something else ({error})") from error


def _plain(value, arrays):
    if isinstance(value, PatternGrams):
        return {"grams": _plain(value.to_tree(), arrays)}
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_plain(item, arrays) for item in value]}
    if isinstance(value, Counter):
        return {"counter": _plain(dict(value), arrays)}
    if isinstance(value, dict):
        pairs = [[_plain(k, arrays), _plain(v, arrays)] for k, v in value.items()]
        return {"dict": pairs}
    return value.item() if isinstance(value, np.generic) else value


def _revive(tree, arrays):
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return arrays[content]
    if kind == "grams":
        return PatternGrams.from_tree(_revive(content, arrays))
    if kind == "counter":
        return Counter(_revive(content, arrays))
    if kind == "dict":
        return {_revive(k, arrays): _revive(v, arrays) for k, v in content}
    items = [_revive(item, arrays) for item in content]
    return tuple(items) if kind == "tuple" else items
