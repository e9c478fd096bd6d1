"""workflow.compare_methods, inspect_source and demo."""

import numpy as np
import pytest

from imvc.datasets import make_views
from imvc.workflow import (
    InputFiles,
    compare_methods,
    demo,
    inspect_source,
    read_classes,
    read_record,
)
from study_files import read_table, write_classes, write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    paths, classes = write_study(folder)
    return InputFiles(paths), classes, write_classes(folder / "known.csv", classes)


def test_methods_are_scored_where_classes_are_known(study):
    inputs, classes, _ = study
    some = {key: value for key, value in classes.items() if key < "p050"}
    found = compare_methods(inputs, ["impute-kmeans", "rise"], 3, labels=some)
    assert found.n_labelled == 50
    assert found.table()[1]["acc"] > 0.9
    assert found.table()[1]["agreement with rise"] == 1.0


def test_without_classes_there_are_no_scores(study):
    found = compare_methods(study[0], ["impute-kmeans", "rise"], 3)
    assert found.n_labelled is None
    assert "acc" not in found.table()[0]
    assert found.table()[0]["pattern_leakage"] is not None


def test_classes_are_read_from_a_table_with_ids(study):
    _, classes, path = study
    expected = {key: f"kind {value}" for key, value in classes.items()}
    assert read_classes(f"{path}:kind") == expected
    assert read_classes(path) == expected


def test_a_column_of_classes_that_is_not_there_is_named_with_the_others(study):
    with pytest.raises(ValueError, match=r"known.csv: there is no column 'x'.*'kind'"):
        read_classes(f"{study[2]}:x")


def test_classes_of_other_samples_are_refused(study):
    with pytest.raises(ValueError, match="a class for none of the samples"):
        compare_methods(study[0], ["rise"], 3, labels={"other": 1})


def test_a_method_that_fails_leaves_the_others_and_its_error():
    X = np.ones((20, 2))
    X[0] = 2
    found = compare_methods([X, X], ["rise", "impute-kmeans"], 3)
    rows = {row["method"]: row for row in found.table()}
    assert set(found.failed) == {m for m, r in rows.items() if r["error"] is not None}
    assert rows["impute-kmeans"]["error"] is None


def test_what_cannot_fit_is_refused_before_any_method_runs(monkeypatch):
    data = make_views(60, (5, 4), 3, random_state=0)
    monkeypatch.setattr("imvc.methods._cost.available_memory", lambda: 1000)
    told = []
    with pytest.raises(ValueError, match="--force"):
        compare_methods(data.Xs, ["rise", "ueaf"], 3, progress=told.append)
    assert all(state.stage != "compare" for state in told)
    assert sum("of memory" in state.message for state in told) == 2


def test_the_table_of_a_comparison_is_a_csv_file(study, tmp_path):
    found = compare_methods(study[0], ["impute-kmeans", "rise"], 3, labels=study[1])
    rows = read_table(found.save(tmp_path / "table.csv"))
    assert [row["method"] for row in rows] == ["impute-kmeans", "rise"]
    assert float(rows[1]["acc"]) == found.table()[1]["acc"]


def test_inspection_of_files_comes_with_notes_that_name_them(study):
    found, notes = inspect_source(study[0])
    assert found.n_samples == 90
    assert any(note.split(":")[0].endswith("clinical.csv") for note in notes)
    assert any(column.kind == "yes-no" for column in found.columns)


def test_the_demo_writes_a_run_that_can_be_repeated_and_scores_three_methods(tmp_path):
    made = demo(tmp_path / "demo", n_refits=0)
    assert list(made.run.scores) == ["impute-kmeans", "rise", "bridge"]
    assert made.run.scores["bridge"]["ACC"] > made.run.scores["impute-kmeans"]["ACC"]
    assert made.files["report.html"].is_file()
    assert made.run.labels.size == 1797
    assert (tmp_path / "demo" / "data" / "zernike.csv").is_file()
    assert "digit" in made.run.metadata
    record = read_record(made.files["run.json"])
    assert record.check_files(record.inputs()) == []
