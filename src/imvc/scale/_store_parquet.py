"""A folder of Parquet parts as a store: numeric columns, or sparse rows as lists."""

import os
import re
from bisect import bisect_left, bisect_right

import numpy as np

from imvc.scale._arrow_rows import (
    columns_to_rows,
    count_values,
    ids_to_array,
    is_sparse,
    number_type,
    sparse_width,
    stack_lists,
)
from imvc.scale._paths import local_path, need
from imvc.scale._source import BlockError
from imvc.scale._stores import Store, csr_row_bytes

__all__ = ["ParquetRows", "ParquetStore", "has_parquet", "open_parquet"]

_BATCH_ROWS = 8_192
_ID_NAMES = ("id", "sample_id", "sample")


class ParquetRows:
    """A view stored as Parquet parts whose rows have ids.

    Parts are read in the order of their names, where numbers count as numbers. All
    must have the same columns. Every column other than the ids is a feature. Sparse
    rows are stored as two columns of lists, ``indices`` (of int32) and ``values``,
    with the number of features as the metadata entry ``imvc.n_features`` of the
    schema.

    Parameters
    ----------
    path : path-like or URL
        A folder of ``.parquet`` files, or one file.
    id_column : str, optional
        The column with the ids, text or integers. By default ``id``, ``sample_id`` or
        ``sample``, or the index of the DataFrame that was written.
    """

    def __init__(self, path: str | os.PathLike, id_column: str | None = None) -> None:
        self.path = os.fspath(path)
        self.id_column = id_column

    def __repr__(self) -> str:
        return f"ParquetRows({self.path!r}, id_column={self.id_column!r})"


class ParquetStore(Store):
    """Rows of Parquet parts, one after the other.

    Parameters
    ----------
    label : str
        The folder or file, as it was given.
    filesystem : pyarrow.fs.FileSystem, or None for this machine's files
    parts : list of str
    id_column : str, optional
    ids_needed : bool
        Whether it is an error to find no column of ids.
    """

    def __init__(self, label, filesystem, parts, id_column=None, ids_needed=True):
        self.label, self._filesystem, self._parts = label, filesystem, parts
        footers = [self._footer(part) for part in parts]
        schema = footers[0].schema.to_arrow_schema()
        self.id_column = _find_ids(label, schema, id_column, ids_needed)
        self._columns = [name for name in schema.names if name != self.id_column]
        dtypes = [
            self._check_part(j, footer, schema) for j, footer in enumerate(footers)
        ]
        self.dtype = np.result_type(*dtypes)
        self.sparse = is_sparse(schema, self._columns)
        groups = [
            [f.row_group(g).num_rows for g in range(f.num_row_groups)] for f in footers
        ]
        self._part_starts = np.cumsum([0] + [sum(group) for group in groups]).tolist()
        self._group_starts = [np.cumsum([0, *group]).tolist() for group in groups]
        self._n_entries = 0
        width = len(self._columns)
        if self.sparse:
            width = sparse_width(label, schema)
            self._n_entries = sum(count_values(footer) for footer in footers)
        else:
            self.feature_names = tuple(self._columns)
        self.shape = (self._part_starts[-1], width)
        self._stamps = [self._stamp(part) for part in parts]

    def _footer(self, part):
        parquet = need("pyarrow.parquet", "io", self.label)
        try:
            return parquet.read_metadata(part, filesystem=self._filesystem)
        except FileNotFoundError:
            raise
        except Exception as error:
            raise BlockError(
                f"{part}: cannot be read as a Parquet file ({error}); write it anew."
            ) from error

    def _check_part(self, j, footer, first):
        """Type of the numbers of a part, which must have the columns of the first."""
        schema = footer.schema.to_arrow_schema()
        if set(schema.names) != set(first.names):
            more = [name for name in schema.names if name not in first.names]
            less = [name for name in first.names if name not in schema.names]
            raise BlockError(
                f"{self._parts[j]}: its columns differ from those of "
                f"{os.path.basename(self._parts[0])}: it lacks {less[:3]} and has "
                f"{more[:3]} besides; write all parts with the same columns."
            )
        return number_type(self._parts[j], schema, self._columns)

    def _stamp(self, part):
        if self._filesystem is None:
            stat = os.stat(part)
            return [part, stat.st_size, stat.st_mtime_ns]
        info = self._filesystem.get_file_info(part)
        return [part, info.size, info.mtime_ns]

    def _batches(self, start, stop, columns):
        """Record batches of the rows asked for, cut to them."""
        j = bisect_right(self._part_starts, start) - 1
        while start < stop:
            first, last = self._part_starts[j], self._part_starts[j + 1]
            lo, hi = start - first, min(stop, last) - first
            if lo < hi:
                yield from self._part_batches(j, lo, hi, columns)
            start, j = first + hi if lo < hi else start, j + 1

    def _part_batches(self, j, lo, hi, columns):
        parquet = need("pyarrow.parquet", "io", self.label)
        starts = self._group_starts[j]
        g = bisect_right(starts, lo) - 1
        groups = range(g, bisect_left(starts, hi))
        at = starts[g]
        try:
            with parquet.ParquetFile(
                self._parts[j], filesystem=self._filesystem
            ) as file:
                for batch in file.iter_batches(
                    _BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False
                ):
                    first, last = max(lo - at, 0), min(hi - at, len(batch))
                    if first < last:
                        yield batch.slice(first, last - first)
                    at += len(batch)
                    if at >= hi:
                        return
        # pyarrow does not say in which file it met the damage.
        except (OSError, ValueError) as error:
            raise OSError(f"{self._parts[j]}: {error}") from error

    def read(self, start, stop):
        batches = self._batches(start, stop, self._columns)
        if self.sparse:
            return stack_lists(batches, self.shape[1], self.dtype)
        values, at = np.empty((stop - start, self.shape[1]), self.dtype), 0
        for batch in batches:
            values[at : at + len(batch)] = columns_to_rows(
                batch, self._columns, self.dtype
            )
            at += len(batch)
        if at < stop - start:
            raise EOFError(f"the parts hold only {start + at} of {stop} rows")
        return values

    def stream(self, piece_bytes=0):
        for batch in self._batches(0, self.shape[0], self._columns):
            if self.sparse:
                yield stack_lists([batch], self.shape[1], self.dtype)
            else:
                yield columns_to_rows(batch, self._columns, self.dtype)

    @property
    def row_bytes(self):
        if not self.sparse:
            return super().row_bytes
        return csr_row_bytes(self.dtype, self._n_entries, self.shape[0])

    def boundaries(self):
        at = [
            part + np.array(groups[:-1], np.int64)
            for part, groups in zip(self._part_starts, self._group_starts)
        ]
        return np.append(np.unique(np.concatenate(at)), self.shape[0])

    @property
    def has_ids(self):
        return self.id_column is not None

    def read_ids(self, start, stop):
        at = start
        for batch in self._batches(start, stop, [self.id_column]):
            ids = batch.column(0)
            if ids.null_count:
                row = at + int(np.flatnonzero(ids.is_null().to_numpy(False))[0])
                raise BlockError(
                    f"{self.place(row)}: has no id; drop such rows or give them ids."
                )
            yield ids_to_array(ids)
            at += len(batch)

    def place(self, row):
        j = bisect_right(self._part_starts, row) - 1
        return f"{self._parts[j]}, row {row - self._part_starts[j]}"

    @property
    def fingerprint(self):
        found = {"kind": "parquet", "shape": list(self.shape), "dtype": self.dtype.str}
        return {**found, "id_column": self.id_column, "parts": self._stamps}


