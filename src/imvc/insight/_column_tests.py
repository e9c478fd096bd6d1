"""The test of one column of metadata, its effect and its sentence."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2_contingency, kruskal, rankdata
from scipy.stats.contingency import expected_freq

from imvc._plain import cut
from imvc.insight._associations import ColumnAssociation
from imvc.insight._column_kinds import KnownColumn, day_text
from imvc.insight._sentences import left_out, p_text, percent, short_number
from imvc.insight._survival import ALPHA
from imvc.metrics._information import adjusted_information_of, contingency_of
from imvc.metrics._leakage import information_p, random_tables

_LEAST_EXPECTED = 5  # samples in a cell, for chi-square to hold
_TIE = 1e-7  # of log probabilities: tables as likely as the observed one
_LEAKAGE_LEVELS = 30
_LEAKAGE_TABLES = 999
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_WORDS = ("negligible", "small", "medium", "large")
_V_STEPS = np.array([0.1, 0.3, 0.5])  # of Cohen's w
_EPSILON_STEPS = np.array([0.01, 0.06, 0.14])
_VALUE = 40  # characters of a value in a sentence


def column_association(
    name: str,
    column: KnownColumn,
    labels: np.ndarray,
    n_permutations: int,
    rng: np.random.Generator,
) -> ColumnAssociation:
    """Test a column; the p value is adjusted, and the sentence made, afterwards."""
    known = column.known
    clusters, codes = np.unique(labels[known], return_inverse=True)
    base = ColumnAssociation(
        name=name,
        kind=column.kind,
        sentence="",
        n_known=column.n_known,
        n_unknown=len(labels) - column.n_known,
        clusters=tuple(clusters.tolist()),
    )
    if column.kind in ("text", "constant") or len(clusters) < 2:
        return replace(base, sentence=_not_tested(base, column))
    if column.kind == "category":
        return _category(base, column, codes, n_permutations, rng)
    return _number(base, column.values[known], codes)


def with_adjusted_p(column: ColumnAssociation, adjusted: float) -> ColumnAssociation:
    """The same with its adjusted p value, and the sentence that goes with it."""
    rest = left_out(column.n_unknown, "a value")
    if adjusted >= ALPHA:
        text = (
            f"No difference of {column.name} between the clusters was found "
            f"({p_text(adjusted, 'adjusted p')})."
        )
    else:
        text = (
            f"{column.name} differs between the clusters ({column.effect_name} "
            f"{column.effect:.2f}, {column.strength}; "
            f"{p_text(adjusted, 'adjusted p')}): {column.sentence}."
        )
    return replace(column, adjusted_p=adjusted, sentence=text + rest)


def fisher_p(table: np.ndarray, n_permutations: int, rng: np.random.Generator) -> float:
    """Fisher's exact test of any table by simulation.

    Share of the random tables with the same margins, the observed one counted, that
    are no more likely than it.
    """
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    # With fixed margins the log probability is a constant less this sum.
    rare = gammaln(table + 1).sum() - _TIE
    as_rare = sum(
        int(np.count_nonzero(gammaln(drawn + 1).sum(axis=(1, 2)) >= rare))
        for drawn in random_tables(rows, columns, n_permutations, rng)
    )
    return (1 + as_rare) / (1 + n_permutations)


def _category(
    base: ColumnAssociation,
    column: KnownColumn,
    codes: np.ndarray,
    n_permutations: int,
    rng: np.random.Generator,
) -> ColumnAssociation:
    shape = (len(base.clusters), len(column.levels))
    table = np.zeros(shape, np.int64)
    np.add.at(table, (codes, column.codes[column.known]), 1)
    chi2 = chi2_contingency(table, correction=False)
    test: dict[str, Any] = {
        "test": "chi-square",
        "statistic": float(chi2.statistic),
        "p": float(chi2.pvalue),
    }
    if chi2.expected_freq.min() < _LEAST_EXPECTED:
        p = fisher_p(table, n_permutations, rng)
        test = {"test": "Fisher's exact", "p": p}
    if len(column.levels) <= _LEAKAGE_LEVELS:
        pairs = contingency_of(table.T)
        some = min(n_permutations, _LEAKAGE_TABLES)
        test["leakage"] = adjusted_information_of(pairs)
        test["leakage_p"] = information_p(pairs, some, rng)
    smaller = min(shape) - 1
    effect = float(np.sqrt(chi2.statistic / (table.sum() * smaller)))
    return replace(
        base,
        **test,
        effect=effect,
        strength=_strength(effect, _V_STEPS / np.sqrt(smaller)),
        levels=column.levels,
        counts=tuple(tuple(row) for row in table.tolist()),
        sentence=_most_unusual_share(base, column.levels, table),
    )


def _number(
    base: ColumnAssociation, values: np.ndarray, codes: np.ndarray
) -> ColumnAssociation:
    groups = [values[codes == c] for c in range(len(base.clusters))]
    found = kruskal(*groups)
    effect = float(found.statistic / (len(values) - 1))
    quantiles = [np.quantile(group, _QUANTILES).tolist() for group in (*groups, values)]
    # The cluster whose mean rank is the farthest from the middle, in its own error.
    ranks = rankdata(values) - (len(values) + 1) / 2
    surplus = np.bincount(codes, ranks) / np.sqrt(np.bincount(codes))
    far = int(np.abs(surplus).argmax())
    shown = day_text if base.kind == "date" else short_number
    return replace(
        base,
        test="Kruskal-Wallis",
        statistic=float(found.statistic),
        p=float(found.pvalue),
        effect=effect,
        strength=_strength(effect, _EPSILON_STEPS),
        quantiles=tuple(map(tuple, quantiles)),
        sentence=f"its median is {shown(quantiles[far][2])} in cluster "
        f"{base.clusters[far]} and {shown(quantiles[-1][2])} in all samples",
    )


def _strength(effect: float, steps: np.ndarray) -> str:
    return _WORDS[int(np.searchsorted(steps, effect, side="right"))]


def _most_unusual_share(
    base: ColumnAssociation, levels: tuple[str, ...], table: np.ndarray
) -> str:
    """The cell that is the most too full, in standard errors, in words."""
    n, sizes, totals = table.sum(), table.sum(axis=1), table.sum(axis=0)
    expected = expected_freq(table)
    spread = expected * np.outer(1 - sizes / n, 1 - totals / n)
    surplus = (table - expected) / np.sqrt(spread)
    c, level = np.unravel_index(surplus.argmax(), table.shape)
    value = cut(levels[level], _VALUE)
    return (
        f"cluster {base.clusters[c]} has {percent(table[c, level] / sizes[c])} "
        f"{value!r} where all samples have {percent(totals[level] / n)}"
    )


def _not_tested(base: ColumnAssociation, column: KnownColumn) -> str:
    if column.n_known == 0:
        return f"{base.name} has no value for any sample: not tested."
    if column.kind == "constant":
        reason = "has one value only"
    elif column.kind == "text":
        reason = (
            f"is free text or an identifier ({len(column.levels)} different values in "
            f"{column.n_known} samples)"
        )
    else:
        reason = "is known in one cluster only"
    rest = left_out(base.n_unknown, "a value")
    return f"{base.name} {reason}: not tested.{rest}"
