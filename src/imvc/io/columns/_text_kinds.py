"""What a column of text holds, judged by its different texts."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from imvc.io.columns._cells import Cells, level_key
from imvc.io.columns._code import EMPTY, NOT_A_LEVEL, ColumnCode
from imvc.io.columns._dates import find_date_format, read_days_of_fit
from imvc.io.columns._numbers import Numbers, may_be_number, read_numbers
from imvc.io.columns._scales import find_scale, no_comes_first, truth_words

NEARLY_ALL = 0.9
_MOST = 0.5
_MAX_LEVELS = 100
_RARE_SHARE, _RARE_CELLS = 0.01, 3
_MAX_SPELLINGS = 200  # of the values of a scale
_MANY_TEXTS, _MANY_WORDS = 20, 5

Levels = Mapping[str, tuple[str, int]]  # by key: usual spelling, number of cells


class TextColumn:
    """A column of text and what can be made of it.

    `number`, `yes_no`, `ordinal` and `date` give a code, or None if the column is
    nothing of the kind. `remarks` are pairs of a topic and what there is to tell.
    """

    def __init__(self, name: str, column: Any, decimal_comma: bool = False) -> None:
        self.name = name
        self.cells = Cells.of(column)
        self.decimal_comma = decimal_comma
        self.known = ~self.cells.is_blank & ~self.cells.is_unknown
        self.remarks: list[tuple[str, str]] = []

    @property
    def n_known(self) -> int:
        """Cells with a value."""
        return self.cells.n_cells(self.known)

    def guess(self) -> ColumnCode:
        """The kind of a column of which nobody said anything."""
        # A column of 0, 1+, 2+ may be zeros mostly: scales come before most numbers.
        code = self.number(1.0)
        if len(self.cells.texts) <= _MAX_SPELLINGS:
            code = code or self.yes_no(words_only=True) or self.ordinal()
        code = code or self.number() or self.date()
        return code or self._two_values() or self._category_or_metadata()

    def number(
        self, share: float = NEARLY_ALL, *, asked: bool = False
    ) -> ColumnCode | None:
        """Numbers, if at least this share of the known cells are.

        Where numbers are asked for, ``1,234`` is 1234 and bounds alone will do.
        """
        found = self._numbers(share, asked)
        if found is None:
            return None
        if found.censored.any():
            self._tell("censored", found.censored)
        odd = np.isnan(found.values)
        return self._code("number", "numbers", odd=odd, number_format=found.format)

    def _numbers(self, share: float, asked: bool) -> Numbers | None:
        cells = self.cells
        enough = share * self.n_known
        if cells.n_cells(may_be_number(cells.texts)) < enough:
            return None
        found = read_numbers(
            cells.texts, cells.counts, decimal_comma=self.decimal_comma, grouped=asked
        )
        is_number = ~np.isnan(found.values)
        # Bounds and no number: "<5" and ">10" are two values of something.
        exact = asked or (is_number & ~found.censored).any()
        return found if exact and cells.n_cells(is_number) >= enough else None

    def date(
        self, share: float = NEARLY_ALL, *, compact: bool = False
    ) -> ColumnCode | None:
        """Dates in one format, if at least this share of the known cells are."""
        cells = self.cells
        found = find_date_format(
            cells.texts, cells.counts * self.known, compact=compact
        )
        if found is None or found.share < share:
            return None
        days = read_days_of_fit(cells.texts, found.format)
        if found.ambiguous:
            self._tell("dates", ~np.isnan(days), count=False)
        return self._code(
            "date", f"dates{found.order}", odd=np.isnan(days), date_format=found.format
        )

    def yes_no(self, *, words_only: bool = False) -> ColumnCode | None:
        """Two values, or any words for yes and no."""
        levels = self._levels(self._with_meaningful_blanks())
        truth = truth_words(levels)
        if truth is not None:
            no, yes = (_usual([levels[k] for k in levels if k in s]) for s in truth)
        elif words_only or len(levels) != 2:
            return None
        else:
            (one, (no, _)), (other, (yes, _)) = levels.items()
            if not no_comes_first(one, other):
                no, yes = yes, no
        return self._code("yes-no", f"two values: {no!r}, {yes!r}", levels=(no, yes))

    def ordinal(self, *, n_steps: int = 3) -> ColumnCode | None:
        """A scale that is known to have an order; of two steps it is yes-no."""
        levels = self._levels(self._with_meaningful_blanks())
        ranks = find_scale(list(levels), [n for _, n in levels.values()])
        n_cells = sum(levels[key][1] for key in ranks)
        steps = sorted(set(ranks.values()))
        if len(steps) < n_steps or n_cells < NEARLY_ALL * self.n_known:
            return None
        names = tuple(
            _usual([levels[key] for key in ranks if ranks[key] == step])
            for step in steps
        )
        return self.in_order(names, _shown_order(names))

    def in_order(self, levels: tuple[str, ...], why: str) -> ColumnCode:
        """Ordinal, in this order."""
        return self._code("ordinal", why, levels=levels)

    def numeric_levels(self) -> tuple[str, ...] | None:
        """The different values in ascending order, if all are numbers."""
        found = self._numbers(1.0, asked=True)
        if found is None:
            return None
        value = dict(zip(self.cells.keys, found.values))
        levels = self._levels()
        return tuple(levels[key][0] for key in sorted(levels, key=value.__getitem__))

    def category(self, share: float = _RARE_SHARE) -> ColumnCode:
        """Levels, of which the rare ones are put together.

        A level of one cell among very many would rule all distances, so a level needs
        1 % of the cells, and 3 of them. In tables of fewer than 30 cells a tenth will
        do: there 3 cells may be a cluster.
        """
        levels = self._levels()
        rare = self._rare(levels, share)
        numbers = self.numeric_levels()
        keys = levels if numbers is None else [level_key(level) for level in numbers]
        names = tuple(levels[key][0] for key in keys if key not in rare)
        why = f"{len(names)} value{'s' * (len(names) != 1)}"
        if rare:
            why += " and 'other'"
            n_cells = sum(levels[key][1] for key in rare)
            told = f"{len(rare)} values in {n_cells} cells, e.g. {levels[rare[0]][0]!r}"
            self.remarks.append(("rare", f"{self.name!r} ({told})"))
        self._tell_spellings(levels)
        return self._code("category", why, levels=names, other=bool(rare))

    def _two_values(self) -> ColumnCode | None:
        """What a column with fewer than three values is."""
        if self.known.sum() > _MAX_SPELLINGS:
            return None
        levels = self._levels()
        if len(levels) < 2:
            # Nothing but one value and "unknown": that is what the column tells.
            self.known = ~self.cells.is_blank
            levels = self._levels()
        if len(levels) < 2:
            why = "a single value" if levels else "no value"
            return self._code("left out", why)
        return self.yes_no()

    def _category_or_metadata(self) -> ColumnCode:
        """Few values that repeat, or free text and identifiers."""
        numbers = self._numbers(NEARLY_ALL, asked=True)
        if numbers is not None and "g" in numbers.format:
            self._tell("groups", self.known, count=False)
        n_texts, n_known = int(self.known.sum()), self.n_known
        if n_texts >= NEARLY_ALL * n_known or (
            n_texts > _MAX_LEVELS and n_texts > _MOST * n_known
        ):
            return self._code("metadata", "nearly all values differ")
        n_words = pc.count_substring_regex(self.cells.texts, r"\s+").to_numpy() + 1
        n_words = (n_words * self.cells.counts)[self.known].sum()
        if n_texts > _MANY_TEXTS and n_words >= _MANY_WORDS * n_known:
            return self._code("metadata", "long texts")
        levels = self._levels()
        if sum(levels[key][1] for key in self._rare(levels)) > _MOST * n_known:
            return self._code("metadata", "most values are rare")
        return self.category()

    def _rare(self, levels: Levels, share: float = _RARE_SHARE) -> list[str]:
        """Keys of the levels without a place of their own, the most frequent first."""
        n_known = self.n_known
        enough = max(share * n_known, min(_RARE_CELLS, n_known / 10))
        frequent = sorted(levels, key=lambda key: (-levels[key][1], key))
        n_kept = sum(levels[key][1] >= enough for key in frequent[:_MAX_LEVELS])
        rare = frequent[n_kept:]
        if rare and "other" in frequent[:n_kept]:
            rare.append("other")  # the two would have one name
        return rare

    def _with_meaningful_blanks(self) -> np.ndarray:
        """Known texts, and words for nothing that are the lowest of a scale here.

        ``none`` beside mild and severe, and ``-`` beside ``+``, are values.
        """
        keys = np.array(self.cells.keys, dtype=object)
        known = sorted(set(keys[self.known]))
        meant = set()
        ranks = find_scale([*known, "none"], [1] * (len(known) + 1))
        if "none" in ranks and 2 * len(ranks) > len(known):
            meant.add("none")
        pluses = any(re.fullmatch(r"[0-9]?\++", key) for key in known)
        if pluses and not {"0", "neg", "negative", "negativ"}.intersection(known):
            meant.add("-")
        is_meant = np.array([key in meant for key in keys], dtype=bool)
        return self.known | (self.cells.is_blank & is_meant)

    def _levels(self, chosen: np.ndarray | None = None) -> Levels:
        """What the known texts, or the chosen ones, have for levels, sorted by key."""
        cells = self.cells
        spellings: dict[str, list[tuple[str, int]]] = {}
        for i in np.flatnonzero(self.known if chosen is None else chosen):
            spelling = (cells.words[i], int(cells.counts[i]))
            spellings.setdefault(cells.keys[i], []).append(spelling)
        return {
            key: (_usual(same), sum(n for _, n in same))
            for key, same in sorted(spellings.items())
        }

    def _code(
        self, kind: str, why: str, odd: np.ndarray | None = None, **rest: Any
    ) -> ColumnCode:
        """A code with its cells counted; odd ones are told."""
        cells = self.cells
        code = ColumnCode(self.name, kind, why, **rest)
        blank = cells.is_blank
        if code.levels:
            place = code.places(cells)
            odd = place == EMPTY
            if kind != "category":
                odd |= place == NOT_A_LEVEL
            meant = blank & (place >= 0)
            if meant.any():
                self._tell("blanks", meant)
            blank = blank & ~meant
        n_odd = 0
        if odd is not None and (odd & ~blank).any():
            n_odd = cells.n_cells(odd & ~blank)
            self._tell("odd", odd & ~blank)
        n_empty = len(cells.rows) - cells.n_cells(~blank)
        return ColumnCode(self.name, kind, why, n_empty=n_empty, n_odd=n_odd, **rest)

    def _tell(self, topic: str, chosen: np.ndarray, count: bool = True) -> None:
        """Remark on some texts: ``'crp' (3 cells, first '<0.5')``."""
        n = self.cells.n_cells(chosen)
        told = f"{n} cell{'s' * (n > 1)}, " if count else ""
        first = self.cells.first(chosen)
        self.remarks.append((topic, f"{self.name!r} ({told}first {first!r})"))

    def _tell_spellings(self, levels: Levels) -> None:
        cells = self.cells
        for i in np.flatnonzero(self.known):
            usual = levels[cells.keys[i]][0]
            if cells.words[i] != usual:
                told = f"{self.name!r} ({cells.words[i]!r} is {usual!r})"
                self.remarks.append(("spellings", told))
                return


def _usual(spellings: list[tuple[str, int]]) -> str:
    """The most frequent spelling, the first in the alphabet of equals."""
    return min(spellings, key=lambda spelling: (-spelling[1], spelling[0]))[0]


def _shown_order(names: tuple[str, ...]) -> str:
    """``I < II < III``, shortened in the middle."""
    if len(names) > 6:
        names = (*names[:3], "...", *names[-2:])
    return " < ".join(names)
