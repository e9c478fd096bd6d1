"""workflow.cluster and what it saves."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from imvc.datasets import make_views
from imvc.io import InputError, Preparation
from imvc.metrics import adjusted_rand
from imvc.workflow import InputFiles, cluster, output_folder, read_record, repeat
from study_files import (
    HOSTILE,
    read_table,
    set_judgement,
    write_classes,
    write_study,
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Files, classes and a run on them, saved."""
    folder = tmp_path_factory.mktemp("study")
    paths, classes = write_study(folder)
    metadata = write_classes(folder / "known.csv", classes)
    inputs = InputFiles(
        paths, preparation=Preparation(scale="standard"), metadata=metadata
    )
    run = cluster(inputs, n_clusters=3, n_refits=2)
    return folder, paths, classes, run, run.save(folder / "out")


@pytest.fixture(scope="module")
def planted():
    return make_views(60, (5, 4), 3, separation=8, incomplete=0.3, random_state=0)


def test_the_planted_classes_are_found_across_the_files(study):
    _, _, classes, run, _ = study
    y = [classes[i] for i in run.sample_ids]
    assert adjusted_rand(y, run.labels) > 0.9


def test_labels_csv_has_every_sample_once_with_cluster_and_confidence(study):
    _, _, classes, run, files = study
    rows = read_table(files["labels.csv"])
    assert [row["id"] for row in rows] == run.sample_ids.tolist()
    assert {row["id"] for row in rows} == set(classes)
    assert [int(row["cluster"]) for row in rows] == run.labels.tolist()
    assert set(rows[0]) == {
        "id",
        "cluster",
        "confidence",
        "margin",
        "stability",
        "low_confidence",
        "n_views",
    }
    assert [int(row["n_views"]) for row in rows] == run.views.mask.sum(1).tolist()


def test_parquet_says_the_same_as_csv(study):
    parquet = pytest.importorskip("pyarrow.parquet")
    files = study[-1]
    table = parquet.read_table(files["labels.parquet"]).to_pydict()
    rows = read_table(files["labels.csv"])
    assert table["id"] == [row["id"] for row in rows]
    assert table["cluster"] == [int(row["cluster"]) for row in rows]
    assert table["margin"] == [float(row["margin"]) for row in rows]


def test_the_embedding_file_has_the_coordinates_of_the_model(study):
    parquet = pytest.importorskip("pyarrow.parquet")
    _, _, _, run, files = study
    table = parquet.read_table(files["embedding.parquet"]).to_pydict()
    Y = np.column_stack([table[f"y{j}"] for j in range(run.model.embedding_.shape[1])])
    np.testing.assert_array_equal(Y, run.model.embedding_)


def test_run_json_names_files_by_checksum_and_lists_what_was_written(study):
    folder, paths, _, _, files = study
    record = json.loads(files["run.json"].read_text())
    assert [entry["relative"] for entry in record["files"]] == [
        f"../{path.name}" for path in (*paths, folder / "known.csv")
    ]
    assert set(record["outputs"]) == set(files) - {"run.json"}
    assert record["request"]["parameters"]["anchor_sample"] == 5000
    assert record["versions"]["imvc"]
    assert {"read", "fit", "confidence", "report"} <= set(record["seconds"])


def test_text_columns_and_metadata_reach_the_report(study):
    run = study[3]
    assert {"kind"} <= set(run.to_report().metadata)


def test_a_hostile_column_name_stays_text_in_every_page(study):
    files = study[-1]
    for name in ("report.html", "patterns.svg"):
        assert HOSTILE not in files[name].read_text()
    assert HOSTILE in {f.feature for f in study[3].explanation.features}


def test_without_a_number_of_clusters_one_is_suggested_with_its_evidence():
    data = make_views(90, (6, 5, 4), 3, separation=8, incomplete=0.5, random_state=0)
    run = cluster(data.Xs, n_refits=0)
    told = run.summary()
    assert told["suggested"]
    assert told["evidence"] in ("strong", "weak")
    assert told["candidates"][0]["k"] == run.n_clusters == len(told["sizes"])
    words = f"{run.n_clusters} clusters, give or take one, were suggested"
    assert run.number_in_words().startswith(words)


