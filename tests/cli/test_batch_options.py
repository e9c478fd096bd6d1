"""--batch and --adjust of imvc cluster, --metadata of imvc predict."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from imvc.cli import main
from imvc.datasets import make_views
from imvc.metrics import adjusted_rand
from study_files import read_table

FILES = ["rna.csv", "protein.csv"]
OPTIONS = ["-k", "3", "--method", "impute-kmeans", "--refits", "0", "-q"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Files of two views that two sites shift; the current folder, and the classes."""
    rng = np.random.default_rng(0)
    data = make_views(90, (6, 5), 3, separation=8, random_state=0)
    site = rng.integers(2, size=90)
    for name, X in zip(FILES, data.Xs):
        X = X + 5 * rng.normal(size=(2, X.shape[1]))[site]
        with open(tmp_path / name, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *(f"{name[0]}{j}" for j in range(X.shape[1]))])
            writer.writerows([f"p{i:02d}", *row] for i, row in enumerate(X.tolist()))
    rows = "".join(f"p{i:02d},{'AB'[s]}\n" for i, s in enumerate(site))
    (tmp_path / "known.csv").write_text("id,site\n" + rows)
    monkeypatch.chdir(tmp_path)
    return data.y


def labels_of(path):
    return [row["cluster"] for row in read_table(path)]


def test_batch_tells_that_the_clusters_follow_it(study, capsys):
    command = ["cluster", *FILES, *OPTIONS, "--metadata", "known.csv", "--json"]
    assert main([*command, "--batch", "site"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["batch_leakage"]["site"]["ami"] > 0.3
    assert any("--adjust site" in text for text in document["warnings"])


def test_adjust_finds_the_clusters_and_everything_after_it_repeats_them(study, capsys):
    command = ["cluster", *FILES, *OPTIONS, "--metadata", "known.csv", "-o", "out"]
    assert main([*command, "--adjust", "site", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = labels_of("out/labels.csv")
    assert adjusted_rand(study, found) > 0.95
    assert any(text.startswith("adjusted for site") for text in document["notes"])
    assert main(["cluster", "--from", "out/run.json", "-o", "again", "-q"]) == 0
    assert labels_of("again/labels.csv") == found
    new = ["predict", "out/model.imvc", *FILES, "-o", "new.csv"]
    assert main([*new, "--metadata", "known.csv", "-q"]) == 0
    assert labels_of("new.csv") == found
    assert main(new) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "not known of 90 of 90 samples" in told
    assert "--metadata" in told


def test_an_unknown_column_is_a_mistake_with_the_nearest_name(study, capsys):
    command = ["cluster", *FILES, *OPTIONS, "--metadata", "known.csv"]
    assert main([*command, "--adjust", "sites"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "--adjust 'sites' (adjust=) is no column of the metadata" in told
    assert "did you mean 'site'?" in told


@pytest.mark.parametrize("option", ["--batch", "--adjust"])
def test_batches_need_samples_in_memory(study, option, capsys):
    assert main(["cluster", *FILES, "--out-of-core", "-k", "3", option, "site"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{option} needs all samples in memory" in told


@pytest.mark.parametrize("option", ["--batch", "--adjust"])
def test_a_repeated_run_takes_no_other_batches(study, option, capsys):
    assert main(["cluster", "--from", "out/run.json", option, "site"]) == 2
    assert f"{option} cannot stand beside --from" in capsys.readouterr().err
