"""associate: the right test for each column, its effect, and a true sentence."""

import json
from datetime import date, datetime
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from imvc import associate
from imvc.insight._column_kinds import day_text, read_column
from imvc.insight._column_tests import fisher_p
from imvc.metrics import column_leakage


def only(labels, column, **options):
    """The association of one column called x."""
    return associate(labels, {"x": column}, **options).columns[0]


def clusters_of(rng, n=150, k=3):
    return np.sort(rng.integers(k, size=n))


# ---- kinds


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.linspace(0, 1, 30), "number"),
        ([f"{x:.2f}" for x in np.linspace(0, 1, 30)], "number"),
        (range(13), "number"),
        (range(12), "category"),
        ([1.5, 2.5], "number"),
        ([True, False], "category"),
        (["a", "b"] * 20, "category"),
        ([f"site {i % 20}" for i in range(60)], "category"),
        ([f"site {i % 21}" for i in range(60)], "text"),
        ([f"code {i % 300}" for i in range(3000)], "category"),
        ([f"code {i % 301}" for i in range(3000)], "text"),
        ([f"patient {i}" for i in range(30)], "text"),
        ([f"patient {i}" for i in range(12)], "category"),
        (["2020-01-01", "2021-12-31"], "date"),
        (["1.2.2020", "31.12.2021"], "date"),
        (["1/2/2020", "3/4/2021"], "category"),  # which is the day?
        (["1.13.2020", "3.14.2021"], "category"),
        (["2020-01-01T10:00", "2021-12-31 23:59:59+02:00"], "date"),
        ([date(2020, 1, 1), datetime(2021, 5, 6, 7)], "date"),
        (np.array(["2020-01-01", "2020-02-01"], "datetime64[ns]"), "date"),
        (["2020-01-01", "2020-02-31"], "category"),
        (["2020-01-01"] * 3, "constant"),
        ([7, 7], "constant"),
        ([None, None], "constant"),
    ],
)
def test_a_column_has_the_kind_of_its_values(values, kind):
    assert read_column(list(values)).kind == kind


@pytest.mark.parametrize(
    "unknown", [None, np.nan, "", "  ", np.datetime64("NaT")], ids=repr
)
def test_unknown_values_do_not_change_the_kind(unknown):
    for values in (["a", "b"], [0.5, 1.5], ["2020-01-01", "2020-01-02"]):
        column = np.array([*values, unknown], dtype=object)
        assert read_column(column).kind == read_column(values).kind
        assert read_column(column).known.tolist() == [True, True, False]


def test_whole_numbers_among_unknown_ones_are_written_without_a_point():
    assert read_column([10.0, np.nan, 2.0]).levels == ("2", "10")


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.5, None, 7.0],
        [3, 1, 2, 1],
        [10.0, np.nan, 2.0],
        [4, 4],
        [None, np.nan],
        list(range(20)),
        [1e300, 2.0],
        [-1, 0.0, -0.0],
    ],
    ids=str,
)
def test_numbers_are_read_as_their_texts_are(values):
    texts = [None if x is None or x != x else repr(x) for x in values]
    texts = [None if x is None else x.removesuffix(".0") for x in texts]
    for form in (values, np.array(values, dtype=float)):
        one, other = read_column(form), read_column(texts)
        assert (one.kind, one.n_known) == (other.kind, other.n_known)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.known, other.known)


def test_dates_are_days_whatever_their_form():
    forms = [
        ["1970-01-02", "1970-01-11"],
        ["1970-01-02 00:00:00", "1970-01-11T01:00+01:00"],
        [date(1970, 1, 2), date(1970, 1, 11)],
        ["02.01.1970", "11.1.1970"],
        np.array(["1970-01-02", "1970-01-11"], "datetime64[ns]"),
    ]
    for form in forms:
        np.testing.assert_allclose(read_column(form).values, [1, 10])


def test_a_day_is_named_until_it_is_over():
    assert [day_text(d) for d in (-0.5, 0, 0.9)] == [
        "1969-12-31",
        "1970-01-01",
        "1970-01-01",
    ]


# ---- categories


def test_large_tables_have_the_chi_square_test_of_scipy(rng):
    labels, site = rng.integers(3, size=300), rng.integers(4, size=300)
    found = only(labels, site)
    table = stats.contingency.crosstab(labels, site).count
    expected = stats.chi2_contingency(table, correction=False)
    assert found.test == "chi-square"
    assert found.p == pytest.approx(expected.pvalue)
    assert found.effect == pytest.approx(stats.contingency.association(table, "cramer"))
    assert np.array_equal(found.counts, table)


def test_a_small_expected_count_calls_for_fishers_test():
    labels = np.repeat([0, 1], 20)
    assert only(labels, np.tile([0, 1], 20)).test == "chi-square"
    rare = np.array(["rare"] * 9 + ["common"] * 31)
    assert only(labels, rare).test == "Fisher's exact"


