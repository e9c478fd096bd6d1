"""SavedRun: what a folder of results says, and when it refuses to."""

import shutil

import numpy as np
import pytest

import imvc.workflow._saved_run as saved_run
from imvc.datasets import make_views
from imvc.workflow import (
    BlockFiles,
    InputFiles,
    SavedRun,
    cluster,
    command_line,
    output_folder,
    python_script,
    split_selection,
)
from saved_runs import save_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return save_study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def copy(study, tmp_path):
    """A copy of the study, to be damaged."""
    shutil.copytree(study[1].parent, tmp_path / "study")
    return tmp_path / "study" / "out"


def test_a_folder_says_what_the_run_said(tmp_path):
    paths, folder = save_study(tmp_path)
    fresh = cluster(InputFiles(paths), n_clusters=3, n_refits=2)
    fresh.save(tmp_path / "fresh", report=False)
    run = SavedRun(tmp_path / "fresh")
    assert run.ids.tolist() == fresh.sample_ids.tolist()
    assert run.labels.tolist() == fresh.labels.tolist()
    for name, column in fresh.columns().items():
        np.testing.assert_array_equal(run.columns[name], column)
    np.testing.assert_allclose(run.embedding, fresh.model.embedding_)
    assert run.model.labels_.tolist() == fresh.labels.tolist()
    assert run.method == "bridge"
    assert run.can_predict
    assert SavedRun(folder).labels.dtype == np.int64


def test_views_and_metadata_are_those_of_the_run(study):
    run = SavedRun(study[1])
    inputs = run.record.inputs()
    fresh = inputs.read()
    views = run.views()
    assert run.data_problem() is None
    assert views.names == fresh.views.names
    for v in range(views.n_views):
        np.testing.assert_array_equal(views.observed(v), fresh.views.observed(v))
    assert set(run.metadata()) == {"site", "age", "days", "dead", "remark", "sex"}


def test_a_feature_is_in_the_units_of_its_file(study):
    paths, folder = study
    run = SavedRun(folder)
    values = run.feature("rna", "gene1")
    raw = {}
    with open(paths[0]) as file:
        head = file.readline().strip().split(",")
        column = head.index("gene1")
        for line in file:
            cells = line.strip().split(",")
            raw[cells[0]] = float(cells[column])
    expected = [raw.get(key, np.nan) for key in run.ids]
    np.testing.assert_allclose(values, expected)
    with pytest.raises(ValueError, match="no feature 'genes'"):
        run.feature("rna", "genes")
    with pytest.raises(ValueError, match="none of the run"):
        run.feature("dna", "gene1")


def test_a_description_is_in_the_units_of_the_files(study):
    run = SavedRun(study[1])
    chosen = run.labels == 1
    found = run.describe(np.flatnonzero(chosen), survival=("days", "dead"))
    effect = next(e for e in found.features if e.feature == "gene1")
    values = run.feature("rna", "gene1")
    assert effect.mean_inside == pytest.approx(np.nanmean(values[chosen]))
    assert effect.mean_outside == pytest.approx(np.nanmean(values[~chosen]))
    assert {c.name for c in found.metadata} == {"site", "age", "remark", "sex"}
    assert found.survival is not None


def test_runs_of_the_same_files_share_what_was_read(study, tmp_path):
    again = cluster(SavedRun(study[1]).record.inputs(), n_clusters=2, n_refits=0)
    again.save(tmp_path / "two", report=False)
    one, two = SavedRun(study[1]), SavedRun(tmp_path / "two")
    assert not two.take_data(one)  # nothing was read yet
    one.views()
    assert two.take_data(one)
    assert two.data is one.data
    other = cluster(InputFiles(study[0]), n_clusters=2, n_refits=0)
    other.save(tmp_path / "other", report=False)
    assert not SavedRun(tmp_path / "other").take_data(one)


