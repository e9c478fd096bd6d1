"""Figures read in grey and legends beside; a page that needs nothing else."""

import itertools
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from matplotlib.figure import Figure as Canvas

from imvc.experiments import (
    Entry,
    MethodSpec,
    PlannedRun,
    Record,
    RecordStore,
    RunSpec,
    Suite,
    rank_methods,
)
from imvc.report import (
    plot_anchors_dim,
    plot_convergence,
    plot_critical_difference,
    plot_missing_rate,
    plot_parameter,
    plot_times,
    write_report,
)
from imvc.report._style import line_look

EVIL = "<script>alert(1)</script>"


def entry(label, acc, *, dataset="webkb", rate=0.1, seed=0, role="default", **params):
    spec = RunSpec(dataset, "rise", params, rate, 0, seed)
    record = Record(
        spec,
        scores={"acc": acc, "nmi": acc / 2},
        seconds={"total": acc},
        objective=(3.0, 1.5, 1.0),
        machine={"cores": 2},
    )
    return Entry(label, role, record)


@pytest.fixture
def ax():
    return Canvas().add_subplot()


@pytest.fixture
def curves():
    return two_curves()


def two_curves():
    return [
        entry(label, 0.5 + 0.1 * i + 0.02 * seed - rate / 10, rate=rate, seed=seed)
        for (i, label), rate, seed in itertools.product(
            enumerate(("a", "b")), (0.1, 0.5), (0, 1)
        )
    ]


def test_the_curve_of_a_method_passes_through_its_means(curves, ax):
    assert plot_missing_rate(curves, ax, "acc") is ax
    line = ax.containers[0].lines[0]
    np.testing.assert_allclose(line.get_xdata(orig=False), [0.1, 0.5])
    np.testing.assert_allclose(line.get_ydata(orig=False), [50, 46])


def test_the_legend_lies_outside_the_axes(curves, ax):
    plot_missing_rate(curves, ax, "acc")
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.x0 >= ax.get_window_extent().x1


def test_lines_differ_without_their_colours():
    looks = [
        (str(line_look(i)["linestyle"]), line_look(i)["marker"]) for i in range(35)
    ]
    assert len(set(looks)) == 35


def test_a_parameter_s_curve_has_one_point_per_value(ax):
    entries = [
        entry("rise", 0.5 + b / 100, role="grid", seed=s, beta=b)
        for b in (1, 10)
        for s in (0, 1)
    ]
    plot_parameter(entries, ax, "beta", ["acc"])
    np.testing.assert_allclose(
        ax.containers[0].lines[0].get_ydata(orig=False), [51, 60]
    )
    assert ax.get_xscale() == "log"


def test_the_heat_map_shows_means_and_leaves_holes(ax):
    entries = [
        entry("rise", 0.5, role="grid", n_anchors=8, embedding_dim=4),
        entry("rise", 0.7, role="grid", seed=1, n_anchors=8, embedding_dim=4),
        entry("rise", 0.9, role="grid", n_anchors=16, embedding_dim=8),
    ]
    plot_anchors_dim(entries, ax)
    assert sorted(text.get_text() for text in ax.texts) == ["60", "90"]


def test_convergence_starts_above_and_falls(ax):
    plot_convergence([entry("rise", 0.5)], ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.0, 0.5])


def test_times_are_bars(ax):
    plot_times([entry("a", 0.5), entry("b", 0.25)], ax)
    assert [bar.get_height() for bar in ax.patches] == [0.5, 0.25]


def test_methods_within_the_critical_difference_are_joined(ax):
    ranking = rank_methods([[0.9, 0.5, 0.4], [0.8, 0.6, 0.7]], ["a", "b", "c"])
    plot_critical_difference(ranking, ax)
    thick = [line for line in ax.lines if line.get_linewidth() == 3]
    assert len(thick) == 1
    assert "critical difference 2.34" in ax.get_title()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with records and their report."""
    folder = tmp_path_factory.mktemp("report")
    curves = two_curves()
    suite = Suite(
        *("mine", "quick", f"Mine {EVIL}", ("webkb", EVIL), (0.1, 0.5), (0,), (0, 1)),
        methods=(MethodSpec("rise", "a"), MethodSpec("rise", "b")),
        tables=("scores", "time"),
        figures=("missing-rate", "time", "critical-difference", "convergence"),
        metrics=("acc",),
    )
    curves += [
        entry(
            e.label, 0.3, dataset=EVIL, rate=e.record.spec.rate, seed=e.record.spec.seed
        )
        for e in curves
    ]
    with RecordStore(folder / "r.sqlite") as store:
        store.finish([e.record for e in curves])
        store.remember(
            suite, [PlannedRun(e.label, e.role, e.record.spec) for e in curves]
        )
    write_report(folder / "r.sqlite", folder / "out")
    return folder


def test_every_table_and_figure_is_written_in_every_format(folder):
    names = {path.name for path in (folder / "out").iterdir()}
    for suffix in ("md", "csv", "tex"):
        assert f"quick-mine-acc.{suffix}" in names
        assert f"quick-mine-time.{suffix}" in names
    for suffix in ("svg", "pdf", "png"):
        assert f"quick-mine-webkb-acc-default.{suffix}" in names
        assert f"quick-mine-ranks-default.{suffix}" in names


def test_the_page_asks_nothing_of_others_and_escapes_names(folder):
    page = (folder / "out" / "report.html").read_text()
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    for source in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert source.startswith(("data:", "#"))
    assert "@import" not in page
    assert "url(" not in page


def test_the_same_records_give_the_same_files(folder):
    again = write_report(folder / "r.sqlite", folder / "again", formats=())
    assert again.read_bytes() == (folder / "out" / "report.html").read_bytes()


def test_a_suite_that_is_not_in_the_file_is_named(folder):
    with pytest.raises(ValueError, match=r"'table9' is not in .*; there are: mine"):
        write_report(folder / "r.sqlite", folder / "out", suites=["table9"])
