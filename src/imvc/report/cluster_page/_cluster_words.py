"""A clustering in words: the summary of its page."""

import numpy as np

from imvc._plain import cut
from imvc.insight import Confidence
from imvc.insight._drawn import CLEAR, FLAT
from imvc.insight._sentences import few
from imvc.insight._sentences import percent as plain_percent
from imvc.report.cluster_page._cluster_report import ClusterReport

_NAMED = 8  # views named in the summary


def count(n: int, noun: str = "") -> str:
    """``12 345 samples``: groups of three digits, and the plural where it is due."""
    digits = f"{n:,}".replace(",", "\u202f")
    return f"{digits} {noun}{'' if n == 1 else 's'}" if noun else digits


def percent(share: float) -> str:
    """A share in per cent that no line breaks apart; a dash where it is unknown."""
    return "–" if share != share else plain_percent(share).replace(" %", "\u00a0%")


def sentence(reason: str) -> str:
    """A reason as a sentence of its own."""
    text = cut(reason, 600).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def summary(report: ClusterReport) -> list[str]:
    """Short sentences for a reader who knows the data and not the method."""
    number = number_in_words(report.n_taken, report.evidence, report.evidence_reason)
    found = [_data(report), _result(report), number, _certainty(report)]
    if report.structureless:  # before any cluster is spoken of
        found.insert(0, "No cluster structure was found.")
    return found


def mean_stability(confidence: Confidence) -> float | None:
    """Mean share of refits that confirm a sample's cluster; None without refits."""
    known = confidence.stability[~np.isnan(confidence.stability)]
    return float(known.mean()) if len(known) else None


def _data(report: ClusterReport) -> str:
    names = [cut(name, 40) for name in report.view_names]
    lacking = report.n_incomplete
    opening = (
        f"{count(report.n_samples, 'sample')} were described by "
        f"{count(len(names), 'view')} ({few(names, _NAMED)})."
    )
    if not lacking:
        return f"{opening} Every sample has every view."
    share = percent(lacking / report.n_samples)
    return (
        f"{opening} {count(lacking, 'sample')} ({share}) "
        f"{'lacks' if lacking == 1 else 'lack'} at least one view."
    )


def _result(report: ClusterReport) -> str:
    labels, sizes = np.unique(report.labels, return_counts=True)
    method = cut(report.method, 60)
    if len(labels) == 1:
        return f"The method {method} put all of them into one cluster."
    least, most = count(int(sizes.min())), count(int(sizes.max()), "sample")
    range_ = f"{most} each" if sizes.min() == sizes.max() else f"{least} to {most}"
    return f"The method {method} put them into {len(labels)} clusters of {range_}."


def valley(depth: float) -> str:
    """How far clusters are set apart, in a word."""
    if not np.isfinite(depth):
        return "not known"
    word = "clear" if depth <= CLEAR else "shallow" if depth < FLAT else "none"
    return f"{word} ({depth:.2f})"


def number_in_words(taken: int, evidence: str | None, reason: str | None) -> str:
    """What the data say about the number of clusters, in a sentence or two."""
    if evidence is None:
        return "The number of clusters was given by the user."
    because = _because(reason)
    if evidence == "none":
        return f"The number {taken} was taken without any evidence for it{because}."
    return (
        f"{taken} clusters, give or take one, were suggested by the program; the "
        f"evidence is {evidence}{because}."
    )


def _because(reason: str | None) -> str:
    return f": {cut(reason, 600).rstrip('.')}" if reason else ""


def _certainty(report: ClusterReport) -> str:
    low = int(np.count_nonzero(report.confidence.low))
    if not low:
        text = "No sample was flagged as uncertain."
    else:
        text = (
            f"{count(low, 'sample')} ({percent(low / report.n_samples)}) "
            f"{'is' if low == 1 else 'are'} flagged as uncertain: between two "
            f"clusters, or in another one when the method is run again."
        )
    stability = mean_stability(report.confidence)
    if stability is None:
        return text
    return (
        f"{text} On average a sample stayed in its cluster in {percent(stability)} of "
        f"the repeated runs."
    )
