"""What the clusters mean, on the page: pictures, sentences, tables, safe names."""

import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jinja2")

from cluster_reports import cluster_report

from imvc.insight import FeatureProfile, associate
from imvc.insight._drawn import drawn_levels
from imvc.report import cluster_page
from imvc.report._jinja import TEMPLATES
from imvc.report.cluster_page import _meaning, _meaning_svg
from imvc.report.cluster_page._meaning_svg import (
    share_bars,
    survival_plot,
)

LOOKS = {0: (0, 0), 1: (1, 0), 2: (2, 0)}
EVIL = '</svg><script>alert("x")</script>'


def known_of(labels, rng):
    """Stage and date follow the clusters, the site does not."""
    n = len(labels)
    return {
        "site": np.array(["north", "south"])[rng.integers(2, size=n)],
        "stage": np.array(["I", "II", "III"])[
            np.where(rng.random(n) < 0.2, rng.integers(3, size=n), labels)
        ],
        "day": np.datetime64("2020-01-01") + 200 * labels + rng.integers(90, size=n),
        "age": rng.normal(60, 10, n),
        "patient": np.array([f"patient {i}" for i in range(n)]),
        "days": rng.exponential(1000 / (1 + 3 * labels)).round(),
        "status": np.where(rng.random(n) < 0.7, "dead", "alive"),
    }


def described_report(survival=("days", "status"), n=150, **changes):
    report = cluster_report(n, **changes)
    metadata = known_of(report.labels, np.random.default_rng(0))
    found = associate(report.labels, metadata, survival=survival)
    return replace(report, metadata=metadata, associations=found)


@pytest.fixture(scope="module")
def page():
    return cluster_page(described_report())


def section(page, name="meaning"):
    return page.split(f'<section id="{name}"')[1].split("</section>")[0]


def test_columns_are_drawn_by_strength_with_their_sentences(page):
    names = re.findall("<h3>(.*?)</h3>", section(page))
    assert set(names[:2]) == {"stage", "day"}
    assert set(names[2:]) == {"site", "age"}
    assert "stage differs between the clusters (Cramer&#39;s V 0." in section(page)
    assert "No difference of age between the clusters was found" in section(page)


def test_every_kind_of_column_has_its_picture(page):
    pictures = dict(re.findall("<h3>(.*?)</h3>\n<figure>(.*?)</svg>", section(page)))
    assert pictures["stage"].count('<rect class="share"') >= 3 * 4 - 2
    assert pictures["age"].count('<rect class="box"') == 4  # three clusters, and all
    assert ">2020-01-" in pictures["day"]


def test_every_mark_says_what_it_is():
    column = associate(np.repeat([0, 1], 20), {"x": ["a"] * 15 + ["b"] * 25}).columns[0]
    titles = re.findall("<title>(.*?)</title>", share_bars(column, LOOKS))
    assert titles[1:] == [
        "All samples: 62\u00a0% b (25 of 40)",
        "Cluster 0: 75\u00a0% a (15 of 20)",
        "Cluster 0: 25\u00a0% b (5 of 20)",
        "Cluster 1: 100\u00a0% b (20 of 20)",
    ]


def test_bars_fill_the_whole_width():
    column = associate(np.repeat([0, 1], 20), {"x": np.arange(40) % 3}).columns[0]
    bar = '<rect class="share" x="[0-9.]+" y="([0-9]+)" width="(.*?)"'
    rows = re.findall(bar, share_bars(column, LOOKS))
    widths = {}
    for y, width in rows:
        widths[y] = widths.get(y, 0) + float(width)
    assert len(widths) == 3
    for width in widths.values():
        assert width == pytest.approx(312, abs=0.3)


def test_rare_levels_are_drawn_together():
    values = np.array([f"plate {i}" for i in [*range(10)] * 4 + [3, 7] * 5])
    column = associate(np.arange(50) % 2, {"plate": values}).columns[0]
    levels, counts = drawn_levels(column)
    assert len(levels) == 7
    assert "plate 3" in levels
    assert levels[-1] == "4 others"
    assert counts.sum() == 50


def test_clusters_keep_their_colours_and_shapes():
    labels = np.repeat(np.arange(10), 12)
    report = cluster_report(120, 10, labels=labels)
    found = associate(labels, {"age": np.arange(120) % 50 + 0.5})
    part = section(cluster_page(replace(report, associations=found)))
    assert re.search('#shape-0" [^>]*style="color:var\\(--c0\\)"/><text [^>]*>0<', part)
    assert re.search('#shape-1" [^>]*style="color:var\\(--c1\\)"/><text [^>]*>9<', part)


def test_survival_is_drawn_with_the_samples_at_risk(page):
    part = section(page)
    assert part.count('<path class="survival"') == 3
    assert part.count('<path class="band"') == 3
    assert "Survival differs between the clusters (log-rank test, p &lt; 0.001)" in part
    assert '<th scope="colgroup" colspan=' in part


def test_a_survival_curve_only_steps_down():
    labels = np.repeat([0, 1], 30)
    found = associate(labels, {}, survival=(np.arange(60) % 30 + 1, np.ones(60)))
    picture = survival_plot(found.survival, LOOKS)
    for path in re.findall('class="survival" [^>]*d="(.*?)"', picture):
        heights = [float(y) for y in re.findall("V([0-9.]+)", path)]
        assert heights == sorted(heights)  # y goes down the page
        assert heights[-1] == pytest.approx(260 - 46)


def test_long_curves_have_few_steps():
    n = 5000
    times = np.random.default_rng(0).exponential(10, n)
    found = associate(np.arange(n) % 2, {}, survival=(times, np.ones(n)))
    assert len(survival_plot(found.survival, LOOKS)) < 100_000


