"""inspect: what was observed where, before anything is clustered."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from imvc._notebook import box, import_pandas, pattern_table, table, warned
from imvc._plain import plain
from imvc.insight._inspect_text import inspection_text
from imvc.insight._inspect_warnings import (
    coverage_warnings,
    feature_warnings,
    length_warnings,
    repeated_warnings,
    scale_warnings,
)
from imvc.insight._upset import upset_svg
from imvc.insight._view_columns import (
    column_digests,
    column_ranges,
    feature_name,
    group_moments,
    looks_like_counts,
    row_lengths,
    without_empty_cells,
)
from imvc.views import IncompleteViews, JoinReport, as_views

_NEARLY_ALL, _FEW = 0.95, 0.1  # of the variance, and of the columns that carry it


@dataclass(frozen=True)
class ViewSummary:
    """One view in numbers, over the samples observed in it.

    Parameters
    ----------
    name : str
    n_features, n_observed : int
    constant : tuple of str
        Features with a single value (where two samples or more are observed).
    duplicates : tuple of tuple of str
        Groups of features that are equal in every sample; constant ones are left out.
    row_norm : float
        Median Euclidean length of the rows.
    sd_range : tuple of (float, float)
        Least and largest standard deviation of the features that are not constant;
        zeros where there is none.
    nonzero_share : float
        Share of the values that are not zero.
    zero_rows : int
        Samples whose every value is zero.
    dominant : tuple of str
        Features that carry 95 % of the variance together, largest first, where these
        are one, or a tenth of all, or fewer.
    counts : bool
        Whether the values are whole numbers from 0 on with a long tail.
    """

    name: str
    n_features: int
    n_observed: int
    constant: tuple[str, ...]
    duplicates: tuple[tuple[str, ...], ...]
    row_norm: float
    sd_range: tuple[float, float]
    nonzero_share: float
    zero_rows: int = 0
    dominant: tuple[str, ...] = ()
    counts: bool = False


@dataclass(frozen=True)
class PatternCount:
    """How many samples are observed in exactly these views."""

    views: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class ColumnSummary:
    """How a column of a file was read.

    Parameters
    ----------
    view, column : str
        Many columns of numbers share one entry, "first ... last".
    kind, why : str
    n_empty, n_rows : int
        Cells without a value, of the rows that hold anything.
    n_columns : int
        Columns that the entry stands for.
    """

    view: str
    column: str
    kind: str
    why: str
    n_empty: int
    n_rows: int
    n_columns: int = 1


@dataclass(frozen=True, eq=False)
class Inspection:
    """What `inspect` found. Its ``str`` is a text for the terminal.

    Parameters
    ----------
    n_samples : int
    views : tuple of ViewSummary
    patterns : tuple of PatternCount
        Most frequent first.
    overlap : ndarray of int64, shape (n_views, n_views)
        Samples seen in both views; on the diagonal, in that view.
    join : JoinReport or None
        How the tables matched, where they were joined by id.
    warnings : tuple of str
        Plain sentences about what may spoil a clustering.
    columns : tuple of ColumnSummary
        How the columns were read, where the views came from files.
    """

    n_samples: int
    views: tuple[ViewSummary, ...]
    patterns: tuple[PatternCount, ...]
    overlap: np.ndarray
    join: JoinReport | None
    warnings: tuple[str, ...]
    columns: tuple[ColumnSummary, ...] = ()

    @property
    def n_complete(self) -> int:
        """Samples that have every view."""
        return sum(p.count for p in self.patterns if len(p.views) == len(self.views))

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON."""
        found = {"n_samples": self.n_samples, "n_complete": self.n_complete}
        found |= asdict(self) | {"overlap": self.overlap.tolist()}
        return plain(found, otherwise=float)  # a scale may be infinite

    def to_svg(self) -> str:
        """A picture of the patterns: one self-contained SVG, light and dark."""
        return upset_svg(self)

    def to_frame(self) -> Any:
        """The views as a pandas DataFrame, one row each, by name."""
        frame = import_pandas().DataFrame(map(asdict, self.views))
        return frame.set_index("name")

    def __str__(self) -> str:
        return inspection_text(self)

    def _counted(self) -> str:
        return (
            f"{self.n_samples} samples, {len(self.views)} views: {self.n_complete} "
            f"complete, {len(self.warnings)} warnings"
        )

    def __repr__(self) -> str:
        return f"<Inspection of {self._counted()}>"

    def _repr_html_(self) -> str:
        names = [view.name for view in self.views]
        places = {name: v for v, name in enumerate(names)}
        return box(
            f"Inspection of {self._counted()}",
            warned(self.warnings),
            table(
                "rlrrrrrr",
                ["", "view", "features", "observed", "constant", "repeated"]
                + ["least sd", "largest sd"],
                (
                    [i, view.name, view.n_features, view.n_observed, len(view.constant)]
                    + [sum(len(group) - 1 for group in view.duplicates), *view.sd_range]
                    for i, view in enumerate(self.views, 1)
                ),
            ),
            pattern_table(
                names,
                [([places[name] for name in p.views], p.count) for p in self.patterns],
            ),
        )


