"""What a comparison of methods found: rows, agreement, and tables of them."""

import csv
import io
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc._notebook import box, import_pandas, table, warned
from imvc._plain import aligned, cut
from imvc.methods import Cost
from imvc.metrics import adjusted_rand

WIDTH = 80  # columns of a terminal
_NAME = 30  # characters of a method's name beside the agreement
# Scores in tables that are printed; the others are in the rows.
_PRINTED = ("acc", "nmi", "ari", "purity")
_HEADS = {"n_iter": "iterations", "pattern_leakage": "leakage"}
_FORMS = {"seconds": ".2f", "n_iter": "d"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What `compare` found: one row per method.

    Parameters
    ----------
    rows : list of dict
        In the order asked for, with the keys ``method``, ``labels``, ``seconds``,
        ``n_iter``, ``converged``, ``pattern_leakage``, ``error`` and, where classes
        were given, the scores of `imvc.metrics.score_all`. A method that failed has its
        message in ``error`` and None in the others but ``method`` and ``seconds``.
    labels : dict
        Method -> labels, of the methods that succeeded.
    names : tuple of str
        The methods that succeeded: rows and columns of `agreement`.
    agreement : ndarray of shape (len(names), len(names))
        Adjusted Rand index between the labels of any two of them.
    """

    rows: list[dict[str, Any]]
    labels: dict[str, np.ndarray] = field(init=False)
    names: tuple[str, ...] = field(init=False)
    agreement: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        labels = {r["method"]: r["labels"] for r in self.rows if r["error"] is None}
        agreement = np.ones((len(labels), len(labels)))
        for i, a in enumerate(labels.values()):
            for j, b in enumerate(labels.values()):
                if j < i:
                    agreement[i, j] = agreement[j, i] = adjusted_rand(a, b)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "names", tuple(labels))
        object.__setattr__(self, "agreement", agreement)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame, without the labels (see `labels`)."""
        return import_pandas().DataFrame(
            [{k: v for k, v in row.items() if k != "labels"} for row in self.rows]
        )

    def _lines(self) -> list[list[str]]:
        """The rows in words, after their heads."""
        scores = [k for k in _PRINTED if self.rows and k in self.rows[0]]
        shown = ["seconds", "n_iter", "pattern_leakage", *scores]
        lines = [["method", *(_HEADS.get(key, key) for key in shown)]]
        for row in self.rows:
            numbers = (_number(row[key], _FORMS.get(key, ".3f")) for key in shown)
            lines.append([row["method"], *numbers])
        return lines

    def tables(self) -> str:
        """The rows and, below, the agreement of the methods, in 80 columns."""
        text = aligned(_fitting(self._lines()))
        if len(self.names) > 1:
            text += f"\n\n{_agreement_text(self.names, self.agreement)}"
        return text

    def remarks(self) -> list[str]:
        """What is to be said of methods beside their numbers, in sentences."""
        slow = [row["method"] for row in self.rows if row["converged"] is False]
        told = [f"not converged: {', '.join(slow)}"] if slow else []
        return told + [
            f"{row['method']} failed: {' '.join(row['error'].split())}"
            for row in self.rows
            if row["error"] is not None
        ]

    def __str__(self) -> str:
        """The tables and, below, remarks."""
        remarks = [
            textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            for text in self.remarks()
        ]
        return "\n\n".join([self.tables(), *(["\n".join(remarks)] if remarks else [])])

    def __repr__(self) -> str:
        failed = len(self.rows) - len(self.names)
        return f"<Comparison of {len(self.rows)} methods, {failed} failed>"

    def _repr_html_(self) -> str:
        head, *rows = self._lines()
        agreement = zip(self.names, self.agreement.tolist())
        return box(
            f"{len(self.rows)} methods",
            warned(self.remarks()),
            table("l" + "r" * (len(head) - 1), head, rows),
            table(
                "l" + "r" * len(self.names),
                ["", *self.names],
                ([name, *row] for name, row in agreement),
                title="agreement (adjusted Rand index)",
            ),
        )


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """What `compare_methods` found.

    Parameters
    ----------
    comparison : Comparison
        Rows, labels and agreement of the methods.
    costs : dict of str to Cost
        The estimates.
    n_labelled : int or None
        Samples whose class is known; None without classes.
    notes, warnings : tuple of str
        What was decided about the files, and what may spoil every result.
    """

    comparison: Comparison
    costs: Mapping[str, Cost]
    n_labelled: int | None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """Methods that raised an error."""
        rows = self.comparison.rows
        return tuple(row["method"] for row in rows if row["error"] is not None)

    def __repr__(self) -> str:
        rows = self.comparison.rows
        return f"<MethodComparison of {len(rows)} methods, {len(self.failed)} failed>"

    def _repr_html_(self) -> str:
        return warned(self.warnings) + self.comparison._repr_html_()

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame."""
        return import_pandas().DataFrame(self.table())

    def table(self) -> list[dict[str, Any]]:
        """A row per method: numbers, scores, and its agreement with the others."""
        names = self.comparison.names
        agreement = dict(zip(names, self.comparison.agreement.tolist()))
        found = []
        for row in self.comparison.rows:
            line = {k: v for k, v in row.items() if k not in ("labels", "error")}
            own = agreement.get(row["method"], [None] * len(names))
            line |= {f"agreement with {other}": x for other, x in zip(names, own)}
            found.append({**line, "error": row["error"]})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything but the labels, in JSON's types."""
        return {
            "methods": self.table(),
            "estimates": {
                name: {"seconds": cost.seconds, "bytes": int(cost.bytes)}
                for name, cost in self.costs.items()
            },
            "n_labelled": self.n_labelled,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as CSV, atomically."""
        text = io.StringIO()
        rows = self.table()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        with atomic_write(path) as file:
            file.write(text.getvalue().encode())
        return Path(path)


def _fitting(lines: list[list[str]]) -> list[list[str]]:
    """Lines of a table with their first cells cut to the room that is left."""
    others = zip(*(line[1:] for line in lines))
    room = WIDTH - sum(2 + max(map(len, column)) for column in others)
    return [[_cut(first, max(room, 8)), *rest] for first, *rest in lines]


def _agreement_text(names: Sequence[str], agreement: np.ndarray) -> str:
    """Every method against every other, by name where that fits, else by number."""
    title = "agreement (adjusted Rand index"
    rows = [[name, *map(_number, row)] for name, row in zip(names, agreement)]
    table = aligned([["", *names], *rows])
    if max(map(len, table.splitlines())) <= WIDTH:
        return f"{title})\n{table}"
    heads = [str(i) for i in range(1, len(names) + 1)]
    cells = [[str(round(100 * value)) for value in row] for row in agreement]
    width = max(map(len, chain(heads, *cells)))
    wide = len(heads[-1])
    labels = [f"{h:>{wide}} {_cut(name, _NAME)}" for h, name in zip(heads, names)]
    side = max(map(len, labels))
    step = (WIDTH - side) // (width + 1)
    parts = []
    for start in range(0, len(names), step):
        own = slice(start, start + step)
        lines = [["", *heads[own]], *([a, *b[own]] for a, b in zip(labels, cells))]
        parts.append(aligned(lines, gap=" "))
    return "\n\n".join([f"{title}, in %)\n{parts[0]}", *parts[1:]])


def _cut(text: str, width: int) -> str:
    return cut(" ".join(text.split()), width)


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)
