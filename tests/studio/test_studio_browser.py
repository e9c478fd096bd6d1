"""The studio in a real browser, served as users start it.

Needs Debian's packages chromium and chromium-driver and the Python package selenium;
where one of them is absent the tests are skipped and say so.
"""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio needs: pip install 'imvc[studio]'")
pytest.importorskip("selenium", reason="browser tests need: pip install selenium")

from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from sklearn.metrics import adjusted_rand_score

from study_files import read_table, write_study

EVIL_ID = "<img src=x onerror=window.hacked=1>"
EVIL_NAME = "mild </script><script>window.hacked=1</script>"
SCREENS = ("files", "missing", "cluster", "explore", "compare", "predict", "take")
# Of an answer that is an error Chromium writes a line by itself.
EXPECTED = "Failed to load resource: the server responded with a status of 4"


# ---- files, the server, the browser


def rows_of(path, delimiter=","):
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def write_rows(path, rows, delimiter=","):
    with open(path, "w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def messy_files(folder):
    """Four files as people have them, and one of new samples; paths by name.

    A column of rna says nothing and one has a hostile name, as has an id. The first
    column of protein has ids too, but of siblings; its own are in capitals. People
    describes the samples.
    """
    folder.mkdir()
    (rna, protein, clinical), classes = write_study(folder, n=90)
    table = rows_of(protein, "\t")
    siblings = ["sibling", *np.roll([row[0] for row in table[1:]], 1)]
    codes = ["code", *(row[0].upper() for row in table[1:])]
    own = [[s, c, *row[1:]] for s, c, row in zip(siblings, codes, table)]
    write_rows(protein, own, "\t")
    head, *rest = rows_of(rna)
    renamed = {next(id for id, *_ in rest if id.upper() not in codes): EVIL_ID}
    rest = [[renamed.get(row[0], row[0]), *row[1:], "7"] for row in rest]
    write_rows(rna, [[*head, "chip"], *rest])
    others = [[renamed.get(row[0], row[0]), *row[1:]] for row in rows_of(clinical)]
    write_rows(clinical, others)
    people = [
        [renamed.get(id, id), f"kind {kind}", 10 * kind + i % 7, i % 2]
        for i, (id, kind) in enumerate(classes.items())
    ]
    titles = ["patient", "kind", "days", "died"]
    people = write_rows(folder / "people.csv", [titles, *people])
    new = [[f"new{i}", *row[1:]] for i, row in enumerate(rest[:12])]
    new = write_rows(folder / "rna_new.csv", [[*head, "chip"], *new])
    paths = rna, protein, clinical, people, new
    return {path.stem: path for path in paths}


@contextmanager
def studio(folder, *paths):
    """A studio as a process of its own; gives its address and the process."""
    program = "from imvc.cli import main; main()"
    command = [sys.executable, "-c", program, "studio", *map(str, paths)]
    command += ["--project", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        found = (re.search(r"http://127\S+", line) for line in process.stdout)
        yield next(match[0] for match in found if match), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


class Page:
    """What the tests do with the page, waiting for it where it takes a while."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url
        self.host = url.partition("?")[0]
        self.look()
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(url)

    def look(self, width=1280, theme="light"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        cdp = self.browser.execute_cdp_cmd
        cdp("Emulation.setEmulatedMedia", {"features": features})
        cdp("Emulation.setDeviceMetricsOverride", size)

    def js(self, script, *given):
        return self.browser.execute_script(script, *given)

    def wait(self, condition, seconds=60):
        """The first answer that is not empty; elements may come and go meanwhile."""
        waiting = WebDriverWait(self.browser, seconds, 0.1, [Exception])
        try:
            return waiting.until(lambda _: condition())
        except TimeoutException:
            text = self.text("body")
        raise AssertionError(
            f"waited {seconds} seconds in vain; the page says:\n{text}"
        )

    def all(self, css, text=""):
        found = self.browser.find_elements("css selector", f":is({css})")
        return [one for one in found if text in one.text and one.is_displayed()]

    def find(self, css, text=""):
        return self.wait(lambda: self.all(css, text)[0])

    def text(self, css="main"):
        return self.browser.find_element("css selector", css).text

    def says(self, *texts, css="main"):
        self.wait(lambda: all(text in self.text(css) for text in texts))

    def centre(self, one):
        """Below the steps and above the jobs, which stay where they are."""
        self.js("arguments[0].scrollIntoView({block: 'center'})", one)
        return one

    def click(self, css, text=""):
        self.wait(lambda: self.centre(self.all(css, text)[0]).click() or True)

    def choose(self, css, text):
        self.wait(lambda: Select(self.find(css)).select_by_visible_text(text) or True)

    def fill(self, css, text):
        control = self.centre(self.find(css))
        control.send_keys(Keys.CONTROL, "a")
        control.send_keys(text)

    def step(self, title):
        self.click("#steps a", title)

    def go(self, name):
        """One of the screens, opened anew and drawn."""
        self.js("location.hash = `#/${arguments[0]}`", name)
        self.browser.refresh()
        busy = "Reading…|Loading|Comparing…|Opening|Estimating"
        self.wait(lambda: self.text("main h1") and not re.search(busy, self.text()))

    def start(self, name, k, refits=0):
        """Start a clustering and wait for it; gives its folder's name."""
        self.step("Cluster")
        self.click("[data-key=number-false]")
        self.fill("[data-key=k]", k)
        if not self.all("[data-key=n_refits]"):
            self.click("summary", "More settings")
        self.fill("[data-key=n_refits]", refits)
        self.fill("[data-key=name]", name)
        self.click("button.main", "Start")
        self.says(name, "is ready", css="#jobs")
        self.click("#jobs a", "Look at it")
        self.says(name, f"in {k} clusters")
        return self.js("return location.hash").split("/")[-1]

    def check(self):
        """Nothing went wrong in the console, nothing was asked of another host."""
        log = self.browser.get_log("browser")
        assert [one for one in log if EXPECTED not in one["message"]] == []
        log = [
            json.loads(one["message"]) for one in self.browser.get_log("performance")
        ]
        asked = [
            one["message"]["params"]["request"]["url"]
            for one in log
            if one["message"]["method"] == "Network.requestWillBeSent"
        ]
        own = (self.host, f"blob:{self.host}", "data:")
        assert [url for url in asked if not url.startswith(own)] == []
        assert self.js("return window.hacked") is None


# ---- the whole way


def test_from_messy_files_to_labels(browser, tmp_path):
    files, folder, saved = messy_files(tmp_path / "in"), tmp_path / "project", tmp_path
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(saved)}
    )
    with studio(folder) as (url, process):
        page = Page(browser, url)
        add_tables(page, files)
        correct_them(page, folder)
        page.step("What is missing")
        page.says("90", "samples in all tables", "Who has what")
        first = page.start("three <b>", 3, refits=1)
        colour_and_lasso(page)
        edit_clusters(page, folder / "runs" / first)
        second = page.start("two", 2)
        compare(page, [folder / "runs" / run for run in (first, second)])
        predict(page, files["rna_new"], folder / "runs" / first)
        download(page, folder / "runs" / first, saved)
        page.check()
        begin_and_kill(page, process)
    with studio(folder) as (url, _):
        page = Page(browser, url)
        come_back(page, folder, first)
        page.check()


