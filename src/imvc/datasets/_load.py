"""Read a dataset by name; list and describe what is there."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from imvc.datasets._benchmark_sets import REGISTRY, DatasetInfo, find_info, normalise
from imvc.datasets._dataset import MultiViewDataset
from imvc.datasets._dataset_files import (
    dataset_files,
    find_dataset,
    get_data_home,
    match_file,
    read_dataset_file,
)


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset that is known, or lies in the data folder, or both.

    Attributes
    ----------
    name : str
        What to pass to `load_dataset`.
    path : Path or None
        The file that holds it; None if it is not there.
    info : DatasetInfo or None
        The published sizes and source; None for a file of one's own.
    """

    name: str
    path: Path | None
    info: DatasetInfo | None


def load_dataset(
    name: str, data_home: str | os.PathLike[str] | None = None
) -> MultiViewDataset:
    """Load a benchmark set, or any file of views, from the data folder.

    Parameters
    ----------
    name : str
        A published set (`list_datasets` names them) or the name of a ``.npz`` or
        ``.mat`` file in the folder, with or without its extension. Case and punctuation
        do not matter. If both kinds of file are there, the ``.npz`` is read.
    data_home : path-like, default=None
        The folder; see `get_data_home`.

    Returns
    -------
    MultiViewDataset
        Arrays keep the dtype of the file (float16 and uint8 included), sparse cells
        become CSR, labels become 0..c-1. Rows that are all NaN are unobserved.

    Raises
    ------
    FileNotFoundError
        A published set that is not in the folder; the message says where to get it.
    ValueError
        An unknown name, or a file that is damaged or not laid out as described.

    Warns
    -----
    UserWarning
        The file goes by the name of a published set but has other sizes.

    Notes
    -----
    ``.npz``: the views as ``X0``, ``X1``, ... with samples in rows, labels ``y``,
    optionally ``mask`` (samples x views, 1 = observed); view names may stand in a
    sidecar ``<name>.json`` as ``view_names``. Pickled content is refused.

    ``.mat`` (version 7.3 needs h5py, in ``imvc[io]``): a cell array ``X``, ``data``,
    ``fea`` or ``views``, or numbered matrices, or one matrix per view; labels ``Y``,
    ``gt``, ``truth``, ``labels`` or ``gnd``. Samples may be in rows or in columns.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from imvc.datasets import load_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X0, X1 = np.zeros((4, 3)), np.ones((4, 2))
    ...     np.savez(pathlib.Path(folder) / "mine.npz", X0=X0, X1=X1, y=[7, 7, 9, 9])
    ...     data = load_dataset("mine", data_home=folder)
    >>> data.n_features, data.y.tolist()
    ((3, 2), [0, 0, 1, 1])
    """
    if not isinstance(name, str) or not normalise(name):
        raise ValueError(f"name={name!r} must be the name of a dataset.")
    folder = get_data_home(data_home)
    path, info = find_dataset(name, folder)
    data = _assemble(read_dataset_file(path), info.name if info else path.stem, path)
    if info:
        _warn_if_other(data, info, path)
    return data


def list_datasets(
    data_home: str | os.PathLike[str] | None = None,
) -> list[DatasetEntry]:
    """List the published sets, then the other files of the data folder.

    Parameters
    ----------
    data_home : path-like, default=None
        The folder; see `get_data_home`.

    Returns
    -------
    list of DatasetEntry
        The published sets first (``path`` is None where the file is absent), then the
        other ``.npz`` and ``.mat`` files by name. Files are not opened.

    Examples
    --------
    >>> from imvc.datasets import list_datasets
    >>> [entry.name for entry in list_datasets("no such folder")][:3]
    ['prokaryotic', 'webkb', 'caltech101-7']
    """
    files = dataset_files(get_data_home(data_home))
    known = [DatasetEntry(i.name, match_file(i.files, files), i) for i in REGISTRY]
    others: dict[str, Path] = {}
    for path in files:
        if find_info(path.stem) is None:
            others.setdefault(path.stem, path)
    return known + [DatasetEntry(stem, others[stem], None) for stem in sorted(others)]


