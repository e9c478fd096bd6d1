"""Warnings point at the user's own line, wherever that line is."""

import warnings

from imvc._warn import warn_user


def test_code_without_a_module_is_warned_too():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        exec("warn('careful')", {"warn": warn_user})
    assert str(told[0].message) == "careful"
    assert told[0].filename == "<string>"
