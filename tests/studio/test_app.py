"""The endpoints on real files: runs, jobs, predictions, restarts, broken uploads."""

import csv
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from imvc.cli import main
from imvc.studio import Project, bound_socket
from imvc.studio._processes import Desk
from imvc.workflow import InputFiles, cluster
from study_files import read_table


def test_files_become_a_run_as_the_command_line_makes_it(open_studio, study, tmp_path):
    client = open_studio(paths=study)
    job = client.cluster(name="first", random_state=3)
    assert (job["state"], job["error"], job["share"]) == ("done", None, 1.0)
    assert (job["kind"], job["run"], job["name"]) == ("cluster", "r1", "first")
    assert any("rows" in text or "column" in text for text in job["messages"])
    run = client.get("/api/project").json()["runs"][0]
    assert (run["name"], run["state"], run["n_clusters"]) == ("first", "done", 3)
    out = str(tmp_path / "by_hand")
    words = ["cluster", *map(str, study), "-k", "3", "--seed", "3", "--refits", "0"]
    assert main([*words, "-q", "-o", out]) == 0
    ours = client.project.run_folder("r1")
    assert (ours / "labels.csv").read_bytes() == Path(out, "labels.csv").read_bytes()
    assert {path.name for path in ours.iterdir()} == set(os.listdir(out))


def test_a_run_made_here_is_as_one_made_in_a_process_of_ones_own(open_studio, study):
    client = open_studio(paths=study)
    # Among the warnings would be one of joblib's if the job could not use all cores.
    assert client.cluster(n_refits=1)["state"] == "done"
    ours = json.loads((client.project.run_folder("r1") / "run.json").read_text())
    names = ["rna", "protein", "clinical"]
    run = cluster(InputFiles(study, names=names), n_clusters=3, n_refits=1)
    assert ours["warnings"] == list(run.warnings)
    table = read_table(client.project.run_folder("r1") / "labels.csv")
    assert [int(row["cluster"]) for row in table] == run.labels.tolist()


def test_errors_and_notes_call_files_by_their_names(open_studio, study):
    client = open_studio(paths=study)
    where = str(study[0].parent)
    study[1].write_text("patient\tprot0\n")
    found = client.get("/api/reading")
    assert found.json()["files"]["f2"]["error"].startswith("protein.tsv: ")
    assert where not in found.text
    job = client.cluster()
    assert (job["state"], job["error"][:12]) == ("failed", "protein.tsv:")
    asked = {"request": json.dumps({"n_clusters": 3})}
    texts = client.get("/api/command", params=asked).json()
    assert all(str(study[0]) in texts[key] for key in ("command", "script"))


def test_a_split_has_its_name_and_what_is_undone_is_no_edit(open_studio, study):
    client = open_studio(paths=study)
    client.cluster()
    asked = {"rows": [*range(20)], "n_clusters": 2, "name": "odd"}
    job = client.wait(client.post("/api/runs/r1/split", json=asked).json())
    assert (job["name"], job["result"]) == ("odd", {"n_clusters": 2})
    run = client.get("/api/runs/r1").json()
    assert {"odd 1", "odd 2"} <= {own["name"] for own in run["clusters"]}
    assert client.get("/api/project").json()["runs"][0]["edited"]
    client.post("/api/runs/r1/edits", json={"op": "undo"})
    assert not client.get("/api/project").json()["runs"][0]["edited"]
    assert client.get("/api/runs/r1").json()["can_redo"]


def test_the_command_in_the_record_makes_the_same(open_studio, study, tmp_path):
    client = open_studio(paths=study)
    client.patch("/api/files/f3", json={"role": "metadata"})
    client.patch(
        "/api/files/f1", json={"view": "genes", "options": {"drop": ["gene1"]}}
    )
    client.cluster()
    ours = client.project.run_folder("r1")
    command = json.loads((ours / "run.json").read_text())["command"]
    out = tmp_path / "again"
    assert command[0] == "imvc"
    command[command.index("-o") + 1] = str(out)
    assert main([*command[1:], "-q"]) == 0
    assert (ours / "labels.csv").read_bytes() == (out / "labels.csv").read_bytes()


