"""The pictures of docs/studio.md: ``python docs/make_studio_pictures.py``.

Clusters the demo's tables, opens them in a studio of their own and walks through it in
Debian's Chromium (packages chromium and chromium-driver, Python package selenium).
"""

import base64
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

FIGURES = Path(__file__).parent / "figures"
WIDTH, HEIGHT = 1280, 960
PROGRAM = [sys.executable, "-c", "from imvc.cli import main; main()"]

# Name every cluster after the digit that most of its samples are.
NAME_CLUSTERS = """
const done = arguments[0], get = async (path) => (await fetch(path)).json();
const post = (body) => fetch("/api/runs/main/edits", {
  method: "POST", headers: {"Content-Type": "application/json"},
  body: JSON.stringify(body) });
(async () => {
  const run = await get("/api/runs/main");
  const {levels, codes} = await get("/api/runs/main/column?kind=metadata&name=digit");
  for (const {id} of run.clusters) {
    const many = levels.map(() => 0);
    run.labels.forEach((label, i) => { if (label === id) many[codes[i]] += 1; });
    const name = `Mostly ${levels[many.indexOf(Math.max(...many))]}`;
    await post({op: "rename", cluster: id, name});
  }
  done();
})();
"""


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """The address of a studio on a folder."""
    command = [*PROGRAM, "studio", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        found = (re.search(r"http://127\S+", line) for line in process.stdout or ())
        yield next(match[0] for match in found if match)
    finally:
        process.terminate()
        process.wait()


class Walker:
    """A browser that goes through the studio and keeps what it sees."""

    def __init__(self, browser, url: str) -> None:
        self.browser = browser
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False},
        )
        browser.get(url)

    def js(self, script: str, *given):
        return self.browser.execute_script(script, *given)

    def go(self, screen: str, *texts: str) -> None:
        """A screen, once it says these texts and nothing is being worked out."""
        self.js("location.hash = `#/${arguments[0]}`", screen)
        self.wait(*texts)

    def wait(self, *texts: str) -> None:
        busy = re.compile("Reading|Loading|Comparing…|Estimating")

        def ready(browser) -> bool:
            said = self.js("return document.body.innerText")
            return all(text in said for text in texts) and not busy.search(said)

        WebDriverWait(self.browser, 600).until(ready)

    def click(self, css: str, text: str = "") -> None:
        """The first that is found and has the text."""
        found = self.browser.find_elements("css selector", css)
        one = next(one for one in found if text in one.text)
        self.js("arguments[0].scrollIntoView({block: 'center'})", one)
        one.click()

    def picture(self, name: str, theme: str = "light") -> None:
        """What is on the screen."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": features}
        )
        # The folder is a temporary one, which says nothing.
        self.js("document.querySelector('#folder bdi').textContent = 'demo_output'")
        self.js("document.activeElement.blur()")
        self.browser.execute_async_script(
            "setTimeout(() => requestAnimationFrame(arguments[0]), 800)"
        )
        taken = self.browser.execute_cdp_cmd("Page.captureScreenshot", {})
        path = FIGURES / f"studio-{name}.png"
        path.write_bytes(base64.b64decode(taken["data"]))
        sys.stdout.write(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB\n")


def walk(walker: Walker) -> None:
    """Every screen that has a picture."""
    walker.wait("5 tables, 1797 samples")
    walker.picture("tables")
    walker.go("missing", "Who has what")
    walker.picture("missing")
    walker.go("cluster", "will be grouped")
    walker.click("button.main", "Start")
    walker.wait("is ready")
    walker.click("#jobs button", "Close")
    walker.click("button.main", "Start")
    walker.wait("left")
    walker.js("scrollTo(0, 0)")
    walker.picture("cluster")
    walker.click("#jobs button", "Cancel")
    walker.browser.execute_async_script(NAME_CLUSTERS)
    walker.go("explore/main", "Mostly 0")
    walker.picture("explore", theme="dark")
    walker.go("compare/main/r1", "Where the samples went")
    walker.js("document.querySelector('.verdict').scrollIntoView()")
    walker.js("scrollBy(0, 12)")
    walker.picture("compare")


def main() -> None:
    options = webdriver.ChromeOptions()
    for option in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
    ):
        options.add_argument(option)
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo_output"
        command = [*PROGRAM, "demo", "-o", str(folder), "--refits", "0"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        browser = webdriver.Chrome(options=options, service=service)
        try:
            with studio(folder) as url:
                walk(Walker(browser, url))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
