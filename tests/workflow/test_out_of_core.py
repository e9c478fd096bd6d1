"""workflow.cluster on files read by blocks: results, unfinished runs, models."""

import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("zarr")

import pandas as pd
import zarr

from imvc import RISE, AnchorBridge, as_views
from imvc._files import no_room
from imvc._machine import peak_memory
from imvc.methods import load_model
from imvc.scale import BlockError, read_plan
from imvc.scale._block_files import RowFile
from imvc.scale._folder import _write_plan
from imvc.workflow import BlockFiles, _save, cluster, output_folder
from out_of_core_files import BUDGET, small_data, write_npy, write_parquet

QUICK = {"n_anchors": 20, "n_init": 2, "n_jobs": 1}
METHODS = {"bridge": AnchorBridge, "rise": RISE}


@pytest.fixture
def arrays(tmp_path):
    """Files of two views with a mask."""
    write_npy(tmp_path)
    return BlockFiles(
        [tmp_path / "a.npy", tmp_path / "b.npy"], mask=tmp_path / "mask.npy"
    )


def run(files, folder, *, overwrite=False, command=None, progress=None, **options):
    names = {"memory_budget", "work_dir", "result_format"} & set(options)
    how = {"memory_budget": BUDGET} | {name: options.pop(name) for name in names}
    asked = {"n_clusters": 3, "method": "rise", "parameters": QUICK, **options}
    with output_folder(folder, overwrite=overwrite) as taken:
        found = cluster(replace(files, **how), folder=taken, progress=progress, **asked)
        replace(found, command=command).save(taken, progress=progress)
    return found


def interrupt(monkeypatch, stage):
    """Let fits stop with an error once a stage is saved; returns what undoes it."""
    from imvc.scale import _folder

    save = _folder.save_state

    def save_and_stop(path, value):
        save(path, value)
        if path.stem == stage:
            raise RuntimeError("power is off")

    monkeypatch.setattr(_folder, "save_state", save_and_stop)
    return lambda: monkeypatch.setattr(_folder, "save_state", save)


def test_a_run_is_shown_without_what_needs_all_samples(arrays, tmp_path):
    found = run(arrays, tmp_path / "out")
    assert "comes back" not in found._repr_html_()
    assert f"{max(found.sizes)}</td>" in found._repr_html_()
    assert list(found.to_frame()) == ["cluster"]
    np.testing.assert_array_equal(found.to_frame()["cluster"], found.labels)


@pytest.mark.parametrize("method", METHODS)
def test_labels_are_those_of_a_fit_in_memory(arrays, tmp_path, method):
    found = run(arrays, tmp_path / "out", method=method)
    Xs, mask = small_data()
    model = METHODS[method](3, random_state=0, **QUICK).fit(Xs, mask=mask)
    table = pd.read_parquet(tmp_path / "out" / "labels.parquet")
    assert found.summary()["blocks"] > 2
    assert table["id"].tolist() == list(range(len(mask)))
    np.testing.assert_array_equal(table["cluster"], model.labels_)
    Y = pd.read_parquet(tmp_path / "out" / "embedding.parquet").drop(columns="id")
    np.testing.assert_allclose(np.abs(Y), np.abs(model.embedding_), atol=1e-4)


def test_labels_of_parquet_files_come_with_the_ids_of_the_samples(tmp_path):
    Xs, mask = write_parquet(tmp_path)
    files = BlockFiles([tmp_path / "a", tmp_path / "b.parquet"], id_columns="patient")
    found = run(files, tmp_path / "out")
    table = pd.read_parquet(tmp_path / "out" / "labels.parquet").set_index("id")
    ids = np.array([f"p{i}" for i in range(len(mask))])
    frames = {
        "ab"[v]: pd.DataFrame(X[mask[:, v]], index=ids[mask[:, v]])
        for v, X in enumerate(Xs)
    }
    model = RISE(3, random_state=0, **QUICK).fit(frames)
    assert found.summary()["views"] == {"a": 6, "b": 5}
    labels = table["cluster"].loc[model.sample_ids_]
    np.testing.assert_array_equal(labels, model.labels_)


