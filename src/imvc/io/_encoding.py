"""Text files as UTF-8 bytes, whatever they were written in."""

import codecs
import re
from typing import Any, NamedTuple

from imvc.io._errors import input_error
from imvc.io._file_bytes import line_at

_HEAD = 256 * 1024
# The longer marks first: the mark of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(c for c in range(1, 32) if c not in b"\t\n\v\f\r\x1a\x1b")


class Text(NamedTuple):
    """The bytes of a text file from `start` on, in UTF-8 as far as the head tells."""

    data: Any  # mmap or bytes
    start: int
    notes: tuple[str, ...]


def as_utf8(data: Any, source: str) -> Text:
    """Recode a text where its marks or its first bytes say it is not UTF-8."""
    for mark, encoding in _MARKS:
        if data[: len(mark)] == mark:
            try:
                decoded = bytes(data).decode(encoding)
            except UnicodeDecodeError as error:
                raise input_error(
                    source, f"is damaged {encoding.upper()} text ({error.reason})."
                ) from error
            raw = decoded.encode("utf-8", "replace")
            _refuse_binary(raw, source)
            return _with_lines(raw, 0, (f"encoding {encoding.upper()}",))
    start = len(codecs.BOM_UTF8) if data[:3] == codecs.BOM_UTF8 else 0
    _refuse_binary(data, source)
    text = _with_lines(data, start, ())
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data[:_HEAD])
    except UnicodeDecodeError:
        return as_western(text)
    return text


def as_western(text: Text) -> Text:
    """Recode what is not UTF-8 from cp1252 or, if that cannot be, latin-1."""
    raw = bytes(text.data)
    try:
        decoded, encoding = raw.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        decoded, encoding = raw.decode("latin-1"), "latin-1"
    note = f"text is not UTF-8 and was read as {encoding}"
    return _with_lines(decoded.encode(), 0, (*text.notes, note))


def single_tabs(data: Any) -> bytes:
    """Columns that are aligned by runs of blanks, separated by single tabs instead."""
    data = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", bytes(data))
    return re.sub(rb"[ \t]+", b"\t", data)


def _with_lines(data: Any, start: int, notes: tuple[str, ...]) -> Text:
    """Text whose lines, if they end in CR alone as on old Macs, end in LF instead."""
    head = data[:_HEAD]
    if b"\r" in head and b"\n" not in head:
        data = bytes(data).replace(b"\r", b"\n")
    return Text(data, start, notes)


def _refuse_binary(data: Any, source: str) -> None:
    nul = data.find(b"\0")
    if nul >= 0:
        raise input_error(
            source,
            "holds NUL bytes, so it is not text; export the table as CSV, or give the "
            "file its right name.",
            line_at(data, nul),
        )
    head = data[:_HEAD]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > len(head) // 20:
        raise input_error(
            source, "is a binary file, not text; give the file its right name."
        )
