"""Files that are either the old ones or the whole new ones, never halves."""

import errno
import os
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "atomic_write",
    "check_folder",
    "check_parent",
    "check_target",
    "is_full",
    "naming_full_disk",
    "no_room",
    "sync_file",
    "sync_folder",
]

# The disk is full, or the user's share of it; or a file may not become so large.
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}
# Some file systems cannot do it to folders, and some folders may not be opened.
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES}

_UMASK = threading.Lock()


@contextmanager
def atomic_write(path, mode="wb", durable=True):
    """Open a temporary file beside ``path`` that takes its place on success.

    On any exception the temporary file is removed and ``path`` stays as it was. What
    is ``durable`` outlives not only this process but also a loss of power.
    """
    path = Path(path)
    check_target(path)
    with naming_full_disk(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, mode) as file:
                yield file
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            # mkstemp makes files private; what we write follows the umask instead.
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
            if durable:
                sync_folder(path.parent)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def sync_file(path):
    """See to it that the content of a file outlives a loss of power."""
    with naming_full_disk(path), open(path, "r+b") as file:
        os.fsync(file.fileno())


def sync_folder(path):
    """See to it that the names in a folder do, where the system can."""
    if os.name == "nt":
        return
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def check_target(path):
    """Refuse a path that no file can be put at: before the work for it is done."""
    path = Path(path)
    check_parent(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        raise FileExistsError(f"{path} is no regular file; give the name of one.")


def check_parent(path):
    """Refuse a path in a folder that is not there or may not be written to."""
    start = f"cannot write {path.name!r}: the folder {str(path.parent)!r}"
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{start} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{start} may not be written to; choose another.")


def check_folder(path):
    """Refuse a path where there is no folder and none can be made."""
    path = Path(path)
    there = next(own for own in (path, *path.parents) if os.path.lexists(own))
    if not there.exists():
        raise NotADirectoryError(f"{there} is a link that leads nowhere; mend it.")
    if not there.is_dir():
        raise NotADirectoryError(f"{there} is a file; give a folder to write to.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(
            f"the folder {str(there)!r} may not be written to; choose another."
        )


@contextmanager
def naming_full_disk(path):
    """Say which file found no room, and what to do; other errors pass as they are."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise no_room(path, error.errno) from error


def is_full(error):
    """Whether an error says that there is no room for what is written."""
    return error.errno in _FULL


def no_room(path, code=errno.ENOSPC):
    """The error of a full disk, with the file that found no room on it."""
    remedy = "free some space there, or write to another disk."
    return OSError(code, f"{os.strerror(code)}; {remedy}", str(path))


def _umask():
    with _UMASK:  # of the whole process, and read by changing it
        mask = os.umask(0)
        os.umask(mask)
    return mask
