"""LabelEdits: clusters of a saved run renamed, merged and split, step by step."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc._plain import cut, wrong_key
from imvc.insight._sentences import joined
from imvc.io import write_labels
from imvc.workflow._saved_run import SavedRun

EDITS, EDITED = "edits.json", "labels_edited.csv"
_FORMAT, _VERSION = "imvc-edits", 1
_NAME = 100  # characters of a cluster's name
_CONTENT = {"labels": str, "edits": list[dict], "undone": list[dict]}
# What each edit holds beside its "op".
_EDITS: dict[str, dict[str, Any]] = {
    "rename": {"cluster": int, "name": str},
    "merge": {"clusters": list[int]},
    "set": {"rows": list[int], "name": str},
    "split": {"rows": list[int], "parts": list[int], "name": str},
}


@dataclass(frozen=True, eq=False)
class EditedLabels:
    """Labels after some edits.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_samples,)
    names : dict of int to str
        Of the clusters that were given one.
    next : int
        The number of the next new cluster: none that was there is taken again.
    """

    labels: np.ndarray
    names: dict[int, str] = field(default_factory=dict)
    next: int = 0

    def name(self, cluster: int) -> str:
        """What a cluster is called."""
        return self.names.get(cluster, f"Cluster {cluster}")


class LabelEdits:
    """The edits of a run's labels, saved beside them; the labels themselves stay.

    Every edit is checked, and saved at once: ``edits.json`` has the edits, from which
    all follows again, and ``labels_edited.csv`` the labels after them. Clusters keep
    their numbers: merged ones have the smallest of theirs, new ones the next that no
    cluster ever had.

    Parameters
    ----------
    run : SavedRun or path-like
        The run or its folder. Edits that were saved there are taken up.

    Raises
    ------
    ValueError
        ``edits.json`` is of other labels, or not as imvc writes it.

    Examples
    --------
    >>> import tempfile
    >>> from imvc.datasets import make_views
    >>> from imvc.workflow import LabelEdits, cluster
    >>> data = make_views(60, (6, 5), 3, separation=8, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = cluster(data.Xs, n_clusters=3, n_refits=0).save(folder, report=False)
    ...     edits = LabelEdits(folder)
    ...     edits.merge([1, 2])
    ...     edits.rename(1, "ill")
    ...     edits.undo()
    ...     edits.history, edits.clusters
    (['Clusters 1 and 2 were merged.'], [0, 1])
    """

    def __init__(self, run: SavedRun | Any) -> None:
        self.run = run if isinstance(run, SavedRun) else SavedRun(run)
        self.path = self.run.folder / EDITS
        self._done: list[dict[str, Any]] = []
        self._undone: list[dict[str, Any]] = []
        if self.path.is_file():
            self._load()
        self.now = replay(self.run.labels, self._done)

    @property
    def labels(self) -> np.ndarray:
        """Clusters of the samples after the edits."""
        return self.now.labels

    @property
    def clusters(self) -> list[int]:
        """Numbers of the clusters that have samples."""
        return np.unique(self.now.labels).tolist()

    @property
    def edited(self) -> bool:
        """Whether there are edits that were not undone."""
        return bool(self._done)

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether an edit was undone, and none made since."""
        return bool(self._undone)

    @property
    def history(self) -> list[str]:
        """The edits as sentences, the first first."""
        state, sentences = replay(self.run.labels, ()), []
        for edit in self._done:
            sentences.append(_sentence(edit, state))
            state = _apply(state, edit)
        return sentences

    def name(self, cluster: int) -> str:
        """What a cluster is called."""
        return self.now.name(cluster)

    def columns(self) -> dict[str, np.ndarray]:
        """What ``labels_edited.csv`` says of every sample, beside its id."""
        names = {cluster: self.name(cluster) for cluster in self.clusters}
        rest = {k: v for k, v in self.run.columns.items() if k != "cluster"}
        return {
            "cluster": self.labels,
            "cluster_name": np.array([names[c] for c in self.labels.tolist()], object),
            "original_cluster": self.run.labels,
            **rest,
        }

    # Edits

    def rename(self, cluster: int, name: str) -> None:
        """Give a cluster a name; an empty one takes it away again."""
        self._add({"op": "rename", "cluster": cluster, "name": _clean(name)})

    def merge(self, clusters: Sequence[int]) -> None:
        """Make one cluster of several; it keeps the smallest of their numbers."""
        self._add({"op": "merge", "clusters": [*map(int, clusters)]})

    def set(self, rows: Sequence[int], name: str = "") -> None:
        """Make a cluster of its own of some samples, wherever they were."""
        self._add({"op": "set", "rows": _numbers(rows), "name": _clean(name)})

    def split(self, rows: Sequence[int], parts: Sequence[int], name: str = "") -> None:
        """Make several new clusters of some samples; `parts` tells which is in which.

        With a name, they are called "name 1", "name 2", ...
        """
        self._add(
            {
                "op": "split",
                "rows": [*map(int, rows)],
                "parts": [*map(int, parts)],
                "name": _clean(name),
            }
        )

    def undo(self) -> None:
        """Take the last edit back."""
        if not self._done:
            raise ValueError("there is no edit to undo.")
        self._save(self._done[:-1], [*self._undone, self._done[-1]])

    def redo(self) -> None:
        """Make the edit again that was undone last."""
        if not self._undone:
            raise ValueError("there is no edit to make again.")
        self._save([*self._done, self._undone[-1]], self._undone[:-1])

    def _add(self, edit: dict[str, Any]) -> None:
        _check_kinds(edit)
        self._save([*self._done, edit], [])

    def _save(self, done: list[dict[str, Any]], undone: list[dict[str, Any]]) -> None:
        """Write both files; nothing has happened unless that was possible."""
        now = replay(self.run.labels, done)
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "labels": self._digest(),
            "edits": done,
            "undone": undone,
        }
        with atomic_write(self.path) as file:
            file.write(json.dumps(content).encode() + b"\n")
        self._done, self._undone, self.now = done, undone, now
        edited = self.run.folder / EDITED
        if done:
            write_labels(edited, self.run.ids, self.columns())
        else:
            edited.unlink(missing_ok=True)

    def _digest(self) -> str:
        """By what the labels that were edited are known again."""
        return hashlib.sha256(self.run.labels.astype("<i8").tobytes()).hexdigest()

    def _load(self) -> None:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or content.get("format") != _FORMAT:
                raise ValueError("it is no list of edits")
            if content.get("version") != _VERSION:
                raise ValueError(f"version {content.get('version')!r} is not known")
            key = wrong_key(content, _CONTENT)
            if key is not None:
                raise ValueError(f"{key!r} is missing or of a wrong kind")
            if content["labels"] != self._digest():
                raise ValueError("the labels are not those that were edited")
            done, undone = content["edits"], content["undone"]
            for edit in (*done, *undone):
                _check_kinds(edit)
            replay(self.run.labels, [*done, *reversed(undone)])
        except (ValueError, OverflowError, RecursionError) as error:
            raise ValueError(
                f"{self.path}: cannot be used ({cut(error, 300)}); move it away to go "
                f"on from the labels of the run."
            ) from error
        self._done, self._undone = done, undone


