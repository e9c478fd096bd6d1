"""Joining tables and metadata by id, and errors where that cannot be meant."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from imvc.io._errors import InputError, input_error, need, shown
from imvc.io._file_table import FileTable
from imvc.io.ids._candidates import is_range
from imvc.views import IncompleteViews, Table, assemble_views
from imvc.views import join_tables as join_frames

_SAME_NAMES = 0.5  # share of rows whose name in another column both files have
_NOTHING = np.array(None, dtype=object)


def settle_ids(tables: list[FileTable]) -> tuple[list[FileTable], list[str]]:
    """Let all tables have ids or none; row numbers give way to tables without ids."""
    bare = [table for table in tables if table.ids is None]
    if not bare:
        return tables, []
    if len(bare) < len(tables):
        named = [table for table in tables if table.ids is not None]
        if not all(_counts_rows(table) for table in named):
            strict = next(table for table in named if not _counts_rows(table))
            assert strict.ids is not None
            raise input_error(
                bare[0].source,
                f"has no ids, while {strict.source} has (e.g. {strict.ids[0]!r}); name "
                "the id column (--id), or give all files without ids and with rows in "
                "the same order.",
            )
        tables = [replace(table, ids=None) for table in tables]
    sizes = {table.source: table.n_rows for table in tables}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{source} {n}" for source, n in sizes.items())
        raise input_error(
            tables[0].source,
            f"the files have no ids and different numbers of rows ({listed}); name the "
            "id column (--id), or give one row per sample in every file.",
        )
    if len(bare) < len(tables):
        return tables, ["files joined by row: what ids there are only count rows"]
    return tables, []


def _counts_rows(table: FileTable) -> bool:
    assert table.ids is not None
    return is_range(table.ids)


def check_overlap(
    tables: Sequence[FileTable], *, strict: bool, near_misses: str | None = None
) -> list[str]:
    """Refuse files whose ids match no other file; notes about the rest.

    All tables have ids, or none has. Unless `strict`, files may share no sample: new
    samples need not. `near_misses` says which ids would match if they were written the
    same way.
    """
    if len(tables) < 2 or tables[0].ids is None:
        return []
    ids = [set(table.ids.tolist()) for table in tables if table.ids is not None]
    features = [set(table.features) for table in tables]
    rest = [[ids[u] for u in range(len(ids)) if u != v] for v in range(len(ids))]
    for v, table in enumerate(tables):
        matching = {f for f in features[v] if any(f in other for other in rest[v])}
        if matching:
            shared = len(ids[v] & set().union(*rest[v]))
            _refuse_wrong_way_round(table, matching, shared)
    alone = [v for v in range(len(ids)) if all(map(ids[v].isdisjoint, rest[v]))]
    if alone and strict:
        raise _no_overlap(tables, alone[0], features, near_misses)
    if alone:
        names = ", ".join(tables[v].source for v in alone)
        return [f"{names}: no sample is in another file"]
    _refuse_counted_rows(tables)
    return []


def _refuse_counted_rows(tables: Sequence[FileTable]) -> None:
    """Matrices of different files whose ids only count rows would match by position.

    Of a table somebody named the column, or it would have been refused before.
    """
    files = {table.source.partition("::")[0] for table in tables}
    bare = [table for table in tables if table.id_column is None]
    if len(files) > 1 and bare and all(map(_counts_rows, tables)):
        assert bare[0].ids is not None
        raise input_error(
            bare[0].source,
            f"its ids only count rows ({shown(bare[0].ids[:3].tolist())}, ...), so "
            "they would be paired with those of the other files by position; give the "
            "samples names in all files, or pass --id @row (id_columns='@row') if "
            "rows are the same samples in the same order.",
        )


def _refuse_wrong_way_round(table: FileTable, matching: set[str], shared: int) -> None:
    """Columns called like the samples of the other files are samples."""
    n_columns = len(table.features)
    if len(matching) > 2 * shared and len(matching) >= max(2, n_columns / 2):
        raise input_error(
            table.source,
            f"{len(matching)} of its {n_columns} columns are called like the samples "
            f"of the other files, e.g. {min(matching)!r}, and only {shared} of its "
            f"rows: the samples seem to be in columns; pass transpose={table.name!r} "
            f"(--transpose {table.name}).",
        )


def _no_overlap(
    tables: Sequence[FileTable],
    v: int,
    features: list[set[str]],
    near_misses: str | None,
) -> InputError:
    table = tables[v]
    assert table.ids is not None
    other = next(t for u, t in enumerate(tables) if u != v)
    assert other.ids is not None
    message = (
        f"its ids, e.g. {shown(table.ids[:2].tolist())}, match none of the other "
        f"files, e.g. {shown(other.ids[:2].tolist())}"
    )
    for u, other in enumerate(tables):
        common = features[v] & features[u]
        if u != v and len(common) >= max(2, 0.5 * min(map(len, features))):
            return input_error(
                table.source,
                f"{message}; but its columns and those of {other.source} have "
                f"{len(common)} names in common, e.g. {min(common)!r}: if samples are "
                "in columns, pass transpose=True (--transpose all); else name the id "
                "column (--id).",
            )
    if near_misses is not None:
        return input_error(table.source, f"{message}. {near_misses}")
    return input_error(
        table.source,
        f"{message}; name the right id column (--id), or leave the file out.",
    )


def join_tables(tables: Sequence[FileTable]) -> IncompleteViews:
    """Outer join on the ids, or by row, through the machinery of `imvc.views`.

    Numbers are not copied.
    """
    frames = [Table(t.name, t.values, _index(t), t.features) for t in tables]
    return assemble_views(frames, join_frames(frames))


def _index(table: FileTable) -> Any:
    if table.ids is None:
        return None
    pandas = need("pandas", table.source)
    return pandas.Index(table.ids, dtype=object)


def places(ids: np.ndarray | None, wanted: np.ndarray | None, n: int) -> np.ndarray:
    """Row of each id that is wanted, -1 where there is none; `n` rows without ids."""
    if ids is None or wanted is None:
        return np.arange(n)
    pandas = need("pandas", "metadata")
    index = pandas.Index(ids, dtype=object)
    return index.get_indexer(pandas.Index(wanted, dtype=object))


def aligned(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values at some places, None where a place is -1."""
    result = np.empty(len(at), dtype=object)
    known = at >= 0
    result[known] = values[at[known]]
    return result


