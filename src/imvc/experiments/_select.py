"""Which settings a column shows. Labels are used in some: never mixed with the others.

==================  ================================================================
oracle-per-rate     for every missing rate the grid setting with the best mean ACC
oracle-one          one grid setting for all rates, the best mean ACC over them
oracle-per-draw     for every rate, mask and anchor seed the setting that was best with
                    this very draw: what a search over one draw finds, on average
oracle-best-draw    per rate and mask the best single run, anchor seeds included: what
                    such a search finds when the draw is lucky
default             the fixed parameters, nothing searched, labels not looked at
==================  ================================================================
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from imvc.experiments._run_record import Entry

# Per dataset and label, what an oracle chooses for each of, and what it chooses.
_ORACLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "oracle-per-rate": (("rate",), ("setting",)),
    "oracle-one": ((), ("setting",)),
    "oracle-per-draw": (("rate", "mask_seed", "seed"), ("setting",)),
    "oracle-best-draw": (("rate", "mask_seed"), ("setting", "seed")),
}
SELECTIONS = (*_ORACLES, "default")


def select(entries: Iterable[Entry], how: str, metric: str = "acc") -> list[Entry]:
    """Keep the entries that a column of this selection shows.

    Parameters
    ----------
    entries : iterable of Entry
    how : {"oracle-per-rate", "oracle-one", "oracle-per-draw", "oracle-best-draw", \
"default"}
    metric : str, default="acc"
        The score by which an oracle chooses; all other scores come from the setting it
        chose.

    Returns
    -------
    list of Entry
        A setting is chosen among those that ended well on all masks and seeds; if
        there is none, among those that ended well on most. If none ended well
        anywhere, the unsuccessful entries are kept, so that a table can say why.

    Examples
    --------
    >>> from imvc.experiments import Entry, Record, RunSpec, select
    >>> def run(beta, acc):
    ...     spec = RunSpec("webkb", "rise", {"beta": beta}, 0.1, 0, 0)
    ...     return Entry("rise", "grid", Record(spec, scores={"acc": acc}))
    >>> chosen = select([run(1, 0.6), run(10, 0.7)], "oracle-per-rate")
    >>> [entry.record.spec.parameters for entry in chosen]
    [{'beta': 10}]
    """
    if how not in SELECTIONS:
        raise ValueError(
            f"selection {how!r} is unknown; there are: {', '.join(SELECTIONS)}."
        )
    if how == "default":
        return [entry for entry in entries if entry.role == "default"]
    chosen_for, chosen = _ORACLES[how]
    places: dict[tuple, dict[tuple, list[Entry]]] = {}
    for entry in entries:
        if entry.role == "grid":
            place = (entry.label, *_fields(entry, "dataset", *chosen_for))
            choices = places.setdefault(place, {})
            choices.setdefault(_fields(entry, *chosen), []).append(entry)
    return [
        entry
        for choices in places.values()
        for entry in max(choices.values(), key=lambda runs: _merit(runs, metric))
    ]


def chosen_settings(entries: Iterable[Entry]) -> dict[tuple[str, str, float], list]:
    """Per (dataset, label, rate), the parameters that a selection kept."""
    found: dict[tuple[str, str, float], dict[str, dict]] = defaultdict(dict)
    for entry in entries:
        spec = entry.record.spec
        place = (spec.dataset, entry.label, spec.rate)
        found[place][spec.setting] = dict(spec.parameters)
    return {place: list(settings.values()) for place, settings in found.items()}


def _fields(entry: Entry, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(entry.record.spec, name) for name in names)


def _merit(runs: Sequence[Entry], metric: str) -> tuple[int, float]:
    """Runs that ended well, then the mean over rates of the mean over seeds."""
    by_rate: dict[float, list[float]] = defaultdict(list)
    for entry in runs:
        if entry.record.ok:
            by_rate[entry.record.spec.rate].append(entry.record.scores[metric])
    n_ok = sum(map(len, by_rate.values()))
    return n_ok, fmean(map(fmean, by_rate.values())) if by_rate else 0.0
