"""Delimited text as people have it."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from imvc.io import ColumnOptions, InputError, read_file

BASIC = "id,a,b\ns1,1.5,2\ns2,3,4\ns3,5,6\n"
VALUES = np.array([[1.5, 2], [3, 4], [5, 6]])


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file and return its path."""

    def write(content, name="view.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def only(path, **options):
    (table,) = read_file(path, **options)
    return table


def told(table, what):
    return [note for note in table.notes if what in note]


def test_a_plain_csv_gives_ids_features_and_numbers(write):
    table = only(write(BASIC))
    assert table.name == "view"
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert table.features == ("a", "b")
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.values.dtype == np.float64
    assert table.values.flags.c_contiguous
    assert told(table, "ids from column 'id'")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_the_separator_is_found(write, separator):
    table = only(write(BASIC.replace(",", separator), "view.txt"))
    np.testing.assert_array_equal(table.values, VALUES)
    assert told(table, "separator")


def test_columns_aligned_by_blanks_are_read(write):
    text = "  id      a     b\n  s1    1.5    2  \n  s20     3    4\n"
    table = only(write(text, "view.txt"))
    assert table.features == ("a", "b")
    np.testing.assert_array_equal(table.values, [[1.5, 2], [3, 4]])


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_packed_files_are_unpacked(write, ending):
    import pyarrow as pa

    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    pack[".zst"] = lambda data: pa.compress(data, codec="zstd", asbytes=True)
    table = only(write(pack[ending](BASIC.encode()), f"view.csv{ending}"))
    assert table.name == "view"
    np.testing.assert_array_equal(table.values, VALUES)


def test_a_decimal_comma_is_read_where_the_separator_is_a_semicolon(write):
    table = only(write("id;a;b\ns1;1,5;2\ns2;-3,25;4,0\n"))
    np.testing.assert_array_equal(table.values, [[1.5, 2], [-3.25, 4]])
    assert told(table, "decimal comma")


def test_a_decimal_comma_without_header_does_not_become_the_separator(write):
    table = only(write("1,5;2,5;9,5\n3,5;4,5;1,25\n"))
    np.testing.assert_array_equal(table.values, [[1.5, 2.5, 9.5], [3.5, 4.5, 1.25]])


def test_a_decimal_comma_far_below_the_head_is_understood(write):
    rows = "".join(f"s{i};1;2\n" for i in range(60_000))
    table = only(write(f"id;a;b\n{rows}last;1,5;2\n"))
    assert table.features == ("a", "b")
    assert table.values[-1].tolist() == [1.5, 2]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_the_encoding_is_found(write, encoding):
    text = "Größe,x\nMüller,1\nJosé,2\n"
    table = only(write(text.encode(encoding)))
    assert table.id_column == "Größe"
    assert table.ids.tolist() == ["Müller", "José"]
    assert bool(told(table, "cp1252")) == (encoding == "cp1252")


def test_text_that_stops_being_utf8_beyond_the_head_is_read_as_western(write):
    rows = "".join(f"s{i},1\n" for i in range(60_000))
    table = only(write(f"id,a\n{rows}".encode() + b"Jos\xe9,2\n"))
    assert table.ids[-1] == "José"
    assert told(table, "not UTF-8")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(write, end):
    table = only(write(BASIC.replace("\n", end).encode()))
    np.testing.assert_array_equal(table.values, VALUES)


def test_quotes_may_hold_separators_newlines_and_quotes(write):
    text = 'id,"a, or ""A""",b\n"x,\n1",1,2\n"y",3,4\n'
    table = only(write(text))
    assert table.features == ('a, or "A"', "b")
    assert table.ids.tolist() == ["x,\n1", "y"]


@pytest.mark.parametrize("word", ["", "NA", "N/A", "NaN", "null", "-", "?", " NA "])
def test_words_for_nothing_are_missing_cells(write, word):
    table = only(write(f"id,a,b\ns1,{word},2\ns2,3,4\n"))
    np.testing.assert_array_equal(table.values, [[np.nan, 2], [3, 4]])


def test_truth_values_are_numbers(write):
    table = only(write("id,a,b\ns1,true,1\ns2,False,0\ns3,NA,1\n"))
    np.testing.assert_array_equal(table.values[:, 0], [1, 0, np.nan])


def test_numbers_in_all_notations_are_read(write):
    table = only(
        write("id,a,b\ns1,+1.5e3,007\ns2,-.5,1E-2\ns3, 4 ,99999999999999999999\n")
    )
    np.testing.assert_array_equal(table.values, [[1500, 7], [-0.5, 0.01], [4, 1e20]])


# Header


def test_a_table_without_header_gets_numbered_columns(write):
    table = only(write("s1,0.5,0.25\ns2,0.75,0.1\n"))
    assert table.ids.tolist() == ["s1", "s2"]
    assert table.features == ("column 2", "column 3")
    assert told(table, "no header")


def test_numbers_alone_without_header_keep_every_row(write):
    table = only(write("0.5,0.25\n0.75,0.1\n"))
    assert table.values.shape == (2, 2)
    assert table.ids is None


@pytest.mark.parametrize(
    "header", ["0,1,2,3,4", "2001,2004,2005,2006,2010", "100.05,100.1,101.2,103,104.5"]
)
def test_a_header_of_numbers_that_count_or_grow_is_a_header(write, header):
    table = only(write(f"{header}\n5,4,3,2,1\n0,3,7,5,1\n"))
    assert table.features == tuple(header.split(","))


def test_row_names_written_by_r_are_ids(write):
    table = only(write('"a" "b"\n"s1" 1.5 2\n"s2" 3 4\n"s3" 5 6\n', "view.txt"))
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert table.features == ("a", "b")
    np.testing.assert_array_equal(table.values, VALUES)


def test_comments_and_blank_lines_before_the_table_are_skipped(write):
    table = only(write(f"# from the lab\n\n#second\n{BASIC}"))
    np.testing.assert_array_equal(table.values, VALUES)


def test_a_header_behind_a_hash_is_used(write):
    table = only(write("# made by x\n#OTU ID\tS1\tS2\no1\t5\t3\no2\t1\t9\n", "v.tsv"))
    assert table.features == ("S1", "S2")
    assert table.ids.tolist() == ["o1", "o2"]


def test_the_separator_line_of_excel_is_skipped(write):
    table = only(write("sep=;\n" + BASIC.replace(",", ";")))
    np.testing.assert_array_equal(table.values, VALUES)


# Ids


def test_the_id_column_may_be_named(write):
    path = write("a,key,b\n1,k1,2\n3,k2,4\n")
    table = only(path, id_column="key")
    assert table.ids.tolist() == ["k1", "k2"]
    assert table.features == ("a", "b")


def test_a_wrong_id_column_gets_a_suggestion(write):
    with pytest.raises(
        InputError, match=r"view\.csv: has no column 'pateint'.*'patient'"
    ):
        read_file(write("patient,a\np1,1\np2,2\n"), id_column="pateint")


def test_the_first_text_column_with_different_values_is_taken(write):
    table = only(write("tissue,who,a\nbrain,x1,1\nbrain,x2,2\nliver,x3,3\n"))
    assert table.id_column == "who"
    assert table.features == ("tissue=liver", "a")


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "id", "Sample_ID", "patient"])
def test_a_first_column_that_is_called_like_ids_is_taken_even_if_numeric(write, name):
    table = only(write(f"{name},a\n7,0.5\n8,1.5\n"))
    assert table.ids.tolist() == ["7", "8"]
    assert table.features == ("a",)


