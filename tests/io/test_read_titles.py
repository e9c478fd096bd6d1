"""Lines above the header and below it that are no rows: titles and units."""

import numpy as np
import pytest

from imvc.io import read_file

TABLE = "id,a,b,c\ns1,1.5,2,3\ns2,3,4,5\ns3,5,6,7\n"
VALUES = np.array([[1.5, 2, 3], [3, 4, 5], [5, 6, 7]])


@pytest.fixture
def read(tmp_path):
    """Read text from a file."""

    def read(text, name="view.csv", **options):
        path = tmp_path / name
        path.write_text(text)
        (table,) = read_file(path, **options)
        return table

    return read


def skipped(table):
    return [note for note in table.notes if "skipped" in note]


@pytest.mark.parametrize(
    ("titles", "note"),
    [
        ("Study ABC\n", "1 line above the header skipped: 'Study ABC'"),
        ("Title,,,\n", "1 line above the header skipped: 'Title'"),
        (
            "Study ABC - export of 2024-01-03\nby the lab\n",
            "2 lines above the header skipped: 'Study ABC - export of 2024-01-03', "
            "'by the lab'",
        ),
        ("Study ABC\n\n", "1 line above the header skipped: 'Study ABC'"),
        ("Study ABC,,,\n,,,\n", "1 line above the header skipped: 'Study ABC'"),
        (
            "Study,ABC\nExported,2024-01-03\nSite,Y\n\n",
            "3 lines above the header skipped: 'Study ABC', 'Exported 2024-01-03', "
            "'Site Y'",
        ),
        ("3,3\n", "1 line above the header skipped: '3 3'"),
        ('"Two\nlines"\n', "1 line above the header skipped: 'Two\\nlines'"),
    ],
)
def test_titles_above_the_header_are_skipped_and_told(read, titles, note):
    table = read(titles + TABLE)
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert table.features == ("a", "b", "c")
    np.testing.assert_array_equal(table.values, VALUES)
    assert skipped(table) == [note]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_separator_is_found_below_the_titles(read, separator, n):
    table = read("A study of something\n" * n + TABLE.replace(",", separator))
    np.testing.assert_array_equal(table.values, VALUES)


def test_the_line_of_an_error_counts_the_titles(read):
    text = "Study ABC\n\nid,a,b\ns1,1,2\ns1,3,4\n"
    with pytest.raises(ValueError, match=r"view\.csv:5: .*'s1' \(lines 4, 5\)"):
        read(text)


def test_groups_of_columns_above_the_header_are_titles(read):
    text = ",baseline,,follow-up,\nid,a0,b0,a1,b1\ns1,1,2,3,4\ns2,5,6,7,8\n"
    assert read(text).features == ("a0", "b0", "a1", "b1")


def test_years_below_a_title_are_names_of_columns(read):
    table = read("Income,,,\nid,2001,2002,2003\ns1,7,1,3\ns2,3,4,5\n")
    assert table.features == ("2001", "2002", "2003")


def test_row_names_of_r_below_a_title_are_ids(read):
    table = read("Study ABC\na,b,c,d\ns1,1,2,3,4\ns2,3,4,5,6\n")
    assert table.ids.tolist() == ["s1", "s2"]
    assert table.features == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("id,a\ns1,1\ns2,2\n", ("a",)),  # rows of two cells
        (",a\ns1,1\ns2,2\n", ("a",)),
        (",a,b\ns1,1,2\ns2,2,3\n", ("a", "b")),  # no name for the ids
        ("a,b\ns1,1,2\ns2,3,4\ns3,5,6\n", ("a", "b")),  # as R writes it
        ("a,b,c\ns1,1,2,9\ns2,3,4,9\n", ("a", "b", "c")),
        ("id,a,b,c\ns1,,,\ns2,,,\ns3,1,2,3\ns4,1,2,3\n", ("a", "b", "c")),
        ("id,a,,\ns1,1,2,3\ns2,4,5,6\n", ("a", "column 3", "column 4")),
    ],
)
def test_a_header_is_never_a_title(read, text, features):
    table = read(text)
    assert table.features == features
    assert skipped(table) == []


@pytest.mark.parametrize(
    "text",
    [
        "s1,,,\ns2,1.5,2.25,3\ns3,4,5,6\n",
        ",,,1.5\n0.5,0.25,0.125,7\n1,3,2,4\n",
        ",,,,,0.3\n1,2,3,4,5,6\n3,1,2,4,2,8\n",
    ],
)
def test_a_first_row_with_empty_cells_is_not_a_title(read, text):
    assert skipped(read(text)) == []


def test_prose_before_columns_aligned_by_blanks_is_left_alone(read):
    table = read("a b c\nx1 1 2 3\nx2 3 4 5\n", "view.txt")
    assert table.features == ("a", "b", "c")


def test_a_line_of_units_below_the_header_is_skipped_and_told(read):
    text = "id,age,bmi,sex\n,years,kg/m2,\ns1,50,21.5,f\ns2,60,30,m\n"
    table = read(text)
    np.testing.assert_array_equal(table.values, [[50, 21.5, 0], [60, 30, 1]])
    assert skipped(table) == ["line 2 skipped, as it holds units: 'years', 'kg/m2'"]


def test_units_below_a_title_are_skipped_too(read):
    table = read("Study\nid,age,bmi\nunit,years,kg/m2\ns1,50,21.5\ns2,60,30\n")
    assert table.ids.tolist() == ["s1", "s2"]
    assert len(skipped(table)) == 2


@pytest.mark.parametrize(
    "row", ["s0,high,low", "s0,1,low", ",1,low", ",,", "s0,n.d.,n.d."]
)
def test_a_row_that_may_be_a_sample_is_not_taken_for_units(read, row):
    rows = f"{row}\ns1,50,21.5\ns2,60,30\n"
    text = f"id,age,bmi,x\n{rows}".replace("\n", ",1\n").replace("x,1", "x")
    try:
        told = skipped(read(text))
    except ValueError as error:
        told, message = [], str(error)
        assert "rows have no id" in message
    assert told == []
