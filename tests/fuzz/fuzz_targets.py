"""What is fuzzed: for every format good files, and the reading of damaged ones."""

import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import mock
from zlib import crc32

import fuzz_seeds
import numpy as np
from fuzz_mutate import mutate_files, pick


@dataclass(frozen=True)
class Target:
    """One format.

    Parameters
    ----------
    make : callable
        Writes good files, each seed into a folder of its own below the one given.
    read : callable
        Reads the files of a folder, as ``read(folder, guard)``.
    damaged : str
        Files that are damaged, a regular expression of their names.
    guarded : bool
        Whether the command line reads such files in another process first. What hangs
        or crashes is then no finding, if that process tells it.
    """

    make: Callable
    read: Callable
    damaged: str = ".*"
    guarded: bool = False


# How files are read


def _path(folder):
    """The file, or the folder that is one, called v.something; else the only one."""
    found = sorted(folder.glob("v*"), key=lambda p: (p.suffix in (".rows", ".cols"), p))
    return found[0] if found else folder / "v.csv"


def read_table(folder, guard):
    from imvc.io import read_file

    for table in read_file(_path(folder), guard=guard):
        assert table.values.shape == (table.n_rows, len(table.features))


def read_rows(folder, guard):
    from imvc import RISE
    from imvc.workflow import BlockFiles
    from imvc.workflow._stages import Stages

    files = BlockFiles([_path(folder)], memory_budget=10**7, guard=guard)
    source = files.open(RISE(2), Stages(None))
    for i in range(source.n_blocks):
        source.block(i)
        source.ids(i)


def read_metadata(folder, guard):
    from imvc.io import read_metadata

    read_metadata(_path(folder), guard=guard)


def read_labels(folder, guard):
    from imvc.workflow._compare import read_classes

    read_classes(_path(folder), guard=guard)


def read_id_map(folder, guard):
    from imvc.io.ids._id_map import read_id_map

    read_id_map(_path(folder))


def read_suite(folder, guard):
    from imvc.experiments import load_suite

    for size in ("quick", "full"):
        load_suite(_path(folder), size)


def read_dataset(folder, guard):
    from imvc.datasets import load_dataset

    load_dataset("v", folder)


def read_model(folder, guard):
    from imvc import load_model

    Xs, mask = fuzz_seeds.planted()
    model = load_model(_path(folder))
    labels = model.predict(Xs, mask=mask)
    assert labels.min() >= 0
    assert labels.max() < len(model.cluster_centers_)
    if hasattr(model, "_samples"):
        model.update(Xs, mask=mask)


def predict_files(folder, guard):
    from imvc.workflow import predict

    out = folder / "out"
    paths = [folder / "v0.csv", folder / "v1.csv"]
    predict(out, paths, metadata=folder / "about.csv")


class _Reached(Exception):
    """The record was good enough to fit a model."""


def repeat_run(folder, guard):
    from imvc.workflow import repeat

    with mock.patch("imvc.workflow._cluster.fit_model", side_effect=_Reached):
        try:
            repeat(folder / "out", force=True)
        except _Reached:
            pass


def resume_fit(folder, guard):
    """Labels are those of a fit that nothing disturbed, or an error names a file."""
    from imvc import RISE

    Xs, mask = fuzz_seeds.planted()
    options = {"n_anchors": 6, "random_state": 0}
    model = RISE(2, **options, work_dir=folder / "work", memory_budget=20_000)
    labels = model.fit(Xs, mask=mask).labels_
    if not np.array_equal(labels, _undisturbed()):
        raise AssertionError("other labels without a word")


@cache
def _undisturbed():
    from imvc import RISE

    Xs, mask = fuzz_seeds.planted()
    return RISE(2, n_anchors=6, random_state=0).fit(Xs, mask=mask).labels_


TARGETS = {
    "csv": Target(fuzz_seeds.csv, read_table),
    "xlsx": Target(fuzz_seeds.xlsx, read_table, guarded=True),
    "xls": Target(fuzz_seeds.xls, read_table, guarded=True),
    "ods": Target(fuzz_seeds.ods, read_table, guarded=True),
    "npy": Target(fuzz_seeds.npy, read_table),
    "npz": Target(fuzz_seeds.npz, read_table),
    "parquet": Target(fuzz_seeds.parquet, read_table, guarded=True),
    "feather": Target(fuzz_seeds.feather, read_table, guarded=True),
    "h5ad": Target(fuzz_seeds.h5ad, read_table, guarded=True),
    "h5mu": Target(fuzz_seeds.h5mu, read_table, guarded=True),
    "mat": Target(fuzz_seeds.mat, read_table),
    "mat73": Target(fuzz_seeds.mat73, read_table, guarded=True),
    "mtx": Target(fuzz_seeds.mtx, read_table),
    "rows-npy": Target(fuzz_seeds.npy, read_rows),
    "rows-parquet": Target(fuzz_seeds.parquet_rows, read_rows, guarded=True),
    "rows-zarr": Target(fuzz_seeds.zarr, read_rows),
    "rows-h5ad": Target(fuzz_seeds.h5ad, read_rows, guarded=True),
    "rows-h5mu": Target(fuzz_seeds.h5mu, read_rows, guarded=True),
    "metadata": Target(fuzz_seeds.metadata, read_metadata, guarded=True),
    "labels": Target(fuzz_seeds.labels, read_labels, guarded=True),
    "id-map": Target(fuzz_seeds.id_map, read_id_map),
    "suite": Target(fuzz_seeds.suite, read_suite),
    "dataset": Target(fuzz_seeds.dataset, read_dataset),
    "model": Target(fuzz_seeds.model, read_model),
    "model-of-files": Target(fuzz_seeds.run, predict_files, damaged=r"model\.imvc"),
    "run-json": Target(fuzz_seeds.run, repeat_run, damaged=r"run\.json"),
    "work-dir": Target(fuzz_seeds.work_dir, resume_fit),
}


# One case


def case_files(name, seed):
    """The files of a case, by their names; the same ones whenever it is asked for."""
    rng = np.random.default_rng([crc32(name.encode()), seed])
    files, target = pick(rng, _seeds(name)), TARGETS[name]
    own = {n: d for n, d in files.items() if re.fullmatch(target.damaged, Path(n).name)}
    rest = {n: d for n, d in files.items() if n not in own}
    return {**mutate_files(own, rng), **rest}


@cache
def _seeds(name):
    """Good files of a target: a list of dicts of names to bytes."""
    root = Path(tempfile.mkdtemp(prefix="fuzz-seeds-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[name].make(root)
        return [
            {
                path.relative_to(folder).as_posix(): path.read_bytes()
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            }
            for folder in sorted(root.iterdir())
        ]
    finally:
        shutil.rmtree(root)


def run_case(name, files, folder, guard=False):
    """``(outcome, message)`` of reading files: "read", "refused" or a finding."""
    for own, data in files.items():
        path = folder / own
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    known = {part for own in (*files, "v.csv") for part in Path(own).parts}
    known.add(folder.name)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            TARGETS[name].read(folder, guard)
        except Exception as error:
            return _judged(error, known)
    for own in told:
        if issubclass(own.category, RuntimeWarning):
            return "warning", f"{own.category.__name__}: {own.message}"
    return "read", ""


def _judged(error, known):
    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, ValueError | OSError | TypeError):
        return "raw error", text
    if not any(part in text for part in known):
        return "no file named", text
    return "refused", text
