"""How long the runs of a plan will take: from stored timings, else a simple model."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from statistics import mean

from imvc.experiments._records_file import RecordStore
from imvc.experiments._run_record import Record
from imvc.experiments._suite import RunSpec
from imvc.experiments._suite_plan import Plan, Shape, unique_groups
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


def estimate_plan(
    plan: Plan,
    store: RecordStore | None = None,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
) -> Estimate:
    """How many runs are left and how long they will take.

    Parameters
    ----------
    plan : Plan
    store : RecordStore, optional
        Where timings are taken from and what is done already.
    jobs : int, default=1
    time_limit : float, optional
        Seconds per run, none is expected to take longer; the suite's own by default.

    Returns
    -------
    Estimate
    """
    limit = time_limit or plan.suite.time_limit or inf
    records = store.records() if store is not None else []
    done = {record.spec.key for record in records}
    times = _times(records)
    groups = unique_groups(plan)
    left = [
        (spec, len(group) > 1)
        for group in groups
        for spec in group
        if spec.key not in done
    ]
    seconds, measured = 0.0, 0
    too_long: Counter[tuple[str, str, str]] = Counter()
    for spec, grouped in left:
        stored = times.get((spec.method, spec.dataset, grouped))
        if stored is None:
            stored = _model(spec, plan.shapes[spec.dataset], grouped)
        else:
            measured += 1
        place = (spec.dataset, spec.method, spec.setting)
        if too_long[place] < (plan.suite.give_up_after or inf):
            seconds += min(stored, limit)
        too_long[place] += stored >= limit
    total = sum(map(len, groups))
    share = measured / len(left) if left else 1.0
    return Estimate(total, total - len(left), seconds / max(1, jobs), share)


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
