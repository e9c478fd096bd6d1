"""A little of the fuzzing of ``make fuzz``, and that it finds what there is to find."""

import json

import fuzz_targets
import pytest
from fuzz_run import Findings, fuzz, write_case
from fuzz_targets import TARGETS, Target, case_files

CASES = 24
SLOW = {"xls"}  # old workbooks, of which many hang for seconds


def test_every_format_survives_a_few_damaged_files(tmp_path):
    found = fuzz([n for n in TARGETS if n not in SLOW], tmp_path / "found", cases=CASES)
    told = tmp_path / "found" / "findings.jsonl"
    assert found.n == 0, told.read_text()
    assert {own.total() for own in found.cases.values()} == {CASES}


@pytest.mark.parametrize("name", TARGETS)
def test_good_files_are_read(tmp_path, name):
    for i, files in enumerate(fuzz_targets._seeds(name)):
        folder = tmp_path / str(i)
        folder.mkdir()
        assert fuzz_targets.run_case(name, files, folder) == ("read", "")


def test_a_case_is_the_same_whenever_it_is_made():
    before = case_files("npz", 5)
    fuzz_targets._seeds.cache_clear()
    assert case_files("csv", 3) == case_files("csv", 3)
    assert list(case_files("npz", 5)) == list(before)


def raising(error):
    def read(folder, guard):
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ValueError("v.csv: is empty; fill it."), "refused"),
        (FileNotFoundError("v.csv: is not there."), "refused"),
        (ValueError("something is wrong"), "no file named"),
        (KeyError("v.csv"), "raw error"),
        (RecursionError("v.csv"), "raw error"),
    ],
)
def test_errors_are_judged_by_their_kind_and_the_file_they_name(
    tmp_path, monkeypatch, error, outcome
):
    monkeypatch.setitem(TARGETS, "x", Target(None, raising(error)))
    found = fuzz_targets.run_case("x", {"v.csv": b"a"}, tmp_path)
    assert found[0] == outcome


def test_findings_are_written_with_their_files(tmp_path):
    found = Findings(tmp_path / "found")
    found.add("csv", 3, "refused", "v.csv: no")
    assert not found.folder.exists()
    for _ in range(5):
        found.add("csv", 3, "crash", "exit status -11")
    lines = (found.folder / "findings.jsonl").read_text().splitlines()
    first = {"target": "csv", "seed": 3, "outcome": "crash"}
    assert json.loads(lines[0]) == {**first, "message": "exit status -11"}
    assert len(lines) == 3
    write_case("csv", 3, tmp_path / "again")
    kept = {p.name: p.read_bytes() for p in (found.folder / "csv-3").iterdir()}
    assert kept == {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()}
    assert found.table().splitlines()[1].split() == ["csv", "6", "0", "1", "0", "5"]
