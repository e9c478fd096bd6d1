"""SavedRun: a run in the folder that it was saved to."""

import csv
import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import atomic_write
from imvc._plain import fits, wrong_key
from imvc.insight import Description, describe
from imvc.insight._sample_map import planes
from imvc.io import FittedPreparation, InputError, file_of
from imvc.io._errors import need
from imvc.methods import load_model
from imvc.views import IncompleteViews
from imvc.workflow._batch_effects import BatchEffects
from imvc.workflow._cluster import in_units, not_features
from imvc.workflow._input_files import fingerprint_of
from imvc.workflow._run_json import RunRecord, read_record

_MAP = ".map.npz"
_FORMATS = (".csv", ".parquet", ".npy", ".zarr")
_TRUE = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class RunData:
    """What the files of a run hold, read again.

    Parameters
    ----------
    views : IncompleteViews
        Prepared as in the run, its samples in the same order.
    metadata : dict of str to ndarray of object
    preparation : FittedPreparation
    """

    views: IncompleteViews
    metadata: dict[str, np.ndarray]
    preparation: FittedPreparation


class SavedRun:
    """A folder that ``imvc cluster`` or `ClusterRun.save` wrote, opened again.

    Only what is asked for is read. Nothing is unpickled.

    Parameters
    ----------
    folder : path-like
        With a ``run.json``.

    Attributes
    ----------
    folder : Path
    record : RunRecord
    ids : ndarray of object
        Ids of the samples, as text.
    labels : ndarray of int64
        Clusters of the samples, as the run found them.
    columns : dict of str to ndarray
        What the file of labels says of every sample: ``cluster``, ``confidence``, ...

    Examples
    --------
    >>> import tempfile
    >>> from imvc.datasets import make_views
    >>> from imvc.workflow import SavedRun, cluster
    >>> data = make_views(60, (6, 5), 3, separation=8, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = cluster(data.Xs, n_clusters=3, n_refits=0).save(folder, report=False)
    ...     run = SavedRun(folder)
    ...     len(run.labels), run.embedding.shape[0], run.data_problem()
    (60, 60, 'the views of this run came from memory, not from files')
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.record: RunRecord = read_record(self.folder)
        self.ids, self.columns = self._read_labels()
        self.labels: np.ndarray = self.columns["cluster"]
        # Files whose content was compared: by what they are known, and whether it is
        # that of the run.
        self._seen: dict[Path, tuple[tuple[int, int], bool]] = {}

    @property
    def result(self) -> dict[str, Any]:
        """What ``run.json`` says in short of the result."""
        found = self.record.content.get("result")
        return found if isinstance(found, dict) else {}

    @property
    def method(self) -> str:
        """Name of the method."""
        return str(self.record.content["request"].get("method"))

    @property
    def can_predict(self) -> bool:
        """Whether there is a model that places new samples."""
        return (self.folder / "model.imvc").is_file()

    @cached_property
    def model(self) -> Any:
        """The fitted model; an error where the method keeps none."""
        if not self.can_predict:
            raise ValueError(
                f"{self.folder}: has no model.imvc, since the method {self.method!r} "
                f"has no rule for new samples; cluster with another method for that."
            )
        return load_model(self.folder / "model.imvc")

    @cached_property
    def embedding(self) -> np.ndarray:
        """What the samples were clustered by, (n_samples, d)."""
        path = self._result_file("embedding")
        if path.suffix == ".csv":
            with _reading(path):
                found = np.loadtxt(
                    _without_ids(path), delimiter=",", ndmin=2, dtype=np.float64
                )
        else:
            found = _read_array(path)
        if found.ndim != 2 or len(found) != len(self.labels):
            raise _altered(path, f"has not one row for each of {len(self.ids)} samples")
        return found

    def described_by(self) -> dict[str, str]:
        """Columns that the clusters were compared with, and their kinds.

        As ``run.json`` tells it, so that no table is read. A column that the samples
        were clustered by is none of them.
        """
        listed: Any = self.result.get("associations")
        found = {
            own["name"]: own["kind"]
            for own in (listed if fits(listed, list[dict]) else ())
            if wrong_key(own, {"name": str, "kind": str}) is None
        }
        for name in self.record.content["request"].get("survival") or ():
            found.setdefault(str(name), "number")
        return found

    # The files of the run

    def data_problem(self, thorough: bool = False) -> str | None:
        """Why the tables of the run cannot be looked at; None if they can.

        Unless that is to be `thorough`, files are the same if their sizes are, or if
        their content was compared before.
        """
        request = self.record.content["request"]
        if "out_of_core" in request:
            return (
                "this run was made out of core (--out-of-core): its tables may not fit "
                "into memory"
            )
        if request.get("inputs") is None:
            return "the views of this run came from memory, not from files"
        try:
            for path, mark in zip(
                self.record.inputs().all_paths(), self.record.content["files"]
            ):
                self._check_file(path, mark, thorough)
        except (OSError, ValueError) as error:
            return str(error).rstrip(".")
        return None

    @cached_property
    def data(self) -> RunData:
        """Views and metadata, read from the files of the run again.

        Raises
        ------
        ValueError
            There are no such files, they are gone, or are not what they were.
        """
        problem = self.data_problem(thorough=True)
        if problem is not None:
            raise ValueError(
                f"{self.folder}: features and metadata cannot be shown: {problem}."
            )
        # They are byte by byte what the run has read, so that no guard is needed.
        found = self.record.inputs().look()
        ids = np.asarray(found.views.sample_ids).astype(str).astype(object)
        if not np.array_equal(ids, self.ids):
            raise ValueError(
                f"{self.folder}: its files give other samples than its labels have; "
                f"cluster them anew."
            )
        return RunData(found.views, found.metadata, found.preparation)

    def take_data(self, other: "SavedRun") -> bool:
        """Use what another run has read, if its files and their options are the same.

        Returns whether there is something to use.
        """
        if "data" in self.__dict__:
            return True
        if "data" not in other.__dict__ or self._data_key() != other._data_key():
            return False
        if not np.array_equal(self.ids, other.ids):
            return False
        self.__dict__["data"] = other.data  # as if it had been read
        return True

    def _data_key(self) -> Any:
        files = [mark["sha256"] for mark in self.record.content["files"]]
        return self.record.content["request"].get("inputs"), files

    def views(self) -> IncompleteViews:
        """The views that were clustered: without batch effects where adjusted."""
        views, adjust = self.data.views, self.record.checked_request()["adjust"]
        kept = getattr(self.model, "batch_effects_", None) if adjust else None
        if kept is None:
            return views
        effects = BatchEffects.from_dict(kept)
        return effects.apply(views, self.data.metadata[effects.column])

    def metadata(self) -> dict[str, np.ndarray]:
        """Columns that describe the samples, in their order."""
        return self.data.metadata

    def feature(self, view: str, name: str) -> np.ndarray:
        """One feature of every sample, in the units of its file; NaN if not observed.

        What was made a logarithm stays one; empty cells are as they were filled.
        """
        views = self.data.views
        if view not in views.names:
            raise ValueError(
                f"view={view!r} is none of the run; it has {', '.join(views.names)}."
            )
        v = views.names.index(view)
        names = views.feature_names[v] or ()
        if name not in names:
            raise ValueError(f"{view!r} has no feature {name!r}; see its features.")
        values, rows = np.full(views.n_samples, np.nan), views.rows(v)
        positions = views.positions[v]
        found = views.arrays[v][:, [names.index(name)]]
        column = found.toarray() if hasattr(found, "toarray") else found
        values[rows] = column[rows if positions is None else positions[rows], 0]
        return np.asarray(self.data.preparation.in_units(view, name, values))

    def describe(
        self, selected: Any, *, survival: tuple[str, str] | None = None
    ) -> Description:
        """What is special about some samples; see `imvc.describe`.

        Parameters
        ----------
        selected : array-like of bool or int
        survival : (time, event), optional
            Names of two columns of the metadata.

        Returns
        -------
        Description
            With means in the units of the files.
        """
        views = self._clustered
        found = describe(
            views,
            selected,
            metadata=not_features(self.data.metadata, views),
            survival=survival,
        )
        return replace(found, features=in_units(found.features, self.data.preparation))

    @cached_property
    def _clustered(self) -> IncompleteViews:
        # What batches added is not known where the method keeps no model.
        return self.views() if self.can_predict else self.data.views

    # The map

    def planes(self) -> list[dict[str, Any]]:
        """Coordinates of all samples in planes, as the report draws them.

        They take seconds to find, and are kept in the folder of the run.
        """
        digest = hashlib.sha256(self.embedding.tobytes()).hexdigest()
        path = self.folder / _MAP
        kept = _kept_planes(path, digest, len(self.labels))
        if kept is not None:
            return kept
        found = planes(self.embedding)
        arrays: dict[str, Any] = {
            f"{i}_{axis}": np.array(plane[axis])
            for i, plane in enumerate(found)
            for axis in "xy"
        }
        names = np.array([plane["name"] for plane in found])
        try:
            with atomic_write(path, durable=False) as file:
                np.savez(file, digest=np.array(digest), names=names, **arrays)
        except OSError:  # a folder that may only be read has its map all the same
            pass
        return found

    # Labels on disk

    def _result_file(self, stem: str) -> Path:
        for suffix in _FORMATS:
            path = self.folder / f"{stem}{suffix}"
            if path.exists():
                return path
        raise FileNotFoundError(
            f"{self.folder}: has no file of {stem}; give a folder that imvc cluster "
            f"wrote."
        )

    def _read_labels(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        path = self._result_file("labels")
        ids: np.ndarray | None
        if path.suffix in (".csv", ".parquet"):
            ids, columns = read_labels(path)
        else:
            columns = {"cluster": _read_array(path)}
            beside = self.folder / "ids.csv"
            ids = read_labels(beside)[0] if beside.is_file() else None
        labels = columns.get("cluster")
        if labels is None or labels.dtype.kind not in "iu" or labels.min(initial=0) < 0:
            raise _altered(path, "has no column 'cluster' of whole numbers")
        if ids is None:
            ids = np.arange(len(labels)).astype(str).astype(object)
        if len(labels) == 0 or len(ids) != len(labels):
            raise _altered(path, "has no samples, or not one id for each")
        columns["cluster"] = labels.astype(np.int64)
        return ids, columns

    def _check_file(self, path: Path, mark: Mapping[str, Any], thorough: bool) -> None:
        """Refuse a file that is not the run's; what was seen is not read again."""
        stat = file_of(path).stat()
        now = (stat.st_size, stat.st_mtime_ns)
        before, same = self._seen.get(path, (None, False))
        if before != now:
            same = stat.st_size == mark.get("bytes", stat.st_size)
            if same and thorough:
                same = fingerprint_of(path)["sha256"] == mark["sha256"]
                self._seen[path] = now, same
        if not same:
            raise ValueError(
                f"{path}: is not the file of that run any more (SHA-256 differs); "
                f"bring the old file back, or cluster anew"
            )

    def __repr__(self) -> str:
        return f"<SavedRun: {self.folder}, {len(self.labels)} samples>"


