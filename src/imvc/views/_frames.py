"""From what people have to one 2-D array per view, and the join of tables by id.

pandas is only ever imported by the caller: an object cannot be a DataFrame before it.
"""

import sys
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class JoinReport:
    """How well tables that were joined by their index matched.

    Parameters
    ----------
    n_samples : int
        Different ids over all tables.
    ids_per_table : dict of str to int
        Ids in each table.
    in_all : int
        Ids found in every table.
    shared_by : dict of int to int
        For each number of tables, how many ids are in exactly so many.
    unmatched : dict of str to int
        Ids that are in this table and in no other.
    """

    n_samples: int
    ids_per_table: dict[str, int]
    in_all: int
    shared_by: dict[int, int]
    unmatched: dict[str, int]

    def __str__(self) -> str:
        n_tables = len(self.ids_per_table)
        width = max(len("table"), *map(len, self.ids_per_table))
        lines = [
            f"{self.n_samples} ids in {n_tables} tables, {self.in_all} of them in all",
            f"{'table':<{width}}       ids  only here",
        ]
        for name, count in self.ids_per_table.items():
            lines.append(f"{name:<{width}}  {count:>8}  {self.unmatched[name]:>9}")
        for k, count in self.shared_by.items():
            lines.append(f"in exactly {k} of {n_tables} tables: {count}")
        return "\n".join(lines)


class Table(NamedTuple):
    """One view as it was given: values unchecked, but certainly 2-D."""

    name: str
    X: Any  # ndarray of any dtype, or csr_array in canonical format
    index: Any  # pandas.Index, or None: rows are samples by position
    feature_names: tuple[str, ...] | None


class Joined(NamedTuple):
    """Which row of which table holds which sample."""

    n_samples: int
    positions: tuple[np.ndarray | None, ...]
    index: Any  # pandas.Index of all samples, or None
    report: JoinReport | None


def is_frame(x: object) -> bool:
    """Tell whether `x` is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(x, pandas.DataFrame)


def is_annotated(x: object) -> bool:
    """Tell whether `x` is an AnnData (or acts like one), without importing it."""
    return all(hasattr(x, part) for part in ("X", "obs_names", "var_names"))


def read_table(name: str, x: Any) -> Table:
    """Read one view, copying dense data only where its type has to change."""
    if is_annotated(x):
        if x.X is None:
            raise ValueError(f"view {name!r} is an AnnData without X; set its X.")
        inner = read_table(name, x.X)
        return Table(name, inner.X, x.obs_names, tuple(map(str, x.var_names)))
    x, has_ids = _to_known_type(name, x)
    names = _feature_names(x) if hasattr(x, "to_numpy") else None
    if is_frame(x):
        X = _frame_values(name, x)
    elif sp.issparse(x):
        X = _canonical_csr(x) if x.ndim == 2 else x
    else:
        X = _to_array(name, x)
    _check_shape(name, X, x)
    return Table(name, X, x.index if has_ids else None, names)


def _to_known_type(name: str, x: Any) -> tuple[Any, bool]:
    """Bring tables of other libraries to pandas, and tell whether they have ids."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            f"view {name!r} is a masked array; pass X.filled(np.nan), and mask= for "
            "the samples that are missing."
        )
    if is_frame(x):
        return x, True
    indexed = hasattr(x, "index") and hasattr(x, "columns")
    arrow = hasattr(x, "to_pandas") and not hasattr(x, "to_numpy")
    if not (indexed or arrow):
        return x, False
    if not hasattr(x, "to_pandas"):
        raise TypeError(
            f"view {name!r} is a table of type {type(x).__name__} with an index; "
            "convert it to a pandas DataFrame."
        )
    frame = x.to_pandas()
    # An arrow table has ids only if it was written from a DataFrame that had them.
    return frame, indexed or type(frame.index).__name__ != "RangeIndex"


def _to_array(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x.to_numpy() if hasattr(x, "to_numpy") else x)
    except ValueError as error:
        raise ValueError(
            f"view {name!r} cannot be read as a 2-D array ({error}); give every row "
            "the same number of values."
        ) from error


def _canonical_csr(X: Any) -> Any:
    """CSR with sorted indices and no duplicates; the input keeps what it has."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _feature_names(x: Any) -> tuple[str, ...] | None:
    """Column names where all are text, as in scikit-learn."""
    names = list(getattr(x, "columns", []))
    return tuple(names) if names and all(isinstance(c, str) for c in names) else None


def _frame_values(name: str, frame: Any) -> Any:
    """Values of a DataFrame, in the narrowest type that holds all its columns."""
    known = {c: _numpy_dtype(t) for c, t in enumerate(frame.dtypes)}
    types = [t for t in known.values() if t is not None]
    bad = [c for c, t in known.items() if t is None]
    if bad:
        shown = ", ".join(
            f"{frame.columns[c]!r} ({frame.dtypes.iloc[c]})" for c in bad[:3]
        )
        more = ", ..." if len(bad) > 3 else ""
        raise TypeError(
            f"view {name!r} has {len(bad)} columns that are not real numbers: "
            f"{shown}{more}; encode or drop them."
        )
    if not types or any(t.kind == "O" for t in types):
        return frame.to_numpy()
    if all(str(t).startswith("Sparse") and t.fill_value == 0 for t in frame.dtypes):
        return _canonical_csr(frame.sparse.to_coo())
    dtype = np.result_type(*types)
    if all(isinstance(t, np.dtype) for t in frame.dtypes):
        return frame.to_numpy(dtype=dtype)
    # The types of pandas' own know NA, which has no place in an integer array.
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return frame.to_numpy(dtype=dtype, na_value=np.nan)


def _numpy_dtype(dtype: Any) -> np.dtype | None:
    """NumPy's type for a column; None for text, categories and dates."""
    if not isinstance(dtype, np.dtype):
        sparse = str(dtype).startswith("Sparse")
        dtype = getattr(dtype, "subtype" if sparse else "numpy_dtype", None)
        if not isinstance(dtype, np.dtype) or dtype.kind == "O":
            return None
    return dtype if dtype.kind in "biufO" else None


