"""The samples as points of a plane, in the few bytes that a page can carry."""

from typing import Any

import numpy as np

from imvc._plain import cut
from imvc.insight._sample_map import (
    DRAWN,
    drawn_samples,
    level_column,
    metadata_column,
    number_column,
    pattern_levels,
    planes,
)
from imvc.report._jinja import script_json
from imvc.report.cluster_page._cluster_report import ClusterReport

_METADATA_BYTES = 3_000_000


def point_data(report: ClusterReport) -> dict[str, Any]:
    """What the page's script draws: JSON-able, one entry per drawn sample.

    ``planes`` are coordinates from 0 to 9999, ``columns`` what points can be coloured
    by, ``views`` the views present, ``low`` the flagged points, ``left_out`` the
    columns of metadata that are not offered as colours, and why.
    """
    rows = drawn_samples(report.labels, DRAWN)
    columns, left_out = _columns(report, rows)
    levels, codes = pattern_levels(report.mask[rows], report.view_names)
    return {
        "total": report.n_samples,
        "ids": [cut(value) for value in report.sample_ids[rows]],
        "planes": planes(report.embedding[rows]),
        "columns": columns,
        "left_out": left_out,
        "views": {"levels": levels, "codes": codes.tolist()},
        "low": np.flatnonzero(report.confidence.low[rows]).tolist(),
    }


def _columns(
    report: ClusterReport, rows: np.ndarray
) -> tuple[list[dict[str, Any]], list[str]]:
    """Columns to colour by, and the names of those that are not offered, and why."""
    labels, codes = np.unique(report.labels, return_inverse=True)
    count = report.mask.sum(axis=1)
    numbers = ["1 view", *(f"{k} views" for k in range(2, report.mask.shape[1] + 1))]
    doubt = {c: " (doubtful)" for c in report.doubtful}
    names = [f"Cluster {c}{doubt.get(c, '')}" for c in labels.tolist()]
    columns = [
        level_column("Cluster", names, codes, rows),
        level_column("Number of views", numbers, count - 1, rows, "ordered"),
        number_column("Confidence", report.confidence.score.round(3), rows, (0, 1)),
    ]
    left_out, room = [], _METADATA_BYTES
    for name, values in report.metadata.items():
        column = metadata_column(str(name), values, rows)
        if column is None:
            left_out.append(f"{cut(name)} (free text or an identifier)")
            continue
        room -= (size := len(script_json(column).encode(errors="replace")))
        if room < 0:
            room += size
            left_out.append(f"{cut(name)} (too large for this page)")
        else:
            columns.append(column)
    return columns, left_out
