"""Results on disk: whole or not at all, and one writer at a time."""

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from imvc._files import is_full, naming_full_disk, no_room
from imvc.io._errors import InputError, input_error

try:
    import fcntl
except ImportError:  # Windows: a lock is then a file that exists
    fcntl = None  # type: ignore[assignment]

_LOCK = ".imvc-lock"
_STAGING = ".imvc-staging-"


class OutputFolder:
    """A folder that gets all files of a result at once, or none of them.

    Files are written to a hidden staging folder inside the target (so that they are on
    the same file system) and moved into place, each by one atomic step, when the
    ``with`` block ends without an exception. An error or Ctrl-C leaves what was there
    before. While the block runs, the folder is locked against other processes.

    Parameters
    ----------
    path : path-like
        The folder; made if it is not there.
    overwrite : bool, default False
        Replace results that are there already. Files of other names are never touched.
    names : sequence of str, default ()
        Files that will be written, if known: that none of them exists is then checked
        on entry, before any work is done, and with `overwrite` those that were not
        written this time are removed, so that no result mixes two runs.

    Examples
    --------
    ``with OutputFolder("out") as folder: folder.write("labels.csv", b"id,label\\n")``
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        self.path = Path(path)
        self.overwrite = overwrite
        self.names = tuple(_plain_name(name) for name in names)
        self._source = str(path)
        self._written: list[str] = []
        self._made: list[Path] = []
        self._staging: Path | None = None
        self._lock: int | None = None

    def __enter__(self) -> "OutputFolder":
        try:
            self._make_folder()
            self._lock = take_lock(self.path / _LOCK, self._source)
            for name in self.names:
                self._check_free(name)
            # What a killed process left; no other can be writing, since we hold the
            # lock.
            for left in self.path.glob(f"{_STAGING}*"):
                shutil.rmtree(left, ignore_errors=True)
            self._staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self.path))
        except BaseException as error:
            self._clean_up()
            if isinstance(error, OSError):
                raise self._unwritable(error) from error
            raise
        return self

    def stage(self, name: str) -> Path:
        """Path to write a file to now; it appears in the folder at the end."""
        if self._staging is None:
            raise RuntimeError("OutputFolder is used outside of its with block.")
        name = _plain_name(name)
        self._check_free(name)
        if name not in self._written:
            self._written.append(name)
        return self._staging / name

    def write(self, name: str, content: bytes | str | Callable[[Path], Any]) -> Path:
        """Add a file to the result.

        Parameters
        ----------
        name : str
            Its name, without any folder.
        content : bytes, str or callable
            What is in it, text as UTF-8; or a function that writes the path it gets.

        Returns
        -------
        Path
            Where the file will be once the block has ended.
        """
        path = self.stage(name)
        if callable(content):
            content(path)
        else:
            data = content.encode() if isinstance(content, str) else content
            path.write_bytes(data)
        if not path.is_file():
            self._written.remove(name)
            raise RuntimeError(f"nothing was written for {name!r}.")
        return self.path / name

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, OSError) and is_full(error):
                raise no_room(self._place(error), error.errno) from error
            if kind is None:
                self._commit()
        except OSError as problem:
            if is_full(problem):
                raise
            raise self._unwritable(problem) from problem
        finally:
            self._clean_up()

    def _unwritable(self, error: OSError) -> Exception:
        if is_full(error):
            return no_room(self.path, error.errno)
        return input_error(
            self._source,
            f"cannot be written ({error.strerror or error}); choose another folder.",
        )

    def _place(self, error: OSError) -> Path:
        """The file that an error is about; one of ours where it would have appeared."""
        if error.filename is None:
            return self.path / self._written[-1] if self._written else self.path
        path = Path(error.filename)
        if self._staging is not None and self._staging in path.parents:
            return self.path / path.relative_to(self._staging).parts[0]
        return path  # elsewhere, as the folder of unfinished work may be

    def _commit(self) -> None:
        assert self._staging is not None
        for name in self._written:
            with (
                naming_full_disk(self.path / name),
                open(self._staging / name, "rb") as file,
            ):
                os.fsync(file.fileno())
        with _uninterrupted():
            for name in self._written:
                os.replace(self._staging / name, self.path / name)
            for name in set(self.names) - set(self._written):
                (self.path / name).unlink(missing_ok=True)
            self._made = []

    def _make_folder(self) -> None:
        """Make the folder, and remember what was made in case it is not needed."""
        if self.path.exists() and not self.path.is_dir():
            raise input_error(self._source, "is a file; give a folder for the results.")
        missing = [p for p in (self.path, *self.path.parents) if not p.exists()]
        if missing and not missing[-1].parent.is_dir():
            raise input_error(
                self._source,
                f"cannot be written, since {missing[-1].parent} is a file; give a "
                "folder for the results.",
            )
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self._made.append(folder)

    def _check_free(self, name: str) -> None:
        target = self.path / name
        if target.is_dir():
            raise input_error(self._source, f"has a folder {name!r} in the way.")
        if not self.overwrite and os.path.lexists(target):
            raise input_error(
                self._source,
                f"already holds results ({name}); choose another folder or pass "
                "--overwrite (overwrite=True).",
            )

    def _clean_up(self) -> None:
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None
        if self._lock is not None:
            release_lock(self._lock, self.path / _LOCK)
            self._lock = None
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # somebody put something into it
                folder.rmdir()
        self._made = []


def _plain_name(name: str) -> str:
    """Refuse names that could lead out of the folder or hide in it."""
    odd = not isinstance(name, str) or not name or name.startswith(".")
    if odd or any(c in name for c in "/\\:\0") or name != os.path.basename(name):
        raise ValueError(f"{name!r} is no plain file name for a result.")
    return name


def take_lock(path: Path, source: str) -> int:
    """Open and lock a file, or tell which process holds it."""
    while True:
        if fcntl is None:
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
        else:
            flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        try:
            lock = os.open(path, flags, 0o666)
        except FileExistsError:
            raise _busy(path, source) from None
        if fcntl is None:
            os.write(lock, str(os.getpid()).encode())
            return lock
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise _busy(path, source) from None
        if _is_same_file(lock, path):
            try:
                os.ftruncate(lock, 0)
                os.write(lock, str(os.getpid()).encode())
            except OSError:
                release_lock(lock, path)
                raise
            return lock
        # Its holder removed the file between our opening and our locking it.
        os.close(lock)


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _busy(path: Path, source: str) -> InputError:
    try:
        holder = path.read_text()[:20].strip()
    except (OSError, ValueError):
        holder = ""
    who = f"process {holder}" if holder.isdigit() else "another process"
    message = f"is being written by {who}; choose another folder"
    if fcntl is None:
        message += f", or remove {path} if no such process is running"
    return input_error(source, f"{message}.")


def release_lock(lock: int, path: Path) -> None:
    if fcntl is None:  # an open file cannot be removed there
        os.close(lock)
        path.unlink(missing_ok=True)
    else:  # removed while still locked, so nobody can lock the removed one
        path.unlink(missing_ok=True)
        os.close(lock)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the few moves that put a result into place."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