def describe_dataset(
    name: str, data_home: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Load a dataset and say what is in it, in plain types ready for JSON.

    Parameters
    ----------
    name : str
        As for `load_dataset`.
    data_home : path-like, default=None
        The folder; see `get_data_home`.

    Returns
    -------
    dict
        ``name``, ``path``, ``n_samples``, ``n_clusters``, ``class_sizes``, ``views``
        (``name``, ``n_features``, ``dtype``, ``sparse``, ``n_observed`` each),
        ``n_incomplete``, ``description``, ``source`` and ``note``.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from imvc.datasets import describe_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "mine.npz"
    ...     np.savez(path, X0=np.zeros((3, 2)), y=[0, 1, 1])
    ...     describe_dataset("mine", data_home=folder)["class_sizes"]
    [1, 2]
    """
    data = load_dataset(name, data_home)
    path, info = find_dataset(name, get_data_home(data_home))
    views = [
        {
            "name": view,
            "n_features": int(X.shape[1]),
            "dtype": str(X.dtype),
            "sparse": bool(sparse.issparse(X)),
            "n_observed": int(observed.sum()),
        }
        for X, view, observed in zip(data.Xs, data.names, data.mask.T)
    ]
    return {
        "name": data.name,
        "path": str(path),
        "n_samples": data.n_samples,
        "n_clusters": data.n_clusters,
        "class_sizes": np.bincount(data.y).tolist(),
        "views": views,
        "n_incomplete": int((~data.mask.all(axis=1)).sum()),
        "description": data.description,
        "source": info.source if info else "",
        "note": info.note if info else "",
    }


def _assemble(parts: dict[str, Any], name: str, path: Path) -> MultiViewDataset:
    """Make a dataset of what a reader found; errors name the file."""
    y = np.asarray(parts["y"])
    if y.ndim != 1 or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        raise ValueError(
            f"{path}: the labels have shape {y.shape} or missing values; expected one "
            "label per sample."
        )
    for X in parts["Xs"]:
        if X.ndim != 2 or X.shape[0] != len(y) or X.dtype.kind not in "biuf":
            raise ValueError(
                f"{path}: a view is {X.dtype} of shape {X.shape}; expected a matrix of "
                f"numbers with the {len(y)} samples of the labels in rows."
            )
    mask = np.column_stack([_observed_rows(X) for X in parts["Xs"]])
    stored = parts.get("mask")
    try:
        if stored is not None:
            if stored.shape != mask.shape or not np.isin(stored, (0, 1)).all():
                raise ValueError(
                    f"mask of shape {stored.shape}; expected {mask.shape} (samples, "
                    "views) with 1 = observed and 0 = not."
                )
            mask &= stored.astype(bool)
        return MultiViewDataset(
            Xs=parts["Xs"],
            y=np.unique(y, return_inverse=True)[1].astype(np.int64),
            mask=mask,
            names=parts["names"],
            name=name,
            description=parts.get("description", ""),
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _observed_rows(X: Any) -> NDArray[np.bool_]:
    """Rows that are not all NaN; looks at whole rows only where the first value is."""
    observed = np.ones(X.shape[0], dtype=bool)
    if not sparse.issparse(X) and X.dtype.kind == "f" and X.shape[1]:
        doubtful = np.flatnonzero(np.isnan(X[:, 0]))
        observed[doubtful] = ~np.isnan(X[doubtful]).all(axis=1)
    return observed


def _warn_if_other(data: MultiViewDataset, info: DatasetInfo, path: Path) -> None:
    """Warn about sizes that are not the published ones; views may be in any order."""
    published = (info.n_samples, sorted(info.n_features), info.n_classes)
    if (data.n_samples, sorted(data.n_features), data.n_clusters) != published:
        warnings.warn(
            f"{path} has {data.n_samples} samples, views of {data.n_features} features "
            f"and {data.n_clusters} classes; {info.name} as published has "
            f"{info.n_samples}, {info.n_features} and {info.n_classes}. Its scores "
            "cannot be compared with published ones.",
            stacklevel=3,
        )
