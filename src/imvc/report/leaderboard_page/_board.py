"""What a leaderboard says of its runs. The unit of every statistic is the dataset."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from statistics import fmean, median

import numpy as np

from imvc.datasets import list_protocols
from imvc.experiments import (
    Cell,
    Entry,
    Pair,
    Ranking,
    Record,
    Suite,
    compare_pairs,
    rank_methods,
    select,
    summarize,
)

LEAKAGE = "pattern_leakage"
_ORDER = {protocol.name: i for i, protocol in enumerate(list_protocols())}


@dataclass(frozen=True)
class Board:
    """The runs of a leaderboard at default settings, or a choice of them.

    Parameters
    ----------
    suite : Suite
    entries : tuple of Entry
    pending : int
        Runs that have no record yet.
    """

    suite: Suite
    entries: tuple[Entry, ...]
    pending: int = 0

    @classmethod
    def of(cls, suite: Suite, entries: Sequence[Entry], pending: int = 0) -> "Board":
        """The board of a suite; rows that are sorted by class do not count."""
        chosen = (
            entry
            for entry in select(entries, "default")
            if entry.record.spec.row_order == "shuffled"
        )
        return cls(suite, tuple(chosen), pending)

    def pick(
        self,
        protocol: str | None = None,
        rate: float | None = None,
        kind: str | None = None,
    ) -> "Board":
        """The runs of one protocol, nominal rate or kind of data."""
        chosen = (
            entry
            for entry in self.entries
            for spec in [entry.record.spec]
            if protocol in (None, spec.protocol)
            and rate in (None, spec.rate)
            and kind in (None, self.kind(spec.dataset))
        )
        return replace(self, entries=tuple(chosen))

    def kind(self, dataset: str) -> str:
        """What a dataset is of, as the suite names it."""
        return self.suite.kinds.get(dataset, "other")

    @cached_property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(e.record.spec.dataset for e in self.entries))

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(entry.label for entry in self.entries))

    @cached_property
    def masks(self) -> list[tuple[str, float]]:
        """Pairs of protocol and nominal rate, protocols in the order of the docs."""
        found = {(e.record.spec.protocol, e.record.spec.rate) for e in self.entries}
        return sorted(found, key=lambda mask: (_ORDER.get(mask[0], len(_ORDER)), mask))

    @cached_property
    def metrics(self) -> list[str]:
        """Scores of the records, those that the suite names first."""
        found = sorted({name for e in self.entries for name in e.record.scores})
        own = [name for name in self.suite.metrics if name in found]
        return own + [name for name in found if name not in (*own, LEAKAGE)]

    def cells(
        self, value: str | Callable[[Record], float | None]
    ) -> dict[tuple[str, str], Cell]:
        """(dataset, method) to mean and deviation over seeds."""
        return summarize(self.entries, value)

    def shared(self) -> "Board":
        """The runs on masks that every method was run on, dataset by dataset."""
        ran: dict[tuple, set[str]] = {}
        for entry in self.entries:
            ran.setdefault(_mask(entry.record), set()).add(entry.label)
        whole = {
            mask for mask, labels in ran.items() if len(labels) == len(self.methods)
        }
        kept = (entry for entry in self.entries if _mask(entry.record) in whole)
        return replace(self, entries=tuple(kept))

    def table(self, metric: str) -> tuple[list[str], np.ndarray]:
        """Datasets with masks that all methods were run on, and counted scores there.

        The scores are of shape (n, k); runs on other masks do not count.
        """
        cells = self.shared().cells(metric)
        datasets = [
            dataset
            for dataset in self.datasets
            if all((dataset, method) in cells for method in self.methods)
        ]
        rows = [[cells[d, m].counted for m in self.methods] for d in datasets]
        # Means of the same scores in another order of runs are equal, and tie.
        scores = np.round(np.array(rows, dtype=float), 8)
        return datasets, scores.reshape(len(datasets), len(self.methods))

    def ranking(self, metric: str) -> Ranking | None:
        """Mean ranks; None where there are not two datasets and two methods."""
        datasets, scores = self.table(metric)
        if len(datasets) < 2 or len(self.methods) < 2:
            return None
        return rank_methods(scores, self.methods)

    def pairs(self, metric: str) -> list[Pair]:
        """Every method against every other."""
        datasets, scores = self.table(metric)
        return compare_pairs(scores, self.methods) if datasets else []

    def mean(self, metric: str, method: str) -> tuple[float, int]:
        """Mean over the datasets with a result, and how many there are."""
        cells = self.cells(metric)
        found = [cell.mean for place, cell in cells.items() if place[1] == method]
        known = [mean for mean in found if not isnan(mean)]
        return (fmean(known) if known else nan), len(known)

    def seconds(self, method: str, dataset: str | None = None) -> float:
        """Median processor seconds of runs that ended well."""
        found = [
            entry.record.seconds["processor"]
            for entry in self.entries
            if entry.label == method
            and dataset in (None, entry.record.spec.dataset)
            and entry.record.ok
            and "processor" in entry.record.seconds
        ]
        return median(found) if found else nan


def _mask(record: Record) -> tuple:
    """What decides a mask, and the seed beside it: equal for comparable runs."""
    spec = record.spec
    return spec.dataset, spec.protocol, spec.rate, spec.mask_seed, spec.seed
