"""What kind each column of a table is, and what is told about it."""

import json

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from imvc.io import ColumnOptions  # noqa: E402
from imvc.io.columns._classify import ColumnCode, classify  # noqa: E402


def code_of(values, **options):
    """Code of one column called x."""
    codes, _ = classify(pa.table({"x": values}), **options)
    return codes[0]


def notes_of(values, **options):
    return classify(pa.table({"x": values}), **options)[1]


def repeated(*values, n=60):
    return [values[i % len(values)] for i in range(n)]


# Categories, metadata, left out


def test_few_values_that_repeat_are_a_category():
    code = code_of(repeated("liver", "brain", "lung", " brain"))
    assert (code.kind, code.why) == ("category", "3 values")
    assert code.levels == ("brain", "liver", "lung")


def test_rare_values_are_put_together_and_told():
    values = repeated("a", "b", "c", n=300) + ["bone", "skin", "skin"]
    code = code_of(values)
    assert (code.levels, code.other) == (("a", "b", "c"), True)
    assert code.why == "3 values and 'other'"
    assert notes_of(values) == [
        "put rare values together as 'other': 'x' (2 values in 3 cells, e.g. 'skin')"
    ]


def test_a_level_needs_one_percent_of_the_cells():
    values = repeated("a", "b", "c", n=1000) + ["d"] * 9 + ["e"] * 12
    assert code_of(values).levels == ("a", "b", "c", "e")


def test_at_most_a_hundred_levels_are_kept():
    values = [f"w{i}" for i in range(120) for _ in range(40 if i < 100 else 5)]
    code = code_of(values, kinds={"x": "category"})
    assert (len(code.levels), code.other) == (100, True)


def test_values_that_are_all_rare_are_metadata():
    values = [f"w{i}" for i in range(120)] * 40
    code = code_of(values)
    assert (code.kind, code.why) == ("metadata", "most values are rare")


def test_in_a_tiny_table_two_cells_are_a_level():
    code = code_of(["a", "a", "b", "b", "c", "c"])
    assert (code.levels, code.other) == (("a", "b", "c"), False)


def test_a_level_called_other_takes_in_the_rare_ones():
    code = code_of(repeated("a", "b", "other") + ["z"])
    assert (code.levels, code.other) == (("a", "b"), True)


def test_spellings_that_differ_in_case_are_one_level_and_told():
    values = repeated("brain", "Brain", "brain", "liver", "lung")
    assert code_of(values).levels == ("brain", "liver", "lung")
    assert notes_of(values) == [
        "took spellings for one value: 'x' ('Brain' is 'brain')"
    ]


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_identifiers_are_metadata_and_told(n):
    values = [f"P{i:06d}" for i in range(n)]
    code = code_of(values)
    assert (code.kind, code.why) == ("metadata", "nearly all values differ")
    assert notes_of(values) == [
        "kept as metadata, not as features: 'x' (nearly all values differ); pass --as "
        "COL=category to use one"
    ]


def test_identifiers_with_repeats_are_metadata():
    values = [f"P{i}" for i in range(300)] + [f"P{i}" for i in range(200)]
    assert code_of(values).why == "nearly all values differ"


def test_long_texts_are_metadata_even_where_they_repeat():
    values = [f"patient came in with complaint {i % 25}" for i in range(500)]
    assert code_of(values).why == "long texts"


def test_nested_columns_are_metadata():
    code = code_of([[1, 2], [3], None])
    assert (code.kind, code.n_empty) == ("metadata", 1)
    assert code.why.startswith("nested (list<")


def test_columns_without_a_value_are_left_out_and_told():
    table = pa.table(
        {"a": pa.nulls(3), "b": ["NA", "", None], "c": [np.nan] * 3, "d": ["u"] * 3}
    )
    codes, notes = classify(table)
    assert [code.why for code in codes] == ["no value"] * 3 + ["a single value"]
    assert notes == [
        "left out as features: 'a' (no value), 'b' (no value), 'c' (no value), 'd' (a "
        "single value)"
    ]


