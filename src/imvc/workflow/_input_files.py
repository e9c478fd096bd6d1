"""What a clustering starts from: files read at once, files read by blocks, or views."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from imvc._plain import plain
from imvc.insight import ColumnSummary
from imvc.io import (
    ColumnOptions,
    FittedPreparation,
    KeptFiles,
    Preparation,
    ViewFiles,
    check_format,
    column_table,
    file_of,
    has_parquet,
    learn_where_empty,
    read_views,
)
from imvc.io._file_bytes import check_path
from imvc.io._file_stamps import check_unchanged
from imvc.io._guarded import check_guarded_rows
from imvc.scale import (
    BlockSource,
    ParquetRows,
    block_budget,
    check_work_dir,
    open_source,
    parse_bytes,
)
from imvc.views import IncompleteViews, as_views
from imvc.workflow._fit import methods_that
from imvc.workflow._stages import Stages

_BLOCK_SUFFIXES = (".zarr", ".npy", ".parquet", ".pq", ".h5ad")
_RESULT_FORMATS = ("parquet", "zarr", "npy", "csv")


_Path = str | os.PathLike[str]


@dataclass(frozen=True)
class InputFiles:
    """Files of views and how to read them; parameters as in `imvc.io.read_views`.

    Parameters
    ----------
    paths : sequence of path-like, or of sequences of them
        One file per view; several files in a sequence of their own are rows of one
        view.
    id_columns : str, mapping or sequence of str, optional
    names : sequence of str, optional
    columns : ColumnOptions
        Which columns are used, and as what.
    transpose : bool or sequence of str
        Views whose files have samples in columns; True for all.
    preparation : Preparation
    metadata : path-like, optional
        A table with ids and what is known of the samples.
    match_ids : {"exact", "loose"}
    id_map : path-like, optional
        A table of old and new ids.
    layer : str, optional
        For .h5ad and .h5mu: what to read instead of ``X``.
    sheet : str, optional
        Of workbooks; "all" for every sheet as a view.
    guard : bool
        Whether files that can bring a library down are first read in a process of
        their own, with limits.
    """

    paths: Sequence[_Path | Sequence[_Path]]
    id_columns: str | Mapping[str, str] | Sequence[str | None] | None = None
    names: Sequence[str] | None = None
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    transpose: bool | Sequence[str] = ()
    preparation: Preparation = field(default_factory=Preparation)
    metadata: _Path | None = None
    match_ids: str = "exact"
    id_map: _Path | None = None
    layer: str | None = None
    sheet: str | None = None
    guard: bool = False

    def read(self, **how: Any) -> ViewFiles:
        """Read, prepare and join the files; `how` as in `read_views`."""
        check_files(self.all_paths())
        options = {f.name: getattr(self, f.name) for f in fields(self)}
        return read_views(options.pop("paths"), **options, **how)

    def look(self, kept: KeptFiles | None = None) -> ViewFiles:
        """`read` without learning to fill cells of samples to come, which takes longer.

        Of files that are `kept`, only what changed is read.
        """
        if kept is None:
            return self.read(learn=learn_where_empty)
        return self.read(read=kept, learn=kept.learn)

    def _parts(self) -> list[list[_Path]]:
        """Of every view the files that its rows are in."""
        return [
            [entry] if isinstance(entry, str | os.PathLike) else list(entry)
            for entry in self.paths
        ]

    def all_paths(self) -> list[Path]:
        """The files of views, the table of ids and the metadata."""
        own = [path for parts in self._parts() for path in parts]
        extra = [path for path in (self.id_map, self.metadata) if path is not None]
        return [Path(path) for path in (*own, *extra)]

    def to_dict(self) -> dict[str, Any]:
        """The options in JSON's types; without the paths, which `run.json` lists."""
        options = {f.name: getattr(self, f.name) for f in fields(self)}
        del options["paths"], options["guard"]
        options |= {
            "parts": [len(parts) for parts in self._parts()],
            "columns": asdict(self.columns),
            "preparation": asdict(self.preparation),
            "metadata": self.metadata is not None,
            "id_map": self.id_map is not None,
        }
        return plain(options)

    @classmethod
    def from_dict(
        cls, options: Mapping[str, Any], paths: Sequence[Path], guard: bool = False
    ) -> Self:
        """The inverse of `to_dict`, given `all_paths` and `guard` again."""
        given, rest = dict(options), list(paths)
        for name in ("metadata", "id_map"):
            given[name] = rest.pop() if given[name] else None
        entries: list[Any] = []
        for count in given.pop("parts"):
            own, rest = rest[:count], rest[count:]
            entries.append(own[0] if count == 1 else own)
        asked = dict(given.pop("preparation"))
        if isinstance(asked.get("log1p"), list):
            asked["log1p"] = tuple(asked["log1p"])
        return cls(
            paths=entries,
            preparation=Preparation(**asked),
            columns=ColumnOptions(**given.pop("columns")),
            guard=guard,
            **given,
        )


