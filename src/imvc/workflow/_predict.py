"""predict: clusters of new samples, from a model file and new tables."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from imvc.insight import confidence
from imvc.insight._fitted import model_views
from imvc.io import FittedPreparation, ViewFiles, read_views, write_labels
from imvc.methods import load_model
from imvc.views import IncompleteViews
from imvc.workflow._batch_effects import BatchEffects
from imvc.workflow._batches import effect_warnings
from imvc.workflow._input_files import InputFiles, check_files
from imvc.workflow._stages import Progress, Stages
from imvc.workflow._warnings import no_structure


@dataclass(frozen=True, eq=False)
class Prediction:
    """Clusters of new samples.

    Parameters
    ----------
    ids : ndarray of object
    labels : ndarray of int64
        Clusters, numbered as in the model's ``labels.csv``.
    margin : ndarray
        1 - d1 / d2 with the distances to the two nearest centres; near 0 a sample
        stands between two clusters.
    low : ndarray of bool
        Samples whose cluster is doubtful by their margin.
    n_views : ndarray of int64
        Views that each sample was seen in.
    notes : tuple of str
        What was decided about the files.
    warnings : tuple of str
        What may spoil the result, the worst first.
    """

    ids: np.ndarray
    labels: np.ndarray
    margin: np.ndarray
    low: np.ndarray
    n_views: np.ndarray
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def columns(self) -> dict[str, np.ndarray]:
        """What is said of every sample, beside its id."""
        return {
            "cluster": self.labels,
            "margin": self.margin,
            "low_confidence": self.low,
            "n_views": self.n_views,
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write ids and `columns` to a .csv or .parquet file."""
        return write_labels(path, self.ids, self.columns())

    def to_csv(self) -> str:
        """The same table as CSV text."""
        with TemporaryDirectory() as folder:
            return self.save(Path(folder) / "labels.csv").read_text(encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Everything in JSON's types."""
        return {
            "id": self.ids.tolist(),
            **{name: column.tolist() for name, column in self.columns().items()},
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


def predict(
    model_path: str | os.PathLike[str],
    paths: Sequence[Any],
    *,
    metadata: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    **layout: Any,
) -> Prediction:
    """Put the samples of new files into the clusters of a saved model.

    Parameters
    ----------
    model_path : path-like
        A ``model.imvc`` that `ClusterRun.save` wrote, the folder it is in, or the file
        of a model's own ``save``.
    paths : sequence of path-like
        Files of views; those that the model knows by other names need `names`. Views
        may be absent.
    metadata : path-like, optional
        A table with ids and the batches of the samples, for a model that is adjusted
        for batches, where the files have no such column.
    progress : callable, optional
        Called with a `Progress`.
    **layout
        Where samples and views are in the files: ``id_columns``, ``names``,
        ``transpose``, ``layer``, ``match_ids``, ``id_map``, ``sheet``, ``guard``, as in
        `InputFiles`.

    Returns
    -------
    Prediction
    """
    stages = Stages(progress)
    if Path(model_path).is_dir():
        model_path = Path(model_path) / "model.imvc"
    with stages.run("read"):
        model = load_model(model_path)
        _check_names(layout.get("names") or (), model.view_names_)
        check_files(InputFiles(paths).all_paths())
        like = _preparation_of(model, model_path)
        found = read_views(paths, like=like, metadata=metadata, **layout)
        views, warned = _without_batch_effects(model, found, model_path)
    for note in found.notes:
        stages.say(note)
    with stages.run("predict"):
        labels = np.asarray(model.predict(views))
        trust = confidence(model, views, n_refits=0)
    return Prediction(
        ids=np.asarray(found.views.sample_ids),
        labels=labels,
        margin=trust.margin,
        low=trust.low,
        n_views=found.views.mask.sum(axis=1),
        notes=found.notes,
        warnings=(*_of_model(model), *warned, *found.warnings),
    )


def _of_model(model: Any) -> tuple[str, ...]:
    """What was wrong with the model's own clusters."""
    text = getattr(model, "no_structure_", None) or no_structure(model)
    if text is None:
        return ()
    return (f"{text} The model's clusters are one way to cut its samples.",)


def _check_names(names: Sequence[str], views: Sequence[str]) -> None:
    """Refuse names that were given and are none of the model's."""
    for name in filter(None, names):
        # Of a file with several views it is what their names start with.
        if any(view == name or view.startswith(f"{name}.") for view in views):
            continue
        near = get_close_matches(name, views, n=1)
        raise ValueError(
            f"names (--name) has {name!r}, which is no view of the model; its views "
            f"are: {', '.join(views)}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )


def _preparation_of(model: Any, path: Any) -> FittedPreparation | None:
    """How the columns of the model's files were prepared, if it came from files."""
    kept = getattr(model, "preparation_", None)
    if kept is None:
        return None
    with _naming(path):
        found = FittedPreparation.from_dict(kept)
        features = tuple(view.features for view in found.views)
        if (found.names, features) != (model.view_names_, model._schema.feature_names):
            raise ValueError("the preparation of the model is of other features.")
        return found


def _without_batch_effects(
    model: Any, found: ViewFiles, path: Any
) -> tuple[IncompleteViews, list[str]]:
    """Views as the model saw its own, without batch effects; what to warn of."""
    kept = getattr(model, "batch_effects_", None)
    if kept is None:
        return found.views, []
    with _naming(path):
        effects = BatchEffects.from_dict(kept)
    views = model_views(model, found.views, None)
    batch = found.metadata.get(effects.column, [None] * views.n_samples)
    return effects.apply(views, batch), effect_warnings(effects, batch)


@contextmanager
def _naming(path: Any) -> Iterator[None]:
    """Let an error about what a model file holds name the file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"{Path(path).name}: {error} Make the model again with imvc cluster."
        ) from error
