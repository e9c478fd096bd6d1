"""Which columns of several files speak most for being their ids."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from imvc.io._dialect import is_number
from imvc.io.ids._candidates import FileColumns, IdCandidate, is_padded
from imvc.io.ids._loose_key import loose_keys
from imvc.io.ids._names import (
    is_index_name,
    is_nameless,
    is_row_index_name,
    plain_name,
)

_MOST_CANDIDATES = 20
# Ids with a few repeats are ids; the check of repeated ids will say so.
_NEARLY_DISTINCT, _SOME_DISTINCT = 0.9, 0.1
# Ten texts that two files share are no accident, however many they do not share.
# Numbers may be, unless half of the smaller file agrees and they lie far apart.
_SHARED_TEXTS, _SHARED_PART, _CROWDED = 10, 0.5, 0.25
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ].*)?")


def best_columns(
    files: Sequence[FileColumns], counters: list[list[IdCandidate]]
) -> list[IdCandidate | None]:
    """The best column of each file; a given one is the best if it is known.

    The files are settled one by one, the clearest case first, so that what follows is
    compared with the columns that were taken.
    """
    contest = _Contest([_contenders(f, counts) for f, counts in zip(files, counters)])
    contest.drop_counters(given=[file.given is not None for file in files])
    unsettled = [f for f, file in enumerate(files) if file.given is None]
    # Of equal cases the first by name, so that the order of files does not matter.
    unsettled.sort(key=lambda f: files[f].source)
    while unsettled:
        scores = [
            (score, f, column)
            for f in unsettled
            for column in contest.left[f]
            if (score := contest.score(column, f)) is not None
        ]
        if not scores:
            break
        _, settled, chosen = max(scores, key=lambda entry: entry[0])
        contest.left[settled] = [chosen]
        unsettled.remove(settled)
    for f in unsettled:
        contest.left[f] = []
    return [left[0].column if left else None for left in contest.left]


class _Contender:
    """A column that could hold ids, and what is needed to compare it with others."""

    def __init__(
        self, column: IdCandidate, place: int, *, counts: bool, given: bool = False
    ) -> None:
        self.column, self.place, self.counts = column, place, counts
        self.named = given or _is_named(column)
        self.plain_name = plain_name(column.name)
        texts = column.values.tolist()
        n_known = len(set(texts) - {""})
        self.distinct = n_known == len(texts)
        self._share = n_known / max(1, len(texts))
        if column.whole:
            self.text = is_padded(texts)
        else:
            self.text = not all(is_number(text, ";") for text in texts)
        is_date = self.text and all(map(_DATE.fullmatch, texts))
        self.rank = int(self.text and not is_date)
        if self.named:
            self.rank = 3 if column.declared else 2

    @property
    def possible(self) -> bool:
        """All different, or nearly so where name or place help; no fractions."""
        if self.distinct or not (self.text or self.column.whole):
            return self.text or self.column.whole
        if self.named and self.column.first:
            return self._share >= _SOME_DISTINCT
        likely = self.named or (self.text and self.column.first)
        return likely and self._share >= _NEARLY_DISTINCT

    @property
    def like_ids(self) -> bool:
        """Needs no other file to be taken for ids."""
        return self.text or self.named

    @cached_property
    def keys(self) -> frozenset[str]:
        """Loose keys of the values: near misses are evidence too."""
        return frozenset(loose_keys(self.column.values.tolist())) - {""}

    @cached_property
    def crowded(self) -> bool:
        """Numbers so close together that others meet them by chance."""
        if not all(map(str.isdecimal, self.keys)):
            return False
        numbers = sorted(map(int, self.keys))
        return len(numbers) > _CROWDED * (numbers[-1] - numbers[0] + 1)


def _is_named(column: IdCandidate) -> bool:
    return column.declared or is_index_name(column.name)


def _contenders(file: FileColumns, counters: list[IdCandidate]) -> list[_Contender]:
    """Columns that could hold ids; only the given one if there is one."""
    columns = list(enumerate(file.candidates))
    if file.given is not None:
        asked = [(j, c) for j, c in columns if c.name == file.given]
        if not asked and file.given in ("", "Unnamed: 0"):
            asked = [(j, c) for j, c in columns if is_nameless(c.name)]
        return [
            _Contender(c, j, counts=c in counters, given=True) for j, c in asked[:1]
        ]
    # What stands behind row counters is the first column that says anything.
    leading = [(j, c) for j, c in columns if c not in counters][:1]
    if leading and columns[0][1].first:
        (j, column) = leading[0]
        columns[j] = j, replace(column, first=True)
    columns.sort(key=lambda item: (not _is_named(item[1]), item[1].whole, item[0]))
    columns = columns[:_MOST_CANDIDATES]
    found = (_Contender(c, j, counts=c in counters) for j, c in columns)
    return [contender for contender in found if contender.possible]


class _Contest:
    """The columns of every file that are left to choose from."""

    def __init__(self, left: list[list[_Contender]]) -> None:
        self.left = left
        self._overlaps: dict[tuple[_Contender, _Contender], float] = {}

    def drop_counters(self, given: list[bool]) -> None:
        """Leave columns that count rows out, but for those that are ids elsewhere."""
        self.left = [
            [c for c in left if not c.counts or given[f] or self._is_proper(c, f)]
            for f, left in enumerate(self.left)
        ]

    def _is_proper(self, counter: _Contender, file: int) -> bool:
        """A named counter is an id if another file has it with gaps or in disorder."""
        if is_row_index_name(counter.column.name):
            return False
        return counter.named and any(
            rival.plain_name == counter.plain_name and self._overlap(counter, rival)
            for rivals in self._others(file)
            for rival in rivals
        )

    def _others(self, file: int) -> list[list[_Contender]]:
        return [left for f, left in enumerate(self.left) if f != file and left]

    def score(self, contender: _Contender, file: int) -> tuple[float, ...] | None:
        """What speaks for a column, the weightiest first; None if nothing does."""
        shared, n_same_name = 0.0, 0
        for rivals in self._others(file):
            shared += max(self._overlap(contender, rival) for rival in rivals)
            n_same_name += any(r.plain_name == contender.plain_name for r in rivals)
        if not (shared or contender.like_ids):
            return None
        return (
            shared > 0,
            contender.distinct,
            shared,
            contender.rank,
            n_same_name,
            -contender.place,
        )

    def _overlap(self, a: _Contender, b: _Contender) -> float:
        if (a, b) not in self._overlaps:
            self._overlaps[a, b] = self._overlaps[b, a] = _overlap(a, b)
        return self._overlaps[a, b]


def _overlap(a: _Contender, b: _Contender) -> float:
    """Share of the smaller set of ids that is in the other one, in quarters.

    Quarters, so that a few samples more do not outweigh a name; 0 where so few are
    shared, or so easily, that it means nothing.
    """
    if a.counts and b.counts:
        return 0.0
    if (a.counts or b.counts) and a.plain_name != b.plain_name:
        return 0.0
    if not (a.like_ids and b.like_ids):
        if a.crowded or b.crowded or not (a.like_ids or b.like_ids):
            return 0.0
    n_shared = len(a.keys & b.keys)
    share = n_shared / max(1, min(len(a.keys), len(b.keys)))
    if share < _SHARED_PART and not (a.text and b.text and n_shared >= _SHARED_TEXTS):
        return 0.0
    return max(1, round(4 * share)) / 4
