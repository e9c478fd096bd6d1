"""Files of views that are read by blocks, and the folder of what is not finished."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imvc.io._parquet import has_parquet
from imvc.scale import BlockError, BlockSource, ParquetRows
from imvc.scale._run import data_plan
from imvc.workflow._stages import Stages

__all__ = ["BlockFiles", "UnfinishedRun"]

_SUFFIXES = (".zarr", ".npy", ".parquet", ".pq", ".h5ad")


@dataclass(frozen=True)
class BlockFiles:
    """Files of views that need not fit into memory.

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
    """

    paths: Sequence[str | os.PathLike[str]]
    names: Sequence[str] | None = None
    id_columns: str | Mapping[str, str] | None = None
    mask: str | os.PathLike[str] | None = None

    def views(self) -> Any:
        """The views as `imvc.scale.open_source` takes them."""
        paths = [os.fspath(path) for path in self.paths]
        if not paths:
            raise ValueError("no files are given; name one file per view.")
        if any(path.endswith(".h5mu") for path in paths):
            return self._mudata(paths)
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

    def _mudata(self, paths: list[str]) -> str:
        if len(paths) > 1 or self.names or self.id_columns:
            raise ValueError(
                f"{paths}: an .h5mu file has all views and their ids; give it alone, "
                f"without names (--name) and id columns (--id)."
            )
        return paths[0]

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
        """The same in JSON's types."""
        columns = self.id_columns
        return {
            "paths": [os.fspath(path) for path in self.paths],
            "names": None if self.names is None else list(self.names),
            "id_columns": dict(columns) if isinstance(columns, Mapping) else columns,
            "mask": None if self.mask is None else os.fspath(self.mask),
        }


def _stem(path: str) -> str:
    name = Path(path).name
    return next((name.removesuffix(s) for s in _SUFFIXES if name.endswith(s)), name)


def _with_ids(path: str, column: str | None) -> Any:
    if column is None:
        return path
    if not has_parquet(path):
        raise ValueError(
            f"{path}: has no column {column!r} of ids, as it is no Parquet file; leave "
            f"out id_columns (--id), or give VIEW=COLUMN for those that are."
        )
    return ParquetRows(path, column)


class UnfinishedRun:
    """The folder from which a run that was killed goes on.

    Parameters
    ----------
    path : Path
    own : bool
        Whether the folder is ours, to be emptied at will.
    """

    def __init__(self, path: Path, own: bool) -> None:
        self.path = path
        # What we find empty or make is ours as long as nothing is finished.
        self._found_empty = not path.is_dir() or not any(path.iterdir())
        self._own = own

    def finished(self) -> list[str]:
        """Names of finished stages, in their order."""
        states = sorted(
            self.path.glob("*.state"), key=lambda file: file.stat().st_mtime
        )
        return [file.stem for file in states]

    def take(
        self, model: Any, source: BlockSource, stages: Stages, *, overwrite: bool
    ) -> list[str]:
        """Make sure that the folder is of this run; its finished stages."""
        file = self.path / "plan.json"
        if not file.exists():
            return []
        there = json.loads(file.read_text("utf-8"))
        plan = json.loads(json.dumps({**model._plan(), **data_plan(source)}))
        if plan != there:
            if self._own:
                self._give_way(there, plan, stages, overwrite)
            return []  # the fit refuses a folder that is not ours
        finished = self.finished()
        if finished:
            stages.say(
                f"going on with the run that was interrupted, from {self.path}; "
                f"finished: {', '.join(finished)}."
            )
        return finished

    def _give_way(self, there, plan, stages, overwrite) -> None:
        """Drop the stages of another run, if they may be dropped."""
        differ = sorted(k for k in {*plan, *there} if plan.get(k) != there.get(k))
        if set(differ) <= {"data", "blocks"} and _written_anew(there, plan):
            why = "of files that have changed since"
        elif overwrite:
            why = f"that differed in {', '.join(differ)}"
        else:
            raise ValueError(
                f"{self.path}: holds an unfinished run that differs in "
                f"{', '.join(differ)} (blocks depend on the memory budget and the "
                f"number of threads); repeat that run, discard it with --overwrite "
                f"(overwrite=True), or choose another folder."
            )
        for left in self.path.iterdir():
            if left.name.startswith("."):  # the lock, and views of the open source
                continue
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        stages.say(f"an unfinished run {why} is discarded.")

    @contextmanager
    def kept(self, stages: Stages) -> Iterator[None]:
        """Say on an error that finished stages are kept; leave nothing if none are."""
        try:
            yield
        except BaseException as error:
            blocks = next(self.path.glob("*/*.block"), None)
            if not self.finished() and blocks is None:
                self._leave_nothing()
                raise
            text = (
                f"Finished stages are kept in {self.path}; the same command goes on "
                f"from them."
            )
            if isinstance(error, BlockError):
                raise BlockError(f"{error} {text}") from error
            stages.say(text)
            raise

    def _leave_nothing(self) -> None:
        if self._own or self._found_empty:
            shutil.rmtree(self.path, ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder, if it is ours: the results are written."""
        if self._own:
            shutil.rmtree(self.path, ignore_errors=True)


def _written_anew(there: Mapping[str, Any], plan: Mapping[str, Any]) -> bool:
    """Whether the same files have another content, so that nothing can be gone on."""
    old, new = (
        {key: value for key, value in entry["data"].items() if key in ("views", "mask")}
        for entry in (there, plan)
    )
    return old != new and sorted(_paths(old)) == sorted(_paths(new))


def _paths(value: Any) -> Iterator[str]:
    """Every path in a fingerprint."""
    if isinstance(value, Mapping):
        if isinstance(value.get("path"), str):
            yield value["path"]
        for part in value.get("parts", ()):
            yield part[0]
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _paths(entry)
