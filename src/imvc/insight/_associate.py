"""associate: what the clusters have to do with what is known of the samples."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control

from imvc.insight._associations import Associations, ColumnAssociation
from imvc.insight._column_kinds import read_column
from imvc.insight._column_tests import column_association, with_adjusted_p
from imvc.insight._survival import (
    Survival,
    survival_by_cluster,
    survival_events,
    survival_times,
)
from imvc.metrics._labels import encode_labels


def associate(
    labels: Any,
    metadata: Any,
    *,
    survival: tuple[Any, Any] | None = None,
    n_permutations: int = 9999,
    random_state: int | None = 0,
) -> Associations:
    """Test which columns of metadata differ between clusters, and say so in words.

    Parameters
    ----------
    labels : array-like of int, shape (n_samples,)
        Cluster of every sample. A pandas Series is matched with a DataFrame by index.
    metadata : mapping of str to array-like, or pandas DataFrame
        Columns of what is known of the samples, one value each; None, NaN, NaT or
        blank where unknown. Leave out what the clusters were made from.
    survival : (time, event), optional
        Names of two columns of the metadata, or two arrays. Times are not negative;
        events are 1 or 0, True or False, or words: dead, deceased, event and yes, or
        alive, living, censored and no. Columns named here are tested together and not
        each on its own.
    n_permutations : int, default=9999
        Random tables for p values by simulation.
    random_state : int or None, default=0

    Returns
    -------
    Associations
        Sorted by strength, the clearest difference first.

    Notes
    -----
    Valid only for columns that were *not* used to find the clusters: clusters differ
    in what they were made from whether or not they mean anything.

    ============  ==========================================  =======================
    kind          test                                        effect
    ============  ==========================================  =======================
    category      chi-square where all expected counts are    Cramer's V
                  at least 5, else Fisher's exact test by
                  simulation: (1 + tables that are no more
                  likely) / (1 + tables)
    number, date  Kruskal-Wallis; dates as numbers of days    epsilon squared,
                                                              H / (n - 1)
    text          none: free text and identifiers
    constant      none
    ============  ==========================================  =======================

    Few whole numbers (up to 12 different ones) are categories; so are booleans. Text
    has more than 12 different values and fewer than three samples each on average, or
    more than 300 different values.
    Cramer's V is called small from 0.1, medium from 0.3 and large from 0.5, each
    divided by the root of the smaller number of rows or columns less one (Cohen's w);
    epsilon squared from 0.01, 0.06 and 0.14; below it is negligible. V is not
    corrected for small samples: without a small p value it means little.

    Adjusted p values control the false discovery rate over all columns tested
    (Benjamini and Hochberg); a difference is told where they are below 0.05. Of
    categories with up to 30 values, `imvc.metrics.column_leakage` is measured too: it
    is near 1 where the clusters are the categories (of 999 permutations at most). The
    log-rank test of survival stands on its own.

    Samples whose value is unknown are left out of the test of a column, and counted.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc import associate
    >>> labels = np.repeat([0, 1, 2], 40)
    >>> stage = np.where(labels == 2, "III", "I")
    >>> age = np.tile(np.linspace(40, 80, 40), 3)
    >>> found = associate(labels, {"age": age, "stage": stage})
    >>> print(found.columns[0].sentence)
    stage differs between the clusters (Cramer's V 1.00, large; adjusted p < 0.001): \
cluster 2 has 100 % 'III' where all samples have 33 %.
    >>> print(found.columns[1].sentence)
    No difference of age between the clusters was found (adjusted p 1.00).
    """
    if n_permutations < 1:
        raise ValueError(f"n_permutations={n_permutations} must be 1 or more.")
    columns = _columns(labels, metadata)
    own = np.asarray(labels)
    encode_labels(own, "labels")  # or what is wrong with them
    for name, column in columns.items():
        _check_length(f"metadata {name!r}", column, len(own))
    lasting = None
    if survival is not None:
        lasting, columns = _survival(own, columns, survival)
    found = [
        column_association(
            name, read_column(column), own, n_permutations, _rng(random_state, i)
        )
        for i, (name, column) in enumerate(columns.items())
    ]
    return Associations(tuple(_sorted(_adjusted(found))), lasting)


def _rng(seed: int | None, i: int) -> np.random.Generator:
    """One stream per column, so that a column more changes no other's p value."""
    return np.random.default_rng(None if seed is None else [seed, i])


def _columns(labels: Any, metadata: Any) -> dict[str, np.ndarray]:
    """Columns of a mapping, or of a DataFrame in the order of the labels' index."""
    if hasattr(metadata, "reindex") and hasattr(labels, "reindex"):
        if not metadata.index.equals(labels.index):
            for name, index in (("labels", labels.index), ("metadata", metadata.index)):
                if not index.is_unique:
                    raise ValueError(
                        f"{name} has the index {index[index.duplicated()][0]!r} twice, "
                        "so samples cannot be matched; pass arrays in the same order."
                    )
            if metadata.index.intersection(labels.index).empty and len(labels):
                raise ValueError(
                    f"no index of labels, e.g. {labels.index[0]!r}, is one of "
                    f"metadata; give both the same index, or pass arrays."
                )
            metadata = metadata.reindex(labels.index)
    elif not isinstance(metadata, Mapping) and not hasattr(metadata, "items"):
        raise TypeError(
            f"metadata is a {type(metadata).__name__}; pass a mapping of names to "
            "columns, or a pandas DataFrame."
        )
    columns = {str(name): np.asarray(column) for name, column in metadata.items()}
    if len(columns) < len(metadata.keys()):
        raise ValueError("metadata has two columns of one name; give each its own.")
    return columns


def _check_length(name: str, column: np.ndarray, n: int) -> None:
    if column.shape != (n,):
        raise ValueError(
            f"{name} has shape {column.shape}, but there are {n} labels; give one "
            "value per sample."
        )


def _survival(
    labels: np.ndarray, columns: dict[str, np.ndarray], asked: tuple[Any, Any]
) -> tuple[Survival, dict[str, np.ndarray]]:
    """Survival of the clusters, and the columns that are left."""
    names, values = [], []
    for role, given in zip(("time", "event"), _pair(asked)):
        if isinstance(given, str):
            values.append(named_column(given, columns))
        else:
            values.append(np.asarray(given))
            _check_length(f"survival {role}", values[-1], len(labels))
        names.append(given if isinstance(given, str) else role)
    rest = {name: column for name, column in columns.items() if name not in names}
    (time, event), (time_name, event_name) = values, names
    return survival_by_cluster(labels, time, event, (time_name, event_name)), rest


def _pair(survival: tuple[Any, Any]) -> tuple[Any, Any]:
    if isinstance(survival, str) or not np.iterable(survival) or len(survival) != 2:
        raise ValueError(f"survival={survival!r} must be (time, event): two columns.")
    return survival


def check_survival(survival: tuple[str, str], columns: Mapping[str, Any]) -> None:
    """Refuse names that no column of metadata has, and columns that are no survival."""
    time, event = _pair(survival)
    if not (isinstance(time, str) and isinstance(event, str)):
        raise ValueError("survival must be the names of two columns of the metadata.")
    times = survival_times(named_column(time, columns), time)
    events = survival_events(named_column(event, columns), event)
    if np.isnan(times + events).all():
        raise ValueError(
            f"survival (--survival) of {time!r} and {event!r} is known of no sample; "
            "name columns that have values for the same samples."
        )


def named_column(name: str, columns: Mapping[str, Any]) -> Any:
    """The column of metadata that survival names, or an error with the nearest."""
    if name not in columns:
        raise ValueError(_unknown_name(name, list(columns)))
    return columns[name]


def _unknown_name(name: str, known: list[str]) -> str:
    if not known:
        return (
            f"survival (--survival) names the column {name!r}, but there is no "
            "metadata; give a table of it (--metadata)."
        )
    lower = {column.casefold(): column for column in known}
    near = get_close_matches(name.casefold(), lower, n=1)
    hint = f"the nearest is {lower[near[0]]!r}" if near else "there is nothing like it"
    return (
        f"survival (--survival) names the column {name!r}, which the metadata do not "
        f"have (features of views are none); {hint}, of "
        f"{', '.join(map(repr, known[:10]))}{' and more' if len(known) > 10 else ''}."
    )


def _adjusted(found: list[ColumnAssociation]) -> list[ColumnAssociation]:
    tested = [column.p for column in found if column.p is not None]
    adjusted = iter(false_discovery_control(tested).tolist() if tested else ())
    return [
        column if column.p is None else with_adjusted_p(column, next(adjusted))
        for column in found
    ]


def _sorted(found: list[ColumnAssociation]) -> list[ColumnAssociation]:
    """Smallest adjusted p first, then the largest effect; last what was not tested."""
    return sorted(
        found,
        key=lambda column: (
            column.adjusted_p is None,
            column.adjusted_p or 0.0,
            -(column.effect or 0.0),
        ),
    )
