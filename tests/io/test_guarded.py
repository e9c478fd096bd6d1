"""Files that hang or crash their library are refused by a process of their own."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from imvc import RISE
from imvc.io import InputError, _guarded, read_file
from imvc.io._anndata_rows import AnnDataReader
from imvc.io._guarded import run_guarded
from imvc.workflow import BlockFiles
from imvc.workflow._stages import Stages

GIB = 2**30
on_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="other systems do not limit memory"
)


def python(code):
    """A command that runs some code."""
    return [sys.executable, "-c", code]


@pytest.fixture
def h5ad(tmp_path):
    """A good AnnData file."""
    path = tmp_path / "view.h5ad"
    with h5py.File(path, "w") as file:
        for key, index in (("obs", ["s1", "s2", "s3"]), ("var", ["a", "b"])):
            frame = file.create_group(key)
            frame.attrs["_index"] = "_index"
            frame["_index"] = np.array(index, dtype=h5py.string_dtype())
        file["X"] = np.arange(6.0).reshape(3, 2)
    return path


@pytest.fixture
def guards(monkeypatch):
    """The commands that were run in other processes."""
    seen = []

    def run(command, *limits):
        seen.append(command)
        return run_guarded(command, *limits)

    monkeypatch.setattr(_guarded, "run_guarded", run)
    return seen


def instead(monkeypatch, code):
    """Let the other process run this code in place of the reader."""
    monkeypatch.setattr(_guarded, "_CHILD", code)


# Any command


def test_a_command_that_says_done_is_done():
    assert run_guarded(python("print('done')"), 60, GIB)[0] == "done"


def test_a_command_that_never_ends_is_killed():
    code = "import time; time.sleep(1000)"
    assert run_guarded(python(code), 0.5, GIB)[0] == "time"


@on_linux
def test_a_command_ends_even_if_the_process_that_started_it_was_killed():
    code = (
        "from resource import RLIM_INFINITY, RLIMIT_CPU, getrlimit\n"
        "while getrlimit(RLIMIT_CPU)[0] == RLIM_INFINITY: pass\n"
        "print('done')"
    )
    assert run_guarded(python(code), 20, GIB)[0] == "done"


@pytest.mark.skipif(os.name == "nt", reason="needs the signals of Unix")
def test_a_crash_is_told_with_its_signal():
    code = "import os, signal; print('done'); os.kill(os.getpid(), signal.SIGSEGV)"
    assert run_guarded(python(code), 60, GIB) == ("crash", "SIGSEGV")


def test_an_end_without_a_word_is_a_crash():
    assert run_guarded(python("raise SystemExit(3)"), 60, GIB) == (
        "crash",
        "exit status 3",
    )
    assert run_guarded(python("pass"), 60, GIB) == ("crash", "exit status 0")


@pytest.mark.skipif(os.name == "nt", reason="needs the signals of Unix")
def test_a_process_that_the_system_kills_lacked_memory():
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_guarded(python(code), 60, GIB)[0] == "memory"


@on_linux
def test_memory_beyond_the_limit_is_not_given():
    code = "try: bytearray({n}); print('done')\nexcept MemoryError: print('memory')\n"
    small, large = code.format(n=2**20), code.format(n=8 * GIB)
    assert run_guarded(python(small), 60, GIB)[0] == "done"
    # The limit is set from outside, a moment after the start.
    late = "import time; time.sleep(0.5)\n" + large
    assert run_guarded(python(late), 60, GIB)[0] == "memory"


# Files


def test_a_good_file_is_read_as_without_a_guard(h5ad, guards):
    (table,) = read_file(h5ad, guard=True)
    (plain,) = read_file(h5ad)
    np.testing.assert_array_equal(table.values, plain.values)
    assert table.notes == plain.notes
    assert len(guards) == 1


def test_what_was_asked_for_is_read_in_the_other_process(h5ad, guards):
    with pytest.raises(InputError, match="has no layer 'counts'"):
        read_file(h5ad, guard=True, layer="counts")
    assert json.loads(guards[0][-1])["layer"] == "counts"


@pytest.mark.parametrize("size", [0.1, 0.5, 0.9])
def test_a_truncated_file_gives_the_usual_error(h5ad, size):
    whole = h5ad.read_bytes()
    h5ad.write_bytes(whole[: int(size * len(whole))])
    with pytest.raises(InputError, match="damaged or truncated") as usual:
        read_file(h5ad)
    with pytest.raises(InputError, match="damaged or truncated") as guarded:
        read_file(h5ad, guard=True)
    assert str(guarded.value) == str(usual.value)


def test_a_file_that_is_never_read_to_its_end_is_refused(h5ad, monkeypatch):
    instead(monkeypatch, "import time; time.sleep(1000)")
    monkeypatch.setenv("IMVC_HDF5_SECONDS", "0.5")
    with pytest.raises(
        InputError, match=r"view\.h5ad: was not read within .*set .*IMVC_HDF5_SECONDS"
    ):
        read_file(h5ad, guard=True)


@pytest.mark.skipif(os.name == "nt", reason="needs the signals of Unix")
def test_a_file_that_crashes_its_library_is_refused(h5ad, monkeypatch):
    instead(monkeypatch, f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})")
    with pytest.raises(
        InputError, match=r"view\.h5ad: crashed the library .*SIGSEGV.* make it again"
    ):
        read_file(h5ad, guard=True)


@on_linux
def test_a_file_that_fills_the_memory_is_refused(h5ad, monkeypatch):
    with h5py.File(h5ad, "a") as file:
        del file["X"]
        file.create_dataset("X", shape=(3, 2**28), dtype="f8", chunks=(3, 2**12))
    monkeypatch.setattr(_guarded, "_memory_limit", lambda size: GIB)
    # Without the check of claims, which would refuse it before.
    monkeypatch.setattr(
        _guarded, "_CHILD", "import imvc.io._anndata as a; a._SMALL = 2**40; "
        + _guarded._CHILD,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"view\.h5ad: needs more than 1\.0 GiB"):
        read_file(h5ad, guard=True)


def test_matlab_files_are_guarded_if_they_are_hdf5(tmp_path, guards):
    import scipy.io

    path = tmp_path / "view.mat"
    scipy.io.savemat(path, {"X1": np.eye(3), "X2": np.ones((3, 2))})
    read_file(path, guard=True)
    assert guards == []
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = np.arange(6.0).reshape(2, 3)
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with open(path, "r+b") as raw:
        raw.write(head)
    read_file(path, guard=True)
    assert len(guards) == 1


def test_a_matlab_file_that_is_cut_off_gives_the_usual_error(tmp_path):
    path = tmp_path / "view.mat"
    path.write_bytes(b"MATLAB")
    with pytest.raises(InputError, match=r"view\.mat: cannot be read as"):
        read_file(path, guard=True)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_files_that_arrow_reads_are_tried_elsewhere_first(tmp_path, guards, ending):
    pd = pytest.importorskip("pandas")
    frame, path = pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2]}), tmp_path / "view"
    path = path.with_suffix(ending)
    frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
    (table,) = read_file(path, guard=True)
    assert table.values[:, 0].tolist() == [1, 2]
    assert len(guards) == 1


def test_a_library_that_aborts_at_the_end_does_not_count(h5ad):
    """As threads of pyarrow before 26 do, now and then: the file is fine."""
    code = "import atexit, os; atexit.register(os.abort); " + _guarded._CHILD
    asked = json.dumps({"rows": str(h5ad), "id_column": None})
    assert run_guarded([*python(code), asked], 60, 4 * GIB) == ("done", "")


def test_tables_of_text_are_read_without_another_process(tmp_path, guards):
    path = tmp_path / "view.csv"
    path.write_text("id,a\ns1,1\ns2,2\n")
    read_file(path, guard=True)
    assert guards == []


@pytest.mark.parametrize("given", ["soon", "-1", "nan", "inf"])
def test_a_time_limit_that_is_no_time_is_refused(h5ad, monkeypatch, given):
    monkeypatch.setenv("IMVC_HDF5_SECONDS", given)
    with pytest.raises(ValueError, match=f"IMVC_HDF5_SECONDS='{given}' must be"):
        read_file(h5ad, guard=True)


def test_nothing_of_the_current_folder_is_imported(h5ad, monkeypatch):
    (h5ad.parent / "json.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(h5ad.parent)
    assert read_file("view.h5ad", guard=True)[0].n_rows == 3


def test_without_the_module_resource_only_time_is_limited(h5ad):
    code = (
        "import sys; sys.modules['resource'] = None\n"
        "from imvc.io import read_file\n"
        "print(read_file(sys.argv[1], guard=True)[0].n_rows)"
    )
    done = subprocess.run(
        [*python(code), str(h5ad)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "3"


def test_limits_grow_with_the_file(monkeypatch):
    monkeypatch.setattr(_guarded, "available_memory", lambda: 2**50)
    for limit in (_guarded._time_limit, _guarded._memory_limit):
        assert limit(0) > 0
        assert limit(10**12) > 1000 * limit(10**6)


# Files that are read by blocks


def opened(path, id_columns=None, guard=True):
    """The source that the command line would read."""
    files = BlockFiles([path], id_columns=id_columns, guard=guard)
    return files.open(RISE(2), Stages(None))


@pytest.fixture
def parts(tmp_path):
    """A folder of Parquet parts with ids."""
    pd = pytest.importorskip("pandas")
    folder = tmp_path / "view"
    folder.mkdir()
    for i in range(2):
        ids = [f"s{i}{j}" for j in range(50)]
        frame = pd.DataFrame({"patient": ids, "x": np.arange(50.0)})
        frame.to_parquet(folder / f"{i}.parquet", index=False)
    return folder


def test_rows_of_hdf5_are_read_elsewhere_first(h5ad, guards):
    assert opened(h5ad).n_samples == 3
    assert json.loads(guards[0][-1])["rows"] == str(h5ad)
    assert len(guards) == 1


def test_rows_of_parquet_are_read_elsewhere_first(parts, guards):
    assert opened(parts, "patient").n_samples == 100
    assert len(guards) == 1


def test_in_python_rows_are_read_at_once(h5ad, guards):
    assert opened(h5ad, guard=False).n_samples == 3
    assert guards == []


def test_plain_arrays_by_rows_need_no_other_process(tmp_path, guards):
    np.save(tmp_path / "view.npy", np.eye(3))
    assert opened(tmp_path / "view.npy").n_samples == 3
    assert guards == []


def test_all_parts_are_read_elsewhere(parts):
    """Damage in the numbers of the last part, which its end does not tell."""
    last = parts / "1.parquet"
    data = bytearray(last.read_bytes())
    data[4:200] = bytes(196)
    last.write_bytes(data)
    with pytest.raises(OSError, match=r"1\.parquet"):
        _guarded._read_rows(str(parts), "patient")


def test_the_other_process_reads_all_rows_and_ids(h5ad, monkeypatch):
    read = []
    for name in ("read", "read_ids"):
        whole = getattr(AnnDataReader, name)

        def spied(self, start, stop, whole=whole, name=name):
            read.append((name, start, stop))
            return whole(self, start, stop)

        monkeypatch.setattr(AnnDataReader, name, spied)
    _guarded._read_rows(str(h5ad), None)
    assert sorted(read) == [("read", 0, 3), ("read_ids", 0, 3)]


def test_rows_that_are_never_read_to_their_end_are_refused(h5ad, monkeypatch):
    instead(monkeypatch, "import time; time.sleep(1000)")
    monkeypatch.setenv("IMVC_HDF5_SECONDS", "0.5")
    with pytest.raises(InputError, match=r"view\.h5ad: was not read within"):
        opened(h5ad)


@pytest.mark.skipif(os.name == "nt", reason="needs the signals of Unix")
def test_parts_that_crash_their_library_are_refused(parts, monkeypatch):
    instead(monkeypatch, f"import os; os.kill(os.getpid(), {int(signal.SIGABRT)})")
    with pytest.raises(InputError, match=r"view: crashed the library .*SIGABRT"):
        opened(parts, "patient")


@pytest.mark.parametrize("size", [0.1, 0.5, 0.9])
def test_truncated_rows_give_the_usual_error(h5ad, size):
    whole = h5ad.read_bytes()
    h5ad.write_bytes(whole[: int(size * len(whole))])
    with pytest.raises(InputError, match=r"view\.h5ad: cannot be opened") as usual:
        opened(h5ad, guard=False)
    with pytest.raises(InputError, match=r"view\.h5ad: cannot be opened") as guarded:
        opened(h5ad)
    assert str(guarded.value) == str(usual.value)


def test_damaged_rows_are_refused_by_name(h5ad):
    """The library has errors of many kinds, which do not say in which file."""
    rng, whole, told = np.random.default_rng(0), h5ad.read_bytes(), []
    for _ in range(60):
        data = bytearray(whole)
        at = int(rng.integers(len(data) - 8))
        data[at : at + 8] = rng.bytes(8)
        h5ad.write_bytes(data)
        try:
            source = opened(h5ad, guard=False)
            for i in range(source.n_blocks):
                source.block(i)
        except (ValueError, TypeError) as error:
            told.append(str(error))
    assert told
    assert all("view.h5ad" in text for text in told)
