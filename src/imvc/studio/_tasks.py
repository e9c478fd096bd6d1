"""What jobs do, each in a process of its own: cluster, split, predict.

Every task takes first a callable that is told of progress by keywords: ``stage`` in
plain words, ``done``, ``total``, ``share`` of all, seconds ``left``, or a ``message``.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from imvc._files import atomic_write
from imvc._plain import plain
from imvc.io import InputError
from imvc.studio._choices import (
    cluster_arguments,
    input_files,
    layout,
    name_of,
)
from imvc.workflow import (
    InputFiles,
    Progress,
    cluster,
    command_words,
    output_folder,
    predict,
    read_record,
    split_selection,
)
from imvc.workflow._commands import describing

Tell = Callable[..., None]

# Stages in plain words, and how much of the whole each is, by experience.
_STAGES = {
    "read": ("Reading the files", 8.0),
    "checksums": ("Taking fingerprints of the files", 1.0),
    "inspect": ("Looking at what is missing", 1.0),
    "adjust": ("Removing the effects of batches", 0.0),
    "fit": ("Finding the clusters", 30.0),
    "confidence": ("Clustering again, to see what is stable", 25.0),
    "structure": ("Comparing with shuffled data", 25.0),
    "explain": ("Looking for what sets the clusters apart", 3.0),
    "associate": ("Comparing with what is known of the samples", 1.0),
    "write": ("Writing the result", 3.0),
    "report": ("Making the report", 3.0),
    "predict": ("Placing the new samples", 30.0),
}
_CLUSTER = (
    *("read", "checksums", "inspect", "fit", "confidence", "structure", "explain"),
    *("associate", "write", "report"),
)
_REFITTED = ("confidence", "structure")
_PAUSE = 0.2  # seconds between two words about the same stage


def cluster_files(
    tell: Tell,
    files: Sequence[Mapping[str, Any]],
    joint: Mapping[str, Any],
    request: Mapping[str, Any],
    folder: str,
) -> None:
    """Cluster the files of a project into a folder, as ``imvc cluster`` does."""
    inputs = input_files(files, joint, describing(request))
    left_out = () if request["n_refits"] else _REFITTED
    stages = [s for s in _CLUSTER if s not in left_out]
    pace = Pace(tell, *stages, n_refits=request["n_refits"])
    # What a killed process left of the same run is replaced.
    with output_folder(folder, overwrite=True) as taken:
        run = cluster(inputs, **cluster_arguments(request), folder=taken, progress=pace)
        run = replace(run, command=_command(inputs, request, folder))
        run.save(taken, progress=pace)


def _command(
    inputs: InputFiles, request: Mapping[str, Any], folder: str
) -> list[str] | None:
    """The command line that does the same, where there is one."""
    try:
        return command_words(inputs, request, folder)
    except ValueError:
        return None


def split_rows(
    tell: Tell, folder: str, rows: Sequence[int], n_clusters: int | None
) -> list[int]:
    """Clusters, from 0, of the samples of a selection."""
    pace = Pace(tell, "read", "fit")
    labels = split_selection(folder, rows, n_clusters=n_clusters, progress=pace)
    return [int(label) for label in labels]


def predict_files(
    tell: Tell,
    files: Sequence[Mapping[str, Any]],
    joint: Mapping[str, Any],
    folder: str,
    metadata: str | None = None,
) -> dict[str, str]:
    """Clusters of the samples of new files, by the model of a run; saved beside it.

    `metadata` tells the batches of the samples, if the run is adjusted for these.
    """
    record = read_record(folder).content
    known = record["result"]["views"]
    names = [
        name if any(v == name or v.startswith(f"{name}.") for v in known) else None
        for name in map(name_of, files)
    ]
    place = partial(
        predict,
        folder,
        **layout(files, names),
        match_ids=joint["match_ids"],
        guard=True,
        progress=Pace(tell, "read", "predict"),
    )
    if metadata is None or not record["request"].get("adjust"):
        found = place()
    else:
        try:
            found = place(metadata=metadata)
        except InputError as error:  # it may be of the samples of the run alone
            if not str(error).startswith(f"{metadata}: "):
                raise
            tell(message=str(error))
            found = place()
    target = Path(folder) / "new"
    target.mkdir(exist_ok=True)
    taken = {path.stem for path in target.iterdir()}
    name = next(p for j in range(1, len(taken) + 2) if (p := f"p{j}") not in taken)
    found.save(target / f"{name}.csv")
    about = {
        k: v for k, v in found.to_dict().items() if k not in ("id", *found.columns())
    }
    about |= {
        "files": [file["name"] for file in files],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with atomic_write(target / f"{name}.json") as out:
        out.write(json.dumps(plain(about, lambda odd: None), indent=1).encode())
    return {"prediction": name}


class Pace:
    """Turns the progress of a workflow into stages, a share and seconds left.

    Parameters
    ----------
    tell : callable
    stages : sequence of str
        Those to come, in their order.
    n_refits : int, default=0
    """

    def __init__(self, tell: Tell, *stages: str, n_refits: int = 0) -> None:
        self._tell = tell
        self._plan = {stage: _STAGES[stage][1] for stage in stages}
        self._n_refits = n_refits
        self._stage, self._start, self._last = "", 0.0, 0.0
        self._finished = 0.0  # weight of the stages that are over
        self._share = 0.0

    def __call__(self, state: Progress) -> None:
        """Take in one `imvc.workflow.Progress`."""
        now = time.monotonic()
        if state.message:
            self._tell(message=state.message)
            return
        if state.stage != self._stage:
            self._stage, self._start, self._last = state.stage, now, 0.0
        elapsed = now - self._start
        weight = self._plan.get(state.stage, 0.0)
        if state.finished:
            self._finished += weight
            self._plan.pop(state.stage, None)
        elif now - self._last < _PAUSE:
            return
        self._last = now
        inner = 0.0 if state.finished else weight * _fraction(state, elapsed)
        whole = self._finished + sum(self._plan.values())
        if whole:
            self._share = max(self._share, (self._finished + inner) / whole)
        self._tell(
            stage=_STAGES.get(state.stage, (state.stage, 0))[0],
            done=state.done,
            total=state.total,
            share=round(self._share, 4),
            left=self._left(state, elapsed),
        )

    def _left(self, state: Progress, elapsed: float) -> float | None:
        """Seconds left of this stage by pace or estimate, and of refits to come."""
        if state.finished:
            return None
        if state.total and state.done:
            left = elapsed / state.done * (state.total - state.done)
        elif state.expected is not None:
            left = max(state.expected - elapsed, 0.0)
        else:
            return None
        if state.stage == "fit":
            left += self._n_refits * (state.expected or 0.0)
        return round(left, 1)


def _fraction(state: Progress, elapsed: float) -> float:
    if state.total:
        return min(1.0, state.done / state.total)
    if state.expected:
        return min(0.95, elapsed / state.expected)
    return 0.0
