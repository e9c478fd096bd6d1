"""From columns of Arrow tables to rows of numbers, dense or sparse, and to ids."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.io._errors import BlockError, need
from imvc.io._row_reader import canonical_csr

_WIDTH_KEY = b"imvc.n_features"
_SPARSE_COLUMNS = {"indices", "values"}


def number_type(part: str, schema: Any, columns: list[str]) -> np.dtype:
    """NumPy's type for all feature columns of one part."""
    types = need("pyarrow.types", part)
    fields = [schema.field(name) for name in columns]
    if is_sparse(schema, columns):
        fields = [f.with_type(f.type.value_type) for f in fields if f.name == "values"]
    tests = (types.is_integer, types.is_floating, types.is_boolean)
    odd = [f for f in fields if not any(is_kind(f.type) for is_kind in tests)]
    bad = [f"{f.name!r} ({f.type})" for f in odd]
    if bad or not fields:
        raise BlockError(
            f"{part}: has {len(bad)} columns that are not real numbers: "
            f"{', '.join(bad[:3])}; encode or drop them, or name the column of ids "
            "with ParquetRows(path, id_column=...)."
        )
    # Nulls become NaN, for which integers have no place.
    return np.result_type(
        *(
            f.type.to_pandas_dtype() if types.is_floating(f.type) else float
            for f in fields
        )
    )


def is_sparse(schema: Any, columns: list[str]) -> bool:
    """Whether rows are stored as lists of columns and of values."""
    kinds = [schema.field(name).type for name in columns]
    return set(columns) == _SPARSE_COLUMNS and all(
        hasattr(kind, "value_type") for kind in kinds
    )


def columns_to_rows(batch: Any, columns: list[str], dtype: np.dtype) -> np.ndarray:
    """Numbers of a batch, (rows, columns)."""
    pyarrow = need("pyarrow", "a Parquet file")
    kind = pyarrow.from_numpy_dtype(dtype)
    values = np.empty((len(columns), len(batch)), dtype)
    for j, name in enumerate(columns):
        column = batch.column(name)
        if column.type != kind:
            column = column.cast(kind, safe=False)
        values[j] = column.to_numpy(zero_copy_only=False)
    return values.T


def sparse_width(label: str, schema: Any) -> int:
    """Number of features of sparse rows, which their lists do not tell."""
    width = (schema.metadata or {}).get(_WIDTH_KEY, b"")
    if not width.isdigit() or int(width) == 0:
        raise ValueError(
            f"{label}: has sparse rows but no metadata entry 'imvc.n_features'; write "
            "the number of features there."
        )
    return int(width)


def count_values(footer: Any) -> int:
    """Entries of the column ``values`` of one part."""
    total = 0
    for g in range(footer.num_row_groups):
        group = footer.row_group(g)
        columns = [group.column(c) for c in range(group.num_columns)]
        total += sum(
            c.num_values for c in columns if c.path_in_schema.startswith("values")
        )
    return total


def stack_lists(batches: Any, width: int, dtype: np.dtype) -> Any:
    """Batches of ``indices`` and ``values`` as one sparse matrix."""
    blocks = []
    for batch in batches:
        parts = [_flat_list(batch.column(name)) for name in ("indices", "values")]
        if not np.array_equal(parts[0][1], parts[1][1]):
            raise ValueError("a row has different numbers of indices and of values")
        (indices, indptr), (values, _) = parts
        blocks.append(canonical_csr(values.astype(dtype), indices, indptr, width))
    if not blocks:
        return sp.csr_array((0, width), dtype=dtype)
    return blocks[0] if len(blocks) == 1 else sp.vstack(blocks, format="csr")


def _flat_list(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values of a column of lists and where each list starts; null is empty."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
    return column.flatten().to_numpy(zero_copy_only=False), indptr


def ids_to_array(ids: Any, label: str) -> np.ndarray:
    """A column of ids as int64 or as objects (str)."""
    types = need("pyarrow", label).types
    if types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if types.is_integer(ids.type):
        return ids.to_numpy(zero_copy_only=False).astype(np.int64)
    if not (types.is_string(ids.type) or types.is_large_string(ids.type)):
        raise BlockError(
            f"{label}: the column of ids holds {ids.type}; write ids as text or "
            "integers."
        )
    return ids.to_numpy(zero_copy_only=False).astype(object)