@pytest.mark.parametrize(
    "table", [[[8, 2], [1, 5]], [[3, 3], [2, 4]], [[10, 0], [0, 4]]], ids=str
)
def test_the_simulated_test_is_fishers_exact_one(table):
    exact = stats.fisher_exact(table).pvalue
    p = fisher_p(np.array(table), 40_000, np.random.default_rng(0))
    assert p == pytest.approx(exact, abs=5 * np.sqrt(exact / 40_000) + 1e-4)


def test_the_simulated_test_counts_all_permutations_of_a_wider_table():
    labels, site = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2, 2])

    def table(values):
        found = np.zeros((2, 3), int)
        np.add.at(found, (labels, values), 1)
        return found

    def log_p(values):
        return stats.random_table([3, 4], [2, 2, 3]).logpmf(table(values))

    every = [log_p(site[list(order)]) for order in permutations(range(7))]
    exact = np.mean(np.array(every) <= log_p(site) + 1e-9)
    p = fisher_p(table(site), 40_000, np.random.default_rng(1))
    assert p == pytest.approx(exact, abs=5 * np.sqrt(exact / 40_000))


def test_the_information_shared_with_the_clusters_is_measured(rng):
    labels = clusters_of(rng)
    site = np.where(rng.random(150) < 0.3, rng.integers(3, size=150), labels)
    found = only(labels, site)
    assert found.leakage == pytest.approx(column_leakage(labels, site)[0])
    assert found.leakage_p == 0.001


def test_the_information_of_very_many_categories_is_not_measured(rng):
    plates = [f"plate {i % 31}" for i in range(200)]
    found = only(rng.integers(2, size=200), plates)
    assert found.kind == "category"
    assert found.leakage is None


@pytest.mark.parametrize(
    ("share", "strength"), [(0.5, "negligible"), (0.6, "small"), (0.8, "large")]
)
def test_the_strength_of_a_table_has_a_word(share, strength):
    labels = np.repeat([0, 1], 100)
    ones = int(100 * share)
    column = np.repeat([0, 1, 0, 1], [ones, 100 - ones, 100 - ones, ones])
    found = only(labels, column)
    assert found.effect == pytest.approx(2 * share - 1)
    assert found.strength == strength


# ---- numbers and dates


def test_numbers_have_the_kruskal_wallis_test_of_scipy(rng):
    labels, age = rng.integers(3, size=90), rng.normal(60, 10, 90)
    found = only(labels, age)
    expected = stats.kruskal(*(age[labels == c] for c in range(3)))
    assert found.test == "Kruskal-Wallis"
    assert found.p == pytest.approx(expected.pvalue)
    assert found.effect == pytest.approx(expected.statistic / 89)


def test_quantiles_are_those_of_each_cluster_and_last_of_all(rng):
    labels, age = rng.integers(2, size=60), rng.normal(60, 10, 60)
    found = only(labels, age)
    for own, values in zip(found.quantiles, (age[labels == 0], age[labels == 1], age)):
        np.testing.assert_allclose(
            own, np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
        )


def test_dates_are_tested_as_days(rng):
    labels, days = rng.integers(2, size=60), rng.integers(5000, size=60)
    dates = np.datetime64("2000-01-01") + days
    assert only(labels, dates).p == pytest.approx(only(labels, days * 1.0).p)
    assert only(labels, dates.astype(str)).kind == "date"


# ---- what is found, and what is not


def test_planted_associations_are_found_and_come_first(rng):
    labels = clusters_of(rng)
    noise = {f"noise {i}": rng.normal(size=150) for i in range(10)}
    planted = {
        "stage": np.where(rng.random(150) < 0.3, rng.integers(3, size=150), labels),
        "age": rng.normal(60, 5, 150) + 6 * labels,
    }
    found = associate(labels, {**noise, **planted}).columns
    assert {column.name for column in found[:2]} == set(planted)
    assert max(column.adjusted_p for column in found[:2]) < 0.001


def test_one_in_twenty_columns_of_noise_has_a_p_value_below_a_twentieth():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=120)
    columns = {}
    for i in range(150):
        columns[f"number {i}"] = rng.normal(size=120)
        columns[f"category {i}"] = rng.integers(4, size=120)
        columns[f"rare {i}"] = np.array(["a", "b", "c"])[
            np.searchsorted([0.05, 0.2], rng.random(120))
        ]
    found = associate(labels, columns, n_permutations=399).columns
    for kind in ("number", "category", "rare"):
        p = np.array([c.p for c in found if c.name.startswith(kind)])
        # Five standard deviations of a share of 5 % in 150 draws are 8.9 %.
        assert np.mean(p < 0.05) < 0.14
        assert 0.4 < p.mean() < 0.6
    assert min(c.adjusted_p for c in found) > 0.01


