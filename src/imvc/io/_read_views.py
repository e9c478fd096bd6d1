"""read_views: files to IncompleteViews, joined by id."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from imvc.io._file_stamps import Stamp, unchanged
from imvc.io._file_table import FileTable, Request, file_of
from imvc.io._join_tables import (
    check_overlap,
    find_contradictions,
    gather_metadata,
    join_metadata,
    join_tables,
    settle_ids,
)
from imvc.io._match_views import match_views
from imvc.io._matrix_market import files_beside
from imvc.io._prepare import FittedPreparation, Preparation
from imvc.io._prepare_view import Learn
from imvc.io._read_file import (
    Reader,
    as_table,
    as_table_of_fit,
    column_names,
    id_columns_of,
    kind_and_stem,
    read_metadata,
    read_raw,
)
from imvc.io._stack import stack_files
from imvc.io.columns._options import ColumnOptions
from imvc.io.ids._choose import choose_ids
from imvc.io.ids._id_map import apply_id_map, read_id_map
from imvc.io.ids._match import find_matches
from imvc.kernels._low_rank import fit_low_rank
from imvc.views import IncompleteViews, ViewSchema, as_views

_Path = str | os.PathLike[str]


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
    warnings : tuple of str
        What may spoil a clustering: ids that nearly match, columns mostly empty, ...
    stamps : tuple of dict
        Of the files as they were read: size and a digest of sampled content.
    """

    views: IncompleteViews
    tables: tuple[FileTable, ...]
    preparation: FittedPreparation
    notes: tuple[str, ...]
    metadata: dict[str, np.ndarray]
    warnings: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()


