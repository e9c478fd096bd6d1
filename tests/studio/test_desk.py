"""Desk: what the pages are told, called without any server."""

import csv
import json
import os
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

from imvc.io import _kept_files
from imvc.studio._choices import checked_request
from imvc.studio._desk import Desk
from imvc.studio._entries import OPTIONS, defaults
from imvc.studio._tasks import predict_files
from imvc.workflow import InputFiles, SavedRun, cluster, predict
from saved_runs import save_study, write_patients
from study_files import HOSTILE, read_table, write_study

JOINT = {"match_ids": "exact"}


def entry(path, id, role="view", **options):
    """A file of a project, as the desk is told of it."""
    return {
        "id": id,
        "name": path.name,
        "path": str(path),
        "view": path.stem,
        "role": role,
        "uploaded": False,
        "options": {**defaults(OPTIONS), **options},
        "more": [],
        "views": None,
    }


def checked(found):
    """What came back, which must be JSON."""
    return json.loads(json.dumps(found, allow_nan=False))


@pytest.fixture
def files(tmp_path):
    paths, _ = write_study(tmp_path)
    return [entry(path, f"f{j}") for j, path in enumerate(paths, 1)]


@pytest.fixture
def counted(monkeypatch):
    """The names of the files that were read, in order."""
    read, real = [], _kept_files.read_raw

    def counting(file, transpose=False):
        read.append(file.path.name)
        return real(file, transpose)

    monkeypatch.setattr(_kept_files, "read_raw", counting)
    return read


def test_every_file_says_how_it_was_read(files, tmp_path):
    patients = entry(write_patients(tmp_path / "patients.csv"), "f4", "metadata")
    found = checked(Desk().reading([*files, patients], JOINT))
    assert found["error"] is None
    assert list(found["files"]) == ["f1", "f2", "f3", "f4"]
    rna, _, clinical, known = found["files"].values()
    assert rna["view_names"] == ["rna"]
    assert (rna["n_rows"], rna["n_columns"], rna["id_column"]) == (61, 6, "patient")
    assert rna["columns"][0]["column"] == HOSTILE
    assert "ids from column 'patient'" in rna["notes"]
    assert clinical["id_candidates"] == ["patient", "sex"]
    kinds = {column["column"]: column["kind"] for column in known["columns"]}
    assert kinds == {
        "site": "category",
        "age": "number",
        "days": "number",
        "dead": "category",
        "remark": "text",
    }
    assert (known["n_rows"], known["n_columns"]) == (90, 5)
    assert known["id_column"] == "patient"
    assert set(found["metadata"]) == set(kinds)
    assert found["inspection"]["n_samples"] == 90
    assert found["counts"]["features"] == [6, 5, 5]
    assert found["upset"].startswith("<svg")


def test_only_a_file_whose_own_choices_changed_is_read_again(files, counted, tmp_path):
    desk = Desk()
    known = entry(write_patients(tmp_path / "patients.csv"), "f4", "metadata")
    desk.reading([*files, known], JOINT)
    assert sorted(counted) == ["clinical.csv", "patients.csv", "protein.tsv", "rna.csv"]
    counted.clear()
    desk.reading([*files, known], JOINT)  # nothing changed
    files[0]["options"]["drop"] = ["gene1"]  # no reason to read a file
    found = desk.reading([*files, known], JOINT)
    assert found["counts"]["features"][0] == 5
    files[1]["options"]["scale"] = "standard"
    desk.reading([*files, known], {"match_ids": "loose"})
    assert counted == []
    files[2]["options"]["id_column"] = "patient"
    desk.reading([*files, known], JOINT)
    assert counted == ["clinical.csv"]
    counted.clear()
    path = tmp_path / "rna.csv"
    path.write_text(path.read_text().replace("gene2", "gene_2"))
    found = desk.reading([*files, known], JOINT)
    assert counted == ["rna.csv"]
    assert "gene_2" in [c["column"] for c in found["files"]["f1"]["columns"]]


def test_what_is_kept_reads_like_what_is_fresh(files):
    desk = Desk()
    desk.reading(files, JOINT)
    for file in files:
        file["options"]["scale"] = "standard"
    files[0]["options"]["top_variance"] = 3
    desk.reading(files, JOINT)
    files[0]["options"]["top_variance"] = None
    assert desk.reading(files, JOINT) == Desk().reading(files, JOINT)


