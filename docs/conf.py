"""Sphinx configuration of the site: `make docs` builds it into docs/_build/html.

The sources are the whole checkout, so that README.md, CHANGELOG.md and
benchmarks/RESULTS.md are pages and links between files work as on a code host.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
os.environ.setdefault("MPLBACKEND", "Agg")  # figures of the gallery, no windows

import imvc  # noqa: E402 - the checkout's, not an installed one
from imvc.methods._registry import METHODS  # noqa: E402

project = "imvc"
author = "The imvc developers"
copyright = author
version = release = imvc.__version__
language = "en"

root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/RESULTS.md",
    "docs/**",
]
exclude_patterns = [".*", "docs/_*", "docs/gallery/*.ipynb", "docs/gallery/*.py"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(ROOT / "docs/_templates")]  # autosummary looks from the root

# A top bar of sections, a side bar for each and the page's own contents on the right:
# an API reference next to a hundred other pages stays in reach (furo has one side bar).
html_theme = "pydata_sphinx_theme"
html_title = "imvc"
html_extra_path = ["_top"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 10,
    "show_prev_next": False,
    "footer_end": [],
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
}

# One file that draws formulas without fonts and without the network.
MATHJAX = importlib.util.find_spec("sphinx-mathjax-offline")
html_static_path = [
    "_static",
    f"{MATHJAX.submodule_search_locations[0]}/static/mathjax/tex-svg.js",
]
html_css_files = ["site.css"]
mathjax_path = "tex-svg.js"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # links to headings, as code hosts make them

autosummary_imported_members = True  # public names live in modules that are not
autodoc_typehints = "none"  # docstrings tell types, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # docstrings list attributes, the page methods
default_role = "py:obj"

# References to names of ours must be found; of others', a docstring may write any.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!imvc\.).*|imvc\.scale\b.*")]

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "docs/gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
}


PAGES = {
    f"imvc.{method.class_name}": f"/docs/methods/{name.replace('-', '_')}"
    for name, method in METHODS.items()
}
LINKS = nodes.reference | addnodes.pending_xref


def is_public(name):
    """Whether a dotted name starts at imvc and is public all the way."""
    found = imvc
    for part in name.split(".")[1:]:
        if part.startswith("_") or part not in dir(found):
            return False
        found = getattr(found, part)
    return name.startswith("imvc.")


class LinkCode(SphinxTransform):
    """Make `imvc.something` in the code type of Markdown a link to the API."""

    default_priority = 450

    def apply(self):
        for node in list(self.document.findall(nodes.literal)):
            name = node.astext().partition("(")[0]
            if is_public(name) and not isinstance(node.parent, LINKS):
                link = addnodes.pending_xref(
                    "",
                    node.deepcopy(),
                    refdomain="py",
                    reftype="obj",
                    reftarget=name,
                    refdoc=self.env.docname,
                )
                node.replace_self(link)


def complete_docstring(app, what, name, obj, options, lines):
    """Lead from a method to its page; keep ``(n_iter_,)`` from being a link."""
    lines[:] = [
        re.sub(r"(\w)_(?=[,)])", r"\1\\_", line) if re.match(r"\w+ : ", line) else line
        for line in lines
    ]
    if what == "class" and name in PAGES:
        lines[2:2] = [f"The method in words and formulas: :doc:`{PAGES[name]}`.", ""]


def setup(app):
    app.connect("autodoc-process-docstring", complete_docstring, priority=100)
    app.add_transform(LinkCode)
