"""Kinds of pyarrow columns, and what readers of such columns hand over."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Options:
    """How to read one file; see `read_file`."""

    id_column: str | None = None
    non_numeric: str = "drop"
    layer: str | None = None
    # The id column of the file a model was fitted on: taken where it exists.
    id_hint: str | None = None
    # Whether numbers may come as one matrix instead of columns.
    block: bool = True


@dataclass
class ArrowColumns:
    """A table with typed columns, and what its file says of ids and lines."""

    table: Any  # pyarrow.Table
    source: str
    name: str
    notes: list[str] = field(default_factory=list)
    index: str | None = None  # the column that the file itself calls its index
    first: str | None = None  # the first column of the file
    likely_ids: str | None = None  # the same, if it is called like ids
    lines: Callable[[int], int | None] | None = None
    # Of a wide table: the numeric columns, which are then not in `table`.
    block_names: tuple[str, ...] = ()
    block: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.block) if self.block is not None else self.table.num_rows

    @property
    def names(self) -> list[str]:
        """All columns; of a wide table those of text first."""
        return [*self.table.column_names, *self.block_names]


def is_numeric(dtype: Any) -> bool:
    import pyarrow as pa

    kind = pa.types
    return (
        kind.is_integer(dtype)
        or kind.is_floating(dtype)
        or kind.is_boolean(dtype)
        or kind.is_decimal(dtype)
        or kind.is_null(dtype)
    )


def is_nested(dtype: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_nested(dtype)


def as_text(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        column = column.cast(pa.large_string())
    return column.cast(pa.string())


def to_objects(column: Any) -> np.ndarray:
    return np.asarray(column.to_numpy(), dtype=object)
