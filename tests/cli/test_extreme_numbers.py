"""Files of numbers that are huge, tiny or far from zero, on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")

from imvc.cli import main
from imvc.datasets import make_views
from imvc.metrics import adjusted_rand

DATA = make_views(90, (6, 5), 3, separation=12.0, random_state=0)
QUICK = ["-k", "3", "--method", "rise", "--refits", "0", "--no-report", "-o", "out"]


def write(name, X):
    head = ",".join(["id", *(f"{name}{j}" for j in range(X.shape[1]))])
    rows = [f"s{i:02d}," + ",".join(map(repr, x)) for i, x in enumerate(X.tolist())]
    Path(f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_an_offset_is_told_on_the_terminal_in_json_and_in_the_record(capsys):
    write("rna", DATA.Xs[0] + 1e9)
    write("b", DATA.Xs[1])
    assert main(["cluster", "rna.csv", "b.csv", *QUICK]) == 0
    told = "The numbers of view 'rna' are "
    assert f"warning: {told}" in capsys.readouterr().out
    record = json.loads(Path("out/run.json").read_text())
    assert any(text.startswith(told) for text in record["warnings"])
    assert main(["cluster", "rna.csv", "b.csv", *QUICK, "--json", "--overwrite"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["warnings"] == record["warnings"]


@pytest.mark.parametrize("factor", [1e-308, 1e200])
def test_huge_and_tiny_numbers_are_clustered_and_predicted(factor):
    for name, X in zip("ab", DATA.Xs):
        write(name, X * factor)
    assert main(["cluster", "a.csv", "b.csv", *QUICK]) == 0
    new = ["predict", "out/model.imvc", "a.csv", "b.csv", "-o", "new.csv"]
    assert main(new) == 0
    for path in ("out/labels.csv", "new.csv"):
        lines = Path(path).read_text().splitlines()
        place = lines[0].split(",").index("cluster")
        found = np.array([line.split(",")[place] for line in lines[1:]])
        assert adjusted_rand(DATA.y, found) == 1


def test_a_number_that_overflows_beside_others_stops_the_run(capsys):
    X = DATA.Xs[0].copy()
    X[3, 2] = 1e300
    write("rna", X)
    write("b", DATA.Xs[1])
    assert main(["cluster", "rna.csv", "b.csv", *QUICK]) == 2
    error = capsys.readouterr().err
    assert "view 'rna' has the number 1e+300" in error
    assert "s03" in error
    assert "column 'rna2'" in error
