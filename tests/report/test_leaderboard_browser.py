"""The leaderboard in a real browser.

Needs Debian's packages chromium and chromium-driver and the Python package selenium;
where one of them is absent the tests are skipped and say so.
"""

import json
from dataclasses import replace

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("selenium", reason="browser tests need: pip install selenium")

from leaderboard_runs import METHODS, entries, suite
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from imvc.report.leaderboard_page._board import Board
from imvc.report.leaderboard_page._board_html import write_leaderboard

EVIL = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "\"'><img src=x onerror=window.hacked=1>",
    "😀 & `${1}` \u2028 {{ 7 * 7 }} \u05e9\u05dc\u05d5\u05dd",
    "x" * 300,
    "__proto__",
)
NAMES = ("plain", "hostile", "empty", "failed", "alone")


def hostile_board():
    names = dict(zip(METHODS, EVIL))
    datasets = ("digits", "webkb", "wiki", "cells", "faces")
    sets = dict(zip(datasets, EVIL))
    own = [
        e._replace(
            label=names[e.label],
            record=replace(
                e.record,
                reason=e.record.reason and EVIL[1],
                spec=replace(e.record.spec, dataset=sets[e.record.spec.dataset]),
            ),
        )
        for e in entries()
    ]
    return Board.of(suite(title=EVIL[0], kinds=dict(zip(EVIL, EVIL))), own)


@pytest.fixture(scope="module")
def boards():
    alone = [e for e in entries() if e.record.spec.dataset == "wiki"][:12]
    return {
        "plain": Board.of(suite(), entries(), pending=2),
        "hostile": hostile_board(),
        "empty": Board.of(suite(), []),
        "failed": Board.of(suite(), entries()[-12:]),
        "alone": Board.of(suite(), alone),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory, boards):
    folder = tmp_path_factory.mktemp("pages")
    return {name: write_leaderboard(b, folder, name) for name, b in boards.items()}


@pytest.fixture
def opened(browser, files):
    """Opens a page anew, whatever was chosen on it before."""

    def open_page(name="plain", width=1280, theme="light", media="", address=""):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {
                "media": media,
                "features": [{"name": "prefers-color-scheme", "value": theme}],
            },
        )
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 2, "mobile": False},
        )
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(files[name].as_uri() + address)
        return browser

    return open_page


def choose(browser, **chosen):
    for name, value in chosen.items():
        Select(browser.find_element("id", name)).select_by_value(value)


def column(browser, number, table="scores"):
    """Texts of a column of a table."""
    script = (
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
        ".map((row) => row.children[arguments[1]].innerText)"
    )
    return browser.execute_script(script, table, number)


def head(browser, name, table="scores"):
    buttons = browser.find_elements("css selector", f"#{table} thead button")
    return next(button for button in buttons if button.text == name)


def sort_of(browser, name, table="scores"):
    script = "return arguments[0].closest('th').getAttribute('aria-sort')"
    return browser.execute_script(script, head(browser, name, table))


def text(browser, id):
    return browser.find_element("id", id).text


@pytest.mark.parametrize("name", NAMES)
def test_the_page_opens_without_errors(opened, name):
    assert opened(name).get_log("browser") == []


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_nothing_but_the_file_is_asked_for(opened, files, name):
    messages = [
        json.loads(entry["message"])["message"]
        for entry in opened(name).get_log("performance")
    ]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [files[name].as_uri()]


VIEW = """
const {view} = window.imvcBoard;
return {
  rank: view.rank, values: view.values, p: view.p, difference: view.difference,
  pairs: view.pairs.map((row) => row.map((one) => one && [one.wins, one.ties,
    one.losses, one.better, one.equal, one.worse])),
  spread: view.rows.map((row) => row.cells.map((cell) => cell.sd)),
  seconds: view.rows.map((row) => row.processor),
  leakage: view.rows.map((row) => row.leakage),
};
"""