def add_tables(page, files):
    """Two are chosen, two are dropped."""
    chosen = "\n".join(str(files[name]) for name in ("rna", "protein"))
    browser = page.browser
    page.find("button", "Choose files")
    browser.find_element("css selector", "input[type=file]").send_keys(chosen)
    page.says("rna.csv", "protein.tsv", "2 tables, ")
    texts = {
        files[name].name: files[name].read_text() for name in ("clinical", "people")
    }
    page.js(
        "const data = new DataTransfer();"
        "for (const [name, text] of Object.entries(arguments[0]))"
        "  data.items.add(new File([text], name));"
        "const how = {dataTransfer: data, bubbles: true, cancelable: true};"
        "document.querySelector('.drop').dispatchEvent(new DragEvent('drop', how))",
        texts,
    )
    page.says("clinical.csv", "people.csv", "4 tables, ")
    page.choose("[aria-label='What people.csv is']", "describes the samples")
    page.says("3 tables, ")


def correct_them(page, folder):
    card = "article[aria-label=protein] "
    assert Select(
        page.find(f"{card} select[data-key^=id]")
    ).first_selected_option.text == ("found: sibling")
    page.choose(f"{card} select[data-key^=id]", "code")
    page.says("match none of the other files")
    page.click("button", "Join these ids")
    page.says("3 tables, 90 samples")
    assert "match none" not in page.text()
    card = "article[aria-label=rna] "
    page.says("1 feature with a single value (chip)", css=card)
    assert "--drop" not in page.text(card)
    page.click(f"{card} button", "Leave it out")
    page.wait(lambda: "single value" not in page.text(card))
    kept = json.loads((folder / "studio.json").read_text())
    options = {file["view"]: file["options"] for file in kept["files"]}
    assert options["protein"]["id_column"] == "code"
    assert options["rna"]["drop"] == ["chip"]
    assert kept["joint"]["match_ids"] == "loose"


