"""The page of a clustering in a real browser.

Needs Debian's packages chromium and chromium-driver and the Python package selenium;
where one of them is absent the tests are skipped and say so.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("selenium", reason="browser tests need: pip install selenium")

from cluster_reports import cluster_report
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from imvc.insight import associate
from imvc.report import write_cluster_page

EVIL = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "\"'><img src=x onerror=window.hacked=1>",
    "😀 & `${1}` \u2028 {{ 7 * 7 }}",
    "x" * 300,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A plain page and one full of hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    n = 60
    site = np.array(["north", "south", None] * (n // 3), dtype=object)
    metadata = {
        "site": site,
        "age": np.linspace(20, 80, n),
        "seen on": np.datetime64("2020-01-01") + np.arange(n),
    }
    plain = described(cluster_report(metadata=metadata))
    ids = np.array([f"{EVIL[i % 5]}{i}" for i in range(n)], dtype=object)
    hostile = cluster_report(
        n_clusters=12,
        view_names=EVIL[1:3],
        feature=EVIL[4],
        title=EVIL[0],
        method=EVIL[2],
        sample_ids=ids,
        metadata={name: np.array(EVIL * (n // 5), dtype=object) for name in EVIL},
        parameters=dict.fromkeys(EVIL, EVIL[4]),
        notes=EVIL,
        scores={name: dict.fromkeys(EVIL, 0.5) for name in EVIL},
        citation=EVIL,
    )
    hostile = described(hostile)
    return {
        "plain": write_cluster_page(plain, folder / "plain.html"),
        "large": write_cluster_page(large_report(), folder / "large.html"),
        "ids": write_cluster_page(ids_report(), folder / "ids.html"),
        "hostile": write_cluster_page(hostile, folder / "hostile.html"),
    }


def described(report):
    """The same with its metadata compared with the clusters, and with survival."""
    days, events = np.arange(report.n_samples), np.arange(report.n_samples) % 3 > 0
    found = associate(report.labels, report.metadata, survival=(days, events))
    return replace(report, associations=found)


def large_report():
    """A page of more samples than are drawn; most levels have 500 samples."""
    n = 30_000
    level = np.array([f"level {i % 60}" for i in range(n)], dtype=object)
    level[[60, 120]], level[180] = "rare", None
    half = np.where(np.arange(n) % 2, np.linspace(0, 1, n), np.nan)
    metadata = {"level": level, "even": np.arange(n) % 2, "half": half}
    return cluster_report(n=n, metadata=metadata)


def ids_report():
    """A page of ids that are, start with or hold each other."""
    ids = [f"s{i:05d}" for i in range(60)]
    ids[:7] = "abc", "abcd", "xabc", "yabcd", "aq1", "q1z", "bq1"
    return cluster_report(sample_ids=np.array(ids, dtype=object))


@pytest.fixture
def opened(browser, files):
    """Opens a page in a window of its usual size, in light colours."""

    def open_page(name="plain", width=1280, theme="light", media=""):
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
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(files[name].as_uri())
        return browser

    return open_page


def drawing(browser):
    """The pixels of the map, after the next redraw."""
    return browser.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame("
        "() => done(document.getElementById('canvas').toDataURL())));"
    )


def wait_for(browser, condition):
    """The first drawing that meets a condition: a busy machine redraws late."""

    def found(browser):
        pixels = drawing(browser)
        return pixels if condition(pixels) else False

    return WebDriverWait(browser, 30).until(found)


def point_at(browser, sample):
    canvas = browser.find_element("id", "canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    place = browser.execute_script("return imvcMap.position(arguments[0])", sample)
    x = place["x"] - canvas.rect["width"] / 2
    y = place["y"] - canvas.rect["height"] / 2
    ActionChains(browser).move_to_element_with_offset(canvas, x, y).perform()


def tip(browser):
    return browser.find_element("id", "tip").text


def choose(browser, name):
    Select(browser.find_element("id", "colour")).select_by_visible_text(name)


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_the_page_opens_without_errors(opened, name):
    assert opened(name).get_log("browser") == []


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_nothing_but_the_file_is_asked_for(opened, files, name):
    browser = opened(name)
    drawing(browser)
    messages = [
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    ]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [files[name].as_uri()]


def test_the_colour_selector_changes_what_is_drawn(opened):
    browser = opened()
    found = {drawing(browser)}
    for name in ("Number of views", "Confidence", "site", "age"):
        choose(browser, name)
        found.add(wait_for(browser, lambda pixels: pixels not in found))
        assert browser.find_element("id", "legend-title").text == name
    assert len(found) == 5


def test_the_legend_counts_the_samples(opened):
    browser = opened()
    choose(browser, "site")
    texts = [
        b.text.split() for b in browser.find_elements("css selector", "#legend button")
    ]
    assert texts == [["north", "20"], ["south", "20"], ["not", "known", "20"]]


def legend(browser):
    """Entries of the legend and their counts."""
    entries = browser.find_elements("css selector", "#legend button")
    texts = [entry.text.rsplit(maxsplit=1) for entry in entries]
    return {name: int(count) for name, count in texts}


def test_the_legend_counts_all_samples_where_only_some_are_drawn(opened):
    browser = opened("large")
    assert browser.execute_script("return imvcMap.ids.length") == 20_000
    assert sum(legend(browser).values()) == 30_000
    choose(browser, "even")
    assert legend(browser) == {"0": 15_000, "1": 15_000}
    choose(browser, "half")
    assert legend(browser) == {"not known": 15_000}


def test_the_legend_counts_what_has_no_entry_of_its_own_together(opened):
    browser = opened("large")
    choose(browser, "level")
    found = legend(browser)
    assert len(found) == 49  # 47 levels, the others, and what is not known
    assert found["not known"] == 1
    # Of 61 levels these are the smallest: three samples of one are not in it.
    assert found["14 others"] == 12 * 500 + 497 + 2
    assert sum(found.values()) == 30_000


@pytest.mark.parametrize(
    ("text", "told", "card"),
    [
        ("ABC", "1 sample found", "abc"),
        ("abcd", "1 sample found", "abcd"),
        ("xab", "1 sample found", "xabc"),
        ("bcd", "2 samples found", None),
        ("ab", "4 samples found", None),
        ("ya", "1 sample found", "yabcd"),
    ],
)
def test_a_whole_id_is_preferred_to_its_start_and_that_to_a_part(
    opened, text, told, card
):
    browser = opened("ids")
    browser.find_element("id", "find").send_keys(text)
    assert browser.find_element("id", "found").text == told
    assert tip(browser).split("\n")[0] == (card or "")


def test_ids_that_start_so_come_before_those_that_hold_it(opened):
    browser = opened("ids")
    browser.find_element("id", "find").send_keys("q1")
    assert tip(browser).startswith("q1z")  # the only one that starts so
    browser.find_element("css selector", "#samples summary").click()
    WebDriverWait(browser, 10).until(
        lambda b: b.find_elements("css selector", "#sample-rows tr")
    )
    rows = browser.find_elements("css selector", "#sample-rows th")
    assert [row.text for row in rows] == ["q1z", "aq1", "bq1"]


def test_an_entry_of_the_legend_fades_the_others(opened):
    browser = opened()
    before = drawing(browser)
    entry = browser.find_element("css selector", "#legend button")
    entry.click()
    wait_for(browser, lambda pixels: pixels != before)
    assert entry.get_attribute("aria-pressed") == "true"
    entry.click()
    wait_for(browser, lambda pixels: pixels == before)


def test_pointing_at_a_sample_shows_its_id_and_views(opened):
    browser = opened()
    point_at(browser, 33)
    WebDriverWait(browser, 10).until(lambda b: "s00033" in tip(b))
    assert "Views: " in tip(browser)
    assert "age: " in tip(browser)


def test_leaving_the_map_closes_the_card(opened):
    browser = opened()
    point_at(browser, 33)
    WebDriverWait(browser, 10).until(lambda b: tip(b))
    ActionChains(browser).move_to_element(browser.find_element("id", "find")).perform()
    WebDriverWait(browser, 10).until(lambda b: not tip(b))


def test_arrow_keys_go_from_sample_to_sample(opened):
    browser = opened()
    canvas = browser.find_element("id", "canvas")
    canvas.send_keys(Keys.ARROW_RIGHT)
    first = tip(browser)
    canvas.send_keys(Keys.ARROW_LEFT)
    assert first.startswith("s000")
    assert tip(browser) != first


def test_a_sample_is_found_by_its_id(opened):
    browser = opened()
    browser.find_element("id", "find").send_keys("S00041")
    assert browser.find_element("id", "found").text == "1 sample found"
    assert tip(browser).startswith("s00041")


def test_zooming_in_and_resetting_comes_back(opened):
    browser = opened()
    before = drawing(browser)
    browser.find_element("id", "zoom-in").click()
    wait_for(browser, lambda pixels: pixels != before)
    browser.find_element("id", "zoom-reset").click()
    wait_for(browser, lambda pixels: pixels == before)


def test_the_map_has_a_table_beside_it(opened):
    browser = opened()
    browser.find_element("css selector", "#samples summary").click()
    WebDriverWait(browser, 10).until(
        lambda b: b.find_elements("css selector", "#sample-rows tr")
    )
    browser.find_element("id", "after").click()
    rows = browser.find_elements("css selector", "#sample-rows tr")
    assert len(rows) == 10  # 60 samples, 50 to a page
    assert rows[0].text.startswith("s00050")


def test_the_canvas_has_the_pixels_of_the_screen(opened):
    browser = opened()
    drawing(browser)
    assert browser.execute_script("return canvas.width === 2 * canvas.clientWidth")


@pytest.mark.parametrize("sample", range(5))
def test_hostile_names_stay_text(opened, sample):
    browser = opened("hostile")
    browser.execute_script("imvcMap.select(arguments[0])", sample)
    expected = " ".join(EVIL[sample].split())[:90]
    assert expected in " ".join(tip(browser).split())
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_elements("css selector", "img") == []


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
    drawing(browser)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


def test_dark_readers_get_dark_ground_and_other_marks(opened):
    script = "return getComputedStyle(document.body).backgroundColor"
    browser = opened()
    light = drawing(browser)
    assert browser.execute_script(script) == "rgb(255, 255, 255)"
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    wait_for(browser, lambda pixels: pixels != light)
    red = browser.execute_script(script).removeprefix("rgb(").split(",")[0]
    assert int(red) < 60


def test_paper_shows_what_the_screen_folds_away(opened):
    script = (
        "const all = [...document.querySelectorAll('details.cluster table')];"
        "return [all.length, all.filter((t) => t.checkVisibility({"
        "contentVisibilityAuto: true, visibilityProperty: true})).length]"
    )
    browser = opened()
    there, seen = browser.execute_script(script)
    assert seen < there
    browser = opened(media="print", theme="dark")
    there, seen = browser.execute_script(script)
    assert seen == there
    ground = "return getComputedStyle(document.body).backgroundColor"
    assert browser.execute_script(ground) == "rgb(255, 255, 255)"


def test_printing_uses_the_colours_of_paper_and_comes_back(opened):
    browser = opened()
    light = drawing(browser)
    browser = opened(theme="dark")
    dark = drawing(browser)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    wait_for(browser, lambda pixels: pixels == light)
    assert not browser.find_elements("css selector", "details.cluster:not([open])")
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    wait_for(browser, lambda pixels: pixels == dark)


def test_dates_are_a_scale_between_dates(opened):
    browser = opened()
    choose(browser, "seen on")
    ends = browser.find_element("css selector", "#legend .ends").text
    assert ends.split() == ["≤", "2020-01-01", "≥", "2020-02-28"]
    point_at(browser, 0)
    assert "seen on: 2020-01-01" in tip(browser)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_clusters_have_the_colours_of_the_map(opened, theme):
    browser = opened(theme=theme)
    wanted, seen = browser.execute_script(
        "const style = getComputedStyle(document.documentElement);"
        "const sign = document.querySelector('#meaning .card .sign');"
        "return [style.getPropertyValue('--c0').trim(), getComputedStyle(sign).fill];"
    )
    parts = [int(wanted[i : i + 2], 16) for i in (1, 3, 5)]
    assert seen == f"rgb({parts[0]}, {parts[1]}, {parts[2]})"
