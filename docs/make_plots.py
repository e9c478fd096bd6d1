"""The pictures of docs/plots.md, by its own code: ``python docs/make_plots.py``."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"  # before anything imports pyplot

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"```python\n(.*?)```(?:\s+!\[[^]]*\]\((.*?)\))?", re.S)
# The same bytes on every run; texts as texts, which are small and can be searched.
_SETTINGS = {"svg.hashsalt": "imvc", "svg.fonttype": "none"}


def pictures(page: Path = DOCS / "plots.md") -> Iterator[tuple[str, Any]]:
    """Run the code of the page; give every picture's path and its figure."""
    names: dict[str, Any] = {"__name__": page.stem}
    for code, target in _BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(code, names)
        if target:
            drawn = [names[name] for name in ("ax", "left") if name in names]
            yield target, drawn[0].figure
            for name in ("ax", "left"):
                names.pop(name, None)


def main() -> None:
    import matplotlib
    import matplotlib.pyplot as plt

    with matplotlib.rc_context(_SETTINGS):
        for target, figure in pictures():
            figure.savefig(DOCS / target, metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
