"""Drift: whether new samples lie as far from other clusters as those of the fit."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import fisher_exact

from imvc.insight._confidence import margin_limit
from imvc.insight._sentences import percent

_CLEAR, _MUCH = 0.01, 0.1  # p value, and difference of shares, to warn of


@dataclass(frozen=True)
class Drift:
    """How sure the clusters of new samples are, against those of the fit.

    Parameters
    ----------
    share_low_new, share_low_fit : float
        Samples that stand between two clusters, by their margins.
    warn : bool
        Whether the new samples may be of another kind.
    text : str
    """

    share_low_new: float
    share_low_fit: float
    warn: bool
    text: str


def margin_drift(fitted: np.ndarray, new: np.ndarray) -> Drift:
    """Compare the margins of new samples with those of a model's own.

    Parameters
    ----------
    fitted, new : ndarray
        Margins, as in `imvc.confidence`.

    Returns
    -------
    Drift
        It warns where at least a tenth more of the new samples are doubtful than of the
        old ones, and Fisher's exact test finds that at p < 0.01.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.workflow import margin_drift
    >>> margin_drift(np.full(200, 0.6), np.full(40, 0.02)).warn
    True
    """
    limit = margin_limit(fitted)
    counts = [[int(np.sum(m <= limit)), int(np.sum(m > limit))] for m in (new, fitted)]
    share_new, share_fit = (low / max(1, low + sure) for low, sure in counts)
    p = fisher_exact(counts, alternative="greater").pvalue
    warn = bool(p < _CLEAR and share_new - share_fit >= _MUCH)
    text = (
        f"{percent(share_new)} of the new samples stand between two clusters; of the "
        f"samples that the clusters were found on it were {percent(share_fit)}."
    )
    if warn:
        text += (
            " The new samples may be of another kind, or measured in another way: do "
            "not rely on their clusters, and cluster old and new ones together."
        )
    return Drift(share_new, share_fit, warn, text)
