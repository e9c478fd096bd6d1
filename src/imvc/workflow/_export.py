"""Labels of a saved run in the files that others read."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from imvc._files import check_target, naming_full_disk
from imvc.io import write_labels
from imvc.io._errors import need
from imvc.io._write_excel import write_excel
from imvc.workflow._label_edits import LabelEdits

_LABELS = (".csv", ".parquet", ".xlsx", ".h5ad", ".h5mu")
# Where other programs look for coordinates.
_EMBEDDING, _MAP = "X_imvc", "X_imvc_map"


def write_table(
    path: str | os.PathLike[str], ids: Any, columns: Mapping[str, Any]
) -> Path:
    """Write ids and what is said of every sample as .csv, .parquet or .xlsx.

    Parameters
    ----------
    path : path-like
        The file appears whole or not at all.
    ids : array-like of shape (n_samples,)
    columns : mapping of str to array-like of shape (n_samples,)

    Returns
    -------
    Path
    """
    path = Path(path)
    if path.suffix.lower() != ".xlsx":
        return write_labels(path, ids, columns)
    check_target(path)
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    write_excel(path, {"id": np.asarray(ids, dtype=object).astype(str), **arrays})
    return path


def export_labels(run: Any, path: str | os.PathLike[str]) -> Path:
    """Write the labels of a saved run, after its edits, in the format of the ending.

    Parameters
    ----------
    run : LabelEdits, SavedRun or path-like
        The run or its folder.
    path : path-like
        ``.csv``, ``.parquet`` or ``.xlsx``: ids, clusters and their names, the original
        clusters, and what else ``labels.csv`` has. ``.h5ad``: the same in ``obs`` of
        all samples, without any ``X``; the embedding and the map in ``obsm``. It needs
        no file of the run's views. ``.h5mu``: the same, with every view as a table of
        the samples that have it, prepared as it was clustered.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        The ending is another, or the views are needed and cannot be read.
    ImportError
        A package is missing; the text names the extra that brings it.

    Examples
    --------
    ``export_labels("out", "labels.xlsx")``
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in _LABELS:
        raise ValueError(f"path {path.name!r} must end in {', '.join(_LABELS)}.")
    edits = run if isinstance(run, LabelEdits) else LabelEdits(run)
    if kind == ".h5ad":
        return _whole(path, lambda target: _annotated(edits, path).write_h5ad(target))
    if kind == ".h5mu":
        return _whole(path, lambda target: _write_h5mu(edits, target))
    columns = edits.columns() if edits.edited else _unedited(edits)
    return write_table(path, edits.run.ids, columns)


def export_embedding(run: Any, path: str | os.PathLike[str]) -> Path:
    """Write ids and coordinates of a saved run as .csv, .parquet or .xlsx."""
    saved = (run if isinstance(run, LabelEdits) else LabelEdits(run)).run
    columns = {f"y{j}": y for j, y in enumerate(saved.embedding.T)}
    return write_table(path, saved.ids, columns)


def _unedited(edits: LabelEdits) -> dict[str, np.ndarray]:
    """The columns of the run itself: nothing was named or changed."""
    return dict(edits.run.columns)


def _whole(path: Path, write: Callable[[Path], Any]) -> Path:
    """Let a library write a file that appears whole or not at all."""
    check_target(path)
    with naming_full_disk(path), tempfile.TemporaryDirectory(dir=path.parent) as folder:
        target = Path(folder) / path.name
        write(target)
        os.replace(target, path)
    return path


def _annotated(edits: LabelEdits, path: Path) -> Any:
    """All samples with their labels, and no features."""
    anndata = need("anndata", path.name, "omics", "writing it")
    pandas = need("pandas", path.name, "omics", "writing it")
    found = {_key(name): _values(c) for name, c in edits.columns().items()}
    obs = pandas.DataFrame(found, index=edits.run.ids.astype(str))
    return anndata.AnnData(obs=obs, obsm=_coordinates(edits))


def _write_h5mu(edits: LabelEdits, path: Path) -> None:
    """One table per view, of the samples observed in it."""
    anndata = need("anndata", path.name, "omics", "writing it")
    mudata = need("mudata", path.name, "omics", "writing it")
    pandas = need("pandas", path.name, "omics", "writing it")
    whole, views = _annotated(edits, path), edits.run.data.views
    tables = {}
    for v, name in enumerate(views.names):
        features = views.feature_names[v] or range(views.n_features[v])
        tables[_key(name)] = anndata.AnnData(
            X=views.observed(v),
            obs=pandas.DataFrame(index=whole.obs_names[views.rows(v)]),
            var=pandas.DataFrame(index=[*map(str, features)]),
        )
    with _nothing_pulled(mudata):
        found = mudata.MuData(tables)
        own = whole[found.obs_names]  # which has an order of its own
        found.obs = own.obs.copy()
        for key, coordinates in own.obsm.items():
            found.obsm[key] = np.asarray(coordinates)
        found.write(path)


def _nothing_pulled(mudata: Any) -> Any:
    """Let columns stay where they are put, which mudata does by itself from 0.4 on."""
    if not hasattr(mudata, "set_options"):
        return nullcontext()
    return mudata.set_options(pull_on_update=False)


def _coordinates(edits: LabelEdits) -> dict[str, np.ndarray]:
    plane = edits.run.planes()[0]
    # Pages have y downwards.
    xy = np.column_stack([plane["x"], -np.asarray(plane["y"])]).astype(np.float64)
    return {_EMBEDDING: np.asarray(edits.run.embedding), _MAP: xy}


def _values(column: np.ndarray) -> Any:
    return column.astype(str) if column.dtype == object else column


def _key(name: str) -> str:
    """A name that HDF5 takes: a slash would make a folder of it."""
    return name.replace("/", "_") or "_"
