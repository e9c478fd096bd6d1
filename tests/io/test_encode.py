"""From columns of all kinds to numbers: what new data become, and the balance."""

import datetime
import itertools

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from imvc.io.columns._classify import ColumnCode, classify  # noqa: E402
from imvc.io.columns._encode import (  # noqa: E402
    balance,
    encode,
    metadata_values,
)

NAN = float("nan")


def fitted(values, new=None, **options):
    """A column x, classified, and encoded as itself or as new data."""
    table = pa.table({"x": values})
    codes, _ = classify(table, **options)
    decimal_comma = options.get("decimal_comma", False)
    new = table if new is None else pa.table({"x": new})
    return encode(new, codes, decimal_comma=decimal_comma)


def column(values, new=None, **options):
    return fitted(values, new, **options).values[:, 0].tolist()


def day(text):
    return float(np.datetime64(text, "D").astype(int))


# Each kind


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1", " 2.5", "NA", "-3e2"], [1, 2.5, NAN, -300]),
        (["0.5", "<0.5", "> 100", "≤3"], [0.5, 0.5, 100, 3]),
        (["45%", "7.5 %"], [45, 7.5]),
        (["1,234.5", "2,000", "17"], [1234.5, 2000, 17]),
        (["1.234.567", "12.345", "3,5"], [1234567, 12345, 3.5]),
        (["1 234", "1'234'567", "−5"], [1234, 1234567, -5]),
        (["3,5", "1,25", "17"], [3.5, 1.25, 17]),
        (["1", "2", "inf"], [1, 2, float("inf")]),
    ],
)
def test_numbers_in_text_are_read(texts, numbers):
    np.testing.assert_array_equal(column(texts), numbers)


def test_the_decimal_comma_of_a_file_decides_where_the_cells_do_not():
    assert column(["1,234", "5"], decimal_comma=True) == [1.234, 5]
    assert column(["1,234", "5"], kinds={"x": "number"}) == [1234, 5]


def test_yes_is_one_and_a_feature_is_named_by_what_one_means():
    said = fitted(["yes", "No", None, "y", "n"])
    np.testing.assert_array_equal(said.values[:, 0], [1, 0, NAN, 1, 0])
    assert said.features == ("x",)
    assert fitted(["m", "f", "m"]).features == ("x=m",)
    assert fitted([True, False]).features == ("x",)


def test_categories_are_one_indicator_each_and_empty_in_all():
    got = fitted(["b", "a", None, "c", "b", "a", "c", "a"])
    assert got.features == ("x=a", "x=b", "x=c")
    expected = [[0, 1, 0], [1, 0, 0], [NAN] * 3, [0, 0, 1]]
    np.testing.assert_array_equal(got.values[:4], expected)


def test_rare_categories_share_the_last_indicator():
    got = fitted(["a", "b", "c"] * 20 + ["rare"])
    assert got.features == ("x=a", "x=b", "x=c", "x=other")
    assert got.values[-1].tolist() == [0, 0, 0, 1]


def test_ordinals_are_ranks_of_the_levels_that_occur():
    assert column(["I", "IV", "III", "Stage III"]) == [0, 2, 1, 1]
    given_order = {"x": ["a", "b", "c"]}
    assert column(["c", "a", "c"], ordinals=given_order) == [2, 0, 2]


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-12-31", "2021-01-01", "1969-12-31"],
        ["31.12.2020", "1.1.2021", "31.12.1969"],
        ["31/12/2020", "01/01/2021", "31/12/1969"],
        ["12/31/2020", "1/1/2021", "12/31/1969"],
        ["31-Dec-2020", "01-Jan-2021", "31 December 1969"],
        ["2020/12/31", "2021/1/1", "1969/12/31"],
    ],
)
def test_dates_are_days_since_1970(texts):
    assert column(texts) == [day("2020-12-31"), day("2021-01-01"), -1]


def test_times_are_fractions_of_days_in_universal_time():
    texts = ["1970-01-02 06:00", "1970-01-02T12:00:00Z", "1970-01-02 06:00+06:00"]
    assert column(texts) == [1.25, 1.5, 1.0]
    assert column(["1/31/1970 6:00 PM", "1/1/1970 12:00 AM"]) == [30.75, 0]
    stamps = [datetime.datetime(1970, 1, 2, 18), None, datetime.datetime(1970, 1, 1)]
    np.testing.assert_array_equal(column(stamps), [1.75, NAN, 0])


def test_every_calendar_day_is_read_as_datetime_reads_it():
    start = datetime.date(1899, 12, 25)
    days = [start + datetime.timedelta(37 * i) for i in range(2500)]
    texts = [day.strftime("%d.%m.%Y") for day in days]
    epoch = datetime.date(1970, 1, 1)
    assert column(texts) == [(day - epoch).days for day in days]


