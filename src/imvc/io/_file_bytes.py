"""From a path to bytes: checks, compression, and bounds on what is read."""

import bz2
import gzip
import lzma
import mmap
import os
from pathlib import Path
from typing import Any

from imvc.io._errors import input_error, need, reading

LINE_LIMIT = 64 * 2**20
_CHUNK = 4 * 2**20
# Beyond this size, data that shrank so much are repeats of one thing, not a table.
_EMPTY_ROWS = 2**24  # of a sparse matrix
_BOMB_SIZE, _BOMB_RATIO = 256 * 2**20, 500

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PACKED = (*_OPENERS, ".zst")

_MAGIC = (
    (b"PAR1", "a Parquet file", "rename it to .parquet"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "rename it to .h5ad, .h5mu or .mat"),
    (b"\x1f\x8b", "a gzip file", "add .gz to its name"),
    (b"BZh", "a bzip2 file", "add .bz2 to its name"),
    (b"\xfd7zXZ\x00", "an xz file", "add .xz to its name"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "add .zst to its name"),
    (b"\x93NUMPY", "a NumPy array", "rename it to .npy"),
    (b"ARROW1", "an Arrow (Feather) file", "rename it to .feather"),
    (b"FEA1", "a Feather file", "rename it to .feather"),
    (b"MATLAB 5.0", "a MATLAB file", "rename it to .mat"),
    (
        b"\xd0\xcf\x11\xe0",
        "an old Excel or Office file",
        "rename it to .xls, or save the table as CSV",
    ),
    (b"%PDF", "a PDF file", "export the table as CSV"),
    (b"\x89PNG", "a PNG picture", "give a table"),
    (b"\xff\xd8\xff", "a JPEG picture", "give a table"),
    (b"\x80\x04\x95", "a Python pickle, which is never loaded", "save it as .npz"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
)


def check_path(path: Path, source: str) -> None:
    """Refuse a path that is no readable file with something in it."""
    with reading(source, "a file"):
        if path.is_dir():
            raise input_error(
                source,
                "is a folder; give the files in it. (Folders of Parquet parts and zarr "
                "arrays are read by `imvc cluster --out-of-core`.)",
            )
        if not path.exists():
            raise input_error(source, "no such file; check the path.")
        if not path.is_file():
            raise input_error(source, "is not a regular file; save its content first.")
        if path.stat().st_size == 0:
            raise input_error(source, "the file is empty.")
        with open(path, "rb"):
            pass


def magic(path: Path) -> tuple[str, str] | None:
    """What a file is by its first bytes and what to do about it; None if unknown."""
    with open(path, "rb") as file:
        head = file.read(16)
    for start, kind, remedy in _MAGIC:
        if head.startswith(start):
            return kind, remedy
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    return None


def _kind_of_zip(path: Path) -> tuple[str, str]:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return "a damaged zip archive", "make it again"
    if any(name.startswith("xl/") for name in names):
        return "an Excel workbook", "rename it to .xlsx"
    if any(name.endswith(".npy") for name in names):
        return "a NumPy archive", "rename it to .npz"
    return "a zip archive", "unpack it and give the files in it"


def memory_limit() -> int:
    """Bytes of memory this machine has; a bound for what a file may claim to hold."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**40


def check_size(source: str, n_bytes: float) -> None:
    """Refuse a file that says it holds more than the memory of the machine."""
    if n_bytes > memory_limit():
        raise input_error(
            source,
            f"says that it holds {n_bytes / 2**30:.0f} GiB of numbers, more than the "
            f"memory of this machine ({memory_limit() / 2**30:.0f} GiB); take fewer "
            "rows or columns, or make it again if that is wrong.",
        )


def check_sparse(source: str, shape: tuple[int, ...], n_entries: int) -> None:
    """Refuse a sparse matrix of which hardly any row or column has an entry.

    A file of a few bytes can tell of billions of them, and each takes memory.
    """
    if max(shape) > _EMPTY_ROWS + 1000 * n_entries:
        raise input_error(
            source,
            f"says that it has {shape[0]} rows and {shape[1]} columns, but holds only "
            f"{n_entries} entries; leave out what is empty, or make it again.",
        )


def load_bytes(path: Path, source: str) -> Any:
    """The bytes of a text file, unpacked where its name says so.

    Returns
    -------
    mmap.mmap or bytes
        A plain file is mapped, not read. No line exceeds `LINE_LIMIT`.
    """
    suffix = path.suffix.lower()
    if suffix not in PACKED:
        found = magic(path)
        if found:
            kind, remedy = found
            raise input_error(source, f"is {kind}, not text; {remedy}.")
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        _check_lines(data, source)
        return data
    with reading(source, f"a {suffix} file"):
        if suffix == ".zst":
            pyarrow = need("pyarrow", source)
            packed = pyarrow.input_stream(str(path), compression="zstd")
        else:
            packed = _OPENERS[suffix](path, "rb")
        with packed as stream:
            unpacked = _unpack(stream, source, path.stat().st_size)
    if not unpacked:
        raise input_error(source, "the file is empty once unpacked.")
    return unpacked


def _unpack(stream: Any, source: str, packed_size: int) -> bytes:
    """Read a packed stream to its end, or to where it is no table any more."""
    parts, total, run = [], 0, 0
    while chunk := stream.read(_CHUNK):
        total += len(chunk)
        last = _last_newline(chunk, 0, len(chunk))
        run = run + len(chunk) if last < 0 else len(chunk) - last - 1
        if run > LINE_LIMIT:
            raise _endless(source, None)
        check_unpacked(source, total, packed_size, "unpack it yourself")
        parts.append(chunk)
    return b"".join(parts)


def check_unpacked(source: str, total: int, packed_size: int, remedy: str) -> None:
    """Refuse what grows beyond all measure, or memory, when it is unpacked."""
    if total > _BOMB_SIZE and total > _BOMB_RATIO * packed_size:
        raise input_error(
            source,
            f"unpacks to more than {_BOMB_RATIO} times its size; if that is right, "
            f"{remedy}.",
        )
    check_size(source, total)


def _check_lines(data: mmap.mmap, source: str) -> None:
    """Refuse endless lines; reads little, since a normal chunk ends with a line."""
    run = 0
    for start in range(0, len(data), _CHUNK):
        stop = min(start + _CHUNK, len(data))
        last = _last_newline(data, start, stop)
        run = run + stop - start if last < 0 else stop - last - 1
        if run > LINE_LIMIT:
            raise _endless(source, line_at(data, stop - run))


def _last_newline(data: Any, start: int, stop: int) -> int:
    last = data.rfind(b"\n", start, stop)
    return last if last >= 0 else data.rfind(b"\r", start, stop)


def _endless(source: str, line: int | None) -> Exception:
    return input_error(
        source,
        f"a line is longer than {LINE_LIMIT // 2**20} MiB; this is no table of text.",
        line,
    )


def line_at(data: Any, position: int) -> int:
    """Number of the line that holds a byte, from 1; counted block by block."""
    starts = range(0, position, _CHUNK)
    return 1 + sum(data[i : min(i + _CHUNK, position)].count(b"\n") for i in starts)
