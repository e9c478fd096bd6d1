"""Other programs through adapters, and a method in a file of one's own."""

import ast
import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import imvc
from imvc.cli import main
from imvc.experiments import (
    RecordStore,
    RunSpec,
    find_rivals,
    list_adapters,
    load_suite,
    own_method,
    plan_suite,
    run_group,
    run_plan,
)
from imvc.experiments._owner import _start_of
from imvc.experiments._rival_process import leave_rivals
from imvc.experiments._suite_plan import load
from imvc.metrics import score_all

PATIENCE = 240  # seconds for processes to end on a busy machine
ADAPTERS = Path(imvc.__file__).parent / "experiments" / "_adapters"
TOML = """
[fake]
file = "fake_adapter.py"
package = "numpy"
install = "pip install fake"
methods = ["rows", "raises", "few", "nan", "sleeps", "eats", "prints", "exits", "dies",
           "counts", "no_room", "chatters"]
"""
ADAPTER = """
import os, signal, sys, time
from pathlib import Path
import numpy as np

calls = 0

def cluster(method, Xs, mask, n_clusters, random_state):
    global calls
    calls += 1
    labels = np.arange(len(mask)) % n_clusters
    Path(__file__).with_suffix(".pid").write_text(str(os.getpid()))
    for X, seen in zip(Xs, mask.T):
        assert X.dtype == np.float64
        assert np.isnan(X[~seen]).all() and np.isfinite(X[seen]).all()
    if method == "raises":
        raise KeyError("no luck today")
    if method == "chatters":
        raise ValueError("first\\n" + "second " * 1000)
    if method == "few":
        return labels[:5]
    if method == "nan":
        return np.where(labels == 0, np.nan, labels)
    if method == "sleeps":
        time.sleep(600)
    if method == "eats":
        kept = [time.sleep(0.005) or np.ones(1_000_000) for _ in range(400)]
    if method == "prints":
        print("garbage", flush=True)
        os.system("echo garbage; echo garbage >&2")
        sys.stdin.read()
    if method == "exits":
        print("the data are not recognised")
        sys.exit()
    if method == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if method == "counts":
        return labels * 0 + calls
    if method == "no_room":
        np.empty(10**17)
    return labels
"""
OWN = """
import numpy as np

class Mine:
    def __init__(self, n_clusters, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, Xs, mask=None):
        for X, seen in zip(Xs, mask.T):
            assert np.isnan(X[~seen]).all() and np.isfinite(X[seen]).all()
        self.labels_ = (np.arange(len(mask)) + self.random_state) % self.n_clusters
        return self

class Raises(Mine):
    def fit(self, Xs, mask=None):
        raise RuntimeError("not today")

class Aimless:
    def fit(self, Xs, mask=None):
        return self

unfit = 3
"""
SUITE = """
title = "small"
[quick]
datasets = ["planted"]
rates = [0.5]
mask_seeds = [0]
seeds = [0]
[[method]]
name = "impute-kmeans"
"""


@pytest.fixture
def rivals(tmp_path):
    """The methods of a fake adapter by their short names."""
    (tmp_path / "fake_adapter.py").write_text(ADAPTER)
    (tmp_path / "fake.toml").write_text(TOML)
    yield {rival.method: rival for rival in find_rivals(str(tmp_path / "fake.toml"))}
    leave_rivals()


@pytest.fixture
def run(home):
    """Does one run of an outsider in this process and returns its record."""
    data = load("planted", home)

    def do(outsider):
        spec = RunSpec("planted", outsider.name, {}, 0.5, 0, 3)
        return run_group([spec], data, 1, {outsider.name: outsider})[0]

    return do


@pytest.fixture
def own(tmp_path):
    """A file with estimators of a user's."""
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


@pytest.fixture
def folder(tmp_path, home, monkeypatch):
    """A suite and a data folder for the command line; the current folder."""
    (tmp_path / "small.toml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMVC_DATA", str(home))
    return tmp_path


def test_a_rival_is_scored_timed_and_recorded_with_its_version(rivals, run, home):
    record = run(rivals["rows"])
    assert record.ok, record.reason
    y = load("planted", home).y[np.random.default_rng([0, 1]).permutation(60)]
    expected = score_all(y, np.arange(60) % 3)
    assert {name: record.scores[name] for name in expected} == expected
    assert record.scores["pattern_leakage"] >= 0
    assert set(record.seconds) == {"total", "processor"}
    assert record.resolved["version"] == np.__version__
    assert record.resolved["adapter"] == "fake"
    assert record.resolved["random_state"] == 3
    assert record.shape["n_samples"] == 60


@pytest.mark.parametrize(
    ("method", "status", "reason"),
    [
        ("raises", "failed", "KeyError: 'no luck today'"),
        ("chatters", "failed", "ValueError: first second second"),
        ("few", "failed", "ValueError: labels of shape (5,) came back for 60 samples"),
        ("nan", "failed", "ValueError: labels came back that are no whole numbers"),
        ("exits", "failed", "SystemExit (the data are not recognised)"),
        ("dies", "failed", "the process was killed by SIGKILL"),
        ("no_room", "memory", "MemoryError: Unable to allocate"),
    ],
)
def test_a_failure_of_a_rival_is_a_record_with_its_message(
    rivals, run, method, status, reason
):
    record = run(rivals[method])
    assert record.status == status
    assert record.reason.startswith(reason)
    assert len(record.reason) <= 300
    assert record.resolved["version"] == np.__version__


