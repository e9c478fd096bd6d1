"""Sheets of workbooks as people have them."""

import datetime as dt
import sys
import zipfile

import numpy as np
import pytest

from imvc.io import ColumnOptions, InputError, read_file, read_metadata, read_views
from imvc.io._file_table import split_sheet

openpyxl = pytest.importorskip("openpyxl")
xlwt = pytest.importorskip("xlwt")
pytest.importorskip("python_calamine")

RNA = [["id", "a", "b"], ["s1", 1.5, 2], ["s2", 3, 4], ["s3", 5, 6]]
PROTEIN = [["id", "p"], ["s1", 7], ["s2", 8]]
VALUES = np.array([[1.5, 2], [3, 4], [5, 6]])


def save_xlsx(path, **sheets):
    """A workbook with a sheet for each list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for i, row in enumerate(rows, 1):
            for j, cell in enumerate(row, 1):
                sheet.cell(i, j, cell)
    book.save(path)
    return path


def replace_in_zip(path, name, old, new):
    """Change the text of one part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    assert old in parts[name]
    parts[name] = parts[name].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    return path


@pytest.fixture
def book(tmp_path):
    """A workbook of three sheets, one of them empty."""
    return save_xlsx(tmp_path / "book.xlsx", RNA=RNA, Empty=[], Protein=PROTEIN)


@pytest.fixture
def write(tmp_path):
    """Write one sheet and return its path."""
    return lambda rows, name="book.xlsx": save_xlsx(tmp_path / name, Sheet=rows)


def rounded(X):
    """Numbers of 15 digits, which the writer of workbooks keeps."""
    return np.vectorize(lambda x: float(f"{x:.15g}"))(X)


def only(path, **options):
    (table,) = read_file(path, **options)
    return table


def told(table, what):
    return [note for note in table.notes if what in note]


# Cells


def test_a_sheet_gives_ids_features_and_numbers(write):
    table = only(write(RNA))
    assert table.name == "book"
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert table.features == ("a", "b")
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.notes == ("ids from column 'id'",)


def test_cells_are_read_by_their_kind(write):
    table = only(
        write(
            [
                [
                    "id",
                    "number",
                    "whole",
                    "huge",
                    "truth",
                    "day",
                    "hour",
                    "lasted",
                    "t",
                ],
                ["007", 0.1, 2.0, 1e20, True, dt.date(2024, 1, 3), dt.time(12, 30)]
                + [dt.timedelta(hours=36), "x"],
                ["008", -1e-7, 3, 2**40, False, dt.date(2024, 2, 3), dt.time(1, 2)]
                + [dt.timedelta(hours=6), "y"],
            ]
        ),
        columns=ColumnOptions(text="drop"),
    )
    assert table.ids.tolist() == ["007", "008"]
    assert table.features == ("number", "whole", "huge", "truth", "day", "lasted")
    day = (dt.date(2024, 1, 3) - dt.date(1970, 1, 1)).days
    np.testing.assert_array_equal(
        table.values,
        [[0.1, 2, 1e20, 1, day, 1.5], [-1e-7, 3, 2**40, 0, day + 31, 0.25]],
    )
    assert table.metadata["hour"].tolist() == ["12:30:00", "01:02:00"]
    assert table.metadata["t"].tolist() == ["x", "y"]


def test_numbers_are_exact(write, rng):
    X = rounded(rng.normal(size=(5, 2)) * 10.0 ** rng.integers(-200, 200, size=(5, 2)))
    rows = [["id", "a", "b"], *([f"s{i}", *row] for i, row in enumerate(X.tolist()))]
    np.testing.assert_array_equal(only(write(rows)).values, X)


def test_numbers_as_ids_are_whole_and_texts_keep_their_zeros(write):
    assert only(write([["id", "a"], [7.0, 1], [8, 2]])).ids.tolist() == ["7", "8"]
    assert only(write([["id", "a"], ["07", 1], [8, 2]])).ids.tolist() == ["07", "8"]


def test_errors_empty_cells_and_words_for_nothing_are_missing(write):
    rows = [["id", "a", "b", "c"], ["s1", "#DIV/0!", None, "NA"], ["s2", 1, 2, 3]]
    np.testing.assert_array_equal(
        only(write(rows)).values, [[np.nan, np.nan, np.nan], [1, 2, 3]]
    )


def test_formulas_give_the_values_saved_with_them(write):
    path = write([["id", "a"], ["s1", "=20+1"], ["s2", 4]])
    replace_in_zip(
        path, "xl/worksheets/sheet1.xml", b"<f>20+1</f><v />", b"<f>20+1</f><v>21</v>"
    )
    assert only(path).values[:, 0].tolist() == [21, 4]


