"""The line that says how far a pass over the blocks is."""

import io

import numpy as np
import pytest

from imvc import RISE
from imvc.scale import BlockProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("imvc.scale._progress.monotonic", lambda: now[0])
    return now


def run(stream, clock, seconds, blocks=10):
    progress = BlockProgress(stream)
    for done in range(1, blocks + 1):
        progress("graph", done, blocks)
        clock[0] += seconds
    return stream.getvalue()


def test_a_log_gets_a_line_every_ten_seconds_with_the_time_left(clock):
    lines = run(io.StringIO(), clock, 5.0).splitlines()
    assert lines[0].startswith("graph [#######")
    assert "3/10 blocks, about 35 s left" in lines[0]
    assert lines[-1].endswith("10/10 blocks, 45 s taken")
    assert len(lines) == 5


def test_a_terminal_gets_one_line_that_is_overwritten(clock):
    text = run(Terminal(), clock, 5.0)
    assert text.count("\n") == 1
    assert text.count("\r") == 9


def test_quick_passes_are_not_shown(clock):
    assert run(io.StringIO(), clock, 0.01) == ""


def test_long_times_are_told_in_minutes_and_hours(clock):
    text = run(io.StringIO(), clock, 600.0)
    assert "about 80 min left" in text
    assert "1.5 h taken" in text


def test_verbose_fits_on_files_show_it(tmp_path, capsys, clock, monkeypatch):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", rng.standard_normal((2000, 20)))

    def tick():
        clock[0] += 11.0
        return clock[0]

    monkeypatch.setattr("imvc.scale._progress.monotonic", tick)
    model = RISE(3, n_anchors=20, memory_budget="1MiB", random_state=0)
    model.fit([tmp_path / "x.npy"])
    assert "blocks" not in capsys.readouterr().err
    model.set_params(verbose=1).fit([tmp_path / "x.npy"])
    told = capsys.readouterr().err
    assert "graph [" in told
    assert "blocks, about" in told
