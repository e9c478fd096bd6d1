"""A folder that keeps what does not fit into memory, and lets a killed run go on."""

import json
import math
import os
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from imvc._files import atomic_write, naming_full_disk
from imvc.io._file_stamps import changed_files
from imvc.io._npy import write_header
from imvc.kernels._kmeans import add_results
from imvc.kernels._patterns import PatternGrams
from imvc.scale._source import GraphRows

_PLAN, LOCK = "plan.json", ".lock"
_SAVE_SECONDS = 10  # of work that a killed pass may lose


class RunFolder:
    """Results of stages and blocks as files of one folder.

    Parameters
    ----------
    folder : path-like or TemporaryDirectory
        Empty, new, or the folder of the same run that was interrupted. A temporary
        one goes when nothing refers to it any more.
    plan : dict
        What the run is, in JSON's types. A folder with another plan is refused.
    """

    def __init__(self, folder, plan):
        self.folder = folder
        temporary = isinstance(folder, tempfile.TemporaryDirectory)
        self.path = Path(folder.name if temporary else folder)
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self.path)
        _claim(self.path, plan)

    def resume(self, name, compute):
        """What was saved under ``name``, or ``compute()``, which is then saved."""
        file = self.path / f"{name}.state"
        if file.exists():
            return load_state(file)
        result = compute()
        save_state(file, result)
        return result

    def blocks(self, name):
        """GraphRows or masks of every block, read and written by its number."""
        return BlockFiles(self.path / name)

    def rows(self, name, starts, width, dtype):
        """One row per sample, read and written by blocks."""
        return RowFile(self.path / f"{name}.npy", starts, width, dtype)

    @contextmanager
    def writing(self, name, files):
        """A pass that writes RowFiles: yields how far an interrupted one had come.

        The files take their names whole, at the end.
        """
        reached = Reached(self.path / f"{name}.reached", files)
        for file in files:
            file.open(again=reached.n > 0)
        try:
            yield reached
            for file in files:
                file.finish()
        finally:
            for file in files:
                file.close()
        reached.forget()

    def __getstate__(self):
        return {"path": self.path, "folder": None, "_lock": None}

    def release(self):
        """Let other processes have the folder; what is in it can still be read."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _claim(folder, plan):
    """Write the plan, or compare it with the one that is there."""
    plan, file = json.loads(json.dumps(plan)), folder / _PLAN
    if file.exists():
        there = json.loads(file.read_text("utf-8"))
        differ = sorted(k for k in {*plan, *there} if plan.get(k) != there.get(k))
        if differ:
            _name_changed_files(folder, differ, there, plan)
            raise ValueError(
                f"work_dir={str(folder)!r} holds a run that differs in "
                f"{', '.join(differ)}; give an empty folder, or the same data and "
                f"parameters to go on with that run."
            )
        return
    others = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
    if others:
        raise ValueError(
            f"work_dir={str(folder)!r} is not empty ({others[0]!r} is in it) and no "
            f"run of imvc; give a new or empty folder."
        )
    with atomic_write(file, "w") as handle:
        json.dump(plan, handle, indent=1)


def _name_changed_files(folder, differ, there, plan):
    """Say which files changed since the run was begun, if nothing else differs."""
    changed = changed_files(there.get("data"), plan.get("data"))
    if changed and set(differ) <= {"data", "blocks"}:
        raise ValueError(
            f"work_dir={str(folder)!r} was begun with another {', '.join(changed)}; "
            f"give an empty folder, or put the old file back."
        )


def _lock(folder):
    """A lock that dies with the process, where the system has such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    file = open(folder / LOCK, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise ValueError(
            f"work_dir={str(folder)!r} is in use by another run; wait for it or give "
            f"another folder."
        ) from error
    return file


class BlockFiles:
    """GraphRows or masks of every block, a file each."""

    def __init__(self, folder):
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def _file(self, i):
        return self._folder / f"{i:06d}.block"

    def __contains__(self, i):
        return self._file(i).exists()

    def __setitem__(self, i, item):
        file = self._file(i)
        partial = file.with_suffix(".partial")
        arrays = item.to_arrays() if isinstance(item, GraphRows) else [item]
        # No fsync: a killed process loses nothing, and these can be made again.
        try:
            with naming_full_disk(file), open(partial, "wb") as handle:
                for array in arrays:
                    _write_array(handle, array)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        os.replace(partial, file)

    def __getitem__(self, i):
        arrays = []
        try:
            with open(self._file(i), "rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                while file.tell() < size:
                    arrays.append(np.lib.format.read_array(file, allow_pickle=False))
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{self._file(i)} is damaged; delete the folder and start again."
            ) from error
        return arrays[0] if len(arrays) == 1 else GraphRows.from_arrays(arrays)


class Reached:
    """The first ``n`` blocks of a pass are done, and what they add up to.

    It is saved every few seconds, after the rows of these blocks.
    """

    def __init__(self, file, rows):
        self._file, self._rows = file, rows
        self.n, self.total = 0, None
        if file.exists() and all(own.begun for own in rows):
            self.n, self.total = load_state(file)
        self._saved = time.monotonic()

    def add(self, summary):
        """One more block is done."""
        self.total = summary if self.n == 0 else add_results(self.total, summary)
        self.n += 1
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            for rows in self._rows:
                rows.sync()
            save_state(self._file, (self.n, self.total))
            self._saved = time.monotonic()

    def forget(self):
        self._file.unlink(missing_ok=True)


class RowFile:
    """One row per sample in a ``.npy`` file, read and written by blocks.

    Plain reads, no memory map: mapped pages would count as memory of this process.
    """

    def __init__(self, path, starts, width, dtype):
        self._path, self._starts, self._dtype = path, starts, np.dtype(dtype)
        self._tail = () if width is None else (int(width),)
        self._row_bytes = self._dtype.itemsize * math.prod(self._tail)
        self._size = int(starts[-1]) * self._row_bytes
        self._offset = 0
        self._partial = path.with_suffix(".partial")

    @property
    def begun(self):
        """Whether an interrupted run wrote some of the rows."""
        return self._partial.exists()

    def open(self, again=False):
        """Let blocks be written; ``again`` keeps what is there of them."""
        shape = (int(self._starts[-1]), *self._tail)
        with naming_full_disk(self._path):
            self._handle = open(self._partial, "r+b" if again else "wb")
            write_header(self._handle, self._dtype, shape)
            self._offset = self._handle.tell()
            self._handle.truncate(self._offset + self._size)
            self._handle.flush()

    def sync(self):
        """See to it that what was written outlives the machine."""
        with naming_full_disk(self._path):
            os.fsync(self._handle.fileno())

    def finish(self):
        """Give the file its name."""
        self.sync()
        self.close()
        os.replace(self._partial, self._path)

    def close(self):
        self._handle.close()

    def __setitem__(self, i, rows):
        rows = np.ascontiguousarray(rows, self._dtype)
        # A handle for each block: threads write side by side, on every system.
        with (
            naming_full_disk(self._path),
            open(self._partial, "r+b", buffering=0) as handle,
        ):
            handle.seek(self._offset + int(self._starts[i]) * self._row_bytes)
            data = memoryview(rows.reshape(-1)).cast("B") if rows.size else b""
            while len(data):
                data = data[handle.write(data) :]

    def __getitem__(self, i):
        start, stop = int(self._starts[i]), int(self._starts[i + 1])
        if not self._offset:  # an earlier run wrote the file
            self._offset = self._path.stat().st_size - self._size
        rows = np.fromfile(
            self._path,
            self._dtype,
            (stop - start) * math.prod(self._tail),
            offset=self._offset + start * self._row_bytes,
        )
        return rows.reshape(-1, *self._tail)

    def array(self):
        """Labels as an array; rows of several columns mapped from the file."""
        return np.load(self._path, mmap_mode="r" if self._tail else None)


def save_state(path, value):
    """Write nested tuples, lists, dicts, numbers, text and arrays, atomically."""
    arrays: list = []
    tree = _plain(value, arrays)
    with (
        atomic_write(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr("tree.json", json.dumps(tree))
        for i, array in enumerate(arrays):
            with archive.open(f"{i}.npy", "w", force_zip64=True) as member:
                _write_array(member, array)


def load_state(path):
    """The inverse of `save_state`."""
    with np.load(path, allow_pickle=False) as archive:
        return _revive(json.loads(archive["tree.json"]), archive)


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


def _revive(tree, archive):
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind == "array":
        return archive[f"{content}.npy"]
    if kind == "grams":
        return PatternGrams.from_tree(_revive(content, archive))
    if kind == "counter":
        return Counter(_revive(content, archive))
    if kind == "dict":
        return {_revive(k, archive): _revive(v, archive) for k, v in content}
    items = [_revive(item, archive) for item in content]
    return tuple(items) if kind == "tuple" else items


def _write_array(file, array):
    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
