"""Results with one row per sample as files, written block by block."""

import csv
import io
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import (
    atomic_write,
    check_parent,
    check_target,
    naming_full_disk,
)
from imvc.io._errors import need
from imvc.io._npy import block_reader, write_header

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
    if ids is not None and suffix not in (".parquet", ".csv"):
        raise ValueError(
            f"{path.name!r} has no place for ids; write them to a file of their "
            f"own, or choose .parquet or .csv."
        )
    rows = _Rows(array, ids, columns, block_rows)
    if suffix == ".csv":
        _write_csv(path, rows.columns, rows.cells())
    elif suffix == ".parquet":
        _write_parquet(path, rows.batches())
    elif suffix == ".npy":
        _write_npy(path, rows)
    else:
        _write_zarr(path, rows)
    return path


def write_labels(
    path: str | os.PathLike[str],
    ids: Sequence[Any] | np.ndarray,
    columns: Mapping[str, Any],
) -> Path:
    """Write one row per sample: its id and what was found for it.

    Parameters
    ----------
    path : path-like
        Ends in .csv or .parquet. The file appears whole or not at all.
    ids : sequence of shape (n_samples,)
        The ids; the column is called ``id``.
    columns : mapping of str to array-like of shape (n_samples,)
        Labels, confidences, ... NaN and None become empty cells.

    Returns
    -------
    Path

    Examples
    --------
    ``write_labels("labels.csv", model.sample_ids_, {"label": model.labels_})``
    """
    path = check_labels_path(path)
    ids = np.asarray(ids, dtype=object).astype(str)
    arrays = {"id": ids, **{name: np.asarray(a) for name, a in columns.items()}}
    for name, array in arrays.items():
        if array.shape != ids.shape:
            raise ValueError(
                f"column {name!r} has shape {array.shape}, expected {ids.shape}: one "
                "value per id."
            )
    if len(arrays) != len(columns) + 1:
        raise ValueError("a column is called 'id', like the ids; rename it.")
    if path.suffix.lower() == ".csv":
        _write_csv(path, tuple(columns), [zip(*map(_cells, arrays.values()))])
    else:
        pa = need("pyarrow", str(path), purpose="writing it")
        typed = {
            name: pa.array(
                array.tolist() if array.dtype.kind in "OU" else array, from_pandas=True
            )
            for name, array in arrays.items()
        }
        _write_parquet(path, iter([pa.table(typed)]))
    return path


