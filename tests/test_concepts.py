"""docs/concepts: its pictures are made by a script, are there, and are shown."""

import re
import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_every_picture_of_the_concepts_is_drawn_committed_small_and_shown():
    made = runpy.run_path(str(DOCS / "make_concepts.py"))["pictures"]()
    found = {target for target, figure in made if figure.axes}
    plt.close("all")
    assert found == {f"figures/{path.name}" for path in DOCS.glob("figures/concepts-*")}
    pages = "".join(path.read_text() for path in DOCS.glob("concepts/*.md"))
    assert found == set(re.findall(r"\]\(\.\./(figures/concepts-[^)]*)\)", pages))
    for target in found:
        assert (DOCS / target).stat().st_size < 100 * 1024
