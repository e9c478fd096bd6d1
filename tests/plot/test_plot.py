"""Plots draw the numbers of their results, in the page's colours, on any ground."""

import re
import runpy
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex, to_rgb

import imvc
from imvc import plot
from imvc.datasets import make_views
from imvc.insight import FeatureProfile, Survival
from imvc.insight._sample_map import planes
from imvc.metrics import adjusted_rand
from imvc.plot._look import DARK, LIGHT
from imvc.report._jinja import TEMPLATES
from imvc.report.cluster_page._cluster_html import _curves
from imvc.report.cluster_page._meaning import heatmap
from imvc.report.cluster_page._point_map import point_data
from imvc.workflow import cluster

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = ("genes", "proteins", "images")
N = 150


@pytest.fixture(scope="module")
def run():
    """Planted clusters with everything that can be known of them."""
    data = make_views(N, (6, 5, 4), 3, separation=5, incomplete=0.5, random_state=0)
    rng = np.random.default_rng(0)
    y = data.y
    metadata = {
        "age": rng.normal(50 + 20 * y),
        "site": np.array([f"site {i}" for i in rng.integers(9, size=N)]),
        "day": np.datetime64("2020-01-01") + 100 * y + rng.integers(50, size=N),
        "days": rng.exponential(100 + 300 * y),
        "status": rng.random(N) < 0.6,
        "patient": np.array([f"patient {i}" for i in range(N)]),
    }
    views = imvc.as_views(dict(zip(NAMES, data.Xs)), data.mask)
    return cluster(
        views,
        n_clusters=[2, 3, 4],
        n_refits=1,
        metadata=metadata,
        survival=("days", "status"),
    )


EVERY = {
    "patterns": plot.patterns,
    "samples": plot.samples,
    "samples by confidence": lambda run, **on: plot.samples(run, "confidence", **on),
    "samples by pattern": lambda run, **on: plot.samples(run, "pattern", **on),
    "samples by date": lambda run, **on: plot.samples(run, "day", **on),
    "profiles": plot.profiles,
    "stability_curve": plot.stability_curve,
    "view_agreement": plot.view_agreement,
    "confidence": plot.confidence,
    "associations": plot.associations,
    "a category": lambda run, **on: plot.associations(run, "site", **on),
    "a date": lambda run, **on: plot.associations(run, "day", **on),
    "survival": plot.survival,
    "flow": lambda run, **on: plot.flow(run, run.labels, **on),
}
every_plot = pytest.mark.parametrize("draw", EVERY.values(), ids=EVERY)


def heights(container):
    return [bar.get_height() for bar in container]


def widths(container):
    return [bar.get_width() for bar in container]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def rows_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def one_figure(drawn):
    return (drawn[0] if isinstance(drawn, tuple) else drawn).figure


# ---- all of them


@every_plot
def test_given_axes_are_drawn_on_and_returned_and_no_figure_is_made(draw, run):
    figure, ax = plt.subplots()
    before = plt.get_fignums()
    assert draw(run, ax=ax) is ax
    assert ax.has_data() or ax.patches
    assert plt.get_fignums() == before
    figure.canvas.draw()


@every_plot
def test_without_axes_one_figure_is_made_and_rcparams_are_left_alone(draw, run):
    before, settings = plt.get_fignums(), dict(plt.rcParams)
    figure = one_figure(draw(run))
    assert plt.get_fignums() == [*before, figure.number]
    assert dict(plt.rcParams) == settings


def luminance(colour):
    part = np.array(to_rgb(colour))
    part = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return part @ (0.2126, 0.7152, 0.0722)


def contrast(a, b):
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


@every_plot
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_every_text_is_inside_the_figure_and_readable_on_its_ground(draw, style, run):
    with plt.style.context(style):
        figure = one_figure(draw(run))
        figure.canvas.draw()
        ground = plt.rcParams["figure.facecolor"]
    found = [
        text
        for text in figure.findobj(plt.Text)
        if text.get_visible() and text.get_text().strip()
    ]
    hidden = {
        label
        for ax in figure.findobj(plt.Axes)
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not axis.get_visible()
        or not (min(axis.get_view_interval()) - 1e-6 <= tick.get_loc())
        or not (tick.get_loc() <= max(axis.get_view_interval()) + 1e-6)
    }
    width, height = figure.canvas.get_width_height()
    for text in set(found) - hidden:
        box = text.get_window_extent()
        assert box.x0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= height + 1, text
        assert contrast(text.get_color(), ground) > 4.5, text


