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

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from statistics import fmean

from imvc.experiments._record import Entry

SELECTIONS = (
    "oracle-per-rate",
    "oracle-one",
    "oracle-per-draw",
    "oracle-best-draw",
    "default",
)


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
    entries = list(entries)
    if how == "default":
        return [entry for entry in entries if entry.role == "default"]
    grid = [entry for entry in entries if entry.role == "grid"]
    if how == "oracle-per-rate":
        return _best(grid, lambda e: (*_place(e), e.record.spec.rate), setting, metric)
    if how == "oracle-one":
        return _best(grid, _place, setting, metric)
    if how == "oracle-per-draw":
        return _best(grid, lambda e: (*_masked(e), e.record.spec.seed), setting, metric)
    return _best(grid, _masked, lambda e: (setting(e), e.record.spec.seed), metric)


def setting(entry: Entry) -> str:
    """The parameters of an entry, as text that is equal for equal ones."""
    return entry.record.spec.setting


def chosen_settings(entries: Iterable[Entry]) -> dict[tuple[str, str, float], list]:
    """Per (dataset, label, rate), the parameters that a selection kept."""
    found: dict[tuple[str, str, float], dict[str, dict]] = defaultdict(dict)
    for entry in entries:
        spec = entry.record.spec
        place = (spec.dataset, entry.label, spec.rate)
        found[place][setting(entry)] = dict(spec.parameters)
    return {place: list(settings.values()) for place, settings in found.items()}


def _place(entry: Entry) -> tuple[str, str]:
    return entry.record.spec.dataset, entry.label


def _masked(entry: Entry) -> tuple[str, str, float, int]:
    return *_place(entry), entry.record.spec.rate, entry.record.spec.mask_seed


def _best(
    entries: Sequence[Entry],
    place: Callable[[Entry], Hashable],
    choice: Callable[[Entry], Hashable],
    metric: str,
) -> list[Entry]:
    """Within every place, the entries of the choice with the best mean score."""
    places: dict[Hashable, dict[Hashable, list[Entry]]] = {}
    for entry in entries:
        places.setdefault(place(entry), {}).setdefault(choice(entry), []).append(entry)
    return [
        entry
        for choices in places.values()
        for entry in max(choices.values(), key=lambda runs: _merit(runs, metric))
    ]


def _merit(runs: Sequence[Entry], metric: str) -> tuple[int, float]:
    """Runs that ended well, then the mean over rates of the mean over seeds."""
    by_rate: dict[float, list[float]] = defaultdict(list)
    for entry in runs:
        if entry.record.ok:
            by_rate[entry.record.spec.rate].append(entry.record.scores[metric])
    n_ok = sum(map(len, by_rate.values()))
    return n_ok, fmean(map(fmean, by_rate.values())) if by_rate else 0.0
