"""The section on what clusters mean: one card per column, survival, and a heatmap."""

from typing import Any

import numpy as np

from imvc._plain import cut
from imvc.insight import ColumnAssociation, Survival
from imvc.insight._column_kinds import day_text
from imvc.insight._drawn import drawn_levels
from imvc.insight._profiles import DEEPEST
from imvc.insight._sentences import p_text
from imvc.report._inline_svg import number
from imvc.report.cluster_page._cluster_report import ClusterReport
from imvc.report.cluster_page._meaning_svg import (
    CLUSTERS,
    Looks,
    level_colours,
    quantile_strips,
    share_bars,
    survival_plot,
)

_OPEN = 12  # cards that are open
_DRAWN = 60  # cards at all; the table lists every column
_LISTED = 1_000  # rows of the table


def meaning(report: ClusterReport, looks: Looks) -> dict[str, Any] | None:
    """What the template shows of the associations; None where there are none."""
    found = report.associations
    if found is None or not (found.columns or found.survival):
        return None
    tested = [column for column in found.columns if column.p is not None]
    cards = [_card(column, looks) for column in tested[:_DRAWN]]
    return {
        "tested": len(tested),
        "drawn_clusters": min(CLUSTERS, len(looks)),
        "columns": found.columns[:_LISTED],
        "open": cards[:_OPEN],
        "folded": cards[_OPEN:],
        "survival": None if found.survival is None else _lasting(found.survival, looks),
    }


def p_value(p: float | None) -> str:
    """A p value in a table; a dash where there is none."""
    return "–" if p is None else p_text(p, "").strip()


def _card(column: ColumnAssociation, looks: Looks) -> dict[str, Any]:
    """Picture, key and numbers of one column."""
    card: dict[str, Any] = {"column": column}
    if column.kind == "category":
        levels, counts = drawn_levels(column)
        colours = level_colours(column, len(levels))
        rows = list(zip(column.clusters, counts.tolist()))
        card["picture"] = share_bars(column, looks)
        return card | {"key": list(zip(levels, colours)), "head": levels, "rows": rows}
    text = day_text if column.kind == "date" else number
    quantiles = [[text(x) for x in own] for own in column.quantiles[:-1]]
    return card | {
        "picture": quantile_strips(column, looks, text),
        "key": [],
        "head": ["5 %", "25 %", "median", "75 %", "95 %"],
        "rows": list(zip(column.clusters, quantiles)),
    }


def _lasting(survival: Survival, looks: Looks) -> dict[str, Any]:
    picture = survival_plot(survival, looks) if survival.curves else None
    return {
        "sentence": survival.sentence,
        "picture": picture,
        "time": cut(survival.time),
        "marks": [number(mark) for mark in survival.marks],
        "curves": survival.curves,
    }


def heatmap(report: ClusterReport) -> list[dict[str, Any]]:
    """Rows of the heatmap: a feature, and a tone, a depth and words per cluster."""
    labels = [cluster.label for cluster in report.explanation.clusters]
    return [
        {
            "view": profile.view,
            "feature": profile.feature,
            "cells": [_cell(label, z) for label, z in zip(labels, profile.means)],
        }
        for profile in report.explanation.profiles
    ]


def _cell(label: int, z: float) -> dict[str, Any]:
    if not np.isfinite(z):
        words = f"cluster {label}: not observed in this view"
        return {"text": "–", "tone": "none", "depth": 0.0, "words": words}
    side = "above" if z >= 0 else "below"
    return {
        "text": f"{round(z, 1) + 0.0:.1f}".replace("-", "\u2212"),  # no minus zero
        "tone": "hot" if z >= 0 else "cold",
        "depth": min(1.0, abs(z) / DEEPEST),
        "words": f"cluster {label}: {abs(z):.2f} standard deviations {side} the mean "
        f"of all samples",
    }
