"""The cells of one column as text, each different text once."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from imvc.io._arrow_columns import as_text, is_nested
from imvc.io._dialect import NA_WORDS

# People write these where they know nothing; they are no level of anything, unless they
# are one of the only two values of a column. TX, NX and MX: could not be assessed.
_UNKNOWN = (
    r"(?i)^\W*(unknown|unk|unbekannt|inconnu|unclear|undetermined|unspecified"
    r"|not\s+(known|available|reported|applicable|assessed|done|determined|specified)"
    r"|(can)?not\s+be\s+assessed|don['’]?t\s+know|prefer\s+not\s+to\s+(say|answer)"
    r"|n\.a|n\.d|[cpyra]{0,2}[tnmg]x)\W*$"
)
_WHOLE = re.compile(r"(-?)0*([0-9]+)(\.0*)?")


def level_key(text: str) -> str:
    """What two spellings of one level share: ``" Stage  II"``, ``"stage II"``; 7.0, 7.

    New tables may hold as numbers what was text in the fit, so whole numbers have one
    spelling.
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    whole = _WHOLE.fullmatch(plain)
    return whole[1] + whole[2] if whole else plain


@dataclass(frozen=True, eq=False)
class Cells:
    """The different texts of a column, in the order of their first row.

    Attributes
    ----------
    texts : pyarrow.StringArray
        Trimmed, each once; words for "no value" are among them.
    rows : ndarray of int
        For each row the place of its text, -1 where it has none.
    counts : ndarray of int
        Rows of each text.
    """

    texts: Any
    rows: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, column: Any) -> "Cells":
        """Read a chunked column of any type."""
        if is_nested(column.type):
            texts = (None if v is None else str(v) for v in column.to_pylist())
            column = pa.chunked_array([pa.array(texts, pa.string())])
        raw = as_text(column).dictionary_encode().combine_chunks()
        trimmed = pc.utf8_trim_whitespace(raw.dictionary).dictionary_encode()
        place = np.append(trimmed.indices.to_numpy(), -1)
        rows = place[pc.fill_null(raw.indices, -1).to_numpy()]
        counts = np.bincount(rows[rows >= 0], minlength=len(trimmed.dictionary))
        return cls(trimmed.dictionary, rows, counts)

    @cached_property
    def is_blank(self) -> np.ndarray:
        """Texts that say there is no value."""
        blank = pc.is_in(self.texts, value_set=pa.array(NA_WORDS))
        return blank.to_numpy(zero_copy_only=False)

    @cached_property
    def is_unknown(self) -> np.ndarray:
        """Texts such as 'unknown' and 'not reported'."""
        found = pc.match_substring_regex(self.texts, _UNKNOWN)
        return found.to_numpy(zero_copy_only=False)

    @cached_property
    def words(self) -> list[str]:
        """The texts as a list."""
        return self.texts.to_pylist()

    @cached_property
    def keys(self) -> list[str]:
        """What is compared of each text."""
        return [level_key(word) for word in self.words]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value for each text to one for each row, NaN where there is none."""
        return np.append(values, np.nan)[self.rows]

    def n_cells(self, chosen: np.ndarray) -> int:
        """Rows whose text is chosen."""
        return int(self.counts[chosen].sum())

    def first(self, chosen: np.ndarray) -> str:
        """The first chosen text, kept short."""
        return self.texts[int(np.flatnonzero(chosen)[0])].as_py()[:40]
