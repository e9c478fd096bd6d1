"""How one column of a table is read: its kind, its levels, its format."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from imvc.io.columns._cells import Cells, level_key
from imvc.io.columns._dates import DATE_FORMATS
from imvc.io.columns._scales import find_scale, truth_words

KINDS = ("number", "yes-no", "category", "ordinal", "date", "metadata", "left out")
USED = KINDS[:5]
EMPTY, NOT_A_LEVEL = -1, -2


@dataclass(frozen=True)
class ColumnCode:
    """How one column of a file is read.

    Attributes
    ----------
    name : str
        Of the column.
    kind : str
        One of ``KINDS``.
    why : str
        Short, for the table of columns: "numbers", "4 values", "97 % empty".
    levels : tuple of str
        Of yes-no those of 0 and 1; of category and ordinal in order.
    other : bool
        Category: whether a last level, not among `levels`, stands for all rare ones.
    date_format : str
        Date: how it is written.
    number_format : str
        Number in text: its decimal mark if it has one, "g" where thousands are in
        groups, "%" where it is a percentage.
    n_empty : int
        Cells without a value, in the table it was learnt from.
    n_odd : int
        Cells that are no value of this kind and were taken as empty.
    """

    name: str
    kind: str
    why: str
    levels: tuple[str, ...] = ()
    other: bool = False
    date_format: str = ""
    number_format: str = ""
    n_empty: int = 0
    n_odd: int = 0

    @property
    def is_used(self) -> bool:
        """Whether the column gives features."""
        return self.kind in USED

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features of the column."""
        if self.kind == "category":
            levels = (*self.levels, "other") if self.other else self.levels
            return tuple(f"{self.name}={level}" for level in levels)
        if self.kind == "yes-no" and not truth_words(self._level_keys()):
            return (f"{self.name}={self.levels[1]}",)
        return (self.name,) if self.is_used else ()

    def places(self, cells: Cells) -> np.ndarray:
        """Which level each text of the cells is; EMPTY or NOT_A_LEVEL where it is none.

        Another spelling of a level is found too: true for yes, Stage II for II.
        """
        keys = self._level_keys()
        own = {key: i for i, key in enumerate(keys)}
        others: dict[str, int] = {}
        if truth := truth_words(keys) if self.kind == "yes-no" else None:
            others = {key: i for i, side in enumerate(truth) for key in side}
        elif self.kind == "ordinal":
            others = _other_spellings(keys, cells)
        # A word for no value is a level only where it is one by name.
        known = others | own
        return np.array(
            [
                (own if blank else known).get(key, EMPTY if empty else NOT_A_LEVEL)
                for key, blank, empty in zip(
                    cells.keys, cells.is_blank, cells.is_blank | cells.is_unknown
                )
            ],
            dtype=np.int64,
        )

    def _level_keys(self) -> list[str]:
        return [level_key(level) for level in self.levels]

    def to_dict(self) -> dict[str, Any]:
        """Plain types, for JSON."""
        return {**asdict(self), "levels": list(self.levels)}

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> "ColumnCode":
        """The code that `to_dict` wrote; anything else is a ValueError."""
        names = {field.name for field in fields(cls)}
        if not isinstance(d, Mapping) or set(d) != names:
            raise ValueError(f"the code of a column needs {sorted(names)}, got {d!r}.")
        for name, kind in _TYPES.items():
            # A bool is an int for Python, but no count.
            if type(d[name]) is not kind:
                raise ValueError(
                    f"{name} of a column must be {kind.__name__}, got {d[name]!r}."
                )
        if not all(isinstance(level, str) for level in d["levels"]):
            raise ValueError(f"levels of a column must be texts, got {d['levels']!r}.")
        if d["kind"] not in KINDS:
            raise ValueError(f"kind of a column must be of {KINDS}, got {d['kind']!r}.")
        if d["kind"] == "yes-no" and len(d["levels"]) != 2:
            raise ValueError(f"yes-no needs two levels, got {d['levels']!r}.")
        if d["kind"] == "date" and d["date_format"] not in DATE_FORMATS:
            raise ValueError(f"{d['date_format']!r} is no known format of dates.")
        return cls(**{**d, "levels": tuple(d["levels"])})


_TYPES: dict[str, type] = {
    "name": str, "kind": str, "why": str, "levels": list, "other": bool,
    "date_format": str, "number_format": str, "n_empty": int, "n_odd": int,
}  # fmt: skip


def _other_spellings(keys: list[str], cells: Cells) -> dict[str, int]:
    """Keys of cells that stand where a level stands on the scale of the levels.

    Each on its own, so that a cell is read alike among whatever rows it stands.
    """
    found = {}
    for new in sorted(set(cells.keys).difference(keys)):
        ranks = find_scale([*keys, new], [1] * (len(keys) + 1))
        if len(ranks) == len(keys) + 1:
            place = {ranks[key]: i for i, key in enumerate(keys)}
            if ranks[new] in place:
                found[new] = place[ranks[new]]
    return found