def test_runs_survive_a_restart_with_their_names_and_the_choices(open_studio, study):
    client = open_studio(paths=study)
    client.patch("/api/files/f2", json={"view": "prot"})
    client.cluster()
    client.patch("/api/runs/r1", json={"name": "<b>mine</b>"})
    client.__exit__()
    client = open_studio()
    project = client.get("/api/project").json()
    assert [run["name"] for run in project["runs"]] == ["<b>mine</b>"]
    assert [file["view"] for file in project["files"]] == ["rna", "prot", "clinical"]
    assert project["jobs"] == []
    assert client.cluster()["run"] == "r2"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.xlsx", b"PK\x03\x04" + b"\x00" * 200),
        ("garbage.h5ad", b"\x89HDF\r\n\x1a\n" + b"\xff" * 500),
        ("cut.parquet", b"PAR1" + b"\x15\x04" * 50),
        ("table.pkl", b"\x80\x04\x95" + b"\x00" * 20),
        ("packed.csv.gz", b"\x1f\x8b\x08" + b"\x00" * 30),
        ("empty.csv", b""),
        ("one.csv", b"id,x\na,1\na,2\n"),
        ("bytes", bytes(range(256)) * 4),
    ],
)
def test_broken_files_are_told_as_on_the_command_line(
    client, tmp_path, capsys, name, content
):
    client.upload(name, content)
    job = client.cluster()
    assert job["state"] == "failed"
    assert client.get("/api/project").json()["runs"] == []
    assert list((client.project.folder / "runs").iterdir()) == []
    (tmp_path / "given").mkdir()
    path = tmp_path / "given" / name
    path.write_bytes(content)
    words = [
        "cluster",
        str(path),
        "-k",
        "3",
        "--refits",
        "0",
        "-o",
        str(tmp_path / "o"),
    ]
    assert main([*words, "-q"]) == 2
    told = capsys.readouterr().err.removeprefix("imvc: ").strip()
    assert job["error"] == told.replace(str(path), name)
    assert "Traceback" not in json.dumps(client.jobs())


def test_a_wrong_request_fails_with_the_words_of_the_command_line(open_studio, study):
    client = open_studio(paths=study)
    job = client.cluster(method="rise", n_clusters=None)
    assert job["state"] == "failed"
    assert "method 'rise' needs one number of clusters" in job["error"]
    job = client.cluster(parameters={"odd": 1})
    assert "has no parameter 'odd'" in job["error"]
    answer = client.post("/api/runs", json={"n_clusters": 1})
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "n_clusters=1 must be at least 2.",
    )
    assert client.delete(f"/api/jobs/{job['id']}").json()[0]["id"] != job["id"]


def test_without_views_nothing_is_started(client):
    answer = client.post("/api/runs", json={})
    assert answer.status_code == 400
    assert answer.json()["error"] == "no files are given; add one file per view."
    assert client.jobs() == []


def test_uploads_are_removed_from_disk_and_files_of_the_user_are_not(
    open_studio, study
):
    client = open_studio(paths=study)
    own = client.upload("x.csv", b"id,x\na,1\n").json()
    assert own["uploaded"]
    path = client.project.path(client.project.file(own["id"]))
    assert path.read_bytes() == b"id,x\na,1\n"
    for file in client.get("/api/project").json()["files"]:
        client.delete(f"/api/files/{file['id']}")
    assert not path.exists()
    assert all(path.exists() for path in study)
    assert client.get("/api/project").json()["files"] == []
    assert client.delete("/api/files/f1").status_code == 404


def test_requests_at_the_same_time_do_not_get_into_each_others_way(open_studio, study):
    client = open_studio(paths=study)

    def ask(j):
        name = f"t{j}.csv"
        file = client.upload(name, f"id,x\na,{j}\n".encode() * 2000).json()
        client.patch(f"/api/files/{file['id']}", json={"options": {"log1p": True}})
        run = client.post("/api/runs", json={"n_clusters": 3, "name": name}).json()
        return file["id"], run["run"], run["id"]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(ask, range(8)))
    for ids in zip(*made):
        assert len(set(ids)) == 8
    files = client.get("/api/project").json()["files"]
    assert all(file["options"]["log1p"] for file in files[3:])
    for j, (id, *_) in enumerate(made):
        path = client.project.path(client.project.file(id))
        assert path.read_text() == f"id,x\na,{j}\n" * 2000
    kept = json.loads((client.project.folder / "studio.json").read_text())
    assert len(kept["files"]) == 11
    assert sum(job["state"] == "running" for job in client.jobs()) <= 1
    for *_, job in made:
        client.post(f"/api/jobs/{job}/cancel")
    assert {job["state"] for job in client.jobs()} <= {"cancelled", "failed"}


