"""Sentences for a terminal, broken between words."""

import textwrap


def hanging(text: str, width: int) -> str:
    """Lines of at most `width` characters, all but the first one indented.

    A word that is longer, such as a path, stays whole: it can still be copied.
    """
    lines = textwrap.wrap(
        text,
        max(width, 20),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)
