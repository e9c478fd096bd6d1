"""compare_runs: the flow between two runs, against counting by hand."""

import itertools

import numpy as np
import pytest

from imvc.metrics import adjusted_rand, nmi
from imvc.workflow import InputFiles, LabelEdits, SavedRun, cluster, compare_runs
from saved_runs import save_study
from study_files import read_table


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of one study; the second lacks the samples that rna alone has."""
    folder = tmp_path_factory.mktemp("study")
    paths, one = save_study(folder, n_refits=0)
    two = cluster(InputFiles(paths[1:]), n_clusters=4, n_refits=0)
    two.save(folder / "two", report=False)
    return one, folder / "two"


def by_hand(a, b):
    """Shared samples by pairs of clusters, and the best match by trying all."""
    mine = {row["id"]: int(row["cluster"]) for row in read_table(a / "labels.csv")}
    theirs = {row["id"]: int(row["cluster"]) for row in read_table(b / "labels.csv")}
    shared = [key for key in mine if key in theirs]
    table = {(c, d): 0 for c in range(3) for d in range(4)}
    for key in shared:
        table[mine[key], theirs[key]] += 1
    best = max(
        itertools.permutations(range(4), 3),
        key=lambda match: sum(table[c, d] for c, d in enumerate(match)),
    )
    moved = {key for key in shared if best[mine[key]] != theirs[key]}
    return mine, theirs, shared, table, best, moved


def test_the_flow_is_what_counting_gives(runs):
    a, b = runs
    found = compare_runs(a, b)
    mine, theirs, shared, table, best, moved = by_hand(a, b)
    assert 0 < len(shared) < len(mine)
    assert found.n_shared == len(shared)
    assert found.only_a == len(mine) - len(shared)
    assert found.only_b == len(theirs) - len(shared)
    for (c, d), count in table.items():
        assert found.table[c, d] == count
    labels = [mine[key] for key in shared], [theirs[key] for key in shared]
    assert found.ari == pytest.approx(adjusted_rand(*labels))
    assert found.nmi == pytest.approx(nmi(*labels))
    stay = sum(found.table[c, d] for c, d in found.match.items())
    assert stay == sum(table[c, d] for c, d in enumerate(best))
    assert len(found.moved) == len(moved) == len(shared) - stay
    ids_a, ids_b = SavedRun(a).ids, SavedRun(b).ids
    assert ids_a[found.rows_a].tolist() == ids_b[found.rows_b].tolist()
    sizes = [cluster.size for cluster in found.clusters_a]
    assert sizes == np.bincount(list(mine.values())).tolist()


def test_a_run_is_the_same_as_itself(runs):
    found = compare_runs(runs[0], runs[0])
    assert (found.ari, found.nmi) == (1.0, 1.0)
    assert len(found.moved) == 0


def test_edited_labels_are_compared(runs):
    edits = LabelEdits(runs[1])
    edits.merge([0, 3])
    edits.rename(1, "ill")
    try:
        found = compare_runs(runs[0], runs[1])
    finally:
        edits.undo()
        edits.undo()
    assert [(c.id, c.name) for c in found.clusters_b] == [
        (0, "Cluster 0"),
        (1, "ill"),
        (2, "Cluster 2"),
    ]
    assert found.table.shape == (3, 3)
    assert found.table.sum() == found.n_shared
    content = found.to_dict()
    assert content["match"].keys() == {"0", "1", "2"}


def test_runs_of_other_samples_are_named(runs, tmp_path):
    text = "\n".join(f"q{i},{i % 2}.5,{i % 3}.25" for i in range(30))
    (tmp_path / "other.csv").write_text(f"id,a,b\n{text}\n")
    other = cluster(InputFiles([tmp_path / "other.csv"]), n_clusters=2, n_refits=0)
    other.save(tmp_path / "out", report=False)
    with pytest.raises(ValueError, match="share no sample: the ids of one begin"):
        compare_runs(runs[0], tmp_path / "out")
