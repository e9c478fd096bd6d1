"""Runs: what they record, under which limits, and that none is lost or done twice."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from imvc import RISE
from imvc.datasets import (
    list_protocols,
    load_dataset,
    missing_shares,
    protocol_mask,
    random_mask,
)
from imvc.experiments import (
    RecordStore,
    RunSpec,
    estimate_plan,
    load_suite,
    plan_suite,
    run_group,
    run_plan,
)
from imvc.experiments._run_group import prepared_data
from imvc.metrics import score_all

HERE = Path(__file__).parent
PATIENCE = 240  # seconds for processes to start on a busy machine


@pytest.fixture
def do(tmp_path, home, write_suite):
    """Runs a suite of one dummy method and returns its records."""

    def run(method, **options):
        plan = plan_suite(load_suite(write_suite(method)), data_home=home)
        with RecordStore(tmp_path / "r.sqlite") as store:
            state = run_plan(plan, store, data_home=home, threads=1, **options)
            assert state.done == state.runs == 16
            return store.records()

    return run


def test_a_run_records_scores_times_objective_and_machine(do):
    for record in do("dummy_methods:Dummy"):
        assert record.ok
        assert record.scores["acc"] > 0
        assert 0 <= record.seconds["processor"]
        assert record.seconds["total"] >= 0
        assert record.objective == (3.0, 2.0, 1.0)
        assert record.shape["n_samples"] == 60
        assert record.machine["versions"]["numpy"] == np.__version__
        assert record.resolved["random_state"] == record.spec.seed


def test_a_method_that_raises_is_recorded_with_its_reason(do):
    records = do("dummy_methods:Raises")
    assert {r.status for r in records} == {"failed"}
    assert {r.reason for r in records} == {"RuntimeError: no luck today"}


def test_a_run_that_dies_is_recorded_and_the_others_go_on(tmp_path, home, write_suite):
    plan = _few_runs("dummy_methods:KillsItself", home, write_suite)
    with RecordStore(tmp_path / "r.sqlite") as store:
        run_plan(plan, store, data_home=home, threads=1)
        assert [r.status for r in store.records()] == ["failed"] * 2
        assert all("killed by SIGKILL" in r.reason for r in store.records())


GRID = "[method.grid]\nlevel = [1, 2, 3]"
SMALL_GRID = "[method.grid]\nlevel = [1]"


def _few_runs(method, home, write_suite, parameters="{}", *, grid=SMALL_GRID):
    """A plan of the default run and one of level 1, or of the default run alone."""
    fewer = [
        ("seeds = [0, 1]", "seeds = [0]"),
        ("rates = [0.1, 0.5]", "rates = [0.1]"),
        (GRID, grid),
    ]
    path = write_suite(method, parameters, fewer)
    return plan_suite(load_suite(path), data_home=home)


def test_a_run_over_its_time_is_stopped_and_recorded(tmp_path, home, write_suite):
    plan = _few_runs(
        "dummy_methods:Dummy", home, write_suite, "{ pause = 600 }", grid=""
    )
    start = time.monotonic()
    with RecordStore(tmp_path / "r.sqlite") as store:
        run_plan(plan, store, data_home=home, time_limit=0.3, threads=1)
        assert {r.status for r in store.records()} == {"timeout"}
        assert {r.reason for r in store.records()} == {"longer than 0.3 s"}
    # Most of this is the start of a process, slow on a busy machine.
    assert time.monotonic() - start < 300


def test_time_that_others_had_the_cores_for_does_not_count(
    tmp_path, home, write_suite, monkeypatch
):
    """A run is not ended for being kept waiting, only for what it takes itself."""
    plan = _few_runs("dummy_methods:Dummy", home, write_suite, "{ pause = 1 }", grid="")
    waited = itertools.count()
    monkeypatch.setattr(
        "imvc.experiments._worker.queue_seconds", lambda pid: float(next(waited))
    )
    with RecordStore(tmp_path / "r.sqlite") as store:
        run_plan(plan, store, data_home=home, time_limit=0.3, threads=1)
        assert {r.status for r in store.records()} == {"ok"}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_run_over_its_memory_is_stopped_and_recorded(tmp_path, home, write_suite):
    plan = _few_runs("dummy_methods:EatsMemory", home, write_suite, grid="")
    with RecordStore(tmp_path / "r.sqlite") as store:
        run_plan(plan, store, data_home=home, memory_limit=0.6, threads=1)
        assert {r.status for r in store.records()} == {"memory"}
        assert {r.reason for r in store.records()} == {"more than 0.6 GB of memory"}


def test_leakage_is_recorded_of_methods_that_do_not_know_it(do):
    for record in do("dummy_methods:Dummy"):
        assert -1 < record.scores["pattern_leakage"] <= 1


def test_masks_are_those_of_random_mask_and_samples_move_together(home):
    data = load_dataset("planted", home)
    shuffled = prepared_data(data, RunSpec("planted", "rise", {}, 0.5, 3, 0))
    mask = random_mask(60, 3, 0.5, random_state=3)
    order = [
        int(np.flatnonzero((data.Xs[0] == row).all(axis=1))[0])
        for row in shuffled.Xs[0]
    ]
    assert sorted(order) == list(range(60))
    assert order != list(range(60))
    np.testing.assert_array_equal(shuffled.mask, mask[order])
    np.testing.assert_array_equal(shuffled.y, data.y[order])
    np.testing.assert_array_equal(shuffled.Xs[2], data.Xs[2][order])


@pytest.mark.parametrize("protocol", list_protocols(), ids=lambda p: p.name)
def test_a_record_states_what_was_really_missing(home, protocol):
    data = load_dataset("planted", home)
    spec = RunSpec("planted", "impute-kmeans", {}, 0.5, 3, 0, protocol.name)
    (record,) = run_group([spec], data)
    mask = protocol_mask(data, protocol.name, 0.5, random_state=3)
    missing, complete = missing_shares(mask)
    assert record.missing_share == pytest.approx(missing)
    assert record.complete_share == pytest.approx(complete)
    assert record.shape["shuffle_seed"] == 3


def test_rows_can_be_sorted_by_class(home):
    data = load_dataset("planted", home)
    spec = RunSpec("planted", "rise", {}, 0.5, 3, 0)
    shuffled = prepared_data(data, spec)
    by_class = prepared_data(data, replace(spec, row_order="by-class"))
    assert (np.diff(by_class.y) >= 0).all()
    order = np.argsort(shuffled.y, kind="stable")
    np.testing.assert_array_equal(by_class.mask, shuffled.mask[order])
    np.testing.assert_array_equal(by_class.Xs[1], shuffled.Xs[1][order])


def test_after_enough_timeouts_the_rest_is_recorded_untried(
    tmp_path, home, write_suite
):
    parameters = "{ pause = 30.0 }"
    changes = [
        ("level = [1, 2, 3]", "level = [1]"),
        ("rates =", "give_up_after = 1\nrates ="),
    ]
    suite = load_suite(write_suite(parameters=parameters, changes=changes))
    plan = plan_suite(suite, data_home=home)
    with RecordStore(tmp_path / "r.sqlite") as store:
        run_plan(plan, store, data_home=home, time_limit=0.3, threads=1)
        records = store.records()
    tried = [r for r in records if not r.reason.startswith("not tried")]
    assert len(records) == 8
    assert {r.status for r in records} == {"timeout"}
    assert len(tried) == 2  # one of each setting


def test_timeouts_of_other_suites_do_not_count(tmp_path, home, write_suite):
    changes = [
        ("level = [1, 2, 3]", "level = [1]"),
        ("rates = [0.1, 0.5]", "give_up_after = 1\nrates = [0.5]"),
        ("seeds = [0, 1]", "seeds = [0]"),
    ]
    path = write_suite(parameters="{ pause = 0.6 }", changes=changes)
    with RecordStore(tmp_path / "r.sqlite") as store:
        for size, limit in (("full", 0.3), ("quick", 60)):
            plan = plan_suite(load_suite(path, size), data_home=home)
            run_plan(plan, store, data_home=home, time_limit=limit, threads=1)
        found = [(r.spec.rate, r.status) for r in store.records()]
    assert sorted(found) == [(0.1, "timeout")] * 2 + [(0.5, "ok")] * 2


def test_a_group_of_rise_runs_scores_as_single_fits_do(home):
    data = load_dataset("planted", home)
    group = [
        RunSpec(
            "planted",
            "rise",
            {"beta": b, "embedding_dim": d, "n_anchors": 12},
            0.5,
            1,
            7,
        )
        for b in (1.0, 100.0)
        for d in (3, 4)
    ]
    records = run_group(group, data)
    shuffled = prepared_data(data, group[0])
    for spec, record in zip(group, records):
        model = RISE(3, random_state=7, n_jobs=1, **spec.parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(shuffled.Xs, mask=shuffled.mask)
        expected = score_all(shuffled.y, model.labels_)
        assert record.grouped == 4
        assert {k: record.scores[k] for k in expected} == expected


def test_one_bad_setting_does_not_take_its_group_with_it(home):
    data = load_dataset("planted", home)
    group = [
        RunSpec("planted", "rise", {"embedding_dim": d, "n_anchors": 12}, 0.5, 1, 7)
        for d in (3, 59)
    ]
    good, bad = run_group(group, data)
    assert (good.status, bad.status) == ("ok", "failed")
    assert "embedding_dim=59" in bad.reason


def test_an_estimate_learns_from_what_was_timed(tmp_path, home, write_suite):
    plan = _few_runs("dummy_methods:Dummy", home, write_suite, "{ pause = 0.2 }")
    with RecordStore(tmp_path / "r.sqlite") as store:
        assert estimate_plan(plan, store).measured == 0
        run_plan(plan, store, data_home=home, threads=1)
        path = Path(plan.suite.source)
        path.write_text(path.read_text().replace("seeds = [0]", "seeds = [0, 1, 2]"))
        # mask_seeds is edited too by the line above: nine draws of two settings.
        more = plan_suite(load_suite(path), data_home=home)
        guess = estimate_plan(more, store, jobs=2)
    assert (guess.runs, guess.done, guess.measured) == (18, 2, 1.0)
    assert 0.2 * 16 / 2 <= guess.seconds < 0.4 * 16 / 2


SCRIPT = """
import sys
from imvc.experiments import RecordStore, load_suite, plan_suite, run_plan
if __name__ == "__main__":
    suite, home, records, jobs = sys.argv[1:]
    plan = plan_suite(load_suite(suite), data_home=home)
    with RecordStore(records) as store:
        run_plan(plan, store, data_home=home, jobs=int(jobs), threads=1)