def test_p_values_are_adjusted_over_the_columns_tested(rng):
    labels = clusters_of(rng)
    columns = {f"x{i}": rng.normal(size=150) + 0.2 * i * labels for i in range(6)}
    columns["country"] = ["DE"] * 150
    found = associate(labels, columns).columns
    p = np.sort([c.p for c in found if c.p is not None])
    steps = p * 6 / np.arange(1, 7)
    slow = [min(1, steps[i:].min()) for i in range(6)]
    np.testing.assert_allclose([c.adjusted_p for c in found[:6]], slow)


def test_a_column_more_changes_no_p_value_of_the_others(rng):
    labels = clusters_of(rng)
    rare = np.where(rng.random(150) < 0.05, "yes", "no")
    alone = associate(labels, {"rare": rare}).columns[0]
    both = associate(labels, {"rare": rare, "age": rng.normal(size=150)}).columns
    assert alone.p == next(c.p for c in both if c.name == "rare")


def test_the_order_of_samples_does_not_matter(rng):
    labels, order = clusters_of(rng), rng.permutation(150)
    site, age = rng.integers(4, size=150), rng.normal(size=150)
    first = associate(labels, {"site": site, "age": age})
    second = associate(labels[order], {"site": site[order], "age": age[order]})
    for one, other in zip(first.columns, second.columns):
        assert one.p == pytest.approx(other.p)
        assert one.sentence == other.sentence


# ---- what cannot be tested


def test_samples_without_a_value_are_left_out_and_counted(rng):
    labels, age = rng.integers(2, size=80), rng.normal(size=80)
    some = np.where(np.arange(80) < 60, age, np.nan)
    found = only(labels, some)
    assert found.p == pytest.approx(only(labels[:60], age[:60]).p)
    assert (found.n_known, found.n_unknown) == (60, 20)
    assert found.sentence.endswith("20 samples without a value are left out.")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None] * 30, "x has no value for any sample: not tested."),
        (["DE"] * 30, "x has one value only: not tested."),
        (
            [f"p{i}" for i in range(30)],
            "x is free text or an identifier (30 different values in 30 samples): "
            "not tested.",
        ),
    ],
    ids=["empty", "constant", "text"],
)
def test_what_is_not_tested_is_said(values, reason):
    found = only(np.tile([0, 1], 15), np.array(values, dtype=object))
    assert found.sentence == reason
    assert (found.test, found.p) == (None, None)


def test_one_cluster_has_nothing_to_be_compared_with():
    found = only(np.zeros(20, int), np.arange(20) % 2)
    assert (found.p, found.test) == (None, None)
    assert found.sentence == "x is known in one cluster only: not tested."


def test_a_column_known_in_one_of_two_clusters_is_not_tested():
    values = np.array([1.5] * 5 + [2.5] * 5 + [None] * 10, dtype=object)
    found = only(np.repeat([0, 1], 10), values)
    assert found.sentence == (
        "x is known in one cluster only: not tested. 10 samples without a value are "
        "left out."
    )


def test_a_cluster_without_known_values_does_not_stop_the_test():
    values = np.array(["a", "b"] * 10 + [None] * 5, dtype=object)
    found = only(np.repeat([0, 1, 2], [10, 10, 5]), values)
    assert found.clusters == (0, 1)
    assert found.p == pytest.approx(1.0)


# ---- sentences


def test_the_sentence_of_a_category_names_the_most_unusual_share():
    labels = np.repeat([0, 1, 2], [40, 40, 20])
    stage = np.array(
        ["I"] * 30 + ["III"] * 10 + ["I"] * 30 + ["III"] * 10 + ["III"] * 20
    )
    assert only(labels, stage).sentence == (
        "x differs between the clusters (Cramer's V 0.61, large; adjusted p < 0.001): "
        "cluster 2 has 100 % 'III' where all samples have 40 %."
    )


def test_the_sentence_of_a_number_names_the_most_unusual_median():
    labels = np.repeat([3, 7], 30)
    age = np.concatenate([np.linspace(40, 60, 30), np.linspace(61, 81, 30)])
    assert only(labels, age).sentence == (
        "x differs between the clusters (epsilon squared 0.75, large; adjusted "
        "p < 0.001): its median is 50 in cluster 3 and 60.5 in all samples."
    )


def test_the_sentence_of_a_date_names_dates():
    labels = np.repeat([0, 1], 30)
    days = np.datetime64("2020-01-01") + np.arange(60)
    assert "its median is 2020-01-15 in cluster 0 and 2020-01-30 in all samples" in (
        only(labels, days).sentence
    )