WRONG = {
    "patterns": "ClusterRun or Inspection",
    "samples": "ClusterRun or fitted estimator",
    "profiles": "ClusterRun or Explanation",
    "stability_curve": "ClusterRun or fitted estimator",
    "view_agreement": "ClusterRun or Explanation",
    "confidence": "ClusterRun or Confidence",
    "associations": "ClusterRun or Associations",
    "survival": "ClusterRun, Associations or Survival",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_types_are_told_what_was_received_and_what_is_taken(name):
    before = plt.get_fignums()
    with pytest.raises(TypeError, match=f"received type ndarray; pass a {WRONG[name]}"):
        getattr(plot, name)(np.zeros(3))
    assert plt.get_fignums() == before


@pytest.mark.parametrize("name", sorted(set(WRONG) - {"samples", "stability_curve"}))
def test_what_a_run_by_blocks_has_not_is_told_with_a_remedy(name, run):
    parts = ("inspection", "confidence", "explanation", "associations")
    poor = replace(run, **dict.fromkeys(parts))
    with pytest.raises(ValueError, match=r"has no \w+, as its files were .*; .*imvc"):
        getattr(plot, name)(poor)


def test_other_things_than_axes_are_refused(run):
    with pytest.raises(TypeError, match="ax is a Figure; pass matplotlib Axes"):
        plot.confidence(run, ax=plt.figure())


def test_a_missing_matplotlib_names_the_extra(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.delattr("matplotlib.pyplot")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'imvc\[report\]'"):
        plot.confidence(run)


# ---- the page's colours


@pytest.mark.parametrize(("look", "place"), [(LIGHT, 0), (DARK, 1)])
def test_colours_are_those_of_the_style_sheet(look, place):
    sheet = (TEMPLATES / "cluster.css").read_text()

    def of(name):
        return re.findall(rf"--{name}: ([^;]+);", sheet)[place]

    assert list(look.clusters) == [of(f"c{i}") for i in range(8)]
    assert list(look.ramp) == [of(f"r{i}") for i in range(7)]
    assert (look.mark, look.muted, look.rest) == (of("mark"), of("muted"), of("line"))
    for name, part in (("heat", look.cold), ("hot", look.hot)):
        assert [round(255 * x) for x in to_rgb(part)] == [
            int(x) for x in of(name).split(",")
        ]
    assert look.deep == float(of("deep"))


@pytest.mark.parametrize(
    ("style", "look"), [("default", LIGHT), ("dark_background", DARK)]
)
def test_a_cluster_has_one_colour_in_all_plots(style, look, run):
    with plt.style.context(style):
        maps, risk = plot.samples(run), plot.survival(run)
        flow, boxes = plot.flow(run, run.labels), plot.associations(run, "age")
        heads = plot.profiles(run)
    for c in range(3):
        colour = look.clusters[c]
        assert to_hex(maps.get_legend().legend_handles[c].get_color()) == colour
        assert to_hex(risk.lines[c].get_color()) == colour
        assert to_hex(flow.patches[c].get_facecolor()) == colour
        assert to_hex(boxes.collections[2 * (c + 1)].get_color()[0]) == colour
        assert to_hex(heads.lines[c].get_color()) == colour


def test_colours_follow_the_ground_of_given_axes_whatever_the_style(run):
    with plt.style.context("dark_background"):
        _, ax = plt.subplots()
    plot.confidence(run, ax=ax)
    assert to_hex(ax.patches[-1].get_facecolor()) == DARK.mark
    inks = [to_hex(text.get_color()) for text in ax.get_legend().get_texts()]
    assert inks == ["#ffffff", "#ffffff"]


def test_a_ninth_cluster_has_the_first_colour_and_another_shape():
    labels = np.repeat(np.arange(9), 3)
    model = imvc.ImputeKMeans(9)
    model.labels_, model.embedding_ = labels, np.eye(9)[labels]
    keys = plot.samples(model).get_legend().legend_handles
    assert keys[8].get_color() == keys[0].get_color()
    assert (keys[0].get_marker(), keys[8].get_marker()) == ("o", "^")


# ---- patterns


def test_bars_of_patterns_and_views_are_their_counts(run):
    ax, found = plot.patterns(run), run.inspection
    assert heights(ax.containers[0]) == [p.count for p in found.patterns]
    sizes = np.array([view.n_observed for view in found.views])
    drawn = -np.array(widths(ax.containers[1]))
    assert np.allclose(drawn / drawn.sum(), sizes / sizes.sum())
    assert rows_of(ax) == list(NAMES)


def test_dots_of_a_pattern_are_its_views(run):
    ax, found = plot.patterns(run.inspection), run.inspection
    rows = dict(zip(ax.get_yticks(), NAMES))
    for pattern, line in zip(found.patterns, ax.lines):
        assert tuple(rows[y] for y in line.get_ydata()) == pattern.views


def test_patterns_beyond_twenty_are_counted_in_words():
    data = make_views(400, (2,) * 6, 2, incomplete=0.9, random_state=0)
    found = imvc.inspect(data.Xs, mask=data.mask)
    ax = plot.patterns(found)
    rest = found.patterns[20:]
    assert len(ax.containers[0]) == 20
    assert f"and {len(rest)} more patterns, {sum(p.count for p in rest)} samples" in (
        ax.get_xlabel()
    )


# ---- samples


def places(ax):
    return np.vstack([points.get_offsets() for points in ax.collections])


@pytest.mark.parametrize(("plane", "i"), [("neighbours", 0), ("principal axes", 1)])
def test_samples_lie_where_they_lie_on_the_page(plane, i, run):
    ax = plot.samples(run, plane=plane)
    page = point_data(run.to_report())["planes"][i]
    assert sorted(map(tuple, places(ax))) == sorted(zip(page["x"], page["y"]))
    low, high = ax.get_ylim()
    assert low > high  # downwards, as on the page


def test_samples_are_coloured_by_cluster_and_uncertain_ones_are_hollow(run):
    ax, report = plot.samples(run), run.to_report()
    XY = planes(report.embedding)[0]
    XY = np.column_stack([XY["x"], XY["y"]])
    for c in range(3):
        sure, unsure = ax.collections[2 * c : 2 * c + 2]
        mine, low = run.labels == c, run.confidence.low
        assert np.array_equal(sure.get_offsets(), XY[mine & ~low])
        assert np.array_equal(unsure.get_offsets(), XY[mine & low])
        assert len(unsure.get_facecolors()) == 0
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    sizes = np.bincount(run.labels)
    assert names[:3] == [f"Cluster {c} ({n})" for c, n in enumerate(sizes)]


def test_confidence_of_an_estimator_is_passed_as_colour(run):
    by_name = plot.samples(run, "confidence").collections[0].get_facecolors()
    given = plot.samples(run.model, run.confidence).collections[0].get_facecolors()
    assert np.array_equal(by_name, given)


def test_arrays_are_coloured_as_the_page_colours_metadata(run):
    ax = plot.samples(run.model, np.array(["x", "y", None] * (N // 3), dtype=object))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["x (50)", "y (50)", "not known (50)"]
    ramp = plot.samples(run, "age").collections[0].get_edgecolors()
    assert len(np.unique(ramp, axis=0)) > 10


def test_patterns_are_named_by_what_is_missing(run):
    names = [
        text.get_text()
        for text in plot.samples(run, "pattern").get_legend().get_texts()
    ]
    counts = {p.views: p.count for p in run.inspection.patterns}
    assert f"all views ({counts[NAMES]})" in names
    assert f"without images ({counts[NAMES[:2]]})" in names
    assert f"images ({counts[NAMES[2:]]})" in names


def test_many_samples_are_an_image_in_vector_formats():
    model = imvc.ImputeKMeans(2)
    model.labels_ = np.arange(2_001) % 2
    rng = np.random.default_rng(0)
    model.embedding_ = rng.normal(size=(2_001, 2)) + 5 * model.labels_[:, None]
    assert all(p.get_rasterized() for p in plot.samples(model).collections)


@pytest.mark.parametrize(
    ("colour", "message"),
    [
        ("agee", "colour='agee' is nothing that the ClusterRun has; choose one of"),
        ("patient", "'patient' is free text or an identifier, with 150 different"),
        (np.zeros(3), r"colour has shape \(3,\), but there are 150 samples"),
    ],
)
def test_colours_that_are_none_are_told(colour, message, run):
    with pytest.raises(ValueError, match=message):
        plot.samples(run, colour)


def test_only_colours_that_a_run_has_are_offered(run):
    with pytest.raises(ValueError, match="choose one of 'cluster', 'pattern', 'age'"):
        plot.samples(replace(run, confidence=None), "confidence")


def test_an_estimator_does_not_know_patterns(run):
    with pytest.raises(ValueError, match="'pattern' is not known of a fitted AnchorB"):
        plot.samples(run.model, "pattern")
    with pytest.raises(ValueError, match="the RISE is not fitted; call its fit"):
        plot.samples(imvc.RISE(3))
    with pytest.raises(ValueError, match="plane='tsne' must be one of neighbours"):
        plot.samples(run, plane="tsne")


# ---- profiles


def test_cells_of_profiles_are_those_of_the_page(run):
    ax = plot.profiles(run)
    page = heatmap(run.to_report())
    assert texts(ax)[: 3 * len(page)] == [
        cell["text"] for row in page for cell in row["cells"]
    ]
    assert rows_of(ax) == [row["feature"] for row in page]
    means = [profile.means for profile in run.explanation.profiles]
    assert np.array_equal(ax.collections[0].get_array(), means)
    assert ax.collections[0].get_clim() == (-2, 2)


def test_a_view_without_samples_of_a_cluster_has_a_dash(run):
    profile = FeatureProfile("genes", "g", (1.0, np.nan, -0.04))
    ax = plot.profiles(replace(run.explanation, profiles=(profile,)))
    assert texts(ax) == ["1.0", "–", "0.0"]
    with pytest.raises(ValueError, match="no feature differs between its clusters"):
        plot.profiles(replace(run.explanation, profiles=()))


# ---- stability, agreement, confidence


def test_both_curves_are_those_of_the_model_with_their_levels(run):
    axes = plot.stability_curve(run)
    k, back, valleys = run.model.stability_curve_.T
    for ax, y, levels in zip(axes, (back, np.minimum(valleys, 2)), ([0.75], [0.5, 1])):
        assert np.array_equal(ax.lines[0].get_xydata(), np.column_stack([k, y]))
        across = [line.get_ydata()[0] for line in ax.lines[1 : 1 + len(levels)]]
        assert across == levels
        assert set(ax.lines[-1].get_xdata()) == {run.n_clusters}
    assert [ax.get_title(loc="left") for ax in axes] == [*_curves(run.to_report())]


def test_the_share_that_comes_back_has_its_own_axis(run):
    flat = copy(run.model)
    flat.stability_curve_ = run.model.stability_curve_ * [1, 1, 0] + [0, 0, 2]
    left, right = plot.stability_curve(flat)
    assert left.get_ylim()[1] < 1.1 < 2 < right.get_ylim()[1]


def test_one_axes_holds_both_curves(run):
    _, ax = plt.subplots()
    assert plot.stability_curve(run.model, ax=ax) is ax
    drawn = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert len(drawn) == 2
    _, (a, b) = plt.subplots(1, 2)
    assert plot.stability_curve(run.model, ax=[a, b]) == [a, b]
    with pytest.raises(ValueError, match="ax holds 1 axes; pass two, or one"):
        plot.stability_curve(run, ax=[a])


def test_a_given_number_of_clusters_has_no_curve():
    data = make_views(40, (3, 3), 2, random_state=0)
    model = imvc.AnchorBridge(2, random_state=0).fit(data.Xs)
    with pytest.raises(ValueError, match="has no stability_curve_, as its number of"):
        plot.stability_curve(model)


def test_bars_of_views_are_their_agreement_and_diamonds_their_weight(run):
    ax, views = plot.view_agreement(run.explanation), run.explanation.views
    assert widths(ax.containers[0]) == [view.agreement for view in views]
    assert list(ax.lines[0].get_xdata()) == [view.weight for view in views]
    assert rows_of(ax) == [f"{view.view} ({view.n_observed})" for view in views]
    plain = [replace(view, weight=None) for view in views]
    ax = plot.view_agreement(replace(run.explanation, views=tuple(plain)))
    assert not ax.lines


def test_bars_of_confidence_count_samples_and_flagged_ones(run):
    ax, found = plot.confidence(run.confidence), run.confidence
    flagged, others = (heights(bars) for bars in ax.containers)
    edges = np.linspace(0, 1, 21)
    assert flagged == np.histogram(found.score[found.low], edges)[0].tolist()
    assert others == np.histogram(found.score[~found.low], edges)[0].tolist()
    assert sum(flagged) + sum(others) == N


# ---- meaning


def test_bars_of_associations_are_effects_hollow_where_nothing_was_found(run):
    ax = plot.associations(run.associations)
    tested = [c for c in run.associations.columns if c.effect is not None]
    assert rows_of(ax) == [c.name for c in tested] == ["age", "day", "site"]
    assert widths(ax.containers[0]) == [c.effect for c in tested]
    fills = [to_hex(bar.get_facecolor()) for bar in ax.containers[0]]
    assert fills == [LIGHT.mark, LIGHT.mark, "#ffffff"]
    assert len(plot.associations(run, most=2).containers[0]) == 2


def test_shares_of_a_category_sum_to_one_and_rare_levels_are_together(run):
    ax = plot.associations(run, "site")
    column = next(c for c in run.associations.columns if c.name == "site")
    shares = np.array([widths(bars) for bars in ax.containers])
    assert shares.shape == (7, 4)
    assert np.allclose(shares.sum(axis=0), 1)
    *drawn, others = [text.get_text() for text in ax.get_legend().get_texts()]
    assert others == "3 others"
    counts = np.array(column.counts)
    for level, share in zip(drawn, shares):
        own = counts[:, column.levels.index(level)]
        assert np.isclose(share[0], own.sum() / N)
        assert np.allclose(share[1:], own / counts.sum(axis=1))
    assert texts(ax) == [str(n) for n in (N, *counts.sum(axis=1))]


def test_boxes_of_numbers_are_quantiles(run):
    ax = plot.associations(run, "age")
    column = next(c for c in run.associations.columns if c.name == "age")
    *own, every = column.quantiles
    for i, (a, b, middle, c, d) in enumerate([every, *own]):
        reach, median = (x.get_segments()[0] for x in ax.collections[2 * i : 2 * i + 2])
        box = ax.containers[2 * i][0]
        drawn = (reach[0, 0], box.get_x(), box.get_x() + box.get_width(), reach[1, 0])
        assert np.allclose(drawn, (a, b, c, d))
        assert median[0, 0] == middle


def test_columns_that_were_not_tested_are_refused(run):
    with pytest.raises(ValueError, match="column='patient' is none that was tested"):
        plot.associations(run, "patient")
    with pytest.raises(ValueError, match="hold no column that was tested"):
        plot.associations(replace(run.associations, columns=()))


def test_survival_draws_curves_numbers_at_risk_and_the_test(run):
    found = run.associations.survival
    ax = plot.survival(run.associations)
    for curve, line in zip(found.curves, ax.lines):
        assert tuple(line.get_xdata()) == (*curve.times, curve.last)
        assert tuple(line.get_ydata()) == (*curve.survival, curve.survival[-1])
        assert line.get_drawstyle() == "steps-post"
    at_risk = [str(n) for c in found.curves for n in (c.cluster, *c.at_risk)]
    assert texts(ax) == ["samples at risk", *at_risk]
    assert list(ax.get_xticks()) == list(found.marks)
    assert ax.get_legend().get_title().get_text() == "log-rank test\np < 0.001"
    assert len(ax.collections) == 3  # bands


def test_survival_that_was_not_asked_for_is_told(run):
    with pytest.raises(ValueError, match="survival is not known here; name its"):
        plot.survival(replace(run.associations, survival=None))
    assert isinstance(run.associations.survival, Survival)


def test_a_cluster_without_known_survival_does_not_shift_the_colours(run):
    survival = run.associations.survival
    last = replace(survival, curves=survival.curves[1:])
    assert to_hex(plot.survival(last).lines[0].get_color()) == LIGHT.clusters[1]


# ---- flow


def ends_of(ribbon):
    """Heights of a ribbon on the left and on the right."""
    y = ribbon.get_path().vertices[:, 1]
    return y[7] - y[0], y[4] - y[3]


def test_ribbons_sum_to_the_sizes_of_the_clusters(rng):
    a, b = rng.integers(4, size=200), rng.choice(["x", "y", "z"], size=200)
    ax = plot.flow(a, b, ("ours", "theirs"))
    left, right, ribbons = ax.patches[:4], ax.patches[4:7], ax.patches[7:]
    assert [bar.get_height() for bar in left] == np.bincount(a).tolist()
    named = {text.get_text(): text for text in ax.texts}
    assert {f"{name} ({(b == name).sum()})" for name in "xyz"} <= set(named)
    assert sum(bar.get_height() for bar in right) == 200
    for c, bar in enumerate(left):
        mine = [r for r in ribbons if r.get_facecolor()[:3] == bar.get_facecolor()[:3]]
        assert np.isclose(sum(ends_of(r)[0] for r in mine), np.sum(a == c))
    assert all(np.isclose(*ends_of(r)) for r in ribbons)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["ours", "theirs"]


def test_equal_clusterings_flow_straight(rng):
    a = rng.integers(3, size=60)
    ax = plot.flow(a, 2 - a)
    for ribbon in ax.patches[6:]:
        y = ribbon.get_path().vertices[:, 1]
        assert np.isclose(y[0], y[3])
    assert ax.get_xlabel() == "adjusted Rand index 1.00"


def test_unrelated_clusterings_have_no_index_of_minus_zero():
    a = np.repeat([0, 1], 500)
    b = np.tile([0, 1], 500)
    assert adjusted_rand(a, b) < 0
    assert plot.flow(a, b).get_xlabel() == "adjusted Rand index 0.00"


def test_samples_are_matched_by_their_ids(rng):
    pandas = pytest.importorskip("pandas")
    a = pandas.Series(rng.integers(3, size=60), index=[f"s{i}" for i in range(60)])
    ax = plot.flow(a, a.sample(frac=1, random_state=0))
    assert ax.get_xlabel() == "adjusted Rand index 1.00"
    with pytest.raises(ValueError, match="cannot be matched by their ids: 's0' is not"):
        plot.flow(a, a.rename(lambda key: f"x{key}"))


def test_clusterings_of_other_samples_are_refused():
    with pytest.raises(ValueError, match="labels_a has 3 samples and labels_b 2"):
        plot.flow([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="names='ab' must be two names"):
        plot.flow([0, 1], [0, 1], "ab")
    with pytest.raises(TypeError, match="labels_b is of type str, shape"):
        plot.flow([0, 1], "ab")


# ---- the page about plots


def test_the_code_of_the_page_runs_and_its_pictures_are_there_and_small():
    made = runpy.run_path(str(DOCS / "make_plots.py"))["pictures"]()
    found = {target for target, figure in made if figure.axes}
    assert found == {f"figures/{path.name}" for path in DOCS.glob("figures/plots-*")}
    page = (DOCS / "plots.md").read_text()
    for name in plot.__all__:
        assert f"imvc.plot.{name}(" in page
    for target in found:
        assert (DOCS / target).stat().st_size < 100 * 1024
