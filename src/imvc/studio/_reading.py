"""How the files of a project are read: each by itself, and all together."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from imvc._plain import error_text, is_wrong_input, plain
from imvc.insight._column_kinds import read_column
from imvc.io import KeptFiles, ViewFiles, column_table, file_of, read_metadata
from imvc.io._excel import sheet_names
from imvc.studio._choices import input_files, source_of
from imvc.workflow import inspect_source

File = Mapping[str, Any]

_COLUMN = ("column", "kind", "why", "n_empty", "n_rows", "n_columns")
_LISTED, _MOST_COLUMNS = 2_000, 5_000  # columns of a table, entries of a file
_EMPTY: dict[str, Any] = {
    "error": None,
    "view_names": [],
    "id_column": None,
    "id_candidates": [],
    "sheets": [],
    "n_rows": None,
    "n_columns": None,
    "notes": [],
    "warnings": [],
    "columns": [],
}


class Readings:
    """Reads the files of a project, and again only what changed."""

    def __init__(self) -> None:
        self._kept = KeptFiles()
        self._last: tuple[str, dict[str, Any]] | None = None

    def reading(
        self, files: Sequence[File], joint: Mapping[str, Any]
    ) -> dict[str, Any]:
        """`Reading` of the contract; kept until a file or a choice changes."""
        key = json.dumps([files, joint, [_mark(file) for file in files]])
        if self._last is None or self._last[0] != key:
            self._kept.drop_others(
                own
                for file in files
                for own in (source_of(file), *file.get("more", ()))
            )
            self._last = key, self._read(files, joint)
        return self._last[1]

    def _read(self, files: Sequence[File], joint: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {
            "error": None,
            "error_file": None,
            "files": {},
            "inspection": None,
            "upset": None,
            "notes": [],
            "warnings": [],
            "metadata": [],
            "counts": {},
        }
        together = [file for file in files if file["role"] in ("view", "metadata")]
        if any(file["role"] == "view" for file in together):
            try:
                found |= self._all(together, joint)
            except Exception as error:
                found["error"] = _told(error)
                found["error_file"] = _named_in(found["error"], together)
        for file in files:
            if file["id"] not in found["files"]:
                found["files"][file["id"]] = self._alone(file, joint)
        return plain(found, otherwise=lambda _: None)

    def _all(self, files: Sequence[File], joint: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be said of all files, read together."""
        inputs = input_files(files, joint)
        # An empty cell is counted here, not refused.
        inputs = replace(
            inputs, preparation=replace(inputs.preparation, empty_cells="fill")
        )
        read = inputs.look(self._kept)
        inspection, _ = inspect_source(read)
        views = [file for file in files if file["role"] == "view"]
        by_file = self._by_file(views, read)
        for file in files:
            if file["role"] == "metadata":
                by_file[file["id"]] = self._metadata(file, read)
        own = [text for one in by_file.values() for text in one.pop("own", ())]
        warnings = [text for text in inspection.warnings if text not in own]
        return {
            "files": by_file,
            "inspection": inspection.to_dict(),
            "upset": inspection.to_svg(),
            "notes": [note for note in read.notes if note not in own],
            "warnings": warnings,
            "metadata": list(read.metadata),
            "counts": {
                "samples": inspection.n_samples,
                "complete": inspection.n_complete,
                "views": len(inspection.views),
                "features": list(read.views.n_features),
            },
        }

    def _alone(self, file: File, joint: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be said of a file that is not, or cannot be, read with others."""
        if file["role"] == "off":
            return dict(_EMPTY)
        try:
            if file["role"] == "metadata":
                return self._without_own(self._metadata(file, None))
            alone = {**file, "role": "view"}
            read = input_files([alone], joint).look(self._kept)
            return self._without_own(self._by_file([alone], read)[file["id"]])
        except Exception as error:
            return {**_EMPTY, **self._about(file), "error": _told(error)}

    @staticmethod
    def _without_own(entry: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in entry.items() if key != "own"}

    def _by_file(self, files: Sequence[File], read: ViewFiles) -> dict[str, Any]:
        """What was found in each file: its tables follow each other."""
        rest = list(zip(read.tables, read.preparation.views, strict=True))
        found = {}
        for file in files:
            own = []
            while rest and _is_of(rest[0][0].source, file):
                own.append(rest.pop(0))
            columns: list[dict[str, Any]] = [
                dict(zip(_COLUMN, entry))
                for table, view in own
                for entry in column_table(table, view, _LISTED)
            ]
            texts = {t.source: t for t, _ in own}
            found[file["id"]] = {
                **_EMPTY,
                **self._about(file),
                **_split(texts, read),
                "view_names": [table.name for table, _ in own],
                "id_column": next((t.id_column for t, _ in own), None),
                "n_rows": max((t.n_rows for t, _ in own), default=None),
                "n_columns": sum(entry["n_columns"] for entry in columns),
                "columns": columns[:_MOST_COLUMNS],
            }
        return found

    def _metadata(self, file: File, read: ViewFiles | None) -> dict[str, Any]:
        """What was found in a table that describes samples."""
        source = source_of(file)
        samples = None if read is None else read.views.sample_ids
        ids, columns, notes = read_metadata(
            source, samples=samples, guard=True, read=self._kept
        )
        start = f"{source}: "
        n = len(ids) if ids is not None else len(next(iter(columns.values()), ()))
        listed = []
        for name, values in columns.items():
            known = read_column(values)
            entry = (name, known.kind, "describes samples", n - known.n_known, n, 1)
            listed.append(dict(zip(_COLUMN, entry)))
        texts = {source: None}
        said = {} if read is None else _split(texts, read)
        return {
            **_EMPTY,
            **self._about(file),
            "notes": [note.removeprefix(start) for note in notes],
            **said,
            "view_names": [],
            "id_column": self._kept.id_column(source, samples),
            "n_rows": n,
            "n_columns": len(columns),
            "columns": listed[:_MOST_COLUMNS],
        }

    def _about(self, file: File) -> dict[str, Any]:
        source = source_of(file)
        return {
            "sheets": sheet_names(file_of(source)),
            "id_candidates": self._kept.id_candidates(source),
        }


def _split(sources: Mapping[str, Any], read: ViewFiles) -> dict[str, Any]:
    """Notes and warnings that begin with a source, without it; and as they were."""
    found: dict[str, Any] = {"notes": [], "warnings": [], "own": []}
    for kind, texts in (("notes", read.notes), ("warnings", read.warnings)):
        for text in texts:
            source = next((s for s in sources if text.startswith(f"{s}: ")), None)
            if source is not None:
                found[kind].append(text.removeprefix(f"{source}: "))
                found["own"].append(text)
    return found


def _is_of(source: str, file: File) -> bool:
    """Whether a table came from a file: it may be a sheet or one view of it."""
    own = source_of(file)
    begins = (f"{own}::", f"{file['path']}::", f"{own} + ")
    return source == own or source.startswith(begins)


def _named_in(text: str, files: Sequence[File]) -> str | None:
    """The file that an error is about: the one that it begins with."""
    by_length = sorted(files, key=lambda file: -len(file["path"]))
    for file in by_length:
        if text.startswith((f"{file['path']}:", f"{source_of(file)}:")):
            return file["id"]
    return None


def _told(error: Exception) -> str:
    """What a page says of an error; what is no fault of the user's goes on."""
    if is_wrong_input(error) or isinstance(error, ImportError | MemoryError | OSError):
        return error_text(error)
    raise error


def _mark(file: File) -> list[Any]:
    """By what the content of a file is known to be unchanged."""
    marks = []
    for path in (file["path"], *file.get("more", ())):
        own = file_of(path)
        stat = os.stat(own) if own.is_file() else None
        marks.append(stat and (stat.st_size, stat.st_mtime_ns))
    return marks