def test_formulas_saved_without_a_value_are_empty(write):
    table = only(write([["id", "a", "b"], ["s1", "=20+1", 1], ["s2", 4, 2]]))
    np.testing.assert_array_equal(table.values, [[np.nan, 1], [4, 2]])


def test_numbers_written_as_text_are_numbers_also_with_a_comma(write):
    table = only(write([["id", "a"], ["s1", "1,5"], ["s2", "2"], ["s3", 3.25]]))
    assert table.values[:, 0].tolist() == [1.5, 2, 3.25]


def test_line_breaks_and_quotes_stay_inside_their_cell(write):
    rows = [["id", "age\n(years)", 'the "x"'], ["s\t1", 1, 2], ["s2", 3, 4]]
    table = only(write(rows))
    assert table.features == ("age (years)", 'the "x"')
    assert table.ids.tolist() == ["s 1", "s2"]


# Layout


def test_titles_blank_rows_and_margins_are_no_part_of_the_table(tmp_path):
    margin = [[None, None, *row] for row in RNA]
    rows = [[], [None, None, "Study ABC"], [], *margin[:2], [], *margin[2:], [], []]
    path = save_xlsx(tmp_path / "book.xlsx", Sheet=rows)
    table = only(path)
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert table.features == ("a", "b")
    np.testing.assert_array_equal(table.values, VALUES)
    assert told(table, "1 line above the header skipped: 'Study ABC'")


def test_the_line_of_an_error_is_the_row_of_the_sheet(write):
    rows = [[], ["Study\nABC"], [], *RNA, [], ["s2", 9, 9]]
    with pytest.raises(InputError, match=r"book\.xlsx:9: .*'s2' \(lines 6, 9\)"):
        read_file(write(rows))


def test_columns_without_a_name_are_numbered(write):
    rows = [["id", "group", None, "b"], ["s1", 1, 2, 3], ["s2", 4, 5, 6]]
    assert only(write(rows)).features == ("group", "column 3", "b")


def test_formats_far_below_the_table_do_not_count(tmp_path):
    path = save_xlsx(tmp_path / "book.xlsx", Sheet=RNA)
    book = openpyxl.load_workbook(path)
    book["Sheet"]["H900"].font = openpyxl.styles.Font(bold=True)
    book.save(path)
    assert only(path).values.shape == (3, 2)


def test_a_thousand_columns_are_read(write, rng):
    X = rounded(rng.normal(size=(3, 1200)))
    rows = [["id", *(f"g{j}" for j in range(1200))]]
    rows += [[f"s{i}", *row] for i, row in enumerate(X.tolist())]
    np.testing.assert_array_equal(only(write(rows)).values, X)


def test_samples_in_columns_can_be_turned(write):
    table = only(
        write([["gene", "s1", "s2"], ["g", 1, 2], ["h", 3, 4]]), transpose=True
    )
    assert table.ids.tolist() == ["s1", "s2"]
    np.testing.assert_array_equal(table.values, [[1, 3], [2, 4]])


# Sheets


def test_the_first_sheet_with_a_table_is_read_and_the_others_are_told(tmp_path):
    prose = [["This book"], ["holds data"], ["of a study"]]
    path = save_xlsx(
        tmp_path / "book.xlsx", About=prose, RNA=RNA, Empty=[], Protein=PROTEIN
    )
    table = only(path)
    assert table.name == "book"
    assert table.source == f"{path}::RNA"
    assert table.notes[0] == (
        "sheet 'RNA' was read, the first with a table; others are 'Protein': take one "
        "with ::Protein behind the file's name or sheet (--sheet 'Protein'), every one "
        "with --sheet all"
    )


def test_one_table_among_empty_sheets_needs_no_note(tmp_path):
    path = save_xlsx(tmp_path / "book.xlsx", Sheet1=RNA, Sheet2=[], Sheet3=[])
    table = only(path)
    assert table.source == str(path)
    assert table.notes == ("ids from column 'id'",)


def test_a_sheet_is_named_behind_the_file_or_by_option(book):
    for table in (only(f"{book}::Protein"), only(book, sheet="Protein")):
        assert (table.name, table.source) == ("Protein", f"{book}::Protein")
        assert table.values[:, 0].tolist() == [7, 8]
    assert only(f"{book}::Protein", sheet="RNA").name == "Protein"
    assert only(f"{book}::Protein", name="adt").name == "adt"


def test_all_sheets_with_a_table_are_views(book):
    rna, protein = read_file(book, sheet="all")
    assert (rna.name, protein.name) == ("RNA", "Protein")
    assert (rna.source, protein.source) == (f"{book}::RNA", f"{book}::Protein")
    assert told(rna, "sheets without a table left out: 'Empty'")
    assert [t.name for t in read_file(f"{book}::all", name="x")] == [
        "x.RNA",
        "x.Protein",
    ]


