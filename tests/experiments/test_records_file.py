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


FIRST_FORMAT = """
CREATE TABLE machines (id INTEGER PRIMARY KEY, content TEXT UNIQUE NOT NULL);
CREATE TABLE records (key TEXT PRIMARY KEY, dataset, method, parameters, rate,
    mask_seed, seed, status, reason, scores, seconds, peak_memory, objective, n_iter,
    converged, grouped, resolved, shape, machine, finished);
CREATE TABLE suites (name TEXT, size TEXT, content TEXT, PRIMARY KEY (name, size));
CREATE TABLE plans (suite TEXT, size TEXT, dataset TEXT, label TEXT, role TEXT,
    position INTEGER, key TEXT, PRIMARY KEY (suite, size, key, label, role));
CREATE TABLE owners (id TEXT PRIMARY KEY, host TEXT, pid INTEGER, started TEXT,
    seen REAL);
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL);
INSERT INTO machines VALUES (1, '{"cores":2}');
INSERT INTO records VALUES ('877e51b2ca0ed946c3273bb6', 'planted', 'rise', '{}', 0.1,
    0, 0, 'ok', '', '{"acc": 0.5}', '{"solve": 0.25, "total": 1.5}', 22179840,
    '[3.0, null, 1.0]', 3, 1, 1, '{"beta": 100.0}', '{"n_samples": 90}', 1,
    '2025-11-16T14:56:08+00:00');
INSERT INTO suites VALUES ('s', 'quick', '{"datasets": ["planted"], "mask_seeds": [0],
    "description": "", "figures": ["time"], "memory_limit": null, "methods": [{"name":
    "rise", "label": "rise", "grid": {"beta": [1.0]}, "grid_for": {}, "constraints": [],
    "default": true, "parameter_free": false, "parameters": {}}], "metrics": ["acc"],
    "name": "s", "parameter": "", "rates": [0.1], "search_samples": null, "seeds": [0],
    "size": "quick", "source": "s.toml", "stands_for": {}, "tables": [],
    "time_limit": 60, "title": "S"}');
INSERT INTO plans VALUES ('s', 'quick', 'planted', 'rise', 'default', 0,
    '877e51b2ca0ed946c3273bb6');
PRAGMA application_id = 0x494D5643;
PRAGMA user_version = 1;
"""


def test_a_file_of_the_first_format_is_read_and_continued(path):
    """Written out here: records of earlier versions must not be lost."""
    old = sqlite3.connect(path)
    old.executescript(FIRST_FORMAT)
    old.close()
    with RecordStore(path) as store:
        (found,) = store.entries("s", "quick")
        assert (found.label, found.role) == ("rise", "default")
        assert found.record == Record(
            RunSpec("planted", "rise", {}, 0.1, 0, 0),
            scores={"acc": 0.5},
            seconds={"solve": 0.25, "total": 1.5},
            peak_memory=22179840,
            objective=(3.0, None, 1.0),
            n_iter=3,
            converged=True,
            resolved={"beta": 100.0},
            shape={"n_samples": 90},
            machine={"cores": 2},
            finished="2025-11-16T14:56:08+00:00",
        )
        assert store.done([found.record.spec.key]) == {found.record.spec.key}
        (suite,) = store.suites()
        assert (suite.rates, suite.figures, suite.time_limit) == ((0.1,), ("time",), 60)
        assert suite.methods[0].name == "rise"
        store.finish([Record(spec(1))])
        assert len(store.records()) == 2
