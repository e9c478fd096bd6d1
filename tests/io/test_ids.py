"""Choosing the id columns of all files together; rows are never paired by position."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.io import InputError
from imvc.io.ids._choose import (
    FileColumns,
    IdCandidate,
    choose_ids,
    is_index_name,
    is_nameless,
)


def texts(values):
    result = np.empty(len(values), dtype=object)
    result[:] = [str(value) for value in values]
    return result


def column(name, values, **said):
    """A column of a file; whether it holds whole numbers is seen from the values."""
    values = texts(values)
    whole = all(v.lstrip("-").isdecimal() for v in values if v)
    return IdCandidate(name, values, whole, **said)


def table(source, columns, **said):
    """A file with these columns; the first is the first."""
    names = list(columns)
    return FileColumns(
        source,
        tuple(column(n, columns[n], first=n == names[0]) for n in names),
        **said,
    )


def patients(numbers):
    return [f"P{i:03d}" for i in numbers]


def chosen(*files):
    return [choice.column for choice in choose_ids(files)]


N = 20
ORDER = list(np.random.default_rng(0).permutation(N))
COUNT = list(range(N))


# Names


@pytest.mark.parametrize(
    "name",
    "id ID Id ids patient_id PatientID patientId sampleid Sample-ID SAMPLE_ID sample "
    "Samples barcode bcr_patient_barcode submitter_id geo_accession MRN specimen "
    "record_id donorID participant subject_no USUBJID Fallnummer Patienten-ID "
    "Patientennummer Pseudonym case cell index id_paciente eid".split()
    + ["Patient ID", "Sample Name", "record id", "code patient", "Código del paciente"]
    + ["Numéro de dossier", "Case Number", "Unnamed: 0", ""],
)
def test_names_like_ids(name):
    assert is_index_name(name)


@pytest.mark.parametrize(
    "name",
    "valid fluid width FLUID acid uric_acid is_valid lipid plaid Euclid steroid age "
    "sample_weight patient_age donor_sex case_count cells cases n_samples "
    "number_of_patients sample1 patient12 ident grid covid Covid COVID".split()
    + ["Number of cases", "uric acid", "cell volume", "subject height"],
)
def test_names_unlike_ids(name):
    assert not is_index_name(name)


@pytest.mark.parametrize(
    "name", ["", "Unnamed: 0", "Unnamed: 0.1", "__index_level_0__", "...1"]
)
def test_names_that_programs_make_up_are_none(name):
    assert is_nameless(name)
    assert not is_nameless("index")


# Row counters


def test_the_export_of_the_issue_is_joined_by_its_patients():
    """A counter, the patients, numbers: rows in another order, some missing."""
    one = table("a.csv", {"": COUNT, "Patient ID": patients(COUNT)})
    two = table("b.csv", {"": COUNT[:15], "Patient ID": patients(ORDER[:15])})
    for choice in choose_ids([one, two]):
        assert choice.column == "Patient ID"
        assert choice.counters == ("",)
        assert choice.note == (
            "ids from column 'Patient ID'; the first column only counts rows and is "
            "left out"
        )


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", ["Unnamed: 0", "index", "nr", "x", "patient_no"])
def test_consecutive_numbers_are_no_ids_beside_text(name, start):
    count = list(range(start, start + N))
    files = [
        table(source, {name: count, "who": patients(ORDER)}) for source in ("a", "b")
    ]
    for choice in choose_ids(files):
        assert choice.column == "who"
        assert choice.counters == (name,)


@pytest.mark.parametrize(
    "left_over", [ORDER, [i for i in range(2 * N) if i % 2], [*range(12), *range(8)]]
)
@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index", "level_0"])
def test_what_is_left_of_an_index_counts_rows(name, left_over):
    """Shuffled, filtered, or tables put below each other."""
    file = table("a", {name: left_over, "who": patients(COUNT)})
    (choice,) = choose_ids([file])
    assert (choice.column, choice.counters) == ("who", (name,))


def test_a_pandas_index_without_a_name_counts_rows_where_it_holds_numbers():
    def of(values):
        index = column("__index_level_0__", values, declared=True)
        return FileColumns("a", (column("who", patients(COUNT), first=True), index))

    assert choose_ids([of(ORDER)])[0].counters == ("__index_level_0__",)
    assert chosen(of(patients(ORDER))) == ["__index_level_0__"]


def test_a_short_column_of_numbers_is_a_counter_by_its_name_only():
    file = table("a", {"id": ["p", "q", "r"], "dose": [1, 2, 3], "nr": [1, 2, 3]})
    assert choose_ids([file])[0].counters == ("nr",)


def test_zeros_in_front_make_ids_of_numbers():
    padded = [f"{i:03d}" for i in range(1, N + 1)]
    one, two = table("a", {"": padded}), table("b", {"": padded[5:]})
    assert chosen(one, two) == ["", ""]
    assert all(choice.counters == () for choice in choose_ids([one, two]))


def test_several_counters_are_all_left_out():
    file = table("a", {"": COUNT, "nr": COUNT, "who": patients(ORDER)})
    (choice,) = choose_ids([file])
    assert choice.counters == ("", "nr")
    assert choice.note == (
        "ids from column 'who'; columns 'Unnamed: 0', 'nr' only count rows and are "
        "left out"
    )


# Columns that could be ids


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"a": patients(ORDER), "b": patients(COUNT)}, "a"),
        ({"a": patients(ORDER), "sample_id": patients(COUNT)}, "sample_id"),
        ({"text": ["x"] * N, "b": patients(COUNT)}, "b"),
        ({"id": [i + 0.5 for i in ORDER], "b": patients(COUNT)}, "b"),
        ({"age": [3 * i for i in ORDER]}, None),
        ({"mrn": [1000 + 7 * i for i in ORDER]}, "mrn"),
        ({"day": [f"2020-01-{i + 1:02d}" for i in ORDER], "b": patients(COUNT)}, "b"),
        ({"day": [f"2020-01-{i + 1:02d}" for i in ORDER]}, "day"),
        ({"who": [*patients(COUNT[1:]), "P001"], "c": ["x"] * N}, "who"),
        ({"x": [0.5] * N, "who": [*patients(COUNT[1:]), "P001"]}, None),
        ({"x": [0.5] * N, "id": [*patients(COUNT[1:]), ""]}, "id"),
        ({"x": [0.5] * N, "id": patients(COUNT[:10]) * 2}, None),
        ({"id": patients(COUNT[:10]) * 2}, "id"),
        ({"id": [*patients(COUNT[1:]), ""], "name_": patients(ORDER)}, "name_"),
        ({"case": [0, 1] * 50}, None),
    ],
)
def test_the_column_of_one_file(columns, expected):
    assert chosen(table("a", columns)) == [expected]


def test_a_declared_index_comes_before_other_ids():
    index = column("obs_names", patients(COUNT), declared=True)
    file = FileColumns("a", (column("sample_id", patients(ORDER), first=True), index))
    assert chosen(file) == ["obs_names"]


def test_a_declared_index_that_counts_gives_way():
    index = column("obs_names", COUNT, declared=True)
    file = FileColumns("a", (column("barcode", patients(ORDER)), index))
    (choice,) = choose_ids([file])
    assert (choice.column, choice.counters) == ("barcode", ("obs_names",))


def test_only_twenty_columns_are_compared_and_named_ones_first():
    others = {f"t{j}": [f"{j}/{i}/x" for i in COUNT] for j in range(40)}
    one = table("a", {**others, "patient": patients(ORDER)})
    two = table("b", {"who": patients(ORDER)})
    assert chosen(one, two) == ["patient", "who"]


# All files together


def test_overlap_with_another_file_comes_before_a_name():
    other = [f"tube {i}" for i in COUNT]
    one = table("a", {"sample_id": other, "who": patients(ORDER)})
    two = table("b", {"key": patients(COUNT)})
    assert chosen(one, two) == ["who", "key"]
    assert chosen(two, one) == ["key", "who"]


def test_a_name_comes_before_a_little_more_overlap():
    """Wells of a plate are the same in all files and tell nothing of the patients."""
    wells = [f"{row}{k}" for row in "AB" for k in range(1, 11)]
    one = table("a", {"well": wells, "patient": patients(COUNT)})
    two = table("b", {"well": wells, "patient": patients(i + 1 for i in ORDER)})
    assert chosen(one, two) == ["patient", "patient"]


def test_ids_that_are_written_differently_overlap():
    wells = [f"{row}{k}" for row in "AB" for k in range(1, 11)]
    one = table("a", {"well": wells, "patient": patients(COUNT)})
    two = table("b", {"well": wells, "patient": [f"p{i}" for i in ORDER]})
    assert chosen(one, two) == ["patient", "patient"]


def test_few_shared_texts_are_evidence_and_few_shared_numbers_are_not():
    mine = [f"x{i}" for i in range(100)]
    theirs = [f"x{i}" for i in range(90, 190)]
    one = table("a", {"id": [f"t{i}" for i in range(100)], "who": mine})
    two = table("b", {"key": theirs})
    assert chosen(one, two) == ["who", "key"]
    one = table("a", {"id": [f"t{i}" for i in range(100)], "who": mine[:99] + ["x999"]})
    two = table("b", {"key": [f"x{i}" for i in range(91, 191)]})
    assert chosen(one, two) == ["id", "key"]
    one = table("a", {"id": patients(range(100)), "n": [7 * i for i in range(100)]})
    two = table("b", {"mrn": [7 * i for i in range(80, 180)]})
    assert chosen(one, two) == ["id", "mrn"]


def test_numbers_that_are_the_ids_of_another_file_are_ids():
    numbers = [1003 + 17 * i for i in ORDER]
    one = table("a", {"x": [0.5] * N, "code": numbers})
    two = table("b", {"mrn": numbers[5:]})
    assert chosen(one, two) == ["code", "mrn"]


def test_numbers_that_meet_crowded_ids_by_chance_are_none():
    ages = [20 + 3 * i for i in ORDER]
    one = table("a", {"age": ages})
    two = table("b", {"patient_id": [i for i in range(1, 100) if i % 10]})
    with pytest.raises(InputError, match="a: no column of ids was found"):
        choose_ids([one, two])


def test_columns_of_one_name_are_chosen_together():
    """Both numbers overlap; the place of the columns differs."""
    visits, who = [i + 1 for i in ORDER], [2 * i + 1 for i in ORDER]
    one = table("a", {"visit_id": visits, "patient_id": who})
    two = table("b", {"patient_id": who[::-1], "visit_id": visits[::-1]})
    first, second = chosen(one, two)
    assert first == second


def test_three_files_agree_on_what_two_of_them_share():
    both = {"tube": [f"t{i}" for i in COUNT], "who": patients(ORDER)}
    one, two = table("a", both), table("b", both)
    three = table("c", {"subject": patients(ORDER[3:])})
    assert chosen(one, two, three) == ["who", "who", "subject"]


def test_repeated_ids_that_overlap_come_before_other_text():
    """The check of ids will name the repeats; a comment would match nothing."""
    notes = [f"seen by {i}" for i in COUNT]
    one = table("a", {"comment": notes, "patient": [*patients(COUNT[1:]), "P001"]})
    two = table("b", {"patient": patients(ORDER)})
    assert chosen(one, two) == ["patient", "patient"]


def test_a_named_counter_is_an_id_where_another_file_has_its_gaps():
    one = table("a", {"Patient ID": range(1, N + 1)})
    two = table("b", {"": COUNT[:9], "patient_id": [1, 2, 4, 5, 9, 12, 13, 17, 20]})
    choices = choose_ids([one, two])
    assert [choice.column for choice in choices] == ["Patient ID", "patient_id"]
    assert [choice.counters for choice in choices] == [(), ("",)]


def test_a_nameless_counter_is_never_rescued_by_another_file():
    one = table("a", {"": range(1, N + 1)})
    two = table("b", {"patient_id": [1, 2, 4, 5, 9, 12, 13, 17, 20]})
    with pytest.raises(InputError, match="a: no ids were found but the first column"):
        choose_ids([one, two])


def test_two_complete_counters_rescue_each_other_not():
    one, two = table("a", {"patient_id": COUNT}), table("b", {"patient_id": COUNT})
    with pytest.raises(
        InputError, match="a: no ids were found but column 'patient_id'"
    ):
        choose_ids([one, two])


# What cannot be decided


BY_ROW = (
    "pass --id @row (id_columns='@row') if the rows of all files are the same samples "
    "in the same order."
)


def message(*files):
    with pytest.raises(InputError, match=r"^a\.csv: no ") as caught:
        choose_ids(files)
    return str(caught.value)


def test_a_file_with_a_counter_only_gets_an_error_that_says_what_to_pass():
    two = table("b.csv", {"id": patients(COUNT)})
    assert message(table("a.csv", {"": COUNT}), two) == (
        "a.csv: no ids were found but the first column, which only counts rows ('0', "
        "'1', '2' and 17 more), so rows would be paired with those of the other files "
        "by position; pass --id 'Unnamed: 0' (id_columns='Unnamed: 0') if these "
        f"numbers are the ids, name another column, or {BY_ROW}"
    )
    assert message(table("a.csv", {"x": [0.5] * N, "pid": COUNT}), two) == (
        "a.csv: no ids were found but column 'pid', which only counts rows ('0', "
        "'1', '2' and 17 more), so rows would be paired with those of the other files "
        "by position; pass --id pid (id_columns='pid') if these numbers are the ids, "
        f"name another column, or {BY_ROW}"
    )


def test_a_table_without_ids_gets_an_error_that_says_what_to_pass():
    two = table("b.csv", {"id": patients(COUNT)})
    assert message(table("a.csv", {"age": [7] * N, "sex": ["f"] * N}), two) == (
        "a.csv: no column of ids was found among its columns 'age', 'sex', so its rows "
        "could be paired with those of the other files by position only; name the "
        f"column with --id COLUMN (id_columns=), or {BY_ROW}"
    )
    assert message(FileColumns("a.csv", ()), two).startswith(
        "a.csv: no column of ids was found, so its rows"
    )


def test_matrices_need_no_ids():
    one, two = (FileColumns(name, (), tabular=False) for name in "ab")
    choices = choose_ids([one, two])
    assert [choice.column for choice in choices] == [None, None]
    assert choices[0].note == "no column of ids: rows are taken in their order"


def test_a_matrix_whose_row_names_count_is_not_paired_by_them():
    index = column("obs_names", COUNT, declared=True)
    files = [FileColumns(name, (index,), tabular=False) for name in "ab"]
    with pytest.raises(InputError, match="a: no ids were found but column 'obs_names'"):
        choose_ids(files)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"": COUNT}, ""),
        ({"Unnamed: 0": COUNT, "pid": COUNT}, "pid"),
        ({"x": [0.5] * N, "rank": COUNT}, None),
        ({"": [*range(12), *range(8)]}, None),
        ({"x": [0.5] * N}, None),
    ],
)
def test_one_file_may_count_its_rows(columns, expected):
    (choice,) = choose_ids([table("a", columns)])
    assert choice.column == expected


def test_the_note_of_one_file_tells_that_its_ids_count_rows():
    (choice,) = choose_ids([table("a", {"": COUNT})])
    assert choice.note == "ids from the column without a name, which only counts rows"


# What was asked for


def test_a_given_column_is_taken_as_it_is():
    file = {"": COUNT, "who": patients(ORDER), "nr": COUNT}
    one, two = (table(name, file, given="nr") for name in "ab")
    for choice in choose_ids([one, two]):
        assert choice.column == "nr"
        assert choice.counters == ("",)


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
@pytest.mark.parametrize("asked", ["", "Unnamed: 0"])
def test_a_column_without_a_name_can_be_given(name, asked):
    one, two = (table(s, {name: COUNT, "nr": COUNT}, given=asked) for s in "ab")
    for choice in choose_ids([one, two]):
        assert (choice.column, choice.counters) == (name, ("nr",))


def test_rows_in_their_order_can_be_asked_for():
    columns = {"": COUNT, "who": patients(ORDER)}
    for choice in choose_ids([table(s, columns, given="@row") for s in "ab"]):
        assert (choice.column, choice.counters) == (None, ("",))
        assert choice.note == (
            "rows are taken in their order, as asked (@row); the first column only "
            "counts rows and is left out"
        )


def test_files_are_compared_with_a_given_column():
    one = table("a", {"tube": [f"t{i}" for i in COUNT], "who": patients(ORDER)})
    two = table(
        "b", {"tube": [f"t{i}" for i in COUNT], "x": patients(COUNT)}, given="x"
    )
    assert chosen(one, two) == ["who", "x"]


def test_a_given_column_that_is_not_there_is_left_to_the_caller():
    assert chosen(table("a", {"who": patients(COUNT)}, given="gone")) == ["gone"]


# Properties


@st.composite
def files_of_samples(draw):
    """Tables of the same samples in different orders, most with counters."""
    files = []
    for source in "abc"[: draw(st.integers(2, 3))]:
        n = draw(st.integers(3, 14))
        who = draw(st.permutations(range(1, 15)))[:n]
        start = draw(st.sampled_from([0, 1]))
        kinds = {
            "count": range(start, start + n),
            "index": draw(st.permutations(range(n))),
            "who": patients(who),
            "number": who,
            "value": [0.5 + i for i in who],
        }
        names = st.sampled_from(["", "index", "nr", "patient_id", "id", "who", "x"])
        columns = draw(
            st.dictionaries(names, st.sampled_from(list(kinds)), min_size=1, max_size=4)
        )
        files.append(table(source, {name: kinds[k] for name, k in columns.items()}))
    return files


def counts(values):
    return values in (
        [*map(str, range(len(values)))],
        [*map(str, range(1, len(values) + 1))],
    )


@given(files_of_samples())
def test_files_are_never_paired_by_position(files):
    """Two files are never both joined by columns that count their rows."""
    try:
        choices = choose_ids(files)
    except InputError:
        return
    taken = [
        next(c.values.tolist() for c in file.candidates if c.name == choice.column)
        for file, choice in zip(files, choices)
    ]
    if any(counts(values) for values in taken):
        assert not all(counts(values) for values in taken)
        names = [c.column for c, v in zip(choices, taken) if counts(v)]
        assert all(name in ("patient_id", "id") for name in names)


@given(files_of_samples(), st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_files(files, random):
    def outcome(files):
        try:
            return {f.source: c for f, c in zip(files, choose_ids(files))}
        except InputError:
            return None

    shuffled = random.sample(files, len(files))
    assert outcome(files) == outcome(shuffled)
