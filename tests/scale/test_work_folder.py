"""Whatever happens to the files of a working folder, the same fit ends the same."""

import errno
import os
import re
import shutil
import subprocess
import sys
import textwrap
import warnings
from itertools import pairwise

import numpy as np
import pytest

from imvc import RISE, AnchorBridge
from imvc.datasets import make_views
from imvc.methods import anchor_model
from imvc.scale import Blocks, _block_files, _checked_files, _folder

N, CUTS = 540, (0, 200, 390, 540)
METHODS = {
    "rise": lambda **options: RISE(2, n_init=1, n_anchors=12, **options),
    "rise, a sample": lambda **options: RISE(
        2, n_init=1, n_anchors=12, learn_sample=400, **options
    ),
    "bridge": lambda **options: AnchorBridge(2, n_init=1, n_anchors=12, **options),
    "bridge, a sample": lambda **options: AnchorBridge(
        2, n_init=1, n_anchors=12, learn_sample=400, **options
    ),
}


def planted():
    data = make_views(N, (6, 5, 4), 2, incomplete=0.4, random_state=0)
    return [np.where(seen[:, None], X, np.nan) for X, seen in zip(data.Xs, data.mask.T)]


XS = planted()
BLOCKS = [[X[a:b] for X in XS] for a, b in pairwise(CUTS)]


def fit(name, work, **options):
    options = {"random_state": 0, "n_jobs": 1} | options
    return METHODS[name](work_dir=work, **options).fit(Blocks(BLOCKS))


def fit_and_hear(name, work, **options):
    """The labels of a fit, and what it warned of about files."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = np.array(fit(name, work, **options).labels_)
    return labels, [str(w.message) for w in caught if str(work) in str(w.message)]


def stop_in(monkeypatch, module, name, at):
    """Let the ``at``-th call of a function be an end of power.

    Returns what mends it, and a list of the calls.
    """
    whole, calls = getattr(module, name), []

    def stop(*args, **kwargs):
        calls.append(name)
        if len(calls) == at:
            raise RuntimeError("power is off")
        return whole(*args, **kwargs)

    monkeypatch.setattr(module, name, stop)
    return lambda: monkeypatch.setattr(module, name, whole), calls


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Per method: its labels, a finished folder, and one that lacks the last block."""
    root, found = tmp_path_factory.mktemp("folders"), {}
    with pytest.MonkeyPatch.context() as monkeypatch, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        monkeypatch.setattr(_folder, "_SAVE_SECONDS", 0)
        for name in METHODS:
            finished, stopped = (root / f"{name} {kind}" for kind in ("whole", "part"))
            mend, calls = stop_in(monkeypatch, anchor_model, "label_block", None)
            labels = np.array(fit(name, finished).labels_)
            mend()
            mend, _ = stop_in(monkeypatch, anchor_model, "label_block", len(calls))
            with pytest.raises(RuntimeError, match="power is off"):
                fit(name, stopped)
            mend()
            found[name] = labels, {"finished": finished, "stopped": stopped}
    return found


def flip(file, at):
    data = bytearray(file.read_bytes())
    data[int(at * len(data))] ^= 4
    file.write_bytes(data)


