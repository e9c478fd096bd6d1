"""One real browser for the pages."""

import shutil

import pytest

OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --window-size=1280,1000"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's Chromium, with its console and its requests in the logs."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("browser tests need: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="browser tests need: pip install selenium"
    )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in OPTIONS.split():
        options.add_argument(option)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    service = webdriver.ChromeService(driver)
    found = webdriver.Chrome(options=options, service=service)
    yield found
    found.quit()
