"""LabelEdits: replay against a slow twin, undo and redo, and hostile files."""

import csv
import json
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imvc.workflow import LabelEdits, SavedRun
from imvc.workflow._label_edits import replay
from saved_runs import save_study

N = 12


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return save_study(tmp_path_factory.mktemp("study"), n_refits=0)[1]


@pytest.fixture
def folder(study, tmp_path):
    shutil.copytree(study, tmp_path / "out")
    return tmp_path / "out"


class Slow:
    """Clusters as sets of samples, one Python step at a time."""

    def __init__(self, labels):
        self.clusters = {}
        for i, label in enumerate(labels):
            self.clusters.setdefault(label, set()).add(i)
        self.names, self.next = {}, max(labels) + 1

    def move(self, rows, to):
        for own in self.clusters.values():
            own -= set(rows)
        self.clusters.setdefault(to, set()).update(rows)
        self.clusters = {c: own for c, own in self.clusters.items() if own}
        self.names = {c: n for c, n in self.names.items() if c in self.clusters}

    def apply(self, edit):
        if edit["op"] == "rename":
            if edit["name"]:
                self.names[edit["cluster"]] = edit["name"]
            else:
                self.names.pop(edit["cluster"], None)
        elif edit["op"] == "merge":
            for other in edit["clusters"]:
                self.move(list(self.clusters[other]), min(edit["clusters"]))
        else:
            parts = edit.get("parts") or [0] * len(edit["rows"])
            for k, part in enumerate(sorted(set(parts))):
                rows = [r for r, p in zip(edit["rows"], parts) if p == part]
                self.move(rows, self.next + k)
                if edit["name"]:
                    number = f" {k + 1}" if edit["op"] == "split" else ""
                    self.names[self.next + k] = edit["name"] + number
            self.next += len(set(parts))

    def labels(self):
        place = {i: c for c, own in self.clusters.items() for i in own}
        return [place[i] for i in range(len(place))]


@st.composite
def edits_of(draw):
    """Labels of a few samples, and edits that make sense after each other."""
    labels = draw(st.lists(st.integers(0, 4), min_size=N, max_size=N))
    slow, edits = Slow(labels), []
    for _ in range(draw(st.integers(1, 6))):
        there = sorted(slow.clusters)
        op = draw(st.sampled_from(["rename", "merge", "set", "split"]))
        name = draw(st.sampled_from(["", "ill", "well"]))
        rows = draw(st.lists(st.integers(0, N - 1), min_size=2, unique=True))
        if op == "rename":
            edit = {"op": op, "cluster": draw(st.sampled_from(there)), "name": name}
        elif op == "merge" and len(there) > 1:
            some = st.lists(st.sampled_from(there), min_size=2, unique=True)
            edit = {"op": op, "clusters": draw(some)}
        elif op == "set" and set(rows) not in slow.clusters.values():
            edit = {"op": op, "rows": sorted(rows), "name": name}
        else:
            size = {"min_size": len(rows), "max_size": len(rows)}
            parts = [0, 3, *draw(st.lists(st.integers(0, 3), **size))][: len(rows)]
            edit = {"op": "split", "rows": rows, "parts": parts, "name": name}
        slow.apply(edit)
        edits.append(edit)
    return labels, edits, slow


@given(edits_of())
def test_replay_is_the_slow_twin(case):
    labels, edits, slow = case
    found = replay(np.array(labels), edits)
    assert found.labels.tolist() == slow.labels()
    assert found.names == slow.names
    assert found.next == slow.next


def perform(edits, edit):
    """An edit by its method."""
    given = {key: value for key, value in edit.items() if key != "op"}
    getattr(edits, edit["op"])(**given)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edits_of())
def test_undo_after_any_edits_gives_back_and_redo_makes_again(folder, case):
    labels, made, _ = case
    run = SavedRun(folder)
    run.ids, run.labels = run.ids[:N], np.array(labels)
    run.columns = {"cluster": run.labels}
    (folder / "edits.json").unlink(missing_ok=True)
    edits = LabelEdits(run)
    states = [(edits.labels.tolist(), edits.now.names, edits.history)]
    for edit in made:
        perform(edits, edit)
        states.append((edits.labels.tolist(), edits.now.names, edits.history))
    assert len(edits.history) == len(made)
    for state in states[-2::-1]:
        edits.undo()
        assert (edits.labels.tolist(), edits.now.names, edits.history) == state
    assert not edits.can_undo
    assert not (folder / "labels_edited.csv").exists()
    for state in states[1:]:
        edits.redo()
        assert (edits.labels.tolist(), edits.now.names, edits.history) == state
    again = LabelEdits(run)
    assert again.labels.tolist() == states[-1][0]
    assert again.history == edits.history


