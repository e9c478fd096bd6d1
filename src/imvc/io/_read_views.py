"""read_views: files to IncompleteViews, joined by id."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from imvc.io._file_table import FileTable, Request
from imvc.io._join_tables import (
    check_overlap,
    gather_metadata,
    join_metadata,
    join_tables,
    settle_ids,
)
from imvc.io._prepare import FittedPreparation, Preparation
from imvc.io._read_file import kind_and_stem, read_metadata, read_tables
from imvc.views import IncompleteViews, ViewSchema, as_views


@dataclass(frozen=True, eq=False)
class ViewFiles:
    """Views that were read from files, and how.

    Parameters
    ----------
    views : IncompleteViews
        Prepared and joined; `sample_ids` is always set, to row numbers "0", "1", ...
        where files have no ids. For a prediction, the views of the fit.
    tables : tuple of FileTable
        One per view that was read, before preparation.
    preparation : FittedPreparation
        What was done to the numbers, to be done to new samples too.
    notes : tuple of str
        What was decided, as "file: note".
    metadata : dict of str to ndarray of object, shape (n_samples,)
        Per sample columns that are no features; None where unknown.
    """

    views: IncompleteViews
    tables: tuple[FileTable, ...]
    preparation: FittedPreparation
    notes: tuple[str, ...]
    metadata: dict[str, np.ndarray]


def read_views(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    id_columns: str | Mapping[str, str] | Sequence[str | None] | None = None,
    names: Sequence[str | None] | Mapping[str, str] | None = None,
    non_numeric: str = "drop",
    preparation: Preparation | None = None,
    like: FittedPreparation | None = None,
    metadata: str | os.PathLike[str] | None = None,
    transpose: bool | str | Sequence[str] = (),
    layer: str | None = None,
) -> ViewFiles:
    """Read one file per view (or one that holds several) and join them by id.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        The files; see `read_file` for the kinds.
    id_columns : str, mapping or sequence, optional
        The column of ids: one name for all files, by file or view name, or one per
        file (None: found by itself).
    names : sequence or mapping, optional
        Names of the views: one per file, or by file.
    non_numeric : {"drop", "onehot", "error"}, default "drop"
        What to do about text columns; for a prediction, that of the fit.
    preparation : Preparation, optional
        What to do to the numbers; by default nothing.
    like : FittedPreparation, optional
        For a prediction: the preparation of the fit, which is applied instead of
        `preparation`. Views may be absent, and columns may come in another order.
    metadata : path-like, optional
        A CSV, TSV or Parquet file with ids, whose columns describe the samples.
    transpose : bool, str or sequence of str, optional
        Views (or files) with samples in columns; True for all.
    layer : str, optional
        For .h5ad and .h5mu: what to read instead of ``X``.

    Returns
    -------
    ViewFiles

    Raises
    ------
    InputError
        A file cannot be used, or files do not fit together.

    Examples
    --------
    ``read_views(["rna.csv", "protein.parquet"], id_columns="patient").views``
    """
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise ValueError("paths is empty; give at least one file.")
    asked = _OptionsByFile(files, id_columns, names, transpose, like)
    mode = like.non_numeric if like is not None else non_numeric
    tables: list[FileTable] = []
    for j in range(len(files)):
        tables += asked.read(j, mode, layer)
    asked.check_used(tables)
    tables, notes = settle_ids(_unique_names(tables))
    notes += check_overlap(tables, strict=like is None)
    if like is None:
        fitted = FittedPreparation.fit(tables, preparation, non_numeric=mode)
        prepared = fitted.apply_to_training(tables)
    else:
        fitted, prepared = like, like.apply(tables)
    joined = join_tables(prepared)
    columns, more = gather_metadata(prepared, joined.sample_ids), []
    if metadata is not None:
        ids, found, told = read_metadata(metadata)
        own, lacking = join_metadata(
            str(metadata), ids, found, joined.sample_ids, prepared[0].n_rows
        )
        more = told + lacking
        # What the user gave for the purpose comes before what was found in the files.
        columns = own | {k: v for k, v in columns.items() if k not in own}
    kept, dropped = _samples_with_data(joined)
    views = joined
    if joined.sample_ids is None:
        row_numbers = np.arange(joined.n_samples).astype(str).astype(object)
        views = replace(joined, sample_ids=row_numbers)
    if dropped:
        views = views.select(kept)
        columns = {name: values[kept] for name, values in columns.items()}
    schema = None
    if like is not None:
        features = tuple(view.features for view in like.views)
        schema = ViewSchema(like.names, tuple(map(len, features)), features)
    views = as_views(views, like=schema)
    notes = [f"{t.source}: {note}" for t in prepared for note in t.notes] + notes
    return ViewFiles(
        views=views,
        tables=tuple(tables),
        preparation=fitted,
        notes=tuple(notes + dropped + more),
        metadata=columns,
    )


class _OptionsByFile:
    """What the caller asked for each file; errors for what fits no file."""

    def __init__(
        self, files: list[Any], ids: Any, names: Any, transpose: Any, like: Any
    ) -> None:
        self.files = [str(file) for file in files]
        self.ids = ids if isinstance(ids, str) else self._one_each(ids, "id_columns")
        self.names = self._one_each(names, "names")
        self.transpose = (transpose,) if isinstance(transpose, str) else transpose
        self.like = like
        self._used: set[str] = set()

    def _one_each(self, value: Any, what: str) -> Any:
        if value is None or isinstance(value, Mapping):
            return value
        value = [value] if isinstance(value, str) else list(value)
        if len(value) != len(self.files):
            raise ValueError(
                f"{what} has {len(value)} entries for {len(self.files)} files; give "
                "one per file."
            )
        return value

    def _keys(self, j: int) -> list[str]:
        """Under which a file may be named: as given, its file name, its view name."""
        path = Path(self.files[j])
        return [self.files[j], path.name, kind_and_stem(path, self.files[j])[1]]

    def _of(self, value: Any, j: int, extra: Sequence[str] = ()) -> Any:
        if not isinstance(value, Mapping):
            return value if value is None or isinstance(value, str) else value[j]
        for key in [*self._keys(j), *extra]:
            if key in value:
                self._used.add(key)
                return value[key]
        return None

    def read(self, j: int, non_numeric: str, layer: str | None) -> list[FileTable]:
        """The tables of one file."""
        if not Path(self.files[j]).is_file():  # says what is wrong with the path
            return read_tables(Request(self.files[j]))
        name = self._of(self.names, j)
        extra = [name] if name else []
        request = Request(
            self.files[j],
            name or "",
            id_column=self._of(self.ids, j, extra),
            non_numeric=non_numeric,
            layer=layer,
            id_hint=self._id_column_of_fit(j, name),
        )
        return read_tables(request, self._is_transposed(j, extra))

    def _id_column_of_fit(self, j: int, name: str | None) -> str | None:
        if self.like is None:
            return None
        by_name = {view.name: view.id_column for view in self.like.views}
        known = {column for column in by_name.values() if column is not None}
        single = known.pop() if len(known) == 1 else None
        return by_name.get(name or self._keys(j)[2], single)

    def _is_transposed(self, j: int, extra: list[str]) -> bool:
        if isinstance(self.transpose, bool):
            return self.transpose
        hits = {*self._keys(j), *extra} & set(self.transpose)
        self._used |= hits
        return bool(hits)

    def check_used(self, tables: Sequence[FileTable]) -> None:
        """Refuse entries that named no file or view."""
        named = {"id_columns": self.ids, "names": self.names}
        asked = {k: list(v) for k, v in named.items() if isinstance(v, Mapping)}
        if not isinstance(self.transpose, bool):
            asked["transpose"] = list(self.transpose)
        for what, keys in asked.items():
            unknown = [key for key in keys if key not in self._used]
            if unknown:
                raise ValueError(
                    f"{what} names {unknown}, which is no file or view; the views are "
                    f"{[table.name for table in tables]}."
                )


def _unique_names(tables: list[FileTable]) -> list[FileTable]:
    """Number the views that have the name of an earlier one."""
    taken: set[str] = set()
    result = []
    for table in tables:
        name, j = table.name, 2
        while name in taken:
            name, j = f"{table.name}_{j}", j + 1
        if name != table.name:
            note = f"called {name!r}, since {table.name!r} is taken"
            table = replace(table, name=name).with_notes(note)
        taken.add(name)
        result.append(table)
    return result


def _samples_with_data(views: IncompleteViews) -> tuple[np.ndarray, list[str]]:
    """Samples that some file has a number for, and a note about the others."""
    seen = views.mask.any(axis=1)
    lost = np.flatnonzero(~seen)
    if len(lost) == 0:
        return np.flatnonzero(seen), []
    ids = lost if views.sample_ids is None else views.sample_ids[lost]
    first = ", ".join(str(i) for i in ids[:3]) + (", ..." if len(lost) > 3 else "")
    what = "rows" if views.sample_ids is None else "ids"
    note = f"left out {len(lost)} samples without a number in any file ({what} {first})"
    return np.flatnonzero(seen), [note]
