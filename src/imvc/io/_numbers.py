"""Numbers in cells of text: ``<0.5``, ``45%``, ``1,234.5``, ``1.234,5``."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_CENSORED = r"^(<=|>=|=<|=>|[<>≤≥])\s*"
_PERCENT = r"\s*%$"
_EXPONENT = r"([eE][-+]?[0-9]+)?$"
_INFINITE = r"^[-+]?(?i:inf(inity)?)$"
_BLANKS = r"'’\s\x{a0}\x{202f}\x{2009}"
_OTHER = {".": ",", ",": "."}


@dataclass(frozen=True, eq=False)
class Numbers:
    """What a list of texts holds as numbers, NaN where a text is none."""

    values: np.ndarray
    censored: np.ndarray  # values that are a bound
    format: str  # "%" if the numbers are percentages, "," if thousands are set apart


def read_numbers(
    texts: Any,
    counts: np.ndarray,
    *,
    decimal_comma: bool = False,
    grouped: bool = False,
    percent: bool | None = None,
) -> Numbers:
    """Read each text as a number.

    Parameters
    ----------
    texts : pyarrow.StringArray
        Trimmed texts.
    counts : ndarray of int
        How often each occurs: where texts disagree about their decimal mark, or about
        percentages, the more frequent kind is read and the other is no number.
    decimal_comma : bool
        The decimal mark, where the texts do not show it.
    grouped : bool
        Whether ``1,234`` is 1234 even if no text shows that it must be.
    percent : bool, optional
        Whether numbers carry a percent sign; by default what most of them do.
    """
    texts = pc.replace_substring(texts, "−", "-")
    censored = _matches(texts, _CENSORED)
    texts = pc.replace_substring_regex(texts, _CENSORED, "")
    signed = _matches(texts, _PERCENT)
    texts = pc.replace_substring_regex(texts, _PERCENT, "")
    point, comma = (int(counts[_shows(texts, mark)].sum()) for mark in ".,")
    decimal = "," if comma > point or (comma == point and decimal_comma) else "."
    other = _OTHER[decimal]
    values = _plain(texts, decimal)
    marked = _matches(texts, _groups(rf"\{other}", decimal))
    if not (grouped or point or comma):
        # "1,234" alone may be either; "1,234,567" would have shown it.
        marked[:] = False
    apart = marked | _matches(texts, _groups(f"[{_BLANKS}]", decimal))
    bare = pc.replace_substring_regex(texts, rf"[{_BLANKS}\{other}]", "")
    values = np.where(apart, _plain(bare, decimal), values)
    if percent is None:
        found = ~np.isnan(values)
        n_signed = counts[found & signed].sum()
        percent = bool(2 * n_signed > counts[found].sum())
    values[signed != percent] = np.nan
    used = ("," if (apart & ~np.isnan(values)).any() else "") + "%" * percent
    return Numbers(values, censored & ~np.isnan(values), used)


def may_be_number(texts: Any) -> np.ndarray:
    """Texts of nothing but the characters of numbers: a quick look at many."""
    return _matches(texts, rf"^([-+−<>=≤≥0-9.,eE%{_BLANKS}]+|[-+]?(?i:inf(inity)?))$")


def _plain(texts: Any, decimal: str) -> np.ndarray:
    """Numbers without marks between thousands."""
    pattern = rf"^[-+]?([0-9]+\{decimal}?[0-9]*|\{decimal}[0-9]+){_EXPONENT}"
    fits = pc.or_(
        pc.match_substring_regex(texts, pattern),
        pc.match_substring_regex(texts, _INFINITE),
    )
    written = pc.replace_substring(texts, decimal, ".")
    known = pc.if_else(fits, written, pa.scalar(None, pa.string()))
    return known.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()


def _groups(mark: str, decimal: str, times: str = "+", fraction: str = "*") -> str:
    """Pattern of a number whose thousands are set apart by a mark."""
    tail = rf"(\{decimal}[0-9]{fraction})" + ("?" if fraction == "*" else "")
    return rf"^[-+]?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}}){times}{tail}{_EXPONENT}"


def _shows(texts: Any, decimal: str) -> np.ndarray:
    """Texts that can only be read with this decimal mark: 3,5 or 1.234.567."""
    own, other = rf"\{decimal}", rf"\{_OTHER[decimal]}"
    fraction = ~np.isnan(_plain(texts, decimal)) & _matches(texts, own)
    either = _matches(texts, rf"^[-+]?[1-9][0-9]{{0,2}}{own}[0-9]{{3}}$")
    several = _matches(texts, _groups(other, decimal, "{2,}"))
    both = _matches(texts, _groups(other, decimal, "+", "+"))
    return (fraction & ~either) | several | both


def _matches(texts: Any, pattern: str) -> np.ndarray:
    found = pc.match_substring_regex(texts, pattern)
    return found.to_numpy(zero_copy_only=False).copy()
