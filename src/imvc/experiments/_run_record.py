"""What is known of a finished run, and its row in the records file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import nan
from typing import Any, NamedTuple

from imvc._plain import plain
from imvc.experiments._suite import RunSpec

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
        Per stage of the fit, ``total`` and ``processor``: time of all threads, which
        a busy machine does not lengthen. In a group, ``total`` is the group's wall time
        over its size.
    peak_memory : int
        Bytes above what the process held before the fit; 0 where the system does not
        tell.
    objective : tuple of float
        One value per iteration.
    n_iter : int
    converged : bool
    grouped : int
        Runs that shared anchors and statistics with this one; 1: timed by itself.
    resolved : mapping
        All parameters of the estimator, defaults included.
    shape : mapping of str to int
        ``n_samples``, ``n_views``, ``n_clusters``, ``n_incomplete`` (samples),
        ``n_missing`` (cells of samples x views), ``shuffle_seed`` (of the row order).
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

    @property
    def missing_share(self) -> float:
        """Measured share of (sample, view) cells that are missing; NaN if not known."""
        cells = self.shape.get("n_samples", 0) * self.shape.get("n_views", 0)
        return self.shape.get("n_missing", nan) / cells if cells else nan

    @property
    def complete_share(self) -> float:
        """Measured share of samples that have all views; NaN if not known."""
        n = self.shape.get("n_samples", 0)
        return 1 - self.shape["n_incomplete"] / n if n else nan


class Entry(NamedTuple):
    """A record as it stands in a suite: its method's label, and its role there."""

    label: str
    role: str
    record: Record


_OF_RUN = [field.name for field in fields(RunSpec)]
_OF_RECORD = [field.name for field in fields(Record) if field.name != "spec"]
# Fields may change only with the number of the format, and a way to it from the last.
COLUMNS = (*_OF_RUN, *_OF_RECORD)
_AS_JSON = {"parameters", "scores", "seconds", "objective", "resolved", "shape"}


def to_row(record: Record, machine: int) -> list[Any]:
    """The values of `COLUMNS`, with the number of the machine in its place."""
    values = {name: getattr(record.spec, name) for name in _OF_RUN}
    values |= {name: getattr(record, name) for name in _OF_RECORD}
    values |= {"rate": float(record.spec.rate), "machine": machine}
    if record.grouped > 1:  # there are thousands of such runs: fewer digits do
        values["objective"] = [float(f"{value:.8g}") for value in record.objective]
    return [
        json.dumps(plain(value, _text_of), sort_keys=True)
        if name in _AS_JSON
        else value
        for name, value in values.items()
    ]


def from_row(row: Sequence[Any]) -> Record:
    """The record of the values of `COLUMNS`, with the machine's JSON in its place."""
    values = {
        name: json.loads(value) if name in _AS_JSON or name == "machine" else value
        for name, value in zip(COLUMNS, row)
    }
    spec = RunSpec(**{name: values.pop(name) for name in _OF_RUN})
    values["objective"] = tuple(values["objective"])
    values["converged"] = bool(values["converged"])
    return Record(spec, **values)


def _text_of(odd: Any) -> str | None:
    """What JSON cannot hold: nothing where a number is not finite, else a text."""
    return None if isinstance(odd, float) else repr(odd)
