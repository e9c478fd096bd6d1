"""Sources of arrays in files: memory maps, .npy, zarr, observed rows, masks."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sources_common import assert_pickles, assert_same, small_views

from imvc.io._row_reader import cut_rows
from imvc.scale import ViewsSource, parse_bytes
from imvc.scale._open import open_source
from imvc.scale._view_rows import ObservedRows
from imvc.views import as_views


def save_npy(path, X):
    np.save(path, X)
    return str(path)


def save_zarr(path, X, chunk=16):
    array = zarr.create_array(
        str(path), shape=X.shape, chunks=(chunk, *X.shape[1:]), dtype=X.dtype
    )
    array[:] = X
    return array


def small_blocks(monkeypatch, rows):
    """Blocks of so many samples, whatever the budget."""
    monkeypatch.setattr("imvc.scale._block_plan._MOST_ROWS", rows)


@pytest.mark.parametrize("rows", [7, 20, 53, 100])
def test_memory_maps_give_what_as_views_gives(tmp_path, monkeypatch, rows):
    small_blocks(monkeypatch, rows)
    Xs, _ = small_views()
    maps = [
        np.load(save_npy(tmp_path / f"{v}.npy", X), mmap_mode="r")
        for v, X in enumerate(Xs)
    ]
    source = open_source(maps)
    assert source.n_blocks == -(-53 // rows)
    assert_pickles(source, as_views(Xs))


def test_parts_of_memory_maps_are_read_from_their_place_in_the_file(tmp_path):
    X = np.arange(3000.0).reshape(300, 10)
    mapped = np.load(save_npy(tmp_path / "x.npy", X), mmap_mode="r")
    parts = [mapped[7:207], mapped[50:250, 2:5], np.asarray(mapped)[100:300, ::-1]]
    source = open_source(parts)
    assert not source.in_memory
    assert_pickles(source, as_views([np.array(part) for part in parts]))


def test_a_memory_map_with_every_other_row_is_read_right(tmp_path):
    X = np.arange(3000.0).reshape(300, 10)
    mapped = np.load(save_npy(tmp_path / "x.npy", X), mmap_mode="r")
    assert_same(open_source([mapped[10:250:2]]), as_views([X[10:250:2]]))


def test_changes_to_a_copy_on_write_map_are_seen(tmp_path):
    X = np.ones((20, 3))
    path = save_npy(tmp_path / "x.npy", X)
    mapped = np.load(path, mmap_mode="c")
    mapped[4] = 7.0
    assert open_source([mapped, path]).block(0).take(0, [4])[0, 0] == 7.0


@pytest.mark.parametrize("dtype", ["f2", "f8", ">f4", "i1", "u4", "?"])
def test_every_number_type_is_cast_by_block(tmp_path, monkeypatch, dtype):
    small_blocks(monkeypatch, 20)
    X = (np.arange(150).reshape(50, 3) % 90).astype(dtype)
    path = save_npy(tmp_path / "x.npy", X)
    assert_same(open_source([path]), as_views([X]))


def test_a_fortran_ordered_file_is_read_right(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 20)
    X = np.asfortranarray(np.arange(200.0).reshape(50, 4))
    assert_same(open_source([save_npy(tmp_path / "x.npy", X)]), as_views([X]))


@pytest.mark.parametrize("as_path", [True, False])
def test_zarr_arrays_give_what_as_views_gives(tmp_path, monkeypatch, as_path):
    small_blocks(monkeypatch, 20)
    Xs, _ = small_views()
    arrays = [save_zarr(tmp_path / f"{v}.zarr", X) for v, X in enumerate(Xs)]
    if as_path:
        arrays = [tmp_path / f"{v}.zarr" for v in range(len(Xs))]
    assert_pickles(open_source(arrays), as_views(Xs))


def test_blocks_start_at_chunks_of_zarr(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 20)
    Xs, _ = small_views()
    stores = [
        save_zarr(tmp_path / "a.zarr", Xs[0], 4),
        save_zarr(tmp_path / "b.zarr", Xs[1], 6),
        Xs[2],
    ]
    assert open_source(stores).starts.tolist() == [0, 12, 24, 36, 53]


def test_chunks_larger_than_blocks_are_rewritten_into_the_work_folder(
    tmp_path, monkeypatch
):
    small_blocks(monkeypatch, 10)
    Xs, _ = small_views()
    arrays = [save_zarr(tmp_path / "a.zarr", Xs[0], 50), *Xs[1:]]
    work = tmp_path / "work"
    source = open_source(arrays, work_dir=work)
    assert list(work.rglob("rows.npy"))
    assert_pickles(source, as_views(Xs))


def test_a_second_opening_uses_what_was_rewritten(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 10)
    Xs, _ = small_views()
    arrays = [save_zarr(tmp_path / "a.zarr", Xs[0], 50), *Xs[1:]]
    open_source(arrays, work_dir=tmp_path / "work")
    (rows,) = (tmp_path / "work").rglob("rows.npy")
    before = rows.stat().st_mtime_ns
    open_source(arrays, work_dir=tmp_path / "work")
    assert rows.stat().st_mtime_ns == before


def test_files_arrays_and_sparse_matrices_can_be_mixed(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 20)
    Xs, _ = small_views()
    sparse = sp.csr_array(sp.random(53, 9, 0.2, "csr", None, 0))
    mixed = {
        "file": save_npy(tmp_path / "x.npy", Xs[0]),
        "array": Xs[1],
        "sparse": sparse,
    }
    whole = as_views({"file": Xs[0], "array": Xs[1], "sparse": sparse})
    source = open_source(mixed)
    assert sp.issparse(source.block(1).observed(2))
    assert_pickles(source, whole)


def test_views_in_memory_become_a_source_in_memory():
    source = open_source(small_views()[0])
    assert isinstance(source, ViewsSource)
    assert source.in_memory


def test_a_source_is_returned_as_it_is():
    source = open_source(small_views()[0])
    assert open_source(source) is source


@pytest.mark.parametrize("kind", ["array", "npy", "zarr", "memmap", "integers"])
def test_a_mask_hides_whatever_unobserved_rows_contain(tmp_path, monkeypatch, kind):
    small_blocks(monkeypatch, 20)
    Xs, mask = small_views()
    expected = as_views(Xs)
    for v, X in enumerate(Xs):
        X[~mask[:, v]] = np.inf
    paths = [save_npy(tmp_path / f"{v}.npy", X) for v, X in enumerate(Xs)]
    given = {
        "array": mask,
        "npy": save_npy(tmp_path / "mask.npy", mask),
        "zarr": save_zarr(tmp_path / "mask.zarr", mask),
        "memmap": np.load(save_npy(tmp_path / "mask.npy", mask), mmap_mode="r"),
        "integers": mask.astype(np.int8),
    }[kind]
    assert_pickles(open_source(paths, given), expected)


def test_with_a_mask_the_pattern_of_a_block_needs_no_data(tmp_path):
    Xs, mask = small_views()
    paths = [save_npy(tmp_path / f"{v}.npy", X) for v, X in enumerate(Xs)]
    source = open_source(paths, mask)
    for path in paths:
        os.remove(path)
    np.testing.assert_array_equal(source.mask(0), mask)


@pytest.mark.parametrize("kind", ["array", "npy", "zarr", "memmap"])
def test_observed_rows_with_their_index_give_the_same(tmp_path, monkeypatch, kind):
    small_blocks(monkeypatch, 20)
    Xs, mask = small_views()
    stored = []
    for v, X in enumerate(Xs):
        rows = np.flatnonzero(mask[:, v])
        index = {
            "array": rows,
            "npy": save_npy(tmp_path / f"r{v}.npy", rows.astype(np.uint32)),
            "zarr": save_zarr(tmp_path / f"r{v}.zarr", rows),
            "memmap": np.load(save_npy(tmp_path / f"r{v}.npy", rows), mmap_mode="r"),
        }[kind]
        stored.append(ObservedRows(save_npy(tmp_path / f"{v}.npy", X[rows]), index, 53))
    assert_pickles(open_source(stored), as_views(Xs))


def test_a_mask_is_honoured_among_observed_rows(tmp_path):
    Xs, mask = small_views()
    rows = np.flatnonzero(mask[:, 0])
    mask[rows[3], 0], mask[rows[3], 1] = False, True
    X = np.nan_to_num(Xs[1])
    source = open_source([ObservedRows(Xs[0][rows], rows), X], mask[:, :2] | [[0, 1]])
    expected = mask[:, 0]
    np.testing.assert_array_equal(source.mask(0)[:, 0], expected)
    np.testing.assert_array_equal(source.block(0).mask[:, 0], expected)


def test_the_last_observed_row_tells_the_number_of_samples_if_nothing_else_does():
    views = [
        ObservedRows(np.ones((3, 2)), [0, 1, 3]),
        ObservedRows(np.ones((2, 2)), [2, 4]),
    ]
    assert open_source(views).n_samples == 5


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 60),
    rows=st.integers(1, 70),
    chunk=st.integers(1, 40),
)
def test_any_block_size_and_chunk_gives_the_same(
    tmp_path_factory, seed, n, rows, chunk
):
    folder = tmp_path_factory.mktemp("views")
    Xs, mask = small_views(n, (3, 2), seed)
    assume(mask.any(axis=0).all())
    observed = np.flatnonzero(mask[:, 1])
    stored = [
        save_zarr(folder / "a.zarr", Xs[0], chunk),
        ObservedRows(save_npy(folder / "b.npy", Xs[1][observed]), observed),
    ]
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, rows)
        assert_same(open_source(stored), as_views(Xs))


@settings(max_examples=60)
@given(
    n=st.integers(0, 200),
    step=st.integers(1, 50),
    sizes=st.lists(st.integers(1, 70), max_size=8),
    whole=st.booleans(),
)
def test_cuts_cover_all_rows_in_runs_that_are_small_enough(n, step, sizes, whole):
    boundaries = np.unique(np.minimum(np.cumsum([0, *sizes]), n))
    boundaries = np.unique(np.append(boundaries, n))
    cuts = cut_rows(n, step, boundaries, whole)
    assert cuts[0] == 0
    assert cuts[-1] == n
    assert (np.diff(cuts) > 0).all()
    if not whole:
        assert np.diff(cuts).max(initial=0) <= step


def test_new_data_may_lack_views_of_the_model(tmp_path):
    Xs, _ = small_views()
    schema = as_views(Xs).schema
    X = np.ones((5, 3), np.float32)
    for given_views in (
        [None, save_npy(tmp_path / "x.npy", X), None],
        {"view1": save_npy(tmp_path / "x.npy", X)},
    ):
        source = open_source(given_views, like=schema)
        assert_same(source, as_views([None, X, None], like=schema))


def test_the_mask_of_a_dict_follows_its_order_and_not_that_of_the_model(tmp_path):
    schema = as_views({"a": np.ones((2, 3)), "b": np.ones((2, 2))}).schema
    path_a = save_npy(tmp_path / "a.npy", np.ones((2, 3)))
    path_b = save_npy(tmp_path / "b.npy", np.ones((2, 2)))
    mask = np.array([[True, False], [True, True]])
    source = open_source({"b": path_b, "a": path_a}, mask, like=schema)
    assert source.names == ("a", "b")
    np.testing.assert_array_equal(source.mask(0), mask[:, ::-1])


def test_the_fingerprint_is_json_and_stays_as_long_as_the_data(tmp_path):
    Xs, mask = small_views()
    rows = np.flatnonzero(mask[:, 1])
    views = [
        save_npy(tmp_path / "a.npy", Xs[0]),
        ObservedRows(Xs[1][rows], rows),
        save_zarr(tmp_path / "c.zarr", Xs[2]),
    ]
    first = open_source(views).fingerprint
    assert json.loads(json.dumps(first)) == open_source(views).fingerprint


def test_the_fingerprint_changes_with_a_file(tmp_path):
    Xs, _ = small_views()
    path = save_npy(tmp_path / "a.npy", Xs[0])
    views = [path, *Xs[1:]]
    first = open_source(views).fingerprint
    np.save(path, Xs[0] * 2)
    os.utime(path, ns=(1, 1))
    assert open_source(views).fingerprint != first


def test_the_budget_sets_the_size_of_blocks(tmp_path):
    path = save_npy(tmp_path / "x.npy", np.zeros((50_000, 8), np.float32))
    source = open_source([path], memory_budget="6MiB")
    made = 256  # bytes of what is made of a sample
    block_bytes = np.diff(source.starts).max() * (8 * 4 + made)
    assert 6 * 2**20 / 12 < block_bytes <= 6 * 2**20 / 8


def test_a_budget_that_holds_no_block_is_refused_with_the_least_that_does(tmp_path):
    path = save_npy(tmp_path / "x.npy", np.zeros((1000, 500)))
    with pytest.raises(ValueError, match=r"memory_budget='1MiB' .* at least '8MiB'"):
        open_source([path], memory_budget="1MiB")
    assert open_source([path], memory_budget="8MiB").n_blocks > 1


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("512MiB", 512 * 2**20),
        ("1GiB", 2**30),
        ("2GB", 2 * 10**9),
        ("1.5 kB", 1500),
        ("100", 100),
        (4096, 4096),
    ],
)
def test_sizes_are_read_as_people_write_them(text, n_bytes):
    assert parse_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["much", "", -1, 0, "1 XB", True, 1.5, "GiB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="is no size"):
        parse_bytes(text)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_reading_a_memory_map_by_blocks_takes_little_memory(tmp_path):
    code = """
        import os, sys
        import numpy as np
        from imvc.scale._open import open_source
        def peak():
            with open("/proc/self/status") as status:
                return next(
                    int(line.split()[1]) for line in status if "VmHWM" in line
                ) // 1024
        path, n, d = sys.argv[1], 500_000, 100
        rng = np.random.default_rng(0)
        with open(path, "wb") as file:
            for _ in range(20):
                rng.random((n // 20, d), dtype=np.float32).tofile(file)
        x = np.memmap(path, np.float32, "r", shape=(n, d))
        source = open_source([x], memory_budget="100MiB")
        source.block(0)
        before = peak()
        total = 0.0
        for i in range(source.n_blocks):
            total += float(source.block(i).observed(0)[:, 0].sum())
            source.mask(i)
            source.rows(i, 0, np.arange(0, 100, 7))
        print(peak() - before, os.path.getsize(path) // 2**20, total / n)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "x.bin")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    growth, size, mean = map(float, done.stdout.split())
    assert size > 180
    assert growth < 60
    assert abs(mean - 0.5) < 0.01
