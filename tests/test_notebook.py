"""Results in notebooks: short reprs, HTML that is safe and readable, DataFrames."""

import re
import sys
from dataclasses import asdict, replace
from html.parser import HTMLParser

import numpy as np
import pytest

import imvc
from imvc._notebook import bar, box, pattern_table, table, warned
from imvc.datasets import make_views
from imvc.views import IncompleteViews
from imvc.workflow import Comparison, MethodComparison, cluster

EVIL = "<script>alert('&')</script>"
RESULTS = ("views", "run", "explanation", "confidence", "inspection", "structure")
RESULTS += ("associations", "comparison")


@pytest.fixture(scope="module")
def results():
    """One of each, of 120 samples with ids; names of all kinds hold markup."""
    pandas = pytest.importorskip("pandas")
    data = make_views(120, (5, 6), 3, separation=8, incomplete=0.4, random_state=0)
    frames = {
        name: pandas.DataFrame(X, columns=[f"{EVIL}{j}" for j in range(X.shape[1])])
        .set_axis([f"s{i}" for i in range(120)])
        .loc[seen]
        for name, X, seen in zip((EVIL, "b"), data.Xs, data.mask.T)
    }
    joined = imvc.as_views(frames)
    rows = [int(name[1:]) for name in joined.sample_ids]
    run = cluster(joined, n_clusters=3, n_refits=1, metadata={EVIL: data.y[rows]})
    methods = ["bridge", ("broken" + EVIL, imvc.RISE(3, beta=-1.0)), "rise"]
    found = {name: getattr(run, name) for name in RESULTS if hasattr(run, name)}
    comparison = imvc.compare(joined, methods, 3, y=data.y[rows], random_state=0)
    return {**found, "run": run, "comparison": comparison}