def test_without_events_curves_are_flat():
    found = associate([0, 0, 1, 1], {}, survival=([5, 6, 7, 8], [0] * 4))
    picture = survival_plot(found.survival, LOOKS)
    assert picture.count('class="survival"') == 2
    assert 'class="band"' not in picture


def test_survival_that_nobody_knows_is_said_and_not_drawn():
    report = cluster_report()
    found = associate(report.labels, {}, survival=([None] * 60, [None] * 60))
    part = section(cluster_page(replace(report, associations=found)))
    assert "Survival is not known of any sample" in part
    assert "<svg" not in part


def test_the_table_lists_all_columns_with_the_reason_of_those_not_tested(page):
    table = section(page).split("All columns and their tests")[1]
    assert table.count("<tr>") == 1 + 5
    assert "patient is free text or an identifier" in table
    assert "Kruskal-Wallis" in table


def test_weaker_columns_are_folded_and_the_weakest_only_listed(monkeypatch):
    monkeypatch.setattr(_meaning, "_OPEN", 2)
    monkeypatch.setattr(_meaning, "_DRAWN", 3)
    part = section(cluster_page(described_report(survival=None)))
    before, after = part.split("<summary>1 more columns</summary>")
    assert before.count('<article class="card">') == 2
    assert after.count('<article class="card">') == 1


def test_of_very_many_clusters_the_first_are_drawn(monkeypatch):
    monkeypatch.setattr(_meaning_svg, "CLUSTERS", 2)
    monkeypatch.setattr(_meaning, "CLUSTERS", 2)
    part = section(cluster_page(described_report()))
    assert "The first 2 clusters are drawn." in part
    pictures = dict(re.findall("<h3>(.*?)</h3>\n<figure>(.*?)</svg>", part))
    assert pictures["age"].count('<rect class="box"') == 3


def test_without_metadata_there_is_no_such_section():
    report = cluster_report()
    for found in (None, associate(report.labels, {})):
        text = cluster_page(replace(report, associations=found))
        assert 'id="meaning"' not in text
        assert "#meaning" not in text


def test_names_and_values_never_become_elements():
    n = 60
    report = cluster_report(n)
    metadata = {
        EVIL: np.array([EVIL, "b", None] * (n // 3), dtype=object),
        EVIL + "2": np.linspace(0, 1, n),
        EVIL + "3": np.array([f"{EVIL}{i}" for i in range(n)], dtype=object),
    }
    found = associate(
        report.labels,
        {**metadata, EVIL + "t": np.arange(n), EVIL + "e": np.arange(n) % 2},
        survival=(EVIL + "t", EVIL + "e"),
    )
    page = cluster_page(replace(report, metadata=metadata, associations=found))
    assert "<script>alert" not in page
    assert page.count("<script") == 2


# ---- the heatmap


def profiled_report(means, names=None):
    report = cluster_report()
    profiles = tuple(
        FeatureProfile("genes", name, tuple(row))
        for name, row in zip(names or "abcdefgh", means)
    )
    return replace(report, explanation=replace(report.explanation, profiles=profiles))


def cells(page):
    found = page.split('<table class="heatmap">')[1].split("</table>")[0]
    return re.findall(
        '<td class="(hot|cold|none)" style="--s:(.*?)" title="(.*?)">(.*?)</td>', found
    )


def test_the_heatmap_has_a_cell_for_every_feature_and_cluster():
    page = cluster_page(profiled_report([[1.25, -0.5, -0.04], [3.0, np.nan, 0.0]]))
    assert cells(page) == [
        (
            "hot",
            "0.62",
            "a, cluster 0: 1.25 standard deviations above the mean of all samples",
            "1.2",
        ),
        (
            "cold",
            "0.25",
            "a, cluster 1: 0.50 standard deviations below the mean of all samples",
            "\u22120.5",
        ),
        (
            "cold",
            "0.02",
            "a, cluster 2: 0.04 standard deviations below the mean of all samples",
            "0.0",
        ),
        (
            "hot",
            "1.00",
            "b, cluster 0: 3.00 standard deviations above the mean of all samples",
            "3.0",
        ),
        ("none", "0.00", "b, cluster 1: not observed in this view", "–"),
        (
            "hot",
            "0.00",
            "b, cluster 2: 0.00 standard deviations above the mean of all samples",
            "0.0",
        ),
    ]


def test_names_of_features_stay_text_in_the_heatmap():
    page = cluster_page(profiled_report([[1, 0, -1]], [f'"{EVIL}']))
    assert "<script>alert" not in page
    assert len(cells(page)) == 3


def test_without_features_there_is_no_heatmap():
    assert "Strongest features" not in cluster_page(cluster_report())


def luminance(colour):
    part = np.asarray(colour) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("tone", ["heat", "hot"])
def test_numbers_stand_out_from_the_deepest_cells(theme, tone):
    style = (TEMPLATES / "cluster.css").read_text()

    def values(name, form):
        return re.findall(rf"--{name}: ({form});", style)[theme]

    def colour(name):
        digits = values(name, "#\\w+")[1:]
        digits = digits if len(digits) == 6 else "".join(2 * c for c in digits)
        return np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)])

    deep = float(values("deep", r"[\d.]+"))
    cell = np.array([int(part) for part in values(tone, r"[\d, ]+").split(",")])
    ground = deep * cell + (1 - deep) * colour("bg")
    low, high = sorted([luminance(colour("fg")), luminance(ground)])
    assert (high + 0.05) / (low + 0.05) >= 4.5
