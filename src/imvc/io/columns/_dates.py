"""Dates in cells of text, as days since 1970-01-01."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ISO = "%Y-%m-%d"
COMPACT = "%Y%m%d"  # eight digits are a number unless a date is asked for
_FIRST_YEAR, _LAST_YEAR = 1800, 2200
_YEAR, _MONTH, _DAY = r"(?P<Y>[0-9]{4})", r"(?P<m>[0-9]{1,2})", r"(?P<d>[0-9]{1,2})"
_NAME = r"(?P<b>[^-/., 0-9]+)\.?"
_TIME = (
    r"(?:(?:T|,?\s+)(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2}(?:\.[0-9]+)?))?"
    r"\s*(?P<p>[AaPp]\.?[Mm]\.?)?\s*(?P<z>Z|UTC|[-+][0-9]{2}:?[0-9]{2})?)?$"
)
_PATTERNS = {
    ISO: f"{_YEAR}-{_MONTH}-{_DAY}",
    "%Y/%m/%d": f"{_YEAR}/{_MONTH}/{_DAY}",
    "%d-%b-%Y": rf"{_DAY}\.?[-/ ]{_NAME}[-/ ]{_YEAR}",
    "%b %d, %Y": rf"{_NAME} {_DAY},? {_YEAR}",
    "%d.%m.%Y": rf"{_DAY}\.\s?{_MONTH}\.\s?{_YEAR}",
    "%d/%m/%Y": f"{_DAY}/{_MONTH}/{_YEAR}",
    "%m/%d/%Y": f"{_MONTH}/{_DAY}/{_YEAR}",
    "%d-%m-%Y": f"{_DAY}-{_MONTH}-{_YEAR}",
    "%m-%d-%Y": f"{_MONTH}-{_DAY}-{_YEAR}",
    COMPACT: "(?P<Y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})",
}
DATE_FORMATS = tuple(_PATTERNS)
_MAY_BE = r"^([0-9]{1,4}[-/. ]|[^-/., 0-9]+\.? [0-9]|[0-9]{8}$)"
_PLAIN = DATE_FORMATS[:4]  # nobody can read these in two ways
_SWAPPED = {"%d/%m/%Y": "%m/%d/%Y", "%d-%m-%Y": "%m-%d-%Y"}
# English, German, French and Spanish, as far as their first three letters differ.
_MONTHS = (
    "jan ene", "feb fév fev", "mar mär mrz", "apr avr abr", "may mai", "jun",
    "jul", "aug aoû aou ago", "sep", "oct okt", "nov", "dec dez déc dic",
)  # fmt: skip
_MONTH_OF = {
    name: str(i) for i, names in enumerate(_MONTHS, 1) for name in names.split()
}


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written."""

    format: str
    share: float  # of the cells that are dates in this format
    ambiguous: bool  # whether day and month could as well be the other way round

    @property
    def order(self) -> str:
        """What comes first, where it needs to be told."""
        return {"%d": " (day first)", "%m": " (month first)"}.get(
            "" if "%b" in self.format else self.format[:2], ""
        )


def find_date_format(
    texts: Any, counts: np.ndarray, *, compact: bool = False
) -> DateFormat | None:
    """The format under which most cells are dates; day first where nothing tells."""
    total = int(counts.sum())
    if not pc.any(pc.match_substring_regex(texts, _MAY_BE)).as_py():
        return None
    formats = [f for f in _PATTERNS if compact or f != COMPACT]
    days = {f: read_days(texts, f) for f in formats}
    n_cells = {f: int(counts[~np.isnan(days[f])].sum()) for f in formats}
    best = max(formats, key=lambda f: n_cells[f])
    if not n_cells[best]:
        return None
    swapped = days.get(_SWAPPED.get(best, ""))
    ambiguous = (
        swapped is not None
        and np.array_equal(np.isnan(swapped), np.isnan(days[best]))
        and not np.array_equal(swapped, days[best], equal_nan=True)
    )
    return DateFormat(best, n_cells[best] / total, ambiguous)


