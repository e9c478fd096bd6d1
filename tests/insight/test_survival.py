"""Survival by cluster: curves, numbers at risk, the log-rank test and its words."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import CensoredData, logrank

from imvc import associate
from imvc.insight import check_survival
from imvc.insight._survival import log_rank, survival_events, survival_times


def study(rng, n=120, k=3, effect=0.0):
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    died = np.ceil(rng.exponential(20, n) * np.exp(-effect * labels))
    left = np.ceil(rng.exponential(30, n))
    return labels, np.minimum(died, left), died <= left


def of(labels, time, event):
    return associate(labels, {}, survival=(time, event)).survival


def slow_log_rank(labels, times, events):
    """Time by time: who is at risk, who dies, and how many of each group should."""
    groups = np.unique(labels)
    surplus, covariance = np.zeros(len(groups)), np.zeros((len(groups),) * 2)
    for t in np.unique(times[events]):
        risk = np.array([np.sum((labels == g) & (times >= t)) for g in groups])
        died = np.array([np.sum((labels == g) & (times == t) & events) for g in groups])
        n, d = risk.sum(), died.sum()
        surplus += died - d * risk / n
        if n > 1:
            share = risk / n
            part = np.diag(share) - np.outer(share, share)
            covariance += part * d * (n - d) / (n - 1)
    z = surplus[:-1]
    statistic = z @ np.linalg.solve(covariance[:-1, :-1], z)
    return statistic, stats.chi2.sf(statistic, len(groups) - 1)


def test_two_groups_have_the_log_rank_test_of_scipy(rng):
    labels, times, events = study(rng, k=2, effect=0.3)
    groups = [
        CensoredData(
            uncensored=times[(labels == g) & events],
            right=times[(labels == g) & ~events],
        )
        for g in (0, 1)
    ]
    expected = logrank(*groups)
    statistic, p = log_rank(labels, times, events)
    assert statistic == pytest.approx(expected.statistic**2)
    assert p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_any_number_of_groups_agrees_with_the_slow_sum(rng, k):
    labels, times, events = study(rng, k=k, effect=0.2)
    np.testing.assert_allclose(
        log_rank(labels, times, events), slow_log_rank(labels, times, events)
    )


def test_p_values_of_equal_groups_are_spread_evenly():
    rng = np.random.default_rng(0)
    p = [log_rank(*study(rng))[1] for _ in range(300)]
    # Five standard deviations of a share of 5 % in 300 draws are 6.3 %.
    assert np.mean(np.array(p) < 0.05) < 0.115
    assert 0.4 < np.mean(p) < 0.6


def test_a_group_that_left_before_the_first_event_does_not_count(rng):
    labels, times, events = study(rng, k=2)
    early = (np.append(labels, 5), np.append(times, 0.5), np.append(events, False))
    np.testing.assert_allclose(log_rank(*early), log_rank(labels, times, events))


def test_a_curve_is_the_product_of_the_shares_that_survive():
    found = of([0] * 6, [1, 2, 2, 3, 4, 5], [1, 1, 0, 1, 0, 0]).curves[0]
    assert found.times == (0, 1, 2, 3)
    np.testing.assert_allclose(
        found.survival, [1, 5 / 6, 5 / 6 * 4 / 5, 5 / 6 * 4 / 5 * 2 / 3]
    )
    assert found.median == 3
    assert (found.n_samples, found.n_events, found.last) == (6, 3, 5)


def test_the_curve_lies_between_its_limits(rng):
    labels, times, events = study(rng)
    for curve in of(labels, times, events).curves:
        low, middle, high = map(np.array, (curve.low, curve.survival, curve.high))
        known = ~np.isnan(low)
        assert known.sum() > 5
        assert (low[known] <= middle[known]).all()
        assert (middle[known] <= high[known]).all()


def test_samples_at_risk_are_those_still_observed():
    found = of([0, 0, 0, 1], [10, 20, 45, 50], [1, 0, 1, 0])
    assert found.marks == (0, 10, 20, 30, 40, 50)
    assert found.curves[0].at_risk == (3, 3, 2, 1, 1, 0)
    assert found.curves[1].at_risk == (1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize("last", [0.003, 1, 7, 99, 2500, 1e6])
def test_there_are_about_five_times_at_which_samples_are_counted(last):
    marks = of([0, 1], [last, last / 2], [1, 1]).marks
    assert 3 <= len(marks) <= 6
    assert marks[0] == 0
    assert marks[-1] <= last * 1.0000001


def test_a_planted_difference_is_found_and_told(rng):
    labels, times, events = study(rng, n=300, k=2, effect=1.0)
    found = of(labels, times, events)
    assert found.p < 0.001
    medians = {c.cluster: c.median for c in found.curves}
    assert found.sentence == (
        f"Survival differs between the clusters (log-rank test, p < 0.001): the median "
        f"is {medians[1]:g} in cluster 1 and {medians[0]:g} in cluster 0."
    )


def test_a_cluster_of_which_most_survive_has_no_median():
    labels = np.repeat([0, 1], 20)
    found = of(labels, [*range(1, 21), *[30] * 20], np.repeat([1, 0], 20))
    assert [c.median for c in found.curves] == [10, None]
    assert found.sentence.endswith(
        "the median is 10 in cluster 0; more than half of cluster 1 survive the time "
        "observed."
    )


def test_of_many_clusters_only_the_ends_are_named():
    labels = np.repeat(np.arange(8), 10)
    found = of(labels, 10 * labels + 1 + np.arange(80) % 10, np.ones(80))
    assert found.sentence.endswith("the median is 5 in cluster 0 and 75 in cluster 7.")


def test_no_difference_is_said_plainly():
    found = of([0, 1] * 20, np.repeat(np.arange(20), 2) + 1, np.ones(40))
    assert found.p == pytest.approx(1)
    assert found.sentence == (
        "No difference of survival between the clusters was found (log-rank test, "
        "p 1.00)."
    )


def test_samples_without_time_or_event_are_left_out_and_counted(rng):
    labels, times, events = study(rng)
    time = times.astype(object)
    event = events.astype(object)
    time[:10], event[5:15] = None, None
    found = of(labels, time, event)
    assert found.p == pytest.approx(log_rank(labels[15:], times[15:], events[15:])[1])
    assert (found.n_known, found.n_unknown) == (105, 15)
    assert found.sentence.endswith("15 samples without time or event are left out.")


@pytest.mark.parametrize(
    ("labels", "times", "events", "sentence"),
    [
        ([0, 0], [1, 2], [1, 0], "Survival is known in one cluster only: there is"),
        ([0, 1], [1, 2], [0, 0], "No event happened in any cluster: survival was"),
        ([0, 1], [None, 2], [1, None], "Survival is not known of any sample: not"),
    ],
    ids=["one cluster", "no event", "nothing known"],
)
def test_where_there_is_nothing_to_test_it_says_so(labels, times, events, sentence):
    found = of(labels, times, events)
    assert found.p is None
    assert found.sentence.startswith(sentence)


@pytest.mark.parametrize(
    "words",
    [
        [1, 0],
        [True, False],
        [1.0, 0.0],
        ["1", "0"],
        ["dead", "alive"],
        ["Event", "Censored"],
        ["YES", "no"],
        ["Deceased", "Living"],
        ["1:DECEASED", "0:LIVING"],
    ],
    ids=str,
)
def test_events_are_numbers_or_words(words):
    found = survival_events(np.array([*words, None], dtype=object), "status")
    np.testing.assert_array_equal(found, [1, 0, np.nan])


def test_unknown_words_are_an_error_that_names_them():
    with pytest.raises(ValueError, match="event 'status' holds 'lost', '2'; write 1"):
        survival_events(["dead", "lost", 2, "lost"], "status")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1, -5, 2], "time 'OS' holds '-5'; times are finite and not negative"),
        ([1, math.inf], "time 'OS' holds 'inf'; times are finite"),
        (["12", "a year"], "time 'OS' holds 'a year', which are no numbers"),
    ],
    ids=["negative", "infinite", "words"],
)
def test_times_that_are_none_are_an_error_that_names_them(times, message):
    with pytest.raises(ValueError, match=message):
        survival_times(times, "OS")


def test_times_may_be_texts_and_unknown():
    np.testing.assert_array_equal(
        survival_times(["12", "", None], "t"), [12, np.nan, np.nan]
    )


def test_columns_of_survival_are_tested_together_only(rng):
    labels, times, events = study(rng)
    columns = {"OS": times, "status": events, "age": rng.normal(size=120)}
    found = associate(labels, columns, survival=("OS", "status"))
    assert [column.name for column in found.columns] == ["age"]
    assert (found.survival.time, found.survival.event) == ("OS", "status")


def test_a_name_that_no_column_has_is_an_error_with_the_nearest():
    columns = {"OS days": [1, 2], "OS status": [1, 0]}
    with pytest.raises(ValueError, match=r"'os_days', which .* nearest is 'OS days'"):
        associate([0, 1], columns, survival=("os_days", "OS status"))


def test_survival_that_is_known_of_no_sample_is_refused_before_the_fit():
    columns = {"OS": [1.0, None], "status": [None, 1]}
    with pytest.raises(ValueError, match="'OS' and 'status' is known of no sample"):
        check_survival(("OS", "status"), columns)


def test_survival_of_a_run_is_named_by_columns():
    with pytest.raises(ValueError, match="must be the names of two columns"):
        check_survival((np.ones(2), np.ones(2)), {"a": [1, 2]})


def test_survival_of_no_metadata_is_an_error():
    with pytest.raises(ValueError, match="'OS', but there is no metadata"):
        associate([0, 1], {}, survival=("OS", "status"))


@pytest.mark.parametrize("asked", ["OS", ("a", "b", "c"), 5], ids=repr)
def test_survival_is_two_columns(asked):
    with pytest.raises(ValueError, match=r"must be \(time, event\)"):
        associate([0, 1], {"a": [1, 2]}, survival=asked)


def test_times_of_another_length_are_an_error():
    with pytest.raises(ValueError, match=r"survival time has shape \(3,\), but there"):
        associate([0, 1], {}, survival=([1, 2, 3], [1, 0]))


def test_survival_is_json_with_medians_by_cluster(rng):
    labels, times, events = study(rng, effect=1.0)
    found = associate(labels, {}, survival=(times, events))
    json.dumps(found.to_dict(), allow_nan=False)
    brief = found.brief()["survival"]
    assert list(brief) == ["time", "event", "p", "medians", "sentence"]
    assert set(brief["medians"]) == {"0", "1", "2"}
