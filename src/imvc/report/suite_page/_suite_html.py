"""A report: tables and figures as files, and one page that has it all."""

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from imvc._files import atomic_write, check_folder
from imvc.experiments import CITATION, Entry, RecordStore, Suite
from imvc.report._jinja import template_environment
from imvc.report.leaderboard_page._board import Board
from imvc.report.leaderboard_page._board_html import write_leaderboard
from imvc.report.suite_page._figures import FORMATS, Figure, suite_figures
from imvc.report.suite_page._suite_tables import ranks_tables, suite_tables
from imvc.report.suite_page._text_table import Table


@dataclass(frozen=True)
class Section:
    """What a report says of one suite."""

    suite: Suite
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    machines: tuple[dict[str, Any], ...]
    pending: int = 0
    board: Board | None = None


def make_section(suite: Suite, entries: Sequence[Entry], pending: int = 0) -> Section:
    """Tables and figures of one suite.

    Parameters
    ----------
    suite : Suite
    entries : sequence of Entry
    pending : int, default=0
        Runs of the suite that have no record yet; tables and page say so.

    Returns
    -------
    Section
    """
    tables = suite_tables(suite, entries)
    if "critical-difference" in suite.figures:
        tables += ranks_tables(suite, entries)
    machines: list[dict[str, Any]] = []
    for entry in entries:
        if dict(entry.record.machine) not in machines:
            machines.append(dict(entry.record.machine))
    if pending:
        note = f"Unfinished: {pending} runs of this suite are not recorded yet."
        tables = [replace(table, notes=(note, *table.notes)) for table in tables]
    figures = suite_figures(suite, entries)
    board = None
    if "leaderboard" in suite.tables:
        board = Board.of(suite, entries, pending)
    return Section(
        suite, tuple(tables), tuple(figures), tuple(machines), pending, board
    )


def write_report(
    records: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    suites: Sequence[str] | None = None,
    formats: Sequence[str] = FORMATS,
) -> Path:
    """Write tables, figures and the page of a records file.

    Parameters
    ----------
    records : path-like
        See `imvc.experiments.RecordStore`.
    output : path-like
        A folder, created if it is not there. Files in it of the same name are
        replaced.
    suites : sequence of str, optional
        Only these of the suites in the file.
    formats : sequence of {"svg", "pdf", "png"}
        Of the figures. Needs the extra ``imvc[report]``.

    Returns
    -------
    Path
        The page, ``report.html``. A suite that asks for a leaderboard has a page of
        its own beside it, ``leaderboard.html``, with CSV files and Markdown.
    """
    folder = Path(output)
    check_folder(folder)
    sections = read_sections(records, suites)
    folder.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for table in section.tables:
            name = _file_name(section.suite, table.name)
            text = f"## {table.title}\n\n{table.to_markdown()}\n"
            _put(folder / f"{name}.md", text.encode())
            _put(folder / f"{name}.csv", table.to_csv().encode())
            _put(folder / f"{name}.tex", table.to_latex().encode())
        for figure in section.figures:
            name = _file_name(section.suite, figure.name)
            for format in formats:
                _put(folder / f"{name}.{format}", figure.render(format))
    for name, board in _boards(sections).items():
        write_leaderboard(board, folder, name)
    page = folder / "report.html"
    _put(page, render_page(sections).encode())
    return page


def read_sections(
    records: str | os.PathLike[str], suites: Sequence[str] | None = None
) -> list[Section]:
    """The sections of a records file.

    Parameters
    ----------
    records : path-like
    suites : sequence of str, optional

    Returns
    -------
    list of Section
    """
    with RecordStore(records, create=False) as store:
        known = store.suites()
        names = [suite.name for suite in known]
        for name in suites or ():
            if name not in names:
                there = ", ".join(dict.fromkeys(names)) or "none"
                raise ValueError(
                    f"suite {name!r} is not in {records}; there are: {there}."
                )
        chosen = [suite for suite in known if not suites or suite.name in suites]
        return [
            make_section(
                s, store.entries(s.name, s.size), store.pending(s.name, s.size)
            )
            for s in chosen
        ]


def render_page(sections: Sequence[Section]) -> str:
    """One HTML page that asks nothing of any other address.

    Parameters
    ----------
    sections : sequence of Section

    Returns
    -------
    str
    """
    environment = template_environment()
    environment.filters["image"] = _image
    environment.filters["anchor"] = lambda suite: f"{suite.size}-{suite.name}"
    page = environment.get_template("suite.html.j2")
    return page.render(sections=sections, boards=_boards(sections), citation=CITATION)


def _boards(sections: Sequence[Section]) -> dict[str, Board]:
    """File name to leaderboard: the one with most runs has the plain name."""
    found = [section.board for section in sections if section.board is not None]
    found.sort(key=lambda board: -len(board.entries))
    names = [_file_name(b.suite, f"{b.suite.name}-board") for b in found[1:]]
    return dict(zip(["leaderboard", *names], found))


def _image(figure: Figure) -> str:
    """The figure as a data address: an SVG inside an <img> can run nothing."""
    content = base64.b64encode(figure.render("svg")).decode()
    return f"data:image/svg+xml;base64,{content}"


def _file_name(suite: Suite, name: str) -> str:
    """Of a table or figure: safe, whatever a suite or a dataset is called."""
    return re.sub(r"[^\w.-]+", "_", f"{suite.size}-{name}")


def _put(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
