"""annotate: what a model found, in the AnnData or MuData that it was found in."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from imvc._machine import package_versions
from imvc._plain import plain
from imvc._warn import warn_user
from imvc.io._errors import shown
from imvc.views import is_annotated

_FEW = 0.5  # of the cells: fewer that match are warned of


def annotate(
    data: Any, model: Any, *, key: str = "imvc", confidence: Any = None
) -> Any:
    """Write clusters and embedding of a fitted model into annotated data, in place.

    So scanpy, muon, cellxgene and others go on from there.

    Parameters
    ----------
    data : MuData, AnnData or dict of AnnData
        Cells are matched by name with the ids that the model was fitted on. Where it
        has none, by position: then all tables must have the same cells, as many as
        the fit had. A MuData gets everything itself and in each of its modalities.
    model : fitted estimator
    key : str, default="imvc"
        ``obs[key]`` gets the clusters, as categories "0", "1" and so on;
        ``obsm["X_" + key]`` the embedding; ``uns[key]`` method, parameters, version.
        Cells that were not clustered have no category, and NaN in the embedding.
    confidence : Confidence or array-like of shape (n_samples,), optional
        What `imvc.confidence` says of the samples of the fit, for
        ``obs[key + "_confidence"]``; by default what it said of this model last. If it
        was never asked, a column of an earlier call is removed.

    Returns
    -------
    data

    Examples
    --------
    ``imvc.annotate(mdata, AnchorBridge(8).fit(mdata))``, and then
    ``sc.pl.umap(mdata["rna"], color="imvc")``.
    """
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(key, str) or not key or "/" in key:
        raise ValueError(f"key={key!r} must be text without a slash, as in 'imvc'.")
    tables = _tables(data)
    check_is_fitted(model, "labels_")
    found = _found(model, confidence)
    places = _places(tables, model, len(found["labels"]))
    # Everything is made before anything is written: an error changes nothing.
    columns = [_columns(found, at) for at in places]
    notes = [_notes(model) for _ in tables]
    names = {"labels": ("obs", key), "confidence": ("obs", f"{key}_confidence")}
    names["embedding"] = "obsm", f"X_{key}"
    for table, own, told in zip(tables, columns, notes):
        for what, (part, name) in names.items():
            if what in own:
                getattr(table, part)[name] = own[what]
            elif name in getattr(table, part):
                del getattr(table, part)[name]
        table.uns[key] = told
    return data


def _tables(data: Any) -> list[Any]:
    """What has cells of its own: a MuData and its modalities, or every AnnData."""
    if hasattr(data, "mod"):
        if data.is_view:  # its modalities are replaced when it is written to
            raise ValueError("data is a view of another MuData; pass data.copy().")
        return [data, *data.mod.values()]
    if is_annotated(data):
        return [data]
    if isinstance(data, Mapping) and data and all(map(is_annotated, data.values())):
        return list(data.values())
    raise TypeError(
        f"data is a {type(data).__name__}; pass a MuData, an AnnData or a dict of "
        "AnnData (pip install 'imvc[omics]')."
    )


def _found(model: Any, confidence: Any) -> dict[str, np.ndarray]:
    """What there is to write, one row per sample of the fit."""
    found = {"labels": np.asarray(model.labels_)}
    if hasattr(model, "embedding_"):  # not if it was fitted by blocks and loaded
        found["embedding"] = np.asarray(model.embedding_)
    if confidence is None:
        confidence = getattr(model, "confidence_", None)
    if confidence is not None:
        score = np.asarray(getattr(confidence, "score", confidence), np.float64)
        if score.shape != found["labels"].shape:
            raise ValueError(
                f"confidence has shape {score.shape}, the model was fitted on "
                f"{len(found['labels'])} samples; pass one number for each."
            )
        found["confidence"] = score
    return found


def _places(tables: list[Any], model: Any, n: int) -> list[np.ndarray]:
    """For the cells of every table, the sample of the fit; -1 where there is none."""
    import pandas

    name, names = type(model).__name__, [table.obs_names for table in tables]
    if model.sample_ids_ is None:
        if any(len(own) != n or not own.equals(names[0]) for own in names):
            raise ValueError(
                f"the {name} was fitted on {n} samples without ids, so cells can only "
                f"be matched by position, but data has {[*map(len, names)]} cells, or "
                "their orders differ; fit it on annotated data, which have ids."
            )
        return [np.arange(n)] * len(names)
    ids = pandas.Index([str(own) for own in model.sample_ids_])  # as in AnnData
    for own, what in zip((ids, *names), ("the model", *["data"] * len(names))):
        if not own.is_unique:
            twice = own[own.duplicated()].unique()
            raise ValueError(
                f"{what} has {len(twice)} names of cells more than once "
                f"({shown(twice)}); make them unique (obs_names_make_unique)."
            )
    cells = set().union(*names)
    known = len(cells.intersection(ids))
    told = f"{known} of the {len(cells)} cells of data are among the {n} samples"
    if known == 0:
        raise ValueError(
            f"{told} that the {name} was fitted on: data has {shown(names[0])}, the "
            f"model {shown(ids)}; pass the data of the fit."
        )
    if known < _FEW * len(cells):
        warn_user(f"only {told} that the {name} was fitted on.")
    return [ids.get_indexer(own) for own in names]


def _columns(found: Mapping[str, np.ndarray], at: np.ndarray) -> dict[str, Any]:
    """Rows of what was found for some cells, nothing where they have none."""
    import pandas

    absent = at < 0
    columns: dict[str, Any] = {}
    for name, values in found.items():
        columns[name] = values[at]
        columns[name][absent] = -1 if name == "labels" else np.nan
    # Categories in the order of numbers: as text, "10" would come before "2".
    texts = [str(k) for k in range(int(found["labels"].max()) + 1)]
    columns["labels"] = pandas.Categorical.from_codes(columns["labels"], texts)
    return columns


def _notes(model: Any) -> dict[str, Any]:
    """What was fitted, in types that files of AnnData have; others as text."""
    given = plain(model.get_params(deep=False), lambda value: type(value).__name__)
    return {
        "method": type(model).__name__,
        "params": {
            name: value if isinstance(value, str | int | float) else str(value)
            for name, value in given.items()
        },
        "versions": package_versions(["imvc"]),
    }
