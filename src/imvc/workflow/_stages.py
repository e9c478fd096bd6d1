"""Stages of a workflow: timed, and told to whoever shows progress."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """Where a workflow is; the argument of every ``progress`` callable.

    Parameters
    ----------
    stage : str
        What is being done; empty where there is only a message.
    done : int
        Steps finished: refits, methods, or iterations of a fit.
    total : int, optional
        Steps in all, where that is known.
    expected : float, optional
        Seconds that the stage will take by the estimate.
    finished : bool
        Whether the stage is over.
    message : str
        A sentence for the user.
    """

    stage: str = ""
    done: int = 0
    total: int | None = None
    expected: float | None = None
    finished: bool = False
    message: str = ""


class Stages:
    """The stages of one workflow: their seconds, and who is told.

    Parameters
    ----------
    progress : callable, optional
        Called with a `Progress` at the start, within and at the end of stages.

    Examples
    --------
    >>> from imvc.workflow import Stages
    >>> stages = Stages(lambda state: print(state.stage, state.finished))
    >>> with stages.run("fit"):
    ...     pass
    fit False
    fit True
    >>> list(stages.seconds)
    ['fit']
    """

    def __init__(self, progress: Callable[[Progress], None] | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def run(
        self, stage: str, *, total: int | None = None, expected: float | None = None
    ) -> Iterator[Callable[[int], None]]:
        """Time a stage; yields a callable that takes the steps done so far."""

        def step(done: int, finished: bool = False) -> None:
            self._tell(Progress(stage, done, total, expected, finished))

        start = perf_counter()
        step(0)
        yield step
        self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - start
        logger.info("%s: %.3f s", stage, self.seconds[stage])
        step(total or 0, finished=True)

    def say(self, message: str) -> None:
        """Pass a sentence on to the user."""
        logger.info("%s", message)
        self._tell(Progress(message=message))

    def _tell(self, state: Progress) -> None:
        if self._progress is not None:
            self._progress(state)
