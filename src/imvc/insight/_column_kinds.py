"""What a column of metadata holds: the one decision, for tests and for pictures."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from imvc.metrics._labels import is_unknown

Kind = Literal["number", "category", "date", "text", "constant"]

FEW = 12  # so many different values are categories: whole numbers, or texts
_REPEATS = 3  # samples per value on average, below which many texts are free text
_MOST = 300  # different texts, beyond which no picture or test of them says anything
_WHOLE = 1e15  # whole numbers below it are written without a point
_NUMBERS = {int, float, np.float64, np.int64, type(None)}  # a bool is none of them
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
_DOTTED_DATE = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})")  # the day comes first
_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


@dataclass(frozen=True, eq=False)
class KnownColumn:
    """A column of anything, read as one kind.

    Parameters
    ----------
    kind : {"number", "category", "date", "text", "constant"}
        Numbers: all finite, and more than a few whole ones. Categories: values that
        come back, booleans and up to 12 different whole numbers among them. Dates:
        dates, times, and their texts in ISO form or like 31.12.2024. Text: more than 12
        different values with fewer than three samples each on average, or more than
        300: free text and identifiers. Constant: one value, or none.
    values : ndarray of float, shape (n,)
        Numbers, or days since 1970 of dates; NaN where unknown. Empty for others.
    levels : tuple of str
        The different values of anything but numbers and dates; in their order where
        they are whole numbers, else by the alphabet.
    codes : ndarray of int, shape (n,)
        Level of every sample, -1 where unknown. Empty for numbers and dates.
    """

    kind: Kind
    values: np.ndarray
    levels: tuple[str, ...]
    codes: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """True where the value is known, (n,)."""
        return ~np.isnan(self.values) if len(self.values) else self.codes >= 0

    @property
    def n_known(self) -> int:
        """How many values are known."""
        return int(self.known.sum())


def read_column(values: Any) -> KnownColumn:
    """A column of anything, as the kind that it is; unknown: None, NaN, NaT, blank."""
    column = np.asarray(values)
    if (numbers := _plain_numbers(column)) is not None:
        return _number_column(numbers)
    if column.dtype.kind == "M":
        column = column.astype("datetime64[us]")  # of nanoseconds objects are integers
    return _text_column([text_of(value) for value in column.astype(object)])


def _plain_numbers(column: np.ndarray) -> np.ndarray | None:
    """A column of numbers and None as floats; None unless all are, and finite."""
    if column.dtype == object and set(map(type, column)) <= _NUMBERS:
        column = column.astype(np.float64)
    if column.dtype.kind not in "iuf" or np.isinf(column).any():
        return None
    return column.astype(np.float64)


def _number_column(values: np.ndarray) -> KnownColumn:
    """The same as by way of texts, in a fraction of the time."""
    known = ~np.isnan(values)
    different = np.unique(values[known])
    if len(different) > 1 and not _few_whole(different.tolist()):
        return KnownColumn("number", values, (), np.empty(0, np.int64))
    codes = np.where(known, np.searchsorted(different, values), -1)
    levels = tuple(str(text_of(number)) for number in different.tolist())
    kind: Kind = "category" if len(levels) > 1 else "constant"
    return KnownColumn(kind, np.empty(0), levels, codes)


def _text_column(texts: list[str | None]) -> KnownColumn:
    counts = Counter(text for text in texts if text is not None)
    numbers = _all(_number, counts)
    if len(counts) > 1 and numbers is None:
        days = _all(day_number, counts)
        if days is not None:
            return _scale("date", texts, days)
    if len(counts) > 1 and numbers is not None and not _few_whole(numbers.values()):
        return _scale("number", texts, numbers)
    levels = sorted(counts, key=None if numbers is None else numbers.__getitem__)
    place: dict[str | None, int] = {text: i for i, text in enumerate(levels)}
    codes = np.array([place.get(text, -1) for text in texts], np.int64)
    kind: Kind = "category"
    if len(counts) < 2:
        kind = "constant"
    elif len(counts) > min(max(FEW, counts.total() / _REPEATS), _MOST):
        kind = "text"
    return KnownColumn(kind, np.empty(0), tuple(levels), codes)


def day_number(text: str) -> float:
    """Days from 1970 to a date or time in ISO form; a time without zone is UTC's.

    31.12.2024 is a date too; of 3/4/2024 nobody knows which is the day.
    """
    if dotted := _DOTTED_DATE.fullmatch(text):
        day, month, year = map(int, dotted.groups())
        return date(year, month, day).toordinal() - _FIRST_DAY.toordinal()
    if not _ISO_DATE.fullmatch(text):
        raise ValueError(f"{text!r} is no date in ISO form.")
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return (time - _FIRST_DAY) / _DAY


def day_text(days: float) -> str:
    """The date of a number of days from 1970."""
    # Quantiles of dates lie between them; no later date is named than was there.
    return date.fromordinal(_FIRST_DAY.toordinal() + int(np.floor(days))).isoformat()


def _scale(
    kind: Kind, texts: list[str | None], numbers: Mapping[str, float]
) -> KnownColumn:
    known = [np.nan if text is None else numbers[text] for text in texts]
    return KnownColumn(kind, np.array(known), (), np.empty(0, np.int64))


def text_of(value: Any) -> str | None:
    """The text of a value; None where it is unknown."""
    if is_unknown(value):
        return None
    # A whole number became a float where others of its column are not known.
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    return str(value).strip()


def _number(text: str) -> float:
    number = float(text)
    if not np.isfinite(number):
        raise ValueError(f"{text!r} is not finite.")
    return number


def _all(read: Any, texts: Iterable[str]) -> dict[str, float] | None:
    """Texts as numbers; None unless all of them are."""
    try:
        return {text: read(text) for text in texts}
    except (ValueError, OverflowError):
        return None


def _few_whole(numbers: Iterable[float]) -> bool:
    different = set(numbers)
    return len(different) <= FEW and all(x.is_integer() for x in different)
