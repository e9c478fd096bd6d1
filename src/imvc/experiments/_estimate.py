"""How long the runs of a plan will take: from stored timings, else a simple model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from imvc.experiments._config import RunSpec
from imvc.experiments._grid import Shape
from imvc.experiments._record import Record
from imvc.methods import estimate_cost, list_methods

_PATH_SHARE = 0.15  # a run within a group, against one by itself


@dataclass(frozen=True)
class Estimate:
    """What lies ahead.

    Attributes
    ----------
    runs, done : int
        Of the plan, and those of them that are recorded already.
    seconds : float
        For the rest, on the given number of workers.
    measured : float
        Share of the rest whose time comes from stored timings of the same method on
        the same dataset.
    """

    runs: int
    done: int
    seconds: float
    measured: float


def estimate(
    groups: Sequence[Sequence[RunSpec]],
    shapes: Mapping[str, Shape],
    records: Iterable[Record],
    *,
    jobs: int = 1,
    time_limit: float | None = None,
) -> Estimate:
    """Estimate the time for groups of runs, given what is recorded already.

    Parameters
    ----------
    groups : sequence of sequences of RunSpec
        See `group_runs`.
    shapes : mapping of str to Shape
    records : iterable of Record
    jobs : int, default=1
    time_limit : float, optional
        Seconds per run; none is expected to take longer.

    Returns
    -------
    Estimate
    """
    records = list(records)
    done = {record.spec.key for record in records}
    times = _times(records)
    seconds, measured, left, total = 0.0, 0, 0, 0
    for group in groups:
        total += len(group)
        rest = [spec for spec in group if spec.key not in done]
        for spec in rest:
            stored = times.get((spec.method, spec.dataset, len(group) > 1))
            one = _model(spec, shapes[spec.dataset], len(group) > 1)
            one = one if stored is None else stored
            seconds += min(one, time_limit) if time_limit else one
            measured += stored is not None
        left += len(rest)
    share = measured / left if left else 1.0
    return Estimate(total, total - left, seconds / max(1, jobs), share)


def _times(records: Iterable[Record]) -> dict[tuple[str, str, bool], float]:
    found: dict[tuple[str, str, bool], list[float]] = defaultdict(list)
    for record in records:
        if record.ok:
            spec = record.spec
            key = (spec.method, spec.dataset, record.grouped > 1)
            found[key].append(record.seconds["total"])
    return {key: mean(values) for key, values in found.items()}


def _model(spec: RunSpec, shape: Shape, grouped: bool) -> float:
    # A method from elsewhere is taken to cost what RISE does.
    method = spec.method if spec.method in list_methods() else "rise"
    widths = shape.n_features or (1,) * shape.n_views
    cost = estimate_cost(method, shape.n_samples, widths, shape.n_clusters)
    return cost.seconds * (_PATH_SHARE if grouped else 1.0)
