"""What carries a clustering: the data before it, its samples and its features."""

from imvc.insight._confidence import Confidence, confidence
from imvc.insight._explain import (
    ClusterSummary,
    Explanation,
    FeatureEffect,
    ViewAgreement,
    explain,
)
from imvc.insight._inspect import Inspection, PatternCount, ViewSummary, inspect
from imvc.insight._structure import Structure, structure

__all__ = [
    "ClusterSummary",
    "Confidence",
    "Explanation",
    "FeatureEffect",
    "Inspection",
    "PatternCount",
    "Structure",
    "ViewAgreement",
    "ViewSummary",
    "confidence",
    "explain",
    "inspect",
    "structure",
]
