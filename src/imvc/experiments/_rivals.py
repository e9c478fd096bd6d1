"""Methods of other programs, run by another Python through an adapter.

An adapter is an entry of a TOML file and a file beside it; those of the package are in
``_adapters``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from imvc.experiments._own_method import digest
from imvc.experiments._rival_process import RivalError, ask_rival, leave_rivals
from imvc.experiments._suite import SuiteError

_ADAPTERS = Path(__file__).parent / "_adapters" / "adapters.toml"
_TEXTS = ("title", "url", "file", "package", "install")
_KEYS: dict[str, type] = {**dict.fromkeys(_TEXTS, str), "methods": list}


@dataclass(frozen=True)
class Rival:
    """A method of another program, run by a Python that has it.

    Parameters
    ----------
    name, label : str
        In the records; in tables.
    adapter, method : str
        The entry of the TOML file, and which of its methods.
    file, package, python, version : str
        The adapter's file, its package, the Python that runs it and the version found.
    """

    name: str
    label: str
    adapter: str
    method: str
    file: str
    package: str
    python: str
    version: str

    def estimator(self) -> Callable[..., Any]:
        """What makes an estimator, called with ``n_clusters`` and ``random_state``."""

        def make(n_clusters: int, random_state: int = 0) -> _RivalEstimator:
            return _RivalEstimator(self, n_clusters, random_state)

        return make


@dataclass
class _RivalEstimator:
    """A rival in the shape of an estimator."""

    rival: Rival
    n_clusters: int
    random_state: int
    labels_: np.ndarray = field(init=False)
    rival_seconds_: dict[str, float] = field(init=False)
    rival_memory_: int = field(init=False)

    def fit(self, Xs: list[np.ndarray], *, mask: np.ndarray) -> _RivalEstimator:
        task = {
            "method": self.rival.method,
            "n_clusters": int(self.n_clusters),
            "random_state": int(self.random_state),
        }
        Xs = [np.asarray(X, dtype=np.float64) for X in Xs]
        where = (self.rival.python, self.rival.file, self.rival.package)
        result = ask_rival(*where, task, Xs, mask)
        self.labels_ = np.array(result["labels"], dtype=np.int64)
        self.rival_seconds_ = result["seconds"]
        self.rival_memory_ = result["peak_memory"]
        return self

    def get_params(self) -> dict[str, Any]:
        return {
            "n_clusters": self.n_clusters,
            "random_state": self.random_state,
            "adapter": self.rival.adapter,
            "package": self.rival.package,
            "version": self.rival.version,
        }


def list_adapters() -> tuple[str, ...]:
    """Names of the adapters that come with the package.

    Examples
    --------
    >>> from imvc.experiments import list_adapters
    >>> list_adapters()
    ('imml', 'mofa')
    """
    return tuple(_entries(_ADAPTERS))


def find_rivals(text: str) -> list[Rival]:
    """The methods of an adapter, after a look whether its Python can load it.

    Parameters
    ----------
    text : str
        As after ``--with``: one of `list_adapters` or the path of a ``.toml`` file, and
        after an equals sign the Python to run it, or the folder of its environment;
        that of imvc by default.

    Returns
    -------
    list of Rival
        For `plan_suite`.
    """
    adapter, sign, where = text.partition("=")
    if os.path.exists(text):
        adapter, sign, where = text, "", ""
    python = _python(where, text) if sign else sys.executable
    if adapter.endswith(".toml"):
        path = Path(adapter)
        if not path.is_file():
            raise ValueError(f"--with {text}: there is no file {adapter!r}.")
        entries = _entries(path)
    elif adapter in list_adapters():
        path, entries = _ADAPTERS, {adapter: _entries(_ADAPTERS)[adapter]}
    else:
        raise ValueError(
            f"--with {text}: unknown adapter {adapter!r}; there are: "
            f"{', '.join(list_adapters())}; or give the path of a .toml file."
        )
    return [
        rival
        for name, entry in entries.items()
        for rival in _rivals(name, entry, path, python, text)
    ]


def _rivals(
    name: str, entry: dict[str, Any], path: Path, python: str, text: str
) -> list[Rival]:
    file = (path.parent / entry["file"]).resolve()
    if not file.is_file():
        raise ValueError(f"{path.name}: {name}.file: there is no {entry['file']!r}.")
    package = entry.get("package", "")
    try:
        version = ask_rival(python, str(file), package, {}).get("version", "")
        leave_rivals()
    except (RivalError, OSError) as error:
        raise ValueError(
            f"--with {text}: {python} cannot load the adapter {name} ({error}); run "
            f"there: {entry.get('install', 'what it needs')}; or name another Python: "
            f"--with {text.partition('=')[0]}=PYTHON"
        ) from error
    mark = "" if path == _ADAPTERS else f"#{digest(file.read_bytes())}"
    return [
        Rival(
            name=f"{name}/{method}{mark}",
            label=f"{name}/{method}",
            adapter=name,
            method=method,
            file=str(file),
            package=package,
            python=python,
            version=version,
        )
        for method in entry["methods"]
    ]


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    """The adapters of a TOML file, each with the keys that it needs."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SuiteError(f"{path.name} is not valid TOML: {error}.") from error
    for name, entry in content.items():
        table = entry if isinstance(entry, dict) else {}
        wrong = [k for k, v in table.items() if not isinstance(v, _KEYS.get(k, ()))]
        lacking = [key for key in ("file", "methods") if not table.get(key)]
        if wrong or lacking:
            raise SuiteError(
                f"{path.name}: adapter {name}: {', '.join(wrong + lacking)}: write a "
                f"text for file, a list of texts for methods and, if you like, texts "
                f"for title, url, package and install; nothing else."
            )
    return content


def _python(where: str, text: str) -> str:
    folder = Path(where)
    if folder.is_dir():
        inside = (folder / "bin" / "python", folder / "Scripts" / "python.exe")
        where = next((str(path) for path in inside if path.is_file()), "")
    found = shutil.which(where)
    if found is None:
        raise ValueError(
            f"--with {text}: there is no Python at {str(folder)!r}; name the "
            f"program or the folder of its environment."
        )
    return os.path.abspath(found)
