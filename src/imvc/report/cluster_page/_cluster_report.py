"""ClusterReport: everything that the page of one clustering shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imvc.insight import Associations, Confidence, Explanation, Inspection, Structure
from imvc.insight._drawn import doubtful_clusters, known_shares, number_taken


@dataclass(frozen=True, eq=False)
class ClusterReport:
    """One clustering as plain data, ready for `cluster_page`.

    Parameters
    ----------
    title : str
    method : str
        Name of the method, as the reader knows it.
    labels : ndarray of int, shape (n_samples,)
    sample_ids : ndarray of shape (n_samples,)
        Anything with a text; the page shows ``str`` of it.
    mask : ndarray of bool, shape (n_samples, n_views)
        True where a sample was observed in a view.
    view_names : tuple of str
    embedding : ndarray of shape (n_samples, d)
        Its rows are scaled to length one before they are drawn.
    confidence : Confidence
    inspection : Inspection
    explanation : Explanation
    metadata : mapping of str to ndarray of shape (n_samples,)
        Further columns to colour the samples by; None or NaN where unknown.
    parameters : mapping
        Of the method, and of the preparation where there was one.
    versions : mapping of str to str
        Of the programs used.
    stability_curve : ndarray of shape (n_candidates, 3) or None
        Number of clusters, how much of its worst cluster comes back from run to run
        (0 to 1), and how deep the valleys between clusters are (below 0.5 clear, from 1
        on none).
    evidence : {"strong", "weak", "none"} or None
        For the number of clusters taken; "none": there may be no clusters. None: the
        number was given.
    objective : ndarray
        One value per iteration; at most one where the method does not iterate.
    notes : tuple of str
        What was decided while the input was read.
    seconds : mapping of str to float
        Time per stage.
    scores : mapping of str to (mapping of str to float), optional
        Per method the scores against known labels.
    citation : tuple of str, default=()
        What to cite beside the program: the paper of the method.
    evidence_reason : str, optional
        Why the evidence is what it is, in one sentence.
    candidates : sequence of (k, r, v, reason), optional
        Numbers of clusters worth looking at, named tuples; the first is the one taken.
    cluster_stability : ndarray of shape (n_clusters,), optional
        Share of every cluster that comes back from run to run; NaN where unknown.
    associations : Associations, optional
        How the metadata differ between the clusters.
    warnings : tuple of str
        What may spoil the result, the worst first.
    structure : Structure, optional
        Whether there are clusters at all.
    """

    title: str
    method: str
    labels: np.ndarray
    sample_ids: np.ndarray
    mask: np.ndarray
    view_names: tuple[str, ...]
    embedding: np.ndarray
    confidence: Confidence
    inspection: Inspection
    explanation: Explanation
    metadata: Mapping[str, np.ndarray]
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]
    stability_curve: np.ndarray | None
    evidence: str | None
    objective: np.ndarray
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    scores: Mapping[str, Mapping[str, float]] | None = None
    citation: tuple[str, ...] = ()
    evidence_reason: str | None = None
    candidates: Sequence[Any] | None = None
    cluster_stability: np.ndarray | None = None
    associations: Associations | None = None
    warnings: tuple[str, ...] = ()
    structure: Structure | None = None

    def __post_init__(self) -> None:
        n = self.n_samples
        rows = {
            "sample_ids": self.sample_ids,
            "mask": self.mask,
            "embedding": self.embedding,
            "confidence.score": self.confidence.score,
            **{f"metadata[{name!r}]": column for name, column in self.metadata.items()},
        }
        for name, column in rows.items():
            if len(column) != n:
                raise ValueError(
                    f"{name} has {len(column)} rows but labels has {n}; give one row "
                    f"per sample."
                )
        if self.mask.shape[1] != len(self.view_names):
            raise ValueError(
                f"mask has {self.mask.shape[1]} columns but there are "
                f"{len(self.view_names)} view_names; give one name per view."
            )

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def n_incomplete(self) -> int:
        """Samples that lack at least one view."""
        return int(np.count_nonzero(~self.mask.all(axis=1)))

    @property
    def structureless(self) -> bool:
        """Whether no clusters were found, only a way to cut the samples."""
        seen = self.structure is not None and self.structure.found is False
        return seen or self.evidence == "none"

    @property
    def n_taken(self) -> int:
        """Number of clusters asked for or suggested; views apart have it each."""
        return number_taken(self.candidates, self.labels)

    @property
    def comes_back(self) -> dict[int, float]:
        """Share of each cluster that comes back, where it is known."""
        return known_shares(self.cluster_stability)

    @property
    def doubtful(self) -> dict[int, float]:
        """Clusters of which too little comes back, with that share."""
        return doubtful_clusters(self.cluster_stability)
