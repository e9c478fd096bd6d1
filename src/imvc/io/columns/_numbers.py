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
    # The decimal mark if any has one, "g" for thousands in groups, "%" for percentages.
    format: str


def read_numbers(
    texts: Any,
    counts: np.ndarray,
    *,
    decimal_comma: bool = False,
    grouped: bool = False,
    number_format: str | None = None,
) -> Numbers:
    """Read each text as a number.

    A text that shows its decimal mark (3,5 or 1,234.5) is read by it. One that may be
    either (1,234) is read as the others of the column; with `number_format` as those of
    the fit, so that a number does not depend on the rows it stands among.

    Parameters
    ----------
    texts : pyarrow.StringArray
        Trimmed texts.
    counts : ndarray of int
        How often each occurs.
    decimal_comma : bool
        Whether the file has decimal commas, where the column does not tell.
    grouped : bool
        Whether ``1,234`` is 1234 even if no text shows that it must be.
    number_format : str, optional
        How the fit wrote its numbers. Without it, numbers carry a percent sign if most
        of them do; one that differs is no number.
    """
    file_has_commas = decimal_comma
    texts = pc.replace_substring(texts, "−", "-")
    censored = _matches(texts, _CENSORED)
    texts = pc.replace_substring_regex(texts, _CENSORED, "")
    signed = _matches(texts, _PERCENT)
    texts = pc.replace_substring_regex(texts, _PERCENT, "")
    point, comma = _shows(texts, "."), _shows(texts, ",")
    if number_format is None:
        n_point, n_comma = counts[point].sum(), counts[comma].sum()
        decimal_comma = n_comma > n_point or (n_comma == n_point and decimal_comma)
        # In a file of decimal commas a point can only set thousands apart.
        grouped = bool(grouped or n_point or n_comma or file_has_commas)
    else:
        decimal_comma = decimal_comma or "," in number_format
        grouped = "g" in number_format
    values, in_groups = _read(texts, comma | (decimal_comma & ~point))
    if not grouped:
        doubtful = in_groups & ~point & ~comma & _matches(texts, "[.,]")
        values[doubtful] = np.nan
    if number_format is None:
        n_signed = counts[signed & ~np.isnan(values)].sum()
        percent = bool(2 * n_signed > counts[~np.isnan(values)].sum())
    else:
        percent = "%" in number_format
    values[signed != percent] = np.nan
    is_number = ~np.isnan(values)
    mark = "," if decimal_comma else "."
    has_groups = bool((in_groups & is_number).any())
    has_mark = has_groups or bool((_matches(texts, rf"\{mark}") & is_number).any())
    written = mark * has_mark + "g" * has_groups + "%" * percent
    return Numbers(values, censored & is_number, written)


def _read(texts: Any, with_comma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers by the decimal mark of each text; and which set thousands apart."""
    values, in_groups = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
    for decimal, chosen in ((".", ~with_comma), (",", with_comma)):
        if chosen.any():
            some, other = texts.filter(pa.array(chosen)), _OTHER[decimal]
            apart = _matches(some, _groups(rf"\{other}", decimal))
            apart |= _matches(some, _groups(f"[{_BLANKS}]", decimal))
            bare = pc.replace_substring_regex(some, rf"[{_BLANKS}\{other}]", "")
            plain = _plain(some, decimal)
            values[chosen] = np.where(apart, _plain(bare, decimal), plain)
            in_groups[chosen] = apart
    return values, in_groups


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
