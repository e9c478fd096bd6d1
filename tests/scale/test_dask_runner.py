"""Dask: the same numbers as in memory, and what happens when parts of it die."""

import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest

from imvc import RISE, AnchorBridge
from imvc.datasets import make_views
from imvc.methods import anchor_model
from imvc.scale import (
    AnchorGraphs,
    BlockError,
    ParquetRows,
    ThreadRunner,
    open_runner,
    row_statistics,
)
from imvc.scale._source import ViewsSource
from imvc.views import as_views

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from dask.sizeof import sizeof  # noqa: E402

from imvc.scale import _dask_runner, _worker_memory  # noqa: E402
from imvc.scale._dask_runner import DaskRunner  # noqa: E402
from imvc.scale._dask_source import DaskSource  # noqa: E402
from imvc.scale._dask_tasks import add_pairwise  # noqa: E402
from imvc.scale._folder import RunFolder  # noqa: E402
from imvc.scale._worker_memory import (  # noqa: E402
    WorkerMemory,
    block_budget_of_workers,
)

N = 1300


@pytest.fixture(scope="module")
def client():
    """Two single-thread workers in processes of their own."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    """Views with a pattern in few rows, and a view that the first 300 rows lack."""
    made = make_views(n_samples=N, n_clusters=3, incomplete=0.4, random_state=0)
    mask = made.mask.copy()
    mask[:300, 2] = False
    mask[:300, 0] |= ~mask[:300].any(axis=1)
    mask[:, 1] |= (~mask[:, :2].any(axis=1)) & mask[:, 2]
    mask[700:709] = [False, False, True]
    Xs = [np.where(seen[:, None], X, np.nan) for X, seen in zip(made.Xs, mask.T)]
    return Xs, mask


CHUNKS = {
    "odd": [(301, 399, 600)] * 3,
    "differing": [(650, 650), (130,) * 10, (1, 1299)],
    "an empty one": [(300, 0, 401, 599)] * 3,
}


def dask_views(Xs, chunks):
    return [
        da.from_array(X, chunks=(own, max(X.shape[1] // 2, 1)))
        for X, own in zip(Xs, chunks)
    ]


def fetch(client, array):
    """Values of a Dask array on this cluster, which is not the default one."""
    return client.compute(array).result()


def small(method, **options):
    return method(n_clusters=3, n_anchors=20, n_init=3, random_state=0, **options)


@pytest.fixture(scope="module")
def in_memory(data):
    Xs, mask = data
    return {m: small(m).fit(Xs, mask=mask) for m in (RISE, AnchorBridge)}


@pytest.fixture
def files(data, tmp_path):
    """The views as .npy and zarr files, and the mask."""
    zarr = pytest.importorskip("zarr")
    Xs, mask = data
    np.save(tmp_path / "first.npy", Xs[0])
    np.save(tmp_path / "mask.npy", mask)
    for name, X in zip(("second.zarr", "third.zarr"), Xs[1:]):
        store = zarr.create_array(
            store=str(tmp_path / name), shape=X.shape, dtype=X.dtype, chunks=(130, 4)
        )
        store[:] = X
    names = ("first.npy", "second.zarr", "third.zarr")
    return [str(tmp_path / name) for name in names], str(tmp_path / "mask.npy")


@pytest.mark.parametrize(
    ("chunks", "masked"), [("odd", True), ("differing", False), ("an empty one", False)]
)
def test_rise_on_dask_arrays_equals_rise_in_memory(
    client, data, in_memory, chunks, masked
):
    Xs, mask = data
    model = small(RISE).fit(
        dask_views(Xs, CHUNKS[chunks]), mask=mask if masked else None, client=client
    )
    expected = in_memory[RISE]
    assert np.array_equal(fetch(client, model.labels_), expected.labels_)
    np.testing.assert_allclose(
        fetch(client, model.embedding_), expected.embedding_, atol=1e-10
    )
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-10)


def test_a_batch_needs_labels_in_memory(client, data):
    Xs, mask = data
    views = dask_views(Xs, CHUNKS["an empty one"])
    with pytest.raises(ValueError, match=r"batch needs labels in memory.*column_leak"):
        small(RISE).fit(views, mask=mask, client=client, batch=np.arange(len(mask)) % 2)
    with pytest.raises(ValueError, match=r"batch has shape \(2,\)"):
        small(RISE).fit(views, mask=mask, batch=["a", "b"])


def test_bridge_on_dask_arrays_equals_bridge_in_memory(client, data, in_memory):
    Xs, mask = data
    model = small(AnchorBridge).fit(
        dask_views(Xs, CHUNKS["an empty one"]), mask=da.from_array(mask), client=client
    )
    assert np.array_equal(fetch(client, model.labels_), in_memory[AnchorBridge].labels_)


@pytest.mark.parametrize("method", [RISE, AnchorBridge])
def test_fit_on_files_equals_fit_in_memory(client, files, in_memory, method):
    paths, mask = files
    model = small(method, memory_budget="2MiB").fit(paths, mask=mask, client=client)
    assert np.array_equal(fetch(client, model.labels_), in_memory[method].labels_)


@pytest.mark.parametrize("method", [RISE, AnchorBridge])
def test_files_with_ids_in_another_order_equal_a_fit_in_memory(
    client, data, tmp_path, method
):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    ids, order = np.array([f"p{i}" for i in range(N)]), np.random.RandomState(0)
    frames, mixed = {}, {}
    for name, X, seen in zip("abc", data[0], data[1].T):
        frames[name] = pd.DataFrame(X[seen], index=ids[seen]).add_prefix(name)
        mixed[name] = frames[name].sample(frac=1, random_state=order)
        path = tmp_path / f"{name}.parquet"
        mixed[name].rename_axis("id").reset_index().to_parquet(path, index=False)
    files = {name: ParquetRows(tmp_path / f"{name}.parquet", "id") for name in "cab"}
    model = small(method, memory_budget="2MiB", work_dir=tmp_path / "work")
    model.fit(files, client=client)
    labels = fetch(client, model.labels_)
    found = as_views({name: mixed[name] for name in "cab"}).sample_ids
    expected = small(method).fit(frames)
    expected = pd.Series(expected.labels_, expected.sample_ids_)
    np.testing.assert_array_equal(labels, expected.loc[found])


def test_components_of_dask_arrays_equal_those_in_memory(client):
    made = make_views(n_samples=400, n_clusters=2, incomplete=0, random_state=0)
    mask = np.zeros((400, 3), bool)
    mask[:150, :2], mask[150:, 2] = True, True
    expected = small(AnchorBridge).fit(made.Xs, mask=mask)
    views = [da.from_array(X, chunks=(171, -1)) for X in made.Xs]
    model = small(AnchorBridge).fit(views, mask=mask, client=client)
    assert len(model.component_views_) == 2
    assert np.array_equal(fetch(client, model.labels_), expected.labels_)


def test_results_are_dask_arrays_chunked_like_the_data(client, data):
    Xs, mask = data
    views = dask_views(Xs, CHUNKS["odd"])
    model = small(RISE).fit(views, mask=mask, client=client)
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.chunks == (CHUNKS["odd"][0],)
    assert model.embedding_.chunks == (CHUNKS["odd"][0], (3,))


def test_new_samples_are_predicted_where_the_current_client_is(client, data, in_memory):
    Xs, mask = data
    model, new = in_memory[RISE], [X[:200] for X in Xs[:2]]
    views = {f"view{v}": da.from_array(X, chunks=(77, -1)) for v, X in enumerate(new)}
    with client.as_current():
        labels = model.predict(views, mask=mask[:200, :2])
    expected = model.predict([*new, None], mask=np.c_[mask[:200, :2], [False] * 200])
    assert isinstance(labels, da.Array)
    assert np.array_equal(fetch(client, labels), expected)


def test_dask_arrays_need_no_cluster(data, in_memory):
    Xs, mask = data
    model = small(RISE).fit(dask_views(Xs, CHUNKS["odd"]), mask=mask)
    assert np.array_equal(model.labels_, in_memory[RISE].labels_)


def graphs_of(Xs):
    anchors = [np.nan_to_num(X[5:25]) + v for v, X in enumerate(Xs)]
    return AnchorGraphs(anchors, [None] * len(Xs), None, 3, True)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_statistics_equal_those_of_threads(client, data, chunks):
    Xs, mask = data
    graphs = graphs_of(Xs)
    function = partial(row_statistics, sizes=graphs.sizes)
    runners = (
        ThreadRunner(ViewsSource(as_views(Xs, mask)), map),
        DaskRunner(DaskSource(dask_views(Xs, chunks), mask), client, map),
    )
    found = [
        runner.total(
            "statistics", function, runner.keep("graph", graphs, runner.blocks)
        )
        for runner in runners
    ]
    assert found[0].patterns == found[1].patterns
    for p in found[0].patterns:
        expected, got = (grams.groups[p].dense() for grams in found)
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_sums_do_not_depend_on_how_blocks_form_pieces(client, data):
    X = np.nan_to_num(data[0][0])
    source = DaskSource([da.from_array(X, chunks=(50, -1))])
    found = []
    for piece in (1, 2, 8):
        runner = DaskRunner(source, client, map, piece=piece)
        kept = runner.keep("rows", first_rows, runner.blocks)
        found.append(runner.total(None, column_sums, kept))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def first_rows(views):
    return views.observed(0)


def column_sums(X):
    return X.sum(axis=0)


def test_pairwise_sums_of_aligned_runs_are_the_same_sums():
    values = np.random.default_rng(0).normal(size=37) * 10.0 ** np.arange(37)
    runs = [add_pairwise(values[i : i + 8]) for i in range(0, 37, 8)]
    assert add_pairwise(runs) == add_pairwise(values)


def test_nothing_of_the_size_of_the_data_comes_or_goes(client, tmp_path, monkeypatch):
    n = 60_000
    made = make_views(
        n_samples=n, n_clusters=2, n_features=(4, 4), incomplete=0.3, random_state=0
    )
    paths = []
    for v, X in enumerate(made.Xs):
        paths.append(str(tmp_path / f"{v}.npy"))
        np.save(paths[-1], X)
    np.save(tmp_path / "mask.npy", made.mask)
    came, went = [], []
    gather, dumps = client.gather, _dask_runner._dumps

    def counting_gather(futures):
        result = gather(futures)
        came.append(sizeof(result))
        return result

    def counting_dumps(value):
        data = dumps(value)
        went.append(len(data))
        return data

    monkeypatch.setattr(client, "gather", counting_gather)
    monkeypatch.setattr(_dask_runner, "_dumps", counting_dumps)
    RISE(n_clusters=2, n_init=1, random_state=0, memory_budget="4MiB").fit(
        paths, mask=str(tmp_path / "mask.npy"), client=client
    )
    # Two numbers a sample at most; the size of a list is an estimate of Dask's.
    assert 0 < max(came) < n * 16
    assert 0 < max(went) < n * 8


def kill_worker_with(client, stage):
    """SIGKILL, as by the kernel when memory is out, of one that keeps results."""
    held = [who for key, who in client.who_has().items() if stage in str(key) and who]
    pids = client.run(os.getpid)
    os.kill(pids[held[0][0]], signal.SIGKILL)


def test_what_a_killed_worker_kept_is_made_again(client, files, in_memory):
    """Killed after the statistics, when each worker keeps graph rows."""
    killed = []

    def callback(iteration, objective):
        if not killed:
            killed.append(iteration)
            kill_worker_with(client, "graph")

    paths, mask = files
    model = small(RISE, callback=callback, memory_budget="2MiB")
    model.fit(paths, mask=mask, client=client)
    assert killed
    assert np.array_equal(fetch(client, model.labels_), in_memory[RISE].labels_)


def wait_at(X, folder, block_info=None):
    """A chunk that waits, when it is first read for the graph, to be killed."""
    if block_info[0]["chunk-location"][0] == 1 and not os.path.exists(folder / "done"):
        with open(folder / "reads", "a") as file:
            file.write(".")
        if os.path.getsize(folder / "reads") == 2:  # first: anchors, second: graph
            (folder / "pid").write_text(str(os.getpid()))
            while not os.path.exists(folder / "done"):
                time.sleep(0.01)
    return X


def test_a_task_whose_worker_is_killed_runs_elsewhere(
    client, data, in_memory, tmp_path
):
    Xs, mask = data
    views = [da.from_array(X, chunks=((301, 399, 600), -1)) for X in Xs]
    views[0] = views[0].map_blocks(wait_at, folder=tmp_path, dtype=Xs[0].dtype)
    killed = []

    def kill():
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            if (tmp_path / "done").exists():
                return
            time.sleep(0.01)
        killed.append(int((tmp_path / "pid").read_text()))
        os.kill(killed[0], signal.SIGKILL)
        (tmp_path / "done").touch()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        model = small(RISE).fit(views, mask=mask, client=client)
    finally:
        (tmp_path / "done").touch()
        thread.join()
    assert killed
    assert np.array_equal(fetch(client, model.labels_), in_memory[RISE].labels_)


@pytest.fixture
def own_cluster():
    """A small cluster that a test may break."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        yield cluster


