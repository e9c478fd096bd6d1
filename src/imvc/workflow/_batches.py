"""Columns of batches: checked, compared with the clusters, and told in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np

from imvc.insight._associations import FOLLOWED
from imvc.insight._sentences import few
from imvc.metrics import column_leakage
from imvc.metrics._batch_labels import batch_codes
from imvc.views import IncompleteViews
from imvc.workflow._adjust import Adjustment, find_adjustment
from imvc.workflow._batch_effects import BatchEffects
from imvc.workflow._stages import Stages

_CHANCE = 0.01  # p value from which on it may be chance
_SHOWN = 8  # names of columns or batches in a text


@dataclass(frozen=True, eq=False)
class BatchColumns:
    """The columns of batches that were asked for, checked.

    Parameters
    ----------
    columns : dict of str to ndarray
        By name; that of ``batch`` first.
    adjust : str, optional
        The one whose effects are to be removed.
    request : dict
        ``batch`` and ``adjust`` as they were asked for, None for what was an array.
    not_kept : tuple of str
        Those that were arrays, which a record of the run does not keep.
    """

    columns: dict[str, np.ndarray] = field(default_factory=dict)
    adjust: str | None = None
    request: Mapping[str, str | None] = field(
        default_factory=lambda: {"batch": None, "adjust": None}
    )
    not_kept: tuple[str, ...] = ()

    @classmethod
    def asked(
        cls,
        batch: Any,
        adjust: Any,
        metadata: Mapping[str, np.ndarray],
        views: IncompleteViews,
    ) -> "BatchColumns":
        """The columns by name or as arrays; ``adjust`` implies ``batch``."""
        given = {"batch": batch, "adjust": adjust}
        columns, named = {}, {}
        for option, what in given.items():
            if what is not None:
                named[option] = what if isinstance(what, str) else option
                columns[named[option]] = _column(option, what, metadata, views)
        texts = {k: w if isinstance(w, str) else None for k, w in given.items()}
        lost = tuple(k for k, w in given.items() if w is not None and texts[k] is None)
        return cls(columns, named.get("adjust"), texts, lost)

    @property
    def first(self) -> np.ndarray | None:
        """The column whose leakage the model tells."""
        return next(iter(self.columns.values()), None)

    def search(
        self, model: Any, views: IncompleteViews, stages: Stages
    ) -> Adjustment | None:
        """The views without the effects of ``adjust``, where that was asked for."""
        if self.adjust is None:
            return None
        with stages.run("adjust") as step:
            return find_adjustment(
                model, views, self.columns[self.adjust], column=self.adjust, tell=step
            )


@dataclass(frozen=True, eq=False)
class BatchFindings:
    """How far clusters follow batches.

    Parameters
    ----------
    asked : BatchColumns
    leakage : dict of str to (float, float)
        Adjusted mutual information with the clusters, and its p value, by column.
    adjustment : Adjustment, optional
    """

    asked: BatchColumns = field(default_factory=BatchColumns)
    leakage: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    adjustment: Adjustment | None = None

    @classmethod
    def of(
        cls, asked: BatchColumns, model: Any, adjustment: Adjustment | None
    ) -> "BatchFindings":
        """Compare columns with the clusters of a model, which gets the effects."""
        if adjustment is not None and asked.adjust is not None:
            adjustment = adjustment.with_model(model, asked.columns[asked.adjust])
        leakage = {
            name: column_leakage(model.labels_, column)
            for name, column in asked.columns.items()
        }
        return cls(asked, leakage, adjustment)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Leakage by column, in JSON's types."""
        found = {name: {"ami": a, "p": p} for name, (a, p) in self.leakage.items()}
        if self.adjustment is not None and self.asked.adjust is not None:
            found[self.asked.adjust]["before"] = self.adjustment.leakage_before
        return found

    def notes(self) -> tuple[str, ...]:
        """What was adjusted."""
        return () if self.adjustment is None else adjustment_notes(self.adjustment)

    def warnings(self) -> tuple[str, ...]:
        """What follows a batch, or could not be told from it."""
        found: list[str] = []
        done = self.adjustment
        if done is not None and done.confounded:
            column = done.effects.column
            found.append(
                f"clusters and effects of {column} cannot be told apart (adjusted "
                f"mutual information {done.leakage_after:.2f}), and --adjust {column} "
                f"(adjust=) removed nothing: {done.reason}."
            )
        for name, (ami, p) in self.leakage.items():
            if found and name == self.asked.adjust:
                continue  # said already
            text = leakage_warning(name, ami, p, name == self.asked.adjust)
            found += [] if text is None else [text]
        return tuple(found)


