"""One version everywhere."""

import re
import tomllib
from pathlib import Path

import imvc

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_and_the_changelog_are_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text()
    version, date = re.search(
        r"^version: (\S+)\ndate-released: (\S+)$", citation, re.M
    ).groups()
    newest = re.search(
        r"^## (\S+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert newest.groups() == (version, date)
    assert version == imvc.__version__


def test_the_citation_and_the_package_have_one_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"license: {project['license']}\n" in (ROOT / "CITATION.cff").read_text()
