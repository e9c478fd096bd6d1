"""Files that change under a fit that reads them by blocks, or before it goes on."""

import json
import os

import numpy as np
import pytest

from changing_files import WAYS, append, rewrite, touch
from imvc import RISE
from imvc.datasets import make_views
from imvc.io import InputError
from imvc.scale import ChangedFileError, ObservedRows

DATA = make_views(300, (8, 6), 3, random_state=0)
FRESH = {"n_anchors": 20, "n_init": 2, "n_jobs": 1, "random_state": 0}


def write_npy(folder):
    """Paths of the views, and the file to change."""
    paths = [folder / f"{v}.npy" for v in range(2)]
    for path, X in zip(paths, DATA.Xs):
        np.save(path, X)
    return paths, paths[1]


def write_zarr(folder):
    zarr = pytest.importorskip("zarr")
    for v, X in enumerate(DATA.Xs):
        store = str(folder / f"{v}.zarr")
        array = zarr.create_array(store, shape=X.shape, dtype=X.dtype, chunks=(70, 8))
        array[:] = X
    return [folder / "0.zarr", folder / "1.zarr"], folder / "1.zarr" / "c" / "2" / "0"


def frames():
    import pandas as pd

    ids = pd.Index([f"p{i:03d}" for i in range(300)], name="id")
    return [
        pd.DataFrame(X, ids, [f"x{v}{j}" for j in range(X.shape[1])])
        for v, X in enumerate(DATA.Xs)
    ]


def write_parquet(folder):
    pytest.importorskip("pyarrow")
    one, two = frames()
    one.to_parquet(folder / "0.parquet")
    (folder / "1").mkdir()
    two[:200].to_parquet(folder / "1" / "a.parquet")
    two[200:].to_parquet(folder / "1" / "b.parquet")
    return [folder / "0.parquet", folder / "1"], folder / "1" / "b.parquet"


def write_h5ad(folder):
    anndata = pytest.importorskip("anndata")
    paths = [folder / f"{v}.h5ad" for v in range(2)]
    for path, table in zip(paths, frames()):
        anndata.AnnData(table).write_h5ad(path)
    return paths, paths[1]


WRITERS = {
    "npy": write_npy,
    "zarr": write_zarr,
    "parquet": write_parquet,
    "h5ad": write_h5ad,
}


@pytest.fixture(params=WRITERS)
def stored(request, tmp_path):
    return WRITERS[request.param](tmp_path)


@pytest.fixture
def arrays(tmp_path):
    return write_npy(tmp_path)


def in_between(change):
    """A callback that does something once, between the passes of a fit."""
    left = [change]
    return lambda *_: left.pop()() if left else None


def named(path):
    """How an error calls a file, or the zarr array that it is a chunk of."""
    return path.parents[2].name if path.parent.name == "2" else path.name


@pytest.mark.parametrize(("change", "text"), WAYS)
def test_a_file_that_changes_during_a_fit_is_named(stored, change, text):
    paths, file = stored
    model = RISE(3, callback=in_between(lambda: change(file)), **FRESH)
    with pytest.raises(ChangedFileError, match=rf"{named(file)}: changed .*\({text}"):
        model.fit(paths)
    assert not hasattr(model, "labels_")


def test_a_file_that_is_only_touched_does_not_stop_a_fit(stored):
    paths, file = stored
    expected = RISE(3, **FRESH).fit(paths).labels_
    model = RISE(3, callback=in_between(lambda: touch(file)), **FRESH).fit(paths)
    np.testing.assert_array_equal(model.labels_, expected)


def test_a_file_that_is_removed_during_a_fit_is_named(arrays):
    paths, file = arrays
    model = RISE(3, callback=in_between(file.unlink), **FRESH)
    with pytest.raises(InputError, match=r"1\.npy: cannot be read any more"):
        model.fit(paths)


def test_a_file_that_is_cut_during_a_fit_is_named_as_changed(arrays):
    """The pass that places all samples finds its end too early."""
    paths, file = arrays
    cut = in_between(lambda: os.truncate(file, 500))
    model = RISE(3, learn_sample=200, callback=cut, **FRESH)
    model.set_params(n_clusters=1)  # learns from 200 samples at least for each
    with pytest.raises(ChangedFileError, match=r"1\.npy: .* size .* to 500 bytes"):
        model.fit(paths)


