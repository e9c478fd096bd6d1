"""read_file: one file of any known kind as tables."""

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from imvc.io._anndata import read_h5ad, read_h5mu
from imvc.io._checked_table import check_table, id_strings, transposed
from imvc.io._errors import input_error, need, reading, shown
from imvc.io._file_bytes import PACKED, check_path, magic
from imvc.io._file_stamps import unchanged
from imvc.io._file_table import (
    ALL_SHEETS,
    WORKBOOKS,
    FileTable,
    Request,
    split_sheet,
)
from imvc.io._guarded import check_guarded
from imvc.io._matlab import read_matlab
from imvc.io._matrix_market import files_beside, read_mtx
from imvc.io._npy import read_npy
from imvc.io._npz import read_npz
from imvc.io._prepare_view import ViewPreparation
from imvc.io.columns._options import ColumnOptions
from imvc.io.ids._candidates import BY_ROW, FileColumns, IdCandidate
from imvc.io.ids._choose import IdChoice, choose_ids

_TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data")
# Tables with typed columns, which pyarrow reads, and readers of matrices.
_TYPED = (*_TEXT, *WORKBOOKS, ".parquet", ".pq", ".feather", ".arrow", ".ipc")
_MATRICES: dict[str, Callable[..., list[FileTable]]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_matlab,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
    ".mtx": read_mtx,
}
_MAY_BE_PACKED = (*_TEXT, ".mtx")
_REMEDIES = {
    ".rds": "write it from R with write.csv or arrow::write_parquet",
    ".rdata": "write it from R with write.csv or arrow::write_parquet",
    ".pkl": "pickles are never loaded; save the table as Parquet or .npz",
    ".pickle": "pickles are never loaded; save the table as Parquet or .npz",
    ".zip": "unpack it and give the files in it",
    ".tar": "unpack it and give the files in it",
    ".h5": "rename it to .h5ad or .h5mu if it is AnnData or MuData",
    ".hdf5": "rename it to .h5ad or .h5mu if it is AnnData or MuData",
    ".loom": "convert it to .h5ad",
    ".json": "convert it to CSV",
}
# All endings that mean something here, also those of files that are refused.
KNOWN_ENDINGS = (*_TYPED, *_MATRICES, *_REMEDIES)
# Their reader fails so badly on damage that they are always tried elsewhere first.
_FRAGILE = (".xls", ".xlsb", ".ods")
PANDAS_NAME = "Unnamed: 0"  # as pandas calls a first column without a name
# What a reader gives: columns whose ids are still to be chosen, or a matrix.
Raw = Any
# What gives the contents of a file that is asked for, transposed or not.
Reader = Callable[[Request, bool], list[Raw]]


def read_file(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    id_column: str | None = None,
    columns: ColumnOptions | None = None,
    layer: str | None = None,
    transpose: bool = False,
    sheet: str | None = None,
    guard: bool = False,
) -> list[FileTable]:
    """Read the views of one file.

    Parameters
    ----------
    path : path-like
        CSV, TSV or other delimited text (also .gz, .bz2, .xz, .zst), workbooks (.xlsx,
        .xlsm, .xlsb, .xls, .ods; ``book.xlsx::RNA`` for the sheet RNA), Parquet,
        Feather or Arrow, .npy, .npz, .mat, .h5ad, .h5mu, .mtx. The ending tells the
        kind; text is assumed for endings that are unknown.
    name : str, optional
        Name of the view; by default that of the sheet if one was named, else the
        file's without endings. For a file with several views, what their names start
        with.
    id_column : str, optional
        The column with the ids; ``"@row"`` for none. By default an index that the file
        itself names, a column called like ids (``id``, ``sample``, ...), or the first
        text column whose values all differ. A column that only counts rows is neither
        an id, while another one could be, nor a feature.
    columns : ColumnOptions, optional
        Which columns are used, and as what.
    layer : str, optional
        For .h5ad and .h5mu: a layer (``"raw"``, or a key of layers or obsm) instead of
        ``X``.
    transpose : bool, default False
        Whether samples are in the columns of the file.
    sheet : str, optional
        Of a workbook: the sheet to read, by default the first that holds a table, or
        ``"all"`` for every such sheet as a view of its own, named after the sheet. One
        that `path` names comes first. Hidden sheets are read when they are named.
    guard : bool, default False
        For files that others made: HDF5 (.h5ad, .h5mu, .mat 7.3), Parquet, Feather and
        .xlsx are first read in another process with a limit of time and memory, since
        damaged ones can crash their libraries or never be read to the end. Other
        workbooks always are.

    Returns
    -------
    list of FileTable
        Several for .h5mu, for .npz with X0, X1, ..., for .mat with several matrices,
        and for ``sheet="all"``; else one.

    Raises
    ------
    InputError
        The file cannot be used; the message names it, the line where there is one, and
        the remedy.

    Notes
    -----
    Text: separator (comma, semicolon, tab, bar, blanks), encoding, decimal comma and
    header are found out and told in the notes; row names as R writes them are ids.
    Titles above the header and units below it are skipped. Sheets of workbooks are read
    like text; the lines that messages name are their rows.

    ``.npz``: the views as X0, X1, ... or under names of their own, or one SciPy sparse
    matrix; optionally ``ids``, ``mask`` (samples x views) and ``features0``, ...

    ``.mtx``: names in ``<stem>.rows`` and ``<stem>.cols`` beside it, one per line.

    Nothing is ever unpickled, and no other file than these is opened.

    Examples
    --------
    ``read_file("genes.tsv.gz", id_column="patient")[0].values``
    """
    request = Request(
        str(path), name or "", id_column, layer=layer, sheet=sheet, guard=guard
    )
    options = columns or ColumnOptions()
    with unchanged([request.path, *files_beside(request.path)]):
        found = read_raw(request, transpose)
    chosen = [choose_ids([id_columns_of(raw, id_column)])[0] for raw in found]
    tables = [as_table(raw, ids, options) for raw, ids in zip(found, chosen)]
    options.check_names({t.name: column_names(raw) for t, raw in zip(tables, found)})
    return tables