def test_cancelling_a_fit_frees_its_process_and_leaves_nothing(open_studio, study):
    client = open_studio(paths=study)
    started = client.post("/api/runs", json={"n_clusters": 3, "n_refits": 500}).json()
    while client.jobs()[0]["state"] == "waiting":
        time.sleep(0.02)
    process = client.studio.jobs.get(started["id"]).process
    assert client.get("/api/project").json()["runs"] == []  # it is a job as yet
    told = client.post(f"/api/jobs/{started['id']}/cancel").json()
    assert told[0]["state"] == "cancelled"
    client.wait(started)
    assert not process.is_alive()
    assert process not in multiprocessing.active_children()
    assert client.get("/api/project").json()["runs"] == []
    assert list((client.project.folder / "runs").iterdir()) == []
    assert client.post("/api/jobs/j9/cancel").status_code == 404


def test_a_killed_studio_keeps_finished_runs_and_tells_of_the_interrupted_one(
    open_studio, study, tmp_path
):
    client = open_studio(paths=study)
    client.cluster()
    client.__exit__()
    code = (
        "import sys, time\n"
        "from imvc.studio import Project\n"
        "from imvc.studio._app import Studio\n"
        "from imvc.studio._choices import checked_request\n"
        "from imvc.studio._processes import Desk\n"
        "if __name__ == '__main__':\n"
        "    studio = Studio(Project(sys.argv[1]), Desk(), 1)\n"
        "    request = checked_request({'n_clusters': 3, 'n_refits': 500})\n"
        "    run = studio.project.add_run('long', request)\n"
        "    folder = str(studio.project.run_folder(run.id))\n"
        "    job = studio.jobs.submit('cluster', 'long',\n"
        "        'imvc.studio._tasks:cluster_files', run=run.id, arguments={\n"
        "        **studio._choices(), 'request': request, 'folder': folder})\n"
        "    while not job.progress: time.sleep(0.02)\n"
        "    print(job.process.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "killed.py").write_text(code)
    words = [sys.executable, str(tmp_path / "killed.py"), str(client.project.folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    fit = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    while Path(f"/proc/{fit}").exists():  # it ends with the studio
        time.sleep(0.02)
    client = open_studio()
    project = client.get("/api/project").json()
    assert [run["state"] for run in project["runs"]] == ["done", "interrupted"]
    assert "long: was interrupted; run it again or remove it." in project["notes"]
    answer = client.get("/api/runs/r2")
    assert (answer.status_code, "not finished" in answer.json()["error"]) == (400, True)
    client.project.run("r2").request["n_refits"] = 0
    again = client.wait(client.post("/api/runs", json={"again": "r2"}).json())
    assert (again["state"], again["run"]) == ("done", "r2")
    assert {run["state"] for run in client.get("/api/project").json()["runs"]} == {
        "done"
    }
    answer = client.post("/api/runs", json={"again": "r2"})
    assert "is not interrupted" in answer.json()["error"]


def test_a_closed_studio_tells_of_what_it_interrupted(open_studio, study):
    client = open_studio(paths=study)
    job = client.post("/api/runs", json={"n_clusters": 3, "n_refits": 500}).json()
    while not client.studio.jobs.get(job["id"]).progress:
        time.sleep(0.02)
    client.post("/api/runs", json={"n_clusters": 2, "name": "next"})
    client.__exit__()
    client = open_studio()
    project = client.get("/api/project").json()
    assert [run["state"] for run in project["runs"]] == ["interrupted"] * 2
    again = client.wait(client.post("/api/runs", json={"again": "r2"}).json())
    assert (again["state"], again["name"]) == ("done", "next")


def test_new_files_are_put_into_the_clusters_of_a_run(open_studio, study, tmp_path):
    client = open_studio(paths=study)
    client.cluster()
    rows = read_table(study[0])[:10]
    new = tmp_path / "later.csv"
    with open(new, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "patient": f"new{j}"} for j, row in enumerate(rows))
    id = client.upload("later.csv", new.read_bytes()).json()["id"]
    client.patch(f"/api/files/{id}", json={"role": "new"})
    asked = client.post("/api/runs/r1/predict", json={"files": [id]}).json()
    job = client.wait(asked)
    assert (job["state"], job["result"]) == ("done", {"prediction": "p1"})
    folder = client.project.run_folder("r1")
    out = tmp_path / "by_hand.csv"
    assert main(["predict", str(folder), str(new), "-o", str(out), "-q"]) == 0
    assert (folder / "new" / "p1.csv").read_bytes() == out.read_bytes()
    about = json.loads((folder / "new" / "p1.json").read_text())
    assert about["files"] == ["later.csv"]
    answer = client.post("/api/runs/r1/predict", json={"files": []})
    assert "choose files with new samples" in answer.json()["error"]
    answer = client.post("/api/runs/r1/predict", json={"files": ["f99"]})
    assert answer.status_code == 404
    assert client.get("/api/runs/r1/predictions/p9").status_code == 404


def test_runs_are_removed_with_their_folder_but_never_a_result_of_the_user(
    open_studio, study, tmp_path
):
    out = tmp_path / "out"
    words = ["cluster", *map(str, study), "-k", "3", "--refits", "0", "-q"]
    assert main([*words, "--no-report", "-o", str(out)]) == 0
    client = open_studio(out, desk=Desk("desk_doubles:Desk"))
    project = client.get("/api/project").json()
    assert [run["id"] for run in project["runs"]] == ["main"]
    assert [file["view"] for file in project["files"]] == ["rna", "protein", "clinical"]
    answer = client.delete("/api/runs/main")
    assert (answer.status_code, (out / "run.json").exists()) == (400, True)
    assert client.cluster()["state"] == "done"
    client.delete("/api/runs/r1")
    assert not (out / "runs" / "r1").exists()


def test_a_bug_shows_no_trace_in_the_page(open_studio, caplog):
    client = open_studio(desk=Desk("desk_doubles:Desk"))
    answer = client.get("/api/reading")  # which that desk does not have
    assert answer.status_code == 500
    assert answer.json() == {
        "error": "Something went wrong inside imvc; the terminal shows where."
    }
    assert "AttributeError" in caplog.text


def test_a_busy_port_is_told_and_the_next_free_one_taken_if_none_was_asked_for():
    with bound_socket(0) as first:
        taken = first.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {taken} is in use.*--port"):
            bound_socket(taken)
    with bound_socket() as one, bound_socket() as two:
        assert one.getsockname()[1] != two.getsockname()[1]


def test_the_command_serves_until_it_is_interrupted(study, tmp_path):
    code = "import sys; from imvc.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "studio", *map(str, study), "--no-browser"]
    words += ["--project", str(tmp_path / "p"), "--port", "0"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        url = lines[-1].split()[-1]
        import httpx

        with httpx.Client(follow_redirects=True) as browser:
            assert browser.get(url).status_code == 200
            base = url.split("/?")[0]
            found = browser.get(f"{base}/api/project").json()
        assert [file["view"] for file in found["files"]] == [
            "rna",
            "protein",
            "clinical",
        ]
        process.send_signal(signal.SIGINT)
        rest = process.communicate()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert rest[0].startswith("The studio is closed; what is finished is in ")
    assert rest[1] == ""
    Project(tmp_path / "p").close()  # it is not locked any more


def test_a_missing_extra_is_named(monkeypatch, capsys):
    import imvc.cli.studio

    monkeypatch.setattr(imvc.cli.studio, "find_spec", lambda name: None)
    assert main(["studio"]) == 1
    told = capsys.readouterr().err
    assert "pip install 'imvc[studio]'" in told
    assert not Path("imvc_studio").exists()
