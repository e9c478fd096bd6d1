"""Results with one row per sample as files, written block by block."""

import csv
import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc.scale._store_file import open_memmap

__all__ = ["check_format", "save_rows", "take_rows"]

_BLOCK_ROWS = 1 << 16
_TEXT_ROWS = 1 << 12  # numbers as text take much more memory
# Package and extra that each format needs.
_NEEDS = {
    ".parquet": ("pyarrow", "io"),
    ".csv": None,
    ".zarr": ("zarr", "dask"),
    ".npy": None,
}


def save_rows(
    path: str | os.PathLike[str],
    array: Any,
    ids: Any = None,
    *,
    columns: Sequence[str] | None = None,
    block_rows: int = _BLOCK_ROWS,
) -> Path:
    """Write labels or an embedding to a file, a block of samples at a time.

    Parameters
    ----------
    path : path-like
        Ends in ``.parquet``, ``.csv``, ``.zarr`` (a folder) or ``.npy``. It appears
        whole or not at all, and takes the place of what was there.
    array : array of shape (n_samples,) or (n_samples, n_columns)
        In memory, memory-mapped, zarr or Dask; only a block of it is ever in memory.
    ids : array-like of shape (n_samples,), or iterator over parts of it, optional
        Ids of the samples, for Parquet and CSV: the column ``id``, of integers or
        text. By default samples are numbered. For zarr and ``.npy``, which have no
        place for them, write them to a file of their own.
    columns : sequence of str, optional
        Names of the columns in Parquet and CSV; by default ``cluster`` for an array
        of one dimension, else ``y0``, ``y1``, ...
    block_rows : int, default=65536
        Samples written at once: rows of a chunk (zarr) or row group (Parquet).

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from imvc.scale import save_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_rows(f"{folder}/labels.csv", np.array([1, 0]), ["p1", "p2"])
    ...     path.read_text().split()
    ['id,cluster', 'p1,1', 'p2,0']
    """
    path = Path(path)
    suffix = check_format(path)
    rows = _Rows.of(array, ids, columns, block_rows, path.name)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name!r}: the folder {str(path.parent)!r} does not "
            f"exist; create it first."
        )
    _WRITERS[suffix](path, rows)
    return path


def take_rows(array: Any, numbers: np.ndarray) -> np.ndarray:
    """Some rows of an array by ascending numbers, with a block in memory at a time."""
    read, n = _reader(array), np.shape(array)[0]
    parts = []
    for start, stop in pairwise([*range(0, n, _BLOCK_ROWS), n]):
        own = numbers[slice(*np.searchsorted(numbers, [start, stop]))]
        if len(own):
            parts.append(read(start, stop)[own - start])
    return np.concatenate(parts)