@pytest.fixture
def judged(planted):
    """A run whose number of clusters was suggested, with everything known about it."""
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)
    set_judgement(run.model)
    return run


def test_the_evidence_stands_first_in_the_summary_with_all_that_it_rests_on(judged):
    told = judged.summary()
    assert list(told)[:3] == ["structure", "evidence", "evidence_reason"]
    assert told["evidence"] == "none"
    assert told["evidence_reason"] == "no number of clusters comes back"
    assert told["candidates"] == [
        {"k": 3, "r": 0.4, "v": 1.1, "reason": "comes back best"},
        {"k": 2, "r": 0.3, "v": None, "reason": "its neighbour"},
    ]
    assert told["stability_curve"] == [
        {"k": 2, "r": 0.3, "v": None},
        {"k": 3, "r": 0.4, "v": 1.1},
    ]
    assert told["cluster_stability"] == [0.9, 0.52, None]


def test_run_json_tells_the_evidence_in_strict_json(judged, tmp_path):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    text = judged.save(tmp_path / "out", report=False)["run.json"].read_text()
    result = json.loads(text, parse_constant=refuse)["result"]
    assert result["evidence"] == "none"
    assert result["cluster_stability"] == [0.9, 0.52, None]


def test_labels_tell_how_much_of_the_cluster_comes_back(judged):
    shares = judged.columns()["cluster_stability"]
    np.testing.assert_array_equal(shares, np.array([0.9, 0.52, np.nan])[judged.labels])


def test_doubtful_clusters_are_those_of_which_too_little_comes_back(judged):
    assert judged.doubtful == {1: 0.52}


def test_the_report_has_all_that_is_known_about_the_number(judged):
    report, model = judged.to_report(), judged.model
    assert report.evidence_reason == model.evidence_reason_
    assert report.candidates is model.candidates_
    assert report.cluster_stability is model.cluster_stability_


def test_the_report_has_the_warnings_of_the_run_and_not_among_its_notes(judged):
    report = replace(judged, warnings=("odd",), notes=("read",)).to_report()
    assert (report.warnings, report.notes) == (("odd",), ("read",))


def test_shares_of_other_clusters_than_those_found_are_not_shown(judged):
    judged.model.cluster_stability_ = np.ones(2)
    assert judged.cluster_stability is None
    assert "cluster_stability" not in judged.columns()


def test_a_method_that_suggests_nothing_has_no_evidence(planted):
    told = cluster(planted.Xs, n_clusters=3, method="rise", n_refits=0).summary()
    names = ("evidence", "evidence_reason", "candidates", "stability_curve")
    assert [told[name] for name in (*names, "cluster_stability")] == [None] * 5


def test_other_methods_need_a_number_of_clusters(planted):
    with pytest.raises(ValueError, match=r"'rise' needs one number of clusters.*-k"):
        cluster(planted.Xs, method="rise")


@pytest.mark.parametrize("name", ["nonsense", "callback"])
def test_an_unknown_parameter_is_named_with_those_there_are(planted, name):
    with pytest.raises(ValueError, match=rf"no parameter '{name}'; it has: .*n_init"):
        cluster(planted.Xs, n_clusters=3, parameters={name: 1})


def test_a_wrong_request_is_told_before_the_files_are_read():
    with pytest.raises(ValueError, match="no method named 'risse'"):
        cluster(InputFiles(["not_there.csv"]), method="risse", n_clusters=3)


def test_metadata_must_have_one_value_per_sample(planted):
    with pytest.raises(ValueError, match="metadata 'age' has shape"):
        cluster(planted.Xs, n_clusters=3, n_refits=0, metadata={"age": [1, 2]})


def test_what_cannot_fit_is_refused_unless_forced(planted, monkeypatch):
    monkeypatch.setattr("imvc.methods._cost.available_memory", lambda: 1000)
    with pytest.raises(ValueError, match="--force"):
        cluster(planted.Xs, n_clusters=3, n_refits=0)
    told = []
    run = cluster(
        planted.Xs, n_clusters=3, n_refits=0, force=True, progress=told.append
    )
    assert run.n_clusters == 3
    assert any(state.message.endswith("Tried all the same.") for state in told)


