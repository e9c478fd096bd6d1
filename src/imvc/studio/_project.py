"""A studio project on disk: its files, how they are read, and its runs.

A project is a folder that the commands can read too: ``studio.json`` with the choices,
``files`` with what was uploaded, and in ``runs`` folders as ``imvc cluster -o`` writes
them.
"""

import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from imvc._files import atomic_write, check_folder
from imvc._plain import cut, plain, wrong_key
from imvc.io._output_folder import release_lock, take_lock
from imvc.studio._entries import (
    JOINT,
    ROLES,
    VERSION,
    StudioFile,
    StudioRun,
    checked_options,
    clean_name,
    defaults,
    ending,
    load_entries,
    read_json,
    saved_entries,
    stem_of,
)

MOST_FILES = 200
MAIN = "main"  # the run of a folder that is a result itself
STUDIO, _LOCK = "studio.json", ".studio.lock"
# What is shown of a run.json, and its kinds.
_RECORD = {"result": dict[str, Any], "seconds": dict[str, float], "warnings": list[str]}


class NotThere(LookupError):
    """A file or run that the project does not have."""


class Project:
    """The files, choices and runs of a project folder, locked for one studio.

    Parameters
    ----------
    folder : path-like
        Made if it is not there. One with a ``run.json`` becomes a project with that
        run and its files.

    Attributes
    ----------
    folder : Path
        Absolute.
    files : list of StudioFile
    joint : dict
        See `JOINT`.
    runs : list of StudioRun
    notes : list of str
        What was found when the project was opened.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        check_folder(folder)
        self.folder = Path(os.path.abspath(folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.files: list[StudioFile] = []
        self.joint = defaults(JOINT)
        self.runs: list[StudioRun] = []
        self.notes: list[str] = []
        self._guard = threading.RLock()
        self._handle: int | None = _lock(self.folder, str(folder))
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another studio open the project."""
        if self._handle is not None:
            release_lock(self._handle, self.folder / _LOCK)
            self._handle = None

    # Files

    def file(self, id: str) -> StudioFile:
        """The file of an id, or `NotThere`."""
        return _by_id(self.files, id, "file")

    def path(self, file: StudioFile) -> Path:
        """Where a file is."""
        return self.folder / file.path

    def entries(self) -> list[dict[str, Any]]:
        """The files as other processes take them: dicts with absolute paths."""
        with self._guard:
            return [
                {**asdict(file), "path": str(self.path(file))} for file in self.files
            ]

    def add_paths(self, paths: Iterable[str | os.PathLike[str]]) -> list[StudioFile]:
        """Take files where they are; folders stand for the tables in them."""
        found: list[Path] = []
        for path in map(Path, paths):
            if path.is_dir():
                found += tables_in(path)
            elif path.is_file():
                found.append(path)
            else:
                raise FileNotFoundError(f"{path}: no such file; check the path.")
        known = {self.path(file) for file in self.files}
        with self._guard:
            fresh = list(dict.fromkeys(map(_without_detours, found)))
            added = [
                self._add(path.name, str(path)) for path in fresh if path not in known
            ]
            self.save()
        return added

    def new_upload(self, name: str) -> tuple[str, Path]:
        """Id of a file to come and where to write it; `name` only tells the kind."""
        with self._guard:
            self._check_room()
            id = _next("f", (file.id for file in self.files), self._taken())
            path = self.folder / "files" / f"{id}{ending(name)}"
            path.parent.mkdir(exist_ok=True)
            # Reserved, so that two uploads at once never share a name.
            path.with_name(f"{id}.part").touch(exist_ok=False)
            return id, path

    def add_upload(self, id: str, name: str, path: Path) -> StudioFile:
        """Take a file that was uploaded."""
        with self._guard:
            relative = path.relative_to(self.folder).as_posix()
            file = self._add(name, relative, id=id, uploaded=True)
            self.save()
        return file

    def change_file(
        self,
        id: str,
        *,
        role: str | None = None,
        view: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Change what is chosen for a file; options that are not named stay."""
        with self._guard:
            file = self.file(id)
            if role is not None and role not in ROLES:
                raise ValueError(f"role={role!r} must be one of {', '.join(ROLES)}.")
            role = file.role if role is None else role
            name = file.view if view is None else clean_name(view)
            if not name:
                raise ValueError("view: a table needs a name; give one.")
            twins = [own for own in self.files if own.role == role and own is not file]
            if role in ("view", "new") and any(own.view == name for own in twins):
                raise ValueError(
                    f"view={name!r} is the name of another table; choose another name."
                )
            chosen = {**file.options, **checked_options(options or {})}
            if name != file.view or chosen["sheet"] != file.options["sheet"]:
                file.views = None
            file.role, file.view, file.options = role, name, chosen
            self.save()

    def remove_file(self, id: str) -> None:
        """Take a file out of the project; what was uploaded is deleted."""
        with self._guard:
            file = self.file(id)
            self.files.remove(file)
            self.save()
            if file.uploaded:
                self.path(file).unlink(missing_ok=True)

    def change_joint(self, *, match_ids: str) -> None:
        """Change how ids of different files are matched."""
        if match_ids not in ("exact", "loose"):
            raise ValueError(
                f"match_ids={match_ids!r} is unknown; pass 'exact' or 'loose'."
            )
        with self._guard:
            self.joint["match_ids"] = match_ids
            self.save()

    def learn_views(self, names: Mapping[str, Sequence[str]]) -> None:
        """Remember which views were found in files, by the files' ids."""
        with self._guard:
            changed = False
            for file in self.files:
                found = list(names.get(file.id) or ()) or file.views
                views = None if found == [file.view] else found
                changed |= views != file.views
                file.views = views
            if changed:
                self.save()

    # Runs

    def run(self, id: str) -> StudioRun:
        """The run of an id, or `NotThere`."""
        return _by_id(self.runs, id, "run")

    def run_folder(self, id: str) -> Path:
        """Where a run is."""
        return self.folder / self.run(id).folder

    def is_done(self, id: str) -> bool:
        """Whether a run was finished."""
        return (self.run_folder(id) / "run.json").is_file()

    def add_run(self, name: str | None, request: Mapping[str, Any]) -> StudioRun:
        """A run that is about to be made, with a folder for it."""
        with self._guard:
            (self.folder / "runs").mkdir(exist_ok=True)
            there = {path.name for path in (self.folder / "runs").iterdir()}
            id = _next("r", (run.id for run in self.runs), there)
            folder = f"runs/{id}"
            (self.folder / folder).mkdir()
            number = 1 + sum(run.id != MAIN for run in self.runs)
            run = StudioRun(
                id, clean_name(name or "") or f"Run {number}", folder, dict(request)
            )
            self.runs.append(run)
            self.save()
        return run

    def rename_run(self, id: str, name: str) -> None:
        """Give a run another name."""
        with self._guard:
            if not clean_name(name):
                raise ValueError("name: a run needs a name; give one.")
            self.run(id).name = clean_name(name)
            self.save()

    def remove_run(self, id: str) -> None:
        """Delete a run and its folder."""
        with self._guard:
            run = self.run(id)
            if run.folder == ".":
                raise ValueError(
                    f"{run.name!r} is the result that this folder holds; it is not "
                    f"deleted here. Delete the folder {self.folder} itself."
                )
            self.runs.remove(run)
            self.save()
            shutil.rmtree(self.folder / run.folder, ignore_errors=True)

    # The project as a whole

    def save(self) -> None:
        """Write ``studio.json``, whole or not at all."""
        content = saved_entries(self.files, self.runs, self.joint)
        with self._guard, atomic_write(self.folder / STUDIO) as out:
            out.write(json.dumps(plain(content), indent=1).encode() + b"\n")

    def to_dict(self, active: Iterable[str] = ()) -> dict[str, Any]:
        """The project in JSON's types; `active` are runs that are being made."""
        with self._guard:
            busy = set(active)
            return {
                "folder": str(self.folder),
                "version": VERSION,
                "files": [self.file_dict(file) for file in self.files],
                "joint": {"match_ids": self.joint["match_ids"]},
                "runs": [
                    self._run_dict(run) for run in self.runs if run.id not in busy
                ],
                "notes": list(self.notes),
            }

    def file_dict(self, file: StudioFile) -> dict[str, Any]:
        """A file as the page knows it: without its path."""
        path = self.path(file)
        return {
            "id": file.id,
            "name": file.name,
            "view": file.view,
            "role": file.role,
            "bytes": path.stat().st_size if path.is_file() else None,
            "uploaded": file.uploaded,
            "options": file.options,
        }

    def with_names(self, value: Any) -> Any:
        """Texts, also those in lists and dicts, with files called by their names."""
        names = {path: Path(path).name for file in self.files for path in file.more}
        names |= {str(self.path(file)): file.name for file in self.files}
        names[f"{self.folder}{os.sep}"] = ""
        longest_first = sorted(names, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)))
        return _replaced(value, lambda text: pattern.sub(lambda m: names[m[0]], text))

    def _run_dict(self, run: StudioRun) -> dict[str, Any]:
        folder = self.folder / run.folder
        record = _record(folder)
        result = {**(run.request or {}), **record.get("result", {})}
        seconds, warnings = record.get("seconds"), record.get("warnings")
        return {
            "id": run.id,
            "name": run.name,
            "state": "done" if self.is_done(run.id) else "interrupted",
            "method": result.get("method"),
            "n_clusters": result.get("n_clusters"),
            "n_samples": result.get("n_samples"),
            "created": record.get("created"),
            "seconds": sum(seconds.values()) if seconds else None,
            "edited": (folder / "labels_edited.csv").is_file(),
            "warning": self.with_names(warnings[0]) if warnings else None,
        }

    def _add(
        self, name: str, path: str, id: str | None = None, uploaded: bool = False
    ) -> StudioFile:
        self._check_room()
        shown = clean_name(name) or "table"
        stem, taken = stem_of(shown), {file.view for file in self.files}
        view = next(
            own
            for own in (stem, *(f"{stem}_{j}" for j in range(2, len(taken) + 3)))
            if own not in taken
        )
        id = id or _next("f", (file.id for file in self.files), self._taken())
        self.files.append(StudioFile(id, shown, path, view, uploaded=uploaded))
        return self.files[-1]

    def _check_room(self) -> None:
        if len(self.files) >= MOST_FILES:
            raise ValueError(
                f"the project has {MOST_FILES} files already, the most it takes; "
                f"remove some."
            )

    def _taken(self) -> set[str]:
        """Ids of files that are on disk, finished or not."""
        folder = self.folder / "files"
        there = folder.iterdir() if folder.is_dir() else ()
        return {path.name.split(".")[0] for path in there}

    def _open(self) -> None:
        if (self.folder / STUDIO).is_file():
            self.files, self.runs, self.joint = load_entries(self.folder / STUDIO)
        elif (self.folder / "run.json").is_file():
            self._take_result()
        for file in self.files:
            if not self.path(file).exists():
                self.notes.append(f"{file.name}: the file is not there any more.")
        self._drop_uploads_that_were_cut_off()
        self._find_runs()
        self.save()

    def _take_result(self) -> None:
        """Files and choices of the ``run.json`` that stands in the folder."""
        from imvc.studio._from_run import files_of_run

        try:
            self.files, joint = files_of_run(self.folder)
            self.joint |= joint
        except ValueError as error:
            self.notes.append(f"The files of the run are not taken over: {error}")

    def _drop_uploads_that_were_cut_off(self) -> None:
        for part in (self.folder / "files").glob("*.part"):
            part.unlink(missing_ok=True)
            self.notes.append("An upload was interrupted; give the file again.")

    def _find_runs(self) -> None:
        """Drop runs whose folders are gone; list those that are not listed."""
        for run in list(self.runs):
            folder = self.folder / run.folder
            own = run.folder == "." or re.fullmatch(r"runs/[\w-]+", run.folder)
            if not own or folder.is_symlink():
                raise ValueError(
                    f"{self.folder / STUDIO}: run {run.id!r} is outside of the "
                    f"project ({run.folder}); mend or remove that file."
                )
            gone = run.folder == "." and not (folder / "run.json").is_file()
            if gone or not folder.is_dir():
                self.runs.remove(run)
                self.notes.append(f"{run.name}: its folder is gone, so it is dropped.")
            elif not self.is_done(run.id):
                self.notes.append(
                    f"{run.name}: was interrupted; run it again or remove it."
                )
        known = {run.folder for run in self.runs}
        if "." not in known and (self.folder / "run.json").is_file():
            self.runs.insert(0, StudioRun(MAIN, self.folder.name, "."))
        for path in sorted((self.folder / "runs").glob("*/run.json")):
            folder = path.parent
            relative = folder.relative_to(self.folder).as_posix()
            ours = re.fullmatch(r"[\w-]+", folder.name) and not folder.is_symlink()
            if relative not in known and ours:
                self.runs.append(StudioRun(folder.name, folder.name, relative))


