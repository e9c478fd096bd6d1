"""Do clusters follow a column of what is known of the samples, and is it chance?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from scipy.stats import random_table

from imvc.metrics._information import Contingency, adjusted_information_of, contingency
from imvc.metrics._labels import encode_labels, known_values

_CELLS = 2_000_000  # of the tables that are drawn at a time
_TIE = 1e-12  # relative: sums in another order are the same number


def column_leakage(
    labels: ArrayLike,
    column: ArrayLike,
    *,
    n_permutations: int = 999,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[float, float]:
    """Adjusted mutual information of a clustering and a column, and its p value.

    Tells whether clusters follow a site, a plate or a batch. The same quantity as
    `pattern_leakage`, of any column with few different values instead of the missing
    pattern.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Clusters, integers or strings.
    column : array-like of shape (n_samples,)
        Values of any kind, compared by their text. Samples whose value is None, NaN,
        NaT or blank are left out.
    n_permutations : int, default=999
        Random assignments of the values to the samples that the p value is of.
    random_state : int, Generator or None, default=0

    Returns
    -------
    float
        At most 1; around 0 (and maybe slightly negative) for an unrelated column; 0
        where one value or one cluster is left.
    float
        Share of the assignments, the observed one counted, that share as much
        information with the clusters. NaN without permutations.

    Notes
    -----
    Permuting the values gives a random table with the margins of the observed one, and
    the tables are drawn directly: the cost of one does not grow with the number of
    samples once that exceeds the number of cells.

    Examples
    --------
    >>> from imvc.metrics import column_leakage
    >>> site = ["north"] * 10 + ["south"] * 10 + [None]
    >>> information, p = column_leakage([0] * 10 + [1] * 11, site)
    >>> round(information, 6), p
    (1.0, 0.001)
    """
    codes = encode_labels(labels, "labels")
    known = known_values(column, "column")
    if len(known) != len(codes):
        raise ValueError(
            f"labels has {len(codes)} labels and column has {len(known)} values; pass "
            "one of both per sample, in the same order."
        )
    if n_permutations < 0:
        raise ValueError(f"n_permutations={n_permutations} must be 0 or more.")
    rng = np.random.default_rng(random_state)
    if not known.any():
        return 0.0, 1.0 if n_permutations else float("nan")
    texts = np.char.strip(np.asarray(column)[known].astype(str))
    table = contingency(texts, codes[known])
    return adjusted_information_of(table), information_p(table, n_permutations, rng)


def information_p(
    table: Contingency, n_permutations: int, rng: np.random.Generator
) -> float:
    """Share of random tables with the same margins that hold as much information."""
    if n_permutations == 0:
        return float("nan")
    if len(table.classes) == 1 or len(table.clusters) == 1:
        return 1.0  # there is no other table
    # Between tables of the same margins only the sum of N_ij log N_ij differs.
    observed = float(xlogy(table.count, table.count).sum()) * (1 - _TIE)
    margins = table.classes, table.clusters
    as_much = sum(
        int(np.count_nonzero(xlogy(drawn, drawn).sum(axis=(1, 2)) >= observed))
        for drawn in random_tables(*margins, n_permutations, rng)
    )
    return (1 + as_much) / (1 + n_permutations)


def random_tables(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    n_tables: int,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """`n_tables` random tables with the given margins, a bounded number at a time.

    Distributed as the tables of two labelings of which one is permuted.
    """
    draw = random_table(rows, columns)
    most = max(1, _CELLS // (len(rows) * len(columns)))
    for first in range(0, n_tables, most):
        yield draw.rvs(size=min(most, n_tables - first), random_state=rng)