def _altered(path: Path, what: str) -> InputError:
    return InputError(f"{path}: {what}, as imvc writes it; make the run again.")


class _reading:
    """Name the file in whatever error its reading ends with."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, InputError | ImportError | OSError):
            return
        if isinstance(error, Exception):
            raise _altered(self.path, f"cannot be read ({error})") from error


def read_labels(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Ids and typed columns of a table as `imvc.io.write_labels` writes it."""
    cells = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    if "id" not in cells:
        raise _altered(path, "has no column 'id'")
    ids = np.asarray(cells.pop("id")).astype(str).astype(object)
    return ids, {name: _typed(column) for name, column in cells.items()}


def _read_csv(path: Path) -> dict[str, Any]:
    with _reading(path), open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        head = next(rows, [])
        columns: Sequence[Any] = list(zip(*rows, strict=True)) or [()] * len(head)
        return dict(zip(head, columns, strict=True))


def _without_ids(path: Path) -> Any:
    """Lines of a table without its head and its first column."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows, None)
        yield from (",".join(row[1:]) for row in rows)


def _read_parquet(path: Path) -> dict[str, Any]:
    parquet = need("pyarrow.parquet", str(path))
    with _reading(path):
        table = parquet.read_table(path)
        return {
            name: column.to_numpy(zero_copy_only=False)
            for name, column in zip(table.column_names, table.columns)
        }


def _read_array(path: Path) -> np.ndarray:
    """An array of numbers from .npy, .zarr or the columns of a Parquet file."""
    with _reading(path):
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".zarr":
            return np.asarray(
                need("zarr", str(path), "dask").open_array(path, mode="r")
            )
        columns = _read_parquet(path)
        columns.pop("id", None)
        return np.column_stack([np.asarray(c, np.float64) for c in columns.values()])


def _typed(column: Any) -> np.ndarray:
    """A column as numbers or flags where all of it is; empty cells are NaN."""
    found = np.asarray(column)
    if found.dtype.kind in "biuf":
        return found
    texts = found.tolist()
    if set(texts) <= set(_TRUE):
        return np.array([_TRUE[text] for text in texts])
    kinds: tuple[Callable[[Any], Any], ...] = (int, _float)
    for kind in kinds:
        try:
            return np.array([kind(text) for text in texts])
        except (TypeError, ValueError, OverflowError):
            continue
    return found.astype(object)


def _float(text: Any) -> float:
    return np.nan if text in (None, "") else float(text)


def _kept_planes(path: Path, digest: str, n: int) -> list[dict[str, Any]] | None:
    """Planes that were found before; None where there are none of this embedding."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["digest"]) != digest:
                return None
            found = [
                {"name": str(name), "x": kept[f"{i}_x"], "y": kept[f"{i}_y"]}
                for i, name in enumerate(kept["names"])
            ]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # a damaged one is made again
    axes = [plane[axis] for plane in found for axis in ("x", "y")]
    if not found or any(a.shape != (n,) or a.dtype.kind not in "iu" for a in axes):
        return None
    return [{**p, "x": p["x"].tolist(), "y": p["y"].tolist()} for p in found]