MAP = "const map = [...imvcStudio.maps][0];"


def colour_and_lasso(page):
    page.choose(".map-side select", "kind")
    page.says("kind 0", "kind 1", "kind 2", css=".legend")
    counts = [int(one.text) for one in page.all(".legend .many")]
    assert sum(counts) == 90
    x = np.array(page.js(MAP + "return Array.from(map.x, (_, i) => map.position(i).x)"))
    # Around all samples on the left of the widest gap in the middle of the map.
    ordered = np.sort(x)
    gap = 20 + np.argmax(np.diff(ordered)[20:70])
    edge = (ordered[gap] + ordered[gap + 1]) / 2
    page.click(".map-tools button", "Lasso")
    canvas = page.centre(page.find("canvas"))
    width, height = canvas.rect["width"], canvas.rect["height"]
    corners = [(3, 3), (edge, 3), (edge, height - 3), (3, height - 3), (3, 6)]
    moves = ActionChains(page.browser, duration=50)
    for i, (right, down) in enumerate(corners):
        place = int(right - width / 2), int(down - height / 2)
        moves.move_to_element_with_offset(canvas, *place)
        if i == 0:
            moves.click_and_hold()
    moves.release().perform()
    wanted = np.flatnonzero(x < edge).tolist()
    page.wait(lambda: page.js(MAP + "return map.count") == len(wanted))
    assert page.js(MAP + "return map.rows") == wanted
    page.says(f"{len(wanted)} samples selected", "of all samples:", css=".selection")
    page.says(f"1 to {min(25, len(wanted))} of {len(wanted)}", css=".samples")
    page.click("button", "Clear the selection")


def edit_clusters(page, run):
    page.click("[aria-label='Rename Cluster 0']")
    page.fill(".renaming input", EVIL_NAME + Keys.ENTER)
    page.says(EVIL_NAME, "Your changes (1)", css="aside")
    for name in ("Cluster 1", "Cluster 2"):
        page.click(f"[aria-label='Mark {name} for merging']")
    page.click("button", "Merge the 2 marked ones")
    page.says("2 clusters", "Your changes (2)", css="aside")
    assert len({row["cluster"] for row in read_table(run / "labels_edited.csv")}) == 2
    page.click("button", "Undo")
    page.says("3 clusters", "Your changes (1)", css="aside")
    page.fill(".find input", EVIL_ID)
    page.says("1 sample found", css=".find")
    page.says(EVIL_ID, css=".tip")


def compare(page, runs):
    page.step("Compare")
    page.says("Where the samples went", EVIL_NAME)
    page.click("summary", "The same as a table")
    cells = [
        [
            int(one.text.replace("–", "0"))
            for one in row.find_elements("css selector", "td")
        ]
        for row in page.all(".cross tbody tr")
    ]
    labels = [
        [int(row["cluster"]) for row in read_table(r / "labels.csv")] for r in runs
    ]
    table = np.zeros((3, 2), dtype=int)
    np.add.at(table, tuple(labels), 1)
    assert cells == table.tolist()
    facts = [one.text for one in page.all(".facts strong")]
    assert float(facts[2]) == float(f"{adjusted_rand_score(*labels):.2g}")
    most = max(table[0].tolist())
    page.js(  # the ribbon of most samples of the first cluster
        "document.querySelector(`.ribbon[data-stop='0-${arguments[0]}']`)"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))",
        table[0].tolist().index(most),
    )
    page.says(f"{most} samples selected.")
    assert page.js("return [...imvcStudio.maps].map((map) => map.count)") == [most] * 2


