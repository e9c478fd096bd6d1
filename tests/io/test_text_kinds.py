"""Numbers, yes and no, scales and dates: how people write them."""

import datetime

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from imvc.io.columns._classify import classify  # noqa: E402


def code_of(values, **options):
    """Code of one column called x."""
    codes, _ = classify(pa.table({"x": values}), **options)
    return codes[0]


def notes_of(values, **options):
    return classify(pa.table({"x": values}), **options)[1]


def repeated(*values, n=60):
    return [values[i % len(values)] for i in range(n)]


# Numbers


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, None],
        [1.5, float("nan"), 2.0],
        pa.array([1, 2, 3], pa.decimal128(5, 2)),
        ["1", "2.5", " 3e4 "],
        ["−1", "+2", ".5"],
        ["45%", "12.5 %", "7%"],
        ["1,234.5", "2,000", "17"],
        ["1.234.567", "12.345", "17"],
        ["1 234", "12 345 678", "5"],
        ["3,5", "0,25", "17"],
        ["0.5", "<0.5", "> 100"],
    ],
)
def test_numbers_are_known_in_many_spellings(values):
    code = code_of(values)
    assert (code.kind, code.why, code.n_odd) == ("number", "numbers", 0)


def test_infinite_numbers_stay_where_they_are():
    assert code_of([1.0, float("inf")]).kind == "number"
    assert code_of(["1", "inf", "2"]).kind == "number"


def test_one_mark_before_three_digits_may_be_either_and_is_no_number():
    values = [f"{i},{i:03d}" for i in range(101, 151)]
    assert code_of(values).kind == "metadata"
    assert notes_of(values)[-1] == (
        "cannot tell thousands from decimals, so these are no numbers: 'x' (first "
        "'101,101'); pass --as COL=number to read thousands"
    )
    assert code_of(values, kinds={"x": "number"}).number_format == ".g"
    assert code_of(values, decimal_comma=True).number_format == ","


def test_a_few_odd_cells_among_numbers_are_taken_as_empty_and_told():
    values = [str(i) for i in range(40)] + ["error", "unknown", "NA", None]
    code = code_of(values)
    assert (code.kind, code.n_empty, code.n_odd) == ("number", 2, 2)
    assert notes_of(values) == [
        "took cells as empty that are no value of their column: 'x' (2 cells, first "
        "'error')"
    ]


def test_bounds_are_read_as_the_number_and_told():
    values = ["1", "2", "<0.5", "≤3", "4"]
    assert notes_of(values) == [
        "read bounds as the number itself: 'x' (2 cells, first '<0.5')"
    ]


def test_bounds_without_any_number_are_two_values():
    assert code_of(repeated("<5", ">10")).kind == "yes-no"
    assert notes_of(repeated("<5", ">10", ">20")) == []
    assert code_of(["<5", ">10"], kinds={"x": "number"}).kind == "number"


def test_percentages_and_plain_numbers_are_not_mixed():
    values = [f"{i}%" for i in range(95)] + ["0.5"] * 5
    assert (code_of(values).number_format, code_of(values).n_odd) == ("%", 5)


def test_more_than_a_tenth_of_words_is_no_number():
    values = [str(i) for i in range(30)] + ["low", "high", "none at all", "much"] * 2
    assert code_of(values).kind != "number"


# Yes and no


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (("yes", "no"), ("no", "yes")),
        (("Y", "n"), ("n", "Y")),
        (("nein", "Ja"), ("nein", "Ja")),
        (("oui", "non"), ("non", "oui")),
        (("T", "F"), ("F", "T")),
        (("positive", "Negative"), ("Negative", "positive")),
        (("-", "+"), ("-", "+")),
        (("present", "absent"), ("absent", "present")),
        (("case", "control"), ("control", "case")),
        (("tumor", "normal"), ("normal", "tumor")),
        (("exposed", "unexposed"), ("unexposed", "exposed")),
        (("non-smoker", "smoker"), ("non-smoker", "smoker")),
        (("high", "low"), ("low", "high")),
        (("II", "I"), ("I", "II")),
        (("male", "female"), ("female", "male")),
        (("m", "f"), ("f", "m")),
    ],
)
def test_two_values_are_0_and_1_in_the_order_they_are_meant(values, levels):
    code = code_of(repeated(*values))
    assert (code.kind, code.levels) == ("yes-no", levels)
    assert code.why == f"two values: {levels[0]!r}, {levels[1]!r}"


def test_yes_and_no_in_several_spellings_are_two_values():
    code = code_of(repeated("Yes", "yes", "Y", "NO", "no", "n", "1", "1", "Yes", "NO"))
    assert (code.kind, code.levels) == ("yes-no", ("NO", "Yes"))


def test_booleans_are_yes_and_no():
    code = code_of([True, False, None])
    assert (code.kind, code.levels, code.n_empty) == ("yes-no", ("false", "true"), 1)


def test_a_word_for_no_value_beside_yes_and_no_is_empty():
    code = code_of(repeated("yes", "no", "none", "-"))
    assert (code.kind, code.n_empty) == ("yes-no", 30)


def test_unknown_is_a_value_only_where_nothing_else_differs():
    assert code_of(repeated("yes", "no", "unknown")).n_odd == 20
    assert code_of(repeated("known", "unknown")).levels == ("unknown", "known")


def test_a_text_with_a_single_value_is_left_out():
    code = code_of(repeated("a", "A ", None))
    assert (code.kind, code.why) == ("left out", "a single value")


# Scales


