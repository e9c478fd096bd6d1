"""The figures of a suite, drawn with the functions of `_plots`."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from imvc.experiments import Entry, Suite, select
from imvc.report._style import figure_style
from imvc.report.suite_page._plots import (
    plot_anchors_dim,
    plot_convergence,
    plot_critical_difference,
    plot_missing_rate,
    plot_parameter,
    plot_times,
)
from imvc.report.suite_page._suite_tables import (
    COLUMN_NAMES,
    METRIC_NAMES,
    labels_of,
    ranking_of,
    selections_of,
)

FORMATS = ("svg", "pdf", "png")


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn when it is written.

    Parameters
    ----------
    name : str
        For file names.
    title : str
    draw : callable
        Takes an Axes.
    size : tuple of float
        Inches.
    """

    name: str
    title: str
    draw: Callable[[Any], Any]
    size: tuple[float, float] = (5.6, 3.2)

    def render(self, format: str) -> bytes:
        """The figure as the bytes of an SVG, PDF or PNG file."""
        return self._svg if format == "svg" else self._draw(format)

    @cached_property
    def _svg(self) -> bytes:
        return self._draw("svg")  # for a file and for the page

    def _draw(self, format: str) -> bytes:
        with figure_style():
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure as Canvas

            figure = Canvas(figsize=self.size)
            FigureCanvasAgg(figure)
            self.draw(figure.add_subplot())
            content = io.BytesIO()
            # No date in the file: the same records give the same bytes.
            about: dict[str, None] = {} if format == "png" else {_DATE[format]: None}
            figure.savefig(
                content, format=format, bbox_inches="tight", dpi=160, metadata=about
            )
        return content.getvalue()


_DATE = {"svg": "Date", "pdf": "CreationDate"}


def suite_figures(suite: Suite, entries: Sequence[Entry]) -> list[Figure]:
    """The figures that a suite asks for and that there are records for.

    Parameters
    ----------
    suite : Suite
    entries : sequence of Entry

    Returns
    -------
    list of Figure
    """
    return [
        figure for kind in suite.figures for figure in _MAKERS[kind](suite, entries)
    ]


def _per_dataset(suite, entries) -> Iterator[tuple[str, list[Entry]]]:
    for dataset in suite.datasets:
        own = [e for e in entries if e.record.spec.dataset == dataset]
        if any(entry.record.ok for entry in own):
            yield dataset, own


def _missing_rate(suite, entries) -> Iterator[Figure]:
    for dataset, own in _per_dataset(suite, entries):
        for how in selections_of(own):
            # Of perhaps thousands, selected once for all drawings.
            draw = partial(
                plot_missing_rate, select(own, how), how=how, labels=labels_of(own)
            )
            for metric in suite.metrics:
                name = f"{suite.name}-{dataset}-{metric}-{how}"
                title = f"{METRIC_NAMES[metric]} on {dataset} ({COLUMN_NAMES[how]})"
                yield Figure(name, title, partial(draw, metric=metric))


def _parameter(suite, entries) -> Iterator[Figure]:
    varied = {"parameter": suite.parameter, "metrics": suite.metrics}
    for dataset, own in _per_dataset(suite, entries):
        title = f"{dataset}: scores over {suite.parameter}"
        draw = partial(plot_parameter, own, **varied)
        yield Figure(f"{suite.name}-{dataset}", title, draw)


def _anchors_dim(suite, entries) -> Iterator[Figure]:
    for dataset, own in _per_dataset(suite, entries):
        for metric in suite.metrics:
            title = f"{dataset}: {METRIC_NAMES[metric]} over anchors and dimension"
            draw = partial(plot_anchors_dim, own, metric=metric)
            yield Figure(f"{suite.name}-{dataset}-{metric}", title, draw)


def _convergence(suite, entries) -> Iterator[Figure]:
    for dataset, own in _per_dataset(suite, entries):
        title = f"{dataset}: objective over iterations"
        yield Figure(f"{suite.name}-{dataset}", title, partial(plot_convergence, own))


def _time(suite, entries) -> Iterator[Figure]:
    if any(e.role == "default" and e.record.ok for e in entries):
        title = "Seconds per fit, default settings"
        draw = partial(plot_times, entries)
        yield Figure(f"{suite.name}-time", title, draw, (7.0, 3.2))


def _critical_difference(suite, entries) -> Iterator[Figure]:
    for how in selections_of(entries):
        ranking = ranking_of(entries, "acc", how)
        if ranking is not None:
            title = f"Mean ranks by ACC ({COLUMN_NAMES[how]})"
            draw = partial(plot_critical_difference, ranking)
            height = 0.9 + 0.26 * len(ranking.labels)
            yield Figure(f"{suite.name}-ranks-{how}", title, draw, (6.4, height))


_MAKERS: dict[str, Callable[[Suite, Sequence[Entry]], Iterator[Figure]]] = {
    "missing-rate": _missing_rate,
    "parameter": _parameter,
    "anchors-dim": _anchors_dim,
    "convergence": _convergence,
    "time": _time,
    "critical-difference": _critical_difference,
}
