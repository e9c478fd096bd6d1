"""The page of a clustering: plain words, safe names, few bytes."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jinja2")

from cluster_reports import (
    cluster_report,
    judged_report,
)

from imvc.insight import ColumnSummary, Structure, _sample_map
from imvc.report import cluster_page, write_cluster_page
from imvc.report._inline_svg import line_plot, ticks
from imvc.report._jinja import TEMPLATES
from imvc.report.cluster_page import _cluster_html, _point_map
from imvc.report.cluster_page._cluster_words import (
    percent,
    summary,
    valley,
)
from imvc.report.cluster_page._point_map import (
    drawn_samples,
    metadata_column,
    planes,
    script_json,
)
from study_files import Candidate

EVIL = "</script><script>alert(1)</script>"
NO_CLUSTERS = "No cluster structure was found"
ROOT = Path(__file__).resolve().parents[2]


class Reader(HTMLParser):
    """Elements with their attributes, and the texts between them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.open = [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open = self.elements[-1]

    def handle_data(self, data):
        self.texts.append((self.open, data))

    def text(self):
        """What a reader sees, with single spaces."""
        seen = (data for e, data in self.texts if e and e[0] not in ("script", "style"))
        return re.sub("[ \n]+", " ", " ".join(seen))

    def script(self, **attributes):
        return next(data for e, data in self.texts if e and e == ("script", attributes))


@pytest.fixture(scope="module")
def page():
    return cluster_page(cluster_report())


def points_of(page):
    return json.loads(Reader(page).script(type="application/json", id="points"))


def test_the_summary_counts_samples_views_and_clusters_in_words(page):
    text = Reader(page).text()
    assert "60 samples were described by 2 views (genes, proteins)." in text
    assert "30 samples (50\u00a0%) lack at least one view." in text
    assert "put them into 3 clusters of 20 samples each." in text


def test_flagged_samples_are_counted_in_the_summary(page):
    assert "6 samples (10\u00a0%) are flagged as uncertain" in Reader(page).text()


@pytest.mark.parametrize("evidence", ["strong", "weak"])
def test_a_suggested_number_of_clusters_comes_with_its_evidence(evidence):
    text = Reader(cluster_page(judged_report(evidence, "valleys are so"))).text()
    assert (
        f"3 clusters, give or take one, were suggested by the program; the evidence "
        f"is {evidence}: valleys are so."
    ) in text
    assert f"The evidence is {evidence}. Valleys are so." in text
    assert NO_CLUSTERS not in text


NOISE = Structure(False, 0.31, 0.29, 60, 24, "the clusters are no more stable")


@pytest.mark.parametrize(
    "report",
    [judged_report("none", "none comes back"), cluster_report(structure=NOISE)],
    ids=["evidence", "structure"],
)
def test_that_no_clusters_were_found_is_the_first_thing_read(report):
    warned = (f"{NO_CLUSTERS}: none comes back.", "Another.")
    text = Reader(cluster_page(replace(report, warnings=warned))).text()
    start = text.index("Skip to the report") + len("Skip to the report")
    assert text[start:].lstrip().startswith(f"{warned[0]} Do not report the clusters")
    assert "Before you read on: Another." in text
    assert text.count(warned[0]) == 1
    assert summary(report)[0] == f"{NO_CLUSTERS}."


def test_that_no_clusters_were_found_is_read_without_a_reason_too():
    text = Reader(cluster_page(judged_report("none", None))).text()
    assert f"{NO_CLUSTERS}. Do not report the clusters below" in text
    assert "nothing to warn of" not in text
    assert "None" not in text.split("Method and citation")[0]


def test_the_page_tells_how_stable_the_clusters_are_and_those_of_shuffled_data():
    found = replace(NOISE, found=True, stability=0.95)
    text = Reader(cluster_page(cluster_report(structure=found))).text()
    assert "random halves of the samples agree by 0.95 (adjusted Rand index" in text
    assert "no feature knows of any other, it is 0.29." in text
    assert NO_CLUSTERS not in text


def test_both_curves_are_drawn_with_their_limits_and_the_number_taken():
    page = cluster_page(judged_report("strong", "all come back"))
    assert "comes back, for 2 to 4 clusters; 3 were taken" in page
    assert "Valleys between the clusters, for 2 to 4 clusters; 3 were taken" in page
    assert page.count('<line class="marked"') == 2
    assert page.count('<line class="level"') == 3  # 0.75; 0.5 and 1


def test_what_a_curve_does_not_know_is_left_out():
    curve = np.array([[2, np.nan, np.nan], [3, 0.9, np.nan]])
    page = cluster_page(judged_report("weak", "so", stability_curve=curve))
    assert page.count("<figcaption>") == 1
    assert "nan" not in Reader(page).text()


def test_one_valley_that_is_overfull_does_not_flatten_the_others():
    curve = np.array([[2, 0.9, 2000.0], [3, 0.95, 0.4], [4, 0.5, 0.8]])
    page = cluster_page(judged_report("weak", "so", stability_curve=curve))
    plot = page.split('aria-label="Valleys')[1].split("</svg>")[0]
    assert ">1.5<" in plot
    assert ">2000<" not in plot


def test_candidates_are_listed_with_their_reasons():
    text = Reader(cluster_page(judged_report("weak", "so"))).text()
    assert (
        "3 (taken) 95\u00a0% clear (0.40) the largest number whose clusters all come "
        "back 2 99\u00a0% clear (0.30) the better of its neighbours"
    ) in text


@pytest.mark.parametrize(
    ("depth", "word"),
    [
        (0.2, "clear (0.20)"),
        (0.5, "clear (0.50)"),
        (0.51, "shallow (0.51)"),
        (1.0, "none (1.00)"),
        (np.nan, "not known"),
    ],
)
def test_the_depth_of_valleys_has_a_word(depth, word):
    assert valley(depth) == word


def test_doubtful_clusters_are_marked_wherever_they_are_shown():
    page = cluster_page(judged_report("strong", "all come back"))
    text = Reader(page).text()
    assert text.count("doubtful: only 52\u00a0% of it comes back") == 2  # table, card
    assert points_of(page)["columns"][0]["levels"] == [
        "Cluster 0",
        "Cluster 1 (doubtful)",
        "Cluster 2",
    ]


def test_unknown_shares_of_clusters_are_no_doubt():
    report = judged_report("strong", "so", cluster_stability=np.full(3, np.nan))
    text = Reader(cluster_page(report)).text()
    assert "doubtful" not in text
    assert "Comes back" not in text


def test_shares_of_clusters_are_shown_for_a_given_number_too():
    report = cluster_report(cluster_stability=np.array([0.98, 0.52, np.nan]))
    text = Reader(cluster_page(report)).text()
    assert "The number of clusters was given by the user." in text
    assert "doubtful: only 52\u00a0% of it comes back" in text


def test_a_given_number_of_clusters_has_no_curve_and_no_shares(page):
    assert "The number of clusters was given by the user." in page
    assert "were taken" not in page
    assert "Comes back" not in page


def test_warnings_are_shown_in_their_order():
    report = cluster_report(warnings=("The worst.", "Less bad.", "<b>Odd</b>."))
    text = Reader(cluster_page(report)).text()
    assert "Before you read on: The worst." in text
    assert "More warnings Less bad. <b>Odd</b>." in text


def test_without_warnings_there_is_nothing_to_warn_of(page):
    assert "There is nothing to warn of." in Reader(page).text()


def test_notes_of_the_input_are_shown():
    text = cluster_page(cluster_report(notes=("genes.csv: separator is a tab",)))
    assert "genes.csv: separator is a tab" in text


def hostile_report(evil):
    n = 60
    return cluster_report(
        view_names=(evil, evil + "2"),
        feature=evil,
        title=evil,
        method=evil,
        sample_ids=np.array([f"{evil}{i}" for i in range(n)], dtype=object),
        metadata={evil: np.array([evil, None] * (n // 2), dtype=object)},
        parameters={evil: evil},
        versions={evil: evil},
        notes=(evil,),
        seconds={evil: 1.0},
        scores={evil: {evil: 0.5}},
        citation=(evil,),
        evidence="none",
        evidence_reason=evil,
        candidates=[Candidate(3, 0.4, 1.1, evil)],
        stability_curve=np.array([[3, 0.4, 1.1]]),
        cluster_stability=np.full(3, 0.4),
    )


@pytest.mark.parametrize("evil", [EVIL, '"><img src=x onerror=alert(1)>', "'&<!--"])
def test_names_never_become_elements(evil):
    report = judged_report("none", "so", notes=("note",))
    harmless = {tag for tag, _ in Reader(cluster_page(report)).elements}
    found = Reader(cluster_page(hostile_report(evil)))
    assert {tag for tag, _ in found.elements} <= harmless
    assert sum(tag == "script" for tag, _ in found.elements) == 2
    assert not any(name.startswith("on") for _, a in found.elements for name in a)


def test_names_reach_the_map_unchanged():
    points = points_of(cluster_page(hostile_report(EVIL)))
    assert points["ids"][7] == f"{EVIL}7"
    assert points["columns"][3]["levels"] == [EVIL]


def test_data_in_a_script_cannot_end_it():
    text = script_json(["</script>", "<!--", "&lt;", "\u2028"])
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == ["</script>", "<!--", "&lt;", "\u2028"]


def test_the_page_names_no_other_address(page):
    for tag, attributes in Reader(page).elements:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith("#"), tag
    assert not re.search(r"url\(|@import", page)


def test_the_policy_lets_only_the_own_script_run(page):
    found = Reader(page)
    policy = next(a["content"] for _, a in found.elements if "http-equiv" in a)
    digest = hashlib.sha256(found.script().encode()).digest()
    assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none'")


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(t[1]) for t, _ in Reader(page).elements if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(b - a for a, b in pairwise(levels)) == 1


def test_ids_of_elements_are_unique(page):
    ids = [a["id"] for _, a in Reader(page).elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_every_effect_is_listed_with_its_means(page):
    text = Reader(page).text()
    assert "gene0 1.50 2.5 0.5" in text
    assert "gene1 −1.50 2.5 0.5" in text


def test_features_are_listed_as_far_as_the_page_can_carry(monkeypatch):
    report = cluster_report()
    many = tuple(
        replace(effect, feature=f"{effect.feature}-{i}")
        for effect in report.explanation.features
        for i in range(20)
    )
    monkeypatch.setattr(_cluster_html, "_FEATURE_ROWS", 30)
    crowded = replace(report, explanation=replace(report.explanation, features=many))
    found = Reader(cluster_page(crowded))
    tracks = [a for _, a in found.elements if a.get("class") == "track"]
    assert len(tracks) == 30  # 6 tables of 5 rows


def test_the_least_certain_samples_come_first(page):
    text = Reader(page).text()
    assert text.index("s00000") < text.index("s00001") < text.index("s00019")
    assert "s00020" not in text


def test_an_iterating_method_has_a_curve_of_its_objective():
    text = cluster_page(cluster_report(objective=np.array([3.0, 2.0, 1.5])))
    assert "Objective over 3 iterations" in text


def test_a_method_without_iterations_says_so(page):
    assert "This method does not iterate" in page


def test_the_best_score_of_a_column_is_bold():
    scores = {"rise": {"acc": 0.5, "nmi": 0.4}, "bridge": {"acc": 0.75}}
    text = cluster_page(cluster_report(scores=scores))
    assert "<strong>0.750</strong>" in text
    assert "<strong>0.400</strong>" in text
    assert "<strong>0.500</strong>" not in text


def test_the_citation_is_that_of_the_citation_file(page):
    file = ROOT / "CITATION.cff"
    if not file.exists():
        pytest.skip("there is no checkout around the tests")
    title = re.search('title: "(.*)"', file.read_text()).group(1)
    assert title in page


def test_parameters_times_and_versions_are_listed(page):
    text = Reader(page).text()
    assert "n_anchors None" in text
    assert "fit 1.25" in text
    assert "imvc 0.1.0" in text


def test_rows_that_do_not_match_are_an_error_that_names_them():
    with pytest.raises(ValueError, match=r"metadata\['age'\] has 2 rows but labels"):
        cluster_report(metadata={"age": np.zeros(2)})


def test_names_that_do_not_match_the_mask_are_an_error():
    with pytest.raises(ValueError, match="mask has 2 columns but there are 1"):
        replace(cluster_report(), view_names=("genes",))


def test_half_a_character_does_not_stop_the_writing(tmp_path):
    report = cluster_report(metadata={"a": np.array(["\udc80"] * 60, dtype=object)})
    path = write_cluster_page(report, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    report = cluster_report()
    object.__setattr__(report, "labels", None)
    with pytest.raises(TypeError, match="'NoneType' has no len"):
        write_cluster_page(report, path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_ten_thousand_samples_stay_below_six_megabytes():
    n = 10_000
    text = np.array([f"patient {i:032d} of the study" for i in range(n)], dtype=object)
    metadata = {f"column {j}": np.linspace(0, 1, n) ** (j + 1) for j in range(60)}
    report = cluster_report(n, 15, sample_ids=text, metadata=metadata)
    page = cluster_page(report)
    assert len(points_of(page)["ids"]) == n
    assert len(page.encode()) < 6_000_000
    assert "(too large for this page)" in page


def test_metadata_that_does_not_fit_is_named(monkeypatch):
    monkeypatch.setattr(_point_map, "_METADATA_BYTES", 400)
    page = cluster_page(
        cluster_report(
            metadata={"wide": np.linspace(0, 1, 60), "slim": np.arange(60) % 2}
        )
    )
    assert "Not offered as colours: wide (too large for this page)." in page
    assert points_of(page)["columns"][-1]["name"] == "slim"


def test_a_large_clustering_draws_a_part_and_says_so(monkeypatch):
    monkeypatch.setattr(_point_map, "DRAWN", 40)
    page = cluster_page(cluster_report())
    assert len(points_of(page)["ids"]) == 40
    assert "The map shows 40 of the 60 samples" in page


def test_every_cluster_is_drawn_in_proportion():
    labels = np.repeat([0, 1, 2, 3], [6000, 3000, 999, 1])
    drawn = labels[drawn_samples(labels, 1000)]
    assert len(drawn) == 1000
    np.testing.assert_allclose(np.bincount(drawn), [600, 300, 100, 1], atol=1)


def test_few_samples_are_all_drawn():
    np.testing.assert_array_equal(drawn_samples(np.array([1, 0, 1]), 3), [0, 1, 2])


def nearest_labels(plane, labels):
    XY = np.column_stack([plane["x"], plane["y"]]).astype(float)
    D = ((XY[:, None] - XY) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    return labels[D.argmin(axis=1)]


def test_samples_of_one_cluster_are_neighbours_on_the_map():
    report = cluster_report(200, 8)
    found = planes(report.embedding)
    assert found[0]["name"] == "Neighbours"
    near = nearest_labels(found[0], report.labels)
    assert np.mean(near == report.labels) > 0.95


def test_samples_beside_the_landmarks_lie_in_their_cluster(monkeypatch):
    monkeypatch.setattr(_sample_map, "_LANDMARKS", 100)
    report = cluster_report(300, 5)
    near = nearest_labels(planes(report.embedding)[0], report.labels)
    assert np.mean(near == report.labels) > 0.95


def test_the_map_does_not_depend_on_the_length_of_rows():
    Y = cluster_report().embedding
    assert planes(Y) == planes(Y * np.linspace(1, 9, len(Y))[:, None])


@pytest.mark.parametrize(
    "embedding",
    [np.zeros((20, 3)), np.ones((20, 3)), np.eye(3), np.ones((30, 1)), np.eye(1)],
    ids=["zeros", "equal", "three samples", "one column", "one sample"],
)
def test_embeddings_without_a_shape_are_drawn_too(embedding):
    for plane in planes(embedding):
        assert len(plane["x"]) == len(plane["y"]) == len(embedding)
        assert 0 <= min(plane["x"] + plane["y"])
        assert max(plane["x"] + plane["y"]) <= 9999


@pytest.mark.parametrize(
    "values",
    [np.linspace(0, 1, 40), [f"{x:.2f}" for x in np.linspace(0, 1, 40)]],
    ids=["numbers", "texts"],
)
def test_many_numbers_are_a_scale(values):
    column = metadata_column("age", np.array(values, dtype=object))
    assert column["kind"] == "number"
    assert 0 <= column["low"] < 0.05 < 0.95 < column["high"] <= 1


def test_few_whole_numbers_are_categories_in_their_order():
    column = metadata_column("stage", np.array([10, 2, 1, 2], dtype=object))
    assert column["kind"] == "category"
    assert column["levels"] == ["1", "2", "10"]
    assert column["codes"] == [2, 1, 0, 1]


@pytest.mark.parametrize(
    "unknown", [None, float("nan"), "", "  ", np.datetime64("NaT")], ids=repr
)
def test_what_is_unknown_has_no_level(unknown):
    column = metadata_column("site", np.array(["a", unknown, "b"], dtype=object))
    assert column["codes"] == [0, -1, 1]


def test_missing_values_of_pandas_have_no_level():
    pandas = pytest.importorskip("pandas")
    values = pandas.array(["a", None], dtype="string").astype(object)
    assert metadata_column("site", values)["codes"] == [0, -1]


def test_unknown_numbers_stay_unknown():
    values = np.array([*np.linspace(0, 1, 30), None], dtype=object)
    assert metadata_column("age", values)["values"][-1] is None


def test_one_wild_number_does_not_stretch_the_scale():
    values = np.array([*np.linspace(0, 1, 500), 1e9], dtype=object)
    assert metadata_column("age", values)["high"] < 2


def test_of_very_many_levels_the_most_frequent_come_first():
    rare = [f"rare {i}" for i in range(60)] * 3
    column = metadata_column("plate", np.array([*rare, None, *"zzzz"], dtype=object))
    assert column["levels"][:2] == ["z", "rare 0"]
    assert (column["codes"][0], column["codes"][-5:]) == (1, [-1, 0, 0, 0, 0])


def test_free_text_and_identifiers_are_not_offered_as_colours():
    ids = np.array([f"patient {i}" for i in range(60)], dtype=object)
    assert metadata_column("patient", ids) is None
    page = cluster_page(cluster_report(metadata={"patient": ids}))
    assert "colours: patient (free text or an identifier)." in page
    assert [c["name"] for c in points_of(page)["columns"]] == [
        *("Cluster", "Number of views", "Confidence")
    ]


def test_dates_are_a_scale_of_days():
    days = np.datetime64("2020-01-01") + np.arange(100)
    column = metadata_column("day", days.astype(str).astype(object))
    assert (column["kind"], column["dates"]) == ("number", True)
    assert column["values"][:2] == [18262, 18263]


def test_the_kind_of_a_column_is_that_of_all_samples(monkeypatch):
    monkeypatch.setattr(_point_map, "DRAWN", 20)
    # Of the drawn samples alone there would be few different numbers.
    values = np.where(np.arange(60) < 40, np.arange(60) // 20, np.arange(60))
    page = cluster_page(cluster_report(metadata={"count": values}))
    assert points_of(page)["columns"][-1]["kind"] == "number"


def test_a_column_without_any_value_is_drawn_as_unknown():
    column = metadata_column("empty", np.array([None, None], dtype=object))
    assert (column["levels"], column["codes"]) == ([], [-1, -1])


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0"),
        (0.001, "less than 1"),
        (0.5, "50"),
        (0.999, "more than 99"),
        (1, "100"),
    ],
)
def test_shares_are_rounded_without_hiding_a_rest(share, text):
    assert percent(share) == f"{text}\u00a0%"


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.02, 0.98), (5, 5), (0, 0), (-3e-9, 7e6), (-2, -1)]
)
def test_ticks_span_the_values_in_a_few_equal_steps(low, high):
    found = ticks(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    assert 2 <= len(found) <= 8
    np.testing.assert_allclose(np.diff(found), found[1] - found[0])


def test_points_that_are_no_numbers_are_left_out_of_a_line():
    picture = line_plot(
        np.arange(3), np.array([1, np.nan, 2]), title="t", x_label="x", y_label="y"
    )
    assert picture.count("<circle") == 2
    assert "nan" not in picture


def test_of_many_points_some_are_labelled_and_always_the_marked_one():
    x = np.arange(2, 41)
    picture = line_plot(x, x, marked=7, title="t", x_label="x", y_label="y")
    foot = re.findall('text-anchor="middle">(\\d+)<', picture)
    assert foot == [str(k) for k in range(4, 41, 3)]


def luminance(colour):
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ink", ["fg", "muted", "accent", "alarm"])
@pytest.mark.parametrize("paper", ["bg", "panel", "warn-bg"])
def test_texts_stand_out_from_their_ground(theme, ink, paper):
    style = (TEMPLATES / "cluster.css").read_text()

    def colour(name):
        value = re.findall(rf"--{name}: (#\w+);", style)[theme]
        return value if len(value) == 7 else "#" + "".join(2 * c for c in value[1:])

    low, high = sorted([luminance(colour(ink)), luminance(colour(paper))])
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_columns_of_some_samples_keep_their_values_and_count_all(monkeypatch):
    monkeypatch.setattr(_point_map, "DRAWN", 20)
    level = np.array([f"{i % 55:02d}x" for i in range(238)] + [None] * 2, dtype=object)
    report = cluster_report(n=240, metadata={"level": level})
    data = _point_map.point_data(report)
    rows = _point_map.drawn_samples(report.labels, 20)
    cluster, n_views, _, found = data["columns"]
    for column in (cluster, n_views, found):
        assert sum(column["many"]) + column["unknown"] == 240
    assert (found["others"], len(found["many"]), found["unknown"]) == (8, 48, 2)
    shown = [None if c < 0 else found["levels"][c] for c in found["codes"]]
    assert shown == level[rows].tolist()


def test_means_of_dates_are_days():
    report = cluster_report()
    read = ColumnSummary("genes", "gene0", "date", "dates", 0, 60)
    report = replace(report, inspection=replace(report.inspection, columns=(read,)))
    page = cluster_page(report)
    assert page.count('<td class="n">1970-01-03</td><td class="n">1970-01-01</td>') == 1
    assert '<td class="n">2.5</td><td class="n">0.5</td>' in page  # of other features