def test_without_a_number_of_clusters_one_is_suggested(arrays, tmp_path):
    found = run(arrays, tmp_path / "out", method="bridge", n_clusters=None)
    assert found.summary()["suggested"]
    assert found.summary()["n_clusters"] == 3


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_plain_arrays_have_their_ids_beside_them(tmp_path, kind):
    write_parquet(tmp_path)
    files = BlockFiles([tmp_path / "a", tmp_path / "b.parquet"], id_columns="patient")
    run(files, tmp_path / "out", result_format=kind)
    run(files, tmp_path / "table", result_format="csv")
    labels = tmp_path / "out" / f"labels.{kind}"
    labels = np.load(labels) if kind == "npy" else zarr.open(labels, mode="r")[:]
    ids = pd.read_csv(tmp_path / "out" / "ids.csv")["id"]
    table = pd.read_csv(tmp_path / "table" / "labels.csv")
    np.testing.assert_array_equal(table["id"], ids)
    np.testing.assert_array_equal(table["cluster"], labels)


def test_a_later_run_replaces_all_files_of_an_earlier_one(arrays, tmp_path):
    run(arrays, tmp_path / "out", result_format="zarr")
    with pytest.raises(ValueError, match=r"already holds results \(labels.zarr\)"):
        run(arrays, tmp_path / "out", result_format="npy")
    run(arrays, tmp_path / "out", result_format="npy", overwrite=True)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        *("embedding.npy", "labels.npy", "model.imvc", "run.json")
    ]


def test_a_run_in_memory_leaves_no_array_of_an_earlier_run(arrays, tmp_path):
    run(arrays, tmp_path / "out", result_format="zarr")
    Xs, mask = small_data()
    found = cluster(as_views(Xs, mask), n_clusters=3, method="rise", n_refits=0)
    found.save(tmp_path / "out", report=False, overwrite=True)
    assert not (tmp_path / "out" / "labels.zarr").exists()
    assert (tmp_path / "out" / "labels.csv").exists()


def test_without_a_folder_a_run_can_be_saved_afterwards(arrays, tmp_path):
    files = replace(arrays, memory_budget=BUDGET)
    found = cluster(files, n_clusters=3, method="rise", parameters=QUICK)
    assert found.out_of_core
    assert found.confidence is None
    with pytest.raises(ValueError, match="need all samples in memory"):
        found.to_report()
    written = found.save(tmp_path / "out")
    table = pd.read_parquet(written["labels.parquet"])
    np.testing.assert_array_equal(table["cluster"], found.columns()["cluster"])
    np.testing.assert_array_equal(table["id"], found.sample_ids)


def test_metadata_need_all_samples_in_memory(arrays, tmp_path):
    with pytest.raises(ValueError, match="metadata is for the report"):
        run(arrays, tmp_path / "out", metadata={"age": [1]})


def test_survival_needs_all_samples_in_memory(arrays, tmp_path):
    with pytest.raises(ValueError, match="survival needs all samples in memory"):
        run(arrays, tmp_path / "out", survival=("days", "event"))


def test_systems_that_do_not_tell_of_memory_leave_it_out(monkeypatch):
    def closed(*_):
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", closed)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory() is None


def test_the_record_has_files_seconds_memory_and_checksums(arrays, tmp_path):
    run(arrays, tmp_path / "out", result_format="zarr", command=["imvc", "cluster"])
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["command"] == ["imvc", "cluster"]
    assert record["data"]["views"][0]["path"] == str(tmp_path / "a.npy")
    assert record["request"]["out_of_core"]["memory_budget"] == BUDGET
    assert record["request"]["parameters"]["n_anchors"] == 20
    assert set(record["seconds"]) == {"open", "fit", "write"}
    assert record["fit_seconds"]["kmeans"] > 0
    assert record["peak_memory_bytes"] > 10**7
    assert record["outputs"]["embedding.zarr"]["bytes"] > 0
    assert len(record["outputs"]["model.imvc"]["sha256"]) == 64
    assert "numpy" in record["versions"]


