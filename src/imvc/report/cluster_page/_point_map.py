"""The samples as points of a plane, in the few bytes that a page can carry."""

from typing import Any

import numpy as np

from imvc._plain import cut
from imvc.insight._sample_map import (
    DRAWN,
    cluster_column,
    drawn_samples,
    level_column,
    metadata_column,
    number_column,
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
    patterns, codes = np.unique(report.mask[rows], axis=0, return_inverse=True)
    names = [cut(name) for name in report.view_names]
    return {
        "total": report.n_samples,
        "ids": [cut(value) for value in report.sample_ids[rows]],
        "planes": planes(report.embedding[rows]),
        "columns": columns,
        "left_out": left_out,
        "views": {
            "levels": [", ".join(np.compress(p, names)) for p in patterns],
            "codes": codes.ravel().tolist(),
        },
        "low": np.flatnonzero(report.confidence.low[rows]).tolist(),
    }


def _columns(
    report: ClusterReport, rows: np.ndarray
) -> tuple[list[dict[str, Any]], list[str]]:
    """Columns to colour by, and the names of those that are not offered, and why."""
    count = report.mask.sum(axis=1)
    numbers = ["1 view", *(f"{k} views" for k in range(2, report.mask.shape[1] + 1))]
    columns = [
        cluster_column(report.labels, report.doubtful, rows),
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