@pytest.mark.parametrize(
    ("chosen", "metric"),
    [
        ({}, "acc"),
        ({"protocol": "paired-share", "rate": "0.5"}, "nmi"),
        ({"kind": "text"}, "ari"),
        ({"rate": "0.3", "kind": "images"}, "acc"),
    ],
)
def test_the_numbers_are_those_of_python_for_every_filter(
    opened, boards, chosen, metric
):
    browser = opened()
    choose(browser, **chosen, score=metric)
    found = browser.execute_script(VIEW)
    rate = float(chosen["rate"]) if "rate" in chosen else None
    part = boards["plain"].pick(chosen.get("protocol"), rate, chosen.get("kind"))
    datasets, scores = part.table(metric)
    ranking = part.ranking(metric)
    assert found["values"] == [pytest.approx(row) for row in scores.tolist()]
    ranks = dict(zip(ranking.labels, ranking.ranks))
    assert dict(zip(part.methods, found["rank"])) == pytest.approx(ranks)
    assert found["p"] == pytest.approx(ranking.friedman_p, abs=1e-9)
    assert found["difference"] == pytest.approx(ranking.critical_difference)
    for pair in part.pairs(metric):
        i, j = map(part.methods.index, (pair.first, pair.second))
        wins, ties, losses, *shares = found["pairs"][i][j]
        assert (wins, ties, losses) == (pair.wins, pair.ties, pair.losses)
        assert shares == pytest.approx([pair.better, pair.equal, pair.worse], abs=1e-3)
    cells = part.cells(metric)
    spread = [[cells[d, m].sd for d in datasets] for m in part.methods]
    for own, row in zip(found["spread"], spread):
        own = [float("nan") if sd is None else sd for sd in own]
        assert own == pytest.approx(row, nan_ok=True)
    seconds = [part.seconds(m) for m in part.methods]
    found = [float("nan") if s is None else s for s in found["seconds"]]
    assert found == pytest.approx(seconds, nan_ok=True)


def test_filters_change_tables_words_and_pictures_at_once(opened):
    browser = opened()
    seen = ("chosen", "scores", "pairs", "cost", "masks", "ranks", "time")

    def shown():
        script = (
            "return arguments[0].map((id) => document.getElementById(id).innerHTML)"
        )
        return browser.execute_script(script, seen)

    before = shown()
    choose(browser, protocol="single-view")
    after = shown()
    assert all(a != b for a, b in zip(before, after))
    told = " ".join(text(browser, "chosen").split())
    assert "90 runs" in told
    assert "25.0–26.0 % of the entries missing" in told
    assert "50.0 % of the samples complete" in told
    assert "keeps exactly one view" in text(browser, "definitions")
    browser.find_element("id", "reset").click()
    assert shown() == before


def test_a_method_and_a_dataset_can_be_left_out(opened):
    browser = opened()
    browser.find_element("css selector", "#picks summary").click()
    browser.find_element("css selector", "#pick-methods input[value=broken]").click()
    browser.find_element("css selector", "#pick-datasets input[value=faces]").click()
    assert "4 datasets 5 methods" in " ".join(text(browser, "chosen").split())
    assert "broken" not in column(browser, 0)
    # The box that was used keeps the focus.
    focus = "return document.activeElement.value"
    assert browser.execute_script(focus) == "faces"


def test_the_address_keeps_the_filters(opened):
    browser = opened()
    choose(browser, protocol="paired-share", rate="0.5", score="nmi")
    head(browser, "digits").click()
    address = browser.current_url
    rows, told = column(browser, 0), text(browser, "chosen")
    assert "#" in address
    browser = opened(address="#" + address.split("#")[1])
    assert (column(browser, 0), text(browser, "chosen")) == (rows, told)
    assert Select(browser.find_element("id", "score")).first_selected_option.text


def test_an_unknown_address_is_harmless(opened):
    browser = opened(address="#score=none&protocol=none&sort=none&first=none")
    assert text(browser, "chosen") == "No run is left by these filters."
    assert browser.get_log("browser") == []


def test_columns_sort_by_click(opened):
    browser = opened()
    ranks = [float(rank.split()[0]) for rank in column(browser, 1)]
    assert ranks == sorted(ranks)
    head(browser, "digits").click()
    assert sort_of(browser, "digits") == "descending"
    cells = column(browser, 5)
    numbers = [float(cell.split()[0]) for cell in cells if cell[0] != "–"]
    assert numbers == sorted(numbers, reverse=True)
    assert cells[-1] == "– error"  # what has no result comes last
    head(browser, "digits").click()
    cells = column(browser, 5)
    assert float(cells[0].split()[0]) == min(numbers)
    assert cells[-1] == "– error"


def test_columns_sort_by_keyboard_and_keep_the_focus(opened):
    browser = opened()
    head(browser, "Method").send_keys(Keys.ENTER)
    assert column(browser, 0) == sorted(METHODS)
    browser.switch_to.active_element.send_keys(Keys.SPACE)
    assert column(browser, 0) == sorted(METHODS, reverse=True)
    assert browser.switch_to.active_element.text.startswith("Method")
    head(browser, "Leakage", "cost").send_keys(Keys.ENTER)
    assert column(browser, 0, "cost")[-1] == "nemo"


