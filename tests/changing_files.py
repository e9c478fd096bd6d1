"""Ways in which a file changes while somebody reads it."""

import os


def append(path):
    """More bytes behind the last one."""
    with open(path, "ab") as file:
        file.write(b"\n")


def rewrite(path, at=None):
    """Another byte in the same place; size and time stay."""
    stat = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(stat.st_size // 2 if at is None else at)
        old = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([old[0] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def touch(path):
    """Another time, and nothing else."""
    os.utime(path, ns=(1, 1))


WAYS = [(append, "its size went from"), (rewrite, "its content is another")]
