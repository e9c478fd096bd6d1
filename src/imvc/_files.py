"""Files that are either the old ones or the whole new ones, never halves."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path, mode="wb"):
    """Open a temporary file beside ``path`` that takes its place on success.

    On any exception the temporary file is removed and ``path`` stays as it was.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name!r}: the folder {str(path.parent)!r} does not "
            f"exist; create it first."
        )
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; what we write follows the user's umask instead.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
