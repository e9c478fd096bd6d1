"""Batches of samples as whole numbers."""

import numpy as np
import pytest

from imvc.metrics._batch_labels import batch_codes, batch_leakage


def test_batches_are_numbered_in_the_order_of_their_names():
    codes, names = batch_codes(["b", " a", None, "", float("nan"), "b "], 6)
    assert codes.tolist() == [1, 0, -1, -1, -1, 1]
    assert names == ("a", "b")


def test_numbers_have_one_name_whether_or_not_a_gap_made_them_floats():
    whole, gapped = (
        batch_codes([1, 2, 1], 3),
        batch_codes(np.array([1.0, 2, np.nan]), 3),
    )
    assert whole[1] == gapped[1] == ("1", "2")
    assert gapped[0].tolist() == [0, 1, -1]


def test_tuples_and_other_things_with_a_text_are_labels():
    codes, names = batch_codes([("lab", 1), ("lab", 2), ("lab", 1)], 3)
    assert codes.tolist() == [0, 1, 0]
    assert len(names) == 2


def test_a_series_is_aligned_by_the_ids_of_the_samples():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(["x", "y"], index=["p2", "p0"])
    codes, names = batch_codes(series, 3, ["p0", "p1", "p2"])
    assert [*map({0: "x", 1: "y", -1: None}.get, codes)] == ["y", None, "x"]
    assert batch_codes(series, 2)[0].tolist() == [0, 1]
    assert names == ("x", "y")


def test_a_series_with_other_ids_is_refused_with_the_remedy():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"none of the samples' ids.*batch.to_numpy"):
        batch_codes(pandas.Series(["x", "y"]), 2, ["p0", "p1"])
    with pytest.raises(ValueError, match="some ids twice"):
        batch_codes(pandas.Series(["x", "y"], index=["p0", "p0"]), 2, ["p0", "p1"])


def test_a_table_is_no_column_of_batches():
    with pytest.raises(ValueError, match=r"batch has shape \(3, 2\), but there are 3"):
        batch_codes(np.zeros((3, 2)), 3)


def test_leakage_needs_two_known_batches():
    labels = np.array([0, 0, 1, 1])
    assert np.isnan(batch_leakage(labels, np.full(4, -1)))
    assert np.isnan(batch_leakage(labels, np.array([0, 0, -1, -1])))
    assert batch_leakage(labels, np.array([0, 0, 1, -1])) == pytest.approx(1)


@pytest.mark.parametrize("given", ["site", None, 3], ids=repr)
def test_a_name_or_nothing_is_no_batch(given):
    with pytest.raises(TypeError, match=rf"batch={given!r} must be the batches: one"):
        batch_codes(given, 3)
