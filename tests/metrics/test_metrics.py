"""Every metric against its definition, written out slowly on small labelings."""

from itertools import combinations, permutations
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from imvc.metrics import (
    adjusted_rand,
    clustering_accuracy,
    inverse_purity,
    nmi,
    pairwise_fscore,
    pattern_leakage,
    purity,
    score_all,
)

AVERAGES = {
    "max": max,
    "min": min,
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: (a * b) ** 0.5,
}
TWO_VECTORS = [
    clustering_accuracy,
    nmi,
    purity,
    inverse_purity,
    adjusted_rand,
    pairwise_fscore,
    score_all,
]


@st.composite
def two_labelings(draw, max_samples=12, max_labels=4):
    n = draw(st.integers(1, max_samples))
    labels = st.lists(st.integers(0, max_labels - 1), min_size=n, max_size=n)
    return draw(labels), draw(labels)


def pairs_together(labels):
    return {
        (i, j) for i, j in combinations(range(len(labels)), 2) if labels[i] == labels[j]
    }


def entropy(labels):
    n = len(labels)
    return -sum(
        labels.count(a) / n * log(labels.count(a) / n) for a in sorted(set(labels))
    )


@given(two_labelings())
def test_accuracy_is_the_best_of_all_one_to_one_maps(labelings):
    true, pred = labelings
    size = max(true + pred) + 1
    best = max(
        sum(t == image[p] for t, p in zip(true, pred))
        for image in permutations(range(size))
    )
    assert clustering_accuracy(true, pred) == best / len(true)


@given(two_labelings())
def test_purity_counts_the_majority_class_of_each_cluster(labelings):
    true, pred = labelings
    members = {j: [t for t, p in zip(true, pred) if p == j] for j in set(pred)}
    majority = sum(max(m.count(t) for t in m) for m in members.values())
    assert purity(true, pred) == majority / len(true)
    assert inverse_purity(pred, true) == purity(true, pred)


@given(two_labelings(), st.sampled_from([0.5, 1.0, 2.0]))
def test_pairwise_scores_count_all_pairs(labelings, beta):
    relevant, found = map(pairs_together, labelings)
    scores = pairwise_fscore(*labelings, beta=beta)
    if not relevant and not found:
        assert scores == (1.0, 1.0, 1.0)
        return
    both = len(relevant & found)
    precision = both / len(found) if found else 0.0
    recall = both / len(relevant) if relevant else 0.0
    assert scores.precision == precision
    assert scores.recall == recall
    weighted = beta**2 * precision + recall
    expected = (1 + beta**2) * precision * recall / weighted if weighted else 0.0
    assert scores.fscore == pytest.approx(expected, rel=1e-12)


@given(two_labelings())
def test_adjusted_rand_is_the_rand_index_less_its_expectation(labelings):
    relevant, found = map(pairs_together, labelings)
    value = adjusted_rand(*labelings)
    if relevant == found:
        assert value == 1.0
        return
    expected = len(relevant) * len(found) / comb(len(labelings[0]), 2)
    mean = (len(relevant) + len(found)) / 2
    brute = (len(relevant & found) - expected) / (mean - expected)
    assert value == pytest.approx(brute, abs=1e-12)


@given(two_labelings(), st.sampled_from(sorted(AVERAGES)))
def test_nmi_is_mutual_information_over_the_average_entropy(labelings, average):
    true, pred = labelings
    h_true, h_pred = entropy(true), entropy(pred)
    value = nmi(true, pred, average=average)
    if len(set(true)) == 1 or len(set(pred)) == 1:
        assert value == float(len(set(true)) == len(set(pred)))
        return
    information = h_true + h_pred - entropy(list(zip(true, pred)))
    divisor = AVERAGES[average](h_true, h_pred)
    assert value == pytest.approx(information / divisor, abs=1e-9)
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(
        normalized_mutual_info_score(true, pred, average_method=average), abs=1e-9
    )


@given(two_labelings(), st.permutations(range(4)))
def test_names_and_order_of_labels_do_not_matter(labelings, image):
    true, pred = labelings
    renamed = [f"cluster {image[p]}" for p in pred]
    expected = score_all(true, pred)
    assert score_all(true, renamed) == pytest.approx(expected, abs=1e-12)
    assert score_all(np.array(true, dtype=object), pred) == pytest.approx(
        expected, abs=1e-12
    )


@given(two_labelings())
def test_exchanging_the_labelings_exchanges_what_it_should(labelings):
    true, pred = labelings
    there, back = score_all(true, pred), score_all(pred, true)
    for name in ("acc", "nmi", "nmi_arithmetic", "ari", "fscore"):
        assert there[name] == pytest.approx(back[name], abs=1e-12)
    assert there["purity"] == back["inverse_purity"]
    assert there["precision"] == back["recall"]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_equal_partitions_score_exactly_one(labels):
    assert set(score_all(labels, [-7 * a for a in labels]).values()) == {1.0}


