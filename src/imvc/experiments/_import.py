"""Take a file of views into the data folder."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from imvc._files import atomic_write
from imvc.datasets import get_data_home, load_dataset


def import_dataset(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    replace: bool = False,
) -> Path:
    """Read a ``.mat`` or ``.npz`` file and store it in the data folder as ``.npz``.

    Parameters
    ----------
    path : path-like
        The file; see `imvc.datasets.load_dataset` for the layouts.
    name : str, optional
        What to call it; by default the name of the file.
    data_home : path-like, optional
        The folder; see `imvc.datasets.get_data_home`. Created if it is not there.
    replace : bool, default=False
        Whether a dataset of that name may be replaced.

    Returns
    -------
    Path
        The file that was written.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {str(source)!r}; check the path.")
    if source.suffix.lower() not in (".mat", ".npz"):
        raise ValueError(f"{str(source)!r} must end in .mat or .npz: a file of views.")
    stem = name or source.stem
    if not re.fullmatch(r"[\w.-]+", stem):
        raise ValueError(
            f"name={stem!r} must consist of letters, digits, dots, dashes and "
            f"underscores; choose another with --name."
        )
    folder = get_data_home(data_home)
    target = folder / f"{stem}.npz"
    if target.exists() and not replace:
        raise ValueError(
            f"{target} is there already; choose another name, or replace it (--force)."
        )
    data = load_dataset(source.name, data_home=source.parent)
    arrays: dict[str, Any] = {"y": data.y, "mask": data.mask}
    for v, X in enumerate(data.Xs):
        arrays[f"X{v}"] = X.toarray() if sparse.issparse(X) else X
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as file:
        np.savez_compressed(file, **arrays)
    return target