def read_views(
    paths: _Path | Sequence[_Path | Sequence[_Path]],
    *,
    id_columns: str | Mapping[str, str] | Sequence[str | None] | None = None,
    names: Sequence[str | None] | Mapping[str, str] | None = None,
    columns: ColumnOptions | None = None,
    preparation: Preparation | None = None,
    like: FittedPreparation | None = None,
    metadata: _Path | None = None,
    match_ids: str = "exact",
    id_map: _Path | None = None,
    transpose: bool | str | Sequence[str] = (),
    layer: str | None = None,
    sheet: str | None = None,
    guard: bool = False,
    read: Reader | None = None,
    learn: Learn = fit_low_rank,
) -> ViewFiles:
    """Read one file per view (or one that holds several) and join them by id.

    The columns of ids are chosen with all files in sight, and rows are never paired by
    their position unless that is asked for, or no file could have ids (``.npy``).

    Parameters
    ----------
    paths : path-like, or sequence of path-like or of sequences of them
        The files; see `read_file` for the kinds. Several files in a sequence of their
        own are rows of one view, such as batches of patients.
    id_columns : str, mapping or sequence, optional
        The column of ids: one name for all files, by file or view name, or one per
        file (None: found by itself). ``"@row"``: rows of all files are the same samples
        in the same order.
    names : sequence or mapping, optional
        Names of the views: one per file, or by file.
    columns : ColumnOptions, optional
        Which columns are used, and as what; by default all that can be. For a
        prediction, those of the fit.
    preparation : Preparation, optional
        What to do to the numbers; by default empty cells are filled.
    like : FittedPreparation, optional
        For a prediction: the preparation of the fit, which is applied instead of
        `preparation`. Views may be absent, and columns may come in another order.
    metadata : path-like, optional
        A CSV, TSV or Parquet file with ids, whose columns describe the samples.
    match_ids : {"exact", "loose"}, default "exact"
        "loose" also joins ids that are the same but for leading zeros, case, spaces,
        the kind of punctuation, Unicode form, a trailing ``.0``, or what nearly all ids
        of a file begin or end with, where that is unambiguous. "exact" only warns of
        them.
    id_map : path-like, optional
        A table of two columns, old and new ids, by which ids are renamed first.
    transpose : bool, str or sequence of str, optional
        Views (or files) with samples in columns; True for all.
    layer : str, optional
        For .h5ad and .h5mu: what to read instead of ``X``.
    sheet, guard : str and bool, optional
        As in `read_file`.
    read : callable, optional
        What reads a file: a `KeptFiles` reads only those that changed.
    learn : callable, optional
        What learns how empty cells are filled, also those of samples to come;
        `learn_where_empty` only what these files need.

    Returns
    -------
    ViewFiles

    Raises
    ------
    InputError
        A file cannot be used, changed while it was read (`ChangedFileError`), or files
        do not fit together.

    Examples
    --------
    ``read_views(["rna.csv", "protein.parquet"], id_columns="patient").views``
    """
    files = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise ValueError("paths is empty; give at least one file.")
    if match_ids not in ("exact", "loose"):
        raise ValueError(
            f"match_ids={match_ids!r} is unknown; pass 'exact' or 'loose'."
        )
    asked = _OptionsByFile(files, id_columns, names, transpose, like)
    read = read or read_raw
    with unchanged(_all_files(asked.parts, metadata, id_map)) as stamps:
        tables = asked.read_tables(
            columns or ColumnOptions(), read, layer=layer, sheet=sheet, guard=guard
        )
        tables, notes = settle_ids(tables)
        described = None
        if metadata is not None:
            described = _Metadata(metadata, tables, guard, read)
        tables, told, warned = _matched(tables, described, match_ids, id_map)
    near_misses = warned[0] if warned else None
    notes += told
    notes += check_overlap(tables, strict=like is None, near_misses=near_misses)
    if like is None:
        fitted = FittedPreparation.fit(tables, preparation, learn)
        prepared = fitted.apply_to_training(tables)
    else:
        fitted, prepared = like, like.apply(tables)
    joined = join_tables(prepared)
    found = gather_metadata(prepared, joined.sample_ids)
    warned += find_contradictions(prepared, joined.sample_ids)
    if described is not None:
        own, more = described.joined(joined.sample_ids, prepared[0].n_rows, near_misses)
        notes += more
        # What the user gave for the purpose comes before what was found in the files.
        found = own | {k: v for k, v in found.items() if k not in own}
    views, found, dropped = _with_data(joined, found)
    schema = None
    if like is not None:
        features = tuple(view.features for view in like.views)
        schema = ViewSchema(like.names, tuple(map(len, features)), features)
    notes = [f"{t.source}: {note}" for t in prepared for note in t.notes] + notes
    warned += [f"{t.source}: {text}" for t in prepared for text in t.warnings]
    return ViewFiles(
        views=as_views(views, like=schema),
        tables=tuple(tables),
        preparation=fitted,
        notes=tuple(notes + dropped),
        metadata=found,
        warnings=tuple(warned),
        stamps=tuple(stamps),
    )


def _all_files(parts: Sequence[Sequence[str]], *more: _Path | None) -> list[Path]:
    """Every file that is opened, names beside matrices included."""
    given = [*chain.from_iterable(parts), *(path for path in more if path is not None)]
    files = [file_of(path) for path in given]
    return [*files, *chain.from_iterable(map(files_beside, files))]


class _Metadata:
    """A table that describes the samples of some views."""

    def __init__(
        self, path: _Path, tables: Sequence[FileTable], guard: bool, read: Reader
    ) -> None:
        self.source = str(path)
        known = [table.ids for table in tables if table.ids is not None]
        samples = np.concatenate(known) if known else None
        self.ids, self.columns, self.notes = read_metadata(
            path, samples=samples, guard=guard, read=read
        )

    def joined(
        self, sample_ids: np.ndarray | None, n: int, near_misses: str | None
    ) -> tuple[dict[str, np.ndarray], list[str]]:
        """The columns for every sample, and notes."""
        columns, lacking = join_metadata(
            self.source, self.ids, self.columns, sample_ids, n, near_misses
        )
        return columns, self.notes + lacking


