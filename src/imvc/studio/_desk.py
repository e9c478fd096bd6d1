"""Desk: what the pages ask about files and runs; lives in a process of its own.

Every method takes and gives JSON's types (NaN is null), and only calls the library.
Errors are the library's own.

`files` are the entries of the project (`Project.entries`) with absolute paths, `joint`
is what they have in common, and `folder` the absolute path of a run.
"""

import json
import shutil
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from imvc._machine import available_memory
from imvc.methods import estimate_cost
from imvc.methods._registry import METHODS
from imvc.studio._choices import input_files
from imvc.studio._open_run import OpenRun, as_json, mark_of
from imvc.studio._reading import Readings
from imvc.workflow import (
    command_line,
    command_words,
    compare_runs,
    export_embedding,
    export_labels,
    python_script,
    script_text,
    write_table,
)
from imvc.workflow._commands import describing, quoted
from imvc.workflow._saved_run import read_labels

_KEPT = 4  # runs that stay open
_FOUND = 50  # features listed
_OUTPUT = "imvc_output"


class Desk:
    """Reads files, opens runs, and keeps what was read until it changes."""

    def __init__(self) -> None:
        self._readings = Readings()
        self._runs: OrderedDict[str, OpenRun] = OrderedDict()

    # Files

    def reading(self, files: list[dict], joint: dict) -> dict[str, Any]:
        """`Reading`: only a file whose own choices or content changed is read."""
        return self._readings.reading(files, joint)

    def methods(
        self, files: list[dict], joint: dict, k: int | None = None
    ) -> list[dict[str, Any]]:
        """The methods, with estimates for the files as they are read now."""
        counts = self._readings.reading(files, joint)["counts"]
        free = available_memory()
        found = []
        for entry in METHODS.values():
            cost = None
            if counts:
                number = k or (None if entry.finds_number else 10)
                cost = estimate_cost(
                    entry.name, counts["samples"], counts["features"], number
                )
            found.append(
                {
                    "name": entry.name,
                    "class_name": entry.class_name,
                    "about": entry.about,
                    "needs_k": not entry.finds_number,
                    "predicts": entry.predicts,
                    "seconds": cost and cost.seconds,
                    "bytes": cost and cost.bytes,
                    "too_large": bool(cost and free and cost.bytes > free),
                }
            )
        return found

    def command(self, files: list[dict], joint: dict, request: dict) -> dict[str, str]:
        """Command and script that do what a request asks for."""
        inputs = input_files(files, joint, describing(request))
        try:
            command = quoted(command_words(inputs, request, _OUTPUT))
        except ValueError as error:
            command = f"# {error}"
        return {"command": command, "script": script_text(inputs, request, _OUTPUT)}

    # Runs

    def run(self, folder: str) -> dict[str, Any]:
        """`Run`, without the id and name that the project knows it by."""
        return self._open(folder).to_dict()

    def map(self, folder: str) -> dict[str, Any]:
        """`Map`: ids and coordinates of all samples."""
        run = self._open(folder).run
        return {"ids": run.ids.tolist(), "planes": run.planes()}

    def column(
        self, folder: str, kind: str, name: str | None = None, view: str | None = None
    ) -> dict[str, Any]:
        """`Column`: what the samples are coloured by."""
        return self._open(folder).column(kind, name or "", view or "")

    def features(self, folder: str, view: str, find: str = "") -> dict[str, Any]:
        """Names of features of a view that hold a text; how many more there are."""
        views = self._open(folder).run.data.views
        if view not in views.names:
            raise ValueError(
                f"view={view!r} is none of the run; it has {', '.join(views.names)}."
            )
        names = views.feature_names[views.names.index(view)] or ()
        hits = [name for name in names if find.casefold() in name.casefold()]
        return {"names": hits[:_FOUND], "more": max(0, len(hits) - _FOUND)}

    def describe(
        self, folder: str, rows: list[int], survival: list[str] | None = None
    ) -> dict[str, Any]:
        """`Description`: what is special about a selection."""
        return self._open(folder).describe(rows, survival)

    def edit(self, folder: str, op: str, **what: Any) -> dict[str, Any]:
        """Edit the labels and save that; `Run`."""
        own = self._open(folder)
        edits = own.edits
        if op == "rename":
            edits.rename(what["cluster"], what["name"])
        elif op == "merge":
            edits.merge(what["clusters"])
        elif op == "set":
            edits.set(what["rows"], what.get("name") or "")
        elif op == "split":
            edits.split(what["rows"], what["labels"], what.get("name") or "")
        elif op in ("undo", "redo"):
            getattr(edits, op)()
        else:
            raise ValueError(f"op={op!r} is no edit of labels.")
        return own.to_dict()

    def compare(self, a: str, b: str) -> dict[str, Any]:
        """`Flow` between two runs; the project knows their ids and names."""
        found = compare_runs(self._open(a).edits, self._open(b).edits).to_dict()
        for side in ("a", "b"):
            found[side] = {"clusters": found.pop(f"clusters_{side}")}
        return found

    def prediction(self, folder: str, name: str) -> dict[str, Any]:
        """`Prediction` that was saved beside a run."""
        own = self._open(folder)
        path = Path(folder) / "new" / f"{name}.csv"
        ids, columns = read_labels(path)
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        clusters, counts = np.unique(columns["cluster"], return_counts=True)
        found = {
            "ids": ids,
            "clusters": columns["cluster"],
            "cluster_names": {str(c): own.name_of_original(c) for c in clusters},
            "margin": columns["margin"],
            "low": columns["low_confidence"],
            "n_views": columns["n_views"],
            "counts": dict(zip(map(str, clusters), counts)),
            "drift": own.drift(columns["margin"]),
            **{key: about.get(key, []) for key in ("warnings", "notes", "files")},
        }
        return as_json(found)

    # What is taken away

    def export(self, folder: str, name: str, into: str) -> dict[str, str]:
        """Path of a file to send: of the run, or one that is written into `into`."""
        own, target = self._open(folder), Path(into) / name
        if target.stem == "labels":
            export_labels(own.edits, target)
        elif name == "embedding.csv":
            export_embedding(own.edits, target)
        elif name == "script.py":
            target.write_text(python_script(own.run.record), encoding="utf-8")
        elif name == "command.txt":
            text = command_line(own.run.record) + "\n"
            target.write_text(text, encoding="utf-8")
        else:
            there = Path(folder) / name
            if not there.is_file():
                raise ValueError(f"{name}: this run has no such file.")
            shutil.copyfile(there, target)
        return {"path": str(target)}

    def export_prediction(
        self, folder: str, prediction: str, name: str, into: str
    ) -> dict[str, str]:
        """Path of a table of new samples, with the names of their clusters."""
        own, target = self._open(folder), Path(into) / name
        ids, columns = read_labels(Path(folder) / "new" / f"{prediction}.csv")
        clusters, codes = np.unique(columns["cluster"], return_inverse=True)
        names = np.array([own.name_of_original(c) for c in clusters], object)[codes]
        named = {"cluster": columns.pop("cluster"), "cluster_name": names, **columns}
        return {"path": str(write_table(target, ids, named))}

    def forget(self, folder: str) -> None:
        """Drop what is kept of a run."""
        self._runs.pop(folder, None)

    def _open(self, folder: str) -> "OpenRun":
        """A run that is kept open, unless it was made anew."""
        own = self._runs.pop(folder, None)
        if own is None or own.mark != mark_of(folder):
            own = OpenRun(folder)
        any(own.run.take_data(other.run) for other in self._runs.values())
        self._runs[folder] = own
        while len(self._runs) > _KEPT:
            self._runs.popitem(last=False)
        return own
