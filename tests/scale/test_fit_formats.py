"""RISE and AnchorBridge on every kind of file: what a fit in memory gives."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from imvc import RISE, AnchorBridge
from imvc.datasets import make_views
from imvc.scale import Blocks, ObservedRows

METHODS = [RISE, AnchorBridge]


@pytest.fixture(scope="module")
def data():
    return make_views(300, (8, 6), 3, incomplete=0.5, random_state=0)


@pytest.fixture(scope="module")
def in_memory(data):
    return {m: m(3, random_state=0).fit(data.Xs, mask=data.mask) for m in METHODS}


@pytest.fixture(params=METHODS, ids=["rise", "bridge"])
def method(request):
    return request.param


def hidden(data):
    """The views with NaN where samples are missing."""
    return [np.where(seen[:, None], X, np.nan) for X, seen in zip(data.Xs, data.mask.T)]


def test_zarr_arrays_and_their_paths(method, data, in_memory, tmp_path):
    zarr = pytest.importorskip("zarr")
    arrays = []
    for v, X in enumerate(hidden(data)):
        store = tmp_path / f"{v}.zarr"
        arrays.append(
            zarr.create_array(
                store=str(store), shape=X.shape, dtype=X.dtype, chunks=(70, 3)
            )
        )
        arrays[-1][:] = X
    for Xs in (arrays, [str(tmp_path / "0.zarr"), tmp_path / "1.zarr"]):
        model = method(3, random_state=0).fit(Xs)
        np.testing.assert_array_equal(model.labels_, in_memory[method].labels_)


def test_folders_of_parquet_parts_joined_by_id(method, data, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    from pyarrow import parquet

    frames = []
    for v, (X, seen) in enumerate(zip(data.Xs, data.mask.T)):
        rows = np.flatnonzero(seen)
        ids = [f"s{i:03d}" for i in rows]
        frames.append(pd.DataFrame(X[rows], index=ids).add_prefix("f"))
        folder = tmp_path / f"view{v}"
        folder.mkdir()
        for j, part in enumerate(np.array_split(np.arange(len(rows)), 4)):
            table = frames[-1].iloc[part].rename_axis("id").reset_index()
            parquet.write_table(
                pa.Table.from_pandas(table), folder / f"part-{j}.parquet"
            )
    found = method(3, random_state=0).fit([tmp_path / "view0", tmp_path / "view1"])
    joined = method(3, random_state=0).fit(frames)
    np.testing.assert_array_equal(found.labels_, joined.labels_)


@pytest.mark.parametrize("form", ["path", "backed"])
def test_h5ad_files(method, data, tmp_path, form):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    paths, tables = [], []
    for v, (X, seen) in enumerate(zip(data.Xs, data.mask.T)):
        rows = np.flatnonzero(seen)
        sparse = sp.csr_matrix(np.where(np.abs(X[rows]) > 0.4, X[rows], 0))
        names = pd.DataFrame(index=[f"c{i}" for i in rows])
        tables.append(anndata.AnnData(sparse, obs=names))
        paths.append(tmp_path / f"{v}.h5ad")
        tables[-1].write_h5ad(paths[-1])
    if form == "backed":
        paths = [anndata.read_h5ad(path, backed="r") for path in paths]
    found = method(3, random_state=0).fit(paths)
    whole = method(3, random_state=0).fit(tables)
    np.testing.assert_array_equal(found.labels_, whole.labels_)


def test_an_h5mu_file(method, data, tmp_path):
    anndata = pytest.importorskip("anndata")
    mudata = pytest.importorskip("mudata")
    pd = pytest.importorskip("pandas")
    tables = {}
    for v, (X, seen) in enumerate(zip(data.Xs, data.mask.T)):
        rows = np.flatnonzero(seen)
        names = pd.DataFrame(index=[f"c{i}" for i in rows])
        features = pd.DataFrame(index=[f"v{v}f{j}" for j in range(X.shape[1])])
        tables[f"view{v}"] = anndata.AnnData(X[rows], obs=names, var=features)
    mudata.MuData(tables).write_h5mu(tmp_path / "all.h5mu")
    found = method(3, random_state=0).fit(tmp_path / "all.h5mu")
    whole = method(3, random_state=0).fit(tables)
    np.testing.assert_array_equal(found.labels_, whole.labels_)


def test_observed_rows_with_their_numbers(method, data, in_memory, tmp_path):
    views = []
    for v, (X, seen) in enumerate(zip(data.Xs, data.mask.T)):
        np.save(tmp_path / f"rows{v}.npy", np.flatnonzero(seen))
        np.save(tmp_path / f"values{v}.npy", X[seen])
        values, rows = tmp_path / f"values{v}.npy", tmp_path / f"rows{v}.npy"
        views.append(ObservedRows(values, rows, n_samples=len(X)))
    model = method(3, random_state=0).fit(views)
    np.testing.assert_array_equal(model.labels_, in_memory[method].labels_)


def test_a_generator_of_blocks_is_read_once(method, data, in_memory, tmp_path):
    Xs = hidden(data)

    def blocks():
        for start in range(0, 300, 77):
            yield [X[start : start + 77] for X in Xs]

    for source in (Blocks(blocks()), blocks()):
        model = method(3, random_state=0).fit(source)
        np.testing.assert_array_equal(model.labels_, in_memory[method].labels_)


def test_dask_arrays_without_a_cluster(method, data, in_memory):
    da = pytest.importorskip("dask.array")
    Xs = [da.from_array(X, chunks=(90, -1)) for X in hidden(data)]
    model = method(3, random_state=0).fit(Xs)
    np.testing.assert_array_equal(model.labels_, in_memory[method].labels_)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_narrow_numbers_are_cast_by_blocks(method, data, dtype, tmp_path):
    Xs = [np.clip(20 * X, -100, 100).astype(dtype) for X in data.Xs]
    paths = []
    for v, X in enumerate(Xs):
        paths.append(str(tmp_path / f"{v}.npy"))
        np.save(paths[-1], X)
    np.save(tmp_path / "mask.npy", data.mask)
    model = method(3, random_state=0).fit(paths, mask=tmp_path / "mask.npy")
    whole = method(3, random_state=0).fit(Xs, mask=data.mask)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    assert model.embedding_.dtype == whole.embedding_.dtype


def test_a_truncated_chunk_is_named_and_finished_stages_stay(data, tmp_path):
    zarr = pytest.importorskip("zarr")
    X = data.Xs[0]
    array = zarr.create_array(
        store=str(tmp_path / "a.zarr"), shape=X.shape, dtype=X.dtype, chunks=(50, 8)
    )
    array[:] = X
    anchors = [X[:20]]
    chunk = next((tmp_path / "a.zarr" / "c" / "5").iterdir())
    chunk.write_bytes(chunk.read_bytes()[:20])
    mask = np.ones((300, 1), bool)
    work = tmp_path / "work"
    with pytest.raises(ValueError, match=r"a\.zarr.*block"):
        RISE(3, anchors=anchors, work_dir=work).fit([tmp_path / "a.zarr"], mask=mask)
    assert (work / "survey.state").exists()


MEMORY = """
import json, sys
from functools import partial
import numpy as np
from imvc import RISE, AnchorBridge
from imvc.datasets import make_views

def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024

paths = sys.argv[2:]
small = make_views(3000, (8, 8), 3, random_state=0)
method = {"rise": RISE, "bridge": partial(AnchorBridge, learn_sample=2000)}[sys.argv[1]]
method(3, n_anchors=50).fit(small.Xs)  # what a first fit loads is not meant
before = peak()
model = method(3, n_anchors=50, n_jobs=2, memory_budget="32MiB", random_state=0)
model.fit(paths)
print(json.dumps([peak() - before, len(model.labels_)]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("name", ["rise", "bridge"])
def test_memory_stays_within_the_budget_whatever_the_files_hold(name, tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for v in range(2):
        X = rng.standard_normal((120_000, 80), dtype=np.float32)
        X[:, 0] += 8 * (np.arange(len(X)) % 3)
        paths.append(str(tmp_path / f"{v}.npy"))
        np.save(paths[-1], X)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, name, *paths],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, n = json.loads(done.stdout)
    assert n == 120_000
    assert grown < 32 * 2**20 + 8 * n  # the files hold 77 MB