def replay(labels: np.ndarray, edits: Sequence[Mapping[str, Any]]) -> EditedLabels:
    """Labels and names after some edits; a ValueError says which makes no sense."""
    state = EditedLabels(labels, {}, int(labels.max(initial=-1)) + 1)
    for edit in edits:
        state = _apply(state, edit)
    return state


def _apply(state: EditedLabels, edit: Mapping[str, Any]) -> EditedLabels:
    """One edit, of labels that stay as they are."""
    names, labels = dict(state.names), state.labels
    if edit["op"] == "rename":
        _check_cluster(state, edit["cluster"])
        names[edit["cluster"]] = edit["name"]
        return EditedLabels(labels, _without_empty(names), state.next)
    labels = labels.copy()
    if edit["op"] == "merge":
        clusters = sorted(set(edit["clusters"]))
        if len(clusters) < 2:
            raise ValueError("clusters: name two different clusters to merge.")
        for cluster in clusters:
            _check_cluster(state, cluster)
        labels[np.isin(labels, clusters)] = clusters[0]
        new = 0
    else:
        rows = checked_rows(edit["rows"], len(labels))
        parts = np.asarray(edit.get("parts", np.zeros(len(rows))), np.int64)
        if len(parts) != len(rows):
            raise ValueError("parts: give one part for each of the rows.")
        kinds, parts = np.unique(parts, return_inverse=True)
        new = len(kinds)
        if edit["op"] == "split" and new < 2:
            raise ValueError("parts: all samples are in one part; nothing is split.")
        if edit["op"] == "set":
            own = np.unique(labels[rows])
            if len(own) == 1 and np.count_nonzero(labels == own[0]) == len(rows):
                raise ValueError(
                    f"rows: these samples are {state.name(int(own[0]))!r} already; "
                    f"give that cluster another name."
                )
        labels[rows] = state.next + parts
        for part in range(new if edit["name"] else 0):
            number = f" {part + 1}" if edit["op"] == "split" else ""
            names[state.next + part] = f"{edit['name']}{number}"
    there = set(np.unique(labels).tolist())
    names = {cluster: name for cluster, name in names.items() if cluster in there}
    return EditedLabels(labels, names, state.next + new)


