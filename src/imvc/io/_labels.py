"""Per-sample results as a table with ids."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc.io._errors import need


def write_labels(
    path: str | os.PathLike[str],
    ids: Sequence[Any] | np.ndarray,
    columns: Mapping[str, Any],
) -> Path:
    """Write one row per sample: its id and what was found for it.

    Parameters
    ----------
    path : path-like
        Ends in .csv or .parquet. The file appears whole or not at all.
    ids : sequence of shape (n_samples,)
        The ids; the column is called ``id``.
    columns : mapping of str to array-like of shape (n_samples,)
        Labels, confidences, ... NaN and None become empty cells.

    Returns
    -------
    Path

    Examples
    --------
    ``write_labels("labels.csv", model.sample_ids_, {"label": model.labels_})``
    """
    path = Path(path)
    ids = np.asarray(ids, dtype=object).astype(str)
    arrays = {"id": ids, **{name: np.asarray(a) for name, a in columns.items()}}
    for name, array in arrays.items():
        if array.shape != ids.shape:
            raise ValueError(
                f"column {name!r} has shape {array.shape}, expected {ids.shape}: one "
                "value per id."
            )
    if len(arrays) != len(columns) + 1:
        raise ValueError("a column is called 'id', like the ids; rename it.")
    suffix = path.suffix.lower()
    if suffix == ".csv":
        data = _csv(arrays)
    elif suffix == ".parquet":
        data = _parquet(arrays, path)
    else:
        raise ValueError(f"path {path.name!r} must end in .csv or .parquet.")
    with atomic_write(path) as file:
        file.write(data)
    return path


def _csv(arrays: Mapping[str, np.ndarray]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*(_cells(array) for array in arrays.values())))
    return text.getvalue().encode()


def _cells(array: np.ndarray) -> list[Any]:
    """Python values, None where there is no number."""
    cells = array.astype(object)
    if array.dtype.kind == "f":
        cells[np.isnan(array)] = None
    elif array.dtype.kind == "b":
        cells = np.where(array, "true", "false")
    return cells.tolist()


def _parquet(arrays: Mapping[str, np.ndarray], path: Path) -> bytes:
    pa = need("pyarrow", str(path))
    parquet = need("pyarrow.parquet", str(path))
    columns = {
        name: pa.array(array.tolist() if array.dtype.kind in "OU" else array,
                       from_pandas=True)
        for name, array in arrays.items()
    }  # fmt: skip
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()
