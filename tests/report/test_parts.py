"""Two pages, apart: only that of suites knows experiments."""

import subprocess
import sys
from pathlib import Path

import pytest

import imvc.report

FOLDER = Path(imvc.report.__file__).parent


def test_the_public_names_are_all_there():
    for name in imvc.report.__all__:
        assert getattr(imvc.report, name).__name__ == name
        assert name in dir(imvc.report)
    with pytest.raises(AttributeError, match=r"'imvc.report' has no attribute 'pie'"):
        imvc.report.pie  # noqa: B018


def test_importing_reports_does_not_load_experiments():
    code = (
        "import sys, imvc.report; from imvc.report import cluster_page\n"
        "print([name for name in sys.modules if 'experiments' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_only_the_pages_of_suites_name_experiments():
    of_experiments = ("suite_page", "leaderboard_page")
    files = [p for p in FOLDER.rglob("*.py") if p.parent.name not in of_experiments]
    assert len(files) > 5
    for path in files:
        assert "imvc.experiments" not in path.read_text(), path