def check_format(path: str | os.PathLike[str]) -> str:
    """The suffix of a path that rows can be written to, or an error."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _NEEDS:
        raise ValueError(
            f"path {path.name!r} must end in {', '.join(_NEEDS)}: the format to write."
        )
    needed = _NEEDS[suffix]
    if needed is not None:
        package, extra = needed
        try:
            import_module(package)
        except ImportError as error:
            raise ImportError(
                f"{path.name}: writing it needs {package}: pip install 'imvc[{extra}]'."
            ) from error
    return suffix


@dataclass(frozen=True)
class _Rows:
    """What is written: rows in blocks, their names and ids."""

    shape: tuple[int, ...]
    dtype: np.dtype
    read: Callable[[int, int], np.ndarray]
    columns: tuple[str, ...]
    ids: Iterable[Any] | None
    block_rows: int

    @classmethod
    def of(cls, array, ids, columns, block_rows, name):
        shape = tuple(int(size) for size in np.shape(array))
        dtype = np.dtype(getattr(array, "dtype", float))
        if len(shape) not in (1, 2) or dtype.kind not in "biuf":
            raise ValueError(
                f"array has shape {shape} and dtype {dtype}; pass numbers of shape "
                f"(n_samples,) or (n_samples, n_columns)."
            )
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows} must be at least 1.")
        if columns is None:
            wide = len(shape) == 2
            columns = [f"y{j}" for j in range(shape[1])] if wide else ["cluster"]
        width = 1 if len(shape) == 1 else shape[1]
        if len({"id", *columns}) != width + 1:
            raise ValueError(
                f"columns={list(columns)} must be {width} different names, and none "
                f"of them 'id'."
            )
        parts = _parts(ids, shape[0], name)
        return cls(shape, dtype, _reader(array), tuple(columns), parts, block_rows)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """``(first sample, block)`` in order."""
        for start, stop in pairwise(self._starts(rows)):
            yield start, self.read(start, stop)

    def with_ids(
        self, rows: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """``(ids, two-dimensional block)`` in order."""
        starts = self._starts(rows)
        width = len(self.columns)
        for ids, (start, stop) in zip(_cut(self.ids, starts), pairwise(starts)):
            yield ids, self.read(start, stop).reshape(stop - start, width)

    def _starts(self, rows: int | None) -> list[int]:
        step = min(self.block_rows, rows or self.block_rows)
        return [*range(0, self.shape[0], step), self.shape[0]]


def _reader(array: Any) -> Callable[[int, int], np.ndarray]:
    """A function that reads rows; of a memory map without mapping its pages."""
    shape = np.shape(array)
    if isinstance(array, np.ndarray):
        stored = open_memmap(array, ndim=len(shape))
        if stored is not None:
            return lambda start, stop: stored.read(start, stop).reshape(
                stop - start, *shape[1:]
            )
    return lambda start, stop: np.asarray(array[start:stop])


def _parts(ids: Any, n: int, name: str) -> Iterable[Any] | None:
    """Ids as parts that follow each other."""
    if ids is None:
        return None
    if Path(name).suffix.lower() not in (".parquet", ".csv"):
        raise ValueError(
            f"{name!r} has no place for ids; write them to a file of their own, or "
            f"choose .parquet or .csv."
        )
    if hasattr(ids, "__next__"):
        return ids
    if len(ids) != n:
        raise ValueError(f"ids has {len(ids)} entries for {n} samples; give one each.")
    return [np.asarray(ids)]


def _cut(parts: Iterable[Any] | None, starts: Sequence[int]) -> Iterator[np.ndarray]:
    """Ids of the samples between two starts; numbers where there are no ids."""
    if parts is None:
        yield from (np.arange(start, stop) for start, stop in pairwise(starts))
        return
    parts, held, count = iter(parts), [], 0
    for start, stop in pairwise(starts):
        while count < stop - start:
            part = next(parts, None)
            if part is None:
                raise ValueError(
                    f"ids end after {start + count} of {starts[-1]} samples; give one "
                    f"each."
                )
            if len(part):  # the type of an empty part says nothing
                held.append(np.asarray(part))
                count += len(part)
        ids = held[0] if len(held) == 1 else np.concatenate(held)
        yield ids[: stop - start]
        count -= stop - start
        held = [ids[stop - start :]] if count else []
    if count or any(len(part) for part in parts):
        raise ValueError(f"there are more ids than the {starts[-1]} samples.")


def _write_npy(path: Path, rows: _Rows) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(rows.dtype),
        "fortran_order": False,
        "shape": rows.shape,
    }
    with atomic_write(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in rows.blocks():
            file.write(np.ascontiguousarray(block).tobytes())


def _write_csv(path: Path, rows: _Rows) -> None:
    with atomic_write(path) as file:
        file.write(_lines([("id", *rows.columns)]))
        for ids, block in rows.with_ids(_TEXT_ROWS):
            # As text, a number has no more digits than its own type needs.
            file.write(
                _lines(
                    [name, *cells]
                    for name, cells in zip(ids.tolist(), block.astype(str).tolist())
                )
            )


def _lines(cells: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue().encode()


def _write_parquet(path: Path, rows: _Rows) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    blocks = rows.with_ids()
    first = next(blocks, (np.arange(0), np.empty((0, len(rows.columns)))))
    id_type = pa.int64() if first[0].dtype.kind in "iu" else pa.string()
    number = pa.from_numpy_dtype(rows.dtype)
    schema = pa.schema([("id", id_type), *((name, number) for name in rows.columns)])
    with atomic_write(path) as file, ParquetWriter(file, schema) as writer:
        for ids, block in chain([first], blocks):
            names = ids if id_type == pa.int64() else ids.astype(str).tolist()
            arrays = [pa.array(names, id_type)]
            arrays += [pa.array(column, number) for column in block.T]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _write_zarr(path: Path, rows: _Rows) -> None:
    import zarr

    mark = uuid.uuid4().hex
    partial = path.with_name(f".{path.name}.{mark}")
    try:
        stored = zarr.create_array(
            store=str(partial),
            shape=rows.shape,
            dtype=rows.dtype,
            chunks=(min(rows.block_rows, max(rows.shape[0], 1)), *rows.shape[1:]),
        )
        for start, block in rows.blocks():
            stored[start : start + len(block)] = block
        _replace_folder(partial, path, path.with_name(f".{path.name}.{mark}.old"))
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _replace_folder(new: Path, path: Path, aside: Path) -> None:
    """Put a folder into place, instead of one that may be there."""
    there = path.is_dir()
    if there:  # no single step replaces a folder that holds files
        os.rename(path, aside)
    os.rename(new, path)
    if there:
        shutil.rmtree(aside, ignore_errors=True)


_WRITERS: dict[str, Callable[[Path, _Rows], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".zarr": _write_zarr,
    ".npy": _write_npy,
}
