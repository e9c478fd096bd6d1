"""What carries a clustering: the data before it, its samples and its features."""

from imvc.insight._confidence import Confidence, confidence
from imvc.insight._explain import (
    ClusterSummary,
    Explanation,
    FeatureEffect,
    ViewAgreement,
    explain,
)
from imvc.insight._inspect import (
    ColumnSummary,
    Inspection,
    PatternCount,
    ViewSummary,
    inspect,
)

__all__ = [
    "ClusterSummary",
    "ColumnSummary",
    "Confidence",
    "Explanation",
    "FeatureEffect",
    "Inspection",
    "PatternCount",
    "ViewAgreement",
    "ViewSummary",
    "confidence",
    "explain",
    "inspect",
]