DAMAGES = {
    "a bit in the middle": lambda file: flip(file, 0.5),
    "a bit at the head": lambda file: flip(file, 0),
    "a bit at the tail": lambda file: flip(file, 0.9999),
    "half of it": lambda file: os.truncate(file, file.stat().st_size // 2),
    "all of it": lambda file: os.truncate(file, 0),
    "the file": lambda file: file.unlink(),
}


def files_in(folder):
    """All files that are read again, but the plan; of equal ones the second."""
    return [
        file.relative_to(folder)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and file.name not in ("plan.json", ".lock")
        and (file.suffix != ".block" or file.stem == "000001")
    ]


def is_unused(file, what):
    """Whether nobody can miss what is lost."""
    # Rows that were not written yet, and how far a pass is: else it begins again.
    return (what, file.suffix) in {
        ("a bit at the tail", ".partial"),
        ("the file", ".reached"),
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rise", "finished"),
        ("rise", "stopped"),
        ("rise, a sample", "finished"),
        ("rise, a sample", "stopped"),
        ("bridge", "finished"),
        ("bridge, a sample", "stopped"),
    ],
)
def test_a_damaged_file_is_named_and_its_stage_done_again(
    folders, name, kind, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # nobody pulls the plug
    labels, by_kind = folders[name]
    work, files = tmp_path / "work", files_in(by_kind[kind])
    assert {"survey.state", "000001.block"} <= {file.name for file in files}
    for file in files:
        for what, damage in DAMAGES.items():
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(by_kind[kind], work)
            damage(work / file)
            found, told = fit_and_hear(name, work)
            np.testing.assert_array_equal(found, labels, err_msg=f"{file}, {what}")
            if is_unused(file, what):
                assert told == []
            else:
                (text,) = told
                assert re.match(
                    rf"{re.escape(str(work / file))} .*; .*stage '.*' is done again\.",
                    text,
                )
        found, told = fit_and_hear(name, work)
        assert told == []
        np.testing.assert_array_equal(found, labels)


def test_all_damaged_blocks_are_told_in_one_sentence(folders, tmp_path):
    labels, by_kind = folders["rise"]
    shutil.copytree(by_kind["finished"], tmp_path / "work")
    shutil.rmtree(tmp_path / "work" / "graph")
    with pytest.warns(UserWarning, match=r"000000\.block is missing \(2 more files"):
        model = fit("rise", tmp_path / "work")
    np.testing.assert_array_equal(model.labels_, labels)


def test_a_block_in_the_place_of_another_is_noticed(folders, tmp_path):
    labels, by_kind = folders["rise"]
    graph = tmp_path / "work" / "graph"
    shutil.copytree(by_kind["finished"], tmp_path / "work")
    shutil.copy(graph / "000001.block", graph / "000002.block")
    (tmp_path / "work" / "statistics.state").unlink()
    with pytest.warns(UserWarning, match="000002.block is damaged") as told:
        model = fit("rise", tmp_path / "work")
    assert ["000002.block", "statistics.state"] == [
        os.path.basename(str(warning.message).split()[0]) for warning in told
    ]
    np.testing.assert_array_equal(model.labels_, labels)


def test_seeds_that_cannot_be_drawn_again_take_later_stages_with_them(tmp_path):
    work, free = tmp_path / "work", {"random_state": None}
    fit("rise", work, **free)
    kept = (work / "survey.state").stat().st_mtime_ns
    (work / "seeds.state").unlink()
    found, told = fit_and_hear("rise", work, **free)
    assert "seeds.state is missing" in told[0]
    assert "without a number as random_state" in told[1]
    assert (work / "survey.state").stat().st_mtime_ns == kept
    model = fit("rise", work, **free)
    np.testing.assert_array_equal(found, model.labels_)
    np.testing.assert_array_equal(found, model.predict(XS))


def test_a_file_that_goes_bad_within_a_run_is_named_and_the_run_goes_on(
    folders, tmp_path, monkeypatch
):
    labels, _ = folders["rise"]
    block = tmp_path / "work" / "graph" / "000001.block"
    whole = anchor_model.total_statistics

    def spoil(*args):
        flip(block, 0.5)
        return whole(*args)

    monkeypatch.setattr(anchor_model, "total_statistics", spoil)
    with pytest.raises(ValueError, match=r"000001.block is damaged.*the same command"):
        fit("rise", tmp_path / "work")
    assert not block.exists()
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="000001.block is missing; stage 'graph'"):
        model = fit("rise", tmp_path / "work")
    np.testing.assert_array_equal(model.labels_, labels)


