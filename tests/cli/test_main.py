"""The entry point: signals, full outputs, and how errors read."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("typer")

from imvc import workflow
from imvc.cli import main


def during(monkeypatch, action):
    """Let `imvc demo` do something else."""
    monkeypatch.setattr(workflow, "demo", lambda *_, **__: action())


def on_posix(test):
    return pytest.mark.skipif(sys.platform == "win32", reason="no such signals")(test)


@on_posix
def test_the_handler_of_a_signal_is_given_back(monkeypatch, capsys):
    during(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    assert main(["demo", "-q"]) == 143
    assert signal.getsignal(signal.SIGTERM) == before
    assert capsys.readouterr().err == (
        "imvc: interrupted; no half-written file is left.\n"
    )


@on_posix
def test_a_second_signal_does_not_interrupt_the_cleaning_up(monkeypatch):
    cleaned = []

    def work():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned.append(True)

    during(monkeypatch, work)
    assert main(["demo", "-q"]) == 143
    assert cleaned == [True]


@on_posix
@pytest.mark.parametrize("own", [signal.SIG_IGN, lambda number, frame: None])
def test_signals_that_somebody_ignores_or_handles_are_left_alone(monkeypatch, own):
    seen = []
    during(monkeypatch, lambda: seen.append(signal.getsignal(signal.SIGTERM)) or 1 / 0)
    before = signal.signal(signal.SIGTERM, own)
    try:
        assert main(["demo", "-q"]) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [own]


def test_outside_of_the_main_thread_signals_are_left_alone(monkeypatch, capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["methods"])))
    thread.start()
    thread.join()
    assert codes == [0]


def test_a_run_of_suites_that_is_terminated_says_that_it_resumes(monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("imvc.experiments.load_suite", stop)
    assert main(["reproduce", "table2"]) == 130
    assert "the same command resumes" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [["methods"], ["--help"], ["methods", "--json"]])
def test_an_output_without_room_is_told_in_one_line(command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "imvc.cli", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    reason = os.strerror(errno.ENOSPC)
    assert done.stderr == f"imvc: the output cannot be written: {reason}.\n"


def test_a_file_without_room_is_told_with_what_to_do(monkeypatch, tmp_path, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.csv").write_text("id,x\np1,1\np2,2\np3,5\n")
    monkeypatch.setattr(os, "fsync", full)
    picture = str(tmp_path / "x.svg")
    assert main(["inspect", str(tmp_path / "a.csv"), "--svg", picture, "-q"]) == 1
    assert capsys.readouterr().err == (
        f"imvc: {picture}: {os.strerror(errno.ENOSPC)}; free some space there, or "
        f"write to another disk.\n"
    )
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "a.csv", "--foo"],
        ["cluster", "a.csv", "--seed", "x"],
        ["cluster", "a.csv", "-k", "1"],
        ["compare", "a.csv"],
        ["predict"],
        ["data", "info"],
        ["data", "nothing"],
        ["clster"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_the_hint_at_the_help_comes_after_a_full_stop(capsys, arguments):
    assert main(arguments) == 2
    told = capsys.readouterr().err
    path = re.search(r" See (imvc[a-z ]*) --help\.\n$", told)[1]
    assert re.search(r"[^.][.?] See imvc", told)
    assert main([*path.split()[1:], "--help"]) == 0