@dataclass(frozen=True)
class BlockFiles:
    """Files of views that need not fit into memory, and how to go through them.

    Parameters
    ----------
    paths : sequence of path-like
        One per view: a Parquet file or a folder of them, a zarr array, ``.npy``,
        ``.h5ad``; or one ``.h5mu``.
    names : sequence of str, optional
        Of the views; by default those of the files.
    id_columns : str or mapping of str to str, optional
        Column of ids in all Parquet files, or by view.
    mask : path-like, optional
        A ``.npy`` or zarr array of shape (n_samples, n_views), False where a sample
        is missing in a view.
    empty_cells : {"fill", "mean", "error"}
        What to do about cells without a number in rows that have some; filling them
        takes one more pass over the files.
    memory_budget : int or str, default="1GiB"
        Memory of the whole fit, apart from the labels.
    result_format : {"parquet", "zarr", "npy", "csv"}
        Of labels and embedding. With "zarr" and "npy", ids go to ``ids.csv``.
    work_dir : path-like, optional
        Folder for what is not finished; it is kept. By default a hidden one in the
        folder of the results, which is removed at the end.
    verbose : int, default=0
        1: stages of the fit and a progress bar over blocks on standard error.
    guard : bool
        Whether files that can bring a library down (HDF5, Parquet) are first read, all
        rows of them, in a process of their own, with limits.
    """

    paths: Sequence[str | os.PathLike[str]]
    names: Sequence[str] | None = None
    id_columns: str | Mapping[str, str] | None = None
    mask: str | os.PathLike[str] | None = None
    empty_cells: str = "fill"
    memory_budget: int | str = "1GiB"
    result_format: str = "parquet"
    work_dir: str | os.PathLike[str] | None = None
    verbose: int = 0
    guard: bool = False

    def check_request(
        self, method: str, parameters: Mapping[str, Any], metadata: Any
    ) -> None:
        """Tell what is wrong before hours are spent."""
        if metadata is not None:
            raise ValueError(
                "metadata is for the report, which needs all samples in memory; leave "
                "it out."
            )
        able = methods_that("out_of_core")
        if method not in able:
            raise ValueError(
                f"method {method!r} needs all samples in memory; out of core there are "
                f"{' and '.join(able)}."
            )
        for name in ("memory_budget", "work_dir", "verbose", "empty_cells"):
            if name in parameters:
                option = name.replace("_", "-")
                raise ValueError(
                    f"parameter {name!r} has an argument of its own (--{option}); "
                    f"leave it out of the parameters."
                )
        if self.result_format not in _RESULT_FORMATS:
            raise ValueError(
                f"result_format={self.result_format!r} must be one of "
                f"{', '.join(_RESULT_FORMATS)}."
            )
        check_format(f"labels.{self.result_format}")
        if self.work_dir is not None:
            check_work_dir(self.work_dir)
        if self.mask is not None and not os.path.exists(self.mask):
            raise ValueError(f"mask (--mask) {str(self.mask)!r} is not there.")
        parse_bytes(self.memory_budget)

    def views(self) -> Any:
        """The views as `imvc.scale.open_source` takes them."""
        paths = [os.fspath(path) for path in self.paths]
        if not paths:
            raise ValueError("no files are given; name one file per view.")
        if any(path.endswith(".h5mu") for path in paths):
            if len(paths) > 1 or self.names or self.id_columns:
                raise ValueError(
                    f"{paths}: an .h5mu file has all views and their ids; give it "
                    f"alone, without names (--name) and id columns (--id)."
                )
            return paths[0]
        names = [_stem(path) for path in paths] if self.names is None else self.names
        twice = [name for name in names if list(names).count(name) > 1]
        if twice or len(names) != len(paths):
            raise ValueError(
                f"{len(paths)} files have the names {list(names)}; give every view a "
                f"name of its own with names (--name)."
            )
        columns = self._columns(names, paths)
        return {
            name: _with_ids(path, column)
            for name, path, column in zip(names, paths, columns)
        }

    def open(self, model: Any, stages: Stages) -> BlockSource:
        """The views, cut into blocks for the memory budget and threads of a model."""
        views = self.views()
        with stages.run("open"):
            for view in _each(views) if self.guard else ():
                check_guarded_rows(view)
            return open_source(
                views,
                None if self.mask is None else os.fspath(self.mask),
                memory_budget=block_budget(self.memory_budget, model.n_jobs),
                work_dir=model.work_dir,
                missing_values="error" if self.empty_cells == "error" else "keep",
            )

    def _columns(self, names, paths) -> list[str | None]:
        """Column of ids of every view."""
        given = self.id_columns
        if not isinstance(given, Mapping):
            return [given] * len(names)
        keys = [{name, Path(path).name} for name, path in zip(names, paths)]
        unknown = set(given) - set().union(*keys)
        if unknown:
            raise ValueError(
                f"id_columns (--id) names the view {min(unknown)!r}; there are: "
                f"{', '.join(names)}."
            )
        return [
            next((given[key] for key in sorted(own & set(given))), None) for own in keys
        ]

    def to_dict(self) -> dict[str, Any]:
        """What the result depends on, in JSON's types."""
        return plain(
            {
                "paths": [os.fspath(path) for path in self.paths],
                "names": self.names,
                "id_columns": self.id_columns,
                "mask": None if self.mask is None else os.fspath(self.mask),
                "empty_cells": self.empty_cells,
                "memory_budget": self.memory_budget,
                "result_format": self.result_format,
            }
        )