def test_rows_that_go_bad_within_a_run_are_named_and_the_run_goes_on(
    folders, tmp_path, monkeypatch
):
    labels, _ = folders["rise"]
    rows = tmp_path / "work" / "embedding.npy"
    whole = anchor_model.kmeans_centers

    def spoil(*args, **kwargs):
        flip(rows, 0.9)
        return whole(*args, **kwargs)

    monkeypatch.setattr(anchor_model, "kmeans_centers", spoil)
    with pytest.raises(ValueError, match=r"embedding\.npy is damaged: the digest"):
        fit("rise", tmp_path / "work")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="embedding.npy is missing; stage 'embedding'"):
        model = fit("rise", tmp_path / "work")
    np.testing.assert_array_equal(model.labels_, labels)


class TestPlan:
    @pytest.mark.parametrize(
        "text",
        [
            *("", "{", "[]", "null", "3", "{}", "[" * 100_000),
            '{"plan": 1, "finished": [], "crc32": 0}',
        ],
    )
    def test_of_another_shape_is_refused(self, folders, tmp_path, text):
        shutil.copytree(folders["rise"][1]["stopped"], tmp_path / "work")
        (tmp_path / "work" / "plan.json").write_text(text)
        left = files_in(tmp_path / "work")
        message = r"work_dir='.*work' .*plan.json is damaged.*delete the folder, or"
        with pytest.raises(ValueError, match=message):
            fit("rise", tmp_path / "work")
        assert files_in(tmp_path / "work") == left

    def test_with_another_digit_is_damaged_and_not_of_another_run(
        self, folders, tmp_path
    ):
        shutil.copytree(folders["rise"][1]["stopped"], tmp_path / "work")
        plan = tmp_path / "work" / "plan.json"
        text = plan.read_text().replace('"n_clusters": 2', '"n_clusters": 3')
        plan.write_text(text)
        with pytest.raises(ValueError, match="its digest is another"):
            fit("rise", tmp_path / "work")

    def test_is_written_after_the_files_of_a_finished_stage(
        self, tmp_path, monkeypatch
    ):
        """Whatever the plan calls finished was made durable before."""
        synced, fsync, finished = set(), os.fsync, {}
        write = _folder._write_plan

        def note(handle):
            synced.add(os.fstat(handle).st_ino)
            fsync(handle)

        def check(folder, plan, stages):
            for stage in stages:
                finished[stage] = True
                for file in [folder / stage, *folder.glob(f"{stage}*")]:
                    parts = [file, *file.iterdir()] if file.is_dir() else [file]
                    for part in filter(lambda own: own.exists(), parts):
                        assert part.stat().st_ino in synced, part
            assert folder.stat().st_ino in synced or not stages
            write(folder, plan, stages)

        monkeypatch.setattr(os, "fsync", note)
        monkeypatch.setattr(_folder, "_write_plan", check)
        fit("rise", tmp_path / "work")
        assert {"mask", "graph", "statistics", "embedding", "labels"} <= set(finished)


def test_a_temporary_folder_is_not_made_durable(monkeypatch):
    def refuse(handle):
        raise AssertionError("this goes with the process")

    monkeypatch.setattr(os, "fsync", refuse)
    fit("rise", None, memory_budget="1MiB")


@pytest.mark.parametrize("below", ["", "run1"])
def test_a_file_in_the_place_of_the_folder_is_named(tmp_path, below):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(NotADirectoryError, match=r"work_dir='.*file.*file is a file; "):
        fit("rise", tmp_path / "file" / below)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize(
    ("name", "put", "kind"),
    [
        ("survey.state", os.mkdir, "a folder"),
        ("graph/000001.block", os.mkdir, "a folder"),
        ("plan.json", os.mkdir, "a folder"),
        ("labels.npy", lambda path: os.symlink("lost", path), "neither a file nor"),
        ("seeds.state", lambda path: os.mkfifo(path), "neither a file nor a folder"),
        ("graph", lambda path: path.write_text("mine"), "a file"),
    ],
)
def test_what_no_run_puts_there_is_named_and_stays(folders, tmp_path, name, put, kind):
    labels, by_kind = folders["rise"]
    work = tmp_path / "work"
    shutil.copytree(by_kind["finished"], work)
    strange = work / name
    shutil.rmtree(strange) if strange.is_dir() else strange.unlink()
    put(strange)
    with pytest.raises(FileExistsError, match=f"{name} is {kind}.*; remove it, then"):
        fit("rise", work)
    assert os.path.lexists(strange)
    if name != "plan.json":
        strange.rmdir() if strange.is_dir() else strange.unlink()
        np.testing.assert_array_equal(fit_and_hear("rise", work)[0], labels)


