"""The folder of rows that were written anew, to be read in any order."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

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
        """Whether an earlier run wrote this whole."""
        return self.lasting and (self.file(name) / _DONE).exists()

    def done(self, name: str) -> None:
        """Note that a folder is complete."""
        (self.file(name) / _DONE).touch()

    def __getstate__(self) -> dict:
        # Only the maker removes a temporary folder.
        return {"_parent": self._parent, "_temporary": None}


def digest_of(value: Any) -> str:
    """A short name for something in JSON's types."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
