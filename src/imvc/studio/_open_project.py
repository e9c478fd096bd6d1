"""open_project: the project that the paths of a command stand for."""

import os
from collections.abc import Sequence
from pathlib import Path

from imvc.studio._project import STUDIO, Project, tables_in

DEFAULT_FOLDER = "imvc_studio"


def open_project(
    paths: Sequence[str | os.PathLike[str]] = (),
    folder: str | os.PathLike[str] | None = None,
) -> Project:
    """The project for the paths of a command.

    Parameters
    ----------
    paths : sequence of path-like
        Files, folders of tables, or one folder that is a project or a result.
    folder : path-like, optional
        Of the project. By default that among `paths`, or ``imvc_studio`` here.
    """
    given = [Path(path) for path in paths]
    own = [path for path in given if _is_project(path)]
    rest = [path for path in given if path not in own]
    for path in rest:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file; check the path.")
        if path.is_dir():
            tables_in(path)
    if len(own) > 1 or (own and folder is not None and Path(folder) != own[0]):
        raise ValueError(
            f"{own[-1]}: is a project or a result, and a studio opens one; give it "
            f"alone, without --project."
        )
    project = Project(own[0] if own else folder or DEFAULT_FOLDER)
    try:
        project.add_paths(rest)
    except BaseException:
        project.close()
        raise
    return project


def _is_project(path: Path) -> bool:
    return any((path / name).is_file() for name in (STUDIO, "run.json"))