def gather_metadata(
    tables: Sequence[FileTable], sample_ids: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Metadata of all tables, per sample; None where unknown.

    Without ids, samples are the rows of the tables. A name that two tables use for
    different things is kept for the first and followed by the view for the others.
    """
    columns: dict[str, np.ndarray] = {}
    for table in tables:
        at = places(table.ids, sample_ids, table.n_rows)
        for name, values in table.metadata.items():
            _add(columns, name, _none_where_nan(aligned(values, at)), table.name)
    return columns


def find_contradictions(
    tables: Sequence[FileTable], sample_ids: np.ndarray | None
) -> list[str]:
    """Warn where another column of names would pair the rows of two files differently.

    Two files have it, with the same values for the most part, nearly all different; and
    samples that were joined have different ones.
    """
    warned = []
    for one, other in combinations(tables, 2):
        rows = [places(t.ids, sample_ids, t.n_rows) for t in (one, other)]
        both = (rows[0] >= 0) & (rows[1] >= 0)
        for name in one.metadata:
            if name not in other.metadata:
                continue
            a = one.metadata[name][rows[0][both]]
            b = other.metadata[name][rows[1][both]]
            if n_apart := _n_apart(a, b):
                by = "order" if one.id_column is None else f"{one.id_column!r}"
                warned.append(
                    f"{one.source} and {other.source}: {n_apart} of {len(a)} rows that "
                    f"are joined by {by} differ in {name!r}, which both files have; if "
                    f"that names the samples, pass --id {shlex.quote(name)} "
                    f"(id_columns={name!r})."
                )
    return warned


def _n_apart(a: np.ndarray, b: np.ndarray) -> int:
    """How many pairs of names differ, if that says that rows are paired wrongly."""
    known = (a != _NOTHING) & (a == a) & (b != _NOTHING) & (b == b)
    a, b = a[known], b[known]
    values = set(a.tolist()), set(b.tolist())
    alike = len(values[0] & values[1])
    if alike < _SAME_NAMES * len(a) or alike == 0:
        return 0
    return int((a != b).sum())


def join_metadata(
    source: str,
    ids: np.ndarray | None,
    columns: dict[str, np.ndarray],
    sample_ids: np.ndarray | None,
    n: int,
    near_misses: str | None = None,
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Columns of a file of metadata for `n` samples, and a note if some have none.

    `near_misses` as in `check_overlap`.
    """
    n_rows = len(next(iter(columns.values()), ())) if ids is None else len(ids)
    if ids is None and sample_ids is not None:
        raise input_error(source, "has no ids while the views have; add the id column.")
    if sample_ids is None and n_rows != n:
        raise input_error(
            source, f"has {n_rows} rows and the views have {n}, and no ids join them."
        )
    at = places(None if sample_ids is None else ids, sample_ids, n)
    known = int((at >= 0).sum())
    if known == 0 and sample_ids is not None and ids is not None:
        message = (
            f"its ids, e.g. {shown(ids[:2].tolist())}, match no sample, e.g. "
            f"{shown(sample_ids[:2].tolist())}"
        )
        advice = "; check the id column." if near_misses is None else f". {near_misses}"
        raise input_error(source, message + advice)
    lacking = len(at) - known
    notes = [f"{source}: {lacking} samples have no metadata"] if lacking else []
    return {k: _none_where_nan(aligned(v, at)) for k, v in columns.items()}, notes


def _none_where_nan(values: np.ndarray) -> np.ndarray:
    values[values != values] = None
    return values


def _add(
    columns: dict[str, np.ndarray], name: str, values: np.ndarray, view: str
) -> None:
    """Merge a column with what is known under its name, or keep it apart."""
    old = columns.get(name)
    if old is None:
        columns[name] = values
        return
    both = (old != _NOTHING) & (values != _NOTHING)
    if (old[both] == values[both]).all():
        columns[name] = np.where(old != _NOTHING, old, values)
    else:
        columns[f"{name} ({view})"] = values
