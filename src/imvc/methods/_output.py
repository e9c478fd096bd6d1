"""What a fit gives back as people keep their tables: arrays, pandas or polars."""

from typing import Any

import numpy as np
from sklearn import get_config

from imvc._notebook import import_pandas

KINDS = ("default", "pandas", "polars")
# scikit-learn's name, for its `clone` takes what is under it along.
_KEPT_AS = "_sklearn_output_config"


def choose_output(model: Any, kind: str | None) -> None:
    """Note what `set_output` was asked for; None changes nothing."""
    if kind is None:
        return
    if kind not in KINDS:
        raise ValueError(f"transform={kind!r} is unknown; pass one of {KINDS}.")
    setattr(model, _KEPT_AS, {"transform": kind})


def output_kind(model: Any) -> str:
    """One of `KINDS`: the model's own choice, else scikit-learn's configuration."""
    own = getattr(model, _KEPT_AS, {})
    return own.get("transform", get_config()["transform_output"])


def as_labels(model: Any, labels: Any, ids: Any) -> Any:
    """Labels as the user wants them; what is no array (of Dask) stays as it is."""
    kind = output_kind(model)
    if kind == "default" or not isinstance(labels, np.ndarray):
        return labels
    if kind == "polars":
        return _import_polars().Series("cluster", labels)
    pandas = import_pandas()
    return pandas.Series(labels, _index(pandas, ids), name="cluster")


def as_table(model: Any, Y: Any, ids: Any) -> Any:
    """An embedding as the user wants it, with names of its columns."""
    kind = output_kind(model)
    if kind == "default" or not isinstance(Y, np.ndarray):
        return Y
    names = model.get_feature_names_out()
    if kind == "polars":
        return _import_polars().DataFrame(Y, schema=list(names), orient="row")
    pandas = import_pandas()
    return pandas.DataFrame(Y, _index(pandas, ids), columns=names)


def result_table(model: Any) -> Any:
    """`MultiViewClusterer.results_`."""
    labels, ids = np.asarray(model.labels_), model.sample_ids_
    columns = {"id": np.arange(len(labels)) if ids is None else ids, "cluster": labels}
    if hasattr(model, "confidence_"):
        columns["confidence"] = model.confidence_
    mask = getattr(model, "mask_", None)
    if mask is not None:
        columns["views"] = _observed_views(mask, model.view_names_)
    polars = output_kind(model) == "polars"
    return (_import_polars() if polars else import_pandas()).DataFrame(columns)


def _observed_views(mask: np.ndarray, names: Any) -> np.ndarray:
    """Names of the views that every sample has."""
    patterns, place = np.unique(mask, axis=0, return_inverse=True)
    told = [" + ".join(np.array(names, object)[seen]) for seen in patterns]
    return np.array(told, object)[place.ravel()]


def _index(pandas: Any, ids: Any) -> Any:
    if ids is not None and len(ids) and isinstance(ids[0], tuple):
        return pandas.MultiIndex.from_tuples(ids)  # as the tables had it
    return None if ids is None else pandas.Index(ids, name="id")


def _import_polars() -> Any:
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "set_output(transform='polars') needs polars: pip install polars",
            name=error.name,
        ) from error
    return polars
