"""Damaged files: an error that names the file, or a table; never anything else."""

import gzip
import io
import pickle
import struct
import sys
import zipfile
from functools import partial

import h5py
import numpy as np
import openpyxl
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
import xlwt
from hypothesis import given
from hypothesis import strategies as st

from imvc import AnchorBridge, load_model
from imvc.datasets import make_views
from imvc.io import FileTable, InputError, _guarded, read_file, read_views

CSV = (
    b'id,a,b,"c, d",kind\n"s1",1.5,2,3,x\ns2,,-4e3,5,"y\n z"\n'
    b"s3,NA,6,7,x\ns4,8,9.25,1,\n"
)
WORDS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\n", b"\r", b",", b";", b"\t",
    b"nan", b"1e999", b"-", b"(99, 99)", b"999999999999", b"'O'", b"|O8",
    b"\x80\x04\x95", b"../",
)  # fmt: skip


def mutate(data, rng):
    """One to four small damages, of the kinds that files suffer."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        i, j = sorted(rng.integers(0, len(data) + 1, size=2).tolist())
        kind = rng.integers(0, 7)
        if kind == 0 and i < len(data):
            data[i] ^= 1 << int(rng.integers(8))
        elif kind == 1 and i < len(data):
            data[i] = int(rng.integers(256))
        elif kind == 2:
            data[i:i] = WORDS[rng.integers(len(WORDS))]
        elif kind == 3:
            del data[i : min(j, i + 40)]
        elif kind == 4:
            data[i:i] = data[i : min(j, i + 200)]
        elif kind == 5 and rng.integers(4) == 0:
            del data[j:]
        elif kind == 6:
            stop = min(j, i + 8)
            data[i:stop] = bytes([255 * int(rng.integers(2))]) * (stop - i)
    return bytes(data)


def as_bytes(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def anndata_bytes(file, path=""):
    for key, index in (("obs", ["s1", "s2", "s3"]), ("var", ["a", "b"])):
        frame = file.create_group(f"{path}{key}")
        frame.attrs["_index"] = "_index"
        frame["_index"] = np.array(index, dtype=h5py.string_dtype())
    X = sp.csr_array(np.array([[1.0, 0], [0, 2], [3, 0]]))
    node = file.create_group(f"{path}X")
    node.attrs["encoding-type"] = "csr_matrix"
    node.attrs["shape"] = X.shape
    for key in ("data", "indices", "indptr"):
        node[key] = getattr(X, key)


def hdf5_bytes(*places):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for place in places:
            anndata_bytes(file, place)
    return buffer.getvalue()


def xlsx_bytes(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return as_bytes(book.save)


def xls_bytes(rows):
    book = xlwt.Workbook()
    sheet = book.add_sheet("rna")
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            sheet.write(i, j, cell)
    return as_bytes(book.save)


ROWS = [["id", "a", "t"], ["s1", 1.5, "x"], ["s2", 2, None], ["s3", 4, "y z"]]
MORE = [["Study"], [], ["who", "p", "q", "r"], ["s1", 1, 2, 3], ["s2", 4, 5, 6]]


def samples():
    """A small good file of every kind."""
    frame = pd.DataFrame({"a": [1.0, 2, 3], "t": ["x", "y", "x"]}, index=list("pqr"))
    X = np.arange(6.0).reshape(3, 2)
    mtx = as_bytes(lambda f: scipy.io.mmwrite(f, sp.csr_array(X)))
    return {
        "v.csv": CSV,
        "v.tsv": CSV.replace(b",", b"\t"),
        "v.csv.gz": gzip.compress(CSV, mtime=0),
        "v.npy": as_bytes(lambda f: np.save(f, X)),
        "v.npz": as_bytes(lambda f: np.savez(f, X0=X, X1=X, y=np.arange(3))),
        "s.npz": as_bytes(lambda f: sp.save_npz(f, sp.csr_array(X))),
        "v.mtx": mtx,
        "v.mat": as_bytes(lambda f: scipy.io.savemat(f, {"X1": X, "X2": X})),
        "v.parquet": as_bytes(lambda f: frame.to_parquet(f)),
        "v.feather": as_bytes(lambda f: frame.reset_index().to_feather(f)),
        "v.h5ad": hdf5_bytes(""),
        "v.h5mu": hdf5_bytes("mod/rna/", "mod/adt/"),
        "v.xlsx": xlsx_bytes(("rna", ROWS), ("adt", MORE)),
    }


SAMPLES = samples()
WATCH = {"on": False, "written": []}


def _watch(event, args):
    if event == "open" and WATCH["on"]:
        _, mode, flags = args
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else flags & 3
        if writes:
            WATCH["written"].append(args[0])


sys.addaudithook(_watch)


@pytest.fixture
def guarded(monkeypatch):
    """Record every unpickling and every file opened for writing by the readers."""
    unpickled = []

    def caught(*args, **kwargs):
        unpickled.append(args)
        raise RuntimeError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, caught)
    WATCH["written"].clear()

    def call(read, path):
        WATCH["on"] = True
        try:
            return read(path)
        finally:
            WATCH["on"] = False

    yield call
    assert unpickled == []
    assert WATCH["written"] == []


def read_or_refuse(read, path, named=None):
    """What a reader gives, or nothing if it refused with an error that names a file."""
    named = (str(path),) if named is None else named
    try:
        return read(path)
    except InputError as error:
        message = str(error)
    assert message.startswith(named), message
    assert "\n" not in message
    return []


def test_every_sample_is_good_before_it_is_damaged(tmp_path):
    for name, data in SAMPLES.items():
        (tmp_path / name).write_bytes(data)
        assert read_file(tmp_path / name), name


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_read_or_refused(tmp_path, guarded, name):
    rng, path = np.random.default_rng(7), tmp_path / name

    def read(path):
        return guarded(read_file, path)

    # The HDF5 library itself may ask for gigabytes, or never return, on some damages:
    # few are tried.
    for _ in range(20 if "h5" in name else 60):
        path.write_bytes(mutate(SAMPLES[name], rng))
        for table in read_or_refuse(read, path):
            assert isinstance(table, FileTable)
            assert table.values.shape == (table.n_rows, len(table.features))
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore")
def test_truncated_files_are_read_or_refused(tmp_path, guarded, name):
    whole, path = SAMPLES[name], tmp_path / name
    for size in np.linspace(0, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:size])
        read_or_refuse(lambda path: guarded(read_file, path), path)


def parts_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts):
    def write(file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in parts.items():
                archive.writestr(name, data)

    return as_bytes(write)


@pytest.mark.parametrize("sheet", [None, "all", "adt"])
@pytest.mark.filterwarnings("ignore")
def test_workbooks_with_a_damaged_part_are_read_or_refused(tmp_path, guarded, sheet):
    rng, path = np.random.default_rng(5), tmp_path / "v.xlsx"
    parts = parts_of(SAMPLES["v.xlsx"])
    named = (str(path),)
    for name in [*parts, *(name for name in parts if "sheets/" in name)] * 4:
        path.write_bytes(zipped(parts | {name: mutate(parts[name], rng)}))
        read = partial(read_file, sheet=sheet)
        for table in read_or_refuse(partial(guarded, read), path, named):
            assert table.values.shape == (table.n_rows, len(table.features))


@pytest.mark.filterwarnings("ignore")
def test_spliced_workbooks_are_read_or_refused(tmp_path, guarded):
    path, one = tmp_path / "v.xlsx", SAMPLES["v.xlsx"]
    other = xlsx_bytes(("x", MORE), ("y", ROWS), ("z", []))
    swapped = parts_of(one)
    spliced = [zipped(swapped | {n: d}) for n, d in parts_of(other).items()]
    spliced += [zipped({n: d for n, d in swapped.items() if n != x}) for x in swapped]
    rng = np.random.default_rng(2)
    for _ in range(30):
        spliced.append(
            one[: rng.integers(len(one))] + other[rng.integers(len(other)) :]
        )
    for data in spliced:
        path.write_bytes(data)
        read_or_refuse(partial(guarded, read_file), path)


@pytest.fixture
def little_memory(monkeypatch):
    """For readers in another process, so that it is soon full."""
    monkeypatch.setattr(_guarded, "_memory_limit", lambda size: 2**28)


@pytest.mark.usefixtures("little_memory")
def test_damaged_old_workbooks_are_read_or_refused(tmp_path):
    """Few: each is tried in another process first."""
    rng, path, whole = np.random.default_rng(4), tmp_path / "v.xls", xls_bytes(ROWS)
    for _ in range(4):
        path.write_bytes(mutate(whole, rng))
        read_or_refuse(read_file, path)


@pytest.mark.usefixtures("little_memory")
def test_an_old_workbook_whose_sectors_run_in_a_circle_is_refused(tmp_path):
    """Its reader would follow them until the memory is full."""
    whole = bytearray(xls_bytes(ROWS))
    (fat,) = struct.unpack_from("<I", whole, 76)
    (directory,) = struct.unpack_from("<I", whole, 48)
    struct.pack_into("<I", whole, 512 * (fat + 1) + 4 * directory, directory)
    path = tmp_path / "v.xls"
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"v\.xls: (crashed|needs more|was not read)"):
        read_file(path)


@given(data=st.binary(min_size=1, max_size=200))
def test_any_bytes_are_a_table_or_an_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    path.write_bytes(data)
    for table in read_or_refuse(read_file, path):
        assert table.values.dtype == np.float64


@given(text=st.text(alphabet="01.,;\t\n\"'# -aeN|é", min_size=1, max_size=120))
def test_any_text_is_a_table_or_an_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "text.csv"
    path.write_bytes(text.encode())
    for table in read_or_refuse(read_file, path):
        assert not np.isinf(table.values).any()


@given(
    values=st.lists(
        st.lists(
            st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        min_size=2,
        max_size=8,
    ),
    separator=st.sampled_from(",;\t|"),
)
def test_numbers_survive_text_exactly(tmp_path_factory, values, separator):
    path = tmp_path_factory.getbasetemp() / "exact.csv"
    frame = pd.DataFrame(values, columns=list("abc"))
    frame.index = [f"s{i}" for i in range(len(frame))]
    frame.to_csv(path, sep=separator, index_label="id")
    (table,) = read_file(path)
    np.testing.assert_array_equal(table.values, np.array(values))


@pytest.mark.filterwarnings("ignore")
def test_damaged_files_among_good_ones_are_refused_by_name(tmp_path, guarded):
    rng = np.random.default_rng(3)
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_bytes(CSV)
    for _ in range(60):
        bad.write_bytes(mutate(CSV, rng))
        read_or_refuse(
            lambda path: guarded(lambda p: read_views([good, p]), path),
            bad,
            named=(str(bad), str(good)),
        )


@pytest.fixture(scope="module")
def model_bytes(tmp_path_factory):
    data = make_views(40, (4, 3), n_clusters=2, random_state=0)
    path = tmp_path_factory.mktemp("model") / "model.imvc"
    AnchorBridge(n_clusters=2, random_state=0).fit(data.Xs).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("load", [load_model, AnchorBridge.load])
@pytest.mark.filterwarnings("ignore")
def test_damaged_models_are_refused(tmp_path, guarded, model_bytes, load):
    rng = np.random.default_rng(11)
    path = tmp_path / "model.imvc"
    for _ in range(100):
        path.write_bytes(mutate(model_bytes, rng))
        try:
            model = guarded(load, path)
        except ValueError as error:
            message = str(error)
        else:  # only bytes outside of every checksum may differ
            message = "model.imvc" if isinstance(model, AnchorBridge) else ""
        assert "model.imvc" in message
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.imvc"]
