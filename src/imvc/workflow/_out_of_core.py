"""cluster_out_of_core: from files larger than memory to a folder of results."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from imvc.io import OutputFolder
from imvc.io._write_rows import check_format, take_rows
from imvc.scale import BlockSource, open_source, parse_bytes, save_rows
from imvc.scale._run import block_budget
from imvc.workflow._block_files import BlockFiles, UnfinishedRun
from imvc.workflow._model import fit_model, make_model
from imvc.workflow._record import (
    FORMAT,
    FORMAT_VERSION,
    _machine,
    _parameters,
    package_versions,
)
from imvc.workflow._save import RUN_FILES
from imvc.workflow._source import fingerprint_of
from imvc.workflow._stages import Progress, Stages

__all__ = ["OutOfCoreRun", "cluster_out_of_core"]

FORMATS = ("parquet", "zarr", "npy", "csv")
METHODS = ("bridge", "rise")
WORK_FOLDER = ".imvc-work"
_FILES = (*RUN_FILES, "labels.npy", "embedding.npy", "ids.csv")
_FOLDERS = ("labels.zarr", "embedding.zarr")
_KEPT_SAMPLES = 10_000  # in model.imvc: enough for a median
_PASSED_APART = ("memory_budget", "work_dir", "verbose")
_NOTE = (
    "Confidence, explanation and report.html need all samples in memory; they are "
    "left out."
)


@dataclass(frozen=True)
class OutOfCoreRun:
    """What `cluster_out_of_core` did; the results themselves are in files.

    Parameters
    ----------
    summary : dict
        The result in a few numbers, in JSON's types.
    written : dict of str to Path
        The files, by name.
    notes, warnings : tuple of str
    seconds : dict of str to float
        By stage; those of the fit alone are in ``run.json``.
    """

    summary: dict[str, Any]
    written: dict[str, Path]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: dict[str, float]


def cluster_out_of_core(
    files: BlockFiles,
    folder: str | os.PathLike[str],
    *,
    n_clusters: int | Sequence[int] | None = None,
    method: str = "bridge",
    parameters: Mapping[str, Any] | None = None,
    random_state: int | None = 0,
    memory_budget: int | str = "1GiB",
    work_dir: str | os.PathLike[str] | None = None,
    result_format: str = "parquet",
    overwrite: bool = False,
    verbose: int = 0,
    command: Sequence[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> OutOfCoreRun:
    """Cluster files that do not fit into memory: ``imvc cluster --out-of-core``.

    Writes labels and embedding (with the ids of the samples, or their numbers where
    they have none), ``model.imvc`` and ``run.json``. A run that was killed goes on
    from its finished stages when the same is asked for again.

    Parameters
    ----------
    files : BlockFiles
    folder : path-like
        Where to write. Everything appears in it at the end.
    n_clusters : int, optional
        Without it AnchorBridge suggests a number; RISE needs it.
    method : {"bridge", "rise"}
    parameters : mapping, optional
        Parameters of the method beside the defaults.
    random_state : int, default=0
    memory_budget : int or str, default="1GiB"
        Memory of the whole fit, apart from the labels.
    work_dir : path-like, optional
        Folder for what is not finished; it is kept. By default a hidden one in
        `folder`, which is removed at the end.
    result_format : {"parquet", "zarr", "npy", "csv"}
        Of labels and embedding. With "zarr" and "npy", ids go to ``ids.csv``.
    overwrite : bool, default=False
        Whether files of an earlier run, finished or not, may be replaced.
    verbose : int, default=0
        1: stages and a progress bar over blocks on standard error.
    command : sequence of str, optional
        The command line, for the record.
    progress : callable, optional
        Called with a `Progress`.

    Returns
    -------
    OutOfCoreRun
    """
    stages = Stages(progress)
    model = _make_model(method, n_clusters, parameters or {}, random_state)
    _check_request(result_format, memory_budget, folder, overwrite)
    views = files.views()
    with OutputFolder(folder, overwrite=overwrite, names=_FILES) as output:
        work = UnfinishedRun(
            Path(output.path / WORK_FOLDER if work_dir is None else work_dir),
            own=work_dir is None,
        )
        model.set_params(
            memory_budget=memory_budget, work_dir=str(work.path), verbose=verbose
        )
        with work.kept(stages):
            source: Any = _open(views, files.mask, model, stages)
            resumed = work.take(model, source, stages, overwrite=overwrite)
            found = fit_model(model, source, stages, expected=0.0)
            summary = _summary(model, method, source, resumed)
            with stages.run("write"):
                staged = _write(output, model, source, result_format)
        stages.say(_NOTE)
        record = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": None if command is None else list(command),
            "request": _request(model, method, files, result_format),
            "result": summary,
            "notes": [_NOTE],
            "warnings": list(found),
            "seconds": stages.seconds,
            **_circumstances(model, source),
            "outputs": {name: _mark(path) for name, path in staged.items()},
        }
        output.write("run.json", json.dumps(record, indent=1) + "\n")
        _place_folders(output.path, staged)
    work.remove()
    names = (*staged, "run.json")
    written = {name: Path(folder) / name for name in names}
    return OutOfCoreRun(summary, written, (_NOTE,), found, stages.seconds)


def _make_model(method, n_clusters, parameters, random_state):
    if method not in METHODS:
        raise ValueError(
            f"method {method!r} needs all samples in memory; out of core there are "
            f"{' and '.join(METHODS)}."
        )
    for name in _PASSED_APART:
        if name in parameters:
            option = name.replace("_", "-")
            raise ValueError(
                f"parameter {name!r} has an argument of its own (--{option}); leave "
                f"it out of the parameters."
            )
    return make_model(method, n_clusters, parameters, random_state)


def _check_request(result_format, memory_budget, folder, overwrite):
    """Tell what is wrong before hours are spent."""
    if result_format not in FORMATS:
        raise ValueError(
            f"result_format={result_format!r} must be one of {', '.join(FORMATS)}."
        )
    check_format(f"labels.{result_format}")
    parse_bytes(memory_budget)
    for name in _FOLDERS:
        if not overwrite and os.path.lexists(Path(folder) / name):
            raise ValueError(
                f"{folder}: already holds results ({name}); choose another folder or "
                f"pass --overwrite (overwrite=True)."
            )


def _open(views, mask, model, stages) -> BlockSource:
    with stages.run("open"):
        return open_source(
            views,
            None if mask is None else os.fspath(mask),
            memory_budget=block_budget(model.memory_budget, model.n_jobs),
            work_dir=model.work_dir,
        )


def _summary(model, method, source, resumed) -> dict[str, Any]:
    labels = model.labels_
    n_clusters = len(model.cluster_centers_)
    return {
        "method": method,
        "n_samples": source.n_samples,
        "views": dict(zip(source.names, source.n_features)),
        "n_clusters": n_clusters,
        "suggested": not isinstance(model.n_clusters, int | np.integer),
        "evidence": getattr(model, "evidence_", None),
        "sizes": np.bincount(labels, minlength=n_clusters).tolist(),
        "pattern_leakage": float(model.pattern_leakage_),
        "blocks": source.n_blocks,
        "resumed": list(resumed),
    }


def _write(output, model, source, result_format) -> dict[str, Path]:
    """Labels, embedding and model, not yet in place."""
    has_ids = source.n_blocks > 0 and source.ids(0) is not None
    tabular = result_format in ("parquet", "csv")
    staged = {}

    def save(name, array, ids):
        # Folders are moved into place by `_place_folders`.
        held = name in _FOLDERS
        path = output.stage("run.json").with_name(name) if held else output.stage(name)
        staged[name] = save_rows(path, array, ids)

    def ids():
        return (source.ids(i) for i in range(source.n_blocks)) if has_ids else None

    for kind, array in (("labels", model.labels_), ("embedding", model.embedding_)):
        save(f"{kind}.{result_format}", array, ids() if tabular else None)
    if has_ids and not tabular:
        save("ids.csv", np.empty((source.n_samples, 0)), ids())
    staged["model.imvc"] = output.stage("model.imvc")
    with _few_samples(model):
        model.save(staged["model.imvc"])
    return staged


@contextmanager
def _few_samples(model) -> Iterator[None]:
    """The model with labels and embedding of some samples spread over all.

    New samples are judged by the margins of these; all the others are in files.
    """
    labels, Y = model.labels_, model.embedding_
    some = np.linspace(0, len(labels) - 1, min(len(labels), _KEPT_SAMPLES))
    some = some.astype(np.int64)
    model.labels_, model.embedding_ = labels[some], take_rows(Y, some)
    try:
        yield
    finally:
        model.labels_, model.embedding_ = labels, Y


def _request(model, method, files, result_format) -> dict[str, Any]:
    """What was asked for, as ``run.json`` keeps it."""
    parameters, lost = _parameters(model.get_params())
    for name in _PASSED_APART:
        parameters.pop(name, None)
    return {
        "method": method,
        "n_clusters": parameters.pop("n_clusters", None),
        "random_state": parameters.pop("random_state", None),
        "n_refits": 0,
        "parameters": parameters,
        "not_kept": lost,
        "inputs": None,
        "out_of_core": {
            **files.to_dict(),
            "memory_budget": model.memory_budget,
            "result_format": result_format,
        },
    }


def _circumstances(model, source) -> dict[str, Any]:
    """With what, and in what time and memory, a result was found."""
    return {
        "files": [],  # those known by SHA-256; `data` are known by size and time
        "data": source.fingerprint,
        "fit_seconds": dict(model.stage_seconds_),
        "peak_memory_bytes": _peak_memory(),
        "versions": package_versions(),
        "machine": _machine(),
    }


def _mark(path: Path) -> dict[str, Any]:
    """By what a written file, or a folder of chunks, is known again."""
    if path.is_dir():
        chunks = [file for file in path.rglob("*") if file.is_file()]
        return {"bytes": sum(file.stat().st_size for file in chunks)}
    return {k: v for k, v in fingerprint_of(path).items() if k != "path"}


def _place_folders(path: Path, staged: Mapping[str, Path]) -> None:
    """Move folders into place, and remove those of an earlier run."""
    for name in _FOLDERS:
        if (path / name).is_dir():
            shutil.rmtree(path / name)
        if name in staged:
            os.rename(staged[name], path / name)


def _peak_memory() -> int | None:
    """Most bytes that this process has had in memory."""
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    with suppress(ImportError):  # Windows
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * 1024
    return None
