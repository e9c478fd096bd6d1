"""What is known of a finished run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from imvc.experiments._config import RunSpec

STATUSES = ("ok", "failed", "timeout", "memory")


@dataclass(frozen=True)
class Record:
    """One finished run, whatever its end.

    Parameters
    ----------
    spec : RunSpec
    status : {"ok", "failed", "timeout", "memory"}
    reason : str
        Why a run that is not "ok" is not.
    scores : mapping of str to float
        As `imvc.metrics.score_all` gives them, and ``pattern_leakage``.
    seconds : mapping of str to float
        Per stage of the fit, and ``total``. In a group, ``total`` is the group's wall
        time over its size.
    peak_memory : int
        Bytes above what the process held before the fit.
    objective : tuple of float
        One value per iteration.
    n_iter : int
    converged : bool
    grouped : int
        Runs that shared anchors and statistics with this one; 1: timed by itself.
    resolved : mapping
        All parameters of the estimator, defaults included.
    shape : mapping of str to int
        ``n_samples``, ``n_views``, ``n_clusters``, ``n_incomplete``.
    machine : mapping
        See `machine_info`.
    finished : str
        Time in ISO format, UTC.
    """

    spec: RunSpec
    status: str = "ok"
    reason: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int = 0
    objective: tuple[float, ...] = ()
    n_iter: int = 0
    converged: bool = False
    grouped: int = 1
    resolved: Mapping[str, Any] = field(default_factory=dict)
    shape: Mapping[str, int] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    finished: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run ended as it should."""
        return self.status == "ok"


class Entry(NamedTuple):
    """A record as it stands in a suite: its method's label, and its role there."""

    label: str
    role: str
    record: Record