class Page(HTMLParser):
    """The tags, whether each is closed in its turn, the styles, and the text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.styles, self.text, self._open = set(), [], "", []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self._open.append(tag)
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        self.styles += [value for name, value in attrs if name == "style"]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", RESULTS)
def test_html_is_small_and_holds_only_harmless_tags(results, name):
    html = results[name]._repr_html_()
    page = Page(html)
    assert page.tags <= {*"div strong p table tr th td span".split()}
    assert len(html) < 20_000
    if name not in ("confidence", "structure"):  # which have no names in them
        assert "<script>alert('&')" in page.text  # as text: the parser unescapes


@pytest.mark.parametrize("name", RESULTS)
def test_html_leaves_text_and_ground_in_the_readers_colours(results, name):
    styles = Page(results[name]._repr_html_()).styles
    painted = [s for s in styles if re.search(r"(?<!-)color:", s)]
    assert painted == []
    grounds = {g for s in styles for g in re.findall(r"background[^;]*", s)}
    assert grounds <= {"background-color:#3d8ecf"}  # of bars


@pytest.mark.parametrize("name", RESULTS)
def test_reprs_are_short(results, name):
    lines = repr(results[name]).splitlines()
    assert len(lines) <= 3
    assert max(map(len, lines)) < 80
    assert lines[0].startswith(f"<{type(results[name]).__name__}")


def test_the_repr_of_many_views_is_short():
    views = imvc.as_views({"x" * 90 + str(i): np.eye(3) for i in range(30)})
    text = repr(views)
    assert max(map(len, text.splitlines())) < 80
    assert " ".join(text.split()).endswith("x… 3 x 3 and 25 more>")


def test_views_show_who_has_what(results):
    views = results["views"]
    text = Page(views._repr_html_()).text
    counts = views.mask.sum(axis=0)
    for count in [*counts, *(len(pattern.rows) for pattern in views.patterns())]:
        assert f"{count}" in text
    frame = views.to_frame()
    assert list(frame.index) == list(views.sample_ids)
    assert list(frame.columns) == list(views.names)
    np.testing.assert_array_equal(frame, views.mask)
    frame.iloc[0, 0] = not frame.iloc[0, 0]  # a copy: the mask is read-only
    assert (frame.to_numpy() != views.mask).sum() == 1


def test_a_run_shows_its_clusters_and_warnings(results):
    run = results["run"]
    frame = run.to_frame()
    assert list(frame.index) == list(run.sample_ids)
    for name, column in run.columns().items():
        np.testing.assert_array_equal(frame[name], column)
    rows = re.findall(r"<td[^>]*>(\d+)</td><td[^>]*>(\d+)</td>", run._repr_html_())
    sizes = np.bincount(run.labels).tolist()
    assert rows[:3] == [(str(c), str(size)) for c, size in enumerate(sizes)]
    assert f"({', '.join(map(str, sizes))})" in repr(run)
    warned_of = replace(run, warnings=(f"Look at {EVIL}",))
    assert f"Look at {EVIL}" in Page(warned_of._repr_html_()).text


def test_frames_hold_what_the_results_do(results):
    explanation, sure = results["explanation"], results["confidence"]
    rows = explanation.to_frame().to_dict("records")
    assert rows == [asdict(effect) for effect in explanation.features]
    assert len(rows) == 3 * 11
    frame = sure.to_frame()
    for name in ("margin", "stability", "score", "low"):
        np.testing.assert_array_equal(frame[name], getattr(sure, name))
    inspection = results["inspection"]
    frame = inspection.to_frame()
    assert list(frame.index) == [EVIL, "b"]
    assert list(frame["n_observed"]) == [v.n_observed for v in inspection.views]
    assert list(results["comparison"].to_frame()["error"].isna()) == [True, False, True]


def test_a_comparison_of_files_shows_its_warnings_and_the_same_table(results):
    comparison = results["comparison"]
    found = MethodComparison(comparison, {}, None, warnings=(EVIL,))
    page = Page(found._repr_html_())
    assert page.text.startswith(EVIL)
    assert page.text.endswith(Page(comparison._repr_html_()).text)
    assert repr(found) == "<MethodComparison of 3 methods, 1 failed>"
    frame = found.to_frame()
    assert list(frame["agreement with rise"])[::2] == list(comparison.agreement[:, 1])


def test_an_explanation_without_features_has_an_empty_frame(results):
    run = results["run"]
    frame = imvc.explain(run.model, run.views, n_features=0).to_frame()
    assert frame.empty
    assert "effect" in frame


def test_the_strongest_features_of_a_cluster_are_told_with_their_sign(results):
    explanation = results["explanation"]
    own = [effect for effect in explanation.features if effect.cluster == 1]
    most = max(own, key=lambda effect: abs(effect.effect))
    told = explanation.strongest(1)
    assert told.startswith(f"{most.feature[:23]}… {most.effect:+.1f}, ")
    assert told.count(", ") == 2


def test_without_pandas_every_frame_names_the_extra(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for name in set(RESULTS) - {"structure"}:
        with pytest.raises(ImportError, match=r"pip install 'imvc\[io\]'"):
            results[name].to_frame()


def test_tables_are_cut_and_numbers_are_short():
    text = Page(table("lr", ["a", "b"], [["x" * 99, 1 / 3], [None, np.nan]])).text
    assert text.split() == ["a" + "b", "x" * 59 + "…" + "0.33", "––"]
    rows = [[i, 1e-9] for i in range(25)]
    assert "and 5 more" in Page(table("lr", ["a", "b"], rows)).text
    assert "1e-09" in table("lr", ["a", "b"], rows)


def test_warnings_and_text_are_escaped():
    page = box(EVIL, EVIL, warned([EVIL]), bar(0.5))
    assert Page(page).text.count(EVIL) == 3
    assert "width:60px" in page


@pytest.mark.parametrize(
    ("n_views", "head"), [(3, "v0v1v2"), (12, "123456789101112"), (50, "views")]
)
def test_patterns_of_many_views_stay_narrow(n_views, head):
    names = [f"v{i}" for i in range(n_views)]
    page = Page(pattern_table(names, [((0, 1), 7), ((1,), 3)]))
    dots = {3: "●●○", 12: "●●" + 10 * "○", 50: "2 of 50"}
    lines = page.text.split("\n")
    assert lines[1] == f"{head}samples"
    assert lines[2] == f"{dots[n_views]}7\u200b"


def test_no_samples_and_no_methods_are_shown_too():
    empty = IncompleteViews(
        (np.empty((0, 2)),), np.empty((0, 1), bool), ("a",), (None,), None, (None,)
    )
    assert "0 samples" in empty._repr_html_()
    assert "0 methods" in Comparison([])._repr_html_()
