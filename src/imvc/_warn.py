"""Warnings that point at the user's own line."""

import sys
import warnings

__all__ = ["warn_user"]

_INSIDE = ("imvc.", "contextlib")


def warn_user(message, category=UserWarning):
    """Warn at the line that called this library, however deep inside we are."""
    level, frame = 1, sys._getframe()
    # Between two of our frames there may be that of a context manager.
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
