"""The folder that datasets lie in, which file goes by which name, and what is in it."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from imvc._plain import fits
from imvc.datasets._benchmark_sets import REGISTRY, DatasetInfo, find_info, normalise
from imvc.datasets._dataset import default_view_names
from imvc.io._errors import input_error
from imvc.io._matlab import (
    LABELS,
    describe_variables,
    find_labels,
    find_views,
    kind_of_mat,
    read_variables,
)
from imvc.io._npz import read_archive

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


def read_dataset_file(path: Path) -> dict[str, Any]:
    """`Xs`, `y`, `names` and, where the file has them, `mask` and `description`."""
    return _read_npz(path) if path.suffix.lower() == ".npz" else _read_mat(path)


def _read_npz(path: Path) -> dict[str, Any]:
    """Parts of a dataset: the views X0, X1, ..., y and, if incomplete, mask.

    View names and notes come from a sidecar ``<stem>.json`` with the keys
    ``view_names`` and ``notes``, where there is one.
    """
    with _reading(path, "a NumPy archive of plain arrays"):
        arrays = read_archive(path, str(path))
    Xs: list[NDArray[Any]] = []
    while f"X{len(Xs)}" in arrays:
        Xs.append(arrays[f"X{len(Xs)}"])
    if not Xs or "y" not in arrays:
        raise ValueError(
            f"{path} has the arrays {', '.join(sorted(arrays)) or 'none'}; expected "
            "the views as X0, X1, ... and the labels as y."
        )
    sidecar = _read_sidecar(path.with_suffix(".json"))
    names = sidecar.get("view_names") or default_view_names(len(Xs))
    return {
        "Xs": Xs,
        "y": arrays["y"],
        "mask": arrays.get("mask"),
        "names": tuple(str(name) for name in names),
        "description": str(sidecar.get("notes", "")),
    }


def _read_sidecar(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not valid JSON ({error}); mend or remove it."
        ) from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object; mend or remove it.")
    if not fits(content.get("view_names"), list[str] | None):
        raise ValueError(
            f"{path}: view_names must be a list of texts; mend or remove it."
        )
    return content


def _read_mat(path: Path) -> dict[str, Any]:
    """Parts of a dataset; cells that are sparse stay sparse."""
    with _reading(path, kind_of_mat(path)):
        variables = read_variables(path)
    y = find_labels(variables)
    if y is None:
        raise input_error(
            str(path),
            f"has no vector of labels; expected one of {', '.join(LABELS)} among its "
            f"variables: {describe_variables(variables)}.",
        )
    views = find_views(variables, len(y), str(path))
    return {"Xs": list(views.values()), "y": y, "names": tuple(views)}


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises on damage into an error that names the file."""
    try:
        yield
    except (PermissionError, ImportError):
        raise
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read as {kind} ({error}); it may be damaged: fetch it "
            "again."
        ) from error
