"""A progress bar on stderr; plain lines where stderr is not a terminal."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from imvc._plain import cut
from imvc.cli._printing import clock
from imvc.cli._wrap import hanging

_PAUSE = 10.0  # seconds between two lines about the same
# Characters that leave room for the times in a terminal of 80 columns.
_TITLE, _BAR = 24, 20


@contextmanager
def progress_bar(title: str):
    """Yields a callable that takes `imvc.experiments.Progress`."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console, title).tell
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_BAR),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(cut(title, _TITLE), total=None)
        yield lambda state: bar.update(task, total=state.runs, completed=state.done)


class _Lines:
    """A line now and then, with the time left at the pace so far."""

    def __init__(self, console, title: str) -> None:
        self._console, self._title = console, title
        self._start = self._last = time.monotonic()
        self._first: int | None = None

    def tell(self, state) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = state.done
        finished = state.done == state.runs
        if now - self._last < _PAUSE and not finished:
            return
        self._last = now
        made = state.done - self._first
        left = (state.runs - state.done) * (now - self._start) / made if made else 0.0
        text = f"{self._title}: {state.done}/{state.runs}"
        if made and not finished:
            text += f", about {clock(left)} left"
        _print(self._console, text)


@contextmanager
def stage_progress(
    quiet: bool = False, bars: bool = True
) -> Iterator[Callable[[Any], None]]:
    """Yields a callable that takes `imvc.workflow.Progress` and shows it on stderr.

    In a terminal every stage has a line with its time and the time left; elsewhere a
    stage is told when it starts. Messages stay. `quiet` shows nothing; without `bars`
    a stage is told once, also in a terminal, since it shows its own progress.
    """
    if quiet:
        yield lambda state: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not bars or not console.is_terminal:
        yield _StageLines(console, pause=_PAUSE if bars else math.inf).tell
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    class TimeLeft(TextColumn):
        """The time left, counted down between the steps too."""

        def render(self, task):
            from rich.text import Text

            return Text(_left(task.fields["state"], task.elapsed or 0.0))

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_BAR),
        TimeElapsedColumn(),
        TimeLeft(""),
    )
    with Progress(*columns, console=console) as bar:
        yield _StageBars(bar).tell


def _left(state, elapsed: float) -> str:
    """The time left, by the pace so far or by the estimate; empty if unknown."""
    if state.finished:
        return ""
    if state.total and state.done:
        return f"about {clock(elapsed / state.done * (state.total - state.done))} left"
    if state.expected is not None and state.expected >= 1:
        return f"about {clock(max(state.expected - elapsed, 0))} left"
    return ""


def _print(console, text: str) -> None:
    """A message: wrapped at words in a terminal, on one line elsewhere."""
    if console.is_terminal:
        text = hanging(text, console.width)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _title(state) -> str:
    if not state.done:
        return state.stage
    if state.total:
        return f"{state.stage} {state.done}/{state.total}"
    return f"{state.stage}, step {state.done}"


class _StageBars:
    """One bar for every stage, in a terminal."""

    def __init__(self, bar) -> None:
        self._bar = bar
        self._tasks: dict[str, Any] = {}

    def tell(self, state) -> None:
        if state.message:
            _print(self._bar.console, state.message)
            return
        if state.stage not in self._tasks:
            self._tasks[state.stage] = self._bar.add_task(
                cut(state.stage, _TITLE), total=state.total, state=state
            )
        task = self._tasks[state.stage]
        # A stage of unknown length is full when it is over.
        total = (state.total or 1) if state.finished else state.total
        done = total if state.finished else state.done
        self._bar.update(
            task,
            description=cut(_title(state), _TITLE),
            total=total,
            completed=done,
            state=state,
        )
        if state.finished:
            self._bar.stop_task(task)


class _StageLines:
    """A line when a stage starts and now and then within it."""

    def __init__(self, console, pause: float) -> None:
        self._console, self._pause = console, pause
        self._started: dict[str, float] = {}
        self._last = 0.0

    def tell(self, state) -> None:
        if state.message:
            _print(self._console, state.message)
            return
        now = time.monotonic()
        start = self._started.get(state.stage)
        if start is None:
            start = self._started[state.stage] = self._last = now
        elif state.finished or now - self._last < self._pause:
            return
        self._last = now
        left = _left(state, now - start)
        text = f"{_title(state)} ({left})" if left else _title(state)
        _print(self._console, text)
