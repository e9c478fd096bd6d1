"""Stamps of input files, by which one that changes while it is read is noticed.

A stamp is the size of a file and a digest of its content: of all of it up to 16 MiB,
beyond that of 256 pieces of 64 KiB spread evenly over it. What is digested whole is the
same file whatever its time: it may have been touched, or copied back. Of all else the
time of the last change is part of the stamp. So a stamp costs little for files of any
size, and what it cannot see is a change between the pieces of a large file whose size
and time were both put back.

Stamps are dicts in JSON's types, and stand in the fingerprints of sources.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from imvc._plain import fits, wrong_key
from imvc.io._errors import ChangedFileError, input_error

_PIECE = 64 * 2**10
_PIECES = 256

Stamp = dict[str, Any]


def stamp_files(paths: Sequence[str | os.PathLike[str]]) -> list[Stamp]:
    """Stamps of files that are read together and share the pieces.

    Of very many files only some are looked into; the others are known by size and time.
    """
    looked_into = set(_spread(len(paths), _PIECES // 2))
    share = _PIECES // max(1, len(looked_into))
    return [
        _stamp(os.fspath(path), share if i in looked_into else 0)
        for i, path in enumerate(paths)
    ]


def stamp_file(path: str | os.PathLike[str]) -> Stamp:
    """The stamp of one file."""
    return stamp_files([path])[0]


def stamp_folder(path: str) -> Stamp:
    """One stamp of all files in a folder, such as the chunks of a zarr array."""
    inside = _files_in(path)
    stamps = stamp_files(inside)
    content = [
        [os.path.relpath(file, path), stamp["size"], stamp["digest"]]
        for file, stamp in zip(inside, stamps)
    ]
    times = [stamp["mtime"] for stamp in stamps if "mtime" in stamp]
    return {
        "path": path,
        "files": len(stamps),
        "size": sum(stamp["size"] for stamp in stamps),
        "digest": _digest([json.dumps(content).encode()]),
        **({"mtime": max(times)} if times else {}),
    }


def check_unchanged(fingerprint: Any, cause: Exception | None = None) -> None:
    """Refuse to go on with files that are not what their stamps say.

    Parameters
    ----------
    fingerprint : dict, list or tuple
        Stamps, or whatever has them inside.
    cause : Exception, optional
        What the reading ended with; a change explains it.

    Raises
    ------
    ChangedFileError
        A file changed.
    InputError
        A file is not there any more; what was read of it before is sound.
    """
    gone = None
    for group in _groups(fingerprint):
        try:
            now = _stamp_again(group)
        except OSError as error:
            gone = error
            gone_path = error.filename or group[0]["path"]
            continue
        for old, new in zip(group, now):
            if old != new:
                what = _difference(old, new)
                raise ChangedFileError(
                    f"{old['path']}: changed while it was read ({what}); copy it "
                    "first, or wait until it is written, then run the same command "
                    "again."
                ) from cause
    if gone is not None:
        raise input_error(
            gone_path,
            f"cannot be read any more ({gone.strerror or gone}), but was there when "
            "reading began; bring it back, then run the same command again.",
        ) from (cause or gone)


@contextmanager
def unchanged(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[Stamp]]:
    """See to it that files are the same before and after they are read.

    An error within that comes of a change is told as such. Yields the stamps.
    """
    stamps = []
    for path in paths:
        # What is no file that can be read, the reader itself refuses in better words.
        with suppress(OSError):
            if os.path.isfile(path):
                stamps.append(stamp_file(path))
    try:
        yield stamps
    except Exception as error:
        check_unchanged(stamps, error)
        raise
    check_unchanged(stamps)


def changed_files(before: Any, after: Any) -> list[str]:
    """The files that differ between two fingerprints, each with what differs.

    Empty also where they are of other files altogether.
    """
    old, new = (
        {stamp["path"]: stamp for group in _groups(found) for stamp in group}
        for found in (before, after)
    )
    if old.keys() != new.keys():
        return []
    return [
        f"{path} ({_difference(stamp, new[path])})"
        for path, stamp in old.items()
        if stamp != new[path]
    ]


def _stamp(path: str, pieces: int) -> Stamp:
    with open(path, "rb") as file:
        stat = os.fstat(file.fileno())
        count = -(-stat.st_size // _PIECE)
        chosen = _spread(count, pieces)
        last = max(0, stat.st_size - _PIECE)

        def read(i: int) -> bytes:
            file.seek(min(i * _PIECE, last))
            return file.read(_PIECE)

        digest = _digest(map(read, chosen))
    found = {"path": path, "size": stat.st_size, "digest": digest}
    return found if len(chosen) == count else {**found, "mtime": stat.st_mtime_ns}


def _digest(pieces: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _spread(n: int, count: int) -> Sequence[int]:
    """At most `count` (none, or two and more) of 0 to n - 1: the ends and between."""
    if n <= count:
        return range(n)
    return [i * (n - 1) // (count - 1) for i in range(count)]


def _files_in(path: str) -> list[str]:
    def refuse(error: OSError) -> None:
        raise error

    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(path, onerror=refuse)
        for name in names
    )


def _groups(fingerprint: Any) -> Iterator[list[Stamp]]:
    """Stamps within a fingerprint; those that were taken together in one list."""
    if isinstance(fingerprint, Mapping):
        if _is_stamp(fingerprint):
            keys = ("path", "files", "size", "digest", "mtime")
            yield [{k: fingerprint[k] for k in keys if k in fingerprint}]
        parts = fingerprint.get("parts")
        if fits(parts, list[dict]) and parts and all(map(_is_stamp, parts)):
            yield [dict(part) for part in parts]
        inner = [value for key, value in fingerprint.items() if key != "parts"]
    else:
        inner = list(fingerprint) if isinstance(fingerprint, list | tuple) else []
    for value in inner:
        yield from _groups(value)


def _is_stamp(value: Mapping[str, Any]) -> bool:
    """Whether a dict is a stamp: one in a file may have been altered."""
    return wrong_key(value, {"path": str, "size": int, "digest": str}) is None


def _stamp_again(group: list[Stamp]) -> list[Stamp]:
    if "files" in group[0]:
        return [stamp_folder(group[0]["path"])]
    return stamp_files([stamp["path"] for stamp in group])


def _difference(old: Stamp, new: Stamp) -> str:
    """What differs between two stamps of a path, in words."""
    found = []
    if old.get("files") != new.get("files"):
        found.append(f"it has {new['files']} files instead of {old['files']}")
    if old["size"] != new["size"]:
        found.append(f"its size went from {old['size']} to {new['size']} bytes")
    elif old["digest"] != new["digest"]:
        found.append("its content is another")
    elif not found:
        found.append("its time is another, and it is too large to be compared whole")
    with suppress(OSError):
        found.append(_last_written(new["path"]))
    return "; ".join(found)


def _last_written(path: str) -> str:
    """When a file was written last, and in a folder which one that was."""
    inside = os.path.isdir(path)
    files = _files_in(path) if inside else [path]
    time, newest = max((os.stat(file).st_mtime, file) for file in files)
    moment = datetime.fromtimestamp(time).isoformat(" ", "seconds")
    name = f"its newest file, {os.path.relpath(newest, path)}," if inside else "it"
    return f"{name} was written {moment}"
