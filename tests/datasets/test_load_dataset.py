"""Datasets by name: what is found, how it is read, and why it is refused."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from example_files import LABELS, VIEWS, N, assert_is_the_example, cells
from scipy.io import savemat

from imvc.datasets import (
    describe_dataset,
    get_data_home,
    list_datasets,
    load_dataset,
)
from imvc.datasets._benchmark_sets import REGISTRY

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def write_npz(folder, name="mine", **arrays):
    contents = {f"X{v}": X for v, X in enumerate(VIEWS)} | {"y": LABELS} | arrays
    np.savez_compressed(folder / f"{name}.npz", **contents)


def test_an_archive_is_read_with_its_sidecar(tmp_path):
    write_npz(tmp_path)
    sidecar = {"view_names": ["text", "genes", "image"], "notes": "made up"}
    (tmp_path / "mine.json").write_text(json.dumps(sidecar))
    data = load_dataset("mine", data_home=tmp_path)
    assert_is_the_example(data)
    assert data.names == ("text", "genes", "image")
    assert (data.name, data.description) == ("mine", "made up")


@pytest.mark.parametrize("dtype", ["float16", "uint8", "float32", "int16"])
def test_dtypes_stay_as_stored(tmp_path, dtype):
    write_npz(tmp_path, X0=VIEWS[0].astype(dtype))
    assert load_dataset("mine", tmp_path).Xs[0].dtype == dtype


def test_a_stored_mask_and_nan_rows_both_mean_unobserved(tmp_path):
    mask = np.ones((N, 3), dtype=np.uint8)
    mask[1, 0] = 0
    X1 = VIEWS[1].copy()
    X1[2] = np.nan
    X1[3, 0] = np.nan
    write_npz(tmp_path, mask=mask, X1=X1)
    expected = mask.astype(bool)
    expected[2, 1] = False
    assert np.array_equal(load_dataset("mine", tmp_path).mask, expected)


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
@pytest.mark.parametrize("keep", [0, 20, 150, -60])
def test_truncated_files_are_named(tmp_path, suffix, keep):
    path = tmp_path / f"mine{suffix}"
    write_npz(tmp_path)
    savemat(tmp_path / "mine.mat", {"X": cells(VIEWS), "Y": LABELS})
    content = path.read_bytes()
    for other in tmp_path.iterdir():
        other.unlink()
    path.write_bytes(content[:keep])
    with pytest.raises(ValueError, match=rf"mine\{suffix} cannot be read.*damaged"):
        load_dataset("mine", tmp_path)


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_bytes_that_are_no_dataset_are_named(tmp_path, suffix):
    (tmp_path / f"mine{suffix}").write_bytes(b"<html>not found</html>" * 20)
    with pytest.raises(ValueError, match=rf"mine\{suffix} cannot be read"):
        load_dataset("mine", tmp_path)


class Trap:
    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


def test_pickles_are_never_opened(tmp_path):
    trap = np.array([Trap(), None], dtype=object)
    with open(tmp_path / "pickled.npz", "wb") as file:
        pickle.dump(Trap(), file)
    write_npz(tmp_path, X1=trap)
    for name in ("mine", "pickled"):
        with pytest.raises(ValueError, match=f"{name}.npz cannot be read"):
            load_dataset(name, tmp_path)


def test_a_single_array_is_no_archive(tmp_path):
    with open(tmp_path / "mine.npz", "wb") as file:
        np.save(file, VIEWS[0])
    with pytest.raises(ValueError, match=r"mine.npz cannot be read"):
        load_dataset("mine", tmp_path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X1": VIEWS[1][:3]}, r"mine.npz: a view is float64 of shape \(3, 2\)"),
        ({"X1": VIEWS[1][:, 0]}, r"mine.npz: a view is float64 of shape \(6,\)"),
        ({"X1": VIEWS[1].astype(str)}, r"mine.npz: a view is <U"),
        ({"y": LABELS[:, None]}, r"mine.npz: the labels have shape \(6, 1\)"),
        ({"y": LABELS * np.nan}, r"mine.npz: the labels have.*missing values"),
        ({"mask": np.ones((6, 2))}, r"mine.npz: mask of shape \(6, 2\); expected"),
        ({"mask": np.full((6, 3), 2)}, r"mine.npz: mask .*1 = observed"),
    ],
)
def test_archives_that_do_not_fit_are_named(tmp_path, arrays, message):
    write_npz(tmp_path, **arrays)
    with pytest.raises(ValueError, match=message):
        load_dataset("mine", tmp_path)


def test_an_archive_without_views_lists_what_it_has(tmp_path):
    np.savez(tmp_path / "mine.npz", A=VIEWS[0], y=LABELS)
    with pytest.raises(ValueError, match=r"mine.npz has the arrays A, y; expected"):
        load_dataset("mine", tmp_path)


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        ("{", "mine.json is not valid JSON"),
        pytest.param("[" * 50_000, "mine.json is not valid JSON", id="deep"),
        ('{"view_names": 3}', "mine.json: view_names must be a list of texts"),
        ('{"view_names": ["a", null]}', "mine.json: view_names must be a list"),
        ("[1]", "mine.json must hold a JSON object"),
        ('{"view_names": ["a"]}', r"mine.npz: .*1 names do not fit"),
    ],
)
def test_bad_sidecars_are_named(tmp_path, sidecar, message):
    write_npz(tmp_path)
    (tmp_path / "mine.json").write_text(sidecar)
    with pytest.raises(ValueError, match=message):
        load_dataset("mine", tmp_path)


def test_names_are_found_in_any_spelling_and_archives_come_first(tmp_path):
    savemat(tmp_path / "My_Set-1.mat", {"X": cells(VIEWS[:1]), "Y": LABELS})
    assert load_dataset("myset1", tmp_path).n_views == 1
    write_npz(tmp_path, "My_Set-1")
    assert load_dataset("my-set 1", tmp_path).n_views == 3
    assert load_dataset("My_Set-1.mat", tmp_path).n_views == 1


def test_a_missing_published_set_says_where_it_is_and_where_to_put_it(tmp_path):
    write_npz(tmp_path, "cifar10_other")
    message = rf"'cifar10' is not in {tmp_path}.*www.cs.toronto.*cifar10.npz.*IMVC_DATA"
    with pytest.raises(FileNotFoundError, match=message + ".*cifar10_other"):
        load_dataset("CIFAR-10", tmp_path)


def test_an_unknown_name_lists_the_known_ones_and_the_files(tmp_path):
    write_npz(tmp_path)
    with pytest.raises(ValueError, match=r"unknown dataset 'foo'.*webkb.*: mine\."):
        load_dataset("foo", tmp_path)
    with pytest.raises(ValueError, match=r"unknown dataset '../mine.x'"):
        load_dataset("../mine.x", tmp_path)
    with pytest.raises(ValueError, match="name='' must be the name"):
        load_dataset("", tmp_path)


def test_a_file_that_is_not_the_published_set_warns(tmp_path):
    write_npz(tmp_path, "WebKB")
    with pytest.warns(UserWarning, match=r"6 samples.*webkb as published has 1051"):
        assert load_dataset("webkb", tmp_path).name == "webkb"


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("IMVC_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert get_data_home(tmp_path) == tmp_path
    assert get_data_home() == tmp_path / "variable"
    monkeypatch.delenv("IMVC_DATA")
    assert get_data_home() == tmp_path / "cache" / "imvc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_data_home() == tmp_path / ".cache" / "imvc"


def test_the_list_has_the_published_sets_and_the_files(tmp_path):
    write_npz(tmp_path, "wiki_fea")
    write_npz(tmp_path, "mine")
    (tmp_path / "notes.txt").write_text("no dataset")
    entries = {entry.name: entry for entry in list_datasets(tmp_path)}
    assert list(entries) == [*(info.name for info in REGISTRY), "mine"]
    assert entries["wikipedia"].path == tmp_path / "wiki_fea.npz"
    assert entries["webkb"].path is None
    assert entries["mine"].info is None


def test_the_description_is_plain_and_complete(tmp_path):
    write_npz(tmp_path, X1=np.where(np.arange(N)[:, None] == 2, np.nan, VIEWS[1]))
    summary = describe_dataset("mine", tmp_path)
    assert json.loads(json.dumps(summary)) == summary
    assert summary["class_sizes"] == [2, 2, 2]
    assert [view["n_observed"] for view in summary["views"]] == [6, 5, 6]
    assert summary["n_incomplete"] == 1


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="no data folder beside the checkout")
@pytest.mark.parametrize("name", ["prokaryotic", "webkb", "wikipedia", "3sources"])
def test_the_published_sets_have_the_sizes_of_the_table(name):
    info = next(info for info in REGISTRY if info.name == name)
    data = load_dataset(name, SHARED)
    assert data.n_samples == info.n_samples
    assert data.n_features == info.n_features
    assert data.n_clusters == info.n_classes
    assert data.mask.any(axis=1).all()
    assert data.mask.all() == (name != "3sources")
