"""Survival by cluster: Kaplan-Meier curves and the log-rank test."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import CensoredData, chi2, ecdf

from imvc.insight._column_kinds import text_of
from imvc.insight._sentences import few, joined, left_out, p_text, short_number

_YES = {"1", "1.0", "true", "yes", "y", "dead", "deceased", "died", "death", "event"}
_NO = {"0", "0.0", "false", "no", "n", "alive", "living", "censored"}
_CODED = re.compile("[01]:.*")  # "1:DECEASED", as clinical tables of consortia have it
_SHOWN = 5  # values named in an error
_MARKS = 5  # times, about, at which samples at risk are counted
_NAMED = 4  # clusters whose median a sentence tells
_HALF = 0.5 + 1e-9  # products of shares are rounded
ALPHA = 0.05


@dataclass(frozen=True)
class SurvivalCurve:
    """Kaplan-Meier curve of one cluster.

    Parameters
    ----------
    cluster : int
    n_samples, n_events : int
    times : tuple of float
        0, and the times at which the curve steps down.
    survival, low, high : tuple of float
        Share that survives each of these times, and its 95 % confidence limits (by
        the log-log transformation; NaN where all or none have survived).
    last : float
        The longest time that a sample was observed for.
    at_risk : tuple of int
        Samples still observed at each of `Survival.marks`.
    median : float or None
        First time that at most half survive; None where more than half do.
    """

    cluster: int
    n_samples: int
    n_events: int
    times: tuple[float, ...]
    survival: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    last: float
    at_risk: tuple[int, ...]
    median: float | None


@dataclass(frozen=True)
class Survival:
    """Survival of the clusters, and whether it differs.

    Parameters
    ----------
    time, event : str
        Names of the columns.
    curves : tuple of SurvivalCurve
        One per cluster with known samples.
    marks : tuple of float
        Times at which samples at risk are counted.
    statistic, p : float or None
        Of the log-rank test over all clusters; None where there is nothing to
        compare.
    n_known, n_unknown : int
        Samples with time and event, and those left out.
    sentence : str
    """

    time: str
    event: str
    curves: tuple[SurvivalCurve, ...]
    marks: tuple[float, ...]
    statistic: float | None
    p: float | None
    n_known: int
    n_unknown: int
    sentence: str


def survival_by_cluster(
    labels: np.ndarray, time: Any, event: Any, names: tuple[str, str]
) -> Survival:
    """Curves and test of `labels` (n,); time and event of every sample, or None."""
    times, events = survival_times(time, names[0]), survival_events(event, names[1])
    known = ~(np.isnan(times) | np.isnan(events))
    own, times, events = labels[known], times[known], events[known] == 1
    marks = _marks(times.max(initial=0.0))
    curves = tuple(
        _curve(int(label), times[own == label], events[own == label], marks)
        for label in np.unique(own)
    )
    statistic = p = None
    if len(curves) > 1 and events.any():
        statistic, p = log_rank(own, times, events)
    unknown = len(known) - len(own)
    words = f"{_words(curves, p)}{left_out(unknown, 'time or event')}"
    return Survival(*names, curves, marks, statistic, p, len(own), unknown, words)


def log_rank(
    labels: np.ndarray, times: np.ndarray, events: np.ndarray
) -> tuple[float, float]:
    """Log-rank statistic over all groups, and its p value; O(n log n + k^2 t).

    The events expected in a group at each time are its share of the samples at risk;
    observed minus expected, measured by their hypergeometric covariance, is chi-square
    with one degree less than there are groups. Groups that were never at risk when
    something happened do not count.
    """
    groups, code = np.unique(labels, return_inverse=True)
    moments, at = np.unique(times[events], return_inverse=True)
    died = np.bincount(at)
    own = [np.sort(times[code == g]) for g in range(len(groups))]
    # At risk are those whose time is not over, (k, t).
    risk = np.array([len(t) - np.searchsorted(t, moments) for t in own], float)
    total = risk.sum(axis=0)
    share = risk / total
    expected = share @ died
    # The last sample at risk dies for certain: there is no variance then.
    spread = died * (total - died) / np.maximum(total - 1, 1)
    covariance = np.diag(share @ spread) - (share * spread) @ share.T
    counted = np.flatnonzero(expected > 0)
    surplus = np.bincount(code[events], minlength=len(groups)) - expected
    free = counted[:-1]  # the surpluses sum to 0
    inverse = np.linalg.pinv(covariance[np.ix_(free, free)])
    statistic = float(surplus[free] @ inverse @ surplus[free])
    return statistic, float(chi2.sf(statistic, len(free))) if len(free) else 1.0


def survival_times(values: Any, name: str) -> np.ndarray:
    """Times as floats, NaN where unknown; an error names what is none."""
    texts = [text_of(value) for value in np.asarray(values, dtype=object)]
    try:
        times = np.array([np.nan if text is None else float(text) for text in texts])
    except ValueError:
        bad = [text for text in texts if text is not None and not _is_number(text)]
        raise ValueError(
            f"survival time {name!r} holds {_listed(bad)}, which are no numbers; give "
            f"times such as days, and leave unknown ones empty."
        ) from None
    odd = [text for text, t in zip(texts, times) if t < 0 or np.isinf(t)]
    if odd:
        raise ValueError(
            f"survival time {name!r} holds {_listed(odd)}; times are finite and not "
            f"negative: correct them, or leave unknown ones empty."
        )
    return times


def survival_events(values: Any, name: str) -> np.ndarray:
    """1 where the event happened, 0 where not, NaN where unknown; by number or word."""
    texts = [text_of(value) for value in np.asarray(values, dtype=object)]
    found = [np.nan if text is None else _event(text) for text in texts]
    bad = [text for text, event in zip(texts, found) if event is None]
    if bad:
        raise ValueError(
            f"survival event {name!r} holds {_listed(bad)}; write 1, yes, true, dead, "
            f"deceased or event where it happened, and 0, no, false, alive, living or "
            f"censored where it did not."
        )
    return np.array(found, dtype=float)


def _event(text: str) -> float | None:
    word = text.casefold()
    word = word[0] if _CODED.fullmatch(word) else word
    return 1.0 if word in _YES else 0.0 if word in _NO else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _listed(texts: Sequence[str | None]) -> str:
    different = list(dict.fromkeys(texts))
    return few([repr(text) for text in different], _SHOWN)


def _marks(last: float) -> tuple[float, ...]:
    """About five round times from 0 on."""
    if last <= 0:
        return (0.0,)
    step = 10.0 ** np.floor(np.log10(last / _MARKS))
    step *= next(f for f in (1, 2, 2.5, 5, 10) if last / (f * step) <= _MARKS)
    return tuple(float(t) for t in step * np.arange(int(last / step) + 1))


def _curve(
    cluster: int, times: np.ndarray, events: np.ndarray, marks: Sequence[float]
) -> SurvivalCurve:
    found = ecdf(CensoredData(uncensored=times[events], right=times[~events])).sf
    with warnings.catch_warnings():  # of limits where all or none have survived
        warnings.simplefilter("ignore", RuntimeWarning)
        limits = found.confidence_interval(method="log-log")
    steps = np.flatnonzero(np.diff(found.probabilities, prepend=1) < 0)

    def at_steps(first: float, values: Any) -> tuple[float, ...]:
        return (first, *np.asarray(values)[steps].tolist())

    moments = at_steps(0.0, found.quantiles)
    survival = at_steps(1.0, found.probabilities)
    half = [t for t, share in zip(moments, survival) if share <= _HALF]
    return SurvivalCurve(
        cluster=cluster,
        n_samples=len(times),
        n_events=int(events.sum()),
        times=moments,
        survival=survival,
        low=at_steps(np.nan, limits.low.probabilities),
        high=at_steps(np.nan, limits.high.probabilities),
        last=float(times.max()),
        at_risk=tuple(int(np.sum(times >= mark)) for mark in marks),
        median=half[0] if half else None,
    )


def _words(curves: Sequence[SurvivalCurve], p: float | None) -> str:
    if not curves:
        return "Survival is not known of any sample: not tested."
    if p is None and len(curves) == 1:
        return "Survival is known in one cluster only: there is nothing to compare."
    if p is None:
        return "No event happened in any cluster: survival was not tested."
    if p >= ALPHA:
        return (
            f"No difference of survival between the clusters was found (log-rank test, "
            f"{p_text(p)})."
        )
    reached = sorted((c.median, c.cluster) for c in curves if c.median is not None)
    told = [f"{short_number(m)} in cluster {c}" for m, c in reached]
    if len(told) > _NAMED:  # the ends say most
        told = [told[0], told[-1]]
    medians = f": the median is {joined(told)}" if told else ""
    lasting = [str(c.cluster) for c in curves if c.median is None]
    if lasting and len(lasting) <= _NAMED:
        noun = "cluster" if len(lasting) == 1 else "clusters"
        medians += f"{';' if told else ':'} more than half of {noun} {joined(lasting)} "
        medians += "survive the time observed"
    return (
        f"Survival differs between the clusters (log-rank test, {p_text(p)}){medians}."
    )