def lose_scheduler(cluster, files, **options):
    """A fit whose scheduler goes away before the embedding."""
    paths, mask = files
    with distributed.Client(cluster, set_as_default=False) as client:

        def callback(iteration, objective):
            cluster.close()

        small(RISE, callback=callback, **options).fit(paths, mask=mask, client=client)


def test_a_lost_scheduler_is_told_with_what_was_saved(own_cluster, files, tmp_path):
    with pytest.raises(RuntimeError, match=r"scheduler was lost.*saved in work_dir=.*"):
        lose_scheduler(own_cluster, files, work_dir=tmp_path / "work")


def test_a_lost_scheduler_without_work_dir_says_that_nothing_was_saved(
    own_cluster, files
):
    with pytest.raises(RuntimeError, match=r"scheduler was lost.*Nothing was saved"):
        lose_scheduler(own_cluster, files)


def test_a_fit_goes_on_from_the_stages_of_a_lost_cluster(
    own_cluster, client, files, in_memory, tmp_path, monkeypatch
):
    options = {"work_dir": tmp_path / "work"}
    with pytest.raises(RuntimeError, match="scheduler was lost"):
        lose_scheduler(own_cluster, files, **options)

    def not_again(*args, **kwargs):
        raise AssertionError("the anchors were chosen again")

    monkeypatch.setattr(anchor_model, "choose_anchors", not_again)
    paths, mask = files
    model = small(RISE, **options).fit(paths, mask=mask, client=client)
    assert np.array_equal(fetch(client, model.labels_), in_memory[RISE].labels_)