def read_raw(file: Request, transpose: bool = False) -> list[Raw]:
    """What is in a file, before ids are chosen and columns coded.

    The name of the view may be empty: then the file's own name is taken.
    """
    source, sheet = file.source, file.asked_sheet
    check_path(file.path, source)
    kind, stem = kind_and_stem(file.path, source)
    by_sheet = sheet is not None and sheet != ALL_SHEETS
    if by_sheet and kind not in WORKBOOKS:
        raise input_error(
            source,
            f"has no sheets, so none is {sheet!r}; write the sheet behind the workbook "
            f"it is of, like book.xlsx::{sheet}.",
        )
    if file.guard or kind in _FRAGILE:
        check_guarded(file, kind)
    named = replace(file, name=file.name or (str(sheet) if by_sheet else stem))
    if kind in _TYPED:
        need("pyarrow", source, "excel" if kind in WORKBOOKS else "io")
        from imvc.io._arrow_files import read_columns

        found: list[Raw] = read_columns(kind, named)
    else:
        if file.id_column not in (None, BY_ROW) and kind not in (".h5ad", ".h5mu"):
            raise input_error(
                source,
                f"{kind} files have no columns with names, so none is "
                f"{file.id_column!r}; give the id column for the other files only, or "
                "save this one as CSV with ids.",
            )
        found = [_with_obs_ids(table, file) for table in _MATRICES[kind](named)]
    if file.name:
        several = len(found) > 1
        names = [f"{file.name}.{raw.name}" if several else file.name for raw in found]
        found = [replace(raw, name=name) for raw, name in zip(found, names)]
    if not transpose:
        return found
    return [_transposed(raw, file.id_column) for raw in found]


def _transposed(raw: Raw, id_column: str | None) -> FileTable:
    """The table of a file whose samples are in columns; its text is left out."""
    options = ColumnOptions(text="drop")
    features = choose_ids([id_columns_of(raw, id_column)])[0]
    with reading(raw.source, "a table"):
        return transposed(as_table(raw, features, options))


def id_columns_of(raw: Raw, given: str | None, hint: str | None = None) -> FileColumns:
    """What may hold the ids of a file; `given` must be one of its columns."""
    if isinstance(raw, FileTable):
        # A matrix has its ids beside it or none; they were chosen when it was written.
        known = () if raw.ids is None else (obs_names(raw.ids),)
        chosen = BY_ROW if given == BY_ROW or not known else known[0].name
        return FileColumns(raw.source, known, chosen, tabular=False)
    from imvc.io._arrow_columns import id_candidates

    if given is None and hint in raw.names:
        given = hint
    if given == PANDAS_NAME and given not in raw.names and "" in raw.names:
        given = ""
    if given not in (None, BY_ROW, *raw.names):
        near = difflib.get_close_matches(given, raw.names, n=1)
        hint = f"its columns are {shown(raw.names, 5)}."
        raise input_error(
            raw.source,
            f"has no column {given!r} for the ids; "
            + (f"did you mean {near[0]!r}?" if near else hint),
        )
    return FileColumns(raw.source, id_candidates(raw), given)


def as_table(raw: Raw, ids: IdChoice, options: ColumnOptions) -> FileTable:
    """The view that a file holds, its columns coded."""
    if isinstance(raw, FileTable):
        own = raw if ids.column is not None else replace(raw, ids=None)
        return _chosen_features(own, options)
    from imvc.io._table_columns import table_from_columns

    raw.notes.append(ids.note)
    asked = options.for_view(raw.name, column_names(raw))
    with reading(raw.source, "a table"):
        return table_from_columns(raw, ids, asked)


def as_table_of_fit(raw: Raw, ids: IdChoice, view: ViewPreparation) -> FileTable:
    """The view that a file of new samples holds, coded as in the fit."""
    view.check_columns(raw.source, column_names(raw))
    if isinstance(raw, FileTable):
        own_ids = raw.ids if ids.column is not None else None
        return replace(raw, name=view.name, ids=own_ids)
    from imvc.io._table_columns import table_like_fit

    raw.notes.append(ids.note)
    with reading(raw.source, "a table"):
        table = table_like_fit(raw, ids, view.table_codes())
    return replace(table, name=view.name)