def test_an_interrupted_run_goes_on_and_ends_the_same(arrays, tmp_path, monkeypatch):
    run(arrays, tmp_path / "whole")
    mend = interrupt(monkeypatch, "statistics")
    told = []
    with pytest.raises(RuntimeError, match="power is off"):
        run(arrays, tmp_path / "out", progress=lambda state: told.append(state.message))
    work = tmp_path / "out" / ".imvc-work"
    assert f"Finished stages are kept in {work}; the same command goes on" in told[-1]
    assert [file.name for file in (tmp_path / "out").iterdir()] == [".imvc-work"]
    mend()
    found = run(
        arrays, tmp_path / "out", progress=lambda state: told.append(state.message)
    )
    stages = ["survey", "values", "empty cells", "seeds", "anchors", "statistics"]
    assert found.summary()["resumed"] == stages
    assert any(text.startswith("going on with the run") for text in told)
    assert not work.exists()
    for name in ("labels.parquet", "embedding.parquet"):
        again, once = (tmp_path / folder / name for folder in ("out", "whole"))
        assert again.read_bytes() == once.read_bytes()


def test_stages_of_other_parameters_are_dropped_only_on_request(
    arrays, tmp_path, monkeypatch
):
    mend = interrupt(monkeypatch, "anchors")
    with pytest.raises(RuntimeError, match="power is off"):
        run(arrays, tmp_path / "out")
    mend()
    with pytest.raises(ValueError, match="unfinished run that differs in n_clusters"):
        run(arrays, tmp_path / "out", n_clusters=4)
    assert (tmp_path / "out" / ".imvc-work" / "anchors.state").exists()
    found = run(arrays, tmp_path / "out", n_clusters=4, overwrite=True)
    assert found.summary()["resumed"] == []
    assert found.summary()["n_clusters"] == 4


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param("{", id="cut"),
        pytest.param("3", id="number"),
        pytest.param("[" * 50_000, id="deep"),
        pytest.param('{"data": 3, "blocks": [[]]}', id="other kinds"),
    ],
)
def test_a_damaged_plan_of_an_unfinished_run_is_refused_by_name(
    arrays, tmp_path, monkeypatch, plan
):
    mend = interrupt(monkeypatch, "anchors")
    with pytest.raises(RuntimeError, match="power is off"):
        run(arrays, tmp_path / "out")
    mend()
    (tmp_path / "out" / ".imvc-work" / "plan.json").write_text(plan)
    told = []
    with pytest.raises(ValueError, match=r"\.imvc-work' .*plan.json is damaged"):
        run(arrays, tmp_path / "out", progress=lambda state: told.append(state.message))
    assert not [text for text in told if text and "goes on" in text]
    assert run(arrays, tmp_path / "out", overwrite=True).summary()["resumed"] == []


@pytest.mark.parametrize(
    "data",
    [
        *(3, None, {"views": 3}, {"views": [{"parts": 3}]}),
        *({"views": [{"parts": [3]}]}, {"path": [], "size": 1, "digest": "a"}),
    ],
)
def test_a_plan_about_other_kinds_of_data_is_that_of_another_run(
    arrays, tmp_path, monkeypatch, data
):
    mend = interrupt(monkeypatch, "anchors")
    with pytest.raises(RuntimeError, match="power is off"):
        run(arrays, tmp_path / "out")
    mend()
    work = tmp_path / "out" / ".imvc-work"
    plan, finished = read_plan(work)
    _write_plan(work, {**plan, "data": data}, finished)
    with pytest.raises(
        ValueError, match="holds an unfinished run that differs in data"
    ):
        run(arrays, tmp_path / "out")


def test_another_memory_budget_does_not_drop_finished_stages(
    arrays, tmp_path, monkeypatch
):
    mend = interrupt(monkeypatch, "anchors")
    with pytest.raises(RuntimeError, match="power is off"):
        run(arrays, tmp_path / "out")
    mend()
    with pytest.raises(ValueError, match="differs in blocks, data"):
        run(arrays, tmp_path / "out", memory_budget=40 * BUDGET)
    assert run(arrays, tmp_path / "out").summary()["resumed"]