def test_columns_are_listed_one_by_one_unless_there_are_very_many(tmp_path):
    rng = np.random.default_rng(0)
    for name, width in (("wide.csv", 300), ("huge.csv", 2001)):
        names = [f"g{j}" for j in range(width)]
        table = np.round(rng.normal(size=(20, width)), 3)
        lines = [",".join(["id", *names])]
        lines += [",".join([f"s{i}", *map(str, row)]) for i, row in enumerate(table)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = [entry(tmp_path / f"{n}.csv", n) for n in ("wide", "huge")]
    found = checked(Desk().reading(files, JOINT))["files"]
    assert [c["column"] for c in found["wide"]["columns"]][:2] == ["g0", "g1"]
    assert {c["n_columns"] for c in found["wide"]["columns"]} == {1}
    assert [c["column"] for c in found["huge"]["columns"]] == ["g0 ... g2000"]
    assert (found["wide"]["n_columns"], found["huge"]["n_columns"]) == (300, 2001)


def test_a_broken_file_leaves_the_others_readable(files, tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 this is nothing PAR1")
    found = checked(Desk().reading([*files, entry(path, "f9")], JOINT))
    assert found["error_file"] == "f9"
    assert found["files"]["f9"]["error"] == found["error"]
    assert found["files"]["f1"]["error"] is None
    assert found["files"]["f1"]["n_rows"] == 61
    assert found["inspection"] is None


def test_files_that_do_not_fit_together_are_read_alone(files, tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("id,a,b\n" + "\n".join(f"q{i},{i},{i % 3}.5" for i in range(20)))
    found = checked(Desk().reading([files[0], entry(path, "f9")], JOINT))
    assert found["error"] is not None
    assert found["files"]["f9"]["error"] is None
    assert found["files"]["f9"]["n_rows"] == 20


def test_new_and_switched_off_files_are_not_joined(files, tmp_path):
    files[1]["role"], files[2]["role"] = "off", "new"
    found = checked(Desk().reading(files, JOINT))
    assert found["counts"]["views"] == 1
    assert found["files"]["f3"]["n_rows"] == 69
    assert found["files"]["f2"]["n_rows"] is None


def test_two_tables_of_metadata_are_refused_in_words(files):
    files[1]["role"] = files[2]["role"] = "metadata"
    found = checked(Desk().reading(files, JOINT))
    assert "protein.tsv and clinical.csv are both metadata" in found["error"]
    assert found["files"]["f2"]["columns"]


def test_no_files_are_no_error():
    found = checked(Desk().reading([], JOINT))
    assert found["error"] is None
    assert found["files"] == {}
    methods = Desk().methods([], JOINT)
    assert methods[0]["seconds"] is None


def test_sheets_and_their_choice_are_told(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for name in ("First", "Second"):
        sheet = book.create_sheet(name)
        sheet.append(["id", f"{name}1", f"{name}2"])
        for i in range(12):
            sheet.append([f"p{i}", i * 1.5, i % 3 + 0.5])
    book.remove(book["Sheet"])
    book.save(tmp_path / "book.xlsx")
    file = entry(tmp_path / "book.xlsx", "f1")
    desk = Desk()
    found = checked(desk.reading([file], JOINT))["files"]["f1"]
    assert found["sheets"] == ["First", "Second"]
    assert found["columns"][0]["column"] == "First1"
    file["options"]["sheet"] = "Second"
    found = checked(desk.reading([file], JOINT))["files"]["f1"]
    assert found["columns"][0]["column"] == "Second1"
    file["options"]["sheet"] = "all"
    found = checked(desk.reading([file], JOINT))
    assert found["files"]["f1"]["view_names"] == ["First", "Second"]


def test_methods_have_costs_and_words(files):
    found = checked(Desk().methods(files, JOINT, 4))
    assert found[0]["class_name"] == "AnchorBridge"
    assert not found[0]["needs_k"]
    assert all(method["about"].endswith(".") for method in found)
    assert all(method["seconds"] > 0 and method["bytes"] > 0 for method in found)
    assert {m["name"] for m in found if m["predicts"]} >= {"bridge", "rise"}


def test_the_command_of_a_request_names_its_files(files):
    request = checked_request({"n_clusters": 3, "method": "rise"})
    found = Desk().command(files, JOINT, request)
    assert found["command"].startswith("imvc cluster ")
    assert "-k 3 --method rise" in found["command"]
    assert "method='rise'" in found["script"]


# Runs


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return save_study(tmp_path_factory.mktemp("study"), n_refits=2)


@pytest.fixture
def folder(study, tmp_path):
    shutil.copytree(study[1].parent, tmp_path / "study")
    return str(tmp_path / "study" / "out")


def test_a_run_is_told_whole(folder):
    found = checked(Desk().run(folder))
    assert found["method"] == "AnchorBridge"
    assert found["n_samples"] == len(found["labels"]) == 90
    assert [c["size"] for c in found["clusters"]] == np.bincount(
        found["labels"]
    ).tolist()
    assert found["has_data"]
    assert found["can_predict"]
    assert [view["name"] for view in found["views"]] == ["rna", "protein", "clinical"]
    kinds = [colour["kind"] for colour in found["colours"]]
    assert kinds[:4] == ["cluster", "confidence", "stability", "n_views"]
    named = [c["name"] for c in found["colours"] if c["kind"] == "metadata"]
    assert set(named) == {"site", "age", "days", "dead", "sex"}
    assert found["command"].startswith("imvc cluster")
    assert found["survival"] == ["days", "dead"]


def test_every_colour_has_a_value_for_every_sample(folder):
    desk = Desk()
    colours = desk.run(folder)["colours"]
    asked = [(c["kind"], c["name"], None) for c in colours]
    asked += [("original", None, None), ("feature", "gene1", "rna")]
    for kind, name, view in asked:
        column = checked(desk.column(folder, kind, name, view))
        values = column["codes"] if column["kind"] == "levels" else column["values"]
        assert len(values) == 90, kind
        if column["kind"] == "levels":
            assert max(values) < len(column["levels"])
        else:
            assert column["low"] <= column["high"]
    pattern = desk.column(folder, "pattern")
    views = SavedRun(folder).views()
    for i, code in enumerate(pattern["codes"]):
        own = np.compress(views.mask[i], views.names)
        assert pattern["levels"][code] == ", ".join(own)
    with pytest.raises(ValueError, match="free text or an identifier"):
        desk.column(folder, "metadata", "remark")
    with pytest.raises(ValueError, match="nothing to colour by"):
        desk.column(folder, "secret")
    with pytest.raises(ValueError, match="no column of the metadata"):
        desk.column(folder, "metadata", "nothing")


def test_features_are_found_by_a_part_of_their_name(folder):
    desk = Desk()
    assert desk.features(folder, "rna", "GENE") == {
        "names": [f"gene{j}" for j in range(5)],
        "more": 0,
    }
    assert desk.features(folder, "rna")["names"][0] == HOSTILE


def test_a_map_has_all_samples_and_is_kept(folder):
    found = checked(Desk().map(folder))
    assert found["ids"] == SavedRun(folder).ids.tolist()
    assert [len(plane["x"]) for plane in found["planes"]] == [90, 90]
    assert os.path.exists(os.path.join(folder, ".map.npz"))
    assert checked(Desk().map(folder)) == found


def test_a_selection_is_described(folder):
    desk = Desk()
    labels = np.array(desk.run(folder)["labels"])
    rows = np.flatnonzero(labels == 1).tolist()
    found = checked(desk.describe(folder, rows, ["days", "dead"]))
    assert (found["n"], found["share"]) == (len(rows), len(rows) / 90)
    assert found["clusters"] == [
        {"id": 1, "name": "Cluster 1", "n": len(rows), "share_of_cluster": 1.0}
    ]
    assert len(found["features"]) == 6 + 4 + 3
    assert abs(found["features"][0]["effect"]) > 2
    assert {c["name"] for c in found["metadata"]} == {"site", "age", "sex", "remark"}
    site = next(c for c in found["metadata"] if c["name"] == "site")
    assert sorted(row[0] for row in site["rows"]) == ["north", "south"]
    assert found["survival"]["svg"].startswith('<svg xmlns="http://www.w3.org')
    assert "selected samples" in found["survival"]["svg"]
    ElementTree.fromstring(found["survival"]["svg"])
    for wrong in ([], [90], [-1], [10**30]):
        with pytest.raises(ValueError, match="rows:"):
            desk.describe(folder, wrong)


def test_edits_come_back_as_a_run(folder):
    desk = Desk()
    found = desk.edit(folder, "merge", clusters=[0, 2])
    assert [c["id"] for c in found["clusters"]] == [0, 1]
    found = checked(desk.edit(folder, "rename", cluster=0, name=HOSTILE))
    assert found["clusters"][0]["name"] == HOSTILE
    assert found["edited"]
    assert len(found["history"]) == 2
    assert "original" in [colour["kind"] for colour in found["colours"]]
    assert desk.column(folder, "cluster")["levels"] == [HOSTILE, "Cluster 1"]
    found = desk.edit(folder, "set", rows=[0, 1], name=None)
    assert [c["id"] for c in found["clusters"]][-1] == 3
    found = desk.edit(folder, "split", rows=[4, 5, 6], labels=[0, 1, 0])
    assert found["labels"][4:7] == [4, 5, 4]
    for _ in range(4):
        found = desk.edit(folder, "undo")
    assert not found["edited"]
    assert found["can_redo"]
    assert found["labels"] == desk.run(folder)["labels"]
    assert checked(Desk().run(folder)) == checked(found)
    with pytest.raises(ValueError, match="is no edit"):
        desk.edit(folder, "explode")


def test_what_was_measured_of_a_cluster_holds_while_it_is_whole(study, tmp_path):
    shutil.copytree(study[1], tmp_path / "out")
    path = tmp_path / "out" / "run.json"
    record = json.loads(path.read_text())
    record["result"]["cluster_stability"] = [0.9, 0.5, None]
    path.write_text(json.dumps(record))
    desk, folder = Desk(), str(tmp_path / "out")
    found = checked(desk.run(folder))["clusters"]
    assert [c["stability"] for c in found] == [0.9, 0.5, None]
    assert [c["doubtful"] for c in found] == [False, True, False]
    found = checked(desk.edit(folder, "merge", clusters=[1, 2]))["clusters"]
    assert [c["stability"] for c in found] == [0.9, None]
    assert [c["doubtful"] for c in found] == [False, False]


def test_runs_are_compared_by_their_samples(folder, study):
    found = checked(Desk().compare(folder, str(study[1])))
    assert (found["n_shared"], found["ari"], found["moved"]) == (90, 1.0, [])
    assert [c["id"] for c in found["a"]["clusters"]] == [0, 1, 2]
    assert np.array(found["table"]).sum() == 90


def test_a_run_is_told_without_reading_its_tables(folder, monkeypatch):
    desk = Desk()
    with monkeypatch.context() as patch:
        patch.setattr(InputFiles, "look", None)
        found = checked(desk.run(folder))
    assert found["has_data"]
    # It tells the same once they were read.
    desk.features(folder, "rna")
    assert checked(desk.run(folder)) == found
    known = SavedRun(folder).data.metadata
    assert set(found["metadata"]) == set(known)


def test_a_run_whose_files_are_gone_still_shows_its_clusters(folder):
    desk = Desk()
    rna = os.path.join(os.path.dirname(folder), "rna.csv")
    with open(rna, "a") as file:
        file.write("p999,1,2,3,4,5,6\n")
    found = checked(desk.run(folder))
    assert not found["has_data"]
    assert "rna.csv" in found["no_data_reason"]
    described = checked(desk.describe(folder, [0, 1, 2]))
    assert described["features"] == []
    assert "rna.csv" in described["note"]
    assert described["note"].endswith("anew.")
    os.remove(rna)
    for mark in desk._runs[folder].run.record.content["files"]:
        mark["path"] = "/nowhere/at_all.csv"
    note = desk.describe(folder, [0, 1, 2])["note"]
    assert note.endswith("order.")
    assert ".." not in note
    assert len(desk.map(folder)["ids"]) == 90
    with pytest.raises(ValueError, match=r"rna\.csv"):
        desk.column(folder, "feature", "gene1", "rna")


def test_a_run_that_was_made_anew_is_opened_anew(folder):
    desk = Desk()
    assert len(desk.run(folder)["clusters"]) == 3
    inputs = SavedRun(folder).record.inputs()
    fresh = cluster(inputs, n_clusters=2, n_refits=0)
    fresh.save(folder, report=False, overwrite=True)
    assert len(desk.run(folder)["clusters"]) == 2
    desk.forget(folder)
    assert len(desk.run(folder)["clusters"]) == 2


def test_a_prediction_is_told_with_names_and_drift(folder, study):
    desk = Desk()
    desk.edit(folder, "rename", cluster=1, name="ill")
    desk.edit(folder, "merge", clusters=[0, 2])
    found = predict(folder, study[0][:2])
    os.mkdir(os.path.join(folder, "new"))
    found.save(os.path.join(folder, "new", "p1.csv"))
    with open(os.path.join(folder, "new", "p1.json"), "w") as file:
        json.dump({"warnings": ["careful"], "notes": [], "files": ["rna.csv"]}, file)
    told = checked(desk.prediction(folder, "p1"))
    assert told["ids"] == found.ids.tolist()
    assert told["clusters"] == found.labels.tolist()
    assert told["low"] == found.low.tolist()
    assert told["cluster_names"] == {
        "0": "Cluster 0",
        "1": "ill",
        "2": "Cluster 0",
    }
    assert sum(told["counts"].values()) == len(told["ids"])
    assert told["drift"]["share_low_new"] == pytest.approx(found.low.mean())
    assert (told["warnings"], told["files"]) == (["careful"], ["rna.csv"])
    desk.export_prediction(folder, "p1", "labels.csv", folder + "/new")
    rows = read_table(folder + "/new/labels.csv")
    assert {row["cluster_name"] for row in rows} == {"ill", "Cluster 0"}


@pytest.mark.parametrize(
    "name",
    ["labels.csv", "labels.parquet", "labels.xlsx", "labels.h5ad", "embedding.csv"]
    + ["model.imvc", "run.json", "patterns.svg", "script.py", "command.txt"],
)
def test_what_is_taken_away_is_a_file(folder, tmp_path, name):
    (tmp_path / "into").mkdir()
    found = Desk().export(folder, name, str(tmp_path / "into"))
    assert os.path.getsize(found["path"]) > 0
    assert os.path.basename(found["path"]) == name


def test_what_a_run_does_not_have_is_said(folder, tmp_path):
    with pytest.raises(ValueError, match=r"edits.json: this run has no such file"):
        Desk().export(folder, "edits.json", str(tmp_path))


def test_many_runs_do_not_stay_open(study, tmp_path):
    desk = Desk()
    for j in range(6):
        shutil.copytree(study[1], tmp_path / f"r{j}")
        desk.run(str(tmp_path / f"r{j}"))
    assert len(desk._runs) == 4
    for folder in list(desk._runs):
        desk.features(folder, "rna")
    last = [own.run for own in desk._runs.values()]
    assert last[0].data is last[-1].data  # one copy of the same tables


def test_a_run_of_other_names_of_views_keeps_them(tmp_path):
    paths, _ = write_study(tmp_path)
    inputs = InputFiles(paths, names=["a b", "ü", HOSTILE])
    cluster(inputs, n_clusters=3, n_refits=0).save(tmp_path / "out", report=False)
    found = checked(Desk().run(str(tmp_path / "out")))
    assert [view["name"] for view in found["views"]] == ["a b", "ü", HOSTILE]


def test_batches_of_new_samples_are_looked_up_in_the_metadata(tmp_path):
    paths, folder = save_study(tmp_path, adjust="site", survival=None)
    rows = read_table(paths[0])[:20]
    new = tmp_path / "later.csv"
    with open(new, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    files, metadata = [entry(new, "f1", "new")], str(tmp_path / "patients.csv")
    files[0]["view"] = "rna"
    told = []
    predict_files(lambda **s: told.append(s), files, JOINT, str(folder), metadata)
    known = predict(folder, [new], names=["rna"], metadata=metadata)
    unknown = predict(folder, [new], names=["rna"])
    assert known.notes != unknown.notes
    about = json.loads((folder / "new" / "p1.json").read_text())
    assert about["notes"] == list(known.notes)
    # A table of other samples is none to look them up in.
    other = write_patients(tmp_path / "other.csv", 5)
    other.write_text(other.read_text().replace("p0", "q0"))
    predict_files(lambda **s: told.append(s), files, JOINT, str(folder), str(other))
    about = json.loads((folder / "new" / "p2.json").read_text())
    assert about["notes"] == list(unknown.notes)
    assert any("match no sample" in state.get("message", "") for state in told)