def _matched(
    tables: list[FileTable],
    described: _Metadata | None,
    match_ids: str,
    id_map: _Path | None,
) -> tuple[list[FileTable], list[str], list[str]]:
    """Tables with the ids by which they are joined, notes and warnings.

    The ids of the metadata are renamed with those of the tables.
    """
    notes, warned, total = [], [], 0
    with_ids: list[Any] = [table for table in tables if table.ids is not None]
    if described is not None and described.ids is not None and with_ids:
        with_ids.append(described)
    ids = [one.ids for one in with_ids]
    if id_map is not None:
        renames = read_id_map(id_map)
        for j, one in enumerate(with_ids):
            ids[j], count = apply_id_map(one.source, ids[j], renames)
            total += count
        if total:
            notes.append(f"{id_map}: renamed {total} ids")
    matches = find_matches([(one.source, i) for one, i in zip(with_ids, ids)])
    if match_ids == "loose":
        ids = matches.renamed
        if matches.n_joined or matches.n_ambiguous:
            notes.append(matches.note())
    elif matches.n_joined:
        warned.append(matches.warning())
    if id_map is not None and not total:
        warned.append(
            f"{id_map}: renamed no id, since none is in its first column; give old ids "
            "first and new ones second (--id-map)."
        )
    renamed = iter(ids)
    tables = [t if t.ids is None else replace(t, ids=next(renamed)) for t in tables]
    if described is not None and described.ids is not None and with_ids:
        described.ids = next(renamed)
    return tables, notes, warned