def test_a_first_column_called_index_that_measures_something_is_a_feature(write):
    table = only(write("index,a\n1.33,2\n1.52,3\n"))
    assert table.ids is None
    assert table.features == ("index", "a")


def test_ids_keep_leading_zeros_and_lose_blanks(write):
    table = only(write("id,a\n007, 1\n 008 ,2\n"))
    assert table.ids.tolist() == ["007", "008"]


def test_whole_floats_are_ids_without_their_point(write):
    assert only(write("id,a\n7.0,1\n8.0,2\n")).ids.tolist() == ["7", "8"]


def test_a_table_of_numbers_has_no_ids(write):
    table = only(write("a,b\n1,2\n3,4\n"))
    assert table.ids is None
    assert told(table, "no column of ids")


# Text columns


def test_text_columns_become_metadata_on_request(write):
    path = write("id,a,sex,b\ns1,1,f,2\ns2,3,,4\ns3,3,m,4\n")
    table = only(path, columns=ColumnOptions(text="drop"))
    assert table.features == ("a", "b")
    assert table.metadata["sex"].tolist() == ["f", None, "m"]
    assert told(table, "kept as metadata, not as features: 'sex' (text)")


def test_a_typo_in_a_column_of_numbers_is_an_empty_cell_and_told(write):
    lines = [f"s{i},{'x3' if i == 3 else i},1" for i in range(20)]
    table = only(write("\n".join(["id,a,b", *lines, ""])))
    assert table.features == ("a", "b")
    assert np.flatnonzero(np.isnan(table.values[:, 0])).tolist() == [3]
    assert told(table, "'a' (1 cell, first 'x3')")