NO_ROOM = "free some space there, or write to another disk"


def names_in(folder):
    return {
        file.name for file in folder.rglob("*") if file.suffix in (".npy", ".block")
    }


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT], ids=os.strerror)
@pytest.mark.parametrize("at", range(1, 40, 6))
def test_a_disk_that_is_full_is_named_and_the_run_goes_on(
    folders, tmp_path, monkeypatch, code, at
):
    labels, calls = folders["rise"][0], []
    whole = _checked_files._Summing.write

    def write(file, data):
        calls.append(len(data))
        if len(calls) >= at:
            raise OSError(code, os.strerror(code))
        return whole(file, data)

    monkeypatch.setattr(_checked_files._Summing, "write", write)
    with pytest.raises(OSError, match=f"{NO_ROOM}.*{re.escape(str(tmp_path))}") as e:
        fit("rise", tmp_path / "work")
    assert e.value.errno == code
    assert not any(tmp_path.rglob(".*.??????*"))
    monkeypatch.undo()
    found, told = fit_and_hear("rise", tmp_path / "work")
    assert told == []
    np.testing.assert_array_equal(found, labels)


class Raw:
    """A raw file that takes a few bytes at once, and none at all when it is full."""

    def __init__(self, file, step, room):
        self.file, self.step, self.room = file, step, room

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def seek(self, at):
        self.file.seek(at)

    def write(self, data):
        count = min(self.step, self.room)
        self.room -= count
        return self.file.write(data[:count])


@pytest.mark.parametrize("room", [10**9, 1000])
def test_short_writes_lose_nothing(folders, tmp_path, monkeypatch, room):
    labels = folders["rise"][0]

    def open_raw(path, mode, buffering=-1):
        file = open(path, mode, buffering=buffering)
        return Raw(file, 7, room) if buffering == 0 else file

    monkeypatch.setattr(_block_files, "open", open_raw, raising=False)
    if room < 10**9:
        with pytest.raises(OSError, match=rf"{NO_ROOM}.*embedding\.npy"):
            fit("rise", tmp_path / "work")
        assert "embedding.npy" not in names_in(tmp_path / "work")
        monkeypatch.undo()
    found, told = fit_and_hear("rise", tmp_path / "work")
    assert told == []
    np.testing.assert_array_equal(found, labels)


def test_a_limit_on_the_size_of_files_is_named_and_the_run_goes_on(folders, tmp_path):
    """The system itself refuses to write on."""
    pytest.importorskip("resource")
    script = textwrap.dedent(
        """
        import resource, sys
        import test_work_folder as here

        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))
        try:
            here.fit("rise", sys.argv[1])
        except OSError as error:
            print(error.strerror, error.filename)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "work")],
        capture_output=True,
        text=True,
        check=True,
        cwd=os.path.dirname(__file__),
    )
    assert re.search(rf"{NO_ROOM}. .*graph.000000\.block$", done.stdout.strip())
    assert names_in(tmp_path / "work") == {f"00000{i}.block" for i in range(3)}
    assert not any((tmp_path / "work" / "graph").iterdir())
    found, told = fit_and_hear("rise", tmp_path / "work")
    assert told == []
    np.testing.assert_array_equal(found, folders["rise"][0])
