"""The page of one clustering: one HTML file that asks nothing of any address."""

import json
import os
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc._plain import cut
from imvc._version import __version__
from imvc.insight import FeatureEffect
from imvc.insight._column_kinds import day_text
from imvc.insight._drawn import confidence_counts, number_curves
from imvc.insight._sample_map import cluster_looks
from imvc.report._inline_svg import histogram, line_plot
from imvc.report._jinja import (
    TEMPLATES,
    policy_hash,
    script_json,
    template_environment,
)
from imvc.report.cluster_page._cluster_report import ClusterReport
from imvc.report.cluster_page._cluster_words import (
    count,
    percent,
    sentence,
    summary,
    valley,
)
from imvc.report.cluster_page._meaning import heatmap, meaning, p_value
from imvc.report.cluster_page._point_map import point_data

_LOWEST = 20  # least certain samples that are listed
_COLUMN_ROWS = 500  # columns whose reading is listed
_FEATURE_ROWS = 3_000  # of all tables of features together
_CITATION = "The imvc developers. imvc: clustering when views are missing. Version {}."


def write_cluster_page(report: ClusterReport, path: str | os.PathLike[str]) -> Path:
    """Write the page of a clustering; an existing file is replaced as a whole.

    Parameters
    ----------
    report : ClusterReport
    path : path-like

    Returns
    -------
    Path
        Of the file written.
    """
    # A name read from a file of unknown encoding may hold half a character.
    content = cluster_page(report).encode("utf-8", errors="replace")
    with atomic_write(path) as file:
        file.write(content)
    return Path(path)