def test_a_finished_run_is_read_from_its_folder_without_a_task(
    client, files, tmp_path, monkeypatch
):
    paths, mask = files
    options = {"work_dir": tmp_path / "work"}
    first = small(RISE, **options).fit(paths, mask=mask, client=client)

    def no_task(*args, **kwargs):
        raise AssertionError("something was computed again")

    monkeypatch.setattr(client, "compute", no_task)
    again = small(RISE, **options).fit(paths, mask=mask, client=client)
    labels = again.labels_.compute(scheduler="synchronous")
    assert np.array_equal(labels, first.labels_.compute(scheduler="synchronous"))


@pytest.mark.parametrize("name", ["labels.stack/1.npy", "labels.stack/info"])
def test_damaged_results_in_a_work_dir_are_made_again(
    client, files, in_memory, tmp_path, name
):
    paths, mask = files
    options = {"work_dir": tmp_path / "work", "memory_budget": "2MiB"}
    small(RISE, **options).fit(paths, mask=mask, client=client)
    file = tmp_path / "work" / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = small(RISE, **options).fit(paths, mask=mask, client=client)
    told = [str(w.message) for w in caught if str(tmp_path) in str(w.message)]
    # What Dask asks of the folder is written by every run.
    assert len(told) == ("info" not in name)
    assert all(f"{file} is damaged" in text for text in told)
    assert np.array_equal(fetch(client, again.labels_), in_memory[RISE].labels_)