@pytest.mark.parametrize("name", ["mask.npy", "rows.npy"])
def test_masks_and_numbers_of_rows_are_watched_as_well(arrays, tmp_path, name):
    paths, _ = arrays
    np.save(tmp_path / "rows.npy", np.arange(300))
    np.save(tmp_path / "mask.npy", np.ones((300, 2), bool))
    views = [paths[0], ObservedRows(paths[1], tmp_path / "rows.npy")]
    model = RISE(3, callback=in_between(lambda: rewrite(tmp_path / name)), **FRESH)
    with pytest.raises(ChangedFileError, match=rf"{name}: changed"):
        model.fit(views, mask=tmp_path / "mask.npy")


def test_a_file_that_changes_under_a_prediction_is_named(arrays, monkeypatch):
    paths, file = arrays
    model = RISE(3, **FRESH).fit(paths)
    place = model._place

    def change_and_place():
        rewrite(file)
        return place()

    monkeypatch.setattr(model, "_place", change_and_place)
    with pytest.raises(ChangedFileError, match=r"1\.npy: changed"):
        model.predict(paths)


def test_a_file_that_changes_under_an_update_leaves_the_model(arrays, monkeypatch):
    paths, file = arrays
    model = RISE(3, **FRESH).fit(DATA.Xs)
    statistics = model._statistics

    def change_and_add_up(*given):
        rewrite(file)
        return statistics(*given)

    monkeypatch.setattr(model, "_statistics", change_and_add_up)
    with pytest.raises(ChangedFileError, match=r"1\.npy: changed"):
        model.update(paths)
    assert len(model.labels_) == 300


class TestWorkFolder:
    def fit(self, paths, folder, change=None, **options):
        callback = None if change is None else in_between(change)
        model = RISE(3, work_dir=folder, callback=callback, **FRESH)
        return model.set_params(**options).fit(paths)

    @pytest.mark.parametrize(("change", "text"), WAYS)
    def test_a_file_that_changed_since_is_named(self, stored, tmp_path, change, text):
        paths, file = stored
        self.fit(paths, tmp_path / "work")
        plan = (tmp_path / "work" / "plan.json").read_bytes()
        change(file)
        text = rf"work_dir=.* begun with another .*{named(file)} \({text}.*put the old"
        # Parquet files of which the end is another are none.
        with pytest.raises(ValueError, match=f"{text}|cannot be read as a Parquet"):
            self.fit(paths, tmp_path / "work")
        assert (tmp_path / "work" / "plan.json").read_bytes() == plan

    def test_a_file_that_was_only_touched_goes_on(self, stored, tmp_path):
        paths, file = stored
        first = self.fit(paths, tmp_path / "work")
        states = sorted((tmp_path / "work").glob("*.state"))
        before = [state.stat().st_mtime_ns for state in states]
        touch(file)
        again = self.fit(paths, tmp_path / "work")
        np.testing.assert_array_equal(first.labels_, again.labels_)
        assert [state.stat().st_mtime_ns for state in states] == before

    def test_other_parameters_are_named_before_the_files(self, arrays, tmp_path):
        paths, file = arrays
        self.fit(paths, tmp_path / "work")
        rewrite(file)
        with pytest.raises(ValueError, match="differs in beta, data"):
            self.fit(paths, tmp_path / "work", beta=3.0)

    def test_stages_of_a_changing_file_are_dropped(self, arrays, tmp_path):
        """With the old file back they would pass for what they are not."""
        paths, file = arrays
        with pytest.raises(ChangedFileError, match=r"1\.npy: changed"):
            self.fit(paths, tmp_path / "work", lambda: rewrite(file))
        assert [left.name for left in (tmp_path / "work").iterdir()] == [".lock"]
        self.fit(paths, tmp_path / "work")

    def test_stages_of_a_removed_file_are_kept(self, arrays, tmp_path):
        """What was read of it before is sound."""
        paths, file = arrays
        aside = tmp_path / "aside"
        with pytest.raises(InputError, match=r"1\.npy: cannot be read any more"):
            self.fit(paths, tmp_path / "work", lambda: file.rename(aside))
        assert (tmp_path / "work" / "statistics.state").exists()
        aside.rename(file)
        self.fit(paths, tmp_path / "work")

    def test_the_plan_has_the_stamps(self, arrays, tmp_path):
        paths, file = arrays
        self.fit(paths, tmp_path / "work")
        plan = json.loads((tmp_path / "work" / "plan.json").read_text())
        view = plan["plan"]["data"]["views"][1]
        assert view["path"] == str(file)
        assert view["size"] == file.stat().st_size
        assert len(view["digest"]) == 32


def test_a_file_that_changes_under_dask_workers_is_named(arrays, tmp_path):
    distributed = pytest.importorskip("distributed")
    paths, file = arrays
    model = RISE(3, callback=in_between(lambda: append(file)), **FRESH)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ChangedFileError, match=r"1\.npy: changed while it was read"),
    ):
        model.fit([str(path) for path in paths], client=client)
