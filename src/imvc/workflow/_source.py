"""What a workflow starts from: files, or views that are there already."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from imvc.io import FittedPreparation, Preparation, ViewFiles, read_views
from imvc.views import IncompleteViews, as_views
from imvc.workflow._stages import Stages

__all__ = ["InputFiles", "Source", "open_source"]


@dataclass(frozen=True)
class InputFiles:
    """Files of views and how to read them; parameters as in `imvc.io.read_views`.

    Parameters
    ----------
    paths : sequence of path-like
    id_columns : str, mapping or sequence of str, optional
    names : sequence of str, optional
    non_numeric : {"drop", "onehot", "error"}
    transpose : bool or sequence of str
        Views whose files have samples in columns; True for all.
    preparation : Preparation
    metadata : path-like, optional
        A table with ids and what is known of the samples.
    layer : str, optional
        For .h5ad and .h5mu: what to read instead of ``X``.
    """

    paths: Sequence[str | os.PathLike[str]]
    id_columns: str | Mapping[str, str] | Sequence[str | None] | None = None
    names: Sequence[str] | None = None
    non_numeric: str = "drop"
    transpose: bool | Sequence[str] = ()
    preparation: Preparation = field(default_factory=Preparation)
    metadata: str | os.PathLike[str] | None = None
    layer: str | None = None

    def read(self) -> ViewFiles:
        """Read, prepare and join the files."""
        return read_views(
            [Path(path) for path in self.paths],
            id_columns=self.id_columns,
            names=self.names,
            non_numeric=self.non_numeric,
            transpose=self.transpose,
            preparation=self.preparation,
            metadata=self.metadata,
            layer=self.layer,
        )

    def all_paths(self) -> list[Path]:
        """The files of views and the metadata."""
        extra = [] if self.metadata is None else [self.metadata]
        return [Path(path) for path in (*self.paths, *extra)]

    def to_dict(self) -> dict[str, Any]:
        """The options in JSON's types; without the paths, which `run.json` lists."""
        return {
            "id_columns": _plain(self.id_columns),
            "names": _plain(self.names),
            "non_numeric": self.non_numeric,
            "transpose": _plain(self.transpose),
            "preparation": {k: _plain(v) for k, v in asdict(self.preparation).items()},
            "metadata": self.metadata is not None,
            "layer": self.layer,
        }

    @classmethod
    def from_dict(cls, options: Mapping[str, Any], paths: Sequence[Path]):
        """The inverse of `to_dict`, given `all_paths` again."""
        paths = list(paths)
        metadata = paths.pop() if options["metadata"] else None
        asked = dict(options["preparation"])
        if isinstance(asked.get("log1p"), list):
            asked["log1p"] = tuple(asked["log1p"])
        return cls(
            paths=paths,
            id_columns=options["id_columns"],
            names=options["names"],
            non_numeric=options["non_numeric"],
            transpose=options["transpose"],
            preparation=Preparation(**asked),
            metadata=metadata,
            layer=options["layer"],
        )


@dataclass(frozen=True, eq=False)
class Source:
    """Views ready to be clustered, and where they come from."""

    views: IncompleteViews
    preparation: FittedPreparation | None = None
    notes: tuple[str, ...] = ()
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    inputs: InputFiles | None = None
    fingerprints: tuple[dict[str, Any], ...] = ()


def open_source(source: Any, stages: Stages, *, fingerprint: bool = True) -> Source:
    """Views from files, from files read before, or from anything `as_views` takes."""
    if isinstance(source, InputFiles):
        with stages.run("read"):
            found = source.read()
        marks: tuple[dict[str, Any], ...] = ()
        if fingerprint:
            with stages.run("checksums"):
                marks = tuple(fingerprint_of(path) for path in source.all_paths())
        for note in found.notes:
            stages.say(note)
        return Source(
            found.views, found.preparation, found.notes, found.metadata, source, marks
        )
    if isinstance(source, ViewFiles):
        return Source(source.views, source.preparation, source.notes, source.metadata)
    return Source(as_views(source))


def fingerprint_of(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file, by which a later run knows it again."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
