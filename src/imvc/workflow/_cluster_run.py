"""ClusterRun: a clustering with everything that can be said about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from imvc._notebook import (
    Html,
    bar,
    box,
    import_pandas,
    sizes_text,
    table,
    warned,
    wrapped,
)
from imvc._plain import plain
from imvc.insight import (
    Associations,
    Confidence,
    Explanation,
    Inspection,
    Structure,
)
from imvc.insight._drawn import doubtful_clusters
from imvc.io import FittedPreparation
from imvc.methods import Cost
from imvc.methods._registry import METHODS
from imvc.report import ClusterReport
from imvc.report.cluster_page._cluster_words import number_in_words
from imvc.scale import BlockSource
from imvc.views import IncompleteViews
from imvc.workflow._batches import BatchFindings
from imvc.workflow._input_files import BlockFiles, InputFiles
from imvc.workflow._run_json import versions
from imvc.workflow._save import (
    OUT_OF_CORE_NOTE,
    ResultFolder,
    output_folder,
    save_run,
)
from imvc.workflow._stages import Progress, Stages
from imvc.workflow._unfinished import UnfinishedRun
from imvc.workflow._warnings import no_structure

_CURVE = ("k", "r", "v", "reason")  # columns of the curve, and of candidates
_OWN = "this library"  # as the registry names our own method's paper


@dataclass(frozen=True, eq=False, repr=False)
class ClusterRun:
    """What `cluster` found: a fitted model and what can be said about its clusters.

    What needs all samples in memory (inspection, confidence, structure, explanation,
    associations, cost) is None where the files were read by blocks.

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
        What was decided about the files; and all that there is to warn of, the worst
        first: page, terminal, JSON and ``run.json`` show these.
    inputs, fingerprints : InputFiles or BlockFiles and tuple of dict, optional
        The files, with sizes and SHA-256, where the views came from files.
    inspection : Inspection
    confidence : Confidence
    structure : Structure
        Whether there are clusters at all; None also without refits.
    explanation : Explanation
    cost : Cost
        The estimate for one fit.
    n_refits : int
        Fits that the stability of samples was seen on.
    preparation : FittedPreparation, optional
        What was done to the files' columns; new files get the same.
    metadata : mapping of str to ndarray
        Columns of what is known of the samples, in their order.
    associations : Associations
        How these differ between the clusters, and survival where it was asked for.
    batches : BatchFindings
        How far the clusters follow batches, and what was removed of their effects,
        where that was asked for.
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
    structure: Structure | None = None
    explanation: Explanation | None = None
    cost: Cost | None = None
    n_refits: int = 0
    preparation: FittedPreparation | None = None
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    associations: Associations | None = None
    batches: BatchFindings = field(default_factory=BatchFindings)
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
    def sizes(self) -> list[int]:
        """Number of samples in every cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters).tolist()

    @property
    def cluster_stability(self) -> np.ndarray | None:
        """Share of every cluster that comes back from run to run, where measured."""
        found = getattr(self.model, "cluster_stability_", None)
        # Views that share no samples have clusters apart, which were not compared.
        return found if found is not None and len(found) == self.n_clusters else None

    @property
    def doubtful(self) -> dict[int, float]:
        """Clusters of which too little comes back, with that share."""
        return doubtful_clusters(self.cluster_stability)

    @property
    def no_structure(self) -> str | None:
        """The sentence that no clusters were found, where that is so."""
        return no_structure(self.model, self.structure)

    def number_in_words(self) -> str:
        """What the data say about the number of clusters, in a sentence or two."""
        model = self.model
        return number_in_words(
            getattr(model, "n_clusters_", self.n_clusters),
            getattr(model, "evidence_", None),
            getattr(model, "evidence_reason_", None),
        )

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
        known = self.cluster_stability
        comes_back = {} if known is None else {"cluster_stability": known[self.labels]}
        return {
            "cluster": self.labels,
            **comes_back,
            "confidence": self.confidence.score,
            "margin": self.confidence.margin,
            "stability": self.confidence.stability,
            "low_confidence": self.confidence.low,
            "n_views": self.views.mask.sum(axis=1),
        }

    def to_frame(self) -> Any:
        """The same as a pandas DataFrame, samples by their ids."""
        pandas = import_pandas()
        return pandas.DataFrame(
            self.columns(), index=pandas.Index(self.sample_ids, name="id")
        )

    def summary(self) -> dict[str, Any]:
        """The result in a few numbers, in JSON's types.

        What may make an end of it comes first: whether there are clusters at all.
        """
        model = self.model
        summary = {
            "structure": None if self.structure is None else self.structure.to_dict(),
            "evidence": getattr(model, "evidence_", None),
            "evidence_reason": getattr(model, "evidence_reason_", None),
            "method": self.method,
            "n_samples": self.views.n_samples,
            "views": dict(zip(self.views.names, self.views.n_features)),
            "n_clusters": self.n_clusters,
            "suggested": not isinstance(model.n_clusters, int | np.integer),
            "candidates": _named(getattr(model, "candidates_", None)),
            "stability_curve": _named(getattr(model, "stability_curve_", None)),
            "sizes": self.sizes,
            "cluster_stability": _numbers(self.cluster_stability),
        }
        leakage = model.pattern_leakage_
        if self.confidence is not None and self.explanation is not None:
            summary["low_confidence"] = int(self.confidence.low.sum())
            leakage = self.explanation.pattern_leakage
        summary["pattern_leakage"] = float(leakage)
        if self.associations is not None:
            summary |= self.associations.brief()
        summary["batch_leakage"] = self.batches.to_dict()
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
            associations=self.associations,
            parameters={
                name: value
                for name, value in model.get_params().items()
                if name != "callback"
            },
            versions=versions(),
            stability_curve=getattr(model, "stability_curve_", None),
            evidence=getattr(model, "evidence_", None),
            evidence_reason=getattr(model, "evidence_reason_", None),
            candidates=getattr(model, "candidates_", None),
            cluster_stability=self.cluster_stability,
            objective=np.asarray(model.objective_),
            notes=self.notes,
            warnings=self.warnings,
            structure=self.structure,
            seconds=self.seconds,
            scores=self.scores,
            citation=() if paper == _OWN else (paper,),
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
        if isinstance(folder, ResultFolder):
            return save_run(self, folder, Stages(progress), report=report)
        with output_folder(folder, overwrite=overwrite) as taken:
            return save_run(self, taken, Stages(progress), report=report)

    def __repr__(self) -> str:
        return wrapped(f"<ClusterRun: {self._counted()}>")

    def _counted(self) -> str:
        return (
            f"{self.method}, {self.views.n_samples} samples, {sizes_text(self.sizes)}"
        )

    def _repr_html_(self) -> str:
        views = []
        if isinstance(self.views, IncompleteViews):
            views.append(Html(self.views._repr_html_()))
        return box(
            self._counted(),
            self.number_in_words(),
            warned(self.warnings),
            self._cluster_table(),
            *views,
        )

    def _cluster_table(self) -> Html:
        """Size of every cluster, and how far to trust it; what sets it apart."""
        sizes = self.sizes
        every = range(len(sizes))
        bars = [bar(size / max(sizes)) for size in sizes]
        # Side, head and cells of every column.
        columns: list[tuple[str, str, Sequence[Any]]] = [
            ("r", "cluster", every), ("r", "samples", sizes), ("l", "", bars),
        ]  # fmt: skip
        if self.cluster_stability is not None:
            columns.append(("r", "comes back", self.cluster_stability.tolist()))
        if self.confidence is not None:
            score, low = self.confidence.score, self.confidence.low
            own = [score[self.labels == c] for c in every]
            medians = [float(np.median(x)) if len(x) else None for x in own]
            flagged = np.bincount(self.labels[low], minlength=len(sizes))
            columns.append(("r", "median confidence", medians))
            columns.append(("r", "doubtful samples", flagged.tolist()))
        if self.explanation is not None:
            told = [self.explanation.strongest(c) for c in every]
            columns.append(("l", "strongest features (Hedges' g)", told))
        sides, head, cells = zip(*columns)
        return table("".join(sides), head, zip(*cells))


def _named(rows: Any) -> list[dict[str, Any]] | None:
    """Rows of the curve, or candidates, with the names of their columns."""
    if rows is None:
        return None
    return [dict(zip(_CURVE, (int(k), *_numbers(measured)))) for k, *measured in rows]


def _numbers(values: Any) -> Any:
    """Numbers as JSON has them: null where one is not known."""
    return plain(None if values is None else list(values), lambda _: None)
