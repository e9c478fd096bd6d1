"""Exports: labels for other programs, and the command and script of a run."""

import contextlib
import csv
import io
import runpy
import shlex
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from imvc.cli import main
from imvc.io import ColumnOptions, Preparation
from imvc.workflow import (
    InputFiles,
    LabelEdits,
    SavedRun,
    cluster,
    command_line,
    command_words,
    export_embedding,
    export_labels,
    margin_drift,
    python_script,
    read_record,
    script_text,
    write_table,
)
from saved_runs import save_study
from study_files import read_table


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return save_study(tmp_path_factory.mktemp("a study's files"))


@pytest.fixture
def edits(study, tmp_path):
    shutil.copytree(study[1].parent, tmp_path / "study")
    found = LabelEdits(tmp_path / "study" / "out")
    found.merge([0, 2])
    found.rename(0, '=HYPERLINK("x")')
    return found


def read_xlsx(path):
    """Head and rows of a workbook, with the types of its cells."""
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(path).active
    return [[(cell.value, cell.data_type) for cell in row] for row in sheet.rows]


def test_edited_labels_as_csv_and_parquet_are_the_same(edits, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export_labels(edits, tmp_path / "labels.csv")
    export_labels(edits.run.folder, tmp_path / "labels.parquet")
    rows = read_table(tmp_path / "labels.csv")
    table = parquet.read_table(tmp_path / "labels.parquet").to_pylist()
    assert list(rows[0]) == list(table[0])
    for name in ("id", "cluster", "cluster_name", "original_cluster", "n_views"):
        assert [row[name] for row in rows] == [str(row[name]) for row in table]
    assert {row["cluster_name"] for row in rows} == {'=HYPERLINK("x")', "Cluster 1"}


def test_labels_without_edits_are_those_of_the_run(study, tmp_path):
    export_labels(study[1], tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text() == (
        study[1] / "labels.csv"
    ).read_text()


def test_workbooks_hold_text_and_numbers_and_no_formula(edits, tmp_path):
    export_labels(edits, tmp_path / "labels.xlsx")
    head, *rows = read_xlsx(tmp_path / "labels.xlsx")
    names = [value for value, _ in head]
    assert names[:3] == ["id", "cluster", "cluster_name"]
    assert len(rows) == 90
    assert all(kind != "f" for row in rows for _, kind in row)
    found = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    assert {kind for _, kind in found["cluster"]} == {"n"}
    assert {kind for _, kind in found["low_confidence"]} == {"b"}
    assert ('=HYPERLINK("x")', "s") in found["cluster_name"]
    np.testing.assert_allclose(
        [value for value, _ in found["confidence"]], edits.run.columns["confidence"]
    )


def test_hostile_ids_stay_text_in_a_workbook(tmp_path):
    ids = ["=1+1", "#N/A", "a\x00b", "+1", "007", "x" * 40_000, ""]
    numbers = [1.5, np.nan, np.inf, 0, 1, 2, 3]
    write_table(tmp_path / "t.xlsx", ids, {"=2": numbers})
    head, *rows = read_xlsx(tmp_path / "t.xlsx")
    assert head == [("id", "s"), ("=2", "s")]
    assert rows[0] == [("=1+1", "s"), (1.5, "n")]
    assert rows[1][0] == ("#N/A", "s")
    assert rows[1][1][0] is None
    assert [row[0][0] for row in rows[2:5]] == ["a\ufffdb", "+1", "007"]
    assert len(rows[5][0][0]) == 32_767
    assert rows[2][1] == ("inf", "s")


def test_h5ad_has_labels_map_and_embedding_of_all_samples(edits, tmp_path):
    anndata = pytest.importorskip("anndata")
    export_labels(edits, tmp_path / "labels.h5ad")
    found = anndata.read_h5ad(tmp_path / "labels.h5ad")
    assert found.shape == (90, 0)
    assert found.obs_names.tolist() == edits.run.ids.tolist()
    assert found.obs["cluster"].tolist() == edits.labels.tolist()
    assert (
        found.obs["cluster_name"].tolist() == edits.columns()["cluster_name"].tolist()
    )
    np.testing.assert_allclose(found.obsm["X_imvc"], edits.run.embedding)
    assert found.obsm["X_imvc_map"].shape == (90, 2)


@pytest.mark.filterwarnings("ignore")
def test_h5mu_has_every_view_with_the_samples_observed_in_it(edits, tmp_path):
    mudata = pytest.importorskip("mudata")
    export_labels(edits, tmp_path / "labels.h5mu")
    found = mudata.read_h5mu(tmp_path / "labels.h5mu")
    views = edits.run.views()
    assert set(found.mod) == set(views.names)
    for v, name in enumerate(views.names):
        table = found.mod[name]
        assert table.obs_names.tolist() == edits.run.ids[views.rows(v)].tolist()
        assert table.var_names.tolist() == list(views.feature_names[v])
        np.testing.assert_allclose(table.X, views.observed(v))
    expected = dict(zip(edits.run.ids, edits.labels))
    assert found.obs["cluster"].tolist() == [expected[i] for i in found.obs_names]
    place = {key: i for i, key in enumerate(edits.run.ids)}
    order = [place[key] for key in found.obs_names]
    np.testing.assert_allclose(found.obsm["X_imvc"], edits.run.embedding[order])


def test_a_missing_package_names_its_extra(study, tmp_path, monkeypatch):
    for package, name, extra in (
        ("anndata", "labels.h5ad", "omics"),
        ("mudata", "labels.h5mu", "omics"),
        ("openpyxl", "labels.xlsx", "excel"),
    ):
        needs = rf"{package}: pip install.*\[{extra}\]"
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            with pytest.raises(ImportError, match=needs):
                export_labels(study[1], tmp_path / name)
        assert not list(tmp_path.iterdir())


def test_other_endings_are_refused(study, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv, \.parquet, \.xlsx"):
        export_labels(study[1], tmp_path / "labels.json")


def test_an_embedding_is_written_with_ids(study, tmp_path):
    export_embedding(study[1], tmp_path / "embedding.csv")
    with open(tmp_path / "embedding.csv", newline="") as file:
        head, *rows = csv.reader(file)
    run = SavedRun(study[1])
    assert head[:2] == ["id", "y0"]
    assert [row[0] for row in rows] == run.ids.tolist()
    np.testing.assert_allclose(
        np.array([row[1:] for row in rows], float), run.embedding
    )


# The command line and the script


def run_command(line, output):
    """Run a line that `command_line` gave; the folder that it wrote to."""
    words = shlex.split(line)
    assert words[0] == "imvc"
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        code = main([*words[1:], "-o", str(output), "--no-report", "-q"])
    assert code == 0, quiet.getvalue()
    return output


def run_script(text, folder, monkeypatch):
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    runpy.run_path(str(path), run_name="__main__")
    return folder / "imvc_output"


def labels_of(folder):
    return {row["id"]: row["cluster"] for row in read_table(folder / "labels.csv")}


CASES = {
    "defaults": {},
    "method": {"method": "rise", "parameters": {"beta": 10, "n_neighbors": 4}},
    "suggested": {"n_clusters": None},
    "seed": {"random_state": 7, "n_refits": 1, "batch": "site"},
    "adjusted": {"adjust": "site"},
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_command_and_script_give_the_same_labels(case, tmp_path, monkeypatch):
    options = {"n_refits": 0, "survival": None, **CASES[case]}
    _, folder = save_study(tmp_path, **options)
    record = read_record(folder)
    line = command_line(record)
    again = run_command(line, tmp_path / "again")
    assert labels_of(again) == labels_of(folder)
    script = run_script(python_script(record), tmp_path, monkeypatch)
    assert labels_of(script) == labels_of(folder)
    mine, theirs = read_record(again).content, record.content
    assert (
        mine["request"]["inputs"]["preparation"]
        == (theirs["request"]["inputs"]["preparation"])
    )
    for name in ("method", "parameters", "n_clusters", "random_state", "n_refits"):
        assert mine["request"][name] == theirs["request"][name]


def test_survival_and_hostile_names_survive_the_shell(study, tmp_path):
    record = read_record(study[1])
    line = command_line(record)
    assert "--survival days,dead" in line
    assert "--drop clinical=lab0" in line
    again = run_command(line, tmp_path / "again")
    assert labels_of(again) == labels_of(study[1])
    assert read_record(again).content["request"]["survival"] == ["days", "dead"]


def parsed(words, monkeypatch):
    """The InputFiles and arguments that the command line makes of some words."""
    seen = {}

    def stop(source, **options):
        seen.update(source=source, **options)
        raise ValueError("seen")

    monkeypatch.setattr("imvc.workflow.cluster", stop)
    with contextlib.redirect_stderr(io.StringIO()):
        assert main([*words[1:], "-q"]) == 2
    return seen


def test_every_option_comes_back_as_it_was(tmp_path, monkeypatch):
    inputs = InputFiles(
        paths=["-odd.csv", "b,c.tsv", ["x1.csv", "x2.csv"]],
        id_columns=["pat=ient", None, "-id"],
        names=["rna", "it's", "third"],
        columns=ColumnOptions(
            kinds={"a=b": "category", "rna=grade": "ordinal", "note": "metadata"},
            ordinals={"grade": ["low", "high"]},
            drop={"rna": ["x=y", "-z"]},
            keep={"third": ["g"]},
            metadata=("t,1", "e", "site"),
            text="drop",
        ),
        transpose=("rna",),
        preparation=Preparation(
            empty_cells="mean",
            log1p=("rna", "it's"),
            scale={"rna": "standard"},
            top_variance={"third": 50},
        ),
        metadata="meta $HOME.csv",
        match_ids="loose",
        id_map="map.csv",
        layer="raw",
        sheet="S 1",
        guard=True,
    )
    request = {
        "method": "rise",
        "n_clusters": 5,
        "random_state": 3,
        "n_refits": 2,
        "survival": ["t,1", "e"],
        "batch": "site",
        "adjust": None,
        "force": True,
        "parameters": {"beta": 2.5, "n_jobs": 1, "embedding_dim": None},
    }
    words = command_words(inputs, request, str(tmp_path / "o"))
    found = parsed(words, monkeypatch)
    source = found["source"]
    assert "./-odd.csv" in words  # not taken for an option
    assert source.paths == inputs.paths
    assert source.id_columns == {"rna": "pat=ient", "third": "-id"}
    same = replace(
        source, paths=inputs.paths, id_columns=inputs.id_columns, names=inputs.names
    )
    assert source.names == inputs.names
    assert same == inputs
    assert found["survival"] == ("t,1", "e")
    assert found["batch"] == "site"
    assert found["force"]
    assert found["parameters"] == {"beta": 2.5, "n_jobs": 1}
    for name in ("method", "n_clusters", "random_state", "n_refits"):
        assert found[name] == request[name]


@pytest.mark.parametrize(
    ("inputs", "request_"),
    [
        ({"paths": [["a,b.csv", "c.csv"]]}, {}),
        ({"paths": [["a.csv", "b.csv"], "c.csv"]}, {}),
        ({"paths": ["a.csv", "b.csv"], "names": ["x", None]}, {}),
        ({"paths": ["a/x.csv", "b/x.csv"], "id_columns": ["i", "j"]}, {}),
        ({"paths": ["a.csv"], "columns": ColumnOptions(drop={"a=b": ["c"]})}, {}),
        (
            {"paths": ["a.csv"], "columns": ColumnOptions(ordinals={"g": ["a,b"]})},
            {},
        ),
        ({"paths": ["a.csv"], "transpose": ("all",)}, {}),
        ({"paths": ["a.csv"]}, {"n_clusters": [2, 3]}),
        ({"paths": ["a.csv"]}, {"random_state": None}),
    ],
)
def test_what_the_command_line_cannot_say_is_refused(inputs, request_):
    with pytest.raises(ValueError, match="command line has no words for"):
        command_words(InputFiles(**inputs), request_)
    compile(script_text(InputFiles(**inputs), request_), "script.py", "exec")


def test_what_cannot_be_said_is_repeated_from_the_record(tmp_path):
    _, folder = save_study(tmp_path, n_clusters=[2, 3], n_refits=0)
    line = command_line(read_record(folder))
    assert "--from" in line
    assert labels_of(run_command(line, tmp_path / "again")) == labels_of(folder)


def test_hostile_texts_are_only_texts_in_the_script(tmp_path):
    name = '"""\nraise SystemExit("got you")\n#'
    inputs = InputFiles([f"{name}.csv"], columns=ColumnOptions(drop={name: [name]}))
    text = script_text(inputs, {"method": "bridge", "survival": [name, name]})
    tree = compile(text, "script.py", "exec", flags=0x400)  # only parsed
    calls = [node for node in tree.body if type(node).__name__ == "Raise"]
    assert not calls
    assert text.count("\nraise") == 0


def test_an_out_of_core_run_has_a_command_and_a_script(tmp_path, monkeypatch):
    from imvc.datasets import make_views

    data = make_views(80, (6, 5), 3, separation=8, random_state=0)
    for v, X in enumerate(data.Xs):
        np.save(tmp_path / f"v{v}.npy", X)
    files = [str(tmp_path / f"v{v}.npy") for v in range(2)]
    more = ["--out-of-core", "-k", "3", "--result-format", "csv"]
    line = shlex.join(["imvc", "cluster", *files, *more])
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        assert main([*shlex.split(line)[1:], "-o", str(tmp_path / "out"), "-q"]) == 0
        record = read_record(tmp_path / "out")
        again = shlex.split(command_line(record))
        assert main([*again[1:], "-o", str(tmp_path / "again"), "-q"]) == 0
    assert labels_of(tmp_path / "again") == labels_of(tmp_path / "out")
    script = run_script(python_script(record), tmp_path, monkeypatch)
    assert labels_of(script) == labels_of(tmp_path / "out")


def test_a_run_from_memory_has_no_command(tmp_path):
    from imvc.datasets import make_views

    data = make_views(60, (5, 4), 3, separation=8, random_state=0)
    cluster(data.Xs, n_clusters=3, n_refits=0).save(tmp_path / "out", report=False)
    with pytest.raises(ValueError, match="came from memory"):
        command_line(read_record(tmp_path / "out"))


# Drift


def test_new_samples_as_sure_as_the_old_ones_are_no_drift():
    margins = np.random.default_rng(0).uniform(0.2, 0.9, 400)
    found = margin_drift(margins, margins[:50])
    assert not found.warn
    assert (found.share_low_new, found.share_low_fit) == (0.0, 0.0)


def test_new_samples_between_the_clusters_are_warned_of():
    found = margin_drift(np.full(300, 0.5), np.r_[np.full(15, 0.01), np.full(15, 0.5)])
    assert found.warn
    assert found.share_low_new == 0.5
    assert "50 % of the new samples" in found.text
    few = margin_drift(np.full(300, 0.5), np.array([0.01, 0.5, 0.5, 0.5]))
    assert few.share_low_new == 0.25
