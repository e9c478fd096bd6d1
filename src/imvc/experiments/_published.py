"""The published figures, as data."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CITATION = (
    "X. Wang, Y. Zhang, Y. Zhou, Highly Efficient Rotation-Invariant Spectral "
    "Embedding for Scalable Incomplete Multi-View Clustering, AAAI 2025, "
    "39(20):21312-21320, arXiv:2501.11898, Tables 2 (means over nine missing rates, "
    "per cent) and 3 (seconds)"
)


@dataclass(frozen=True)
class Published:
    """One method on one dataset in the paper; None is its "-" (out of memory).

    Attributes
    ----------
    acc, nmi, purity : float or None
        Shares from 0 to 1. The paper's purity of RISE is probably inverse purity.
    seconds : float or None
    """

    acc: float | None
    nmi: float | None
    purity: float | None
    seconds: float | None


@cache
def published() -> dict[tuple[str, str], Published]:
    """The paper's Tables 2 and 3 by (dataset, method), registry names of both.

    Returns
    -------
    dict of (str, str) to Published
        Seven datasets, eleven methods.

    Examples
    --------
    >>> from imvc.experiments import published
    >>> published()["webkb", "rise"]
    Published(acc=0.9302, nmi=0.5361, purity=0.9339, seconds=0.66)
    """
    path = Path(__file__).with_name("_published.csv")
    with open(path, encoding="utf-8", newline="") as file:
        return {
            (row["dataset"], row["method"]): Published(
                acc=_share(row["acc"]),
                nmi=_share(row["nmi"]),
                purity=_share(row["purity"]),
                seconds=float(row["seconds"]) if row["seconds"] else None,
            )
            for row in csv.DictReader(file)
        }


def _share(text: str) -> float | None:
    return round(float(text) / 100, 6) if text else None
