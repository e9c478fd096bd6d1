"""Results and errors as plain text and JSON, and what JSON of others may hold."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, get_args, get_origin

from imvc._files import is_full

__all__ = [
    "aligned",
    "cut",
    "error_text",
    "fits",
    "is_wrong_input",
    "plain",
    "wrong_key",
]

_TEXT = 100  # characters of an id or a value
_WRONG_INPUT = (
    ValueError,
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)


def aligned(
    lines: Sequence[Sequence[str]], left: Sequence[int] = (0,), gap: str = "  "
) -> str:
    """Columns side by side: those in ``left`` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    texts = (
        gap.join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        )
        for line in lines
    )
    return "\n".join(text.rstrip() for text in texts)


def cut(text: object, width: int = _TEXT) -> str:
    """`text` in at most `width` characters, with an ellipsis where it was cut."""
    line = str(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def plain(value: Any, otherwise: Callable[[Any], Any] | None = None) -> Any:
    """``value`` in the types of JSON, which knows neither NaN, NumPy nor tuples.

    What has no such type goes through ``otherwise``; without it, it is a TypeError.
    """
    if isinstance(value, Mapping):
        if otherwise is None and not all(isinstance(key, str) for key in value):
            raise TypeError(f"JSON has only text for the keys of {value!r}.")
        return {str(key): plain(item, otherwise) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item, otherwise) for item in value]
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        value = value.item()
    finite = not isinstance(value, float) or math.isfinite(value)
    if finite and isinstance(value, str | int | float | None):  # a bool is an int
        return value
    if otherwise is None:
        raise TypeError(f"JSON has no type for {value!r}.")
    return otherwise(value)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value of JSON is of a kind like ``dict[str, list[int]] | None``.

    ``float`` takes integers as well; a bool is neither.
    """
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        return any(fits(value, own) for own in inner)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(fits(own, inner[0]) for own in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(
            fits(key, inner[0]) and fits(own, inner[1]) for key, own in value.items()
        )
    if kind in (int, float) and isinstance(value, bool):
        return False
    return kind is Any or isinstance(value, (int, float) if kind is float else kind)


def wrong_key(content: Mapping[str, Any], kinds: Mapping[str, Any]) -> str | None:
    """The first key that is not there or not of its kind; None if all are right."""
    for key, kind in kinds.items():
        if key not in content or not fits(content[key], kind):
            return key
    return None


def error_text(error: BaseException) -> str:
    """What an error says to a user, in one line."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{os.fspath(error.filename)}: {error.strerror}"
    elif isinstance(error, OSError) and is_full(error):
        text = f"the output cannot be written: {error.strerror}."
    elif isinstance(error, MemoryError) and not text:
        text = "out of memory; take fewer samples or a method that needs less."
    elif isinstance(error, KeyError | AssertionError | IndexError):
        text = f"{type(error).__name__}: {text} (imvc --debug shows where)"
    return " ".join(text.split()) or type(error).__name__


def is_wrong_input(error: BaseException) -> bool:
    """Whether an error is about what the user gave, not about this program."""
    # NumPy's LinAlgError is a ValueError, but no fault of the user's.
    return isinstance(error, _WRONG_INPUT) and type(error).__name__ != "LinAlgError"