def test_results_in_a_work_dir_outlive_the_cluster(
    own_cluster, files, in_memory, tmp_path
):
    paths, mask = files
    with distributed.Client(own_cluster, set_as_default=False) as client:
        model = small(RISE, work_dir=tmp_path / "work")
        model.fit(paths, mask=mask, client=client)
    own_cluster.close()
    labels = model.labels_.compute(scheduler="synchronous")
    assert np.array_equal(labels, in_memory[RISE].labels_)


def test_workers_with_too_little_memory_are_refused_with_what_they_need(files):
    paths, mask = files
    with (
        distributed.LocalCluster(
            1, 1, processes=False, memory_limit="100MB", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(
            MemoryError, match=r"limit of 100 MB.*at least \d+ MB \(--memory"
        ),
    ):
        small(RISE).fit(paths, mask=mask, client=client)


def test_methods_say_how_much_room_they_need_on_a_worker(client, monkeypatch):
    """RISE runs on workers of 300 MB, where Dask leaves 32 MB to a fit."""
    worker = WorkerMemory(300 * 10**6, 0.8, resident=208 * 10**6, threads=1)
    monkeypatch.setattr(_worker_memory, "_ask", lambda client: [worker])
    assert block_budget_of_workers(client) == 2 * 32 * 10**6 // 3
    with pytest.raises(MemoryError, match=r"limit of 300 MB.*at least 323 MB"):
        block_budget_of_workers(client, least_room=AnchorBridge._worker_room)


def pause(cluster):
    """Let Dask pause the only worker as if it were short of memory."""
    (worker,) = cluster.workers.values()
    worker.memory_manager.memory_pause_fraction = 1e-9
    while cluster.scheduler.workers[worker.address].status.name != "paused":
        time.sleep(0.01)


@pytest.mark.parametrize("when", ["before", "in a stage"])
def test_workers_that_stay_paused_end_a_fit_with_what_to_do(
    own_cluster, files, monkeypatch, tmp_path, when
):
    monkeypatch.setattr(_worker_memory, "_PATIENCE", 0.6)  # of a heartbeat or more
    paths, mask = files
    message = r"workers are paused.*memory limit of \d+ MB.*memory_budget.*chunks"
    model = small(RISE, work_dir=tmp_path / "work")
    if when == "before":
        pause(own_cluster)
    else:
        model.set_params(callback=lambda *_: pause(own_cluster))
        message = rf"stage 'embedding': {message}.*saved in work_dir="
    with (
        distributed.Client(own_cluster, set_as_default=False) as client,
        pytest.raises(MemoryError, match=message),
    ):
        model.fit(paths, mask=mask, client=client)


def test_a_worker_that_is_paused_for_a_while_is_waited_for(
    own_cluster, files, in_memory, monkeypatch
):
    """Gone on with at the second look."""
    looks, look = [], _worker_memory._idle_if_paused

    def resume_later(client):
        seen = look(client)
        looks.append(seen)
        if seen is not None:
            (worker,) = own_cluster.workers.values()
            worker.memory_manager.memory_pause_fraction = 0.99
        return {"of look": len(looks)}

    monkeypatch.setattr(_worker_memory, "_PATIENCE", 0.05)
    monkeypatch.setattr(_worker_memory, "_idle_if_paused", resume_later)
    pause(own_cluster)
    paths, mask = files
    with distributed.Client(own_cluster, set_as_default=False) as client:
        model = small(RISE).fit(paths, mask=mask, client=client)
        assert np.array_equal(fetch(client, model.labels_), in_memory[RISE].labels_)
    assert any(seen is not None for seen in looks)


def test_a_run_that_goes_on_keeps_its_blocks_whatever_the_workers(client, tmp_path):
    first = block_budget_of_workers(client, "64MiB", tmp_path)
    assert first == 64 * 2**20
    RunFolder(tmp_path, {"worker_budget": 12345678}).release()
    assert block_budget_of_workers(client, "64MiB", tmp_path) == 12345678
    assert block_budget_of_workers(client, None, tmp_path) == 12345678


def test_bad_rows_are_named_by_view_block_and_row(client, data):
    Xs, _ = data
    X = Xs[1].copy()
    X[900] = 1.0
    X[900, 1] = np.nan
    views = dask_views([Xs[0], X, Xs[2]], [(301, 399, 600)] * 3)
    with pytest.raises(BlockError, match=r"view 'view1', block 2, row 900: partly NaN"):
        small(RISE).fit(views, client=client)


def test_a_row_of_nan_that_the_mask_calls_observed_is_named(client, data):
    Xs, mask = data
    mask = mask.copy()
    row = int(np.flatnonzero(~mask[:, 0])[-1])
    mask[row, 0] = True
    views = dask_views(Xs, CHUNKS["odd"])
    with pytest.raises(BlockError, match=rf"view 'view0', block 2, row {row}: all NaN"):
        small(RISE).fit(views, mask=mask, client=client)


def test_chunks_of_unknown_size_are_refused(data):
    X = da.from_array(data[0][0], chunks=(300, -1))
    unknown = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match=r"unknown size; call X.compute_chunk_sizes"):
        DaskSource([unknown])


