"""The files of a run, written all together into one folder."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from imvc.io import OutputFolder, write_labels
from imvc.report import write_cluster_page
from imvc.workflow._record import make_record
from imvc.workflow._stages import Progress, Stages

if TYPE_CHECKING:
    from imvc.workflow._cluster import ClusterRun

__all__ = ["RUN_FILES", "output_folder", "save_run"]

# All that a run may write: an older run's files of these names give way together.
RUN_FILES = (
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


def output_folder(path: Any, *, overwrite: bool = False) -> OutputFolder:
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
    return OutputFolder(path, overwrite=overwrite, names=RUN_FILES)


def save_run(
    run: "ClusterRun",
    folder: Any,
    *,
    report: bool,
    overwrite: bool,
    progress: Callable[[Progress], None] | None,
) -> dict[str, Path]:
    """Write a run; see `ClusterRun.save`."""
    if not isinstance(folder, OutputFolder):
        with output_folder(folder, overwrite=overwrite) as taken:
            return save_run(
                run, taken, report=report, overwrite=overwrite, progress=progress
            )
    stages = Stages(progress)
    staged, notes = {}, []
    with stages.run("write"):
        for name, write in _writers(run):
            if write is None:
                continue
            staged[name] = folder.stage(name)
            write(staged[name])
        notes = _not_written(run)
    if report:
        with stages.run("report"):
            staged["report.html"] = folder.stage("report.html")
            write_cluster_page(run.to_report(), staged["report.html"])
    for note in notes:
        stages.say(note)
    run.seconds.update(stages.seconds)
    # Last, since it has the checksums of the others.
    record = make_record(run, folder.path, staged, notes)
    folder.write("run.json", json.dumps(record, indent=1) + "\n")
    return {name: folder.path / name for name in (*staged, "run.json")}


def _writers(run: "ClusterRun") -> Iterator[tuple[str, Any]]:
    """Name and writer of every file but the report; None where it cannot be written."""
    ids, columns = run.sample_ids, run.columns()
    parquet = has_parquet()
    yield "labels.csv", lambda path: write_labels(path, ids, columns)
    yield (
        "labels.parquet",
        (lambda path: write_labels(path, ids, columns)) if parquet else None,
    )
    name = "embedding.parquet" if parquet else "embedding.csv"
    yield name, lambda path: write_labels(path, ids, _coordinates(run.model.embedding_))
    yield "model.imvc", _save_model(run)
    yield (
        "patterns.svg",
        lambda path: path.write_text(run.inspection.to_svg(), encoding="utf-8"),
    )


def _save_model(run: "ClusterRun") -> Callable[[Path], None] | None:
    if not hasattr(run.model, "save"):
        return None
    if run.preparation is not None:
        # New files get the same treatment; `save` keeps attributes that end so.
        run.model.preparation_ = run.preparation.to_dict()
    return run.model.save


def _coordinates(Y: np.ndarray) -> dict[str, np.ndarray]:
    return {f"y{j}": Y[:, j] for j in range(Y.shape[1])}


def _not_written(run: "ClusterRun") -> list[str]:
    notes = []
    if not has_parquet():
        notes.append(
            "labels.parquet is not written, embedding.csv instead of .parquet: pyarrow "
            "is missing (pip install 'imvc[io]')."
        )
    if not hasattr(run.model, "save"):
        notes.append(
            f"model.imvc is not written: {run.method} has no rule for new samples "
            f"(bridge and rise have)."
        )
    return notes


def has_parquet() -> bool:
    """Whether Parquet files can be written."""
    return importlib.util.find_spec("pyarrow") is not None