def test_all_sheets_of_a_workbook_with_one_are_one_view(write):
    assert only(write(RNA), sheet="all").name == "Sheet"
    assert only(write(RNA), sheet="all", name="rna").name == "rna"


def test_sheets_of_a_workbook_are_joined_by_id(book):
    views = read_views([f"{book}::RNA", f"{book}::Protein"]).views
    assert views.names == ("RNA", "Protein")
    assert views.mask.tolist() == [[True, True], [True, True], [True, False]]


def test_an_unknown_sheet_gets_a_suggestion_and_the_list(book):
    with pytest.raises(
        InputError,
        match=r"book\.xlsx::Protien: has no sheet 'Protien'; did you mean 'Protein'\? "
        r"Its sheets are 'RNA', 'Empty', 'Protein'",
    ):
        read_file(f"{book}::Protien")


def test_a_sheet_that_is_named_is_read_even_if_it_holds_no_table(book):
    with pytest.raises(InputError, match=r"book\.xlsx::Empty: holds no table"):
        read_file(book, sheet="Empty")


def test_hidden_sheets_are_read_only_when_named(tmp_path):
    path = save_xlsx(tmp_path / "book.xlsx", RNA=RNA, Hidden=PROTEIN)
    book = openpyxl.load_workbook(path)
    book["Hidden"].sheet_state = "hidden"
    book.save(path)
    assert [t.name for t in read_file(path, sheet="all")] == ["RNA"]
    assert only(path).source == str(path)
    assert only(f"{path}::Hidden").features == ("p",)


def test_a_workbook_without_a_table_lists_its_sheets(tmp_path):
    path = save_xlsx(tmp_path / "book.xlsx", A=[], B=[["x"], ["y"]])
    with pytest.raises(InputError, match=r"no sheet .* holds a table.*'A', 'B' with"):
        read_file(path)


def test_a_sheet_of_a_file_without_sheets_is_refused(tmp_path):
    path = tmp_path / "view.csv"
    path.write_text("id,a\ns1,1\ns2,2\n")
    with pytest.raises(InputError, match=r"has no sheets, .* like book\.xlsx::RNA"):
        read_file(path, sheet="RNA")
    assert only(path, sheet="all").name == "view"


def test_a_file_whose_name_has_two_colons_is_read(tmp_path):
    path = save_xlsx(tmp_path / "a::b.xlsx", RNA=RNA, Protein=PROTEIN)
    assert only(path).name == "a::b"
    assert only(f"{path}::Protein").name == "Protein"
    text = tmp_path / "book.xlsx::RNA"
    text.write_text("id,a\ns1,1\ns2,2\n")
    assert split_sheet(text) == (text, None)
    assert only(text).features == ("a",)


def test_metadata_are_read_from_a_sheet(tmp_path):
    clinical = [["id", "sex", "age"], ["s1", "f", 50], ["s2", "m", None]]
    path = save_xlsx(tmp_path / "book.xlsx", RNA=RNA, Clinical=clinical)
    ids, columns, _ = read_metadata(f"{path}::Clinical")
    assert ids.tolist() == ["s1", "s2"]
    assert columns["sex"].tolist() == ["f", "m"]
    assert columns["age"].tolist() == [50, None]
    with pytest.raises(InputError, match=r"name one sheet.*book\.xlsx::RNA"):
        read_metadata(f"{path}::all")


# Other kinds of workbook


def test_old_workbooks_are_read(tmp_path):
    book = xlwt.Workbook()
    sheet = book.add_sheet("Old")
    for i, row in enumerate(RNA):
        for j, cell in enumerate(row):
            sheet.write(i, j, cell)
    sheet.write(0, 3, "day")
    style = xlwt.XFStyle()
    style.num_format_str = "YYYY-MM-DD"
    sheet.write(1, 3, dt.date(2020, 1, 2), style)
    book.save(str(tmp_path / "book.xls"))
    table = only(tmp_path / "book.xls")
    np.testing.assert_array_equal(table.values[:, :2], VALUES)
    assert table.features[2] == "day"
    day = (dt.date(2020, 1, 2) - dt.date(1970, 1, 1)).days
    np.testing.assert_array_equal(table.values[:, 2], [day, np.nan, np.nan])


def test_open_document_sheets_are_read(tmp_path):
    def cell(value):
        if isinstance(value, str):
            kind = 'office:value-type="string"'
        else:
            kind = f'office:value-type="float" office:value="{value}"'
        return f"<t:table-cell {kind}><x:p>{value}</x:p></t:table-cell>"

    rows = (
        "".join(f"<t:table-row>{''.join(map(cell, row))}</t:table-row>" for row in RNA)
        .replace("t:table", "table:table")
        .replace("x:p", "text:p")
    )
    space = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(
        f'xmlns:{name}="{space}:{name}:1.0"' for name in ("office", "table", "text")
    )
    path = tmp_path / "book.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="RNA">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    np.testing.assert_array_equal(only(path).values, VALUES)


