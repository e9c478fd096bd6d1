"""MATLAB files in the layouts of this field, versions 5, 7 and 7.3."""

import builtins

import numpy as np
import pytest
from example_files import LABELS, VIEWS, N, assert_is_the_example, cells
from scipy import sparse
from scipy.io import savemat

from imvc.datasets import load_dataset


@pytest.mark.parametrize("views", ["X", "data", "fea", "views"])
@pytest.mark.parametrize("labels", ["Y", "gt", "truth", "labels", "y", "gnd"])
def test_cell_arrays_under_the_usual_names(tmp_path, views, labels):
    savemat(tmp_path / "mine.mat", {views: cells(VIEWS), labels: LABELS})
    assert_is_the_example(load_dataset("mine", tmp_path))


@pytest.mark.parametrize("transpose", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("column", [False, True], ids=["wide", "tall"])
@pytest.mark.parametrize("compressed", [False, True], ids=["v5", "v7"])
def test_samples_in_rows_or_columns(tmp_path, transpose, column, compressed):
    views = [X.T if transpose else X for X in VIEWS]
    contents = {
        "X": cells(views, (3, 1) if column else (1, 3)),
        "Y": LABELS[:, None] if column else LABELS[None],
    }
    savemat(tmp_path / "mine.mat", contents, do_compression=compressed)
    assert_is_the_example(load_dataset("mine", tmp_path))


@pytest.mark.parametrize("transpose", [False, True])
def test_a_square_view_follows_the_others(tmp_path, transpose):
    square = np.arange(N * N, dtype=float).reshape(N, N)
    views = [X.T if transpose else X for X in (VIEWS[0], square)]
    savemat(tmp_path / "mine.mat", {"X": cells(views), "Y": LABELS})
    assert np.array_equal(load_dataset("mine", tmp_path).Xs[1], square)


@pytest.mark.parametrize(
    "contents",
    [
        {"X1": VIEWS[0], "X2": VIEWS[1].T, "X3": VIEWS[2]},
        {"text": VIEWS[0], "genes": VIEWS[1], "image": VIEWS[2].T, "k": 3.0},
        {"data": cells([cells(VIEWS)])},
    ],
    ids=["numbered", "named", "nested"],
)
def test_other_layouts_of_views(tmp_path, contents):
    savemat(tmp_path / "mine.mat", contents | {"truth": LABELS})
    assert_is_the_example(load_dataset("mine", tmp_path))


@pytest.mark.parametrize(
    "labels",
    [
        cells([LABELS[None]]),
        cells([np.array([f"class {k}"]) for k in LABELS], (N, 1)),
        (LABELS[:, None] == [1, 3, 8]).astype(float),
        (LABELS[:, None] == [1, 3, 8]).T.astype(float),
        sparse.csc_matrix(LABELS[:, None].astype(float)),
    ],
    ids=["wrapped", "text", "indicators", "indicators in rows", "sparse"],
)
def test_other_layouts_of_labels(tmp_path, labels):
    savemat(tmp_path / "mine.mat", {"X": cells(VIEWS), "truelabel": labels})
    assert_is_the_example(load_dataset("mine", tmp_path))


def test_sparse_cells_stay_sparse(tmp_path):
    views = [sparse.csc_matrix(VIEWS[0].T), VIEWS[1].T]
    savemat(tmp_path / "mine.mat", {"X": cells(views), "Y": LABELS})
    data = load_dataset("mine", tmp_path)
    assert data.Xs[0].format == "csr"
    assert np.array_equal(data.Xs[0].toarray(), VIEWS[0])
    assert sparse.issparse(data.incomplete()[0])
    data = data.with_mask(np.arange(2 * N).reshape(N, 2) > 0)
    with pytest.raises(ValueError, match="view 'view0' is sparse and lacks 1 samples"):
        data.incomplete()


def test_nan_columns_of_a_features_by_samples_cell_are_unobserved(tmp_path):
    X = VIEWS[0].T.copy()
    X[:, 4] = np.nan
    savemat(tmp_path / "mine.mat", {"X": cells([X, VIEWS[1].T]), "Y": LABELS})
    mask = load_dataset("mine", tmp_path).mask
    assert np.argwhere(~mask).tolist() == [[4, 0]]


def write_matlab_73(path):
    """Write the example as MATLAB 7.3 does: transposed, cells as references."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        views = [sparse.csc_array(VIEWS[0]), *VIEWS[1:]]
        references = np.empty((3, 1), dtype=h5py.ref_dtype)
        for v, X in enumerate(views):
            if sparse.issparse(X):
                node = file.create_group(f"#refs#/{v}")
                node.attrs["MATLAB_sparse"] = np.uint64(X.shape[0])
                node["data"], node["ir"], node["jc"] = X.data, X.indices, X.indptr
            else:
                node = file.create_dataset(f"#refs#/{v}", data=X.T)
            references[v, 0] = node.ref
        file.create_dataset("X", data=references)
        file.create_dataset("Y", data=LABELS[None].astype(float))
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with open(path, "r+b") as file:
        file.write(header)


def test_matlab_73_is_read(tmp_path):
    write_matlab_73(tmp_path / "mine.mat")
    data = load_dataset("mine", tmp_path)
    assert data.Xs[0].format == "csr"
    data.Xs[0] = data.Xs[0].toarray()
    assert_is_the_example(data)


def test_matlab_73_without_h5py_names_the_extra(tmp_path, monkeypatch):
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "mine.mat").write_bytes(header.ljust(512) + b"\x89HDF\r\n\x1a\n")
    real_import = builtins.__import__

    def no_h5py(name, *args, **kwargs):
        if name == "h5py":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_h5py)
    with pytest.raises(ImportError, match=r"mine.mat is a MATLAB 7.3.*imvc\[io\]"):
        load_dataset("mine", tmp_path)


def test_a_damaged_matlab_73_file_is_named(tmp_path):
    write_matlab_73(tmp_path / "mine.mat")
    content = (tmp_path / "mine.mat").read_bytes()
    (tmp_path / "mine.mat").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"mine.mat cannot be read as a MATLAB 7.3"):
        load_dataset("mine", tmp_path)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"X": cells(VIEWS)}, r"no vector of labels; expected.*X \(object 1x3\)"),
        ({"Y": LABELS}, r"no views for its 6 labels.*Y \(int64 1x6\)"),
        (
            {"X": cells([VIEWS[0][:5]]), "Y": LABELS},
            r"'view0' is float64 5x4.*6 labels",
        ),
    ],
)
def test_matlab_files_that_do_not_fit_say_what_they_hold(tmp_path, contents, message):
    savemat(tmp_path / "mine.mat", contents)
    with pytest.raises(ValueError, match=message):
        load_dataset("mine", tmp_path)


def test_damaged_matlab_files_are_read_or_refused(tmp_path):
    """SciPy's own reader ends the process on some of these."""
    rng = np.random.default_rng(5)
    path = tmp_path / "mine.mat"
    views = [sparse.csc_array(VIEWS[0]), *VIEWS[1:]]
    savemat(path, {"X": cells(views), "Y": LABELS, "note": "text"})
    whole = path.read_bytes()
    messages = []
    for _ in range(200):
        data = bytearray(whole)
        for at in rng.integers(128, len(data), size=rng.integers(1, 4)):
            data[at] = rng.integers(256)
        path.write_bytes(data)
        try:
            load_dataset("mine", tmp_path)
        except ValueError as error:
            messages.append(str(error))
    assert messages
    assert all("mine.mat" in message for message in messages)
