"""column_leakage: information that clusters share with a column, and its p value."""

import math
from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from imvc.metrics import column_leakage, pattern_leakage


def test_the_information_is_that_of_scikit_learn(rng):
    labels, site = rng.integers(3, size=80), rng.integers(4, size=80)
    found, _ = column_leakage(labels, site)
    assert found == pytest.approx(adjusted_mutual_info_score(site, labels))


def test_a_column_of_patterns_leaks_as_the_pattern_does(rng):
    mask = rng.random((90, 3)) < 0.7
    labels = rng.integers(3, size=90)
    patterns = ["".join(map(str, row)) for row in mask.astype(int)]
    found, _ = column_leakage(labels, patterns)
    assert found == pytest.approx(pattern_leakage(labels, mask))


def test_the_p_value_is_that_of_all_permutations():
    labels = np.array([0, 0, 0, 1, 1, 1, 1])
    site = np.array(list("aabbbbb"))
    observed = adjusted_mutual_info_score(site, labels)
    every = [
        adjusted_mutual_info_score(site[list(order)], labels)
        for order in permutations(range(7))
    ]
    exact = np.mean(np.array(every) >= observed - 1e-12)
    _, p = column_leakage(labels, site, n_permutations=20_000)
    assert p == pytest.approx(exact, abs=5 * math.sqrt(exact / 20_000))


def test_p_values_of_unrelated_columns_are_spread_evenly(rng):
    labels = rng.integers(4, size=120)
    p = [
        column_leakage(labels, rng.integers(5, size=120), n_permutations=199)[1]
        for _ in range(200)
    ]
    # Five standard deviations of a share of 5 % in 200 draws are 7.7 %.
    assert np.mean(np.array(p) <= 0.05) <= 0.13
    assert 0.4 < np.mean(p) < 0.6


def test_a_planted_batch_is_found(rng):
    labels = rng.integers(3, size=150)
    plate = np.where(rng.random(150) < 0.3, rng.integers(3, size=150), labels)
    information, p = column_leakage(labels, plate)
    assert information > 0.2
    assert p == 0.001


@pytest.mark.parametrize("unknown", [None, float("nan"), " "], ids=repr)
def test_samples_with_unknown_values_are_left_out(unknown):
    labels = [0, 0, 1, 1, 0, 1]
    site = np.array(["a", "a", "b", "b", unknown, unknown], dtype=object)
    assert column_leakage(labels, site) == column_leakage(labels[:4], site[:4])


@pytest.mark.parametrize("column", [["a"] * 6, [None] * 6, [np.nan] * 6], ids=repr)
def test_a_column_that_says_nothing_leaks_nothing(column):
    assert column_leakage([0, 0, 1, 1, 0, 1], column) == (0.0, 1.0)


def test_without_permutations_there_is_no_p_value():
    assert math.isnan(column_leakage([0, 1], ["a", "b"], n_permutations=0)[1])


def test_the_same_seed_gives_the_same_p_value(rng):
    labels, site = rng.integers(3, size=50), rng.integers(3, size=50)
    assert column_leakage(labels, site) == column_leakage(labels, site)


def test_a_column_of_another_length_is_an_error():
    with pytest.raises(ValueError, match="labels has 3 labels and column has 2 values"):
        column_leakage([0, 1, 1], ["a", "b"])


def test_a_negative_number_of_permutations_is_an_error():
    with pytest.raises(ValueError, match="n_permutations=-1 must be 0 or more"):
        column_leakage([0, 1], ["a", "b"], n_permutations=-1)