def test_edits_are_kept_beside_the_labels_which_stay(folder):
    before = (folder / "labels.csv").read_bytes()
    edits = LabelEdits(folder)
    edits.merge([2, 1])
    edits.rename(1, "  ill\n at ease ")
    rows = np.flatnonzero(edits.labels == 0)[:4].tolist()
    edits.set(rows, "=1+1")
    rest = np.flatnonzero(edits.labels == 0)[:4].tolist()
    edits.split(rest, [5, 5, 7, 7])
    assert edits.history == [
        "Clusters 1 and 2 were merged.",
        "Cluster 1 was named 'ill at ease'.",
        "4 samples became cluster 3, named '=1+1'.",
        "4 samples were split into clusters 4 and 5.",
    ]
    assert (folder / "labels.csv").read_bytes() == before
    with open(folder / "labels_edited.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0])[:4] == ["id", "cluster", "cluster_name", "original_cluster"]
    assert {"confidence", "margin", "n_views"} <= set(table[0])
    again = LabelEdits(SavedRun(folder))
    assert [int(row["cluster"]) for row in table] == again.labels.tolist()
    original = [int(row["original_cluster"]) for row in table]
    assert original == again.run.labels.tolist()
    named = {int(row["cluster"]): row["cluster_name"] for row in table}
    assert named == {
        0: "Cluster 0",
        1: "ill at ease",
        3: "=1+1",
        4: "Cluster 4",
        5: "Cluster 5",
    }


def test_a_new_edit_ends_what_was_undone(folder):
    edits = LabelEdits(folder)
    edits.merge([0, 1])
    edits.undo()
    assert edits.can_redo
    edits.rename(2, "x")
    assert not edits.can_redo
    with pytest.raises(ValueError, match="no edit to make again"):
        edits.redo()


def test_numbers_are_never_taken_again(folder):
    edits = LabelEdits(folder)
    edits.set([0, 1, 2])
    edits.merge([0, 3])
    edits.set([0, 1, 2])
    assert 4 in edits.clusters
    assert 3 not in edits.clusters


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.rename(7, "x"), "no cluster 7; there are: 0, 1, 2"),
        (lambda e: e.rename(True, "x"), "has not what it needs"),
        (lambda e: e.rename(1, 5), "must be a text"),
        (lambda e: e.merge([1]), "name two different clusters"),
        (lambda e: e.merge([1, 1]), "name two different clusters"),
        (lambda e: e.merge([1, 9]), "no cluster 9"),
        (lambda e: e.set([]), "no sample is selected"),
        (lambda e: e.set([90]), "numbered from 0 to 89"),
        (lambda e: e.set([-1]), "numbered from 0 to 89"),
        (lambda e: e.split([0, 1], [0]), "one part for each"),
        (lambda e: e.split([0, 1], [2, 2]), "nothing is split"),
        (lambda e: e.split([0, 0], [1, 2]), "comes twice"),
        (lambda e: e.undo(), "no edit to undo"),
    ],
)
def test_edits_that_make_no_sense_change_nothing(folder, call, message):
    edits = LabelEdits(folder)
    with pytest.raises(ValueError, match=message):
        call(edits)
    assert not edits.edited
    assert not (folder / "edits.json").exists()


def test_a_selection_that_is_a_cluster_already_is_said_to_be(folder):
    edits = LabelEdits(folder)
    edits.rename(1, "ill")
    with pytest.raises(ValueError, match="are 'ill' already"):
        edits.set(np.flatnonzero(edits.labels == 1).tolist())


GOOD = {"op": "rename", "cluster": 0, "name": "x"}


@pytest.mark.parametrize(
    "change",
    [
        b"",
        b"[" * 100_000,
        b"\xff\xfe",
        b"null",
        {"format": "other"},
        {"version": 2},
        {"labels": "0"},
        {"edits": None},
        {"edits": [5]},
        {"edits": [{}]},
        {"edits": [{"op": ["rename"], "cluster": 0, "name": "x"}]},
        {"edits": [{"op": "__init__"}]},
        {"edits": [{**GOOD, "cluster": 77}]},
        {"edits": [{**GOOD, "cluster": 0.0}]},
        {"edits": [{**GOOD, "name": "a\nb"}]},
        {"edits": [{**GOOD, "name": "x" * 1000}]},
        {"edits": [{**GOOD, "more": 1}]},
        {"edits": [{"op": "set", "rows": [10**30], "name": ""}]},
        {"edits": [{"op": "set", "rows": [[1]], "name": ""}]},
        {"edits": [{"op": "set", "rows": [True], "name": ""}]},
        {"edits": [{"op": "split", "rows": [1, 2], "parts": [10**30, 1], "name": ""}]},
        {"undone": [{"op": "merge", "clusters": [0, 50]}]},
    ],
    ids=str,
)
def test_hostile_edits_name_the_file(folder, change):
    edits = LabelEdits(folder)
    edits.rename(0, "x")
    path = folder / "edits.json"
    if isinstance(change, bytes):
        path.write_bytes(change)
    else:
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=r"edits\.json: cannot be used"):
        LabelEdits(folder)