def read_days_of_fit(texts: Any, date_format: str) -> np.ndarray:
    """Days of texts in the format of the fit, or in one that nobody can mistake."""
    days = read_days(texts, date_format)
    for other in _PLAIN:
        if np.isnan(days).any():
            days = np.where(np.isnan(days), read_days(texts, other), days)
    return days


def read_days(texts: Any, date_format: str) -> np.ndarray:
    """Days since 1970-01-01, NaN where a text is no date in this format."""
    found = pc.extract_regex(texts, f"^{_PATTERNS[date_format]}{_TIME}")
    matched = pc.is_valid(found).to_numpy(zero_copy_only=False)
    days = np.full(len(texts), np.nan)
    if matched.any():
        found = found.drop_null()
        parts = dict(zip([field.name for field in found.type], found.flatten()))
        if "b" in parts:
            parts["m"] = _month_numbers(parts["b"])
        days[matched] = _calendar_days(parts) + _time_of_day(parts)
    return days


def _month_numbers(names: Any) -> Any:
    short = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3).dictionary_encode()
    numbers = [_MONTH_OF.get(name, "0") for name in short.dictionary.to_pylist()]
    return pa.array(numbers).take(short.indices)


def _calendar_days(parts: dict[str, Any]) -> np.ndarray:
    """Days of year, month and day; NaN for dates that no calendar has."""
    year, month, day = (_integers(parts[name]) for name in "Ymd")
    fits = (year >= _FIRST_YEAR) & (year <= _LAST_YEAR) & (month >= 1) & (month <= 12)
    months = np.where(fits, 12 * (year - 1970) + month - 1, 0).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    after = (months + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    return np.where(fits & (day >= 1) & (days < after), days, np.nan)


def _time_of_day(parts: dict[str, Any]) -> np.ndarray:
    """Fraction of a day, in universal time where a zone is written; NaN beyond 24 h."""
    hour, minute = _integers(parts["H"]), _integers(parts["M"])
    second = pc.if_else(pc.equal(parts["S"], ""), "0", parts["S"]).cast(pa.float64())
    half = np.array([text[:1].lower() for text in parts["p"].to_pylist()])
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    offset = np.array([_zone_minutes(text) for text in parts["z"].to_pylist()])
    seconds = 60 * (60 * hour + minute - offset) + second.to_numpy()
    fits = (hour <= 24) & (minute < 60) & (second.to_numpy() < 61)
    return np.where(fits, seconds / 86400, np.nan)


def _zone_minutes(text: str) -> int:
    if text[:1] not in ("-", "+"):
        return 0
    minutes = 60 * int(text[1:3]) + int(text[-2:])
    return -minutes if text[0] == "-" else minutes


def _integers(texts: Any) -> np.ndarray:
    return pc.if_else(pc.equal(texts, ""), "0", texts).cast(pa.int64()).to_numpy()


def is_date(dtype: Any) -> bool:
    """Whether an Arrow type holds dates, with or without a time."""
    return pa.types.is_date(dtype) or pa.types.is_timestamp(dtype)


def days_of_arrow(column: Any) -> np.ndarray:
    """Days since 1970-01-01 of a column of dates or times; NaN where null or absurd."""
    known = pc.is_valid(column).to_numpy()
    if pa.types.is_timestamp(column.type):
        per_day = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
        days = pc.fill_null(column.cast(pa.int64()), 0).to_numpy() / (86400 * per_day)
    else:
        whole = column.cast(pa.date32()).cast(pa.int32())
        days = pc.fill_null(whole, 0).to_numpy().astype(np.float64)
    first, after = (
        np.datetime64(f"{year}-01-01", "D").astype(np.int64)
        for year in (_FIRST_YEAR, _LAST_YEAR + 1)
    )
    return np.where(known & (days >= first) & (days < after), days, np.nan)