def test_score_all_has_a_fixed_order_and_agrees_with_the_single_metrics():
    rng = np.random.RandomState(0)
    true, pred = rng.randint(4, size=200), rng.randint(5, size=200)
    pairs = pairwise_fscore(true, pred)
    assert list(score_all(true, pred).items()) == [
        ("acc", clustering_accuracy(true, pred)),
        ("nmi", nmi(true, pred)),
        ("nmi_arithmetic", nmi(true, pred, average="arithmetic")),
        ("ari", adjusted_rand(true, pred)),
        ("purity", purity(true, pred)),
        ("inverse_purity", inverse_purity(true, pred)),
        ("fscore", pairs.fscore),
        ("precision", pairs.precision),
        ("recall", pairs.recall),
    ]


def test_a_nearly_single_cluster_is_inverse_pure_but_not_pure():
    # Prokaryotic's class sizes; all but three samples in one cluster.
    true = np.repeat([0, 1, 2, 3], [313, 91, 35, 112])
    pred = np.zeros(551, dtype=int)
    pred[:3] = [1, 2, 3]
    assert purity(true, pred) == pytest.approx(0.57, abs=0.01)
    assert inverse_purity(true, pred) == pytest.approx(0.99, abs=0.01)
    assert nmi(true, pred) < 0.01


def test_pair_counts_are_exact_for_ten_million_samples():
    n = 10_000_000
    true = np.zeros(n, dtype=np.int8)
    true[0] = 1
    scores = pairwise_fscore(true, np.zeros(n, dtype=np.int8))
    assert scores.precision == comb(n - 1, 2) / comb(n, 2)
    assert scores.recall == 1.0
    assert 1 - scores.precision == pytest.approx(2 / n, rel=1e-6)


def test_many_singletons_do_not_need_a_square_table():
    labels = np.arange(100_000)
    assert pairwise_fscore(labels, labels[::-1]).fscore == 1.0
    assert nmi(labels, labels // 2, average="min") == pytest.approx(1.0)


def test_leakage_is_the_adjusted_information_about_the_pattern():
    rng = np.random.RandomState(3)
    mask = rng.randint(0, 2, size=(60, 11)).astype(bool)
    mask[rng.randint(60, size=50)] = mask[0]
    labels = rng.randint(3, size=60)
    patterns = ["".join(map(str, row.astype(int))) for row in mask]
    expected = adjusted_mutual_info_score(labels, patterns)
    assert pattern_leakage(labels, mask) == pytest.approx(expected, abs=1e-12)
    assert pattern_leakage(patterns, mask) == pytest.approx(1.0)
    assert pattern_leakage(labels, mask.astype(int)) == pattern_leakage(labels, mask)


def test_leakage_of_unrelated_labels_scatters_around_zero():
    rng = np.random.RandomState(0)
    mask = rng.randint(0, 2, size=(100, 3)).astype(bool)
    values = [pattern_leakage(rng.randint(4, size=100), mask) for _ in range(60)]
    # Without the clip that would bias the mean: some are negative.
    assert min(values) < 0
    assert abs(np.mean(values)) < 3 * np.std(values) / 60**0.5


@pytest.mark.parametrize(
    ("labels", "mask"),
    [([0, 1, 0], np.ones((3, 2))), ([5, 5, 5], [[1, 0], [0, 1], [1, 1]])],
)
def test_leakage_is_zero_with_one_pattern_or_one_cluster(labels, mask):
    assert pattern_leakage(labels, mask) == 0.0


@pytest.mark.parametrize("metric", TWO_VECTORS)
@pytest.mark.parametrize(
    ("true", "pred", "message"),
    [
        ([], [], "labels_true is empty"),
        ([0, 1], [0], "labels_true has 2 labels and labels_pred has 1"),
        ([0, 1], [[0], [1]], r"labels_pred must be one-dimensional.*\(2, 1\).*ravel"),
        ([0.0, 0.5], [0, 1], "labels_true holds 0.5 at position 1"),
        ([0, 1], [0, np.nan], "labels_pred holds nan at position 1"),
        (["a", None], [0, 1], "labels_true holds None at position 1"),
        ([0, 1], [1j, 2j], "labels_pred has dtype complex128"),
    ],
)
def test_unusable_labels_are_named(metric, true, pred, message):
    with pytest.raises(ValueError, match=message):
        metric(true, pred)


def test_whole_floats_and_booleans_are_labels():
    assert nmi([0.0, 0.0, 1.0], [True, True, False]) == 1.0


def test_unknown_average_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"average='mean' is unknown.*'arithmetic'"):
        nmi([0, 1], [0, 1], average="mean")


@pytest.mark.parametrize("beta", [0, -1.0, np.nan, np.inf, "1"])
def test_beta_must_be_a_positive_number(beta):
    with pytest.raises(ValueError, match=r"beta=.*must be a positive number"):
        pairwise_fscore([0, 1], [0, 1], beta=beta)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([1, 1, 0], r"mask has shape \(3,\).*3 samples"),
        (np.ones((2, 2)), r"mask has shape \(2, 2\).*3 samples"),
        ([[1, 2], [1, 0], [0, 1]], "mask must hold True/False or 1/0 only"),
    ],
)
def test_unusable_masks_are_named(mask, message):
    with pytest.raises(ValueError, match=message):
        pattern_leakage([0, 1, 1], mask)