def open_parquet(rows: ParquetRows, ids_needed: bool = True) -> ParquetStore:
    """The parts at a path or URL."""
    label, local = rows.path, local_path(rows.path)
    if local is not None:
        filesystem, parts = None, _list_local(local)
    else:
        fs = need("pyarrow.fs", "io", label)
        filesystem, root = fs.FileSystem.from_uri(label)
        info = filesystem.get_file_info(root)
        parts = [root]
        if info.type == fs.FileType.Directory:
            found = filesystem.get_file_info(fs.FileSelector(root))
            parts = [f.path for f in found if f.type == fs.FileType.File]
            parts = _sorted_parts(parts)
    if not parts:
        raise FileNotFoundError(
            f"{label}: has no .parquet files in it; pass the folder of the parts."
        )
    return ParquetStore(label, filesystem, parts, rows.id_column, ids_needed)


def has_parquet(path: str) -> bool:
    """Tell whether a path is a Parquet file or a folder of such files."""
    if path.endswith((".parquet", ".pq")):
        return True
    local = local_path(path)
    return local is not None and os.path.isdir(local) and bool(_list_local(local))


def _list_local(path):
    path = os.path.abspath(path)
    if not os.path.isdir(path):
        return [path]
    return _sorted_parts(os.path.join(path, name) for name in os.listdir(path))


def _sorted_parts(paths):
    """Parquet files in the order of their names, numbers by value."""

    def key(path):
        pieces = re.split(r"(\d+)", os.path.basename(path))
        return [int(p) if p.isdigit() else p for p in pieces]

    def is_part(path):
        name = os.path.basename(path)
        return name.endswith((".parquet", ".pq")) and not name.startswith(("_", "."))

    return sorted(filter(is_part, paths), key=key)


def _find_ids(label, schema, wanted, ids_needed):
    """Name of the column of ids."""
    if wanted is not None:
        if wanted in schema.names:
            return wanted
        raise ValueError(
            f"{label}: has no column {wanted!r} for the ids; its columns are "
            f"{schema.names[:8]}."
        )
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in index if name in schema.names]
    for name in (*_ID_NAMES, *index):
        if name in schema.names:
            return name
    if ids_needed:
        raise ValueError(
            f"{label}: has no column of ids among {schema.names[:8]}; name it with "
            "ParquetRows(path, id_column=...)."
        )
    return None
