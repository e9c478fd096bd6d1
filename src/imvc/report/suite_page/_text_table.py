"""A table, and the forms it is written in."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "†": r"$^\dagger$",
    "*": r"$^*$",
}


@dataclass(frozen=True)
class Table:
    """Cells of text, a title, and notes below.

    Parameters
    ----------
    name : str
        For file names.
    title : str
    columns : tuple of str
    rows : tuple of tuple of str
    notes : tuple of str

    Examples
    --------
    >>> from imvc.report import Table
    >>> print(Table("t", "T", ("a", "b"), (("1", "2"),)).to_markdown())
    | a | b |
    |---|---|
    | 1 | 2 |
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_markdown(self) -> str:
        """A Markdown table, notes as lines below."""
        lines = [_line(self.columns), "|" + "---|" * len(self.columns)]
        lines += [_line(row) for row in self.rows]
        lines += ["", *(f"{note}  " for note in self.notes)] if self.notes else []
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Comma-separated values; the notes are left out."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def to_latex(self) -> str:
        """A booktabs table with caption and notes."""
        align = "l" * min(2, len(self.columns)) + "r" * max(0, len(self.columns) - 2)
        body = [" & ".join(map(_escape, row)) + r" \\" for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}[t]",
                r"\centering",
                rf"\caption{{{_escape(self.title)}}}",
                rf"\begin{{tabular}}{{{align}}}",
                r"\toprule",
                " & ".join(map(_escape, self.columns)) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                *(rf"\par\footnotesize {_escape(note)}" for note in self.notes),
                r"\end{table}",
                "",
            ]
        )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _escape(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)
