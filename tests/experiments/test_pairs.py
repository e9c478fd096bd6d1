"""Pairs of methods: counts, and the Bayesian signed-rank test."""

import numpy as np
import pytest

from imvc.experiments import compare_pairs, signed_rank_probabilities
from imvc.experiments._pairs import _uniform


def test_wins_ties_and_losses_are_counted_with_the_rope():
    scores = [[0.9, 0.5], [0.61, 0.6], [0.6, 0.605], [0.3, 0.5]]
    first, second = compare_pairs(scores, ["a", "b"])
    assert (first.wins, first.ties, first.losses) == (1, 2, 1)
    assert (second.first, second.second) == ("b", "a")
    assert (second.wins, second.ties, second.losses) == (1, 2, 1)
    assert (second.better, second.worse) == (first.worse, first.better)


def test_one_dataset_gives_the_probability_of_the_formula():
    # With one difference above twice the rope, the pseudo-dataset has weight
    # w ~ Beta(1/2, 1); "better" has the mass 1 - w^2, which is the largest where
    # w^2 < 1/2, with probability (1/2)^(1/4).
    better, equal, worse = signed_rank_probabilities([0.5])
    assert better == pytest.approx(0.5**0.25, abs=0.015)
    assert worse == 0
    assert better + equal == pytest.approx(1)


def test_probabilities_are_those_of_plain_dirichlet_draws(seed):
    rng = np.random.default_rng(seed)
    differences = rng.normal(0.01, 0.03, 7)
    z = np.concatenate([[0], differences])
    means = (z[:, None] + z) / 2
    counts = np.zeros(3)
    for weights in rng.dirichlet([0.5] + [1] * 7, 4000):
        joint = np.outer(weights, weights)
        above, below = joint[means > 0.01].sum(), joint[means < -0.01].sum()
        counts[np.argmax([above, 1 - above - below, below])] += 1
    # Two estimates with a standard deviation below 0.008 and 0.006 each.
    found = signed_rank_probabilities(differences)
    np.testing.assert_allclose(found, counts / 4000, atol=0.04)


def test_a_difference_of_the_rope_itself_is_none():
    assert signed_rank_probabilities([0.01, -0.01, 0.01]) == (0.0, 1.0, 0.0)


def test_the_stream_is_uniform_and_always_the_same():
    u = _uniform(200_000)
    assert 0 < u.min() < u.max() < 1
    counts = np.histogram(u, 20, (0, 1))[0]
    assert np.abs(counts - 10_000).max() < 500  # five standard deviations
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.01
    np.testing.assert_array_equal(u[:100], _uniform(100))


def test_a_table_with_gaps_is_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 2\) must be a full table"):
        compare_pairs([[0.5, np.nan]], ["a", "b"])
