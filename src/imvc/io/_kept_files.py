"""KeptFiles: what was read from files, kept until a file changes."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._file_table import FileTable, Request
from imvc.io._matrix_market import files_beside
from imvc.io._prepare_view import learn_where_empty
from imvc.io._read_file import (
    PANDAS_NAME,
    Raw,
    choose_metadata_ids,
    id_columns_of,
    read_raw,
)
from imvc.kernels._ridge_fill import LowRank

_MOST_FILLS = 400  # that are kept


class KeptFiles:
    """Reads files for `read_views`, and only those that changed when asked again.

    A file is read again if its size or time is another, or if it is asked for in
    another way: its id column, its sheet, the name of its view. What is done to columns
    afterwards is no reason.

    Examples
    --------
    ``read_views(["rna.csv", "protein.csv"], read=KeptFiles())``; for tables to look at,
    with ``learn=kept.learn`` for as little learning as they need.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bool], tuple[Any, list[Raw]]] = {}
        self._fills: dict[bytes, LowRank | None] = {}

    def __call__(self, file: Request, transpose: bool = False) -> list[Raw]:
        """What `read_raw` gives, in copies that may be written to."""
        place, mark = (file.source, file.block), (file, transpose, _marks(file))
        known, found = self._kept.get(place, (None, []))
        if known != mark:
            self._kept.pop(place, None)  # before another is in memory
            found = read_raw(file, transpose)
            self._kept[place] = mark, found
        return [
            raw if isinstance(raw, FileTable) else replace(raw, notes=[*raw.notes])
            for raw in found
        ]

    def id_candidates(self, source: str | os.PathLike[str]) -> list[str]:
        """Names of columns of a file that was read which may hold its ids."""
        names: list[str] = []
        for (own, _), (_, found) in self._kept.items():
            for raw in found if own == os.fspath(source) else ():
                if isinstance(raw, FileTable):
                    names += raw.metadata
                else:
                    names += [c.name for c in id_columns_of(raw, None).candidates]
        return list(dict.fromkeys(name or PANDAS_NAME for name in names))

    def id_column(
        self, source: str | os.PathLike[str], samples: np.ndarray | None = None
    ) -> str | None:
        """The column of ids of a table of metadata that was read."""
        _, found = self._kept.get((os.fspath(source), False), (None, []))
        for raw in found:
            if not isinstance(raw, FileTable):
                return choose_metadata_ids(raw, samples).column
        return None

    def learn(self, X: Any, **options: Any) -> LowRank | None:
        """`learn_where_empty`, and only once for the same table."""
        if sp.issparse(X):  # by means, which is quick
            return learn_where_empty(X, **options)
        given = [np.asarray(value) for value in options.values() if value is not None]
        digest = hashlib.blake2b(repr((X.shape, X.dtype, sorted(options))).encode())
        for array in (X, *given):
            digest.update(np.ascontiguousarray(array).data)
        key = digest.digest()
        if key not in self._fills:
            self._fills[key] = learn_where_empty(X, **options)
            if len(self._fills) > _MOST_FILLS:
                del self._fills[next(iter(self._fills))]
        return self._fills[key]

    def drop_others(self, sources: Iterable[str | os.PathLike[str]]) -> None:
        """Forget all files but these."""
        wanted = {os.fspath(source) for source in sources}
        for place in [place for place in self._kept if place[0] not in wanted]:
            del self._kept[place]


def _marks(file: Request) -> list[tuple[str, int, int]]:
    """By what a file and those beside it are known to be unchanged."""
    marks = []
    for path in (file.path, *files_beside(file.path)):
        if os.path.isfile(path):  # else the reader says what is wrong
            stat = os.stat(path)
            marks.append((str(path), stat.st_size, stat.st_mtime_ns))
    return marks