def test_a_changed_file_is_named(copy):
    run = SavedRun(copy)
    path = copy.parent / "rna.csv"
    path.write_text(path.read_text() + "p999,1,2,3,4,5,6\n")
    # The recorded file beside the folder comes before the one where it was.
    assert "rna.csv: is not the file of that run any more" in run.data_problem()
    with pytest.raises(ValueError, match=r"cannot be shown: .*rna.csv"):
        run.views()
    assert len(run.labels) == 90


def test_a_file_that_is_gone_is_named(copy, study, tmp_path):
    shutil.copytree(copy, tmp_path / "alone")
    run = SavedRun(tmp_path / "alone")
    for mark in run.record.content["files"]:
        mark["path"] = mark["path"].replace(str(study[1].parent), str(tmp_path / "x"))
    assert "the file of that run is not there" in run.data_problem()


def test_the_map_is_kept_and_made_anew_for_another_embedding(copy, monkeypatch):
    made = []
    real = saved_run.planes

    def counted(embedding):
        made.append(len(embedding))
        return real(embedding)

    monkeypatch.setattr(saved_run, "planes", counted)
    first = SavedRun(copy).planes()
    assert SavedRun(copy).planes() == first
    assert made == [90]
    names = [plane["name"] for plane in first]
    assert names == ["Neighbours", "Principal axes"]
    assert all(len(plane["x"]) == 90 for plane in first)
    (copy / ".map.npz").write_bytes(b"PK\x03\x04 no such thing")
    assert SavedRun(copy).planes() == first
    run = SavedRun(copy)
    run.__dict__["embedding"] = run.embedding + np.arange(90)[:, None]
    run.planes()
    assert made == [90, 90, 90]


def test_a_map_is_never_unpickled(copy):
    first = SavedRun(copy).planes()
    with np.load(copy / ".map.npz") as kept:
        content = dict(kept)
    content["0_x"] = np.array([object()], dtype=object)
    np.savez(copy / ".map.npz", **content)
    assert SavedRun(copy).planes() == first


@pytest.mark.parametrize("form", ["parquet", "npy", "csv", "zarr"])
def test_an_out_of_core_run_opens_too(form, tmp_path):
    data = make_views(80, (6, 5), 3, separation=8, random_state=0)
    paths = []
    for v, X in enumerate(data.Xs):
        np.save(tmp_path / f"v{v}.npy", X)
        paths.append(tmp_path / f"v{v}.npy")
    files = BlockFiles(paths, result_format=form)
    with output_folder(tmp_path / "out") as folder:
        fresh = cluster(files, n_clusters=3, folder=folder)
        labels = np.array(fresh.labels).tolist()
        fresh.save(folder)
    run = SavedRun(tmp_path / "out")
    assert run.labels.tolist() == labels
    assert run.ids.tolist() == [str(i) for i in range(80)]
    assert run.embedding.shape[0] == 80
    assert "out of core" in run.data_problem()
    with pytest.raises(ValueError, match="out of core"):
        run.describe([0, 1])
    with pytest.raises(ValueError, match=r"out of core|out-of-core"):
        split_selection(run, range(20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "labels.csv: has no column 'id'"),
        ("id,cluster\n", "labels.csv: has no column 'cluster'"),
        ("id,cluster\na,x\n", "labels.csv: has no column 'cluster' of whole"),
        ("id,cluster\na,-1\n", "labels.csv: has no column 'cluster' of whole"),
        ("id,cluster\na,1.5\n", "labels.csv: has no column 'cluster' of whole"),
        ("id,cluster\na\n", r"labels.csv: cannot be read"),
        ("id,margin\na,1\n", "labels.csv: has no column 'cluster'"),
    ],
)
def test_damaged_labels_are_named(copy, text, message):
    (copy / "labels.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        SavedRun(copy)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"run\.json"):
        SavedRun(tmp_path)


def test_a_damaged_embedding_is_named(copy):
    (copy / "embedding.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(ValueError, match=r"embedding.parquet: cannot be read"):
        SavedRun(copy).embedding  # noqa: B018


def test_a_selection_is_split_as_the_run_was_made(study):
    run = SavedRun(study[1])
    rows = np.flatnonzero(run.labels != 0)
    parts = split_selection(study[1], rows, n_clusters=2)
    assert parts.shape == rows.shape
    for part in (0, 1):  # planted clusters are found again
        assert len(np.unique(run.labels[rows][parts == part])) == 1


def test_a_split_without_a_number_gets_one_suggested(study):
    said = []
    run = SavedRun(study[1])
    parts = split_selection(
        run, np.arange(90), progress=lambda state: said.append(state.message)
    )
    assert len(np.unique(parts)) > 1
    assert any("clusters" in text for text in said)


def test_other_methods_need_a_number_to_split(tmp_path):
    _, folder = save_study(tmp_path, method="rise", n_refits=0)
    with pytest.raises(ValueError, match="'rise' needs one number of clusters"):
        split_selection(folder, range(30))
    assert len(split_selection(folder, range(30), n_clusters=2)) == 30


@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        (range(3), None, "3 samples are selected, too few"),
        (range(5), 8, "5 samples are selected, too few.*at least 8"),
        ([0, 1, 2, 90], 2, "numbered from 0 to 89"),
        ([0, 1, 2, 2], 2, "comes twice"),
        ([], 2, "no sample is selected"),
    ],
)
def test_wrong_splits_are_named(study, rows, k, message):
    with pytest.raises(ValueError, match=message):
        split_selection(study[1], rows, n_clusters=k)


