"""Whether a MATLAB 5 file is sound enough to be handed to SciPy.

SciPy's reader trusts the types and sizes in the file. Of 6000 damaged copies each of
small files, SciPy 1.17 ended the process on 51 (dense matrices), 162 (cells, structs)
and 192 (sparse matrices), hung on one, and took gigabytes for a few. So the structure
is walked first: every element within the one that holds it, every array as long as its
dimensions say.
"""

import io
import math
import struct
import zlib
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

import numpy as np

_NUMBER_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_INT8, _INT32, _UINT32, _MATRIX, _PACKED = 1, 5, 6, 14, 15
_TEXT = (1, 2, 4, 16, 17, 18)
_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5
_NUMERIC_CLASSES = range(6, 16)
_DEPTH = 20
_PIECE = 2**16  # of packed bytes, unpacked at once

_Bytes = mmap | memoryview


class _Element(NamedTuple):
    kind: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


class Damaged(ValueError):
    """The structure is not that of a MATLAB 5 file."""


def major_version(head: bytes) -> int:
    """1 for version 5 (and 6, 7), 2 for 7.3, else 0, by the first 128 bytes."""
    if len(head) < 128 or 0 in head[:4]:
        return 0
    version = head[125] if head[126:128] == b"IM" else head[124]
    return version if version in (1, 2) else 0


def sound_variables(data: mmap, memory: int) -> Iterator[io.BytesIO]:
    """The variables of a file that can be read, each as a small file of its own.

    These are numbers, text, cells and structs. Packed variables may unpack to so many
    bytes of memory, and are handed over unpacked, so that it is done only once.
    """
    order = "<" if data[126:128] == b"IM" else ">"
    if data[126:128] not in (b"IM", b"MI"):
        raise Damaged("no mark of byte order")
    for element in _elements(data, 128, len(data), order):
        file = io.BytesIO()
        file.write(data[:128])
        if element.kind == _PACKED:
            for piece in _unpack(data, element, memory):
                file.write(piece)
        else:
            file.write(data[element.start - 8 : element.stop])
        with file.getbuffer() as content:
            (matrix,) = _elements(content, 128, len(content), order)
            if matrix.kind != _MATRIX:
                raise Damaged(f"an element of type {matrix.kind}")
            known = _check_matrix(content, matrix.start, matrix.stop, order, 0)
        if known:
            file.seek(0)
            yield file


def _unpack(data: mmap, element: _Element, memory: int) -> Iterator[bytes]:
    worker = zlib.decompressobj()
    for start in range(element.start, element.stop, _PIECE):
        packed = data[start : min(start + _PIECE, element.stop)]
        unpacked = worker.decompress(packed, memory)
        memory -= len(unpacked)
        yield unpacked
        if worker.eof:
            return
        if memory <= 0:
            break
    raise Damaged("a packed variable that does not end")


def _elements(data: _Bytes, start: int, stop: int, order: str) -> Iterator[_Element]:
    while start < stop:
        if start + 8 > stop:
            raise Damaged("an element without its head")
        word, size = struct.unpack_from(f"{order}II", data, start)
        if word >> 16:  # up to four bytes, kept in the head itself
            element = _Element(word & 0xFFFF, start + 4, start + 4 + (word >> 16))
            if element.size > 4:
                raise Damaged("a small element that is not small")
            start += 8
        else:
            element = _Element(word, start + 8, start + 8 + size)
            start = element.stop
            if element.kind != _PACKED:
                start += -size % 8
        if element.stop > stop:
            raise Damaged("an element longer than what holds it")
        yield element


