"""Ranks over datasets as a table, beside the critical-difference plot."""

from __future__ import annotations

from collections.abc import Sequence

from imvc.experiments import Entry, Suite
from imvc.report._plots import ranking_of
from imvc.report._suite_tables import COLUMN_NAMES, selections_of
from imvc.report._table import Table


def ranks_table(suite: Suite, entries: Sequence[Entry]) -> list[Table]:
    """Mean ranks by ACC and paired tests, one table per selection.

    Parameters
    ----------
    suite : Suite
    entries : sequence of Entry

    Returns
    -------
    list of Table
        Methods without a result on some dataset are left out.
    """
    tables = []
    for how in selections_of(entries):
        ranking = ranking_of(entries, "acc", how)
        if ranking is None:
            continue
        rows = [
            (label, f"{rank:.2f}", _p(ranking.wilcoxon_p.get(label)))
            for label, rank in zip(ranking.labels, ranking.ranks)
        ]
        notes = (
            f"{ranking.n_datasets} datasets; Friedman p = {ranking.friedman_p:.2g}; "
            f"Nemenyi critical difference {ranking.critical_difference:.2f} (5 %). "
            f"Wilcoxon: best method against this one, corrected by Holm; before "
            f"correction it cannot be below {2 / 2**ranking.n_datasets:.2g} here.",
        )
        tables.append(
            Table(
                f"{suite.name}-ranks-{how}",
                f"{suite.title}: mean ranks by ACC ({COLUMN_NAMES[how]})",
                ("method", "mean rank", "Wilcoxon p"),
                tuple(rows),
                notes,
            )
        )
    return tables


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
