"""A progress bar on stderr; plain lines where stderr is not a terminal."""

import time
from contextlib import contextmanager

from imvc.cli._common import clock


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
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=None)
        yield lambda state: bar.update(task, total=state.runs, completed=state.done)


class _Lines:
    """A line now and then, with the time left at the pace so far."""

    def __init__(self, console, title: str, pause: float = 10.0) -> None:
        self._console, self._title, self._pause = console, title, pause
        self._start = self._last = time.monotonic()
        self._first: int | None = None

    def tell(self, state) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = state.done
        finished = state.done == state.runs
        if now - self._last < self._pause and not finished:
            return
        self._last = now
        made = state.done - self._first
        left = (state.runs - state.done) * (now - self._start) / made if made else 0.0
        text = f"{self._title}: {state.done}/{state.runs}"
        if made and not finished:
            text += f", about {clock(left)} left"
        self._console.print(text, markup=False, highlight=False)
