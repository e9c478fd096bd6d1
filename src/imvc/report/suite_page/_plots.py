"""Figures from records: functions of (entries, ax) that return ax."""

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np

from imvc.experiments import (
    Cell,
    Entry,
    Ranking,
    own_seconds,
    select,
    summarize,
)
from imvc.report._style import bar_look, legend_beside, line_look
from imvc.report.suite_page._suite_tables import COLUMN_NAMES, METRIC_NAMES, labels_of


def plot_missing_rate(
    entries: Sequence[Entry],
    ax: Any,
    metric: str = "acc",
    how: str = "default",
    labels: Sequence[str] | None = None,
) -> Any:
    """A score over the missing rate, one line per method, bars of one deviation.

    Parameters
    ----------
    entries : sequence of Entry
        Of one dataset.
    ax : matplotlib Axes
    metric : str, default="acc"
    how : str, default="default"
        The selection, see `imvc.experiments.select`.
    labels : sequence of str, optional
        The methods, in the order that decides how their lines look; by default those
        of ``entries``.

    Returns
    -------
    matplotlib Axes
    """
    cells = summarize(select(entries, how), metric, by_rate=True)
    for i, label in enumerate(labels or labels_of(entries)):
        points = [(r, c) for (_, name, r), c in cells.items() if name == label]
        points = sorted((r, c) for r, c in points if not isnan(c.mean))
        if points:
            _line(ax, [r for r, _ in points], [c for _, c in points], label, i)
    ax.set(xlabel="share of incomplete samples", ylabel=_percent_name(metric))
    ax.set_title(f"{_dataset(entries)} ({COLUMN_NAMES[how]})")
    legend_beside(ax)
    return ax


def plot_parameter(
    entries: Sequence[Entry],
    ax: Any,
    parameter: str,
    metrics: Sequence[str] = ("acc", "nmi"),
) -> Any:
    """Scores over one parameter, mean over rates, bars over masks and seeds.

    Parameters
    ----------
    entries : sequence of Entry
        Of one dataset, in which only ``parameter`` varies.
    ax : matplotlib Axes
    parameter : str
    metrics : sequence of str

    Returns
    -------
    matplotlib Axes
    """
    groups: dict[tuple[str, Any], list[Entry]] = {}
    for entry in entries:
        value = entry.record.spec.parameters.get(parameter)
        if value is not None:
            groups.setdefault((entry.label, value), []).append(entry)
    i = 0
    for label in labels_of(entries):
        values = sorted(value for name, value in groups if name == label)
        for metric in metrics:
            cells = [
                next(iter(summarize(groups[label, v], metric).values())) for v in values
            ]
            _line(ax, values, cells, f"{label}, {METRIC_NAMES[metric]}", i)
            i += 1
    if groups and min(v for _, v in groups) > 0:
        ax.set_xscale("log")
    ax.set(xlabel=parameter, ylabel="score (%)", title=_dataset(entries))
    legend_beside(ax)
    return ax


def plot_anchors_dim(entries: Sequence[Entry], ax: Any, metric: str = "acc") -> Any:
    """A heat map of a score over number of anchors and embedding dimension.

    Parameters
    ----------
    entries : sequence of Entry
        Of one dataset and one method.
    ax : matplotlib Axes
    metric : str, default="acc"

    Returns
    -------
    matplotlib Axes
    """
    groups: dict[tuple[int, int], list[Entry]] = {}
    for entry in entries:
        parameters = entry.record.spec.parameters
        key = (parameters["n_anchors"], parameters["embedding_dim"])
        groups.setdefault(key, []).append(entry)
    anchors = sorted({m for m, _ in groups})
    dims = sorted({d for _, d in groups})
    grid = np.full((len(dims), len(anchors)), np.nan)
    for (m, d), group in groups.items():
        cell = next(iter(summarize(group, metric).values()))
        grid[dims.index(d), anchors.index(m)] = 100 * cell.mean
    image = ax.imshow(grid, origin="lower", cmap="Greys", aspect="auto")
    middle = np.nanmean([np.nanmin(grid), np.nanmax(grid)])
    for (row, column), value in np.ndenumerate(grid):
        if not np.isnan(value):
            color = "white" if value > middle else "black"
            ax.text(column, row, f"{value:.0f}", ha="center", va="center", color=color)
    ax.grid(False)
    ax.set_xticks(range(len(anchors)), [str(m) for m in anchors])
    ax.set_yticks(range(len(dims)), [str(d) for d in dims])
    ax.set(xlabel="anchors", ylabel="embedding dimension", title=_dataset(entries))
    ax.figure.colorbar(image, ax=ax, label=_percent_name(metric))
    return ax