class _OptionsByFile:
    """What the caller asked for each file; errors for what fits no file."""

    def __init__(
        self, files: list[Any], ids: Any, names: Any, transpose: Any, like: Any
    ) -> None:
        # Of every view the files that its rows are in.
        self.parts = [
            [str(file)] if isinstance(file, str | os.PathLike) else [*map(str, file)]
            for file in files
        ]
        self.ids = ids if isinstance(ids, str) else self._one_each(ids, "id_columns")
        self.names = self._one_each(names, "names")
        self.transpose = (transpose,) if isinstance(transpose, str) else transpose
        self.like = like
        self._used: set[str] = set()

    def _one_each(self, value: Any, what: str) -> Any:
        if value is None or isinstance(value, Mapping):
            return value
        value = [value] if isinstance(value, str) else list(value)
        if len(value) != len(self.parts):
            raise ValueError(
                f"{what} has {len(value)} entries for {len(self.parts)} files; give "
                "one per file."
            )
        return value

    def _keys(self, j: int) -> list[str]:
        """Under which a file may be named: as given, its file name, its view name."""
        found = []
        for part in self.parts[j]:
            path = Request(part).path
            found += [part, path.name, kind_and_stem(path, part)[1]]
        return found

    def _of(self, value: Any, j: int, extra: Sequence[str] = ()) -> Any:
        if not isinstance(value, Mapping):
            return value if value is None or isinstance(value, str) else value[j]
        for key in [*self._keys(j), *extra]:
            if key in value:
                self._used.add(key)
                return value[key]
        return None

    def read_tables(
        self, options: ColumnOptions, read: Reader, **how: Any
    ) -> list[FileTable]:
        """The views of all files, with the ids that were chosen for all together.

        `how` goes to every `Request`.
        """
        views = range(len(self.parts))
        found = [(raw, j) for j in views for raw in self._read(j, read, how)]
        raws = _unique_names([raw for raw, _ in found])
        self._check_used([raw.name for raw in raws])
        if how["layer"] is not None and not any(
            file_of(part).suffix.lower() in (".h5ad", ".h5mu")
            for parts in self.parts
            for part in parts
        ):
            raise ValueError(
                f"layer={how['layer']!r} (--layer) is for .h5ad and .h5mu files, and "
                "none is given; leave it out."
            )
        given = [self._id_of(j) for _, j in found]
        if self.like is not None:
            return self._tables_of_fit(raws, given)
        options.check_names({raw.name: column_names(raw) for raw in raws})
        chosen = choose_ids([*map(id_columns_of, raws, given)])
        return [as_table(raw, ids, options) for raw, ids in zip(raws, chosen)]

    def _tables_of_fit(
        self, raws: list[Any], given: list[str | None]
    ) -> list[FileTable]:
        """New samples: the model says which columns there are and how to read them."""
        matched = match_views(self.like.views, raws)
        hints = [view.id_column for view, _ in matched]
        chosen = choose_ids([*map(id_columns_of, raws, given, hints)])
        tables = []
        for raw, ids, (view, note) in zip(raws, chosen, matched):
            table = as_table_of_fit(raw, ids, view)
            tables.append(table if note is None else table.with_notes(note))
        return tables

    def _id_of(self, j: int) -> str | None:
        name = self._of(self.names, j)
        return self._of(self.ids, j, [name] if name else [])

    def _read(self, j: int, read: Reader, how: Mapping[str, Any]) -> list[Any]:
        """What is in the files of one view."""
        name = self._of(self.names, j) or ""
        transpose = self._is_transposed(j, [name] if name else [])
        requests = [
            Request(
                part,
                name,
                id_column=self._id_of(j) if file_of(part).is_file() else None,
                id_hint=self._id_column_of_fit(name),
                block=len(self.parts[j]) == 1,
                **how,
            )
            for part in self.parts[j]
        ]
        found = [read(request, transpose) for request in requests]
        return found[0] if len(found) == 1 else [stack_files(found, name)]

    def _id_column_of_fit(self, name: str) -> str | None:
        if self.like is None:
            return None
        by_name = {view.name: view.id_column for view in self.like.views}
        known = {column for column in by_name.values() if column is not None}
        single = known.pop() if len(known) == 1 else None
        return by_name.get(name, single)

    def _is_transposed(self, j: int, extra: list[str]) -> bool:
        if isinstance(self.transpose, bool):
            return self.transpose
        hits = {*self._keys(j), *extra} & set(self.transpose)
        self._used |= hits
        return bool(hits)

    def _check_used(self, views: Sequence[str]) -> None:
        """Refuse entries that named no file or view."""
        named = {"id_columns": self.ids, "names": self.names}
        asked = {k: list(v) for k, v in named.items() if isinstance(v, Mapping)}
        if not isinstance(self.transpose, bool):
            asked["transpose"] = list(self.transpose)
        for what, keys in asked.items():
            unknown = [key for key in keys if key not in self._used]
            if unknown:
                option = {"id_columns": "--id", "names": "--name"}.get(
                    what, f"--{what}"
                )
                raise ValueError(
                    f"{what} ({option}) names {unknown}, which is no file or view; the "
                    f"views are {list(views)}."
                )


def _unique_names(raws: list[Any]) -> list[Any]:
    """Number the views that have the name of an earlier one."""
    taken: set[str] = set()
    result = []
    for raw in raws:
        name, j = raw.name, 2
        while name in taken:
            name, j = f"{raw.name}_{j}", j + 1
        if name != raw.name:
            note = f"called {name!r}, since {raw.name!r} is taken"
            raw = replace(raw, name=name, notes=type(raw.notes)([*raw.notes, note]))
        taken.add(name)
        result.append(raw)
    return result


def _with_data(
    joined: IncompleteViews, columns: dict[str, np.ndarray]
) -> tuple[IncompleteViews, dict[str, np.ndarray], list[str]]:
    """Samples that some file has a value for, with ids; a note about the others."""
    views = joined
    if joined.sample_ids is None:
        row_numbers = np.arange(joined.n_samples).astype(str).astype(object)
        views = replace(joined, sample_ids=row_numbers, numbered=True)
    kept, dropped = _samples_with_data(joined)
    if len(kept) == 0:
        raise ValueError(
            f"no sample has a value in any file; the views are {list(joined.names)}."
        )
    if dropped:
        views = views.select(kept)
        columns = {name: values[kept] for name, values in columns.items()}
    return views, columns, dropped


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