def test_views_in_memory_are_not_sent_to_a_cluster(client, data):
    Xs, mask = data
    with pytest.raises(ValueError, match=r"leave client out, or pass Dask arrays"):
        small(RISE).fit(Xs, mask=mask, client=client)


def test_arrays_in_memory_beside_dask_arrays_are_refused(data):
    Xs, _ = data
    with pytest.raises(TypeError, match=r"view 'view1' is a numpy ndarray beside Dask"):
        DaskSource([da.from_array(Xs[0]), Xs[1]])


def test_views_of_different_length_are_refused(data):
    Xs, _ = data
    with pytest.raises(
        ValueError, match=r"different numbers of samples.*'view1': 1200"
    ):
        DaskSource([da.from_array(Xs[0]), da.from_array(Xs[1][:1200])])


def test_a_closed_client_is_refused(own_cluster, data):
    client = distributed.Client(own_cluster, set_as_default=False)
    client.close()
    with (
        pytest.raises(ValueError, match=r"client is closed; connect to a cluster"),
        open_runner(dask_views(data[0], CHUNKS["odd"]), client=client),
    ):
        pass


@pytest.mark.parametrize("method", [RISE, AnchorBridge])
def test_a_model_fitted_on_a_cluster_is_saved_without_its_samples(
    client, data, files, in_memory, method, tmp_path
):
    paths, mask = files
    model = small(method).fit(paths, mask=mask, client=client)
    model.save(tmp_path / "model.imvc")
    loaded = method.load(tmp_path / "model.imvc")
    assert not hasattr(loaded, "labels_")
    found = loaded.predict(data[0], mask=data[1])
    np.testing.assert_array_equal(found, in_memory[method].labels_)
    with pytest.raises(ValueError, match="fitted on a cluster"):
        loaded.update(data[0], mask=data[1])


@pytest.mark.parametrize("given", ["arrays", "files"])
def test_a_fit_that_learns_from_a_sample_equals_that_in_memory(
    client, data, files, given, tmp_path
):
    Xs, mask = data
    views, folder = dask_views(Xs, CHUNKS["odd"]), None
    if given == "files":
        views, mask_given, folder = files[0], files[1], tmp_path / "work"
    else:
        mask_given = mask
    expected = small(RISE, learn_sample=700).fit(Xs, mask=mask)
    model = small(RISE, learn_sample=700, work_dir=folder, memory_budget="2MiB")
    model.fit(views, mask=mask_given, client=client)
    assert np.array_equal(fetch(client, model.labels_), expected.labels_)
    assert np.array_equal(fetch(client, model.embedding_), expected.embedding_)
    assert model.inertia_ == pytest.approx(expected.inertia_)
    assert model.pattern_leakage_ == pytest.approx(expected.pattern_leakage_)
    with pytest.warns(UserWarning, match="of the new samples only"):
        model.update(Xs, mask=mask)
    assert len(model.labels_) == len(mask)