def test_text_under_the_name_of_a_workbook_is_read_and_told(tmp_path):
    path = tmp_path / "counts.xls"
    path.write_text("id\ta\ns1\t1\ns2\t2\n")
    table = only(path)
    assert table.values[:, 0].tolist() == [1, 2]
    assert told(table, "read as text")
    with pytest.raises(InputError, match="is text, which has no sheets"):
        read_file(path, sheet="RNA")


# Bad files


def ole(*parts):
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + b"".join(parts)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("b.xlsx", ole("EncryptedPackage".encode("utf-16-le")), "by a password; save"),
        ("b.xlsx", ole(), r"of the old kind; rename it to \.xls"),
        ("b.xlsx", b"PK\x03\x04....", "damaged or truncated"),
        ("b.xls", ole(), r"crashed|damaged"),
        ("b.xlsx", b"<html><table>", "is a web page or XML and no workbook"),
        ("b.xls", b"  <?xml version='1.0'?>", "save it as .xlsx or CSV"),
        ("b.xlsx", b"PAR1....", r"is a Parquet file, not a workbook"),
        ("b.xlsx", b"", "the file is empty"),
        ("b.xlsx.gz", b"\x1f\x8b", "is packed; unpack it first"),
    ],
)
def test_what_is_no_workbook_is_refused_with_a_remedy(tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}: .*({problem})"):
        read_file(path)


def test_a_new_workbook_under_the_old_ending_is_told_its_name(tmp_path):
    path = save_xlsx(tmp_path / "book.xls", RNA=RNA)
    with pytest.raises(InputError, match=r"of the new kind; rename it to \.xlsx"):
        read_file(path)


def test_a_zip_without_a_workbook_is_refused(tmp_path):
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "id,a\n")
    with pytest.raises(InputError, match=r"book\.xlsx: cannot be read as a workbook"):
        read_file(path)


def test_a_workbook_that_unpacks_to_hundreds_of_times_its_size_is_refused(
    write, monkeypatch
):
    path = write(RNA)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(2**24))
    monkeypatch.setattr("imvc.io._file_bytes._BOMB_SIZE", 2**18)
    with pytest.raises(InputError, match=r"500 times its size.* save the sheet as CSV"):
        read_file(path)


def test_a_cell_at_the_far_corner_is_refused_before_it_fills_the_memory(
    write, monkeypatch
):
    path = write([*RNA, [None, None, None, 9]])
    monkeypatch.setattr("imvc.io._excel.memory_limit", lambda: 2**30)
    sheet = "xl/worksheets/sheet1.xml"
    replace_in_zip(path, sheet, b'r="D5"', b'r="XFD1048576"')
    replace_in_zip(path, sheet, b'<row r="5"', b'<row r="1048576"')
    with pytest.raises(
        InputError, match=r"up to row 1048576 and column 16384.*delete what stands far"
    ):
        read_file(path)


def test_a_cell_far_below_a_narrow_table_is_no_reason_to_refuse_it(write, monkeypatch):
    path = write([*RNA, ["s4", 9, 9]])
    monkeypatch.setattr("imvc.io._excel.memory_limit", lambda: 2**30)
    sheet = "xl/worksheets/sheet1.xml"
    for column in (b"A", b"B", b"C"):
        replace_in_zip(path, sheet, b'r="%s5"' % column, b'r="%s90000"' % column)
    replace_in_zip(path, sheet, b'<row r="5"', b'<row r="90000"')
    assert only(path).ids.tolist() == ["s1", "s2", "s3", "s4"]


def test_a_panic_of_the_reader_is_an_error_about_the_file(write, monkeypatch):
    import python_calamine

    class PanicException(BaseException):
        """As pyo3 raises it: not an Exception."""

    class Book:
        @staticmethod
        def from_path(path):
            raise PanicException("index out of bounds")

    monkeypatch.setattr(python_calamine, "CalamineWorkbook", Book)
    with pytest.raises(InputError, match=r"book\.xlsx: .*index out of bounds"):
        read_file(write(RNA))


def test_a_missing_reader_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"book\.xlsx: .*pip install 'imvc\[excel\]'"):
        read_file(write(RNA))


def test_a_missing_workbook_is_told_with_its_sheet(tmp_path):
    with pytest.raises(InputError, match=r"none\.xlsx::RNA: no such file"):
        read_file(tmp_path / "none.xlsx::RNA")


@pytest.mark.parametrize(
    ("asked", "told"),
    [("rna", "did you mean 'RNA'. Its sheets are"), ("zzzzzz", "; its sheets are")],
)
def test_an_unknown_sheet_is_answered_with_the_nearest(book, asked, told):
    with pytest.raises(InputError, match=told):
        read_file(f"{book}::{asked}")
