"""What a comparison of methods found: rows, agreement, and tables of them."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc._plain import aligned
from imvc.methods import Cost
from imvc.metrics import adjusted_rand

_ERROR_WIDTH = 60  # characters of an error in the text of a comparison
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
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "Comparison.to_frame needs pandas; install it with "
                "pip install 'imvc[io]', or read the rows attribute."
            ) from error
        return pd.DataFrame(
            [{k: v for k, v in row.items() if k != "labels"} for row in self.rows]
        )

    def __str__(self) -> str:
        """A table of the rows and, below, the agreement of the methods."""
        scores = [k for k in _PRINTED if self.rows and k in self.rows[0]]
        shown = ["seconds", "n_iter", "pattern_leakage", *scores]
        head, lines = _cells(self.rows, shown, _ERROR_WIDTH)
        text = aligned([head, *lines], left=(0, len(head) - 1))
        if len(self.names) > 1:
            text += "\n\nagreement (adjusted Rand index)\n" + aligned(
                [["", *self.names]]
                + [
                    [name, *map(_number, row)]
                    for name, row in zip(self.names, self.agreement)
                ]
            )
        return text

    def __repr__(self) -> str:
        failed = len(self.rows) - len(self.names)
        return f"<Comparison of {len(self.rows)} methods, {failed} failed>"


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

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table for a terminal."""
        rows = self.table()
        scores = [name for name in _PRINTED if rows and name in rows[0]]
        agree = [name for name in rows[0] if name.startswith("agreement with ")]
        return _cells(rows, ["seconds", "pattern_leakage", *scores, *agree])

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


def _cells(
    rows: Sequence[Mapping[str, Any]], shown: Sequence[str], width: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and lines of a table: the method, what is shown of it, and a remark."""
    head = ["method", *(_HEADS.get(key, key) for key in shown), ""]
    lines = [
        [
            row["method"],
            *(_number(row[key], _FORMS.get(key, ".3f")) for key in shown),
            _remark(row, width),
        ]
        for row in rows
    ]
    return head, lines


def _number(value: float | None, form: str = ".3f") -> str:
    return "" if value is None else format(value, form)


def _remark(row: Mapping[str, Any], width: int | None = None) -> str:
    """What is to be said of a method beside its numbers, cut where there is a width."""
    if row["error"] is None:
        return "not converged" if row["converged"] is False else ""
    text = " ".join(row["error"].split())
    if width is not None and len(text) > width:
        text = text[: width - 3] + "..."
    return text
