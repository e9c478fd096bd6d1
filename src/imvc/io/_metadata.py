"""What is known of samples beside their features, brought into one order."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from imvc.io._errors import input_error, reading, shown
from imvc.io._file_table import FileTable, Request
from imvc.io._join_tables import aligned, places
from imvc.io._read_file import read_columns
from imvc.io._table_columns import metadata_from_columns

_NOTHING = np.array(None, dtype=object)


def gather_metadata(
    tables: Sequence[FileTable], sample_ids: np.ndarray | None, path: Any = None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Metadata of all tables and of a file of its own, per sample, and notes.

    Without ids, samples are the rows of the tables. Values are None where unknown. A
    name that two tables use for different things is kept for the first and followed by
    the view for the others.
    """
    columns: dict[str, np.ndarray] = {}
    for table in tables:
        at = places(table.ids, sample_ids, table.n_rows)
        for name, values in table.metadata.items():
            _add(columns, name, _aligned(values, at), table.name)
    if path is None:
        return columns, []
    own, notes = _read_own(path, sample_ids, tables[0].n_rows)
    # What the user gave for the purpose comes before what was found in the files.
    return {**own, **{k: v for k, v in columns.items() if k not in own}}, notes


def read_metadata(
    path: str | os.PathLike[str],
) -> tuple[np.ndarray | None, dict[str, np.ndarray], list[str]]:
    """Read a table that describes samples: text and numbers alike.

    Parameters
    ----------
    path : path-like
        CSV, TSV, Parquet or Feather.

    Returns
    -------
    ids : ndarray of object, or None
        None where no column holds ids.
    columns : dict of str to ndarray of object
    notes : list of str
        What was decided, as "file: note".
    """
    found = read_columns(path)
    with reading(str(path), "a table of metadata"):
        ids, columns = metadata_from_columns(found, Request(str(path)))
    return ids, columns, [f"{path}: {note}" for note in found.notes]


def _read_own(
    path: Any, sample_ids: np.ndarray | None, n: int
) -> tuple[dict[str, np.ndarray], list[str]]:
    source = str(path)
    ids, columns, notes = read_metadata(path)
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
        raise input_error(
            source,
            f"its ids, e.g. {shown(ids[:2].tolist())}, match no sample, e.g. "
            f"{shown(sample_ids[:2].tolist())}; check the id column.",
        )
    if known < len(at):
        notes.append(f"{source}: {len(at) - known} samples have no metadata")
    return {name: _aligned(values, at) for name, values in columns.items()}, notes


def _aligned(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    result = aligned(values, at)
    result[result != result] = None  # NaN
    return result


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
