"""The files of a run, written all together into one folder."""

import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from imvc.io import OutputFolder, take_rows, write_labels
from imvc.report import write_cluster_page
from imvc.scale import BlockSource, save_rows
from imvc.workflow._fit import methods_that
from imvc.workflow._input_files import BlockFiles
from imvc.workflow._run_json import make_record
from imvc.workflow._stages import Stages
from imvc.workflow._unfinished import UnfinishedRun

if TYPE_CHECKING:
    from imvc.workflow._cluster_run import ClusterRun


_Writer = Callable[[Path], Any]
# All that a run may write: an older run's files of these names give way together.
_FILES = (
    "labels.csv",
    "labels.parquet",
    "embedding.parquet",
    "embedding.csv",
    "labels.npy",
    "embedding.npy",
    "ids.csv",
    "model.imvc",
    "patterns.svg",
    "report.html",
    "run.json",
)
_FOLDERS = ("labels.zarr", "embedding.zarr")
OUT_OF_CORE_NOTE = (
    "Confidence, explanation and report.html need all samples in memory; they are "
    "left out."
)
_KEPT_SAMPLES = 10_000  # in the model of an out-of-core run: enough for a median


class ResultFolder(OutputFolder):
    """The folder of a run; beside files it takes zarr arrays, which are folders."""

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool) -> None:
        super().__init__(path, overwrite=overwrite, names=_FILES)
        self._arrays: list[Path] = []
        # Not needed any more once the results are in place.
        self.finished_work: UnfinishedRun | None = None

    def __enter__(self) -> "ResultFolder":
        for name in _FOLDERS:
            if not self.overwrite and os.path.lexists(self.path / name):
                raise ValueError(
                    f"{self.path}: already holds results ({name}); choose another "
                    f"folder or pass --overwrite (overwrite=True)."
                )
        super().__enter__()
        return self

    def stage(self, name: str) -> Path:
        """Path to write a file or a zarr array to now; it appears at the end."""
        if name not in _FOLDERS:
            return super().stage(name)
        self._arrays.append(super().stage("run.json").with_name(name))
        return self._arrays[-1]

    def place_arrays(self) -> None:
        """Move zarr arrays into place, and remove those of an earlier run."""
        for name in _FOLDERS:
            if (self.path / name).is_dir():
                shutil.rmtree(self.path / name)
        for array in self._arrays:
            os.rename(array, self.path / array.name)

    def __exit__(self, kind: Any, *error: Any) -> None:
        super().__exit__(kind, *error)
        if kind is None and self.finished_work is not None:
            self.finished_work.remove()


def output_folder(path: Any, *, overwrite: bool = False) -> ResultFolder:
    """The folder of a run, to be taken before the work begins.

    Parameters
    ----------
    path : path-like
    overwrite : bool, default=False
        Whether files of an earlier run may be replaced.

    Returns
    -------
    OutputFolder
        A context manager for `ClusterRun.save`; refuses a folder that holds a run, or
        that another process is writing to.
    """
    return ResultFolder(path, overwrite=overwrite)


def save_run(
    run: "ClusterRun", folder: ResultFolder, stages: Stages, *, report: bool
) -> dict[str, Path]:
    """Write a run; see `ClusterRun.save`."""
    staged = {}
    with nullcontext() if run.work is None else run.work.kept(stages):
        with stages.run("write"):
            writers = _writers_by_blocks if run.out_of_core else _writers
            for name, write in writers(run):
                staged[name] = folder.stage(name)
                write(staged[name])
        if report and not run.out_of_core:
            with stages.run("report"):
                staged["report.html"] = folder.stage("report.html")
                write_cluster_page(run.to_report(), staged["report.html"])
    notes = _not_written(run)
    for note in notes:
        stages.say(note)
    run.seconds.update(stages.seconds)
    # Last, since it has the checksums of the others.
    record = make_record(run, folder.path, staged, notes)
    folder.write("run.json", json.dumps(record, indent=1) + "\n")
    folder.place_arrays()
    folder.finished_work = run.work
    return {name: folder.path / name for name in (*staged, "run.json")}


def _writers(run: "ClusterRun") -> Iterator[tuple[str, _Writer]]:
    """Name and writer of every file but the report."""
    assert run.inspection is not None
    ids, columns, Y = run.sample_ids, run.columns(), run.model.embedding_
    coordinates = {f"y{j}": Y[:, j] for j in range(Y.shape[1])}
    tables = {"labels.csv": columns, "embedding.csv": coordinates}
    if has_parquet():
        tables["labels.parquet"] = columns
        tables["embedding.parquet"] = tables.pop("embedding.csv")
    for name, table in tables.items():
        yield name, partial(write_labels, ids=ids, columns=table)
    if hasattr(run.model, "save"):
        if run.preparation is not None:
            # New files get the same treatment; `save` keeps attributes that end so.
            run.model.preparation_ = run.preparation.to_dict()
        run.model.no_structure_ = run.no_structure  # whoever predicts is told
        yield "model.imvc", run.model.save
    picture = run.inspection.to_svg()
    yield "patterns.svg", lambda path: path.write_text(picture, encoding="utf-8")


def _writers_by_blocks(run: "ClusterRun") -> Iterator[tuple[str, _Writer]]:
    """Name and writer of every file of an out-of-core run."""
    assert isinstance(run.inputs, BlockFiles)
    assert isinstance(run.views, BlockSource)
    kind, model, source = run.inputs.result_format, run.model, run.views
    has_ids = source.n_blocks > 0 and source.ids(0) is not None
    tabular = kind in ("parquet", "csv")

    def rows(array: Any, with_ids: bool) -> _Writer:
        ids = (source.ids(i) for i in range(source.n_blocks)) if with_ids else None
        return lambda path: save_rows(path, array, ids)

    yield f"labels.{kind}", rows(model.labels_, has_ids and tabular)
    yield f"embedding.{kind}", rows(model.embedding_, has_ids and tabular)
    if has_ids and not tabular:
        yield "ids.csv", rows(np.empty((source.n_samples, 0)), True)
    if has_ids:
        source.check_unchanged()  # they were read from the files again
    yield "model.imvc", partial(_save_with_few_samples, model)


def _save_with_few_samples(model: Any, path: Path) -> None:
    """Save the model with labels and embedding of some samples spread over all.

    New samples are judged by the margins of these; all the others are in files.
    """
    labels, Y = model.labels_, model.embedding_
    some = np.linspace(0, len(labels) - 1, min(len(labels), _KEPT_SAMPLES))
    some = some.astype(np.int64)
    model.labels_, model.embedding_ = labels[some], take_rows(Y, some)
    try:
        model.save(path)
    finally:
        model.labels_, model.embedding_ = labels, Y


def _not_written(run: "ClusterRun") -> list[str]:
    if run.out_of_core:
        return [OUT_OF_CORE_NOTE]
    notes = []
    if not has_parquet():
        notes.append(
            "labels.parquet is not written, embedding.csv instead of .parquet: pyarrow "
            "is missing (pip install 'imvc[io]')."
        )
    if not hasattr(run.model, "save"):
        *others, last = methods_that("predicts")
        notes.append(
            f"model.imvc is not written: {run.method} has no rule for new samples "
            f"({', '.join(others)} and {last} have)."
        )
    return notes


def has_parquet() -> bool:
    """Whether Parquet files can be written."""
    return importlib.util.find_spec("pyarrow") is not None