def test_nearly_empty_columns_are_left_out_and_told_unless_they_are_kept():
    values = [1.0, 2.0, 3.0] + [None] * 97
    code = code_of(values)
    assert (code.kind, code.why, code.n_empty) == ("left out", "97 % empty", 97)
    assert notes_of(values) == [
        "left out columns over 95 % empty: 'x' (97 % empty); pass --as COL=number (or "
        "category, ...) to use one"
    ]
    assert code_of(values, keep=["x"]).kind == "number"
    assert code_of(values, kinds={"x": "number"}).kind == "number"


def test_a_sign_in_few_rows_beside_hyphens_is_not_nearly_empty():
    assert code_of(["-"] * 97 + ["+"] * 3).kind == "yes-no"


def test_rows_that_hold_nothing_do_not_count():
    values = [1.0, 2.0, 3.0] + [None] * 97
    code = code_of(values, present=np.arange(100) < 4)
    assert (code.kind, code.n_empty) == ("number", 1)


def test_columns_that_are_dropped_not_kept_or_count_rows_are_left_out():
    table = pa.table({c: [1, 2] for c in "abcd"})
    codes, notes = classify(table, drop=["a"], keep=["a", "b", "c"], counters=["c"])
    assert [(code.kind, code.why) for code in codes] == [
        ("left out", "asked for by --drop"),
        ("number", "numbers"),
        ("left out", "counts rows"),
        ("left out", "not asked for by --keep"),
    ]
    assert notes == []


def test_keeping_a_column_does_not_change_its_kind():
    values = [f"P{i}" for i in range(20)]
    assert code_of(values, keep=["x"]).kind == "metadata"


# What somebody asked for


def test_numbers_asked_for_as_a_category_have_a_level_each():
    code = code_of([7.0, 10.0, 7.0, 2.0, 10.0, 2.0], kinds={"x": "category"})
    assert (code.kind, code.levels) == ("category", ("2", "7", "10"))
    assert code.why == "asked for by --as"


def test_numbers_asked_for_as_ordinal_ascend():
    assert code_of([10, 2, 7], kinds={"x": "ordinal"}).levels == ("2", "7", "10")


def test_a_given_order_is_taken_whole():
    code = code_of(
        repeated("cold", "Hot"), ordinals={"x": ["none", "cold", "warm", "hot"]}
    )
    assert (code.kind, code.levels) == ("ordinal", ("none", "cold", "warm", "hot"))
    assert code.why == "asked for by --ordinal"


def test_mostly_numbers_asked_for_as_numbers_are_taken():
    values = [str(i) for i in range(12)] + ["a", "b", "c"] * 3
    assert code_of(values, kinds={"x": "number"}).n_odd == 9


def test_eight_digits_are_a_date_only_when_asked():
    assert code_of([20200103, 20200104]).kind == "number"
    code = code_of([20200103, 20200104], kinds={"x": "date"})
    assert (code.kind, code.date_format) == ("date", "%Y%m%d")


def test_anything_may_be_metadata():
    for values in ([1.5, 2.5], ["a", "b"], [[1], [2]], [True, None]):
        assert code_of(values, kinds={"x": "metadata"}).kind == "metadata"


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            ["1", "low", "high"],
            {"kinds": {"x": "number"}},
            "column 'x' cannot be --as x=number: 2 of its 3 values are no numbers, "
            "first 'low'; leave the option out",
        ),
        (
            ["2020-01-01", "soon", "later"],
            {"kinds": {"x": "date"}},
            "column 'x' cannot be --as x=date: 2 of its 3 values are no dates, first "
            "'soon'",
        ),
        (
            ["red", "green", "blue"],
            {"kinds": {"x": "ordinal"}},
            "column 'x' has values of unknown order .'red', 'green', 'blue'., so --as "
            "x=ordinal is not enough: give the order, lowest first, with --ordinal "
            "x=a,b,c",
        ),
        (
            ["cold", "hot", "tepid"],
            {"ordinals": {"x": ["cold", "hot"]}},
            "column 'x' has a value 'tepid' that is not in --ordinal x=cold,hot",
        ),
        (
            [f"v{i}" for i in range(50)],
            {"kinds": {"x": "category"}},
            "column 'x' cannot be --as x=category: each of its 50 values is too rare",
        ),
        (
            [[1], [2]],
            {"kinds": {"x": "number"}},
            "column 'x' .list<.*>. holds several values in a cell",
        ),
        (
            ["a", "b"],
            {"kinds": {"x": "category"}, "ordinals": {"x": ["a", "b"]}},
            "column 'x' cannot be both --as x=category and --ordinal",
        ),
    ],
)
def test_what_cannot_be_is_an_error_that_names_the_option(values, options, message):
    with pytest.raises(ValueError, match=message):
        code_of(values, **options)


