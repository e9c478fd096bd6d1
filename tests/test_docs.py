"""Documentation that cannot fall behind: every method is described everywhere."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import imvc
from imvc.datasets import make_views
from imvc.kernels import _kmeans
from imvc.methods._registry import METHODS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(imvc.__file__).parent
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_documented_everywhere(name):
    method = METHODS[name]
    stem = name.replace("-", "_")
    assert (ROOT / f"docs/methods/{stem}.md").is_file(), "write its page"
    assert (ROOT / f"tests/methods/test_{stem}.py").is_file(), "write its tests"
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"`{method.class_name}`" in changelog, "add it to the changelog"
    page = (ROOT / f"docs/methods/{stem}.md").read_text()
    for parameter in method.estimator(n_clusters=2).get_params():
        text = page + (method.estimator.__doc__ or "")
        assert re.search(rf"\b{parameter}\b", text), f"{parameter} is not documented"


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_and_attribute_section_is_there(name):
    text = METHODS[name].estimator.__doc__
    for section in ("Parameters", "Attributes", "References", "Examples"):
        assert f"\n{section}\n---" in text, section
    for parameter in METHODS[name].estimator._get_param_names():
        assert f"\n{parameter} : " in text, parameter


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_pages_say_on_how_many_rows_k_means_tries_its_starts(name, monkeypatch):
    starts, plusplus = [], _kmeans.kmeans_plusplus

    def noted(*args):
        starts.append(args)
        return plusplus(*args)

    monkeypatch.setattr(_kmeans, "kmeans_plusplus", noted)
    data = make_views(60, (6, 5), 3, separation=8, random_state=0)
    METHODS[name].estimator(n_clusters=3, random_state=0).fit(data.Xs)
    page = (ROOT / f"docs/methods/{name.replace('-', '_')}.md").read_text()
    told = "tries its starts on at most 10 000 rows" in " ".join(page.split())
    assert _kmeans.START_ROWS == 10_000
    assert told == bool(starts)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_run(module):
    found = doctest.testmod(
        importlib.import_module(module.removesuffix(".__init__")),
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs"])
def test_links_between_pages_lead_somewhere(page):
    pages = [ROOT / page] if page.endswith(".md") else (ROOT / page).rglob("*.md")
    for path in pages:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"
