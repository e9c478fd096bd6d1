"""run.json: what is needed to repeat a run."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imvc._machine import machine_info, package_versions, peak_memory
from imvc._plain import plain, wrong_key
from imvc.io import file_of
from imvc.io._errors import one_line
from imvc.scale import BlockSource
from imvc.workflow._input_files import BlockFiles, InputFiles, fingerprint_of

if TYPE_CHECKING:
    from imvc.workflow._cluster_run import ClusterRun


FORMAT, FORMAT_VERSION = "imvc-run", 1
_PACKAGES = (
    "imvc",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "pyarrow",
    "h5py",
    "anndata",
    "mudata",
    "zarr",
    "dask",
)
# What a record must hold to be repeated: the kind of every value.
_MARK = {"path": str, "relative": str, "sha256": str}
_RECORD = {
    "files": list[dict],
    "outputs": dict[str, dict],
    "request": dict[str, Any],
    "versions": dict[str, str],
    "command": list[str] | None,
}
_REQUEST = {
    "method": str,
    "n_clusters": int | list[int] | None,
    "random_state": int | None,
    "n_refits": int,
    "parameters": dict[str, Any],
    "survival": list[str] | None,
    "batch": str | None,
    "adjust": str | None,
    "not_kept": list[str],
    "inputs": dict[str, Any] | None,
}
_INPUTS = {
    "parts": list[int],
    "id_columns": str | dict[str, str] | list[str | None] | None,
    "names": list[str | None] | dict[str, str] | None,
    "columns": dict[str, Any],
    "transpose": bool | list[str],
    "preparation": dict[str, Any],
    "metadata": bool,
    "match_ids": str,
    "id_map": bool,
    "layer": str | None,
    "sheet": str | None,
}
_COLUMNS = {
    "kinds": dict[str, str],
    "ordinals": dict[str, list[str]],
    "drop": dict[str, list[str]],
    "keep": dict[str, list[str]],
    "metadata": list[str],
    "text": str,
}
_PREPARATION = {
    "empty_cells": str,
    "log1p": bool | list[str],
    "scale": str | dict[str, str] | None,
    "top_variance": int | dict[str, int] | None,
}
_GIVE = "give one that imvc cluster wrote, or its folder."
# Not needed to repeat a result: it does not depend on them.
_NOT_REPEATED = {"callback", "verbose", "n_jobs"}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that are installed."""
    return {"python": platform.python_version(), **package_versions(_PACKAGES)}


def _machine() -> dict[str, Any]:
    """What may change the last digits of a result; nothing that names the host."""
    info = machine_info()
    blas = {f"{name} {version}" for name, version, _ in info["blas"]}
    return {"system": info["system"], "cores": info["cores"], "blas": sorted(blas)}


def make_record(
    run: "ClusterRun", folder: Path, outputs: Mapping[str, Path], notes: Sequence[str]
) -> dict[str, Any]:
    """The content of ``run.json``; ``folder`` is where it will stand."""
    record = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": None if run.command is None else list(run.command),
        "request": _request(run),
        # Those known by SHA-256; files read by blocks are known by size and time.
        "files": [
            {**mark, "relative": _relative(mark["path"], folder)}
            for mark in run.fingerprints
        ],
        "result": run.summary(),
        "notes": list(dict.fromkeys([*run.notes, *notes])),
        "warnings": list(run.warnings),
        "seconds": run.seconds,
        "fit_seconds": dict(run.model.stage_seconds_),
        "versions": versions(),
        "machine": _machine(),
        "outputs": {name: _mark(path) for name, path in sorted(outputs.items())},
    }
    if run.cost is not None:
        estimate = {"seconds": run.cost.seconds, "bytes": int(run.cost.bytes)}
        record["estimate"] = estimate
    if isinstance(run.views, BlockSource):
        record["data"] = run.views.fingerprint
        record["peak_memory_bytes"] = peak_memory()
    return record


def _request(run: "ClusterRun") -> dict[str, Any]:
    """What was asked for."""
    parameters, lost = _parameters(run.model.get_params())
    request = {
        "method": run.method,
        # These two are asked for by name, not among the method's own parameters.
        "n_clusters": parameters.pop("n_clusters", None),
        "random_state": parameters.pop("random_state", None),
        "n_refits": run.n_refits,
        "parameters": parameters,
        "survival": _survival(run),
        **run.batches.asked.request,
        "not_kept": [*lost, *run.batches.asked.not_kept],
        "inputs": None,
    }
    if isinstance(run.inputs, BlockFiles):
        for name in ("memory_budget", "work_dir"):
            parameters.pop(name, None)
        request["out_of_core"] = run.inputs.to_dict()
    elif run.inputs is not None:
        request["inputs"] = run.inputs.to_dict()
    return request


def _survival(run: "ClusterRun") -> list[str] | None:
    """The two columns that survival was compared by."""
    found = None if run.associations is None else run.associations.survival
    return None if found is None else [found.time, found.event]


