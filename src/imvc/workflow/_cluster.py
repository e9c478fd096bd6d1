"""cluster: from tables to clusters with everything that can be said about them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
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
from imvc.scale import BlockSource
from imvc.views import IncompleteViews
from imvc.workflow._fit import can, check_cost, expected_cost, fit_model, make_model
from imvc.workflow._input_files import BlockFiles, InputFiles, load_views
from imvc.workflow._record import package_versions
from imvc.workflow._save import OUT_OF_CORE_NOTE, ResultFolder, save_run
from imvc.workflow._stages import Progress, Stages
from imvc.workflow._unfinished import WORK_FOLDER, UnfinishedRun

__all__ = ["ClusterRun", "cluster"]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterRun:
    """What `cluster` found: a fitted model and what can be said about its clusters.

    What needs all samples in memory (inspection, confidence, explanation, cost) is None
    where the files were read by blocks.

    Parameters
    ----------
    model : estimator
        Fitted.
    method : str
        Its name in the registry.
    views : IncompleteViews, or BlockSource
        What was clustered, after preparation.
    seconds : dict of str to float
        By stage.
    notes, warnings : tuple of str
        What was decided about the files; what the data or the fit warned of.
    inputs, fingerprints : InputFiles or BlockFiles and tuple of dict, optional
        The files, with sizes and SHA-256, where the views came from files.
    inspection : Inspection
    confidence : Confidence
    explanation : Explanation
    cost : Cost
        The estimate for one fit.
    n_refits : int
        Fits that the stability of samples was seen on.
    preparation : FittedPreparation, optional
        What was done to the files' columns; new files get the same.
    metadata : mapping of str to ndarray
        Columns of what is known of the samples, in their order.
    scores : mapping of str to mapping, optional
        Method -> scores, where classes are known.
    work, resumed : UnfinishedRun and tuple of str, optional
        Out of core: where stages are kept until the run is saved, and those that were
        there from a run that was killed.
    command : sequence of str, optional
        The command line, for the record.
    """

    model: Any
    method: str
    views: IncompleteViews | BlockSource
    seconds: dict[str, float]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    inputs: InputFiles | BlockFiles | None = None
    fingerprints: tuple[dict[str, Any], ...] = ()
    inspection: Inspection | None = None
    confidence: Confidence | None = None
    explanation: Explanation | None = None
    cost: Cost | None = None
    n_refits: int = 0
    preparation: FittedPreparation | None = None
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, float]] | None = None
    work: UnfinishedRun | None = None
    resumed: tuple[str, ...] = ()
    command: Sequence[str] | None = None

    @property
    def out_of_core(self) -> bool:
        """Whether the files were read by blocks."""
        return isinstance(self.views, BlockSource)

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
        if isinstance(self.views, BlockSource):
            blocks = [self.views.ids(i) for i in range(self.views.n_blocks)]
            named = [ids for ids in blocks if ids is not None]
            ids = np.concatenate(named) if named else None
        else:
            ids = self.views.sample_ids
        return np.arange(self.views.n_samples) if ids is None else ids

    def columns(self) -> dict[str, np.ndarray]:
        """What ``labels.csv`` says of every sample, beside its id."""
        if self.confidence is None or isinstance(self.views, BlockSource):
            return {"cluster": self.labels}
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
        summary = {
            "method": self.method,
            "n_samples": self.views.n_samples,
            "views": dict(zip(self.views.names, self.views.n_features)),
            "n_clusters": self.n_clusters,
            "suggested": not isinstance(self.model.n_clusters, int | np.integer),
            "evidence": getattr(self.model, "evidence_", None),
            "sizes": np.bincount(self.labels, minlength=self.n_clusters).tolist(),
        }
        if self.confidence is not None:
            summary["low_confidence"] = int(self.confidence.low.sum())
        summary["pattern_leakage"] = float(self.model.pattern_leakage_)
        if isinstance(self.views, BlockSource):
            summary |= {"blocks": self.views.n_blocks, "resumed": list(self.resumed)}
        return summary

    def to_report(self) -> ClusterReport:
        """Everything that ``report.html`` shows."""
        if (
            isinstance(self.views, BlockSource)
            or self.inspection is None
            or self.confidence is None
            or self.explanation is None
        ):
            raise ValueError(OUT_OF_CORE_NOTE)
        model, paper = self.model, METHODS[self.method].paper
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
            citation=(paper,) if can(self.method, "published") else (),
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
    folder: ResultFolder | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ClusterRun:
    """Inspect, cluster, judge and explain: all that ``imvc cluster`` does.

    Files that do not fit into memory (`BlockFiles`) are clustered by the methods that
    read them by blocks. A run that was killed goes on from its finished stages when the
    same is asked for again. What needs all samples in memory is left out: inspection,
    estimate, confidence and explanation.

    Parameters
    ----------
    source : InputFiles, BlockFiles, ViewFiles, or views as in ``fit``
    n_clusters : int, optional
        Without it AnchorBridge suggests a number; other methods need it.
    method : str, default="bridge"
        One of `imvc.list_methods`.
    parameters : mapping, optional
        Parameters of the method beside the defaults.
    random_state : int, default=0
    n_refits : int, default=4
        Fits with other seeds that tell how stable each sample's cluster is; none for
        `BlockFiles`.
    metadata : mapping of str to array-like, optional
        Columns of what is known of the samples, in their order, for the report.
    force : bool, default=False
        Try it even where the estimate says that memory will not do.
    folder : what `output_folder` gives, optional
        Where the run will be saved; unfinished work on `BlockFiles` is kept there.
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
    if isinstance(source, BlockFiles):
        source.check_request(method, parameters or {}, metadata)
    model = make_model(method, n_clusters, parameters or {}, random_state)
    if isinstance(source, BlockFiles):
        return _cluster_by_blocks(source, model, method, folder, stages)
    loaded = load_views(source, stages)
    views = loaded.views
    known = {**loaded.metadata, **_columns(metadata, views.n_samples)}
    with stages.run("inspect"):
        inspection = inspect(views)
    for text in inspection.warnings:
        stages.say(f"warning: {text}")
    cost = expected_cost(method, views, model.n_clusters)
    stages.say(_forecast(cost, n_refits))
    check_cost(cost, stages, force=force)
    warned = fit_model(model, views, stages, cost.seconds)
    return ClusterRun(
        model=model,
        method=method,
        views=views,
        seconds=stages.seconds,
        notes=loaded.notes,
        warnings=(*inspection.warnings, *warned),
        inputs=source if isinstance(source, InputFiles) else None,
        fingerprints=loaded.fingerprints,
        inspection=inspection,
        confidence=_judge(model, method, views, n_refits, stages),
        explanation=_explain(model, views, stages),
        cost=cost,
        n_refits=n_refits,
        preparation=loaded.preparation,
        metadata=known,
    )


def _cluster_by_blocks(
    files: BlockFiles,
    model: Any,
    method: str,
    folder: ResultFolder | None,
    stages: Stages,
) -> ClusterRun:
    """The same as far as it goes without all samples in memory."""
    model.set_params(memory_budget=files.memory_budget, verbose=files.verbose)
    work, resumed = None, []
    if files.work_dir is not None:
        work = UnfinishedRun(Path(files.work_dir))
    elif folder is not None:
        work = UnfinishedRun(
            folder.path / WORK_FOLDER, own=True, overwrite=folder.overwrite
        )
    if work is not None:
        model.set_params(work_dir=str(work.path))
    with nullcontext() if work is None else work.kept(stages):
        source = files.open(model, stages)
        if work is not None:
            resumed = work.take(model, source, stages)
        warned = fit_model(model, source, stages)
    return ClusterRun(
        model=model,
        method=method,
        views=source,
        seconds=stages.seconds,
        notes=(OUT_OF_CORE_NOTE,),
        warnings=warned,
        inputs=files,
        work=work,
        resumed=tuple(resumed),
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