def test_stages_of_files_that_have_changed_are_dropped(arrays, tmp_path, monkeypatch):
    mend = interrupt(monkeypatch, "anchors")
    with pytest.raises(RuntimeError, match="power is off"):
        run(arrays, tmp_path / "out")
    mend()
    Xs, _ = small_data()
    np.save(tmp_path / "a.npy", Xs[0] * 2)
    told = []
    found = run(
        arrays, tmp_path / "out", progress=lambda state: told.append(state.message)
    )
    assert found.summary()["resumed"] == []
    dropped = f"an unfinished run of files that have changed since, {tmp_path}/a.npy ("
    assert any(text.startswith(dropped) for text in told)


def test_bad_rows_are_named_and_finished_stages_are_kept(arrays, tmp_path):
    Xs, mask = small_data()
    row = int(np.flatnonzero(mask[:, 1])[-1])
    Xs[1][row, 2] = np.nan
    np.save(tmp_path / "b.npy", Xs[1])
    with pytest.raises(
        BlockError, match=f"b.npy, block .*, row {row}: partly NaN"
    ) as e:
        run(replace(arrays, empty_cells="error"), tmp_path / "out")
    assert "Finished stages are kept in" in str(e.value)
    assert (tmp_path / "out" / ".imvc-work" / "survey.state").exists()


@pytest.mark.parametrize("given", [None, "work"])
def test_a_run_that_cannot_start_leaves_nothing(arrays, tmp_path, given):
    work = None if given is None else tmp_path / given
    with pytest.raises(ValueError, match="n_clusters=5000 exceeds"):
        run(arrays, tmp_path / "out", n_clusters=5000, work_dir=work)
    left = sorted(file.name for file in tmp_path.iterdir())
    assert left == ["a.npy", "b.npy", "mask.npy"]


def test_a_folder_for_the_work_is_kept(arrays, tmp_path):
    run(arrays, tmp_path / "out", work_dir=tmp_path / "work")
    assert np.load(tmp_path / "work" / "labels.npy").shape == (1200,)
    found = run(arrays, tmp_path / "again", work_dir=tmp_path / "work")
    assert "labels" in found.summary()["resumed"]


@pytest.mark.parametrize("pattern", ["**/rows.npy", "graph/*", "labels.npy"])
def test_damage_in_the_folder_for_the_work_is_warned_of(tmp_path, pattern):
    write_parquet(tmp_path)
    files = BlockFiles([tmp_path / "a", tmp_path / "b.parquet"], id_columns="patient")
    run(files, tmp_path / "out", work_dir=tmp_path / "work")
    damaged = sorted((tmp_path / "work").glob(pattern))[0]
    content = bytearray(damaged.read_bytes())
    content[-30] ^= 1
    damaged.write_bytes(content)
    found = run(files, tmp_path / "again", work_dir=tmp_path / "work")
    assert [text for text in found.warnings if f"{damaged} is damaged" in text]
    again, once = (tmp_path / name / "labels.parquet" for name in ("again", "out"))
    assert again.read_bytes() == once.read_bytes()


def test_a_folder_for_the_work_that_found_no_room_is_named_itself(
    arrays, tmp_path, monkeypatch
):
    def fill_the_disk(rows, again=False):
        raise no_room(rows._path)

    monkeypatch.setattr(RowFile, "open", fill_the_disk)
    work = tmp_path / "work"
    with pytest.raises(OSError, match="free some space") as caught:
        run(arrays, tmp_path / "out", work_dir=work)
    assert Path(caught.value.filename).parent == work


def test_a_folder_of_somebody_elses_work_is_refused(arrays, tmp_path):
    run(arrays, tmp_path / "out", work_dir=tmp_path / "work")
    said = []
    with pytest.raises(ValueError, match="holds a run that differs in n_clusters"):
        run(
            *(arrays, tmp_path / "again"),
            n_clusters=4,
            work_dir=tmp_path / "work",
            overwrite=True,
            progress=lambda state: said.append(str(state.message)),
        )
    assert (tmp_path / "work" / "labels.npy").exists()
    assert not any("the same command goes on" in text for text in said)


