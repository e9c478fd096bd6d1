"""The files of a run of the command line, with its choices, as files of a project."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from imvc.io._file_table import WORKBOOKS, split_sheet
from imvc.io._read_file import kind_and_stem
from imvc.studio._entries import StudioFile
from imvc.workflow import InputFiles, read_record
from imvc.workflow._commands import inputs_of


def files_of_run(folder: Path) -> tuple[list[StudioFile], dict[str, Any]]:
    """Files and joint choices of the ``run.json`` in a folder.

    Files that are not there any more are listed all the same.

    Raises
    ------
    ValueError
        If the run has no files, or choices that a project does not keep.
    """
    record = read_record(folder)
    if record.content["request"].get("inputs") is None:
        raise ValueError(f"{record.path}: tells of no files that are read at once.")
    inputs = inputs_of(record)
    assert isinstance(inputs, InputFiles)
    files = _files_of(inputs, list(record.content.get("result", {}).get("views", ())))
    views = {view for file in files for view in file.views or ()}
    for file in files:
        file.views = None if file.views == [file.view] else file.views
    return files, {
        "match_ids": inputs.match_ids,
        "empty_cells": inputs.preparation.empty_cells,
        "text": inputs.columns.text,
        "layer": inputs.layer,
        "id_map": None if inputs.id_map is None else os.fspath(inputs.id_map),
        "kinds": _of_no_view(inputs.columns.kinds, views),
        "ordinals": _of_no_view(inputs.columns.ordinals, views),
    }


def _files_of(inputs: InputFiles, views: list[str]) -> list[StudioFile]:
    """A file for every view of a run, and one of its metadata."""
    parts = [
        [os.fspath(own)] if isinstance(own, str | os.PathLike) else [*map(str, own)]
        for own in inputs.paths
    ]
    stems = [_stem(own[0]) for own in parts]
    names = [
        _chosen(inputs.names, j, {own[0], Path(own[0]).name, stems[j]}) or stems[j]
        for j, own in enumerate(parts)
    ]
    files = []
    for j, own in enumerate(parts):
        file = _file(j, own[0], names[j])
        others = {name for i, name in enumerate(names) if i != j}
        # A file with several views has all that no other file is called by.
        rest = [view for view in views if view not in others]
        file.views = [names[j]] if names[j] in views else rest or [names[j]]
        file.more = own[1:]
        keys = {own[0], file.name, stems[j], names[j]}
        turned = inputs.transpose
        if not isinstance(turned, bool):
            turned = bool(keys & set(turned))
        if file.options["sheet"] is None and Path(file.path).suffix in WORKBOOKS:
            file.options["sheet"] = inputs.sheet
        file.options["id_column"] = _chosen(inputs.id_columns, j, keys)
        file.options["transpose"] = turned
        file.options |= _by_view(inputs, file)
        files.append(file)
    if inputs.metadata is not None:
        source = os.fspath(inputs.metadata)
        files.append(_file(len(files), source, _stem(source)))
        files[-1].role = "metadata"
    return files


def _file(j: int, source: str, view: str) -> StudioFile:
    path, sheet = split_sheet(source)
    file = StudioFile(f"f{j + 1}", path.name, str(path.absolute()), view)
    file.options["sheet"] = sheet
    return file


def _by_view(inputs: InputFiles, file: StudioFile) -> dict[str, Any]:
    """What was chosen for the views of a file, which must be the same for all."""
    found = []
    for view in file.views or ():
        prepared = inputs.preparation.for_view(view)
        columns = inputs.columns
        found.append(
            {
                "log1p": prepared["log1p"],
                "scale": "standard" if prepared["standard"] else None,
                "top_variance": prepared["top_variance"],
                "drop": list(columns.drop.get(view, ())),
                "keep": list(columns.keep.get(view, ())),
                "kinds": _of_view(columns.kinds, view),
                "ordinals": _of_view(columns.ordinals, view),
            }
        )
    if any(own != found[0] for own in found):
        raise ValueError(
            f"{file.name}: its views were prepared in different ways, which is chosen "
            f"by file here; add the file and choose anew."
        )
    return found[0]


def _of_view(asked: Mapping[str, Any], view: str) -> dict[str, Any]:
    start = f"{view}="
    return {
        name.removeprefix(start): value
        for name, value in asked.items()
        if name.startswith(start)
    }


def _of_no_view(asked: Mapping[str, Any], views: set[str]) -> dict[str, Any]:
    """What is asked of columns in whatever view they are."""
    return {
        name: value for name, value in asked.items() if name.split("=")[0] not in views
    }


def _chosen(asked: Any, j: int, keys: set[str]) -> str | None:
    """What was asked for file `j`: for all, by name, or one each."""
    if asked is None or isinstance(asked, str):
        return asked
    if isinstance(asked, Mapping):
        return next((asked[key] for key in sorted(keys & set(asked))), None)
    return asked[j]


def _stem(source: str) -> str:
    """What a view is called by its file."""
    try:
        return kind_and_stem(Path(source), source)[1]
    except (OSError, ValueError):  # it is not there any more
        return Path(source).stem
