"""Ids that files write differently: near misses, loose matching, and a map of ids."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.io import InputError
from imvc.io.ids._id_map import apply_id_map, read_id_map
from imvc.io.ids._loose_key import loose_key
from imvc.io.ids._match import find_matches


def texts(values):
    result = np.empty(len(values), dtype=object)
    result[:] = list(values)
    return result


def matches(*files):
    """Matches between files a.csv, b.csv, ... with these ids."""
    return find_matches([(f"{s}.csv", texts(ids)) for s, ids in zip("abcde", files)])


def renamed(*files):
    return [ids.tolist() for ids in matches(*files).renamed]


def tcga(numbers, end=""):
    return [f"TCGA-02-{i:04d}{end}" for i in numbers]


# Keys


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("P001", "p1"),
        ("S 01", "s1"),
        ("x\u00a0y", "XY"),
        ("x\u200by", "xy"),
        ("Mu\u0308ller", "m\u00fcller"),
        ("\uff21\uff11", "a1"),
        ("STRASSE", "stra\u00dfe"),
        ("7.0", "007"),
        ("a-01-002", "A-1-2"),
        ("000", "0"),
        ("TCGA-02_1", "tcga.02.1"),
        ("line\nbreak", "linebreak"),
    ],
)
def test_keys_that_are_the_same(one, two):
    assert loose_key(one) == loose_key(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("A-1", "A1"),
        ("A--1", "A-1"),
        ("10", "1"),
        ("7.5", "7"),
        ("a.0", "a"),
        ("0", ""),
    ],
)
def test_keys_that_differ(one, two):
    assert loose_key(one) != loose_key(two)


def slow_key(text):
    """`loose_key`, letter by letter."""
    text = unicodedata.normalize("NFKC", text).casefold()
    letters = [c for c in text if not c.isspace() and c not in "\u200b\u200c\u2060"]
    kept = []
    for j, c in enumerate(letters):
        in_number = bool(kept) and kept[-1] in "0123456789"
        before_digit = j + 1 < len(letters) and letters[j + 1] in "0123456789"
        if c != "0" or in_number or not before_digit:
            kept.append(c)
    key = "".join(kept)
    if key.endswith(".0") and key[-3:-2] and key[-3] in "0123456789":
        key = key[:-2]
    return "".join("-" if c in "_.:|/" else c for c in key) or text


@given(st.text("aA0127.-_ \u00e9\u0301E\u200b", min_size=1).filter(str.strip))
def test_keys_agree_with_those_made_letter_by_letter(text):
    text = text.strip()
    assert loose_key(text) == slow_key(text)


# What is joined


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        (["ab", "cd"], ["AB", "ef"], "case"),
        (["P001", "P002"], ["P1", "P3"], "leading zeros"),
        (["P 1", "x"], ["P1", "y"], "spaces"),
        (["\u00e9", "x"], ["e\u0301", "y"], "Unicode form"),
        (["a\u00a0b", "x"], ["a b", "y"], "Unicode form"),
        (["7", "8"], ["7.0", "9.0"], "a trailing '.0'"),
        (["T-1", "T-2"], ["T.1", "T.3"], "punctuation"),
        (["P001", "P002"], ["001", "002"], "a prefix 'P'"),
        (["IDP1", "IDP2"], ["P1", "P2"], "a prefix 'ID'"),
        (["s1", "s2"], ["s1_rna", "s2_rna"], "a suffix '_rna'"),
        (tcga([1, 2], "-01A"), tcga([1, 2]), "a suffix '-01A'"),
        (
            ["T-1-01A", "T-2-01B", "T-3-02A"],
            ["T-1", "T-2", "T-3"],
            "the last part (such as '-01A')",
        ),
        (
            ["T-1-01A-x", "T-2-01B-y", "T-3-02A-x"],
            ["T-1", "T-2", "T-3"],
            "the last 2 parts (such as '-01A-x')",
        ),
        (["u/x1", "v/x2"], ["x1", "x2"], "the first part (such as 'u/')"),
    ],
)
def test_what_keeps_ids_apart_is_found_and_named(one, two, reason):
    found = matches(one, two)
    assert found.reasons == (reason,)
    shared = set(found.renamed[0]) & set(found.renamed[1])
    assert len(shared) == found.n_joined > 0
    assert shared <= set(one)
    assert matches(two, one).reasons == (reason,)


def test_the_spelling_of_the_first_file_is_kept():
    assert renamed(["x"], ["p1", "P2"], ["P1", "p2"]) == [
        ["x"],
        ["p1", "P2"],
        ["p1", "P2"],
    ]


def test_both_files_may_lose_an_affix():
    one, two = tcga([1, 2, 3], "-01A-01R"), tcga([3, 1, 2], "-01A-01D")
    assert renamed(one, two)[1] == [one[2], one[0], one[1]]
    assert matches(one, two).reasons == ("a suffix '-01R'", "a suffix '-01D'")


def test_two_files_that_agree_lose_an_affix_together():
    long, short = tcga(range(5), "-01A"), tcga(range(2, 7))
    found = matches(long, long, short)
    assert found.renamed[0].tolist() == found.renamed[1].tolist() == long
    assert found.renamed[2].tolist() == [*long[2:], *short[3:]]


def test_an_affix_and_zeros_are_both_named():
    found = matches(["P001", "P002"], ["1", "2"])
    assert found.reasons == ("a prefix 'P'", "leading zeros")
    assert found.n_joined == 2


def test_a_few_other_ids_do_not_hide_an_affix():
    one = [*(f"s{i}_rna" for i in range(20)), "control"]
    found = matches(one, [f"s{i}" for i in range(20)])
    assert found.n_joined == 20


def test_a_small_file_is_found_in_a_large_one():
    assert matches(tcga(range(200), "-01A"), tcga([3, 70, 150])).n_joined == 3


# What is not joined


@pytest.mark.parametrize(
    "files",
    [
        (["A-1", "A-2", "A-3"], ["B-1", "B-2", "B-3"]),
        (["u-a1", "v-a2", "v-a3"], ["x-a1", "y-a2", "y-a3"]),
        (["P1_x", "q7"], ["P1", "r"]),
        (["P10", "P20"], ["1", "2"]),
        (["A1", "A2"], ["A-1", "A-2"]),
        ([f"s{i}" for i in range(9)], [f"s{i}" for i in range(9, 18)]),
        ([f"x{i}_r" for i in range(20)], ["x1", "x2", *(f"y{i}" for i in range(18))]),
    ],
    ids=[
        "numbers of two series",
        "first parts that vary in both",
        "an affix of one id",
        "a number cut in two",
        "punctuation",
        "other samples",
        "less than a fifth",
    ],
)
def test_nothing_is_joined_without_good_reason(files):
    found = matches(*files)
    assert [ids.tolist() for ids in found.renamed] == list(files)
    assert (found.n_joined, found.n_ambiguous) == (0, 0)
    assert found.warning() == found.note() == ""


def test_exact_matches_stand_first():
    one, two, three = ["p1", "P1", "x"], ["P1", "X"], ["p1", "y"]
    assert renamed(one, two, three) == [["p1", "P1", "x"], ["P1", "x"], ["p1", "y"]]


def test_ambiguous_ids_stay_apart_and_are_told():
    found = matches(["p1", "P1", "q"], ["p 1", "Q"])
    assert [ids.tolist() for ids in found.renamed] == [["p1", "P1", "q"], ["p 1", "q"]]
    assert found.n_ambiguous == 1
    assert found.ambiguous == (("P1", "p1", "a.csv"),)


def test_two_ids_that_an_affix_tells_apart_are_ambiguous():
    one = ["T-1-01A", "T-1-01B", "T-2-01A", "T-3-01A"]
    found = matches(one, ["T-1", "T-2", "T-3"])
    assert found.renamed[1].tolist() == ["T-1", "T-2-01A", "T-3-01A"]
    assert found.ambiguous == (("T-1-01A", "T-1-01B", "a.csv"),)


def test_ids_that_all_files_write_alike_are_not_ambiguous():
    assert matches(["p1", "P1", "a"], ["P1", "p1", "b"], ["c"]).n_ambiguous == 0


def test_one_file_matches_nothing():
    found = matches(["a", "A"])
    assert found.renamed[0].tolist() == ["a", "A"]
    assert find_matches([]).renamed == []


# What is told


def test_the_warning_counts_explains_and_helps():
    found = matches(["P001", "P002", "P003"], ["p1", "p2", "P004"])
    assert found.warning() == (
        "2 ids would match in another file if case and leading zeros were ignored, "
        "e.g. 'P001' (a.csv) and 'p1' (b.csv), 'P002' (a.csv) and 'p2' (b.csv); pass "
        '--match-ids loose (match_ids="loose") to join them, or rename them with '
        "--id-map FILE (id_map=)."
    )
    assert found.note() == (
        "joined 2 ids of different files by ignoring case and leading zeros, e.g. "
        "'P001' (a.csv) and 'p1' (b.csv), 'P002' (a.csv) and 'p2' (b.csv)."
    )


def test_the_warning_of_an_affix_shows_it_as_written():
    assert matches(tcga([1, 2], "-01A"), tcga([2, 3, 1])).warning() == (
        "2 ids would match in another file if a suffix '-01A' were ignored, e.g. "
        "'TCGA-02-0001-01A' (a.csv) and 'TCGA-02-0001' (b.csv), 'TCGA-02-0002-01A' "
        "(a.csv) and 'TCGA-02-0002' (b.csv); pass --match-ids loose "
        '(match_ids="loose") to join them, or rename them with --id-map FILE (id_map=).'
    )


def test_ambiguous_ids_are_named_in_both_texts():
    ambiguous = (
        "1 id is ambiguous and never joined, since one file has two that are alike, "
        "e.g. 'P1' and 'p1' in a.csv; rename them with --id-map FILE (id_map=) if they "
        "should match."
    )
    only = matches(["p1", "P1"], ["p 1"])
    assert only.warning() == only.note() == ambiguous
    more = matches(["p1", "P1", "x"], ["p 1", "X"])
    assert more.note() == (
        "joined 1 id of different files by ignoring case, e.g. 'x' (a.csv) and 'X' "
        f"(b.csv). {ambiguous}"
    )
    assert more.warning().startswith("1 id would match in another file if case were")
    assert more.warning().endswith(f"(id_map=). {ambiguous}")


def test_every_reason_has_an_example():
    found = matches(["ab", "cd", "x y", "p01"], ["AB", "CD", "xy", "p1"])
    assert found.reasons == ("case", "spaces", "leading zeros")
    assert [example[0] for example in found.examples] == ["ab", "x y", "p01"]


# Properties


NAMES = st.text("aA01 -.", min_size=1, max_size=4).map(str.strip).filter(bool)
IDS = st.lists(NAMES, unique=True, min_size=1, max_size=12)
FILES = st.lists(IDS, min_size=2, max_size=3)


@st.composite
def files_with_affixes(draw):
    """Samples in several files, each with its own affix, case and zeros."""
    files = []
    for _ in range(draw(st.integers(2, 3))):
        numbers = draw(st.lists(st.integers(1, 30), unique=True, min_size=2))
        form = draw(
            st.sampled_from(["s{}", "S{:03d}", "{}", "s{}_x", "T-s{}", "s{}-{a}"])
        )
        ids = [form.format(i, a="ab"[i % 2]) for i in numbers]
        odd = draw(st.lists(NAMES, max_size=2))
        files.append(list(dict.fromkeys([*ids, *odd])))
    return files


ANY_FILES = st.one_of(FILES, files_with_affixes())


def without_affix(key):
    """A key with every affix off that the rules know, and as it is."""
    kept = {key}
    for j in range(1, len(key)):
        if not key[j - 1].isdigit():
            kept.add(key[j:])
        if not key[j].isdigit():
            kept.add(key[:j])
    return kept


@given(ANY_FILES)
def test_two_ids_of_one_file_are_never_merged(files):
    for ids, new in zip(files, renamed(*files)):
        assert len(set(new)) == len(ids)


@given(ANY_FILES)
def test_only_ids_that_the_rules_make_alike_get_one_name(files):
    """Every part ends at a break, so cuts at any non-digit cover the parts too."""
    origin = {}
    for ids, new in zip(files, renamed(*files)):
        for old, name in zip(ids, new):
            origin.setdefault(name, set()).add(old)
    for name, olds in origin.items():
        assert name in olds
        for old in olds:
            assert without_affix(slow_key(old)) & without_affix(slow_key(name))


@given(ANY_FILES)
def test_exact_matches_are_kept(files):
    new = [dict(zip(ids, names)) for ids, names in zip(files, renamed(*files))]
    for i, ids in enumerate(files):
        for j in range(i):
            for text in set(ids) & set(files[j]):
                assert new[i][text] == new[j][text]


@given(ANY_FILES)
def test_ids_of_one_key_without_a_rival_are_joined(files):
    """The slow twin of the first rule: groups by key, one id per file."""
    by_key = {}
    for file, (ids, names) in enumerate(zip(files, renamed(*files))):
        for old, name in zip(ids, names):
            by_key.setdefault(slow_key(old), []).append((file, name))
    for members in by_key.values():
        if len({file for file, _ in members}) == len(members):
            assert len({name for _, name in members}) == 1


@given(ANY_FILES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(files, random):
    shuffled = [random.sample(ids, len(ids)) for ids in files]
    one, two = matches(*files), matches(*shuffled)
    for ids, names, other_ids, other_names in zip(
        files, one.renamed, shuffled, two.renamed
    ):
        assert dict(zip(ids, names)) == dict(zip(other_ids, other_names))
    assert one.warning() == two.warning()
    assert one.note() == two.note()


@given(IDS, st.randoms(use_true_random=False))
def test_ids_that_are_equal_everywhere_come_back_untouched(ids, random):
    files = [ids, random.sample(ids, len(ids)), ids]
    found = matches(*files)
    assert [new.tolist() for new in found.renamed] == files
    assert found.warning() == ""


def test_ids_are_not_changed_in_place():
    one, two = texts(["a"]), texts(["A"])
    found = find_matches([("a", one), ("b", two)])
    assert (two.tolist(), found.renamed[1].tolist()) == (["A"], ["a"])


# The map of ids


@pytest.fixture
def save(tmp_path):
    """Write a file of the test and return its path."""

    def save(content, name="map.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return save


@pytest.mark.parametrize(
    "content",
    [
        "a1,b1\na2,b2\n",
        "old,new\na1,b1\na2,b2\n",
        "\ufeffold,new\r\na1,b1\r\na2,b2",
        "Sample ID;alias\n\na1 ; b1\na2;b2;\n",
        "from\tto\na1\tb1\na2\tb2\na1\tb1\n",
        '"a1","b1"\n"a2","b2"\n',
        "old,new\na1,b1\na2,b2\n".encode("utf-16"),
    ],
)
def test_a_map_is_read_with_or_without_a_header(save, content):
    assert read_id_map(save(content)) == {"a1": "b1", "a2": "b2"}


def test_ids_may_hold_separators_and_quotes(save):
    assert read_id_map(save('"a,1",b;1\n"a ""2""",b2\n')) == {
        "a,1": "b;1",
        'a "2"': "b2",
    }


