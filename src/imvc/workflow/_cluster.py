"""cluster: from tables to clusters with everything that can be said about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from imvc.insight import (
    Confidence,
    Explanation,
    Inspection,
    confidence,
    explain,
    inspect,
)
from imvc.io import FittedPreparation
from imvc.methods import Cost
from imvc.methods._registry import METHODS
from imvc.report import ClusterReport
from imvc.views import IncompleteViews
from imvc.workflow._model import (
    check_cost,
    expected_cost,
    fit_model,
    make_model,
)
from imvc.workflow._record import package_versions
from imvc.workflow._save import save_run
from imvc.workflow._source import InputFiles, open_source
from imvc.workflow._stages import Progress, Stages

__all__ = ["ClusterRun", "cluster"]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterRun:
    """What `cluster` found: a fitted model and what can be said about its clusters.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Its name in the registry.
    views : IncompleteViews
        What was clustered, after preparation.
    inspection : Inspection
    confidence : Confidence
    explanation : Explanation
    preparation : FittedPreparation, optional
        What was done to the files' columns; new files get the same.
    metadata : mapping of str to ndarray
        Columns of what is known of the samples, in their order.
    notes, warnings : tuple of str
        What was decided about the files; what the data or the fit warned of.
    cost : Cost
        The estimate for one fit.
    seconds : dict of str to float
        By stage.
    n_refits : int
        Fits that the stability of samples was seen on.
    inputs, fingerprints : InputFiles and tuple of dict, optional
        The files, with sizes and SHA-256, where the views came from files.
    scores : mapping of str to mapping, optional
        Method -> scores, where classes are known.
    command : sequence of str, optional
        The command line, for the record.
    """

    model: Any
    method: str
    views: IncompleteViews
    inspection: Inspection
    confidence: Confidence
    explanation: Explanation
    preparation: FittedPreparation | None
    metadata: Mapping[str, np.ndarray]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    cost: Cost
    seconds: dict[str, float]
    n_refits: int
    inputs: InputFiles | None = None
    fingerprints: tuple[dict[str, Any], ...] = ()
    scores: Mapping[str, Mapping[str, float]] | None = None
    command: Sequence[str] | None = None

    @property
    def labels(self) -> np.ndarray:
        """Cluster of every sample, numbered from 0."""
        return self.model.labels_

    @property
    def n_clusters(self) -> int:
        """Number of clusters found."""
        return len(self.model.cluster_centers_)

    @property
    def sample_ids(self) -> np.ndarray:
        """Ids of the samples; their numbers where they have none."""
        ids = self.views.sample_ids
        return np.arange(self.views.n_samples) if ids is None else ids

    def columns(self) -> dict[str, np.ndarray]:
        """What ``labels.csv`` says of every sample, beside its id."""
        return {
            "cluster": self.labels,
            "confidence": self.confidence.score,
            "margin": self.confidence.margin,
            "stability": self.confidence.stability,
            "low_confidence": self.confidence.low,
            "n_views": self.views.mask.sum(axis=1),
        }

    def summary(self) -> dict[str, Any]:
        """The result in a few numbers, in JSON's types."""
        return {
            "method": self.method,
            "n_samples": self.views.n_samples,
            "views": dict(zip(self.views.names, self.views.n_features)),
            "n_clusters": self.n_clusters,
            "suggested": not isinstance(self.model.n_clusters, int | np.integer),
            "evidence": getattr(self.model, "evidence_", None),
            "sizes": np.bincount(self.labels, minlength=self.n_clusters).tolist(),
            "low_confidence": int(self.confidence.low.sum()),
            "pattern_leakage": float(self.explanation.pattern_leakage),
        }

    def to_report(self) -> ClusterReport:
        """Everything that ``report.html`` shows."""
        model = self.model
        fit_warnings = [w for w in self.warnings if w not in self.inspection.warnings]
        return ClusterReport(
            title=f"{self.n_clusters} clusters of {self.views.n_samples} samples",
            method=type(model).__name__,
            labels=self.labels,
            sample_ids=self.sample_ids,
            mask=self.views.mask,
            view_names=self.views.names,
            embedding=model.embedding_,
            confidence=self.confidence,
            inspection=self.inspection,
            explanation=self.explanation,
            metadata=self.metadata,
            parameters={
                name: value
                for name, value in model.get_params().items()
                if name != "callback"
            },
            versions=package_versions(),
            stability_curve=getattr(model, "stability_curve_", None),
            evidence=getattr(model, "evidence_", None),
            objective=np.asarray(model.objective_),
            notes=(*self.notes, *fit_warnings),
            seconds=self.seconds,
            scores=self.scores,
            citation=() if self.method == "bridge" else (METHODS[self.method].paper,),
        )

    def save(
        self,
        folder: Any,
        *,
        report: bool = True,
        overwrite: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> dict[str, Path]:
        """Write labels, embedding, model, report and ``run.json``.

        Parameters
        ----------
        folder : path-like, or what `output_folder` gives
            Made if it is not there. Everything appears in it at once, at the end.
        report : bool, default=True
            Whether to write ``report.html``.
        overwrite : bool, default=False
            Whether files of an earlier run may be replaced.
        progress : callable, optional
            Called with a `Progress`.

        Returns
        -------
        dict of str to Path
            What was written, by the file's name.
        """
        return save_run(
            self, folder, report=report, overwrite=overwrite, progress=progress
        )

    def __repr__(self) -> str:
        return (
            f"<ClusterRun: {self.method}, {self.views.n_samples} samples, "
            f"{self.n_clusters} clusters>"
        )


def cluster(
    source: Any,
    *,
    n_clusters: int | Sequence[int] | None = None,
    method: str = "bridge",
    parameters: Mapping[str, Any] | None = None,
    random_state: int | None = 0,
    n_refits: int = 4,
    metadata: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ClusterRun:
    """Inspect, cluster, judge and explain: all that ``imvc cluster`` does.

    Parameters
    ----------
    source : InputFiles, ViewFiles, or views as in the ``fit`` of every method
    n_clusters : int, optional
        Without it AnchorBridge suggests a number; other methods need it.
    method : str, default="bridge"
        One of `imvc.list_methods`.
    parameters : mapping, optional
        Parameters of the method beside the defaults.
    random_state : int, default=0
    n_refits : int, default=4
        Fits with other seeds that tell how stable each sample's cluster is.
    metadata : mapping of str to array-like, optional
        Columns of what is known of the samples, in their order, for the report.
    force : bool, default=False
        Try it even where the estimate says that memory will not do.
    progress : callable, optional
        Called with a `Progress`; what a fit warns of is told there and kept in the
        result's ``warnings``.

    Returns
    -------
    ClusterRun

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc.workflow import cluster
    >>> data = make_views(120, (6, 5, 4), 3, separation=8, random_state=0)
    >>> run = cluster(data.Xs, n_clusters=3, n_refits=1)
    >>> sorted(run.columns())[:3]
    ['cluster', 'confidence', 'low_confidence']
    """
    stages = Stages(progress)
    # A wrong request is told before files are read for minutes.
    model = make_model(method, n_clusters, parameters or {}, random_state)
    opened = open_source(source, stages)
    views = opened.views
    with stages.run("inspect"):
        inspection = inspect(views)
    for text in inspection.warnings:
        stages.say(f"warning: {text}")
    cost = expected_cost(method, views, model.n_clusters)
    stages.say(_forecast(cost, n_refits))
    check_cost(cost, stages, force=force)
    found = fit_model(model, views, stages, cost.seconds)
    return ClusterRun(
        model=model,
        method=method,
        views=views,
        inspection=inspection,
        confidence=_judge(model, method, views, n_refits, stages),
        explanation=_explain(model, views, stages),
        preparation=opened.preparation,
        metadata={**opened.metadata, **_columns(metadata, views.n_samples)},
        notes=opened.notes,
        warnings=(*inspection.warnings, *found),
        cost=cost,
        seconds=stages.seconds,
        n_refits=n_refits,
        inputs=opened.inputs,
        fingerprints=opened.fingerprints,
    )


def _judge(model, method, views, n_refits, stages) -> Confidence:
    # Refits do not search for a number of clusters.
    search = expected_cost(method, views, model.n_clusters).seconds
    once = expected_cost(method, views, len(model.cluster_centers_)).seconds
    expected = n_refits * stages.seconds["fit"] * min(1.0, once / search)
    with stages.run("confidence", expected=expected):
        return confidence(model, views, n_refits=n_refits)


def _explain(model, views, stages) -> Explanation:
    with stages.run("explain"):
        found = explain(model, views)
    if found.leakage_warning:
        stages.say(f"warning: {found.leakage_warning}")
    return found


def _forecast(cost: Cost, n_refits: int) -> str:
    if n_refits == 0:
        return cost.reason
    return (
        f"{cost.reason} Refits for the confidence ({n_refits}) take as long each, but "
        f"for the search for a number of clusters."
    )


def _columns(metadata: Mapping[str, Any] | None, n: int) -> dict[str, np.ndarray]:
    columns = {name: np.asarray(column) for name, column in (metadata or {}).items()}
    for name, column in columns.items():
        if column.shape != (n,):
            raise ValueError(
                f"metadata {name!r} has shape {column.shape}, but there are {n} "
                f"samples; give one value per sample."
            )
    return columns