def plot_convergence(entries: Sequence[Entry], ax: Any) -> Any:
    """How far the objective is above its lowest value, relative, over the iterations.

    Parameters
    ----------
    entries : sequence of Entry
    ax : matplotlib Axes

    Returns
    -------
    matplotlib Axes
    """
    lines = [e for e in entries if e.record.ok and len(e.record.objective) > 1]
    for i, entry in enumerate(lines):
        values = np.array(entry.record.objective)
        gap = (values - values.min()) / max(abs(values.min()), 1e-300)
        spec = entry.record.spec
        steps = np.flatnonzero(gap > 1e-15)
        look = line_look(i) | {"markevery": max(1, len(steps) // 8)}
        ax.plot(
            steps + 1, gap[steps], label=f"{entry.label}, rate {spec.rate:g}", **look
        )
    ax.set_yscale("log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration", ylabel="objective above its lowest, relative")
    ax.set_title(_dataset(entries))
    legend_beside(ax)
    return ax


def plot_times(entries: Sequence[Entry], ax: Any) -> Any:
    """Seconds per fit at default settings, a bar per dataset and method.

    Parameters
    ----------
    entries : sequence of Entry
    ax : matplotlib Axes

    Returns
    -------
    matplotlib Axes
    """
    cells = summarize(select(entries, "default"), own_seconds)
    labels = labels_of(entries)
    datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
    width = 0.8 / max(1, len(labels))
    for i, label in enumerate(labels):
        at, heights, errors = [], [], []
        for j, dataset in enumerate(datasets):
            cell = cells.get((dataset, label))
            if cell is not None and not isnan(cell.mean):
                at.append(j + (i - (len(labels) - 1) / 2) * width)
                heights.append(cell.mean)
                errors.append(0.0 if isnan(cell.sd) else cell.sd)
        bars = {"yerr": errors if any(errors) else None, "capsize": 2}
        ax.bar(at, heights, width, label=label, **bars, **bar_look(i))
    ax.set_yscale("log")
    ax.set_xticks(range(len(datasets)), datasets)
    ax.set_ylabel("seconds per fit")
    ax.grid(False, axis="x")
    legend_beside(ax)
    return ax


def plot_critical_difference(ranking: Ranking, ax: Any) -> Any:
    """Mean ranks of methods; bars join those that do not differ at the 5 % level.

    Parameters
    ----------
    ranking : Ranking
        See `imvc.experiments.rank_methods`.
    ax : matplotlib Axes

    Returns
    -------
    matplotlib Axes
    """
    k = len(ranking.labels)
    for i, (label, rank) in enumerate(zip(ranking.labels, ranking.ranks)):
        ax.plot([rank, rank], [0, -(i + 1)], color="0.6", linewidth=0.8)
        ax.plot(rank, -(i + 1), color="black", marker="o")
        ax.annotate(
            f" {label} ({rank:.2f})",
            (rank, -(i + 1)),
            va="center",
            xytext=(4, 0),
            textcoords="offset points",
            zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
        )
    for i, (low, high) in enumerate(_cliques(ranking)):
        y = 0.35 + 0.3 * i
        ax.plot([low - 0.04, high + 0.04], [y, y], color="black", linewidth=3)
    ax.set(yticks=[], xlim=(0.8, k + 1.2), xlabel="mean rank (1 is best)")
    ax.grid(False)
    ax.spines["left"].set_visible(False)
    ax.set_title(
        f"{ranking.n_datasets} datasets; critical difference "
        f"{ranking.critical_difference:.2f}; Friedman p = {ranking.friedman_p:.2g}"
    )
    return ax


def _cliques(ranking: Ranking) -> list[tuple[float, float]]:
    """Widest runs of ranks that lie within the critical difference."""
    found: list[tuple[float, float]] = []
    for low in ranking.ranks:
        near = [
            r for r in ranking.ranks if low <= r <= low + ranking.critical_difference
        ]
        if near[-1] > low and not any(a <= low and near[-1] <= b for a, b in found):
            found.append((low, near[-1]))
    return found


def _line(ax: Any, x: list, cells: list[Cell], label: str, i: int) -> None:
    mean = [100 * cell.mean for cell in cells]
    sd = [0.0 if isnan(cell.sd) else 100 * cell.sd for cell in cells]
    bars = {"yerr": sd if any(sd) else None, "capsize": 2, "elinewidth": 0.7}
    ax.errorbar(x, mean, label=label, **bars, **line_look(i))


def _dataset(entries: Sequence[Entry]) -> str:
    return ", ".join(dict.fromkeys(entry.record.spec.dataset for entry in entries))


def _percent_name(metric: str) -> str:
    return f"{METRIC_NAMES[metric]} (%)"
