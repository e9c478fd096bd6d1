"""Paths and URLs of files that are read by rows, and what identifies such files."""

import os
from typing import Any

PATHS = (str, os.PathLike)


def local_path(path: str | os.PathLike) -> str | None:
    """The path on this machine; None for URLs of other places."""
    text = os.fspath(path)
    if text.startswith("file://"):
        return text.removeprefix("file://")
    return None if "://" in text else text


def file_stamp(path: str) -> dict[str, Any]:
    """Name, size and time of the last change of a file."""
    stat = os.stat(path)
    return {"path": path, "size": stat.st_size, "mtime": stat.st_mtime_ns}


def folder_stamp(path: str) -> dict[str, Any]:
    """Name of a folder, number and sizes of its files, time of the last change."""
    count = size = latest = 0
    for folder, _, names in os.walk(path):
        for name in names:
            stat = os.stat(os.path.join(folder, name))
            count, size = count + 1, size + stat.st_size
            latest = max(latest, stat.st_mtime_ns)
    return {"path": path, "files": count, "size": size, "mtime": latest}


def must_exist(path: str | os.PathLike, name: str) -> None:
    """Refuse paths that lead nowhere."""
    local = local_path(path)
    if local is not None and not os.path.exists(local):
        raise FileNotFoundError(
            f"view {name!r}: the file {os.fspath(path)!r} does not exist; check the "
            "path."
        )