def test_a_rival_that_died_is_started_again(rivals, run):
    assert not run(rivals["dies"]).ok
    assert run(rivals["rows"]).ok


def test_what_a_rival_prints_does_not_disturb_its_answer(rivals, run, capfd):
    assert run(rivals["prints"]).ok
    assert capfd.readouterr() == ("", "")


def test_an_adapter_is_loaded_once_for_many_runs_and_left_for_other_methods(
    rivals, run, tmp_path
):
    pid = tmp_path / "fake_adapter.pid"
    run(rivals["counts"])
    first = pid.read_text()
    run(rivals["rows"])
    assert pid.read_text() == first
    run_group([RunSpec("digits", "impute-kmeans", {}, 0.5, 0, 0)], load("digits"))
    assert _ends(pid)


def _ends(pid_file):
    """Whether the process that left its number is gone, or soon will be."""
    deadline = time.monotonic() + PATIENCE
    pid = int(pid_file.read_text())
    while _start_of(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    return _start_of(pid) is None


@pytest.mark.parametrize(
    ("method", "limits", "status"),
    [
        ("sleeps", {"time_limit": 2.0}, "timeout"),
        pytest.param(
            *("eats", {"memory_limit": 0.6}, "memory"),
            marks=pytest.mark.skipif(
                not Path("/proc/self/statm").exists(), reason="needs /proc"
            ),
        ),
    ],
)
def test_limits_hold_for_rivals_and_nothing_of_them_is_left(
    rivals, home, tmp_path, monkeypatch, method, limits, status
):
    (tmp_path / "small.toml").write_text(SUITE)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    plan = plan_suite(
        load_suite(tmp_path / "small.toml"),
        data_home=home,
        methods=[f"fake/{method}"],
        outsiders=list(rivals.values()),
    )
    with RecordStore(tmp_path / "r.sqlite") as store:
        run_plan(plan, store, data_home=home, threads=1, **limits)
        assert [record.status for record in store.records()] == [status]
    assert _ends(tmp_path / "fake_adapter.pid")
    assert list((tmp_path / "temporary").iterdir()) == []


def test_rivals_join_a_suite_and_their_failures_end_with_code_0(rivals, folder, capsys):
    command = ["reproduce", "small.toml", "--with", "fake.toml", "--json", "--methods"]
    assert main([*command, "impute-kmeans,fake/rows,fake/raises"]) == 0
    (suite,) = json.loads(capsys.readouterr().out)["suites"]
    assert (suite["ok"], suite["failed"]) == (2, 1)
    with RecordStore("records.sqlite") as store:
        labels = {e.label: e.record.status for e in store.entries("small", "quick")}
    assert labels == {"impute-kmeans": "ok", "fake/rows": "ok", "fake/raises": "failed"}
    assert str(folder).encode() not in Path("records.sqlite").read_bytes()


def test_another_python_may_be_named_as_a_program_or_a_folder(rivals, tmp_path):
    toml = str(tmp_path / "fake.toml")
    (tmp_path / "env" / "bin").mkdir(parents=True)
    program = tmp_path / "env" / "bin" / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    for text in (f"{toml}={sys.executable}", f"{toml}={tmp_path / 'env'}"):
        assert {rival.version for rival in find_rivals(text)} == {np.__version__}


MISSING = "import no_such_package\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--with", "imlm"], "--with imlm: unknown adapter 'imlm'; there are: imml, "),
        (["--with", "no.toml"], "--with no.toml: there is no file 'no.toml'"),
        (["--with", "imml=nowhere"], "there is no Python at 'nowhere'"),
        (["--with", "lacking.toml"], "No module named 'no_such_package'); run there: "),
        (["--with", "lacking.toml"], "pip install no-such; or name another Python: "),
        (["--with", "wrong.toml"], "wrong.toml: adapter a: flie, file: write a text"),
        (["--with", "empty.toml"], "empty.toml: adapter a: methods: write a text"),
        (["--method", "own.py"], "--method own.py: write it as path/to/file.py:Class"),
        (["--method", "absent.py:A"], "there is no file 'absent.py'"),
        (["--method", "own.py:Absent"], "own.py has no class 'Absent' with a fit"),
        (["--method", "own.py:unfit"], "own.py has no class 'unfit' with a fit"),
        (["--method", "own.py:Aimless"], "Aimless takes no n_clusters"),
        (["--method", "lacking.py:A"], "lacking.py cannot be imported (ModuleNotFound"),
        (["--method", "own.py:Mine"] * 2, "the method 'own.py:Mine' is given twice"),
    ],
)
def test_what_cannot_be_run_is_told_before_any_run(
    folder, own, capsys, arguments, told
):
    (folder / "lacking.py").write_text(MISSING)
    (folder / "lacking.toml").write_text(
        '[a]\nfile = "lacking.py"\nmethods = ["b"]\ninstall = "pip install no-such"'
    )
    (folder / "wrong.toml").write_text('[a]\nflie = "lacking.py"\nmethods = ["b"]')
    (folder / "empty.toml").write_text('[a]\nfile = "lacking.py"')
    assert main(["reproduce", "small.toml", *arguments]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not Path("records.sqlite").exists()


def test_an_own_method_is_run_with_the_seed_and_without_hidden_values(own, run, home):
    record = run(own_method(f"{own}:Mine"))
    assert record.ok, record.reason
    y = load("planted", home).y[np.random.default_rng([0, 1]).permutation(60)]
    assert record.scores["acc"] == score_all(y, (np.arange(60) + 3) % 3)["acc"]


def test_what_a_method_prints_is_no_part_of_the_output(folder, own, capfd):
    """The terminal may show it, a program that reads the JSON must not meet it."""
    loud = OWN.replace('raise RuntimeError("not today")', "print('fitting')")
    assert loud != OWN
    own.write_text(loud + "print('imported')\n")
    command = ["reproduce", "small.toml", "--method", "own.py:Raises", "--json"]
    assert main([*command, "--methods", "Raises"]) == 1  # it has no labels
    told = capfd.readouterr()
    assert json.loads(told.out)["suites"][0]["failed"] == 1
    assert "imported" in told.err
    assert "fitting" in told.err


def test_an_own_method_that_raises_is_a_failed_run_and_code_1(folder, own, capsys):
    command = ["reproduce", "small.toml", "--method", "own.py:Raises"]
    assert main([*command, "--methods", "Raises"]) == 1
    told = capsys.readouterr().err
    assert "Raises failed in one run: RuntimeError: not today" in told
    with RecordStore("records.sqlite") as store:
        (record,) = store.records()
    assert record.reason == "RuntimeError: not today"
    assert record.spec.method.startswith("own.py:Raises#")


def test_an_edited_method_is_run_anew_and_stands_alone_under_its_label(
    own, home, tmp_path
):
    (tmp_path / "small.toml").write_text(SUITE.replace("[0.5]", "[0.1, 0.5]"))
    store = RecordStore(tmp_path / "r.sqlite")

    def shown(rates):
        plan = plan_suite(
            load_suite(tmp_path / "small.toml"),
            data_home=home,
            methods=["Mine"],
            rates=rates,
            outsiders=[own_method(f"{own}:Mine")],
        )
        run_plan(plan, store, data_home=home, threads=1)
        entries = store.entries("small", "quick")
        assert {entry.label for entry in entries} == {"Mine"}
        return {entry.record.spec.key for entry in entries}

    first = shown([0.1, 0.5])
    assert shown([0.1, 0.5]) == first
    own.write_text(OWN + "# edited\n")
    assert len(shown([0.5])) == 1
    assert not shown([0.5]) & first
    store.close()


def test_a_file_changed_after_planning_is_not_run_under_the_old_name(own, run):
    method = own_method(f"{own}:Mine")
    own.write_text(OWN + "# edited\n")
    record = run(method)
    assert record.status == "failed"
    assert "own.py was changed after the runs were planned" in record.reason


def test_a_label_that_is_taken_becomes_that_of_file_and_class(own, home, tmp_path):
    (tmp_path / "small.toml").write_text(SUITE + 'label = "Mine"\n')
    plan = plan_suite(
        load_suite(tmp_path / "small.toml"),
        data_home=home,
        outsiders=[own_method(f"{own}:Mine")],
    )
    assert [run.label for run in plan.runs] == ["Mine", "own.py:Mine"]


def test_the_examples_of_the_documentation_run(tmp_path, run):
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
    blocks = re.findall(r"```\w+\n(# (my\w*\.\w+).*?)```", page, re.DOTALL)
    for text, name in blocks:
        (tmp_path / name).write_text(text)
    rivals = find_rivals(str(tmp_path / "my.toml"))
    mine = own_method(f"{tmp_path / 'my_method.py'}:Mine")
    assert [rival.label for rival in rivals] == ["mine/mean", "mine/zero"]
    records = [run(outsider) for outsider in (*rivals, mine)]
    assert [record.reason for record in records] == [""] * 3
    assert records[0].scores["acc"] > 0.5


def test_adapters_import_nothing_of_ours_and_we_nothing_of_rivals():
    assert list_adapters() == ("imml", "mofa")
    for path in Path(imvc.__file__).parent.rglob("*.py"):
        found = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        if path.parent == ADAPTERS:
            assert "imvc" not in found, path
        else:
            assert not found & {"imml", "mofapy2"}, path


def test_a_method_of_ones_own_is_run_whatever_others_are_picked(own, home, write_suite):
    mine = own_method(f"{own}:Mine")
    suite = load_suite(write_suite())
    plan = plan_suite(suite, data_home=home, methods=["one"], outsiders=[mine])
    assert {run.label for run in plan.runs} == {"one", "Mine"}
