"""A line that says how far a pass over the blocks is, and how long it will take."""

import sys
from time import monotonic

_WIDTH = 24
_PAUSE = {True: 0.2, False: 10.0}  # seconds between lines: on a terminal, in a log


class BlockProgress:
    """Writes ``graph [#####.....] 31/76 blocks, about 40 s left`` to a stream.

    On a terminal the line is overwritten; elsewhere a line comes every ten seconds.
    Passes that take less than a second are not shown.
    """

    def __init__(self, stream=None):
        self._stream = sys.stderr if stream is None else stream
        self._live = bool(getattr(self._stream, "isatty", lambda: False)())
        self._name, self._start, self._shown = None, 0.0, 0.0

    def __call__(self, name, done, total):
        now = monotonic()
        if name != self._name or done == 1:
            self._name, self._start, self._shown = name, now, now
        elapsed = now - self._start
        finished = done == total
        if now - self._shown < _PAUSE[self._live] and not (finished and elapsed > 1):
            return
        self._shown = now
        filled = _WIDTH * done // total
        # The clock starts with the end of the first block.
        left = elapsed / max(done - 1, 1) * (total - done)
        bar = "#" * filled + "." * (_WIDTH - filled)
        rest = f"{_span(elapsed)} taken" if finished else f"about {_span(left)} left"
        line = f"{name} [{bar}] {done}/{total} blocks, {rest}"
        end = "\n" if finished or not self._live else ""
        self._stream.write(f"\r{line:<78}{end}" if self._live else f"{line}\n")
        self._stream.flush()


def _span(seconds):
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