# New data


def test_an_unknown_category_is_zeros_with_a_note():
    got = fitted(["a", "b", "c"] * 5, ["a", "bone", "bone", None])
    np.testing.assert_array_equal(got.values[1:], [[0] * 3, [0] * 3, [NAN] * 3])
    assert got.notes == [
        "2 samples have values of 'x' that the fit did not know, e.g. 'bone'"
    ]


def test_an_unknown_category_is_other_where_the_fit_has_one():
    got = fitted(["a", "b", "c"] * 20 + ["rare"], ["bone"])
    assert got.values.tolist() == [[0, 0, 0, 1]]
    assert got.notes == [
        "1 sample has a value of 'x' that the fit knew as rare or not at all, e.g. "
        "'bone': read as 'other'"
    ]


@pytest.mark.parametrize(
    ("fit", "new", "called"),
    [
        (["yes", "no", "no"], ["yes", "perhaps", "maybe"], "level of the fit"),
        (["I", "II", "III"], ["II", "VII", "x"], "level of the fit"),
        ([1.5, 2.5], ["1.5", "much", "more"], "number"),
        (["31.12.2020", "1.1.2020"], ["3.1.2020", "soon", "x"], "date"),
    ],
)
def test_what_is_no_value_of_the_kind_is_empty_with_a_note(fit, new, called):
    got = fitted(fit, new)
    assert np.isnan(got.values[:, 0]).tolist() == [False, True, True]
    assert got.notes == [
        f"2 samples have values of 'x' that are no {called}, e.g. {new[1]!r}: taken as "
        "empty"
    ]


def test_an_absurd_date_of_new_data_is_empty_with_a_note():
    got = fitted([datetime.date(2020, 1, 1)], [datetime.date(9999, 1, 1)])
    assert got.notes == [
        "1 sample has a value of 'x' that is no date, e.g. '9999-01-01': taken as empty"
    ]


@pytest.mark.parametrize(
    ("fit", "new", "expected"),
    [
        ([1, 2, 3], [" 1", "2.0", "NA"], [1, 2, NAN]),
        (["1", "2", "<3"], [1, 2, None], [1, 2, NAN]),
        ([True, False], ["yes", "FALSE", None], [1, 0, NAN]),
        (["yes", "no"], [True, False, None], [1, 0, NAN]),
        (["yes", "no"], [1, 0, None], [1, 0, NAN]),
        (["I", "II", "III"], ["stage iii", "Stage 1", "II"], [2, 0, 1]),
        (["31.12.2020", "1.1.1970"], ["1970-01-03"], [2]),
        (["31.12.2020", "1.1.1970"], [datetime.date(1970, 1, 3)], [2]),
        ([datetime.date(2020, 1, 1)], ["1970-01-03"], [2]),
        ([1.5, 2.5], [None, None], [NAN, NAN]),
    ],
)
def test_new_data_may_come_in_another_type(fit, new, expected):
    got = fitted(fit, new)
    np.testing.assert_array_equal(got.values[:, 0], expected)
    assert got.notes == []


@pytest.mark.parametrize("new", [[2, 1, None], [2.0, 1.0, NAN], ["02", " 1.0", ""]])
def test_categories_of_digits_are_found_again_as_numbers(new):
    got = fitted(["1", "2", "3"] * 5, new, kinds={"x": "category"})
    np.testing.assert_array_equal(got.values, [[0, 1, 0], [1, 0, 0], [NAN] * 3])


def test_marks_between_thousands_are_remembered():
    assert column(["1,234,567", "45"], ["45,000"]) == [45000]
    assert column(["1.234,5", "45"], ["45.000"]) == [45000]
    assert np.isnan(column([1.5, 2.5], ["45,000"])).all()


def test_the_decimal_mark_of_the_fit_decides_where_new_cells_do_not():
    assert column(["1.234,5", "45"], ["1,234"]) == [1.234]
    assert column(["3,5", "45"], ["1,234"]) == [1.234]
    assert column(["3,5", "45"], ["2.5", "1.25"]) == [2.5, 1.25]


def test_a_number_that_shows_its_decimal_mark_is_read_by_it():
    assert column(["3.5", "2.5", "3,5", "1.234,5"]) == [3.5, 2.5, 3.5, 1234.5]


def test_a_percentage_is_no_number_of_a_column_without_percent_signs():
    assert np.isnan(column([0.1, 0.5], ["45%"])).all()


def test_columns_are_found_by_name_and_absent_ones_are_empty():
    codes, _ = classify(pa.table({"a": [1, 2], "b": [3, 4]}))
    got = encode(pa.table({"z": [0], "b": [5]}), codes)
    np.testing.assert_array_equal(got.values, [[NAN, 5]])
    assert got.notes == ["lacks 1 column of the fit, taken as empty: 'a'"]