def _check_matrix(data: _Bytes, start: int, stop: int, order: str, depth: int) -> bool:
    """Whether a variable, which must be sound, is of a kind that is understood."""
    if depth > _DEPTH:
        raise Damaged("cells in cells without end")
    if start == stop:
        return True
    parts = list(_elements(data, start, stop, order))
    if len(parts) < 3 or (parts[0].kind, parts[0].size) != (_UINT32, 8):
        raise Damaged("a variable without flags")
    (flags,) = struct.unpack_from(f"{order}I", data, parts[0].start)
    kind, is_complex = flags & 0xFF, bool(flags & 0x0800)
    if kind not in (_CELL, _STRUCT, _CHAR, _SPARSE, *_NUMERIC_CLASSES):
        return False
    n, shape = _dimensions(data, parts[1], order)
    if parts[2].kind != _INT8:
        raise Damaged("a variable without a name")
    rest = parts[3:]
    if kind in _NUMERIC_CLASSES:
        _check_arrays(rest, n, 1 + is_complex)
    elif kind == _SPARSE:
        _check_sparse(data, rest, shape, is_complex, order)
    elif kind == _CHAR:
        if len(rest) != 1 or rest[0].kind not in _TEXT:
            raise Damaged("a text without letters")
    else:
        if kind == _STRUCT:
            rest, n = _fields(data, rest, n, order)
        if len(rest) != n or any(part.kind != _MATRIX for part in rest):
            raise Damaged("cells that do not fit their size")
        # All of them are looked at, also after one that is not understood.
        return all([_check_matrix(data, *p[1:], order, depth + 1) for p in rest])
    return True


def _dimensions(data: _Bytes, part: _Element, order: str) -> tuple[int, list[int]]:
    if part.kind != _INT32 or part.size % 4 or not 8 <= part.size <= 128:
        raise Damaged("a variable without dimensions")
    shape = struct.unpack_from(f"{order}{part.size // 4}i", data, part.start)
    if min(shape) < 0:
        raise Damaged("negative dimensions")
    return math.prod(shape), list(shape)


def _check_arrays(parts: list[_Element], n: int, n_parts: int) -> None:
    if len(parts) != n_parts:
        raise Damaged("an array without its numbers")
    for part in parts:
        width = _NUMBER_BYTES.get(part.kind)
        if width is None or part.size != n * width:
            raise Damaged("an array that is not as long as its dimensions say")


def _check_sparse(
    data: _Bytes, parts: list[_Element], shape: list[int], is_complex: bool, order: str
) -> None:
    if len(parts) != 3 + is_complex or len(shape) != 2:
        raise Damaged("a sparse matrix without its parts")
    rows, starts, *values = parts
    if rows.kind != _INT32 or starts.kind != _INT32:
        raise Damaged("a sparse matrix with odd indices")
    if rows.size % 4 or starts.size != 4 * (shape[1] + 1):
        raise Damaged("a sparse matrix with too few indices")
    bounds = np.frombuffer(data, f"{order}i4", shape[1] + 1, starts.start)
    n = int(bounds[-1])
    if bounds[0] != 0 or (np.diff(bounds) < 0).any() or n > rows.size // 4:
        raise Damaged("a sparse matrix whose columns do not follow each other")
    found = np.frombuffer(data, f"{order}i4", n, rows.start)
    if n and not 0 <= found.min() <= found.max() < shape[0]:
        raise Damaged("a sparse matrix with rows out of bounds")
    for part in values:
        width = _NUMBER_BYTES.get(part.kind)
        if width is None or part.size < n * width:
            raise Damaged("a sparse matrix with too few values")


def _fields(
    data: _Bytes, parts: list[_Element], n: int, order: str
) -> tuple[list[_Element], int]:
    """Elements of a struct array, and how many there must be."""
    if len(parts) < 2 or (parts[0].kind, parts[0].size) != (_INT32, 4):
        raise Damaged("a struct without fields")
    (width,) = struct.unpack_from(f"{order}i", data, parts[0].start)
    if parts[1].kind != _INT8 or width < 1 or parts[1].size % width:
        raise Damaged("a struct without names of fields")
    return parts[2:], n * (parts[1].size // width)
