"""Text files as UTF-8 bytes, whatever they were written in."""

import codecs
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


class Text(NamedTuple):
    """The bytes of a text file from `start` on, in UTF-8 unless `doubtful`."""

    data: Any  # mmap or bytes
    start: int
    notes: tuple[str, ...]


def as_utf8(data: Any, source: str) -> Text:
    """Recode a text where its marks or its first bytes say it is not UTF-8."""
    for mark, encoding in _MARKS:
        if data[: len(mark)] == mark:
            return _recoded(data, encoding, source)
    start = len(codecs.BOM_UTF8) if data[:3] == codecs.BOM_UTF8 else 0
    _refuse_binary(data, source)
    text = Text(data, start, ())
    return text if _is_utf8(data[:_HEAD]) else as_western(text)


def as_western(text: Text) -> Text:
    """Recode what is not UTF-8 from cp1252 or, if that cannot be, latin-1."""
    raw = bytes(text.data)
    try:
        decoded, encoding = raw.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        decoded, encoding = raw.decode("latin-1"), "latin-1"
    note = f"text is not UTF-8 and was read as {encoding}"
    return Text(_plain_newlines(decoded.encode()), 0, (*text.notes, note))


def _recoded(data: Any, encoding: str, source: str) -> Text:
    try:
        decoded = bytes(data).decode(encoding)
    except UnicodeDecodeError as error:
        raise input_error(
            source, f"is damaged {encoding.upper()} text ({error.reason})."
        ) from error
    raw = decoded.encode("utf-8", "replace")
    _refuse_binary(raw, source)
    return Text(_plain_newlines(raw), 0, (f"encoding {encoding.upper()}",))


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _plain_newlines(data: bytes) -> bytes:
    return data.replace(b"\r", b"\n") if _ends_lines_with_cr(data) else data


def _ends_lines_with_cr(data: Any) -> bool:
    head = data[:_HEAD]
    return b"\r" in head and b"\n" not in head


def old_mac_lines(text: Text) -> Text:
    """Turn lines that end in CR alone into ordinary ones."""
    if not _ends_lines_with_cr(text.data):
        return text
    return text._replace(data=bytes(text.data).replace(b"\r", b"\n"))


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


_CONTROLS = bytes(c for c in range(1, 32) if c not in b"\t\n\v\f\r\x1a\x1b")
