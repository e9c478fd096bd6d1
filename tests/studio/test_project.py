"""The project folder: what is kept, what is found again, and who may open it."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from imvc.cli import main
from imvc.studio import Project, open_project
from imvc.studio._choices import check_roles, checked_request, input_files
from imvc.studio._entries import StudioFile, ending
from imvc.studio._project import NotThere


@pytest.fixture
def project(tmp_path):
    found = Project(tmp_path / "project")
    yield found
    found.close()


def reopened(project):
    project.close()
    return Project(project.folder)


def test_files_are_taken_where_they_are_and_kept(project, study):
    project.add_paths(study)
    project.add_paths(study[:1])  # known already
    again = reopened(project)
    assert [file.view for file in again.files] == ["rna", "protein", "clinical"]
    assert [again.path(file) for file in again.files] == study
    assert not (again.folder / "files").exists()
    again.close()


def test_choices_are_kept_and_checked(project, study):
    project.add_paths(study)
    chosen = {"id_column": "patient", "log1p": True, "top_variance": 3, "sheet": ""}
    project.change_file("f1", options=chosen, view="genes")
    project.change_file("f3", role="metadata")
    project.change_joint(match_ids="loose")
    again = reopened(project)
    kept = again.file("f1")
    assert (kept.view, kept.options["top_variance"]) == ("genes", 3)
    assert kept.options["sheet"] is None
    assert (again.file("f3").role, again.joint["match_ids"]) == ("metadata", "loose")
    again.close()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"role": "king"}, "role='king' must be one of"),
        ({"view": " \n "}, "a table needs a name"),
        ({"view": "protein"}, "is the name of another table"),
        ({"options": {"colour": 1}}, "'colour' is unknown"),
        ({"options": {"log1p": "yes"}}, "'log1p' is unknown or of a wrong kind"),
        ({"options": {"scale": "odd"}}, "scale='odd' is unknown"),
        ({"options": {"top_variance": 0}}, "must be an integer of at least 1"),
    ],
)
def test_a_wrong_choice_is_named_and_changes_nothing(project, study, change, text):
    project.add_paths(study)
    before = (project.folder / "studio.json").read_text()
    with pytest.raises(ValueError, match=text):
        project.change_file("f1", **change)
    assert (project.folder / "studio.json").read_text() == before


def test_what_is_not_there_is_said(project):
    with pytest.raises(NotThere, match="there is no file 'f9'"):
        project.file("f9")
    with pytest.raises(NotThere, match="there is no run 'r9'"):
        project.remove_run("r9")


def test_choices_become_the_options_of_the_command_line(project, study, monkeypatch):
    """The same `InputFiles` as `imvc cluster` makes of the same choices."""
    from imvc import workflow

    project.add_paths(study)
    project.change_file("f1", options={"log1p": True, "id_column": "patient"})
    project.change_file("f2", view="prot", options={"top_variance": 3})
    kinds = {"kinds": {"sex": "category"}, "scale": "standard", "drop": ["lab0"]}
    project.change_file("f3", options=kinds)
    ours = input_files(project.entries(), project.joint)
    taken = []
    monkeypatch.setattr(
        workflow, "inspect_source", lambda source, **_: taken.append(source) or 1 / 0
    )
    words = ["inspect", *map(str, study), "--log1p", "rna", "--top-variance", "prot=3"]
    words += ["--name", "rna", "--name", "prot", "--name", "clinical"]
    words += ["--id", "rna=patient", "--as", "clinical=sex=category"]
    words += ["--scale", "clinical=standard", "--drop", "clinical=lab0"]
    main(words)
    theirs = taken[0]
    assert ours.paths == theirs.paths
    assert ours.names == theirs.names
    assert ours.columns == theirs.columns
    assert ours.preparation == theirs.preparation
    assert ours.guard
    assert ours.id_columns == ["patient", None, None]


def test_roles_that_cannot_be_clustered_are_told_before_reading(project, study):
    with pytest.raises(ValueError, match="no files are given"):
        check_roles(project.entries())
    project.add_paths(study)
    for id in ("f1", "f2"):
        project.change_file(id, role="metadata")
    with pytest.raises(ValueError, match=r"rna.csv and protein.tsv are both metadata"):
        check_roles(project.entries())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"n_clusters": "3"}, "n_clusters='3' is of a wrong kind"),
        ({"n_clusters": 1}, "n_clusters=1 must be at least 2"),
        ({"n_refits": -1}, "n_refits=-1 must be at least 0"),
        ({"survival": ["t"]}, "must be the names of two columns"),
        ({"parameters": []}, "of a wrong kind"),
    ],
)
def test_a_wrong_request_is_named(body, text):
    with pytest.raises(ValueError, match=text):
        checked_request(body)


def test_a_second_studio_on_the_folder_is_refused(project):
    """Also by another process, and not any more when the first is gone."""
    text = r"project: a studio is open on this folder already; .*--project"
    with pytest.raises(ValueError, match=text):
        Project(project.folder)
    code = "import sys; from imvc.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "studio", "--no-browser"]
    words += ["--project", str(project.folder)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2
    assert "a studio is open on this folder already" in done.stderr
    assert f"process {os.getpid()}" in done.stderr
    reopened(project).close()


def test_runs_are_found_again_and_interrupted_ones_told(project):
    for name in ("one", None, "gone"):
        project.add_run(name, {"method": "bridge", "n_clusters": 3})
    (project.run_folder("r1") / "run.json").write_text(
        '{"result": {"method": "bridge", "n_clusters": 3, "n_samples": 9},'
        ' "warnings": ["odd"], "seconds": {"fit": 2.0}}'
    )
    project.run_folder("r3").rmdir()
    extra = project.folder / "runs" / "by_hand"
    extra.mkdir()
    (extra / "run.json").write_text("{}")
    again = reopened(project)
    runs = again.to_dict()["runs"]
    assert [run["name"] for run in runs] == ["one", "Run 2", "by_hand"]
    assert [run["state"] for run in runs][:2] == ["done", "interrupted"]
    assert (runs[0]["warning"], runs[0]["seconds"]) == ("odd", 2.0)
    assert (runs[1]["method"], runs[1]["n_clusters"]) == ("bridge", 3)
    assert any("gone: its folder is gone" in note for note in again.notes)
    assert any("Run 2: was interrupted" in note for note in again.notes)
    again.close()


def test_numbers_of_runs_and_uploads_are_never_given_twice_at_once(project):
    first = project.add_run("a", {})
    project.remove_run(first.id)
    assert not (project.folder / "runs" / "r1").exists()
    left = project.folder / "runs" / "r1"
    left.mkdir()
    assert project.add_run("b", {}).id == "r2"
    assert project.new_upload("a.csv")[0] == "f1"
    assert project.new_upload("a.csv")[0] == "f2"


def test_an_upload_that_a_killed_studio_left_half_is_dropped_and_told(project):
    project.new_upload("a.csv")
    again = reopened(project)
    assert list((again.folder / "files").iterdir()) == []
    assert any("An upload was interrupted" in note for note in again.notes)
    again.close()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a studio.json of imvc"),
        ('{"format": "imvc-studio", "version": 9}', "upgrade imvc"),
        ('{"format": "imvc-studio", "version": 1}', "is not as imvc writes it"),
        (
            '{"format": "imvc-studio", "version": 1, "files": [], "runs": [{"id": "r1",'
            ' "name": "x", "folder": "../..", "request": null}]}',
            "outside of the project",
        ),
        (
            '{"format": "imvc-studio", "version": 1, "files": [], "runs": [{"id": "r1",'
            ' "name": "x", "folder": "runs/..", "request": null}]}',
            "outside of the project",
        ),
        (
            json.dumps(
                {
                    "format": "imvc-studio",
                    "version": 1,
                    "files": [
                        asdict(StudioFile("f1", "x", "../x.csv", "x", uploaded=True))
                    ],
                    "runs": [],
                }
            ),
            "is no place of an upload",
        ),
    ],
)
def test_a_damaged_studio_json_is_named(tmp_path, content, text):
    (tmp_path / "studio.json").write_text(content)
    with pytest.raises(ValueError, match=text) as error:
        Project(tmp_path)
    assert "studio.json" in str(error.value)
    (tmp_path / "studio.json").unlink()
    Project(tmp_path).close()  # it was not left locked


def test_a_result_is_a_project_with_its_run_and_choices(tmp_path, study, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["cluster", *map(str, study[:2]), "-k", "3", "--refits", "0", "-o", "out"]
    words += ["--metadata", str(study[2]), "--scale", "rna=standard", "--id", "patient"]
    words += ["--drop", "protein=prot0", "--no-report", "-q"]
    words += ["--as", "gene1=metadata", "--name", "rna", "--name", "protein"]
    assert main(words) == 0
    project = open_project(["out"])
    run = project.to_dict()["runs"][0]
    assert (run["id"], run["name"], run["state"]) == ("main", "out", "done")
    rna, protein, clinical = project.files
    assert rna.options["scale"] == "standard"
    assert protein.options["scale"] is None
    assert protein.options["drop"] == ["prot0"]
    assert clinical.role == "metadata"
    assert project.joint["kinds"] == {"gene1": "metadata"}
    ours = input_files(project.entries(), project.joint)
    assert ours.read().views.n_features == (5, 4)
    with pytest.raises(ValueError, match="it is not deleted here"):
        project.remove_run("main")
    project.close()
    record = json.loads((tmp_path / "out" / "studio.json").read_text())
    assert [run["folder"] for run in record["runs"]] == ["."]
    open_project(["out"]).close()


def test_paths_of_the_command(tmp_path, study, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv: no such file"):
        open_project(["nowhere.csv"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="there is no table in this folder"):
        open_project(["empty"])
    assert not (tmp_path / "imvc_studio").exists()
    project = open_project([study[0].parent])
    assert project.folder == tmp_path / "imvc_studio"
    assert len(project.files) == 3
    project.close()
    with pytest.raises(ValueError, match="give it alone, without --project"):
        open_project(["imvc_studio"], "other")


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("a.csv", ".csv"),
        ("A.CSV.GZ", ".csv.gz"),
        ("a.b.h5ad", ".h5ad"),
        ("a.sh", ""),
        ("a.csv/x", ""),
        ("a.sh.gz", ".gz"),
        ("csv", ""),
        ("", ""),
        ("a.pkl", ".pkl"),
    ],
)
def test_only_known_endings_come_into_names_of_files(name, end):
    assert ending(name) == end


def test_a_damaged_run_json_leaves_the_project_readable(project):
    run = project.add_run("odd", {"method": "bridge"})
    path = project.run_folder(run.id) / "run.json"
    for text in ("[]", "{", '{"result": [], "seconds": 3}', '{"seconds": {"a": "b"}}'):
        path.write_text(text)
        (found,) = project.to_dict()["runs"]
        assert (found["state"], found["seconds"]) == ("done", None)


def test_paths_are_kept_without_detours(project, study):
    (study[0].parent / "in").mkdir()
    (file,) = project.add_paths([study[0].parent / "in" / ".." / "rna.csv"])
    assert file.path == str(study[0])
    assert project.add_paths([study[0]]) == []
