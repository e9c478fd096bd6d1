"""Outer join of views on disk by the ids of their rows.

Samples come in the order in which their ids first appear: those of the first view as
they are stored, then the new ones of the second, and so on. Of the ids only keys of
128 bits are kept in memory, with the number of the sample: 24 bytes an id. Two hash
functions make the key; rows are looked up by the first and compared by both, so two
ids that share the first are noticed, and the join starts again with other functions.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from imvc.io._errors import BlockError, need
from imvc.io._npy import NpyWriter
from imvc.io._row_reader import RowReader
from imvc.scale._rewrite import WorkFolder, sort_rows

_TRIES = 8


class _SharedHash(Exception):
    """Two different ids have the same first hash."""


class JoinedIds:
    """Ids of the samples, read again from the views that brought them.

    `firsts` has the first sample that each view brought, and the number of samples;
    `new_rows`, per view, the stored rows that brought new samples, ascending.
    """

    def __init__(
        self,
        views: Sequence[RowReader],
        firsts: Sequence[int],
        new_rows: Sequence[RowReader],
    ) -> None:
        self._views, self._firsts, self._new_rows = views, firsts, new_rows

    def read(self, start: int, stop: int) -> np.ndarray:
        """Ids of samples ``start`` to ``stop - 1``."""
        parts = []
        for v, first in enumerate(self._firsts[:-1]):
            lo, hi = max(start, first), min(stop, self._firsts[v + 1])
            if lo < hi:
                parts.extend(self._of_view(v, lo - first, hi - first))
        return np.concatenate(parts) if parts else np.empty(0, object)

    def _of_view(self, v, lo, hi):
        rows = self._new_rows[v].read(lo, hi)[:, 0]
        at = int(rows[0])
        for ids in self._views[v].read_ids(at, int(rows[-1]) + 1):
            inside = slice(*np.searchsorted(rows, [at, at + len(ids)]))
            yield ids[rows[inside] - at]
            at += len(ids)


def join_by_id(
    views: Sequence[RowReader], folder: WorkFolder
) -> tuple[int, list[tuple[RowReader, RowReader | None]], JoinedIds]:
    """Join views by id.

    Returns
    -------
    n_samples : int
    joined : list of (rows, index)
        Per view its rows, written anew where they came in another order than the
        samples, and the sample of every row; None: row ``j`` is sample ``j``.
    ids : JoinedIds
    """
    for salt in range(_TRIES):
        try:
            return _join(list(views), folder, salt)
        except _SharedHash:
            continue
    raise RuntimeError("ids cannot be told apart by their hashes; number them instead")


def _join(views, folder, salt):
    known, firsts = _Known(salt), [0]
    orders, indexes, new_rows = [], [], []
    for v, rows in enumerate(views):
        samples = NpyWriter(folder.file(f"samples-{v}.npy"), np.int64)
        new = NpyWriter(folder.file(f"new-{v}.npy"), np.int64)
        orders.append(_join_view(known, rows, samples, new))
        indexes.append(samples.reader(rows.label))
        new_rows.append(new.reader(rows.label))
        firsts.append(known.n)
    del known  # sorting needs its memory
    joined: list[tuple[RowReader, RowReader | None]] = []
    for v, (rows, order, index) in enumerate(zip(views, orders, indexes)):
        if order == "mixed":
            joined.append(sort_rows(rows, index, firsts[-1], folder, f"view-{v}"))
        else:
            joined.append((rows, None if order == "same" else index))
    return firsts[-1], joined, JoinedIds(views, firsts, new_rows)


class _Known:
    """Keys of the ids seen so far, sorted by the first hash, and their samples."""

    def __init__(self, salt):
        self.salt, self.n = salt, 0
        self.a, self.b = np.empty(0, np.uint64), np.empty(0, np.uint64)
        self.number = np.empty(0, np.int64)
        self.kind = None

    def find(self, a, b):
        """Where keys are among those known, -1 for new ones."""
        if len(self.a) == 0:
            return np.full(len(a), -1, np.int64)
        # Sorted keys are looked up in the order of memory.
        order = np.argsort(a)
        found = np.empty(len(a), np.int64)
        found[order] = np.searchsorted(self.a, a[order])
        found[found == len(self.a)] = 0
        same = self.a[found] == a
        if (self.b[found[same]] != b[same]).any():
            raise _SharedHash
        found[~same] = -1
        return found

    def add(self, a, b):
        """Take in new keys, in the order of their samples.

        Returns
        -------
        The key of an id that is there twice, or None.
        """
        order = np.argsort(a, kind="stable")
        a, b = a[order], b[order]
        twins = np.flatnonzero(a[1:] == a[:-1])
        if len(twins):
            if (b[twins] != b[twins + 1]).any():
                raise _SharedHash
            return a[twins[0]], b[twins[0]]
        number = self.n + order
        self.n += len(order)
        self.number = np.concatenate([self.number, number])
        self.a, self.b = np.concatenate([self.a, a]), np.concatenate([self.b, b])
        # Two sorted runs: merged in linear time.
        order = np.argsort(self.a, kind="stable")
        self.a, self.b = self.a[order], self.b[order]
        self.number = self.number[order]
        return None


def _join_view(known, rows, index, new):
    """Number the rows of a view; tells whether they come in the order of samples."""
    seen = np.zeros(len(known.a), bool)
    fresh_a, fresh_b, at, last, n = [], [], 0, -1, known.n
    ascends = same = True
    for ids in rows.read_ids(0, rows.shape[0]):
        _check_kind(known, rows, ids)
        a, b = id_keys(ids, known.salt)
        found = known.find(a, b)
        fresh = found < 0
        old = found[~fresh]
        counts = np.unique(old, return_counts=True)
        if seen[old].any() or (counts[1] > 1).any():
            j = old[seen[old]][0] if seen[old].any() else counts[0][counts[1] > 1][0]
            _refuse_repeat(rows, known.a[j], known.b[j], known.salt)
        seen[old] = True
        samples = np.empty(len(ids), np.int64)
        samples[~fresh] = known.number[old]
        samples[fresh] = n + np.arange(len(ids) - len(old))
        n += len(ids) - len(old)
        fresh_a.append(a[fresh])
        fresh_b.append(b[fresh])
        ascends = ascends and bool((np.diff(samples, prepend=last) > 0).all())
        same = same and np.array_equal(samples, np.arange(at, at + len(ids)))
        last = int(samples[-1]) if len(samples) else last
        index.append(samples)
        new.append(at + np.flatnonzero(fresh))
        at += len(ids)
    if fresh_a:
        twice = known.add(np.concatenate(fresh_a), np.concatenate(fresh_b))
        if twice is not None:
            _refuse_repeat(rows, twice[0], twice[1], known.salt)
    return "same" if same else "ascending" if ascends else "mixed"


def id_keys(ids, salt):
    """Two 64-bit keys of every id; integers are their own."""
    if ids.dtype != object:
        return ids.view(np.uint64), np.zeros(len(ids), np.uint64)
    pandas = need("pandas", "views with ids")
    return tuple(
        pandas.util.hash_array(
            ids, hash_key=f"imvc {which}{salt:09d}", categorize=False
        )
        for which in ("a ", "b ")
    )


def _check_kind(known, rows, ids):
    kind = "text" if ids.dtype == object else "integers"
    if known.kind is None:
        known.kind = (kind, rows.label)
    if known.kind[0] != kind:
        raise BlockError(
            f"{rows.label}: its ids are {kind}, those of {known.kind[1]} are "
            f"{known.kind[0]}; write them in one type."
        )


def _refuse_repeat(rows, a, b, salt) -> NoReturn:
    """Find the two rows of an id that is there twice, and tell."""
    found, at = [], 0
    name: Any = None
    for ids in rows.read_ids(0, rows.shape[0]):
        own_a, own_b = id_keys(ids, salt)
        hits = np.flatnonzero((own_a == a) & (own_b == b))
        if len(hits):
            name = ids[hits[0]]
            found += (at + hits).tolist()
        at += len(ids)
        if len(found) > 1:
            break
    name = name.item() if hasattr(name, "item") else name
    raise BlockError(
        f"{rows.place(found[1])}: id {name!r} is also at {rows.place(found[0])}; keep "
        "one row per id."
    )