def test_text_columns_are_used(write):
    table = only(write("id,a,sex\ns1,1,m\ns2,2,f\ns3,3,\n"))
    assert table.features == ("a", "sex=m")
    np.testing.assert_array_equal(table.values, [[1, 1], [2, 0], [3, np.nan]])
    assert [code.kind for code in table.codes] == ["number", "yes-no"]


def test_a_table_of_text_alone_can_be_used(write):
    table = only(write("id,sex\ns1,m\ns2,f\ns3,f\n"))
    np.testing.assert_array_equal(table.values, [[1], [0], [0]])


def test_columns_can_be_dropped_kept_and_read_as_asked(write):
    path = write("id,a,b,site\ns1,1,5,1\ns2,2,6,2\ns3,3,7,2\n")
    options = ColumnOptions(kinds={"site": "category"}, drop={"view": ["b"]})
    table = only(path, columns=options)
    assert table.features == ("a", "site=1", "site=2")
    table = only(path, columns=ColumnOptions(keep={"view": ["b"]}))
    assert table.features == ("b",)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"kinds": {"sitte": "category"}}, "--as names the column 'sitte'.*'site'"),
        ({"drop": {"view": ["c"]}}, "--drop names the column 'c', which view 'view'"),
        ({"keep": {"viev": ["a"]}}, "--keep names the view 'viev'"),
        ({"kinds": {"a": "words"}}, "column 'a' is to be read as 'words'"),
        ({"ordinals": {"grade": ["x"]}}, "--ordinal names the column 'grade'"),
    ],
)
def test_wishes_for_columns_that_are_not_there_are_refused(write, options, problem):
    path = write("id,a,b,site\ns1,1,5,1\ns2,2,6,2\ns3,3,7,2\n")
    with pytest.raises(ValueError, match=problem):
        read_file(path, columns=ColumnOptions(**options))


def test_text_columns_are_an_error_on_request(write):
    with pytest.raises(InputError, match=r"view\.csv: has 1 text column: 'sex'"):
        read_file(
            write("id,a,sex\ns1,1,m\ns2,2,f\n"), columns=ColumnOptions(text="error")
        )


def test_an_unknown_treatment_of_text_is_refused():
    with pytest.raises(ValueError, match="text='keep' is unknown"):
        ColumnOptions(text="keep")


def test_blank_rows_at_the_end_of_a_spreadsheet_are_left_out(write):
    table = only(write("id,a,b\ns1,1,2\n,,\ns2,3,4\n,,\n"))
    assert table.ids.tolist() == ["s1", "s2"]
    assert told(table, "left out 2 rows")


def test_samples_in_columns_can_be_turned(write):
    path = write("gene,s1,s2,s3\nTP53,1,2,3\nMYC,4,5,6\n")
    table = only(path, transpose=True)
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert table.features == ("TP53", "MYC")
    np.testing.assert_array_equal(table.values, [[1, 4], [2, 5], [3, 6]])


def wide_csv(X, **changes):
    """A table of 1500 columns; `changes` replace cells, by row and column number."""
    cells = [[str(x) for x in row] for row in X.tolist()]
    for place, text in changes.items():
        row, column = map(int, place[1:].split("_"))
        cells[row][column] = text
    header = ",".join(["id", *(f"f{j}" for j in range(X.shape[1]))])
    return "\n".join([header, *(f"s{i},{','.join(c)}" for i, c in enumerate(cells))])