@dataclass(frozen=True)
class RunRecord:
    """A run as its ``run.json`` tells it.

    Parameters
    ----------
    path : Path
        Of the ``run.json``.
    content : dict
    """

    path: Path
    content: Mapping[str, Any]

    def checked_request(self) -> Mapping[str, Any]:
        """The request, or an error that says why it cannot be repeated."""
        request = self.content["request"]
        if "out_of_core" in request:
            command = " ".join(self.content.get("command") or ["imvc cluster ..."])
            raise ValueError(
                f"{self.path}: tells of an out-of-core run, which --from does not "
                f"repeat; give its command again with another output folder: {command}"
            )
        # Runs of older versions were not asked for survival or batches.
        request = {"survival": None, "batch": None, "adjust": None, **request}
        _check(self.path, request, _REQUEST, "request")
        if request["not_kept"]:
            raise ValueError(
                f"{self.path}: the parameter {request['not_kept'][0]!r} was no number "
                f"or text and was not kept; repeat the run in Python."
            )
        return request

    def same_labels(self, path: Path) -> bool:
        """Whether a ``labels.csv`` is, byte by byte, that of the run."""
        mark = self.content["outputs"].get("labels.csv", {})
        return fingerprint_of(path)["sha256"] == mark.get("sha256")

    def inputs(
        self,
        paths: Sequence[str | os.PathLike[str]] | None = None,
        guard: bool = False,
    ) -> InputFiles:
        """The input of the run: its files, or others of the same number and order.

        `guard` as in `InputFiles`.
        """
        options = self.checked_request()["inputs"]
        if options is None:
            raise ValueError(
                f"{self.path}: its views came from memory, not from files; repeat it "
                f"in Python with imvc.workflow.cluster."
            )
        recorded = self.content["files"]
        self._check_inputs(options, len(recorded))
        if not paths:
            found = [self._find(entry) for entry in recorded]
        else:
            found = [Path(path) for path in paths]
            if options["metadata"] and len(found) == len(recorded) - 1:
                found.append(self._find(recorded[-1]))
            if len(found) != len(recorded):
                raise ValueError(
                    f"{self.path}: the run had {len(recorded)} files, {len(found)} are "
                    f"given; give them all in the same order, or none."
                )
        try:
            return InputFiles.from_dict(options, found, guard)
        except (TypeError, ValueError) as error:  # a key or a value that is unknown
            what = f"request['inputs'] ({one_line(error)})"
            raise _altered(self.path, what) from error

    def _check_inputs(self, options: Mapping[str, Any], n_files: int) -> None:
        """Refuse options that are not those of so many files."""
        _check(self.path, options, _INPUTS, "inputs")
        _check(self.path, options["columns"], _COLUMNS, "columns")
        _check(self.path, options["preparation"], _PREPARATION, "preparation")
        parts, extra = options["parts"], options["metadata"] + options["id_map"]
        if min(parts, default=0) < 1 or sum(parts) + extra != n_files:
            raise _altered(self.path, "inputs['parts']")

    def check_files(self, inputs: InputFiles) -> list[str]:
        """Sentences about files that are not what they were in the run."""
        changed = []
        for path, entry in zip(inputs.all_paths(), self.content["files"]):
            if fingerprint_of(path)["sha256"] != entry["sha256"]:
                changed.append(f"{path}: not the file of that run (SHA-256 differs)")
        return changed

    def check_versions(self) -> list[str]:
        """Sentences about packages that are not what they were in the run."""
        here = versions()
        return [
            f"{name} was {was}, here is {here.get(name, 'missing')}"
            for name, was in self.content["versions"].items()
            if here.get(name) != was
        ]

    def beside(self, entry: Mapping[str, Any]) -> Path:
        """Where a file of the run is if it was moved together with the folder."""
        return Path(os.path.normpath(self.path.parent / entry["relative"]))

    def _find(self, entry: Mapping[str, Any]) -> Path:
        beside = self.beside(entry)
        for path in (beside, Path(entry["path"])):
            if file_of(path).is_file():
                return path
        raise FileNotFoundError(
            f"{entry['path']}: the file of that run is not there, nor at {beside}; "
            f"give the files again, in the same order."
        )


def read_record(path: str | os.PathLike[str]) -> RunRecord:
    """Read a ``run.json`` (or the one in a folder), with an error that names it."""
    path = Path(path)
    if path.is_dir():
        path = path / "run.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file; {_GIVE}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON ({error}); {_GIVE}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path}: is not a run.json of imvc cluster; {_GIVE}")
    if content.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path}: has format version {content.get('format_version')!r}, this imvc "
            f"reads {FORMAT_VERSION}; upgrade imvc."
        )
    content = {"command": None, **content}
    _check(path, content, _RECORD, "")
    for entry in content["files"]:
        _check(path, entry, _MARK, "files")
    return RunRecord(path, content)


def _check(
    path: Path, content: Mapping[str, Any], kinds: Mapping[str, Any], where: str
) -> None:
    """Refuse content that lacks a key or has a value of another kind."""
    key = wrong_key(content, kinds)
    if key is not None:
        raise _altered(path, f"{where}[{key!r}]" if where else repr(key))


def _altered(path: Path, what: str) -> ValueError:
    return ValueError(
        f"{path}: {what} is missing or not as imvc writes it; make the run again."
    )


def _parameters(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Parameters in JSON's types, and the names of those that have none."""
    kept, lost = {}, []
    for name, value in sorted(params.items()):
        if name in _NOT_REPEATED:
            continue
        try:
            kept[name] = plain(value)
        except TypeError:
            lost.append(name)
    return kept, lost


def _relative(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return path


def _mark(path: Path) -> dict[str, Any]:
    """By what a written file, or a folder of chunks, is known again."""
    if path.is_dir():
        chunks = [file for file in path.rglob("*") if file.is_file()]
        return {"bytes": sum(file.stat().st_size for file in chunks)}
    return {k: v for k, v in fingerprint_of(path).items() if k != "path"}
