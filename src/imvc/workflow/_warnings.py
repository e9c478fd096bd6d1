"""What a run warns of: one list for page, terminal, JSON and ``run.json``."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from imvc.insight._explain import leakage_warning
from imvc.insight._inspect_warnings import coverage_warnings
from imvc.insight._sentences import percent
from imvc.report.cluster_page._cluster_words import mean_stability
from imvc.views import IncompleteViews

if TYPE_CHECKING:
    from imvc.workflow._cluster_run import ClusterRun

# Single samples between clusters are no reason to doubt the clusters. They are when the
# average sample changes in three of ten refits, or when every third one is flagged.
_UNSTABLE = 0.7
_MANY_FLAGGED = 1 / 3


def run_warnings(
    run: "ClusterRun",
    *,
    reading: Sequence[str] = (),
    batches: Sequence[str] = (),
    fit: Sequence[str] = (),
) -> tuple[str, ...]:
    """Everything that may spoil a result, in plain sentences, the worst first.

    Parameters
    ----------
    run : ClusterRun
    reading : sequence of str
        What the reading of the files warned of.
    batches : sequence of str
        Where clusters follow a batch.
    fit : sequence of str
        What the fit warned of.

    Returns
    -------
    tuple of str
        No cluster structure; clusters that are unstable, doubtful or weakly founded;
        clusters that follow what is missing, or a batch; ids and reading; the fit; the
        data. Each sentence once.
    """
    inspection, views = run.inspection, run.views
    shared: list[str] = []
    if inspection is not None and isinstance(views, IncompleteViews):
        shared = coverage_warnings(views, inspection.overlap)
    found = [
        *_no_structure(run),
        *_doubts(run),
        *_leakage(run),
        *map(_capital, batches),
        *reading,
        *shared,
        *_of_fit(run, fit),
        *(() if inspection is None else inspection.warnings),
    ]
    return tuple(dict.fromkeys(found))


def no_structure(model: Any, structure: Any = None) -> str | None:
    """The sentence that there are no clusters, where fit or `structure` say so."""
    reasons = []
    if structure is not None and structure.found is False:
        reasons.append(structure.reason)
    if getattr(model, "evidence_", None) == "none":
        reasons.append(model.evidence_reason_)
    if not reasons:
        return None
    because = "; ".join(reason.rstrip(".") for reason in reasons if reason)
    return f"No cluster structure was found{': ' if because else ''}{because}."


def _no_structure(run: "ClusterRun") -> Iterator[str]:
    text = no_structure(run.model, run.structure)
    if text is not None:
        yield (
            f"{text} The {run.n_clusters} clusters are one way to cut the samples, not "
            f"groups that were found. Try another number (-k), or leave out columns "
            f"that have nothing to do with the question (--drop VIEW=COL)."
        )


def _doubts(run: "ClusterRun") -> Iterator[str]:
    """Clusters that are unstable, doubtful, uncertain or weakly founded."""
    if run.confidence is not None:
        stability = mean_stability(run.confidence)
        if stability is not None and stability < _UNSTABLE:
            yield (
                f"The clusters are not stable: when the method was run again with "
                f"other random starts, a sample stayed in its cluster in only "
                f"{percent(stability)} of the runs on average. Do not rely on single "
                f"assignments; fewer clusters (-k) may be more stable, and --refits 8 "
                f"tells it more surely."
            )
    if run.doubtful and run.no_structure is None:
        yield _doubtful(run.doubtful, run.n_clusters)
    if run.confidence is not None:
        flagged = float(np.mean(run.confidence.low))
        if flagged > _MANY_FLAGGED:
            yield (
                f"{percent(flagged)} of the samples are flagged as uncertain "
                f"(low_confidence in labels.csv). The groups may overlap, or there may "
                f"be fewer of them (-k)."
            )
    if getattr(run.model, "evidence_", None) == "weak":
        reason = (run.model.evidence_reason_ or "").rstrip(".")
        yield (
            f"The evidence for this number of clusters is weak"
            f"{': ' if reason else ''}{reason}. Look at the other candidates, and let "
            f"knowledge of the field decide; -k sets a number."
        )


def _doubtful(doubtful: dict[int, float], total: int) -> str:
    shares = ", ".join(f"{percent(s)} of cluster {c}" for c, s in doubtful.items())
    are, come = ("is", "comes") if len(doubtful) == 1 else ("are", "come")
    return (
        f"{len(doubtful)} of {total} clusters {are} doubtful: only {shares} {come} "
        f"back when the samples are clustered again from other anchors. Fewer clusters "
        f"(-k) may all come back."
    )


def _leakage(run: "ClusterRun") -> Iterator[str]:
    if run.explanation is not None:
        text = run.explanation.leakage_warning
    else:  # out of core
        text = leakage_warning(run.model.pattern_leakage_, run.views.n_samples)
    if text is not None:
        yield text


def _of_fit(run: "ClusterRun", texts: Sequence[str]) -> Iterator[str]:
    """What the fit warned of, but for the evidence, which has a sentence of its own."""
    reason = getattr(run.model, "evidence_reason_", None)
    for text in texts:
        if not (reason and reason in text):
            yield _capital(text)


def _capital(text: str) -> str:
    """A sentence with a capital letter, unless it starts with a name of code."""
    starts_with_a_word = text.partition(" ")[0].isalpha()
    return text[:1].upper() + text[1:] if starts_with_a_word else text