def check_labels_path(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that `write_labels` cannot write to: before there are labels."""
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"path {path.name!r} must end in .csv or .parquet.")
    if path.suffix.lower() == ".parquet":
        need("pyarrow", str(path), purpose="writing it")
    check_target(path)
    return path


def _cells(array: np.ndarray) -> list[Any]:
    """Python values, None where there is no number."""
    cells = array.astype(object)
    if array.dtype.kind == "f":
        cells[np.isnan(array)] = None
    elif array.dtype.kind == "b":
        cells = np.where(array, "true", "false")
    return cells.tolist()


def take_rows(array: Any, numbers: np.ndarray) -> np.ndarray:
    """Some rows of an array by ascending numbers, with a block in memory at a time."""
    read, n = block_reader(array), np.shape(array)[0]
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
        need(needed[0], path.name, needed[1], "writing it")
    return suffix


class _Rows:
    """What is written: rows in blocks, their names and ids."""

    def __init__(self, array: Any, ids: Any, columns: Any, block_rows: int) -> None:
        self.shape = tuple(int(size) for size in np.shape(array))
        self.dtype = np.dtype(getattr(array, "dtype", float))
        if len(self.shape) not in (1, 2) or self.dtype.kind not in "biuf":
            raise ValueError(
                f"array has shape {self.shape} and dtype {self.dtype}; pass numbers of "
                f"shape (n_samples,) or (n_samples, n_columns)."
            )
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows} must be at least 1.")
        self.block_rows = block_rows
        width = 1 if len(self.shape) == 1 else self.shape[1]
        if columns is None:
            wide = len(self.shape) == 2
            columns = [f"y{j}" for j in range(width)] if wide else ["cluster"]
        if len({"id", *columns}) != width + 1:
            raise ValueError(
                f"columns={list(columns)} must be {width} different names, and none "
                f"of them 'id'."
            )
        self.columns, self._width = tuple(columns), width
        self._read = block_reader(array)
        self._ids = ids  # parts that follow each other
        if ids is not None and not hasattr(ids, "__next__"):
            if len(ids) != self.shape[0]:
                raise ValueError(
                    f"ids has {len(ids)} entries for {self.shape[0]} samples; give one "
                    "each."
                )
            self._ids = [np.asarray(ids)]

    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """``(first sample, block)`` in order."""
        for start, stop in pairwise(self._starts(self.block_rows)):
            yield start, self._read(start, stop)

    def cells(self) -> Iterator[Iterable[list[Any]]]:
        """Lines of text tables, in pieces."""
        for ids, block in self._with_ids(min(self.block_rows, _TEXT_ROWS)):
            # As text, a number has no more digits than its own type needs.
            cells = block.astype(str).tolist()
            yield ([name, *own] for name, own in zip(ids.tolist(), cells))

    def batches(self) -> Iterator[Any]:
        """Arrow batches, one per block; at least one."""
        import pyarrow as pa

        blocks = self._with_ids(self.block_rows)
        first = next(blocks, (np.arange(0), np.empty((0, self._width))))
        id_type = pa.int64() if first[0].dtype.kind in "iu" else pa.string()
        number = pa.from_numpy_dtype(self.dtype)
        schema = pa.schema([("id", id_type), *((c, number) for c in self.columns)])
        for ids, block in chain([first], blocks):
            names = ids if id_type == pa.int64() else ids.astype(str).tolist()
            arrays = [pa.array(names, id_type)]
            arrays += [pa.array(column, number) for column in block.T]
            yield pa.record_batch(arrays, schema=schema)

    def _with_ids(self, step: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """``(ids, two-dimensional block)`` in order."""
        starts = self._starts(step)
        for ids, (start, stop) in zip(_cut(self._ids, starts), pairwise(starts)):
            yield ids, self._read(start, stop).reshape(stop - start, self._width)

    def _starts(self, step: int) -> list[int]:
        return [*range(0, self.shape[0], step), self.shape[0]]


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


def _write_csv(
    path: Path, columns: Sequence[str], pieces: Iterable[Iterable[Sequence[Any]]]
) -> None:
    with atomic_write(path) as file:
        for lines in chain([[("id", *columns)]], pieces):
            text = io.StringIO(newline="")
            csv.writer(text, lineterminator="\n").writerows(lines)
            file.write(text.getvalue().encode())


def _write_parquet(path: Path, batches: Iterator[Any]) -> None:
    from pyarrow.parquet import ParquetWriter

    first = next(batches)
    with atomic_write(path) as file, ParquetWriter(file, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write(batch)


def _write_npy(path: Path, rows: _Rows) -> None:
    with atomic_write(path) as file:
        write_header(file, rows.dtype, rows.shape)
        for _, block in rows.blocks():
            file.write(np.ascontiguousarray(block).tobytes())


def _write_zarr(path: Path, rows: _Rows) -> None:
    import zarr

    check_parent(path)  # zarr would make the folder
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    aside = partial.with_name(f"{partial.name}.old")
    try:
        with naming_full_disk(path):
            stored = zarr.create_array(
                store=str(partial),
                shape=rows.shape,
                dtype=rows.dtype,
                chunks=(min(rows.block_rows, max(rows.shape[0], 1)), *rows.shape[1:]),
            )
            for start, block in rows.blocks():
                stored[start : start + len(block)] = block
            if path.is_dir():  # no single step replaces a folder that holds files
                os.rename(path, aside)
            os.rename(partial, path)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