def tables_in(folder: Path) -> list[Path]:
    """The files in a folder whose endings say that they are tables."""
    found = [path for path in sorted(folder.iterdir()) if ending(path.name)]
    found = [path for path in found if path.is_file() and path.name[0] != "."]
    if not found:
        raise ValueError(f"{folder}: there is no table in this folder; name files.")
    return found


def _record(folder: Path) -> dict[str, Any]:
    """What ``run.json`` says; nothing where there is none as imvc writes it."""
    try:
        record = read_json(folder / "run.json")
    except (OSError, ValueError):
        return {}
    return record if wrong_key(record, _RECORD) is None else {}


def _without_detours(path: Path) -> Path:
    """An absolute path; a link in it stays one, unless ".." may lead out of it."""
    return path.parent.resolve() / path.name if ".." in path.parts else path.absolute()


def _next(letter: str, taken: Iterable[str], there: set[str]) -> str:
    used = {*taken, *there}
    return next(
        id for j in range(1, len(used) + 2) if (id := f"{letter}{j}") not in used
    )


def _by_id(entries: Sequence[Any], id: str, what: str) -> Any:
    found = next((entry for entry in entries if entry.id == id), None)
    if found is None:
        raise NotThere(f"there is no {what} {cut(id)!r}.")
    return found


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return replace(value) if os.sep in value else value
    if isinstance(value, Mapping):
        return {key: _replaced(own, replace) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(own, replace) for own in value]
    return value


def _lock(folder: Path, shown: str) -> int:
    try:
        return take_lock(folder / _LOCK, shown)
    except ValueError as error:
        raise ValueError(
            f"{shown}: a studio is open on this folder already; use that one, or "
            f"choose another folder with --project. ({error})"
        ) from None
