"""Scores of a clustering against known classes, and a warning light for masks.

Every function takes two label vectors, the known classes first, and returns a float
(or a named tuple or dict of floats). Labels may be integers or strings; their names and
order do not matter.
"""

from imvc.metrics._information import nmi, pattern_leakage, pattern_leakage_of
from imvc.metrics._leakage import column_leakage
from imvc.metrics._scores import (
    PairScores,
    adjusted_rand,
    adjusted_rand_of,
    clustering_accuracy,
    inverse_purity,
    pairwise_fscore,
    purity,
    score_all,
)

__all__ = [
    "PairScores",
    "adjusted_rand",
    "adjusted_rand_of",
    "clustering_accuracy",
    "column_leakage",
    "inverse_purity",
    "nmi",
    "pairwise_fscore",
    "pattern_leakage",
    "pattern_leakage_of",
    "purity",
    "score_all",
]


def __dir__() -> list[str]:
    return __all__
