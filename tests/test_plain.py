"""Results as plain text and plain JSON."""

import numpy as np
import pytest

from imvc._plain import aligned, plain


def test_numpy_and_tuples_become_the_types_of_json():
    value = {"a": (np.int64(1), np.float32(0.5)), "b": [True, None, "x"], "c": range(2)}
    assert plain(value) == {"a": [1, 0.5], "b": [True, None, "x"], "c": [0, 1]}
    assert type(plain(np.float64(1.0))) is float


@pytest.mark.parametrize("value", [float("nan"), np.inf, np.ones(2), {1: 2}, object()])
def test_what_json_has_no_type_for_is_an_error(value):
    with pytest.raises(TypeError, match="JSON has"):
        plain([value])


def test_what_json_has_no_type_for_may_be_replaced():
    assert plain({1: float("nan")}, lambda odd: None) == {"1": None}


def test_columns_stand_side_by_side():
    assert aligned([["a", "1"], ["bc", "22"]]) == "a    1\nbc  22"
    assert aligned([["a", "1", ""]], left=(0, 2)) == "a  1"