def test_columns_that_are_not_used_give_no_features():
    table = pa.table({"a": ["u"] * 3, "b": ["p1", "p2", "p3"], "c": [1, 2, 3]})
    codes, _ = classify(table)
    got = encode(table, codes)
    assert (got.features, got.owner) == (("c",), (2,))


def test_metadata_are_objects_with_none_where_empty():
    table = pa.table(
        {"a": ["p1 ", "NA", None], "b": [[1], None, [2, 3]], "c": [1, None, 3]}
    )
    asked = dict.fromkeys("abc", "metadata")
    got = metadata_values(table, classify(table, kinds=asked)[0])
    assert got["a"].tolist() == ["p1", None, None]
    assert got["b"].tolist() == ["[1]", None, "[2, 3]"]
    assert got["c"].tolist() == [1, None, 3]


def test_metadata_that_are_numbers_but_for_unknown_ones_are_numbers():
    cells = [*map(str, range(30, 50)), "<0.5", "unknown", None]
    table = pa.table({"age": cells})
    got = metadata_values(table, classify(table, kinds={"age": "metadata"})[0])
    assert got["age"].tolist() == [*map(float, range(30, 50)), 0.5, None, None]


@pytest.mark.parametrize(
    "cells",
    [
        ["<65", "65", "unknown"] * 5,  # few texts are categories
        ["unknown", *(f"{i:03}" for i in range(30))],  # 007 is a name
        ["see file", *map(str, range(30))],
    ],
)
def test_metadata_that_may_be_names_stay_text(cells):
    table = pa.table({"site": cells})
    got = metadata_values(table, classify(table, kinds={"site": "metadata"})[0])
    assert got["site"].tolist() == cells


# Balance


def balanced(table, **options):
    codes, _ = classify(table, **options)
    got = encode(table, codes)
    center, scale = balance(got.values, codes, got.owner)
    return (got.values - center) / scale, np.array(got.owner)


def distances(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def mixed_table(rng, n=200):
    return pa.table(
        {
            "number": rng.normal(100, 30, n),
            "tissue": rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.2, 0.15, 0.05]),
            "stage": rng.choice(["I", "II", "III"], n),
            "smoker": rng.choice(["yes", "no"], n, p=[0.1, 0.9]),
            "day": pa.array(rng.integers(0, 9000, n).astype("datetime64[D]")),
        }
    )


def test_every_column_but_categories_has_variance_one(rng):
    X, owner = balanced(mixed_table(rng))
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, owner != 1].var(axis=0), 1)


def test_a_category_of_k_levels_has_variance_k_minus_one(rng):
    X, owner = balanced(mixed_table(rng))
    np.testing.assert_allclose(X[:, owner == 1].var(axis=0).sum(), 4 - 1)


def test_two_levels_as_indicators_have_the_distances_of_yes_and_no(rng):
    table = pa.table({"x": rng.choice(["u", "v"], 50, p=[0.2, 0.8])})
    one, _ = balanced(table)
    two, _ = balanced(table, kinds={"x": "category"})
    assert (one.shape[1], two.shape[1]) == (1, 2)
    np.testing.assert_allclose(distances(one), distances(two), atol=1e-12)


def test_the_order_of_columns_and_names_of_levels_do_not_change_distances(rng):
    table = mixed_table(rng, 60)
    renamed = dict(zip("abcd", ["z", "m", "q", "b"]))
    tissue = pa.array([renamed[t] for t in table["tissue"].to_pylist()])
    other = table.set_column(1, "tissue", tissue).select(table.column_names[::-1])
    np.testing.assert_allclose(
        distances(balanced(table)[0]), distances(balanced(other)[0]), atol=1e-9
    )


def test_frequencies_are_of_the_known_cells():
    table = pa.table({"x": ["a", "b", "c", "a"] * 5 + [None] * 10})
    codes, _ = classify(table)
    got = encode(table, codes)
    center, scale = balance(got.values, codes, got.owner)
    np.testing.assert_allclose(center, [0.5, 0.25, 0.25])
    np.testing.assert_allclose(scale, np.sqrt(center))


def test_constant_and_empty_features_are_not_stretched():
    codes = [ColumnCode("a", "number", ""), ColumnCode("b", "category", "", ("u",))]
    values = np.array([[7.0, 1.0, NAN]] * 3)
    center, scale = balance(values, codes, [0, 1, 0])
    assert (center.tolist(), scale.tolist()) == ([7, 1, 0], [1, 1, 1])


def test_no_indicator_weighs_more_than_one_of_a_hundredth():
    values = np.zeros((1000, 1))
    values[0] = 1
    code = ColumnCode("x", "category", "", ("a",))
    _, scale = balance(values, [code], [0])
    assert scale[0] == pytest.approx(0.1)


