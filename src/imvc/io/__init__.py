"""From the files people have to views, and results back to files.

`read_file` reads one file (CSV and its relatives, Parquet, Feather, .npy, .npz, .mat,
.h5ad, .h5mu, .mtx); `read_views` reads several and joins them by id into an
`IncompleteViews`, with a `Preparation` on the way. `OutputFolder` and `write_labels`
write results that are whole or not there. Every complaint about a file is an
`InputError` that names it. Nothing is ever unpickled.
"""

from imvc.io._errors import InputError
from imvc.io._file_table import FileTable
from imvc.io._metadata import read_metadata
from imvc.io._output_folder import OutputFolder
from imvc.io._prepare import FittedPreparation, Preparation
from imvc.io._read_file import read_file
from imvc.io._read_views import ViewFiles, read_views
from imvc.io._write_rows import write_labels

__all__ = [
    "FileTable",
    "FittedPreparation",
    "InputError",
    "OutputFolder",
    "Preparation",
    "ViewFiles",
    "read_file",
    "read_metadata",
    "read_views",
    "write_labels",
]