def test_progress_tells_the_estimate_before_the_fit(planted):
    told = []
    cluster(planted.Xs, n_clusters=3, n_refits=0, progress=told.append)
    texts = [state.message or state.stage for state in told]
    estimate = next(i for i, text in enumerate(texts) if "of memory" in text)
    assert estimate < texts.index("fit")


def test_a_method_without_a_rule_for_new_samples_writes_no_model(planted, tmp_path):
    run = cluster(planted.Xs, n_clusters=3, method="daimc", n_refits=0)
    told = []
    files = run.save(tmp_path / "out", report=False, progress=told.append)
    assert "model.imvc" not in files
    assert any("daimc has no rule for new samples" in s.message for s in told)


def test_without_pyarrow_the_embedding_is_csv_and_a_note_says_why(
    planted, tmp_path, monkeypatch
):
    monkeypatch.setattr("imvc.workflow._save.has_parquet", lambda: False)
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)
    files = run.save(tmp_path / "out", report=False)
    assert "labels.parquet" not in files
    assert len(read_table(files["embedding.csv"])) == 60
    assert any("pyarrow is missing" in n for n in _record(files)["notes"])


def test_a_folder_with_a_run_is_not_written_to_again(study):
    folder, _, _, run, _ = study
    with pytest.raises(InputError, match="already holds results"):
        run.save(folder / "out")


def test_overwriting_leaves_no_file_of_the_earlier_run(planted, tmp_path):
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)
    run.save(tmp_path)
    run.save(tmp_path, report=False, overwrite=True)
    assert not (tmp_path / "report.html").exists()
    assert (tmp_path / "labels.csv").exists()


def test_an_error_while_saving_leaves_nothing_behind(planted, tmp_path, monkeypatch):
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)

    def fail(report, path):
        path.write_text("half")
        raise KeyboardInterrupt("stopped halfway")

    monkeypatch.setattr("imvc.workflow._save.write_cluster_page", fail)
    with pytest.raises(KeyboardInterrupt, match="stopped halfway"):
        run.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_repeating_a_run_gives_the_same_labels_byte_by_byte(study, tmp_path):
    _, _, _, run, files = study
    again = repeat(files["run.json"])
    written = again.save(tmp_path / "again")
    record = read_record(files["run.json"])
    assert written["labels.csv"].read_bytes() == files["labels.csv"].read_bytes()
    assert record.same_labels(written["labels.csv"])
    assert again.model.get_params() == run.model.get_params()


def test_repeating_finds_files_that_moved_with_the_folder(tmp_path):
    (tmp_path / "a").mkdir()
    paths, _ = write_study(tmp_path / "a")
    run = cluster(InputFiles(paths), n_clusters=3, n_refits=0)
    run.save(tmp_path / "a" / "out", report=False)
    (tmp_path / "a").rename(tmp_path / "b")
    again = repeat(tmp_path / "b" / "out")
    assert again.labels.tolist() == run.labels.tolist()


def test_a_changed_file_is_refused_unless_forced(tmp_path):
    paths, _ = write_study(tmp_path)
    cluster(InputFiles(paths), n_clusters=3, n_refits=0).save(
        tmp_path / "out", report=False
    )
    lines = paths[0].read_text().splitlines(keepends=True)
    paths[0].write_text("".join(lines[:-1]))
    with pytest.raises(ValueError, match=r"rna.csv: not the file of that run"):
        repeat(tmp_path / "out")
    told = []
    repeat(tmp_path / "out", force=True, progress=told.append)
    assert any("rna.csv: not the file" in state.message for state in told)


def test_a_file_that_is_gone_is_named_with_the_places_looked_at(tmp_path):
    paths, _ = write_study(tmp_path)
    cluster(InputFiles(paths), n_clusters=3, n_refits=0).save(
        tmp_path / "out", report=False
    )
    paths[1].rename(tmp_path / "moved.tsv")
    with pytest.raises(FileNotFoundError, match=r"protein.tsv: the file of that run"):
        repeat(tmp_path / "out")
    again = repeat(tmp_path / "out", paths=[paths[0], tmp_path / "moved.tsv", paths[2]])
    assert again.views.n_views == 3