def test_samples_that_share_no_view_cannot_be_split(tmp_path):
    for v in range(4):
        rows = [f"p{i},{i}.5,{v}.25" for i in range(v, 40, 4)]
        rows += [f"q{j},{j}.5,{j % 7}.5" for j in range(12)]
        text = "\n".join(["id,a,b", *rows])
        (tmp_path / f"view{v}.csv").write_text(text)
    inputs = InputFiles([tmp_path / f"view{v}.csv" for v in range(4)])
    cluster(inputs, n_clusters=2, n_refits=0).save(tmp_path / "out", report=False)
    run = SavedRun(tmp_path / "out")
    place = {key: i for i, key in enumerate(run.ids)}
    with pytest.raises(ValueError, match="no view has two of the selected samples"):
        split_selection(run, [place[f"p{i}"] for i in range(4)], n_clusters=2)
    with pytest.raises(ValueError, match=r"1 of the selected samples .*'p1'"):
        split_selection(
            run, [place[key] for key in ("p0", "p4", "p8", "p12", "p1")], n_clusters=2
        )


def test_content_is_compared_when_the_tables_are_needed(copy):
    path = copy.parent / "rna.csv"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"p0", b"q0", 1))
    run = SavedRun(copy)
    assert run.data_problem() is None  # it is there, and as large as it was
    with pytest.raises(ValueError, match=r"SHA-256 differs\); .* anew\.$"):
        run.data  # noqa: B018
    assert "SHA-256 differs" in run.data_problem()
    path.write_bytes(content)
    assert run.data_problem() is None
    assert len(run.data.views.names) == 3


def test_what_describes_the_samples_is_known_without_the_tables(copy):
    run = SavedRun(copy)
    for path in copy.parent.glob("*.csv"):
        path.unlink()
    kinds = run.described_by()
    assert (kinds["site"], kinds["age"], kinds["remark"]) == (
        *("category", "number", "text"),
    )
    assert {"days", "dead", "sex"} <= set(kinds)
    run.result["associations"] = [1, "x"]
    assert set(run.described_by()) == {"days", "dead"}


def test_paths_of_a_run_have_no_detours(copy):
    run = SavedRun(copy)
    assert ".." not in command_line(run.record)
    assert ".." not in python_script(run.record)
    assert all(".." not in str(path) for path in run.record.inputs().all_paths())
    for mark in run.record.content["files"]:
        mark["path"] = str(copy.parent / "gone" / "x.csv")
    (copy.parent / "rna.csv").unlink()
    assert ".." not in run.data_problem()