@dataclass(frozen=True, eq=False)
class LoadedViews:
    """Views in memory, where they come from, and what their files warn of."""

    views: IncompleteViews
    preparation: FittedPreparation | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    columns: tuple[ColumnSummary, ...] = ()
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    fingerprints: tuple[dict[str, Any], ...] = ()


def check_files(paths: Sequence[Path]) -> None:
    """Refuse a path that is no file: before the others are read for minutes."""
    for path in paths:
        check_path(file_of(path), str(path))


def load_views(source: Any, stages: Stages, *, fingerprint: bool = True) -> LoadedViews:
    """Views from files, from files read before, or from anything `as_views` takes.

    Without `fingerprint` they are only to be looked at, not to be fitted.
    """
    marks: tuple[dict[str, Any], ...] = ()
    if isinstance(source, InputFiles):
        with stages.run("read"):
            found = source.read() if fingerprint else source.look()
        if fingerprint:
            with stages.run("checksums"):
                marks = tuple(fingerprint_of(path) for path in source.all_paths())
                check_unchanged(found.stamps)  # they are of what was read
        for note in found.notes:
            stages.say(note)
    elif isinstance(source, ViewFiles):
        found = source
    else:
        # Empty cells are refused by estimators that do not fill them.
        return LoadedViews(as_views(source, missing_values="keep"))
    return LoadedViews(
        views=found.views,
        preparation=found.preparation,
        notes=found.notes,
        warnings=found.warnings,
        columns=_column_table(found),
        metadata=found.metadata,
        fingerprints=marks,
    )


def _column_table(found: ViewFiles) -> tuple[ColumnSummary, ...]:
    """How every column of the tables was read, and why."""
    return tuple(
        ColumnSummary(view.name, *entry)
        for table, view in zip(found.tables, found.preparation.views)
        for entry in column_table(table, view)
    )


def fingerprint_of(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file, by which a later run knows it again."""
    file_path = file_of(path)
    with open(file_path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = file_path.stat().st_size
    return {"path": str(path), "bytes": size, "sha256": digest}


def _each(views: Any) -> list[Any]:
    """The views of `BlockFiles.views`, which may be a file of all of them."""
    return list(views.values()) if isinstance(views, Mapping) else [views]


def _stem(path: str) -> str:
    name = Path(path).name
    suffix = next((s for s in _BLOCK_SUFFIXES if name.endswith(s)), "")
    return name.removesuffix(suffix)


def _with_ids(path: str, column: str | None) -> Any:
    if column is None:
        return path
    if not has_parquet(path):
        raise ValueError(
            f"{path}: has no column {column!r} of ids, as it is no Parquet file; leave "
            f"out id_columns (--id), or give VIEW=COLUMN for those that are."
        )
    return ParquetRows(path, column)