def cluster_page(report: ClusterReport) -> str:
    """The HTML page of a clustering, self-contained. Needs ``imvc[report]``.

    Parameters
    ----------
    report : ClusterReport

    Returns
    -------
    str

    Notes
    -----
    Every name is escaped, and the page's policy lets only its own script run. Above
    20 000 samples the map draws that many of them; all tables and counts are of all.
    """
    environment = template_environment()
    environment.filters.update(
        count=count,
        percent=percent,
        cut=cut,
        sentence=sentence,
        valley=valley,
        p_value=p_value,
        number=_number,
        fixed=partial(_number, form=".2f"),
    )
    script = (TEMPLATES / "cluster.js").read_text(encoding="utf-8")
    points, looks = point_data(report), cluster_looks(report.labels)
    imvc_version = report.versions.get("imvc") or __version__
    text = environment.get_template("cluster.html.j2").render(
        report=report,
        summary=summary(report),
        style=(TEMPLATES / "cluster.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=policy_hash(script),
        points=points,
        points_json=script_json(points),
        upset=report.inspection.to_svg(),
        looks=looks,
        columns=_columns(report),
        meaning=meaning(report, looks),
        heatmap=heatmap(report),
        features=_features(report),
        mean=partial(_mean, _dates(report)),
        curves=_curves(report),
        convergence=_convergence(report),
        confidence=_histogram(report),
        lowest=_lowest(report),
        scores=_scores(report),
        parameters={str(k): _plain(v) for k, v in report.parameters.items()},
        citations=(_CITATION.format(imvc_version), *report.citation),
    )
    return str(text)


def _columns(report: ClusterReport) -> dict[str, Any] | None:
    """How columns of files were read: those that are plain numbers come last."""
    listed = sorted(
        report.inspection.columns,
        key=lambda c: (c.kind == "number", -c.n_empty / max(1, c.n_rows)),
    )
    if not listed:
        return None
    kinds: dict[str, int] = {}
    for c in listed:
        kinds[c.kind] = kinds.get(c.kind, 0) + c.n_columns
    return {
        "counts": ", ".join(f"{count(n)} {kind}" for kind, n in kinds.items()),
        "rows": listed[:_COLUMN_ROWS],
        "more": sum(c.n_columns for c in listed[_COLUMN_ROWS:]),
    }


def _dates(report: ClusterReport) -> set[tuple[str, str]]:
    """View and name of the columns that are days since 1970."""
    return {(c.view, c.column) for c in report.inspection.columns if c.kind == "date"}


def _mean(dates: set[tuple[str, str]], effect: FeatureEffect, value: float) -> str:
    """A mean of a feature: a number, or the day of a date."""
    is_day = (effect.view, effect.feature) in dates and np.isfinite(value)
    return day_text(value) if is_day else _number(value)


def _features(report: ClusterReport) -> dict[int, dict[str, Any]]:
    """Per cluster a table for every view, as long as the page can carry."""
    order = {name: v for v, name in enumerate(report.view_names)}
    place = attrgetter("cluster", "view")
    effects = sorted(
        report.explanation.features,
        key=lambda e: (e.cluster, order.get(e.view, len(order))),
    )
    tables = [(key, list(own)) for key, own in groupby(effects, place)]
    most = max(1, _FEATURE_ROWS // max(1, len(tables)))
    found: dict[int, dict[str, Any]] = {}
    for (cluster, view), own in tables:
        entry = found.setdefault(int(cluster), {"tables": [], "largest": 1e-12})
        entry["tables"].append((view, own[:most]))
        sizes = [abs(e.effect) for e in own if np.isfinite(e.effect)]
        entry["largest"] = max([entry["largest"], *sizes])
    return found


def _curves(report: ClusterReport) -> dict[str, str]:
    """Of every number of clusters tried: what comes back, and how deep valleys are."""
    return {
        curve.name: line_plot(
            curve.k,
            curve.y,
            marked=report.n_taken if report.n_taken in curve.k else None,
            levels=curve.levels,
            reach=curve.reach,
            title=f"{curve.name}, for {curve.k.min():.0f} to {curve.k.max():.0f} "
            f"clusters; {report.n_taken} were taken",
            x_label="number of clusters",
            y_label=curve.unit,
        )
        for curve in number_curves(report.stability_curve)
    }


def _convergence(report: ClusterReport) -> str | None:
    """The objective per iteration; None where the method does not iterate."""
    objective = np.asarray(report.objective, dtype=float).ravel()
    if np.count_nonzero(np.isfinite(objective)) < 2:
        return None
    return line_plot(
        np.arange(1, len(objective) + 1),
        objective,
        title=f"Objective over {len(objective)} iterations",
        x_label="iteration",
        y_label="objective",
    )


def _histogram(report: ClusterReport) -> str:
    """Confidence of all samples, and of the flagged ones among them."""
    score, low = report.confidence.score, report.confidence.low
    _, every, flagged = confidence_counts(report.confidence)
    return histogram(
        every.tolist(),
        flagged.tolist(),
        title=f"Confidence of {len(score)} samples, {np.count_nonzero(low)} flagged",
        x_label="confidence",
        y_label="samples",
    )


def _lowest(report: ClusterReport) -> list[dict[str, Any]]:
    """The least certain samples."""
    confidence = report.confidence
    rows = np.argsort(confidence.score, kind="stable")[:_LOWEST]
    return [
        {
            "id": report.sample_ids[i],
            "cluster": report.labels[i],
            "score": confidence.score[i],
            "margin": confidence.margin[i],
            "stability": confidence.stability[i],
            "flagged": confidence.low[i],
            "views": np.compress(report.mask[i], report.view_names).tolist(),
        }
        for i in rows
    ]


def _scores(report: ClusterReport) -> dict[str, Any] | None:
    """Methods and scores as a table, with the best of every score."""
    if not report.scores:
        return None
    names = list(dict.fromkeys(name for row in report.scores.values() for name in row))
    best = {
        name: max(row.get(name, -np.inf) for row in report.scores.values())
        for name in names
    }
    return {"names": names, "rows": report.scores, "best": best}


def _plain(value: Any) -> str:
    """A parameter as text; what is made of parts as JSON."""
    if not isinstance(value, dict | list | tuple):
        return str(value)
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def _number(value: float | None, form: str = ".3g") -> str:
    """A number with a true minus sign; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:{form}}".replace("-", "\u2212")
