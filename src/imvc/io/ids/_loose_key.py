"""Ids without what people and programs change in them by accident."""

import re
import unicodedata
from collections.abc import Callable, Sequence

# What no eye sees in a cell that was copied from a page counts as a space.
_SPACES = re.compile("[^\\S\n]+|[\u200b-\u200d\u2060\ufeff]+")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
BREAKS = "-_.:|/"  # marks between the parts of an id
ONE_BREAK = str.maketrans(BREAKS, "-" * len(BREAKS))
_POINT_ZERO = re.compile(r"(?m)(?<=[0-9])\.0$")


def _unicode_form(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


# In this order. Each works on many ids at once, one in a line.
LOOSE_STEPS: dict[str, Callable[[str], str]] = {
    "Unicode form": _unicode_form,
    "case": str.casefold,
    "spaces": lambda text: _SPACES.sub("", text),
    "leading zeros": lambda text: _ZEROS.sub("", text),
    "a trailing '.0'": lambda text: _POINT_ZERO.sub("", text),
    # R writes TCGA.02.0001 where the file had TCGA-02-0001.
    "punctuation": lambda text: text.translate(ONE_BREAK),
}


def loose_key(text: str) -> str:
    """What is left of an id when small differences are ignored.

    NFKC, casefolded, without white space, without the zeros in front of any number,
    without a ``.0`` after a last digit, one mark for all kinds of punctuation between
    parts. That there is a mark stays: A-1 is not A1.
    """
    return loose_keys([text])[0]


def loose_keys(ids: Sequence[str], without: str | None = None) -> list[str]:
    """`loose_key` of many ids; one of the `LOOSE_STEPS` may be left out."""
    if not ids:
        return []
    if any("\n" in text for text in ids):
        ids = [text.replace("\n", " ") for text in ids]
    lines = "\n".join(ids)
    for name, step in LOOSE_STEPS.items():
        if name != without:
            lines = step(lines)
    # An id of nothing but spaces is like no other.
    return [key or text for key, text in zip(lines.split("\n"), ids)]
