"""Mean and standard deviation over masks and anchor draws."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import nan
from statistics import fmean, stdev

from imvc.experiments._run_record import Entry, Record

LAST = -1.0  # below every score
STATUS_SIGNS = {"timeout": "time", "memory": "memory", "failed": "error"}


@dataclass(frozen=True)
class Cell:
    """One number of a table, with what stands behind it.

    Attributes
    ----------
    mean, sd : float
        ``sd`` is over pairs of mask seed and anchor seed, each averaged over the rates
        first; NaN where there is one pair only. Both NaN if no run ended well.
    n, ok : int
        Runs, and those that ended well.
    rates : tuple of float
        Missing rates of the runs that ended well.
    why : str
        "time", "memory" or "error" where no run ended well.
    """

    mean: float
    sd: float
    n: int
    ok: int
    rates: tuple[float, ...] = ()
    why: str = ""

    @property
    def counted(self) -> float:
        """For ranks and pairs: a run without a result is 0, none at all is last."""
        # Leaving them out would reward methods that fail where it is difficult.
        return self.mean * self.ok / self.n if self.ok else LAST


def summarize(
    entries: Iterable[Entry],
    value: str | Callable[[Record], float | None] = "acc",
    *,
    by_rate: bool = False,
) -> dict[tuple, Cell]:
    """Average the entries of one selection per dataset and label.

    Parameters
    ----------
    entries : iterable of Entry
        From `select`: one setting per dataset, label and rate.
    value : str or callable, default="acc"
        A score by name, or a function of a record; None leaves the record out.
    by_rate : bool, default=False
        One cell per missing rate instead of the mean over rates.

    Returns
    -------
    dict
        (dataset, label) or (dataset, label, rate) to `Cell`, in order of appearance.
    """
    read = value if callable(value) else lambda record: record.scores.get(value)
    places: dict[tuple, list[Record]] = defaultdict(list)
    for entry in entries:
        spec = entry.record.spec
        place = (spec.dataset, entry.label)
        places[(*place, spec.rate) if by_rate else place].append(entry.record)
    return {place: _cell(records, read) for place, records in places.items()}


def own_seconds(record: Record) -> float | None:
    """Wall time of the fit; None for a run that shared its work with others."""
    return record.seconds.get("total") if record.grouped == 1 else None


def _cell(records: list[Record], read: Callable[[Record], float | None]) -> Cell:
    draws: dict[tuple[int, int], list[float]] = defaultdict(list)
    rates = set()
    masks = [(r.spec.mask_seed, r.spec.rate) for r in records]
    # One run per mask (a single seed, or the best draw): the seed tells nothing.
    seeded = len(set(masks)) < len(masks)
    for record in records:
        number = read(record) if record.ok else None
        if number is not None:
            spec = record.spec
            draws[spec.mask_seed, spec.seed if seeded else 0].append(number)
            rates.add(record.spec.rate)
    ok = sum(map(len, draws.values()))
    if not ok:
        bad = next((r.status for r in records if not r.ok), "")
        return Cell(nan, nan, len(records), 0, why=STATUS_SIGNS.get(bad, ""))
    means = [fmean(values) for values in draws.values()]
    # Draws that lost rates are not comparable with the others: no spread from them.
    whole = len({len(values) for values in draws.values()}) == 1
    sd = stdev(means) if len(means) > 1 and whole else nan
    mean = fmean(number for values in draws.values() for number in values)
    return Cell(mean, sd, len(records), ok, tuple(sorted(rates)))