def _sentence(edit: Mapping[str, Any], before: EditedLabels) -> str:
    """An edit in words."""
    if edit["op"] == "rename":
        if not edit["name"]:
            return f"The name of cluster {edit['cluster']} was taken away."
        return f"Cluster {edit['cluster']} was named {edit['name']!r}."
    if edit["op"] == "merge":
        return f"Clusters {_listed(sorted(set(edit['clusters'])))} were merged."
    n = len(edit["rows"])
    samples = "1 sample" if n == 1 else f"{n} samples"
    named = f", named {edit['name']!r}" if edit["name"] else ""
    if edit["op"] == "set":
        return f"{samples} became cluster {before.next}{named}."
    new = range(before.next, before.next + len(set(edit["parts"])))
    return f"{samples} were split into clusters {_listed(new)}{named}."


def _listed(numbers: Sequence[int]) -> str:
    return joined([*map(str, numbers)])


def _check_kinds(edit: Mapping[str, Any]) -> None:
    """Refuse what is no edit: it may come from a file."""
    kinds = _EDITS.get(edit.get("op", "")) if isinstance(edit.get("op"), str) else None
    if kinds is None:
        raise ValueError(f"{cut(repr(edit.get('op')))} is no edit")
    key = wrong_key(edit, kinds)
    if key is not None or set(edit) != {"op", *kinds}:
        raise ValueError(f"the edit {edit['op']!r} has not what it needs ({key})")
    if edit.get("name", "") != _clean(edit.get("name", "")):
        raise ValueError("a name has characters that no name may have, or is too long")


def _check_cluster(state: EditedLabels, cluster: int) -> None:
    if not np.any(state.labels == cluster):
        known = ", ".join(map(str, np.unique(state.labels)[:20].tolist()))
        raise ValueError(f"there is no cluster {cluster}; there are: {known}.")


def checked_rows(rows: Any, n: int) -> np.ndarray:
    """Numbers of some of `n` samples, each once, or an error."""
    found = np.asarray(rows)
    if len(found) == 0:
        raise ValueError("rows: no sample is selected; select some.")
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
        raise ValueError(f"rows: samples are numbered from 0 to {n - 1}.")
    if len(np.unique(found)) < len(found):
        raise ValueError("rows: a sample comes twice; give each once.")
    return found


def _numbers(rows: Sequence[int]) -> list[int]:
    return sorted({int(row) for row in rows})


def _without_empty(names: Mapping[int, str]) -> dict[int, str]:
    return {cluster: name for cluster, name in names.items() if name}


def _clean(name: Any) -> str:
    """A name as one short line."""
    if not isinstance(name, str):
        raise ValueError(f"name={name!r} must be a text.")
    shown = "".join(c if c.isprintable() else " " for c in name)
    return cut(" ".join(shown.split()), _NAME)
