"""The folder that datasets lie in, and which file of it goes by which name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from imvc.datasets._benchmark_sets import REGISTRY, DatasetInfo, find_info, normalise

# In order of preference where a folder has both.
SUFFIXES = (".npz", ".mat")


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that datasets are read from; it need not exist.

    Parameters
    ----------
    data_home : path-like, default=None
        The folder. None: the environment variable ``IMVC_DATA``, else ``imvc`` in the
        user's cache directory (``XDG_CACHE_HOME``, else ``~/.cache``).

    Returns
    -------
    Path

    Examples
    --------
    >>> from imvc.datasets import get_data_home
    >>> get_data_home("data").name
    'data'
    """
    folder = data_home or os.environ.get("IMVC_DATA")
    if folder:
        return Path(folder).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "imvc"


def dataset_files(folder: Path) -> list[Path]:
    """List the .npz and .mat files of a folder by name, .npz first among equals."""
    if not folder.is_dir():
        return []
    files = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES]
    return sorted(
        (path for path in files if path.is_file()),
        key=lambda path: (path.stem, SUFFIXES.index(path.suffix.lower())),
    )


def match_file(names: Iterable[str], files: list[Path]) -> Path | None:
    """Return the file that goes by the first of these names that any file goes by."""
    for name in names:
        exact = [path for path in files if name in (path.name, path.stem)]
        close = [path for path in files if normalise(path.stem) == normalise(name)]
        # Files come .npz first within a stem, but stems may differ in spelling.
        found = exact or sorted(close, key=lambda path: path.suffix.lower() == ".mat")
        if found:
            return found[0]
    return None


def find_dataset(name: str, folder: Path) -> tuple[Path, DatasetInfo | None]:
    """Return the file of a dataset and its registry line, or say what is missing."""
    files = dataset_files(folder)
    info = find_info(name)
    path = match_file([name, *(info.files if info else ())], files)
    if path is not None:
        return path, info or find_info(path.stem)
    loadable = ", ".join(sorted({path.stem for path in files})) or "none"
    if info is None:
        known = ", ".join(known.name for known in REGISTRY)
        raise ValueError(
            f"unknown dataset {name!r}; published sets: {known}; files in {folder}: "
            f"{loadable}."
        )
    raise FileNotFoundError(
        f"dataset {info.name!r} is not in {folder}. It is published at {info.source}; "
        f"put it there as {info.files[0]}.npz or {info.files[0]}.mat, or pass the "
        "folder as data_home or in the environment variable IMVC_DATA. Files there "
        f"that can be loaded by their name: {loadable}."
    )