@pytest.mark.parametrize("content", ["id,key\nq,id\n", "name,new\nx,new\n", "p1,new\n"])
def test_a_header_is_of_known_words_that_come_nowhere_else(save, content):
    first, second = content.split("\n")[0].split(",")
    assert read_id_map(save(content))[first] == second


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a,b\nc\n", r"map\.csv:2: has 'c' where two cells should be, an id and its"),
        ("a,b\nc,d,e\n", r"map\.csv:2: has 'c', 'd', 'e' where two cells should be"),
        ("a,b\n,d\n", r"map\.csv:2: has '', 'd' where two cells"),
        (
            "a,b\nc,d\na,e\n",
            r"map\.csv:3: renames 'a' both to 'b' and to 'e'; keep one",
        ),
        ("old,new\n", r"map\.csv: renames nothing; give rows"),
        ("", r"map\.csv: the file is empty"),
        (b"\x89HDF\r\n\x1a\n", r"map\.csv: is an HDF5 file, not text"),
        (b"a,b\x00\n", r"map\.csv:1: holds NUL bytes"),
    ],
)
def test_bad_maps_are_refused(save, content, problem):
    with pytest.raises(InputError, match=problem):
        read_id_map(save(content))


def test_a_map_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"gone\.csv: no such file; check the path"):
        read_id_map(tmp_path / "gone.csv")


def test_a_map_renames_once_and_counts():
    ids, n_renamed = apply_id_map("a", texts(["a", "b", "c"]), {"a": "b", "b": "d"})
    assert ids.tolist() == ["b", "d", "c"]
    assert n_renamed == 2


def test_a_map_that_makes_two_ids_one_is_refused():
    with pytest.raises(InputError, match=r"^a\.csv: the id map") as caught:
        apply_id_map("a.csv", texts(["p", "q", "r"]), {"p": "r"})
    assert str(caught.value) == (
        "a.csv: the id map (--id-map) makes 'r' of two different ids, 'p' and 'r'; "
        "give them different names."
    )
