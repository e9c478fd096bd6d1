"""Views written anew: in the order of the samples, or out of chunks too large."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import sync_file, sync_folder
from imvc._warn import warn_user
from imvc.io._npy import NpyWriter, RowsWriter, open_npy, open_rows_folder
from imvc.io._row_reader import RowReader
from imvc.scale._checked_files import DamagedFile, crc_of, load_state, save_state

_BUCKET_BYTES = 64 * 2**20
_MOST_BUCKETS = 100  # their files are open at the same time
_DONE = "complete"


class WorkFolder:
    """Where rewritten views are kept: a folder of the run, or a temporary one.

    Its name starts with a dot, so a run finds its folder as empty as it was. Copies in
    other processes refer to the same folder; a temporary one, made when it is first
    needed, goes with the object that made it. The key is of the data: what is made from
    other data has another folder.
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
        """Whether an earlier run wrote this whole, and nothing happened to it since."""
        path = self.file(name)
        if not self.lasting or not (path / _DONE).exists():
            return False
        try:
            for file, digest in load_state(path / _DONE).items():
                if _file_digest(path / file) != digest:
                    raise DamagedFile(path / file, "is damaged: its digest is another")
        except DamagedFile as damage:
            warn_user(f"{damage}; the view that it is of is written anew.")
            return False
        return True

    def done(self, name: str) -> None:
        """Note that a folder is complete, and what is in it."""
        if not self.lasting:
            return
        path = self.file(name)
        files = sorted(path.iterdir())
        for file in files:
            sync_file(file)
        sync_folder(path)
        save_state(path / _DONE, {file.name: _file_digest(file) for file in files})

    def __getstate__(self) -> dict:
        # Only the maker removes a temporary folder.
        return {"_parent": self._parent, "_temporary": None}


def _file_digest(file: Path) -> tuple[int, int]:
    """Size and CRC-32 of a file."""
    try:
        with open(file, "rb") as handle:
            size = handle.seek(0, 2)
            handle.seek(0)
            return size, crc_of(handle, size)
    except FileNotFoundError as error:
        raise DamagedFile(file, "is missing") from error


def digest_of(value: Any) -> str:
    """A short name for something in JSON's types."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class NumberedRowsWriter:
    """Rows of a view, and the sample of each, as files in a folder."""

    def __init__(self, folder: Path, dtype: np.dtype, width: int, sparse: bool) -> None:
        self.dtype = dtype
        self._rows = RowsWriter(folder, dtype, width, sparse)
        self._samples = NpyWriter(folder / "samples.npy", np.int64)

    def append(self, X: Any, samples: np.ndarray) -> None:
        """Write rows below those that are there."""
        self._rows.append(X)
        self._samples.append(samples)

    def readers(self, label: str) -> tuple[RowReader, RowReader]:
        """What was written: rows and samples."""
        return self._rows.reader(label), self._samples.reader(label)

    @property
    def digest(self) -> str:
        """Of all that was written."""
        return f"{self._rows.digest}-{self._samples.digest.hexdigest()}"


def rewrite(rows: RowReader, folder: WorkFolder, name: str) -> RowReader:
    """The same rows in files that can be read from anywhere."""
    if rows.traced and folder.is_done(name):
        rewritten = open_rows_folder(folder.file(name), rows.shape[1], rows.label)
    else:
        writer = RowsWriter(folder.fresh(name), rows.dtype, rows.shape[1], rows.sparse)
        for X in rows.stream():
            writer.append(X)
        rewritten = writer.reader(rows.label)
        folder.done(name)
    rewritten.feature_names = rows.feature_names
    return rewritten


def sort_rows(
    rows: RowReader, index: RowReader, n_samples: int, folder: WorkFolder, name: str
) -> tuple[RowReader, RowReader]:
    """Rewrite the rows of a view in the order of the samples.

    Rows are dealt into buckets of consecutive samples, then sorted bucket by bucket:
    every file is written and read from front to back.

    Returns
    -------
    The rows, and the sample of each.
    """
    samples: RowReader
    if folder.is_done(name):
        path = folder.file(name)
        sorted_rows = open_rows_folder(path, rows.shape[1], rows.label)
        samples = open_npy(str(path / "samples.npy"), rows.label, 1)
    else:
        writer = _writer_like(rows, folder.fresh(name))
        n_bytes = rows.shape[0] * rows.row_bytes
        count = int(min(_MOST_BUCKETS, max(1, n_bytes // _BUCKET_BYTES)))
        for bucket in _deal(rows, index, n_samples, count, folder, name):
            own_rows, own_samples = bucket.readers(rows.label)
            X = own_rows.read(0, own_rows.shape[0])
            numbers = own_samples.read(0, own_samples.shape[0])[:, 0]
            order = np.argsort(numbers)
            writer.append(X[order], numbers[order])
        sorted_rows, samples = writer.readers(rows.label)
        folder.fresh(f"{name}-buckets").rmdir()
        folder.done(name)
    sorted_rows.feature_names = rows.feature_names
    return sorted_rows, samples


def _deal(rows, index, n_samples, count, folder, name) -> list[NumberedRowsWriter]:
    """Rows and their samples in buckets, each of consecutive samples."""
    root, size = folder.fresh(f"{name}-buckets"), -(-n_samples // count)
    writers = []
    for k in range(count):
        (root / str(k)).mkdir()
        writers.append(_writer_like(rows, root / str(k)))
    at = 0
    for X in rows.stream():
        samples = index.read(at, at + X.shape[0])[:, 0]
        at += X.shape[0]
        bucket = samples // size
        for k in np.unique(bucket).tolist():
            own = np.flatnonzero(bucket == k)
            writers[k].append(X[own], samples[own])
    return writers


def _writer_like(rows: RowReader, folder: Path) -> NumberedRowsWriter:
    return NumberedRowsWriter(folder, rows.dtype, rows.shape[1], rows.sparse)
