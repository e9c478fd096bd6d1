"""Whatever happens to the files of a working folder, the same fit ends the same."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import warnings

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
    return [
        np.where(seen[:, None], X, np.nan) for X, seen in zip(data.Xs, data.mask.T)
    ]


XS = planted()
BLOCKS = [[X[a:b] for X in XS] for a, b in zip(CUTS, CUTS[1:])]


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
    """Let the ``at``-th call of a function be an end of power; returns what mends."""
    whole, calls = getattr(module, name), []

    def stop(*args, **kwargs):
        calls.append(name)
        if len(calls) == at:
            raise RuntimeError("power is off")
        return whole(*args, **kwargs)

    monkeypatch.setattr(module, name, stop)
    return lambda: monkeypatch.setattr(module, name, whole)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Per method: its labels, a finished folder, and one that lacks the last block."""
    root, found = tmp_path_factory.mktemp("folders"), {}
    with pytest.MonkeyPatch.context() as monkeypatch, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        monkeypatch.setattr(_folder, "_SAVE_SECONDS", 0)
        for name in METHODS:
            finished, stopped = (root / f"{name} {kind}" for kind in ("whole", "part"))
            labels = np.array(fit(name, finished).labels_)
            mend = stop_in(monkeypatch, anchor_model, "label_block", 3)
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
    """All files that are read again, but the plan."""
    return [
        file.relative_to(folder)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name not in ("plan.json", ".lock")
    ]


@pytest.mark.parametrize("kind", ["finished", "stopped"])
@pytest.mark.parametrize("name", METHODS)
def test_a_damaged_file_is_named_and_its_stage_done_again(
    folders, name, kind, tmp_path
):
    labels, by_kind = folders[name]
    assert {"labels.npy", "labels.partial"} & {f.name for f in files_in(by_kind[kind])}
    for file in files_in(by_kind[kind]):
        for what, damage in DAMAGES.items():
            # What was not written yet is of no use to anybody.
            unused = what == "a bit at the tail" and file.suffix == ".partial"
            # The record of an unfinished pass: without it the pass is begun again.
            unused |= what == "the file" and file.suffix == ".reached"
            work = tmp_path / "work"
            shutil.copytree(by_kind[kind], work)
            damage(work / file)
            found, told = fit_and_hear(name, work)
            np.testing.assert_array_equal(found, labels, err_msg=f"{file}, {what}")
            named = [text for text in told if text.startswith(str(work / file))]
            assert len(named) == len(told) == (not unused), (file, what, told)
            assert all(text.endswith("is done again.") for text in told)
            again, told = fit_and_hear(name, work)
            assert told == []
            np.testing.assert_array_equal(again, labels)
            shutil.rmtree(work)
