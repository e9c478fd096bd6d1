"""The leaderboard as one HTML file that asks nothing of any address."""

from math import isfinite
from pathlib import Path
from typing import Any

from imvc._files import atomic_write
from imvc.datasets import list_protocols
from imvc.experiments import Entry
from imvc.experiments._pairs import DRAWS, ROPE, SEED
from imvc.experiments._ranks import nemenyi_factor
from imvc.experiments._suite import AS_IT_IS
from imvc.report._jinja import (
    TEMPLATES,
    policy_hash,
    script_json,
    template_environment,
)
from imvc.report.leaderboard_page._board import LEAKAGE, Board
from imvc.report.leaderboard_page._board_files import (
    LAST_RANK,
    board_csv,
    board_markdown,
    what_was_run,
)
from imvc.report.suite_page._suite_tables import METRIC_NAMES

_DEFINITIONS = {protocol.name: protocol.definition for protocol in list_protocols()} | {
    AS_IT_IS: "The set is incomplete by nature and is run as it is."
}


def write_leaderboard(board: Board, folder: Path, name: str = "leaderboard") -> Path:
    """Write the page, the CSV files and the Markdown of a leaderboard.

    Parameters
    ----------
    board : Board
    folder : Path
        Of the files; it exists.
    name : str, default="leaderboard"
        The files are called ``name.html``, ``name.md``, ``name-runs.csv`` and so on.

    Returns
    -------
    Path
        The page.
    """
    contents = {f"{name}-{part}.csv": text for part, text in board_csv(board).items()}
    contents[f"{name}.md"] = board_markdown(board)
    contents[f"{name}.html"] = board_page(board, name)
    for file_name, text in contents.items():
        with atomic_write(folder / file_name) as file:
            # A message of a method may hold half a character.
            file.write(text.encode("utf-8", errors="replace"))
    return folder / f"{name}.html"


def board_page(board: Board, name: str = "leaderboard") -> str:
    """The page; filters, tables and pictures are made in the browser from all runs."""
    script = (TEMPLATES / "leaderboard.js").read_text(encoding="utf-8")
    style = [
        (TEMPLATES / file).read_text(encoding="utf-8")
        for file in ("cluster.css", "leaderboard.css")
    ]
    page = template_environment().get_template("leaderboard.html.j2")
    text = page.render(
        board=board,
        name=name,
        run=what_was_run(board),
        last_rank=LAST_RANK,
        style="".join(style),
        script=script,
        script_hash=policy_hash(script),
        board_json=script_json(page_data(board)),
    )
    return str(text)


def page_data(board: Board) -> dict[str, Any]:
    """What the script needs: names once, then one short list per run."""
    protocols = list(dict.fromkeys(protocol for protocol, _ in board.masks))
    places = {
        kind: {name: i for i, name in enumerate(names)}
        for kind, names in (
            ("dataset", board.datasets),
            ("method", board.methods),
            ("protocol", protocols),
        )
    }
    reasons = list(dict.fromkeys(e.record.reason for e in board.entries))
    number = {reason: i for i, reason in enumerate(reasons)}
    return {
        "datasets": _datasets(board),
        "methods": board.methods,
        "protocols": [
            {"name": name, "definition": _DEFINITIONS.get(name, "")}
            for name in protocols
        ],
        "metrics": [
            {"name": name, "title": METRIC_NAMES.get(name, name)}
            for name in board.metrics
        ],
        "reasons": reasons,
        "nemenyi": [nemenyi_factor(k) for k in range(2, len(board.methods) + 1)],
        "test": {"rope": ROPE, "draws": DRAWS, "seed": SEED},
        "runs": [
            [
                places["dataset"][e.record.spec.dataset],
                places["method"][e.label],
                places["protocol"][e.record.spec.protocol],
                number[e.record.reason],
                *_numbers(board, e),
            ]
            for e in board.entries
        ],
    }


def _numbers(board: Board, entry: Entry) -> list[Any]:
    record = entry.record
    spec, scores = record.spec, record.scores
    return [
        record.status,
        spec.rate,
        f"{spec.mask_seed} {spec.seed}",
        _short(record.missing_share),
        _short(record.complete_share),
        _short(record.seconds.get("total")),
        _short(record.seconds.get("processor")),
        record.peak_memory,
        _short(scores.get(LEAKAGE)),
        *(_short(scores.get(name)) for name in board.metrics),
    ]


def _datasets(board: Board) -> list[dict[str, Any]]:
    shapes = {
        entry.record.spec.dataset: entry.record.shape
        for entry in board.entries
        if entry.record.shape
    }
    return [
        {
            "name": name,
            "kind": board.kind(name),
            "stands_for": board.suite.stands_for.get(name, ""),
            "shape": [
                shapes.get(name, {}).get(what)
                for what in ("n_samples", "n_views", "n_clusters")
            ],
        }
        for name in board.datasets
    ]


def _short(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else round(float(value), 10)
