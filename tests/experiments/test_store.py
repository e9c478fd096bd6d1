"""The records file: what is written is there, once; foreign files are refused."""

import sqlite3

import pytest

from imvc.experiments import PlannedRun, Record, RecordStore, RunSpec, Suite
from imvc.experiments._owner import Owner


def spec(seed=0, **parameters):
    return RunSpec("webkb", "rise", parameters, 0.1, 0, seed)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records.sqlite"


def test_a_record_comes_back_as_it_was(path):
    record = Record(
        spec(beta=10.0, anchors="kmeans", n_anchors=None),
        scores={"acc": 0.5, "nmi": 0.25},
        seconds={"solve": 0.1, "total": 0.2},
        peak_memory=12345,
        objective=(3.0, 2.5),
        n_iter=2,
        converged=True,
        resolved={"beta": 10.0},
        shape={"n_samples": 5},
        machine={"cores": 2, "blas": [["openblas", "0.3", 1]]},
        finished="2020-01-01T00:00:00+00:00",
    )
    with RecordStore(path) as store:
        store.finish([record])
    with RecordStore(path) as store:
        assert store.records() == [record]


def test_the_first_result_of_a_run_stands(path):
    with RecordStore(path) as store:
        store.finish([Record(spec(), scores={"acc": 0.1})])
        store.finish([Record(spec(), scores={"acc": 0.9})])
        assert [record.scores["acc"] for record in store.records()] == [0.1]


def test_a_claimed_run_is_not_given_to_another(path):
    with RecordStore(path) as one, RecordStore(path) as two:
        assert one.claim([spec(0), spec(1)]) == [spec(0), spec(1)]
        assert two.claim([spec(1), spec(2)]) == [spec(2)]
        one.finish([Record(spec(1))])
        assert two.claim([spec(1)]) == []


def test_claims_end_when_their_store_closes(path):
    with RecordStore(path) as one:
        one.claim([spec()])
    with RecordStore(path) as two:
        assert two.claim([spec()]) == [spec()]


def test_claims_of_a_dead_process_are_void(path):
    with RecordStore(path) as store:
        store.claim([spec()])
        # The same process number, but a process that started at another time.
        store._db.execute("UPDATE owners SET started = 'long ago'")
        with RecordStore(path) as other:
            assert other.claim([spec()]) == [spec()]


def test_a_process_elsewhere_is_alive_while_it_gives_signs():
    owner = Owner("id", "another-host", 1, "0")
    assert owner.alive(seconds_silent=10)
    assert not owner.alive(seconds_silent=1000)


def test_forgetting_keeps_what_ended_well(path):
    with RecordStore(path) as store:
        store.finish([Record(spec(0)), Record(spec(1), "timeout", "too long")])
        assert store.forget([spec(0).key, spec(1).key]) == 1
        assert [record.spec.seed for record in store.records()] == [0]


def test_an_edited_suite_does_not_keep_its_old_grid(path):
    suite = Suite("s", "quick", "S", ("webkb",), (0.1,), (0,), (0,), ())
    with RecordStore(path) as store:
        store.finish([Record(spec(beta=b)) for b in (1, 2, 3)])
        store.remember(suite, [PlannedRun("a", "grid", spec(beta=b)) for b in (1, 2)])
        store.remember(suite, [PlannedRun("b", "grid", spec(beta=1))])
        store.remember(suite, [PlannedRun("a", "grid", spec(beta=3))])
        found = {(e.label, e.record.spec.parameters["beta"]) for e in _entries(store)}
        assert found == {("a", 3), ("b", 1)}
        assert store.pending("s", "quick") == 0
        store.remember(suite, [PlannedRun("c", "grid", spec(beta=9))])
        assert store.pending("s", "quick") == 1


def _entries(store):
    return store.entries("s", "quick")


def test_files_of_others_are_refused(tmp_path, path):
    text = tmp_path / "notes.txt"
    text.write_text("a text that is long enough to have a header")
    with pytest.raises(ValueError, match="is not a records file of imvc; name another"):
        RecordStore(text)
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    with pytest.raises(ValueError, match="is a database of another program"):
        RecordStore(path)
    with pytest.raises(ValueError, match="is a folder; name a file"):
        RecordStore(tmp_path)


def test_a_newer_file_is_refused(path):
    RecordStore(path).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(ValueError, match=r"newer imvc \(format 99, .*; update imvc"):
        RecordStore(path)


def test_a_missing_file_or_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no records file .*imvc reproduce"):
        RecordStore(tmp_path / "none.sqlite", create=False)
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist; create it"):
        RecordStore(tmp_path / "none" / "records.sqlite")