def test_failures_are_shown_with_their_reason(opened):
    browser = opened()
    script = (
        "return [...document.querySelectorAll('#scores td.out')]"
        ".map((cell) => [cell.innerText, cell.title])"
    )
    found = browser.execute_script(script)
    assert ["– time", "longer than 30 s"] in found
    assert ["– error", "ValueError: broken has no neighbours"] in found
    browser.find_element("css selector", "#failures summary").click()
    assert "61 runs without a result" in text(browser, "failures")
    assert "broken has no neighbours" in text(browser, "failures")


def test_the_best_of_a_column_is_marked(opened):
    browser = opened()
    best = browser.find_elements("css selector", "#scores td.best")
    assert len(best) == 2 + 5  # rank, mean, datasets
    assert all("best" in cell.get_attribute("textContent") for cell in best)


def test_groups_of_the_diagram_join_what_does_not_differ(opened, boards):
    browser = opened()
    ranking = boards["plain"].ranking("acc")
    joined = browser.find_elements("css selector", "#ranks .joined")
    spans = set()
    for i, low in enumerate(ranking.ranks):
        near = [r for r in ranking.ranks if 0 <= r - low < ranking.critical_difference]
        end = i + len(near) - 1
        if near and all(end > other for _, other in spans):
            spans.add((i, end))
    assert len(joined) == len(spans)
    label = browser.find_element("css selector", "#ranks svg").get_attribute(
        "aria-label"
    )
    assert "bridge 1.40, slow 2.50, rise 2.60" in label


def test_a_pair_is_told_in_words(opened):
    browser = opened()
    choose(browser, first="rise", second="daimc")
    told = text(browser, "pair")
    assert "better on 5, equal within a point on 0, worse on 0" in told
    assert "better 1.00, practically equal 0.00, worse 0.00" in told
    cells = browser.find_elements("css selector", "#pairs tbody td:not(.self)")
    browser.execute_script("arguments[0].click()", cells[0])
    assert "bridge against slow" in " ".join(
        text(browser, "pair").replace("\u2068", "").replace("\u2069", "").split()
    )


def test_the_plot_marks_the_front_and_methods_that_lack_results(opened):
    browser = opened()
    first = browser.find_elements("css selector", "#time circle.first")
    part = browser.find_elements("css selector", "#time circle.part")
    assert (len(first), len(part)) == (2, 2)  # rise, bridge; slow, broken
    assert len(browser.find_elements("css selector", "#time .front")) == 1


def test_names_in_the_plot_do_not_cover_each_other(opened):
    browser = opened()
    script = (
        "return [...document.querySelectorAll('#time circle + text')]"
        ".map((t) => t.getBoundingClientRect())"
        ".map((b) => [b.left, b.top, b.right, b.bottom])"
    )
    boxes = browser.execute_script(script)
    assert len(boxes) == 6
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a[2] < b[0] or b[2] < a[0] or a[3] < b[1] + 4 or b[3] < a[1] + 4
            assert apart


def test_hostile_names_stay_text(opened):
    browser = opened("hostile")
    found = {" ".join(name.split()) for name in column(browser, 0)}
    assert found == {" ".join(name.split()) for name in EVIL}
    browser.execute_script(
        "const cells = () => document.querySelectorAll('#pairs tbody td');"
        "for (let i = 0; i < cells().length; i++) cells()[i].click();"
    )
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements("css selector", "img") == []
    assert browser.get_log("browser") == []


def test_a_script_that_slips_in_does_not_run(opened):
    browser = opened()
    browser.execute_script(
        "const s = document.createElement('script');"
        "s.textContent = 'window.hacked = 1'; document.body.append(s);"
    )
    assert browser.execute_script("return window.hacked") is None


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_no_page_scrolls_sideways(opened, name, width):
    browser = opened(name, width)
    browser.execute_script(
        "for (const one of document.querySelectorAll('details')) one.open = true"
    )
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


def test_dark_readers_get_a_dark_ground_and_paper_a_light_one(opened):
    script = "return getComputedStyle(document.body).backgroundColor"
    assert opened().execute_script(script) == "rgb(255, 255, 255)"
    red = opened(theme="dark").execute_script(script).removeprefix("rgb(").split(",")[0]
    assert int(red) < 60
    browser = opened(theme="dark", media="print")
    assert browser.execute_script(script) == "rgb(255, 255, 255)"