def column_names(raw: Raw) -> Sequence[str]:
    """Names of the columns of a file, ids included."""
    return raw.features if isinstance(raw, FileTable) else raw.names


def _chosen_features(table: FileTable, options: ColumnOptions) -> FileTable:
    """A matrix without what was dropped."""
    asked = options.for_view(table.name, table.features)
    keep, drop = asked["keep"], asked["drop"]
    if keep is None and not drop:
        return table
    kept = [
        j
        for j, name in enumerate(table.features)
        if name not in drop and (keep is None or name in keep)
    ]
    note = f"left out {len(table.features) - len(kept)} columns, as asked for"
    features = tuple(table.features[j] for j in kept)
    chosen = replace(table, values=table.values[:, kept], features=features)
    return check_table(chosen.with_notes(note))


def read_metadata(
    path: str | os.PathLike[str],
    *,
    samples: np.ndarray | None = None,
    guard: bool = False,
    read: Reader | None = None,
) -> tuple[np.ndarray | None, dict[str, np.ndarray], list[str]]:
    """Read a table that describes samples: text and numbers alike.

    Parameters
    ----------
    path : path-like
        CSV, TSV, Parquet, Feather or a workbook (``book.xlsx::clinical`` for a sheet
        that is not the first).
    samples : ndarray of object, optional
        Ids of the samples that it is about: of several columns that may hold ids, the
        one that matches them is taken.
    guard : bool, default False
        As in `read_file`.
    read : callable, optional
        As in `read_views`.

    Returns
    -------
    ids : ndarray of object, or None
        None where no column holds ids.
    columns : dict of str to ndarray of object
    notes : list of str
        What was decided, as "file: note".
    """
    file = Request(str(path), block=False, guard=guard)
    source = file.source
    check_path(file.path, source)
    if kind_and_stem(file.path, source)[0] not in _TYPED:
        raise input_error(
            source, "is no table of metadata; give a CSV, TSV, Excel or Parquet file."
        )
    columns, *more = (read or read_raw)(file, False)
    from imvc.io._table_columns import metadata_from_columns

    if more:
        raise input_error(source, f"name one sheet, like {columns.source}.")
    with reading(source, "a table of metadata"):
        choice = choose_metadata_ids(columns, samples)
        ids, found = metadata_from_columns(columns, choice.column, choice.counters)
    notes = [f"{source}: {note}" for note in (*columns.notes, choice.note)]
    return ids, found, notes


def choose_metadata_ids(columns: Any, samples: np.ndarray | None) -> IdChoice:
    """The column of ids of a table that describes samples."""
    others = [] if samples is None else [obs_names(samples)]
    known = [FileColumns("the samples", (c,), tabular=False) for c in others]
    return choose_ids([*known, id_columns_of(columns, None)])[-1]


def kind_and_stem(path: Path, source: str) -> tuple[str, str]:
    """What reads a file, as an ending, and the name of a view of it.

    That is the sheet that the path names, or the name of the file without endings.
    """
    path, sheet = split_sheet(path)
    inner, kind = path, path.suffix.lower()
    if kind in PACKED:
        inner = Path(path.stem)
        kind = inner.suffix.lower()
        if kind not in _MAY_BE_PACKED and kind in (*_TYPED, *_MATRICES):
            raise input_error(source, "is packed; unpack it first.")
    if kind in _TYPED or kind in _MATRICES:
        return kind, sheet or inner.name[: -len(kind)] or inner.name
    if kind in _REMEDIES:
        raise input_error(source, f"{kind} files are not read; {_REMEDIES[kind]}.")
    with reading(source, "a file"):
        found = magic(path) if path.suffix.lower() not in PACKED else None
    if found:
        raise input_error(source, f"is {found[0]}; {found[1]}.")
    return ".txt", inner.stem


def obs_names(ids: np.ndarray) -> IdCandidate:
    """Ids that stand beside a matrix, as `choose_ids` takes them."""
    whole = all(str(i).isdigit() for i in ids)
    return IdCandidate("obs", ids, whole=whole, declared=True)


def _with_obs_ids(table: FileTable, request: Request) -> FileTable:
    """Ids of an AnnData table from a column of obs instead of its index."""
    column = None if request.id_column == BY_ROW else request.id_column
    if column is None:
        column = request.id_hint if request.id_hint in table.metadata else None
    if column is None:
        return table
    if column not in table.metadata:
        raise input_error(
            table.source,
            f"obs has no column {column!r} for the ids; it has "
            f"{', '.join(map(repr, list(table.metadata)[:5])) or 'none'}.",
        )
    metadata = {k: v for k, v in table.metadata.items() if k != column}
    ids = id_strings(table.metadata[column])
    return check_table(
        replace(table, ids=ids, metadata=metadata, id_column=column)
    ).with_notes(f"ids from column {column!r} of obs")