def test_thousands_of_columns_are_read(write, rng):
    X = rng.normal(size=(5, 1500))
    table = only(write(wide_csv(X, c2_7="NA", c3_9="")))
    X[2, 7] = X[3, 9] = np.nan
    np.testing.assert_array_equal(table.values, X)
    assert table.ids.tolist() == ["s0", "s1", "s2", "s3", "s4"]
    assert table.features[:2] == ("f0", "f1")


def test_text_columns_among_thousands_are_used(write, rng):
    X = rng.normal(size=(3, 1500))
    text = {"c0_4": "x", "c1_4": "x", "c2_4": "y"}
    table = only(write(wide_csv(X, **text)))
    assert table.features[0] == "f4=y"
    np.testing.assert_array_equal(table.values[:, 0], [0, 0, 1])
    np.testing.assert_array_equal(table.values[:, 1:], np.delete(X, 4, axis=1))


def test_a_typo_among_thousands_of_columns_is_told(write, rng):
    table = only(write(wide_csv(rng.normal(size=(3, 1500)), c1_4="oops")))
    assert len(table.features) == 1499
    assert told(table, "kept as metadata, not as features: 'f4'")


def test_an_infinite_number_among_thousands_of_columns_is_refused(write, rng):
    path = write(wide_csv(rng.normal(size=(3, 1500)), c0_4="inf"))
    with pytest.raises(InputError, match=r"view\.csv:2: row 's0' .*column 'f4'"):
        read_file(path)


def test_a_ragged_row_of_thousands_of_columns_is_named(write, rng):
    path = write(wide_csv(rng.normal(size=(3, 1500)), c1_4="1,2"))
    with pytest.raises(InputError, match=r"view\.csv:3: has 1502 fields where 1501"):
        read_file(path)


def test_blank_rows_of_a_wide_table_are_left_out(write, rng):
    X = rng.normal(size=(2, 1500))
    table = only(write(wide_csv(X) + "\n" + "," * 1500 + "\n"))
    np.testing.assert_array_equal(table.values, X)


def test_a_row_much_longer_than_the_first_ones_is_read(write):
    long = "x" * 3_000_000
    table = only(write(f"id,a,t\ns1,1,q\ns2,2,q\ns3,3,{long}\n"))
    assert table.n_rows == 3


# Bad files


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        ("\n\n  \n", "holds no table"),
        ("id,a,b\n", "header and no rows"),
        ("id,a,b", "header and no rows"),
        ("id,a\ns1,x\ns2,x\n", "no column that can be used"),
        ("id,a,a\ns1,1,2\n", r"'a' \(columns 2 and 3\); rename"),
        ("a,b\nx,inf\ny,2\n", r":2: row 'x' has an infinite value in column 'b'"),
        ("id,a\ns1,1\n,2\ns3,3\n", r":3: 1 rows have no id"),
        (b"id,a\ns1,1\ns2,\x00\x01\n", r":3: holds NUL bytes"),
        (bytes(range(1, 9)) * 50, "binary file"),
        (b"\xff\xfe\x00\xd8", "UTF-16"),
    ],
)
def test_bad_content_is_refused_by_name(write, content, problem):
    with pytest.raises(InputError, match=rf"view\.csv(:\d+)?: |{problem}") as caught:
        read_file(write(content))
    assert caught.match(problem)
    assert str(caught.value).split(":")[0].endswith("view.csv")


def test_a_ragged_row_is_named_by_its_line(write):
    text = "# note\nid,a,b\ns1,1,2\n\ns2,3,4\ns3,5\n"
    with pytest.raises(InputError, match=r"view\.csv:6: has 2 fields where 3"):
        read_file(write(text))


def test_a_ragged_row_after_a_quoted_newline_is_named_by_its_line(write):
    text = 'id,a,b\n"s\n1",1,2\ns2,3,4\ns3,5,6,7\n'
    with pytest.raises(InputError, match=r"view\.csv:5: has 4 fields where 3"):
        read_file(write(text))


def test_repeated_ids_are_named_with_their_lines(write):
    text = "id,a\ns1,1\ns2,2\ns1,3\ns2,4\ns1,5\n"
    problem = r"view\.csv:4: 2 ids come more than once.*'s1' \(lines 2, 4, 6\), 's2' "
    with pytest.raises(InputError, match=problem):
        read_file(write(text))


