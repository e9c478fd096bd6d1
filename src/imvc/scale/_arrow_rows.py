"""From columns of Arrow tables to rows of numbers, dense or sparse, and to ids."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from imvc.scale._paths import need
from imvc.scale._source import BlockError
from imvc.scale._stores import canonical_csr

__all__ = [
    "columns_to_rows",
    "count_values",
    "ids_to_array",
    "is_sparse",
    "number_type",
    "sparse_width",
    "stack_lists",
]

_WIDTH_KEY = b"imvc.n_features"
_SPARSE_COLUMNS = {"indices", "values"}


def number_type(part, schema, columns):
    """NumPy's type for all feature columns of one part."""
    types = need("pyarrow.types", "io", part)
    fields = [schema.field(name) for name in columns]
    if is_sparse(schema, columns):
        fields = [f.with_type(f.type.value_type) for f in fields if f.name == "values"]
    bad = [f"{f.name!r} ({f.type})" for f in fields if not _is_number(types, f.type)]
    if bad or not fields:
        raise BlockError(
            f"{part}: has {len(bad)} columns that are not real numbers: "
            f"{', '.join(bad[:3])}; encode or drop them, or name the column of ids "
            "with ParquetRows(path, id_column=...)."
        )
    # Nulls become NaN, for which integers have no place.
    kinds = [
        f.type.to_pandas_dtype() if types.is_floating(f.type) else float for f in fields
    ]
    return np.result_type(*kinds)


def is_sparse(schema, columns):
    """Whether rows are stored as lists of columns and of values."""
    kinds = [schema.field(name).type for name in columns]
    return set(columns) == _SPARSE_COLUMNS and all(
        hasattr(kind, "value_type") for kind in kinds
    )


def _is_number(types, kind):
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def columns_to_rows(batch, columns, dtype):
    """Numbers of a batch, (rows, columns)."""
    pyarrow = need("pyarrow", "io", "a Parquet file")
    kind = pyarrow.from_numpy_dtype(dtype)
    values = np.empty((len(columns), len(batch)), dtype)
    for j, name in enumerate(columns):
        column = batch.column(name)
        if column.type != kind:
            column = column.cast(kind, safe=False)
        values[j] = column.to_numpy(zero_copy_only=False)
    return values.T


def sparse_width(label, schema):
    width = (schema.metadata or {}).get(_WIDTH_KEY, b"")
    if not width.isdigit() or int(width) == 0:
        raise ValueError(
            f"{label}: has sparse rows but no metadata entry 'imvc.n_features'; write "
            "the number of features there."
        )
    return int(width)


def count_values(footer):
    """Entries of the column ``values`` of one part."""
    total = 0
    for g in range(footer.num_row_groups):
        group = footer.row_group(g)
        columns = [group.column(c) for c in range(group.num_columns)]
        total += sum(
            c.num_values for c in columns if c.path_in_schema.startswith("values")
        )
    return total


def stack_lists(batches, width, dtype):
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


def _flat_list(column):
    """Values of a column of lists and where each list starts; null is empty."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    indptr = np.append(0, np.cumsum(lengths, dtype=np.int64))
    return column.flatten().to_numpy(zero_copy_only=False), indptr


def ids_to_array(ids: Any) -> np.ndarray:
    pyarrow = need("pyarrow", "io", "a Parquet file")
    types = pyarrow.types
    if types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if types.is_integer(ids.type):
        return ids.to_numpy(zero_copy_only=False).astype(np.int64)
    if not (types.is_string(ids.type) or types.is_large_string(ids.type)):
        raise BlockError(
            f"the column of ids holds {ids.type}; write ids as text or integers."
        )
    return ids.to_numpy(zero_copy_only=False).astype(object)
