"""The site: built without a warning, links that lead somewhere, all of it offline."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import imvc

pytest.importorskip("sphinx", reason="the site needs: pip install 'imvc[docs]'")

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ["docs", "examples", "benchmarks", *(p.name for p in ROOT.glob("*.md"))]
SOURCES += ["LICENSE", "CITATION.cff"]
ROOMS = "datasets experiments insight io metrics plot report testing workflow".split()


class Page(HTMLParser):
    """Anchors of a page, what it links to, and what a browser loads for it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name")}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") != "canonical":
            self.loads.append(found["href"])
        elif found.get("src"):
            self.loads.append(found["src"])


def broken_links(site, pages):
    """Links and loaded files that are not there, or lack the anchor."""
    for path, page in pages.items():
        for link in page.links + page.loads:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link}"
            elif target in pages and unquote(url.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {link} has no such anchor"


def foreign_files(site, pages):
    """What would be loaded from elsewhere, by pages and style sheets."""
    for path, page in pages.items():
        for url in page.loads:
            if urlsplit(url).netloc:
                yield f"{path.relative_to(site)}: {url}"
    for path in site.rglob("*.css"):
        for url in re.findall(
            r"(?:url\(|@import)[\s\"']*(?:https?:)?//[^\s\"')]+", path.read_text()
        ):
            yield f"{path.relative_to(site)}: {url}"


def parsed(site):
    """All pages but the theme's own templates."""
    found = (p for p in site.resolve().rglob("*.html") if "_static" not in p.parts)
    return {path: Page(path) for path in found}


def test_the_site_is_whole(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    made = shutil.ignore_patterns("_build", "api", "gallery", "__pycache__")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=made)
        else:
            shutil.copy(ROOT / name, source / name)
    # Examples are run by test_docs.py; here they are only laid out.
    options = f"-q -W --keep-going -D plot_gallery=0 -c {source}/docs {source} {site}"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options.split()],
        env={**os.environ, "PYTHONPATH": str(Path(imvc.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = parsed(site)
    assert list(broken_links(site.resolve(), pages)) == []
    assert list(foreign_files(site.resolve(), pages)) == []

    anchors = set().union(*(page.anchors for page in pages.values()))
    names = [f"imvc.{name}" for name in dir(imvc) if name not in ROOMS]
    for room in ROOMS:
        public = dir(importlib.import_module(f"imvc.{room}"))
        names += [f"imvc.{room}.{name}" for name in public]
    assert {n for n in names if "._" not in n} <= anchors


def test_broken_links_and_foreign_files_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        "<a href='b.html#here'><a href='b.html#gone'><a href='c.html'><a href='http://x'>"
        "<script src='https://cdn/x.js'></script><img src='no.png'>"
    )
    (tmp_path / "b.html").write_text("<p id=here><link rel=stylesheet href='s.css'>")
    (tmp_path / "s.css").write_text("@import url('//fonts/x.css')")
    pages = parsed(tmp_path)
    assert set(broken_links(tmp_path.resolve(), pages)) == {
        "a.html: b.html#gone has no such anchor",
        "a.html: c.html",
        "a.html: no.png",
    }
    assert set(foreign_files(tmp_path.resolve(), pages)) == {
        "a.html: https://cdn/x.js",
        "s.css: url('//fonts/x.css",
    }
