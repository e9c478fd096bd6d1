"""From the files people have to views, and results back to files.

`read_file` reads one file (CSV and its relatives, sheets of workbooks, Parquet,
Feather, .npy, .npz, .mat, .h5ad, .h5mu, .mtx); `read_views` reads several and joins
them by id into an `IncompleteViews`, with a `Preparation` on the way. `OutputFolder`
and `write_labels` write results that are whole or not there. Every complaint about a
file is an `InputError` that names it. Nothing is ever unpickled.

Every format has a module of its own: `_text` (with `_encoding`, `_dialect` and, for
thousands of columns, `_wide`), `_excel`, `_parquet`, `_arrow_files`, `_npy`, `_npz`,
`_zarr`, `_anndata`, `_matlab`, `_matrix_market`. Which column holds the ids is decided
in `ids`, what kind each column is in `columns`; with both, tables with typed columns
become a `FileTable` in `_table_columns`. What can be read by blocks of rows also has a
`RowReader`, which `_open_rows` finds for `imvc.scale`. Modules that work on Arrow
tables import pyarrow and are themselves imported by `_read_file` once it is known to be
there. Files that can crash their libraries are tried in another process first
(`_guarded`).
"""

from imvc.io._errors import InputError
from imvc.io._file_table import FileTable, file_of
from imvc.io._kept_files import KeptFiles
from imvc.io._output_folder import OutputFolder
from imvc.io._parquet import has_parquet
from imvc.io._prepare import FittedPreparation, Preparation
from imvc.io._prepare_view import column_table, learn_where_empty
from imvc.io._read_file import read_file, read_metadata
from imvc.io._read_views import ViewFiles, read_views
from imvc.io._write_rows import (
    check_format,
    check_labels_path,
    take_rows,
    write_labels,
)
from imvc.io.columns._options import ColumnOptions

__all__ = [
    "ColumnOptions",
    "FileTable",
    "FittedPreparation",
    "InputError",
    "KeptFiles",
    "OutputFolder",
    "Preparation",
    "ViewFiles",
    "check_format",
    "check_labels_path",
    "column_table",
    "file_of",
    "has_parquet",
    "learn_where_empty",
    "read_file",
    "read_metadata",
    "read_views",
    "take_rows",
    "write_labels",
]


def __dir__() -> list[str]:
    return __all__