def leakage_warning(column: str, ami: float, p: float, adjusted: bool) -> str | None:
    """A sentence where clusters follow a column of batches, with the remedy.

    Parameters
    ----------
    column : str
    ami, p : float
        As `imvc.metrics.column_leakage` gives them.
    adjusted : bool
        Whether the clusters are adjusted for the column already.
    """
    if not (ami > FOLLOWED and p < _CHANCE):
        return None
    measured = f"(adjusted mutual information {ami:.2f}, p = {p:.3g})"
    if adjusted:
        return (
            f"the clusters follow {column} {measured} after --adjust {column} too: its "
            f"batches hold different kinds of samples, or cannot be told from them."
        )
    return (
        f"the clusters follow {column} {measured}: they may be differences between "
        f"batches; --adjust {column} (adjust={column!r}) removes what these explain."
    )


def adjustment_notes(found: Adjustment) -> tuple[str, ...]:
    """What was adjusted, in sentences."""
    column, before = found.effects.column, found.leakage_before
    if found.reason is not None:
        return (
            f"not adjusted for {column}: {found.reason}; the clusters follow it by "
            f"{found.leakage_after:z.2f} (adjusted mutual information).",
        )
    rounds = f"{found.n_rounds} round{'s' if found.n_rounds > 1 else ''}"
    shares = ", ".join(f"{view} {part:.0%}" for view, part in found.removed.items())
    notes = [
        f"adjusted for {column} in {rounds}: the clusters follow it by {before:z.2f} "
        f"without and {found.leakage_after:z.2f} with it (adjusted mutual "
        f"information); removed of the variance: {shares}."
    ]
    for view, groups in found.apart.items():
        listed = " | ".join(_few(group) for group in groups)
        notes.append(
            f"view {view}: {column} {listed} share no cluster; differences between "
            f"these groups were not removed."
        )
    return tuple(notes)


def effect_warnings(effects: BatchEffects, batch: Any) -> list[str]:
    """What to tell of new samples whose batch effects a model cannot remove."""
    column, told = effects.column, []
    unknown, new = effects.not_removed(batch)
    if unknown:
        told.append(
            f"the model is adjusted for {column}, which is not known of {unknown} of "
            f"{len(batch)} samples: their batch effects could not be removed; give a "
            f"column {column!r} in the files, or a table with ids and that column by "
            f"--metadata (metadata=)."
        )
    if new:
        listed = _few(f"{name} ({count} samples)" for name, count in new.items())
        told.append(
            f"the model has not seen these values of {column}: {listed}; their batch "
            f"effects could not be removed."
        )
    return told


def _column(
    option: str, given: Any, metadata: Mapping[str, np.ndarray], views: IncompleteViews
) -> np.ndarray:
    """Values of a column of batches, or an error that says what is wrong with it."""
    known, what = given, f"{option}="
    if isinstance(given, str):
        what = f"--{option} {given!r} ({option}=)"
        if given not in metadata:
            raise ValueError(
                f"{what} is no column of the metadata{_hint(given, metadata)}"
            )
        known = metadata[given]
    codes, batches = batch_codes(known, views.n_samples, views.sample_ids, name=option)
    if len(batches) < 2:
        only = f"the value {batches[0]!r} only" if batches else "no value"
        raise ValueError(f"{what} has {only}; name a column with two batches or more.")
    if len(batches) > views.n_samples / 3:
        raise ValueError(
            f"{what} has {len(batches)} different values for {views.n_samples} samples "
            f"and so is no batch; name a column with few values, such as a site."
        )
    names = np.array([*batches, None], dtype=object)
    return names[codes]  # -1 picks None


def _hint(given: str, metadata: Mapping[str, Any]) -> str:
    if not metadata:
        return "; there is none. Give a table with ids by --metadata (metadata=)."
    near = get_close_matches(given, metadata, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    return f"{meant} There are: {_few(map(repr, metadata))}."


def _few(texts: Any) -> str:
    return few(list(texts), _SHOWN)