def test_a_run_on_arrays_says_that_it_cannot_be_repeated(planted, tmp_path):
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)
    files = run.save(tmp_path, report=False)
    with pytest.raises(ValueError, match="came from memory, not from files"):
        repeat(files["run.json"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("anchors", [np.ones((3, 2))]), ("random_state", np.random.RandomState(0))],
)
def test_a_parameter_that_json_cannot_hold_is_never_dropped_silently(
    tmp_path, name, value
):
    paths, _ = write_study(tmp_path)
    run = cluster(InputFiles(paths), n_clusters=3, method="rise", n_refits=0)
    run.model.set_params(**{name: value})
    files = run.save(tmp_path / "out", report=False)
    with pytest.raises(ValueError, match=f"the parameter '{name}' was no number"):
        repeat(files["run.json"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "is not JSON"),
        ("[]", "is not a run.json"),
        ('{"format": "imvc-run", "format_version": 99}', "version 99"),
        ('{"format": "imvc-run", "format_version": 1}', "'files' is missing"),
    ],
)
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"some.json: .*{message}"):
        read_record(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("request", "method"), 3),
        (("request", "n_refits"), "many"),
        (("request", "inputs"), []),
        (("request", "inputs"), {}),
        (("request", "inputs", "preparation"), {"unheard": 1}),
        (("request",), None),
        (("files",), [{}]),
        (("files",), 3),
        (("outputs",), []),
        (("versions",), "1.0"),
    ],
)
def test_an_altered_record_is_refused_by_name(study, tmp_path, place, value):
    content = json.loads(study[-1]["run.json"].read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path = tmp_path / "run.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"run\.json: "):
        repeat(path)


def test_the_library_prints_nothing(planted, tmp_path, capsys):
    cluster(planted.Xs, n_clusters=3, n_refits=1).save(tmp_path)
    assert capsys.readouterr() == ("", "")


def test_a_folder_taken_by_a_run_is_refused_to_another(planted, tmp_path):
    if sys.platform == "win32":
        pytest.skip("locks are files there")
    run = cluster(planted.Xs, n_clusters=3, n_refits=0)
    with (
        output_folder(tmp_path / "out"),
        pytest.raises(InputError, match="is being written by process"),
    ):
        run.save(tmp_path / "out")


def _record(files):
    return json.loads(files["run.json"].read_text())


def test_arrays_with_empty_cells_are_clustered_where_the_method_is_told_to_fill():
    data = make_views(90, (5, 6), 3, separation=8, random_state=0)
    Xs = [X.copy() for X in data.Xs]
    Xs[0][3, 2] = Xs[1][7, 0] = np.nan
    with pytest.raises(ValueError, match="partly NaN"):
        cluster(Xs, n_clusters=3, n_refits=1)
    run = cluster(Xs, n_clusters=3, n_refits=1, parameters={"empty_cells": "fill"})
    assert adjusted_rand(data.y, run.labels) == 1
    assert [(c.view, c.n_empty) for c in run.inspection.columns] == [
        ("view0", 1),
        ("view1", 1),
    ]
    run.to_report()


def test_a_run_on_sheets_named_behind_the_file_is_repeated(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    data = make_views(40, (3, 2), 2, separation=8, random_state=0)
    book = openpyxl.Workbook()
    for name, X in zip(("RNA", "Protein"), data.Xs):
        sheet = book.create_sheet(name)
        sheet.append(["id", *(f"{name}{j}" for j in range(X.shape[1]))])
        for i, row in enumerate(X.tolist()):
            sheet.append([f"p{i}", *row])
    (tmp_path / "a").mkdir()
    book.save(tmp_path / "a" / "book.xlsx")
    sheets = [tmp_path / "a" / f"book.xlsx::{name}" for name in ("RNA", "Protein")]
    run = cluster(InputFiles(sheets), n_clusters=2, n_refits=0)
    run.save(tmp_path / "a" / "out", report=False)
    (tmp_path / "a").rename(tmp_path / "b")
    assert repeat(tmp_path / "b" / "out").labels.tolist() == run.labels.tolist()