def predict(page, new, run):
    page.go(f"predict/{run.name}")
    page.find("button", "Choose files")
    chooser = page.browser.find_element("css selector", "input[type=file]")
    chooser.send_keys(str(new))
    page.choose(".card select", "rna")
    page.click("button.main", "Place the samples of 1 file")
    page.says("12 new samples", EVIL_NAME)
    rows = page.wait(lambda: page.all("#placed .samples tbody tr"))
    assert len(rows) == 12
    assert [row["id"] for row in read_table(run / "new/p1.csv")] == [
        f"new{i}" for i in range(12)
    ]


def download(page, run, saved):
    page.go(f"take/{run.name}")
    page.click(".downloads a", "labels.csv")
    path = saved / "labels.csv"
    page.wait(path.is_file)
    found, original = read_table(path), read_table(run / "labels.csv")
    assert len(found) == 90
    assert EVIL_ID in {row["id"] for row in found}
    assert found == read_table(run / "labels_edited.csv")
    ids = [row["id"] for row in original]
    assert [row["id"] for row in found] == ids
    names = {"0": EVIL_NAME, "1": "Cluster 1", "2": "Cluster 2"}
    wanted = [names[row["cluster"]] for row in original]
    assert [row["cluster_name"] for row in found] == wanted


def begin_and_kill(page, process):
    """A run is begun and all of the studio is killed."""
    page.step("Cluster")
    page.fill("[data-key=name]", "cut off")
    page.click("button.main", "Start")
    page.says("cut off", css="#jobs")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def come_back(page, folder, run):
    page.step("Cluster")
    page.says("Was interrupted before it was finished.")
    page.click("button", "Run again")
    page.says("cut off", "is ready", css="#jobs")
    page.wait(lambda: len(page.all(".runs .card")) == 3)
    page.go(f"explore/{run}")
    page.says("three <b>", EVIL_NAME, "Your changes (1)")
    counts = Counter(
        row["cluster"] for row in read_table(folder / f"runs/{run}/labels.csv")
    )
    sizes = [int(one.text) for one in page.all(".clusters .many")]
    assert sizes == [counts[key] for key in sorted(counts)]


# ---- one thing each, on a project with two runs


@pytest.fixture(scope="module")
def study(browser, tmp_path_factory):
    """Addresses of a studio with three tables and two runs, without and with them."""
    folder = tmp_path_factory.mktemp("studio")
    files = messy_files(folder / "in")
    with studio(folder / "project", files["rna"], files["clinical"]) as (url, _):
        page = Page(browser, url)
        page.says("2 tables, ")
        page.start("two", 2)
        page.start("four", 4)
        page.check()
        yield url


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_screen_scrolls_sideways(browser, study, width, theme):
    page = Page(browser, study)
    page.look(width, theme)
    for name in SCREENS:
        page.go(name)
        page.js(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )
        page.wait(lambda: not page.all("main [aria-busy=true]"))
        assert page.js("return document.documentElement.scrollWidth") <= width, name
    ground = page.js("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (theme == "light")
    page.check()


def test_the_keyboard_alone_starts_a_clustering(browser, study):
    page = Page(browser, study)
    page.says("2 tables, ")

    def tab_to(text):
        for _ in range(80):
            ActionChains(browser).send_keys(Keys.TAB).perform()
            held = browser.switch_to.active_element
            if held.text == text and page.js(
                "return arguments[0].matches(':focus-visible')", held
            ):
                return ActionChains(browser).send_keys(Keys.ENTER).perform()
        raise AssertionError(f"{text!r} is not reached with the Tab key")

    tab_to("Skip to the page")
    assert browser.switch_to.active_element.get_attribute("id") == "main"
    tab_to("See what is missing")
    page.says("Who has what")
    tab_to("Cluster them")
    page.says("AnchorBridge", "will be grouped")
    tab_to("Start")
    page.says("Run", css="#jobs")
    tab_to("Cancel")
    page.wait(lambda: not page.all("#jobs .job"))
    page.check()


def test_frames_of_a_map_of_100_000_samples_are_measured(browser, study):
    page = Page(browser, study)
    page.go("explore")
    page.find("canvas")
    found = browser.execute_async_script(
        MAP + "const done = arguments[0], n = 100000;"
        "const places = () => Array.from({length: n}, () => Math.random() * 9999);"
        "map.setPlane({x: places(), y: places()});"
        "imvcStudio.measureFrames(10).then(done);"
    )
    assert found["points"] == 100_000
    assert 0 < found["median"] <= found["worst"]
    assert 0 < found["between"]["median"] <= found["between"]["worst"]
    page.check()