"""


@pytest.fixture
def start(tmp_path, home):
    """Starts a process that runs a suite into a records file."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    started = []

    def run(suite, records, jobs=1):
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        arguments = [str(suite), str(home), str(records), str(jobs)]
        command = [sys.executable, str(script), *arguments]
        process = subprocess.Popen(
            command,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background jobs ignore Ctrl-C, and so would what they start.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


def _count(path):
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(path, timeout=10) as db:
            return db.execute("SELECT count(*) FROM records").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def _whole(path):
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        keys = [key for (key,) in db.execute("SELECT key FROM records")]
    assert len(set(keys)) == len(keys)
    return len(keys)


def test_a_killed_process_resumes_with_every_run_exactly_once(
    tmp_path, write_suite, start
):
    trace, records = tmp_path / "trace", tmp_path / "r.sqlite"
    suite = write_suite(parameters=f'{{ pause = 0.2, trace = "{trace}" }}')
    process = start(suite, records, jobs=2)
    deadline = time.monotonic() + PATIENCE
    while _count(records) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.0)  # its children notice within a fifth of a second
    before = _whole(records)
    assert 4 <= before < 16
    began = len(trace.read_text().splitlines())
    time.sleep(0.5)
    assert len(trace.read_text().splitlines()) == began, "a child lives on"
    resumed = start(suite, records)
    assert resumed.wait(PATIENCE) == 0, resumed.stderr.read()
    assert _whole(records) == 16
    # Only what was in hand when the process died was begun twice.
    assert len(trace.read_text().splitlines()) <= 16 + 2


def test_two_processes_on_one_file_share_the_runs(tmp_path, write_suite, start):
    trace, records = tmp_path / "trace", tmp_path / "r.sqlite"
    suite = write_suite(parameters=f'{{ pause = 0.2, trace = "{trace}" }}')
    both = [start(suite, records) for _ in range(2)]
    for process in both:
        assert process.wait(PATIENCE) == 0, process.stderr.read()
    assert _whole(records) == 16
    # Two rates per level and seed; the default has level 0.
    counts = Counter(trace.read_text().splitlines())
    assert counts == {f"{level} {seed}": 2 for level in range(4) for seed in (0, 1)}


def test_an_interrupt_keeps_what_was_finished(tmp_path, write_suite, start):
    records = tmp_path / "r.sqlite"
    process = start(write_suite(parameters="{ pause = 0.3 }"), records)
    deadline = time.monotonic() + PATIENCE
    while _count(records) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)
    with sqlite3.connect(records) as db:
        assert db.execute("SELECT count(*) FROM claims").fetchone()[0] == 0
    assert 2 <= _whole(records) < 16
