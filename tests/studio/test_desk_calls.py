"""The whole way over HTTP: read, cluster, look, edit, compare, predict, download."""

import csv
import io
import json

from imvc.cli import main
from study_files import HOSTILE, read_table


def test_how_files_are_read_is_told_at_each_of_them(open_studio, study):
    client = open_studio(paths=study)
    found = client.get("/api/reading").json()
    assert found["error"] is None
    assert list(found["files"]) == ["f1", "f2", "f3"]
    rna = found["files"]["f1"]
    assert (rna["id_column"], rna["view_names"]) == ("patient", ["rna"])
    assert HOSTILE in [column["column"] for column in rna["columns"]]
    assert found["inspection"]["n_samples"] == 60
    assert found["upset"].startswith("<svg")
    # A choice is seen in the next reading.
    client.patch("/api/files/f1", json={"options": {"drop": [HOSTILE]}})
    again = client.get("/api/reading").json()
    assert found["counts"]["features"][0] == 6
    assert again["counts"]["features"][0] == 5


def test_a_file_that_cannot_be_read_is_named_as_the_user_calls_it(open_studio, study):
    client = open_studio(paths=study)
    client.upload("my table.xlsx", b"PK\x03\x04 broken")
    found = client.get("/api/reading").json()
    assert found["error_file"] == "f4"
    assert found["error"].startswith("my table.xlsx:")
    assert found["files"]["f4"]["error"] == found["error"]
    assert found["files"]["f1"]["error"] is None
    assert str(client.project.folder) not in json.dumps(found)


def test_the_whole_way(open_studio, study, tmp_path):
    client = open_studio(paths=study)
    methods = client.get("/api/methods", params={"k": 3}).json()
    assert methods[0]["class_name"] == "AnchorBridge"
    request = {"n_clusters": 3, "n_refits": 0}
    asked = {"request": json.dumps(request)}
    command = client.get("/api/command", params=asked).json()
    assert command["command"].startswith("imvc cluster")
    client.cluster(name="one")
    client.cluster(name="two", random_state=1)

    run = client.get("/api/runs/r1").json()
    assert (run["id"], run["name"], run["n_samples"]) == ("r1", "one", 60)
    assert (run["has_data"], run["predictions"]) == (True, [])
    shown = client.get("/api/runs/r1/map").json()
    assert len(shown["ids"]) == len(shown["planes"][0]["x"]) == 60
    colour = {"kind": "feature", "view": "rna", "name": HOSTILE}
    column = client.get("/api/runs/r1/column", params=colour).json()
    assert (column["kind"], len(column["values"])) == ("number", 60)
    features = client.get("/api/runs/r1/features?view=protein&find=prot").json()
    assert features["names"][0] == "prot0"
    rows = [i for i, label in enumerate(run["labels"]) if label == run["labels"][0]]
    described = client.post("/api/runs/r1/describe", json={"rows": rows}).json()
    assert described["n"] == len(rows)

    first = run["clusters"][0]["id"]
    rename = {"op": "rename", "cluster": first, "name": "<i>mine</i>"}
    edited = client.post("/api/runs/r1/edits", json=rename).json()
    assert (edited["edited"], edited["clusters"][0]["name"]) == (True, "<i>mine</i>")
    assert edited["can_undo"]
    asked = {"rows": rows, "n_clusters": 2}
    split = client.wait(client.post("/api/runs/r1/split", json=asked).json())
    assert (split["state"], split["kind"]) == ("done", "split")
    assert len(client.get("/api/runs/r1").json()["clusters"]) == 4
    undone = client.post("/api/runs/r1/edits", json={"op": "undo"}).json()
    assert len(undone["clusters"]) == 3

    flow = client.get("/api/compare", params={"a": "r1", "b": "r2"}).json()
    assert (flow["a"]["name"], flow["b"]["name"], flow["n_shared"]) == (
        "one",
        "two",
        60,
    )
    assert len(flow["a"]["clusters"]) == 3

    id = client.upload("new.csv", study[0].read_bytes()).json()["id"]
    client.patch(f"/api/files/{id}", json={"role": "new"})
    asked = client.post("/api/runs/r1/predict", json={"files": [id]}).json()
    assert client.wait(asked)["result"] == {"prediction": "p1"}
    predicted = client.get("/api/runs/r1/predictions/p1").json()
    assert predicted["files"] == ["new.csv"]
    assert len(predicted["ids"]) == len(read_table(study[0]))
    sent = client.get("/api/runs/r1/predictions/p1/download/labels.csv")
    assert sent.headers["content-disposition"].startswith("attachment")
    assert client.get("/api/runs/r1").json()["predictions"] == ["p1"]

    sent = client.get("/api/runs/r1/download/labels.csv")
    assert sent.headers["content-disposition"] == 'attachment; filename="labels.csv"'
    table = list(csv.DictReader(io.StringIO(sent.text)))
    assert [row["id"] for row in table] == shown["ids"]
    for name in ("labels.parquet", "labels.xlsx", "labels.h5ad", "embedding.csv"):
        assert client.get(f"/api/runs/r1/download/{name}").content
    for name in ("model.imvc", "patterns.svg", "script.py", "command.txt", "run.json"):
        assert client.get(f"/api/runs/r1/download/{name}").content
    report = client.get("/api/runs/r1/download/report.html")
    assert report.headers["content-disposition"].startswith("attachment")
    assert client.get("/api/runs/r1/download/labels.exe").status_code == 404
    assert client.delete("/api/runs/r1").json()["runs"][0]["id"] == "r2"
    assert client.get("/api/runs/r1").status_code == 404


def test_wrong_questions_are_answered_with_what_is_wrong(open_studio, study):
    client = open_studio(paths=study)
    client.cluster()
    at = "/api/runs/r1"
    for answer in (
        client.get(f"{at}/column", params={"kind": "odd"}),
        client.get(f"{at}/column"),
        client.get(
            f"{at}/column", params={"kind": "feature", "view": "x", "name": "y"}
        ),
        client.get(f"{at}/features", params={"view": "nothing"}),
        client.post(f"{at}/describe", json={"rows": [0, 10**9]}),
        client.post(f"{at}/describe", json={"rows": ["a"]}),
        client.post(f"{at}/edits", json={"op": "delete"}),
        client.post(f"{at}/edits", json={"op": "rename", "cluster": 99, "name": "x"}),
        client.post(f"{at}/edits", json={"op": "merge"}),
        client.get("/api/methods", params={"k": "many"}),
    ):
        assert answer.status_code == 400
        assert answer.json()["error"]
        assert "Traceback" not in answer.text
    asked = client.post(f"{at}/split", json={"rows": [0]}).json()
    assert "too few to be split" in client.wait(asked)["error"]


def test_the_demo_is_a_project(open_studio, tmp_path, monkeypatch, capsys):
    """As `imvc studio demo_output` opens what `imvc demo` made."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "-q", "--refits", "0"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "Look at it in the browser: imvc studio demo_output"
    client = open_studio(tmp_path / "demo_output")
    project = client.get("/api/project").json()
    assert [run["id"] for run in project["runs"]] == ["main"]
    roles = [file["role"] for file in project["files"]]
    assert (roles.count("view"), roles.count("metadata")) == (5, 1)
    found = client.get("/api/reading").json()
    assert (found["error"], found["metadata"]) == (None, ["digit"])
    run = client.get("/api/runs/main").json()
    assert run["has_data"]
    assert run["can_predict"]