def inspect(Xs: Any, *, mask: Any = None) -> Inspection:
    """Look at incomplete views before clustering them.

    Parameters
    ----------
    Xs : list or dict of arrays, DataFrames or None, or IncompleteViews
        As in the ``fit`` of every method.
    mask : array-like of bool, shape (n_samples, n_views), optional

    Returns
    -------
    Inspection
        Print it, or draw it with `Inspection.to_svg`.

    Notes
    -----
    A few passes over the data by blocks of rows; no pair of features is compared. Empty
    cells (NaN in a row that has numbers) are counted, and taken as the means of their
    columns in the other figures.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc.insight import inspect
    >>> data = make_views(200, (5, 4), 3, incomplete=0.5, random_state=0)
    >>> found = inspect(data.Xs, mask=data.mask)
    >>> found.n_complete, found.warnings
    (100, ())
    """
    views, empty = without_empty_cells(as_views(Xs, mask, missing_values="keep"))
    overlap = views.mask.T.astype(np.int64) @ views.mask
    found = [_summarise(views, v) for v in range(views.n_views)]
    summaries = tuple(summary for summary, _ in found)
    patterns = sorted(views.patterns(), key=lambda p: (-len(p.rows), p.views))
    return Inspection(
        n_samples=views.n_samples,
        views=summaries,
        patterns=tuple(
            PatternCount(tuple(views.names[v] for v in p.views), len(p.rows))
            for p in patterns
        ),
        overlap=overlap,
        join=views.join_report,
        warnings=(
            *coverage_warnings(views, overlap),
            *scale_warnings(summaries),
            *repeated_warnings(views, [digests for _, digests in found]),
            *feature_warnings(summaries),
            *length_warnings(summaries),
        ),
        columns=tuple(_column(views, *cells) for cells in empty),
    )


def _column(views: IncompleteViews, v: int, j: int, n_empty: int) -> ColumnSummary:
    """A column with empty cells."""
    n_rows = len(views.rows(v))
    name = feature_name(views, v, j)
    return ColumnSummary(views.names[v], name, "number", "numbers", n_empty, n_rows)


def _summarise(views: IncompleteViews, v: int) -> tuple[ViewSummary, np.ndarray]:
    """View `v` in numbers, and the digests of its columns that vary."""
    ranges = column_ranges(views, v)
    n_observed = len(views.rows(v))
    # What rounding leaves of a constant beside the largest numbers of its view.
    rounding = np.finfo(views.dtype).eps * ranges.largest.max(initial=0)
    constant = (ranges.high - ranges.low <= rounding) & (n_observed > 1)
    varying = np.flatnonzero(~constant & (n_observed > 1))
    lengths = row_lengths(views, v, ranges)
    moments = group_moments(views, v, np.zeros(views.n_samples, np.int64), 1)
    sd = np.sqrt(moments.squares[0] / max(1, n_observed - 1)) * moments.scale
    digests = column_digests(views, v)[varying]
    summary = ViewSummary(
        name=views.names[v],
        n_features=views.n_features[v],
        n_observed=n_observed,
        constant=_names(views, v, np.flatnonzero(constant)),
        duplicates=_duplicates(views, v, varying, digests),
        row_norm=float(np.median(lengths)),
        sd_range=_range(sd[varying]),
        nonzero_share=float(ranges.nonzero),
        zero_rows=int((lengths == 0).sum()),
        dominant=_names(views, v, varying[_dominant(sd[varying])]),
        counts=looks_like_counts(views, v, ranges),
    )
    return summary, digests


def _names(views: IncompleteViews, v: int, columns: np.ndarray) -> tuple[str, ...]:
    return tuple(feature_name(views, v, j) for j in columns.tolist())


def _range(sd: np.ndarray) -> tuple[float, float]:
    return (float(sd.min()), float(sd.max())) if len(sd) else (0.0, 0.0)


def _dominant(sd: np.ndarray) -> np.ndarray:
    """Places of the columns that carry 95 % of the variance, if these are few."""
    if len(sd) < 2:
        return np.empty(0, np.int64)
    order = np.argsort(-sd, kind="stable")
    share = np.cumsum(np.square(sd[order] / sd[order[0]]))
    count = int(np.searchsorted(share, _NEARLY_ALL * share[-1])) + 1
    return order[: count if count <= max(1, _FEW * len(sd)) else 0]


def _duplicates(
    views: IncompleteViews, v: int, columns: np.ndarray, digests: np.ndarray
) -> tuple[tuple[str, ...], ...]:
    """Groups of equal columns, in the order of their first members."""
    _, group, size = np.unique(digests, return_inverse=True, return_counts=True)
    repeated = np.flatnonzero(size[group] > 1)
    order = repeated[np.argsort(group[repeated], kind="stable")]
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    groups = [columns[part] for part in np.split(order, cuts) if len(part)]
    groups.sort(key=lambda part: part[0])
    return tuple(_names(views, v, part) for part in groups)
