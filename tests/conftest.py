"""Fixtures of the whole suite."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("imvc", deadline=None, max_examples=40, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "imvc"))

os.environ.setdefault("MPLBACKEND", "Agg")  # no windows
SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_collection_modifyitems(items):
    """Skip the tests that need the shared folder where it is absent."""
    if SHARED.is_dir():
        return
    absent = pytest.mark.skip(
        reason="the shared data folder is not beside the checkout"
    )
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(absent)


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a test has drawn: figures stay open until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def reference_data():
    """Small outputs of the authors' programs; see tests/data/README.md."""
    return Path(__file__).parent / "data"


@pytest.fixture
def shared():
    """The folder of data and reference outputs beside the checkout."""
    return SHARED


@pytest.fixture(params=[0, 1, 2])
def seed(request):
    """Seeds for stochastic tests, which must pass for any of them."""
    return request.param


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


# One real browser for all pages.
BROWSER_OPTIONS = (
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
    for option in BROWSER_OPTIONS.split():
        options.add_argument(option)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    service = webdriver.ChromeService(driver)
    found = webdriver.Chrome(options=options, service=service)
    yield found
    found.quit()