@pytest.mark.parametrize(
    "levels",
    [
        ("I", "II", "III", "IV"),
        ("I", "IA", "IB", "II", "IIIA", "IIIB", "IV", "IX"),
        ("stage 0", "Stage I", "stage 2b", "Stage IIIA1", "Stage IIIC"),
        ("NYHA I", "NYHA class II", "NYHA III"),
        ("Tis", "T1", "T1a", "T1b", "T2", "pT3", "T4"),
        ("N0", "N1mi", "N1a", "N2", "N3"),
        ("G1", "G2", "G3"),
        ("grade 1", "Grade 2", "grade 3"),
        ("ASA 1", "ASA 2", "ASA 3"),
        ("ECOG 0", "ECOG 1", "ECOG 2"),
        ("low", "Medium", "HIGH"),
        ("very low", "low", "intermediate", "high", "very high"),
        ("low risk", "intermediate risk", "high risk"),
        ("mild", "moderate", "severe"),
        ("none", "mild", "moderate", "severe"),
        ("never", "rarely", "sometimes", "often", "always"),
        ("small", "medium", "large"),
        ("none", "minor", "major"),
        ("negative", "weak", "moderate", "strong"),
        ("0", "1+", "2+", "3+"),
        ("-", "+", "++", "+++"),
        ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
        ("<18", "18-29", "30-39", "65+"),
        ("under 20", "20–40", "41 to 60", "> 60"),
        ("leicht", "mittel", "schwer"),
    ],
)
def test_known_scales_are_read_in_their_order(levels):
    shuffled = repeated(*np.random.default_rng(0).permutation(levels).tolist(), n=99)
    code = code_of(shuffled)
    assert (code.kind, code.levels) == ("ordinal", levels)
    assert (code.n_empty, code.n_odd) == (0, 0)


@pytest.mark.parametrize(
    "values",
    [
        ("site 1", "site 2", "site 3"),
        ("class 1", "class 2", "class 3"),
        ("iv", "po", "im"),
        ("low", "high", "sideways", "upwards"),
        ("10-20", "15-30", "30-40"),
        ("A", "B", "AB", "0"),
        ("chemo", "radio", "surgery"),
        ("S", "M", "D", "W"),
    ],
)
def test_names_are_no_scale(values):
    assert code_of(repeated(*values)).kind == "category"


def test_a_scale_tells_its_order_and_shortens_long_ones():
    assert code_of(repeated("I", "II", "III")).why == "I < II < III"
    long = repeated("I", "II", "III", "IV", "V", "VI", "VII")
    assert code_of(long).why == "I < II < III < ... < VI < VII"


def test_what_could_not_be_assessed_is_empty():
    code = code_of(repeated("T1", "T2", "T3", "TX"))
    assert (code.kind, code.n_odd) == ("ordinal", 15)
    assert code_of(repeated("M0", "M1", "MX")).levels == ("M0", "M1")


def test_zeros_with_a_few_grades_are_a_scale_and_no_numbers():
    assert code_of(["0"] * 95 + ["1+", "2+", "3+"] * 2).kind == "ordinal"


def test_words_for_nothing_are_told_where_they_are_values():
    assert notes_of(repeated("none", "mild", "severe")) == [
        "took words for nothing as values of a scale: 'x' (20 cells, first 'none')"
    ]
    hyphen = code_of(repeated("positive", "negative", "-"))
    assert (hyphen.kind, hyphen.n_empty) == ("yes-no", 20)


def test_the_order_of_ordered_categories_is_kept():
    coded = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 1, None, 2]), ["cold", "warm", "hot", "boiling"], ordered=True
    )
    code = code_of(coded)
    assert (code.kind, code.levels) == ("ordinal", ("cold", "warm", "hot"))


# Dates


@pytest.mark.parametrize(
    ("texts", "date_format", "why"),
    [
        (["2020-01-31", "2020-02-01"], "%Y-%m-%d", "dates"),
        (["2020-01-31T10:00:00Z", "2020-02-01 11:30"], "%Y-%m-%d", "dates"),
        (["2020/01/31", "2020/2/1"], "%Y/%m/%d", "dates"),
        (["31.01.2020", "1.2.2020"], "%d.%m.%Y", "dates (day first)"),
        (["31/01/2020", "01/02/2020"], "%d/%m/%Y", "dates (day first)"),
        (["01/31/2020", "2/1/2020 9:05 PM"], "%m/%d/%Y", "dates (month first)"),
        (["31-Jan-2020", "01-Feb-2020"], "%d-%b-%Y", "dates"),
        (["31. Januar 2020", "1. Mai 2020"], "%d-%b-%Y", "dates"),
        (["Jan 31, 2020", "Feb 1, 2020"], "%b %d, %Y", "dates"),
    ],
)
def test_dates_are_known_in_many_formats(texts, date_format, why):
    code = code_of(texts)
    assert (code.kind, code.date_format, code.why) == ("date", date_format, why)


def test_dates_that_fit_both_ways_are_day_first_and_told():
    assert notes_of(["01/02/2020", "03/04/2020"]) == [
        "cannot tell day from month, read day first: 'x' (first '01/02/2020'); write "
        "dates as 2020-12-31, or pass --as COL=metadata"
    ]
    assert notes_of(["01/02/2020", "13/04/2020"]) == []


def test_dates_of_the_file_are_dates_and_absurd_years_are_odd():
    values = [datetime.date(2020, 1, 1), None, datetime.date(1000, 1, 1)]
    code = code_of(values)
    assert (code.kind, code.n_empty, code.n_odd) == ("date", 1, 1)
    assert code_of([datetime.datetime(2020, 1, 1, 12)]).kind == "date"


def test_days_that_no_calendar_has_are_odd():
    values = [f"{d:02d}.01.2020" for d in range(1, 29)] + ["31.02.2020", "1.1.9999"]
    assert code_of(values).n_odd == 2
