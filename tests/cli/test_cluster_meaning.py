"""imvc cluster with metadata and --survival: terminal, JSON, run.json and errors."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from imvc.cli import main
from imvc.workflow import cluster
from study_files import write_study

FILES = ["rna.csv", "protein.tsv", "clinical.csv"]
OPTIONS = ["-k", "3", "--refits", "0", "--metadata", "patients.csv"]
HEAD = ["patient", "age", "site", "OS, days", "status"]


def write_patients(path, classes):
    """Age and survival follow the classes, the site does not."""
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD)
        for i, (key, kind) in enumerate(classes.items()):
            days = rng.exponential(1000 / (1 + 4 * kind))
            event = "dead" if rng.random() < 0.8 else "alive"
            age = 50 + 8 * kind + rng.normal(0, 3)
            writer.writerow([key, f"{age:.1f}", f"site {i % 4}", f"{days:.0f}", event])


@pytest.fixture
def study(tmp_path, monkeypatch):
    _, classes = write_study(tmp_path)
    write_patients(tmp_path / "patients.csv", classes)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    assert main(["cluster", *arguments, "-q"]) == 0
    return capsys.readouterr().out


SURVIVAL = ["--survival", '"OS, days",status']


def test_the_strongest_sentences_follow_the_table_of_clusters(study, capsys):
    out = run(capsys, *FILES, *OPTIONS, *SURVIVAL, "--no-report")
    lines = out.splitlines()
    assert lines[4].startswith("age differs between the clusters (epsilon squared 0.")
    assert lines[5].startswith("Survival differs between the clusters (log-rank test")
    assert "site" not in "".join(lines[:6])


def test_that_nothing_differs_is_told_in_one_line(study, capsys):
    Path("patients.csv").write_text(
        "patient,shoe,hat\n"
        + "".join(f"p{i:03d},{38 + i * 7 % 9},{i % 2}\n" for i in range(90))
    )
    out = run(capsys, *FILES, *OPTIONS, "--no-report")
    assert "None of the 2 columns of metadata tested differs between the" in out


def test_tests_and_sentences_are_in_json_and_in_the_record(study, capsys):
    out = run(capsys, *FILES, *OPTIONS, *SURVIVAL, "--json", "-o", "out")
    told = json.loads(out)
    strongest = told["associations"][0]
    assert strongest["name"] == "age"
    assert strongest["test"] == "Kruskal-Wallis"
    assert strongest["adjusted_p"] < 0.001
    assert set(told["survival"]["medians"]) == {"0", "1", "2"}
    assert told["survival"]["p"] < 0.001
    result = json.loads(Path("out/run.json").read_text())["result"]
    assert result["associations"] == told["associations"]
    assert result["survival"] == told["survival"]


def test_a_repeated_run_compares_survival_again(study, capsys):
    first = json.loads(run(capsys, *FILES, *OPTIONS, *SURVIVAL, "--json", "-o", "a"))
    again = json.loads(run(capsys, "--from", "a/run.json", "--json", "-o", "b"))
    assert again["same_labels"]
    assert again["survival"] == first["survival"]


def test_a_record_from_before_survival_is_repeated(study, capsys):
    run(capsys, *FILES, *OPTIONS, "-o", "a", "--no-report")
    record = json.loads(Path("a/run.json").read_text())
    assert record["request"].pop("survival") is None
    Path("a/run.json").write_text(json.dumps(record))
    assert json.loads(run(capsys, "--from", "a", "--json", "-o", "b"))["same_labels"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--survival", "OS"], "--survival 'OS' must be TIME,EVENT"),
        (["--survival", "a,"], "--survival 'a,' must be TIME,EVENT"),
        (["--survival", "a,b,c"], "put quotes around a name that has a comma"),
        (["--survival", "os days,status"], "nearest is 'OS, days'"),
        (["--survival", "age,site"], "event 'site' holds 'site 0', '"),
        (["--survival", "status,age"], "time 'status' holds 'dead', 'alive', which"),
    ],
)
def test_wrong_survival_is_told_before_anything_is_fitted(
    study, capsys, monkeypatch, options, message
):
    def fail(*arguments):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr("imvc.workflow._cluster.fit_model", fail)
    assert main(["cluster", *FILES, *OPTIONS, *options, "-q"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert message in err


def test_survival_needs_all_samples_in_memory(study, capsys):
    arguments = ["cluster", *FILES, "-k", "3", "--out-of-core", "--survival", "a,b"]
    assert main(arguments) == 2
    assert "--survival needs all samples in memory" in capsys.readouterr().err


def test_features_are_never_compared_with_the_clusters(study, capsys):
    told = json.loads(run(capsys, *FILES, *OPTIONS, "--json", "--no-report"))
    names = {one["name"] for one in told["associations"]}
    assert names == set(HEAD[1:])


def test_columns_that_are_kept_from_the_features_are_compared(study, capsys):
    options = ["--as", "sex=metadata", "--json", "--no-report"]
    told = json.loads(run(capsys, *FILES, *OPTIONS, *options))
    assert {one["name"] for one in told["associations"]} == {"sex", *HEAD[1:]}


def test_metadata_called_like_a_feature_are_not_compared(study, capsys):
    text = Path("patients.csv").read_text().replace("age", "gene1", 1)
    Path("patients.csv").write_text(text)
    told = json.loads(run(capsys, *FILES, *OPTIONS, "--json", "--no-report"))
    names = {one["name"] for one in told["associations"]}
    assert names == set(HEAD[2:])


def test_metadata_may_be_given_in_python(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 30)
    Xs = [rng.normal(size=(90, 4)) + 9 * y[:, None] for _ in range(2)]
    known = {"kind": y.astype(str), "days": 100.0 / (1 + y), "event": np.ones(90)}
    found = cluster(
        Xs, n_clusters=3, n_refits=0, metadata=known, survival=("days", "event")
    ).associations
    assert found.columns[0].strength == "large"
    assert found.survival.p < 0.001
