"""What carries a clustering: its data, samples and features; and what it means."""

from imvc.insight._associate import associate, check_survival
from imvc.insight._associations import Associations, ColumnAssociation
from imvc.insight._confidence import Confidence, confidence
from imvc.insight._describe import (
    ColumnDifference,
    Description,
    ViewShare,
    describe,
)
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
from imvc.insight._profiles import FeatureProfile
from imvc.insight._structure import Structure, structure
from imvc.insight._survival import Survival, SurvivalCurve

__all__ = [
    "Associations",
    "ClusterSummary",
    "ColumnAssociation",
    "ColumnDifference",
    "ColumnSummary",
    "Confidence",
    "Description",
    "Explanation",
    "FeatureEffect",
    "FeatureProfile",
    "Inspection",
    "PatternCount",
    "Structure",
    "Survival",
    "SurvivalCurve",
    "ViewAgreement",
    "ViewShare",
    "ViewSummary",
    "associate",
    "check_survival",
    "confidence",
    "describe",
    "explain",
    "inspect",
    "structure",
]