def _check_shape(name: str, X: Any, given: Any) -> None:
    if X.ndim == 1:
        column = "to_frame()" if hasattr(given, "to_frame") else "reshape(-1, 1)"
        raise ValueError(
            f"view {name!r} is 1-D with shape {X.shape}; pass X.{column} for one "
            "feature, or [X] if Xs itself is one matrix."
        )
    if X.ndim == 0:
        raise TypeError(
            f"view {name!r} is a {type(given).__name__}; pass a 2-D array, a SciPy "
            "sparse matrix or a DataFrame."
        )
    if X.ndim != 2:
        raise ValueError(
            f"view {name!r} has {X.ndim} dimensions, shape {X.shape}; pass a 2-D array "
            "with one row per sample."
        )
    if X.shape[1] == 0:
        raise ValueError(f"view {name!r} has no features; leave it out.")


def join_by_index(tables: list[Table]) -> Joined:
    """Outer join of tables on their index, ids in the order of first appearance."""
    plain = [table.name for table in tables if table.index is None]
    if plain:
        raise TypeError(
            f"views {plain} have no index while others are DataFrames; pass all views "
            "as DataFrames, or all as arrays (df.to_numpy()) with rows in one order."
        )
    for table in tables:
        _check_ids(table)
    first, *others = (table.index for table in tables)
    if len({index.nlevels for index in (first, *others)}) > 1:
        levels = {table.name: table.index.nlevels for table in tables}
        raise ValueError(
            f"tables have ids of different numbers of levels: {levels}; use the same "
            "index levels in all tables."
        )
    if all(first.equals(index) for index in others):
        n = len(first)
        report = _report(tables, np.ones((n, len(tables)), dtype=bool))
        return Joined(n, (None,) * len(tables), first, report)
    union = first.append(others).unique()
    positions = tuple(
        table.index.get_indexer(union).astype(np.int64, copy=False) for table in tables
    )
    present = np.column_stack([position >= 0 for position in positions])
    return Joined(len(union), positions, union, _report(tables, present))


def _check_ids(table: Table) -> None:
    name, index = table.name, table.index
    codes = getattr(index, "codes", None)  # of a MultiIndex, which has no isna
    if codes is not None:
        nameless = np.any([np.asarray(code) < 0 for code in codes], axis=0)
    else:
        nameless = np.asarray(index.isna())
    if nameless.any():
        rows = np.flatnonzero(nameless)
        raise ValueError(
            f"table {name!r} has {len(rows)} rows without an id, first at rows "
            f"{rows[:3].tolist()}; drop them or give them ids."
        )
    if not index.is_unique:
        twice = index[index.duplicated()].unique()
        raise ValueError(
            f"table {name!r} has {len(twice)} duplicate ids, first "
            f"{twice[:3].tolist()}; keep one row per id."
        )


def _report(tables: list[Table], present: np.ndarray) -> JoinReport:
    n_found = present.sum(axis=1)
    counts = np.bincount(n_found, minlength=len(tables) + 1)
    alone = present[n_found == 1].sum(axis=0)
    names = [table.name for table in tables]
    return JoinReport(
        n_samples=len(present),
        ids_per_table=dict(zip(names, present.sum(axis=0).tolist())),
        in_all=int(counts[-1]),
        shared_by={k: int(counts[k]) for k in range(1, len(counts))},
        unmatched=dict(zip(names, alone.tolist())),
    )


def check_mask_fits_join(mask: Any, joined: Joined) -> None:
    """Refuse a mask whose rows are not the samples of the joined tables."""
    if any(position is not None for position in joined.positions):
        raise ValueError(
            "mask was given with DataFrames whose indexes differ, so its rows have no "
            "meaning; drop the missing rows from each table, or reindex all tables to "
            "the same ids."
        )
    if is_frame(mask) and not mask.index.equals(joined.index):
        raise ValueError(
            "mask is a DataFrame whose index differs from that of the views; pass "
            "mask.reindex(X.index)."
        )


def warn_of_doubtful_join(tables: list[Table], joined: Joined) -> None:
    """Warn where ids are probably not what the user thinks they are."""
    if all(position is None for position in joined.positions):
        return
    if sum(len(table.index) for table in tables) == joined.n_samples:
        types = {table.name: str(table.index.dtype) for table in tables}
        warnings.warn(
            f"no id is in more than one table (types of the ids: {types}), so no "
            "sample has two views; check that all tables use the same ids.",
            stacklevel=4,
        )
    if all(type(table.index).__name__ == "RangeIndex" for table in tables):
        sizes = {table.name: len(table.index) for table in tables}
        warnings.warn(
            f"tables of different lengths {sizes} are joined by row number, since none "
            "has ids; call set_index on each table.",
            stacklevel=4,
        )