def test_a_folder_of_other_files_stays_as_it_was(tmp_path):
    write_parquet(tmp_path)
    files = BlockFiles([tmp_path / "a", tmp_path / "b.parquet"], id_columns="patient")
    work = tmp_path / "mine"
    work.mkdir()
    (work / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"not empty \('thesis.txt' is in it\) and no"):
        run(files, tmp_path / "out", work_dir=work)
    assert [file.name for file in work.iterdir()] == ["thesis.txt"]
    assert not (tmp_path / "out").exists()


def test_results_and_unfinished_work_may_share_a_folder(arrays, tmp_path):
    run(arrays, tmp_path / "out", work_dir=tmp_path / "out")
    assert (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize("method", METHODS)
def test_the_model_keeps_few_samples_and_predicts_all(
    arrays, tmp_path, monkeypatch, method
):
    monkeypatch.setattr(_save, "_KEPT_SAMPLES", 50)
    run(arrays, tmp_path / "out", method=method)
    model = load_model(tmp_path / "out" / "model.imvc")
    assert len(model.embedding_) == len(model.labels_) == 50
    assert model.work_dir is None
    Xs, mask = small_data()
    table = pd.read_parquet(tmp_path / "out" / "labels.parquet")
    np.testing.assert_array_equal(model.predict(Xs, mask=mask), table["cluster"])


def test_an_embedding_in_a_file_is_not_copied_into_a_model_file(tmp_path):
    Xs, mask = small_data()
    model = RISE(3, random_state=0, work_dir=tmp_path / "work", **QUICK)
    model.fit(Xs, mask=mask).save(tmp_path / "model.imvc")
    assert isinstance(model.embedding_, np.memmap)
    with zipfile.ZipFile(tmp_path / "model.imvc") as archive:
        assert "attribute/embedding_.npy" not in archive.namelist()
    again = RISE.load(tmp_path / "model.imvc")
    np.testing.assert_array_equal(again.predict(Xs, mask=mask), model.labels_)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "ueaf"}, "method 'ueaf' needs all samples in memory; .* bridge"),
        ({"n_clusters": None}, "method 'rise' needs one number of clusters"),
        ({"parameters": {"memory_budget": 1}}, "has an argument of its own"),
        ({"parameters": {"nonsense": 1}}, "'rise' has no parameter 'nonsense'"),
        ({"result_format": "xlsx"}, "result_format='xlsx' must be one of parquet"),
        ({"memory_budget": "a lot"}, "memory_budget='a lot' is no size"),
    ],
)
def test_wrong_requests_are_told_before_anything_is_read(tmp_path, options, text):
    files = BlockFiles([tmp_path / "nowhere.npy"])
    with pytest.raises(ValueError, match=text):
        run(files, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (BlockFiles([]), "no files are given"),
        (BlockFiles(["x/a.npy", "y/a.zarr"]), r"have the names \['a', 'a'\]"),
        (BlockFiles(["a.npy"], id_columns="id"), "a.npy: has no column 'id' of ids"),
        (BlockFiles(["a.pq"], id_columns={"b": "id"}), "names the view 'b'.*: a"),
        (BlockFiles(["a.h5mu", "b.npy"]), "an .h5mu file has all views"),
    ],
)
def test_files_that_do_not_go_together_are_named(files, text):
    with pytest.raises(ValueError, match=text):
        files.views()


def test_columns_of_ids_are_found_by_view_or_by_file():
    files = BlockFiles(
        ["x/rna.parquet", "atac.pq", "cna.npy"],
        id_columns={"rna": "patient", "atac.pq": "sample"},
    )
    views = files.views()
    assert views["rna"].id_column == "patient"
    assert views["atac"].id_column == "sample"
    assert views["cna"] == "cna.npy"
