"""Associations: what `associate` found, as data, as a table and in words."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from imvc._notebook import box, import_pandas, table
from imvc._plain import aligned, cut, plain
from imvc.insight._sentences import p_text
from imvc.insight._survival import ALPHA, Survival

if TYPE_CHECKING:
    import pandas

_NAME = 22  # characters of a column's name in the table
_BRIEF = ("name", "kind", "test", "effect", "p", "adjusted_p", "sentence", "follows")
FOLLOWED = 0.1  # less says little of the clusters, however sure it is


@dataclass(frozen=True)
class ColumnAssociation:
    """How one column of metadata differs between the clusters.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "text", "constant"}
    test : {"chi-square", "Fisher's exact", "Kruskal-Wallis"} or None
        None where the column was not tested; the sentence says why.
    statistic, p, adjusted_p : float or None
        Chi-square or H (None of Fisher's test), the p value, and that adjusted for the
        number of columns tested.
    effect : float or None
        Cramer's V of categories, epsilon squared of numbers and dates.
    strength : {"negligible", "small", "medium", "large"} or None
        Of the effect; see `associate`.
    leakage, leakage_p : float or None
        Of categories with few values: `imvc.metrics.column_leakage`.
    n_known, n_unknown : int
        Samples with a value, and those left out.
    clusters : tuple of int
        Clusters with known values, in their order.
    levels : tuple of str
        Values of a category.
    counts : tuple of tuple of int
        Of a category: samples per cluster (rows) and level (columns).
    quantiles : tuple of tuple of float
        Of numbers and dates (days since 1970): 5, 25, 50, 75 and 95 % of every
        cluster, and last of all samples.
    sentence : str
    """

    name: str
    kind: str
    sentence: str
    n_known: int
    n_unknown: int
    test: str | None = None
    statistic: float | None = None
    p: float | None = None
    adjusted_p: float | None = None
    effect: float | None = None
    strength: str | None = None
    leakage: float | None = None
    leakage_p: float | None = None
    clusters: tuple[int, ...] = ()
    levels: tuple[str, ...] = ()
    counts: tuple[tuple[int, ...], ...] = ()
    quantiles: tuple[tuple[float, ...], ...] = ()

    @property
    def effect_name(self) -> str:
        """What the effect is called."""
        return "Cramer's V" if self.kind == "category" else "epsilon squared"

    @property
    def follows(self) -> str | None:
        """Whether clusters follow a column of few values; None for other columns."""
        if self.leakage is None or self.leakage_p is None:
            return None
        follow = self.leakage_p < ALPHA and self.leakage > FOLLOWED
        return (
            f"Clusters {'follow' if follow else 'do not follow'} {self.name} (adjusted "
            f"mutual information {max(self.leakage, 0.0):.2f}, permutation "
            f"{p_text(self.leakage_p)})."
        )


@dataclass(frozen=True, repr=False)
class Associations:
    """What `associate` found.

    Parameters
    ----------
    columns : tuple of ColumnAssociation
        By strength: smallest adjusted p value, then largest effect; last those that
        were not tested.
    survival : Survival or None
        Where it was asked for.
    """

    columns: tuple[ColumnAssociation, ...]
    survival: Survival | None = None

    def sentences(self, most: int = 5) -> tuple[str, ...]:
        """What to tell first: the strongest differences, or that none was found."""
        tested = [c for c in self.columns if c.adjusted_p is not None]
        differ = [
            c for c in tested if c.adjusted_p is not None and c.adjusted_p < ALPHA
        ]
        found = [
            text
            for column in differ[:most]
            for text in (column.sentence, column.follows)
            if text is not None
        ]
        if tested and not differ:
            found.append(
                f"None of the {len(tested)} columns of metadata tested differs between "
                "the clusters."
                if len(tested) > 1
                else tested[0].sentence
            )
        return (*found, *([] if self.survival is None else [self.survival.sentence]))

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON; null where a number is not known."""
        return plain(asdict(self), otherwise=lambda _: None)

    def brief(self) -> dict[str, Any]:
        """The tests and sentences alone, in the types of JSON."""
        found: dict[str, Any] = {
            "associations": [
                {name: getattr(column, name) for name in _BRIEF}
                for column in self.columns
            ]
        }
        lasting = self.survival
        if lasting is not None:
            medians = {str(c.cluster): c.median for c in lasting.curves}
            found["survival"] = {
                "time": lasting.time,
                "event": lasting.event,
                "p": lasting.p,
                "medians": medians,
                "sentence": lasting.sentence,
            }
        return plain(found, otherwise=lambda _: None)

    def to_frame(self) -> "pandas.DataFrame":
        """The tests as a table, one row per column of metadata. Needs pandas."""
        names = ["name", "kind", "test", "statistic", "p", "adjusted_p", "effect"]
        names += ["strength", "leakage", "leakage_p", "n_known", "n_unknown"]
        rows = [
            [getattr(column, name) for name in (*names, "sentence")]
            for column in self.columns
        ]
        frame = import_pandas().DataFrame(rows, columns=[*names, "sentence"])
        return frame.set_index("name")

    def __str__(self) -> str:
        lines = [["column", "test", "effect", "p", "adjusted p"]]
        for column in self.columns:
            told = [f"no test: {column.kind}", "", "", ""]
            if column.p is not None and column.adjusted_p is not None:
                effect = f"{column.effect:.2f} {column.strength}"
                ps = (p_text(p, "").strip() for p in (column.p, column.adjusted_p))
                told = [str(column.test), effect, *ps]
            lines.append([cut(column.name, _NAME), *told])
        table = aligned(lines, left=(0, 1, 2))
        return table if self.survival is None else f"{table}\n{self.survival.sentence}"

    def _repr_html_(self) -> str:
        return box(
            f"{len(self.columns)} columns against the clusters",
            table(
                "llrlrr",
                ["column", "test", "effect", "", "p", "adjusted p"],
                (
                    [column.name, column.test, column.effect, column.strength or ""]
                    + [
                        None if p is None else p_text(p, "").strip()
                        for p in (column.p, column.adjusted_p)
                    ]
                    for column in self.columns
                ),
            ),
            *self.sentences(),
        )

    def __repr__(self) -> str:
        tested = [c.adjusted_p for c in self.columns if c.adjusted_p is not None]
        lasting = "" if self.survival is None else ", survival"
        return (
            f"<Associations: {len(self.columns)} columns, {len(tested)} tested, "
            f"{sum(p < ALPHA for p in tested)} differ{lasting}>"
        )