def test_no_difference_is_said_plainly():
    labels, age = np.tile([0, 1], 30), np.repeat(np.arange(30), 2)
    assert only(labels, age).sentence == (
        "No difference of x between the clusters was found (adjusted p 1.00)."
    )


def test_long_values_are_cut_in_sentences():
    column = np.repeat(["v" * 200, "w"], 20)
    sentence = only(np.repeat([0, 1], 20), column).sentence
    assert "v" * 39 + "…" in sentence
    assert len(sentence) < 200


# ---- the result


def test_a_series_is_matched_with_a_frame_by_index():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([0, 0, 1, 1], index=list("abcd"))
    frame = pandas.DataFrame(
        {"x": ["u", "v", "v", None], "y": [1, 2, 3, 4]}, index=list("adce")
    )
    found = {column.name: column for column in associate(labels, frame).columns}
    # a has u, c and d have v, b is not in the frame.
    assert found["x"].counts == ((1, 0), (0, 2))
    assert found["x"].n_unknown == 1


def test_frames_that_share_no_index_with_the_labels_are_an_error():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([0, 1], index=["a", "b"])
    frame = pandas.DataFrame({"x": [1, 2]})
    with pytest.raises(ValueError, match=r"no index of labels, e.g. 'a', is one of"):
        associate(labels, frame)


def test_an_index_that_comes_twice_is_an_error():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([0, 1], index=["a", "a"])
    frame = pandas.DataFrame({"x": [1, 2]}, index=["a", "b"])
    with pytest.raises(ValueError, match="labels has the index 'a' twice"):
        associate(labels, frame)


def test_the_types_of_pandas_are_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "sex": pandas.Categorical(["f", "m", None, "f"]),
            "n": pandas.array([1, None, 3, 1], dtype="Int64"),
            "day": pandas.to_datetime(["2020-01-01", None, "2020-01-05", "2020-01-02"]),
        }
    )
    found = {c.name: c for c in associate([0, 1, 0, 1], frame).columns}
    assert [found[name].kind for name in frame] == ["category", "category", "date"]
    assert [found[name].n_unknown for name in frame] == [1, 1, 1]
    assert found["n"].levels == ("1", "3")


def test_the_result_is_json_and_a_table(rng):
    labels = clusters_of(rng)
    columns = {"age": rng.normal(size=150), "note": [None] * 150}
    found = associate(labels, columns)
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["columns"][0]["name"] == "age"
    assert list(found.brief()["associations"][0]) == [
        *("name", "kind", "test", "effect", "p", "adjusted_p", "sentence", "follows"),
    ]
    pytest.importorskip("pandas")
    assert found.to_frame().loc["age", "test"] == "Kruskal-Wallis"


def test_the_text_fits_eighty_columns(rng):
    labels = clusters_of(rng)
    long = "a name that is far too long for any table"
    columns = {
        long: np.where(labels == 0, "y", rng.choice(["y", "n"], 150)),
        long + " 2": rng.normal(size=150),
        long + " 3": ["DE"] * 150,
    }
    found = associate(labels, columns)
    assert max(map(len, str(found).splitlines())) <= 80
    assert repr(found) == "<Associations: 3 columns, 2 tested, 1 differ>"


def test_the_same_seed_gives_the_same_result(rng):
    labels = clusters_of(rng)
    columns = {"rare": np.where(rng.random(150) < 0.05, "yes", "no")}
    assert associate(labels, columns) == associate(labels, columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], {"x": [1, 2, 3]}), r"metadata 'x' has shape \(3,\), but there are 2"),
        (([0, 1], [[1, 2]]), "metadata is a list; pass a mapping"),
        (([0.5, 1], {"x": [1, 2]}), "labels holds 0.5 at position 0"),
    ],
)
def test_input_that_cannot_be_meant_is_an_error(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        associate(*arguments)


def test_no_permutations_are_an_error():
    with pytest.raises(ValueError, match="n_permutations=0 must be 1 or more"):
        associate([0, 1], {"x": [1, 2]}, n_permutations=0)


def test_no_metadata_are_no_associations():
    assert associate([0, 1], {}).columns == ()


def test_clusters_that_follow_a_column_are_told_so():
    labels = np.repeat([0, 1, 2], 40)
    site = np.array(["a", "b", "c"])[labels]
    coin = np.tile(["heads", "tails"], 60)
    found = associate(labels, {"site": site, "coin": coin})
    followed, not_followed = (c.follows for c in found.columns)
    assert followed == (
        "Clusters follow site (adjusted mutual information 1.00, permutation p 0.001)."
    )
    assert not_followed.startswith("Clusters do not follow coin (adjusted mutual")
    assert followed in found.sentences()
    assert found.brief()["associations"][0]["follows"] == followed