# All kinds at once


def clinic(rng, n=300):
    """A table as a clinic exports it, and its truth."""
    age = rng.integers(18, 95, n)
    crp = np.round(rng.lognormal(1, 1, n), 2)
    yes = rng.random(n) < 0.4
    stage = rng.integers(0, 4, n)
    days = rng.integers(17000, 19000, n)
    spelled = (("Nein", "nein", "N"), ("Ja", "JA", "j"))
    dates = days.astype("datetime64[D]").astype(object)
    table = pa.table(
        {
            "Alter": age,
            "CRP": [f"{x:.2f}".replace(".", ",") for x in crp[:-2]] + ["<0,5", "k.A."],
            "Raucher": [spelled[int(y)][i % 3] for i, y in enumerate(yes)],
            "Stadium": [("IA", "Stadium IIB", "IIIC", "IV")[s] for s in stage],
            "Aufnahme": [d.strftime("%d.%m.%Y") for d in dates],
            "Station": rng.choice(["Nord", "Süd", "West"], n),
            "Kommentar": [f"Patient {i} kam zu Fuß" for i in range(n)],
            "Schmerz": rng.choice(["keine", "leicht", "mittel", "schwer"], n),
            "leer": pa.nulls(n),
        }
    )
    return table, np.column_stack([age, crp, yes, stage, days])


def test_a_clinical_table_of_all_kinds_is_read_as_it_is_meant(rng):
    table, truth = clinic(rng)
    codes, notes = classify(table, decimal_comma=True)
    assert [code.kind for code in codes] == [
        *("number", "number", "yes-no", "ordinal", "date", "category", "metadata"),
        *("ordinal", "left out"),
    ]
    got = encode(table, codes, decimal_comma=True)
    assert got.features == (
        *("Alter", "CRP", "Raucher", "Stadium", "Aufnahme"),
        *("Station=Nord", "Station=Süd", "Station=West", "Schmerz"),
    )
    truth[-2:, 1] = 0.5, NAN
    np.testing.assert_allclose(got.values[:, :5], truth)
    assert notes == [
        "left out as features: 'leer' (no value)",
        "kept as metadata, not as features: 'Kommentar' (nearly all values differ); "
        "pass --as COL=category to use one",
        "took cells as empty that are no value of their column: 'CRP' (1 cell, first "
        "'k.A.')",
        "read bounds as the number itself: 'CRP' (1 cell, first '<0,5')",
    ]


def test_rows_on_their_own_are_encoded_as_among_all(rng):
    table, _ = clinic(rng)
    codes, _ = classify(table, decimal_comma=True)
    whole = encode(table, codes, decimal_comma=True).values
    for start, stop in itertools.pairwise((0, 1, 17, 300)):
        part = encode(table[start:stop], codes, decimal_comma=True).values
        np.testing.assert_array_equal(part, whole[start:stop])


WORDS = ["a", "b", "c", "yes", "no", "I", "II", "III", "1", "2.5", "2020-01-02"]
EMPTY = [None, "NA", " "]


@settings(max_examples=50, deadline=None)
@given(data=st.data(), n=st.integers(1, 25))
def test_cells_are_nan_exactly_where_they_are_empty(data, n):
    pools = {
        "text": st.sampled_from(["a", "b", "c", *EMPTY]),
        "stage": st.sampled_from(["I", "II", "IIIA", *EMPTY]),
        "truth": st.sampled_from([True, False, None]),
        "number": st.sampled_from(["1", "<2", "3.5", *EMPTY]),
        "day": st.sampled_from(["2020-01-02", "1999-12-31", *EMPTY]),
    }
    cells = {
        name: data.draw(st.lists(pool, min_size=n, max_size=n))
        for name, pool in pools.items()
    }
    table = pa.table(cells)
    codes, _ = classify(table, keep=list(cells))
    got = encode(table, codes)
    for j, owner in enumerate(got.owner):
        empty = [cell in EMPTY for cell in cells[codes[owner].name]]
        assert np.isnan(got.values[:, j]).tolist() == empty


@settings(max_examples=50, deadline=None)
@given(
    fit=st.lists(st.sampled_from([*WORDS, *EMPTY]), min_size=1, max_size=25),
    new=st.one_of(
        st.lists(st.one_of(st.none(), st.text(max_size=8)), max_size=5),
        st.lists(st.one_of(st.none(), st.floats()), max_size=5),
        st.lists(st.one_of(st.none(), st.booleans()), max_size=5),
        st.lists(st.one_of(st.none(), st.dates()), max_size=5),
    ),
)
def test_new_data_of_any_kind_can_be_encoded(fit, new):
    got = fitted(pa.array(fit, pa.string()), new)
    assert got.values.shape == (len(new), len(got.features))