def test_text_is_dropped_when_nobody_wants_it():
    table = pa.table(
        {
            "a": ["1", "2", "3"],
            "b": ["x", "y", "x"],
            "c": ["I", "II", "III"],
            "d": ["2020-01-01"] * 3,
            "e": [True, False, True],
            "f": ["u", "v", "w"],
        }
    )
    codes, notes = classify(table, text="drop", kinds={"f": "category"})
    kinds = ["number", "metadata", "metadata", "date", "yes-no", "category"]
    assert [code.kind for code in codes] == kinds
    assert notes == [
        "kept as metadata, not as features: 'b' (text), 'c' (text); pass --as "
        "COL=category to use one"
    ]


def test_text_is_an_error_when_it_is_refused():
    table = pa.table({"a": [1, 2], "b": ["NA", "brain"], "c": [[1], [2]]})
    message = (
        r"has 2 text columns: 'b' \(e.g. 'brain'\), 'c' \(list<.*>\); drop them "
        r"\(--drop VIEW=COL\), or say what they are \(--as COL=category\)"
    )
    with pytest.raises(ValueError, match=message):
        classify(table, text="error")
    codes, _ = classify(table.select(["a"]), text="error")
    assert codes[0].kind == "number"


# Codes as JSON


def test_codes_survive_json_exactly():
    table = pa.table(
        {
            "a": ["1", "2,000", "3.5", None],
            "b": ["x", "y", "ü", "x"],
            "c": ["I", "II", "III", "?"],
            "d": ["31.12.2020", "1.1.2021", "", "2.1.2021"],
            "e": [None, True, False, True],
        }
    )
    codes, _ = classify(table)
    stored = json.loads(json.dumps([code.to_dict() for code in codes]))
    assert [ColumnCode.from_dict(d) for d in stored] == codes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "magic"}, "kind of a column must be of"),
        ({"name": 3}, "name of a column must be str, got 3"),
        ({"levels": "ab"}, "levels of a column must be list, got 'ab'"),
        ({"levels": ["a", 1]}, "levels of a column must be texts"),
        ({"n_empty": True}, "n_empty of a column must be int, got True"),
        ({"other": 1}, "other of a column must be bool, got 1"),
        ({"extra": 1}, "the code of a column needs"),
        ({"kind": "yes-no"}, "yes-no needs two levels"),
        ({"kind": "date", "date_format": "%x"}, "'%x' is no known format of dates"),
    ],
)
def test_a_damaged_code_is_refused(change, message):
    good = ColumnCode("x", "number", "numbers").to_dict()
    with pytest.raises(ValueError, match=message):
        ColumnCode.from_dict({**good, **change})


# In general

CELLS = st.sampled_from(
    ["a", "b", "B", "yes", "no", "I", "II", "III", "1", "2.5", "<3", "4%", "1,234"]
    + ["2020-01-02", "03/04/2020", "13/04/2020", "none", "-", "+", "NA", "unknown"]
    + ["low", "high", "other", "free text", None]
)


@settings(max_examples=80, deadline=None)
@given(cells=st.lists(CELLS, min_size=1, max_size=30), seed=st.integers(0, 100))
def test_the_order_of_rows_does_not_matter(cells, seed):
    column = pa.array(cells, pa.string())
    order = np.random.default_rng(seed).permutation(len(cells))
    assert code_of(column) == code_of(column.take(pa.array(order)))


def test_a_column_cannot_be_kept_and_left_out():
    with pytest.raises(ValueError, match="both to be kept and left out"):
        ColumnOptions(keep={"v": ["a", "b"]}, drop={"v": ["b"]})
