"""Tables with typed columns, as pyarrow reads them, and the kinds of columns."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_INDEX_NAMES = frozenset(
    "id ids index key sample samples sampleid samplename barcode barcodes cell cells "
    "cellid patient patients patientid subject subjects subjectid participant "
    "participantid donor donorid case caseid rownames row name names".split()
)


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

    @classmethod
    def of_file(cls, table: Any, source: str, name: str) -> "ArrowColumns":
        """A table of a Parquet or Feather file; its pandas index becomes the ids."""
        described = table.schema.pandas_metadata or {}
        stored = [c for c in described.get("index_columns", []) if isinstance(c, str)]
        known = [c for c in stored if c in table.column_names]
        index = known[0] if len(known) == 1 else None
        first = table.column_names[0] if table.num_columns else None
        likely = None
        if index is None and first is not None:
            likely = first if is_index_name(first) else None
        return cls(table, source, name, index=index, first=first, likely_ids=likely)

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


def is_index_name(name: str) -> bool:
    """Tell whether a first column of this name is meant to hold ids."""
    plain = re.sub(r"[\s_.-]", "", name.casefold())
    return plain in _INDEX_NAMES or is_nameless(name)


def is_nameless(name: str) -> bool:
    """No name, or the one that pandas makes up for none."""
    return name == "" or re.fullmatch(r"Unnamed: \d+", name) is not None