def test_nearly_distinct_text_is_taken_for_ids_with_repeats(write):
    rows = "".join(f"p{i},{i}\n" for i in range(30))
    with pytest.raises(InputError, match="'p3'"):
        read_file(write(f"who,a\n{rows}p3,1\n"))


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        (b"\x1f\x8b\x08\x00", r"is a gzip file, not text; add \.gz"),
        (b"PAR1....", r"is a Parquet file, not text; rename it to \.parquet"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        (b"PK\x03\x04....", "is a damaged zip archive"),
        (b"\x93NUMPY\x01\x00", r"rename it to \.npy"),
        (b"\xd0\xcf\x11\xe0....", "save the table as CSV"),
        (b"\x80\x04\x95....", "pickle, which is never loaded"),
    ],
)
def test_a_binary_file_under_the_name_of_a_csv_gets_the_right_hint(
    write, start, problem
):
    with pytest.raises(InputError, match=rf"view\.csv: .*{problem}|{problem}"):
        read_file(write(start + b"\x00" * 20))


def test_an_excel_workbook_under_the_name_of_a_csv_is_recognised(tmp_path):
    import zipfile

    path = tmp_path / "view.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(InputError, match=r"view\.csv: is an Excel workbook"):
        read_file(path)


def test_an_endless_line_is_refused_without_reading_on(tmp_path):
    path = tmp_path / "view.csv"
    with open(path, "wb") as file:
        file.write(b"id,a\ns1,1\n")
        for _ in range(70):
            file.write(b"7" * 2**20)
        file.truncate(4 * 2**30)  # the rest is a hole of 4 GiB
    with pytest.raises(InputError, match=r"view\.csv:3: a line is longer than 64 MiB"):
        read_file(path)


def test_an_endless_packed_line_is_refused(tmp_path):
    path = tmp_path / "view.csv.xz"
    path.write_bytes(lzma.compress(b"7" * (70 * 2**20), preset=0))
    with pytest.raises(InputError, match=r"view\.csv\.xz: a line is longer"):
        read_file(path)


def test_a_file_that_unpacks_to_hundreds_of_times_its_size_is_refused(
    write, monkeypatch
):
    monkeypatch.setattr("imvc.io._file_bytes._BOMB_SIZE", 2**18)
    packed = bz2.compress(b"0,0,0,0\n" * 2**18)
    with pytest.raises(InputError, match="500 times its size"):
        read_file(write(packed, "view.csv.bz2"))


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_a_truncated_packed_file_is_refused(write, ending, rng):
    import pyarrow as pa

    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    pack[".zst"] = lambda data: pa.compress(data, codec="zstd", asbytes=True)
    noise = "".join(f"s{i},{x}\n" for i, x in enumerate(rng.random(500)))
    packed = pack[ending](f"id,a\n{noise}".encode())
    path = write(packed[: len(packed) // 2], f"view.csv{ending}")
    with pytest.raises(InputError, match=r"damaged or\s+truncated"):
        read_file(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        read_file(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_file(tmp_path)


def test_a_file_that_may_not_be_read_is_named(write, monkeypatch):
    import builtins

    path = write(BASIC)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(InputError, match=r"view\.csv: may not be read by this user"):
        read_file(path)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("x.pkl", "never loaded"),
        ("x.rds", r"write\.csv"),
        ("x.npy.gz", "unpack it first"),
    ],
)
def test_kinds_that_are_not_read_come_with_a_remedy(write, name, problem):
    with pytest.raises(InputError, match=problem):
        read_file(write(BASIC, name))


def test_text_with_an_unknown_ending_is_read(write):
    assert only(write(BASIC, "view.table")).features == ("a", "b")


def test_row_names_of_r_are_ids_although_another_column_is_called_like_them(write):
    lines = [f"TCGA-{i:02d} n{99 - i} {i * i}" for i in range(12)]
    table = only(write("\n".join(["name value", *lines, ""])))
    assert table.ids[:2].tolist() == ["TCGA-00", "TCGA-01"]


def test_row_numbers_of_r_are_no_ids_while_another_column_could_be(write):
    lines = [f"{i} n{99 - i} {i * i}" for i in range(1, 13)]
    table = only(write("\n".join(["name value", *lines, ""])))
    assert table.ids[:2].tolist() == ["n98", "n97"]
    assert table.features == ("value",)
