"""What carries a clustering: its data, samples and features; and what it means."""

from typing import TYPE_CHECKING

from imvc._lazy import lazy_names

if TYPE_CHECKING:
    from imvc.insight._associate import associate as associate
    from imvc.insight._associate import check_survival as check_survival
    from imvc.insight._associations import Associations as Associations
    from imvc.insight._associations import ColumnAssociation as ColumnAssociation
    from imvc.insight._confidence import Confidence as Confidence
    from imvc.insight._confidence import confidence as confidence
    from imvc.insight._describe import ColumnDifference as ColumnDifference
    from imvc.insight._describe import Description as Description
    from imvc.insight._describe import ViewShare as ViewShare
    from imvc.insight._describe import describe as describe
    from imvc.insight._explain import ClusterSummary as ClusterSummary
    from imvc.insight._explain import Explanation as Explanation
    from imvc.insight._explain import FeatureEffect as FeatureEffect
    from imvc.insight._explain import ViewAgreement as ViewAgreement
    from imvc.insight._explain import explain as explain
    from imvc.insight._inspect import ColumnSummary as ColumnSummary
    from imvc.insight._inspect import Inspection as Inspection
    from imvc.insight._inspect import PatternCount as PatternCount
    from imvc.insight._inspect import ViewSummary as ViewSummary
    from imvc.insight._inspect import inspect as inspect
    from imvc.insight._profiles import FeatureProfile as FeatureProfile
    from imvc.insight._structure import Structure as Structure
    from imvc.insight._structure import structure as structure
    from imvc.insight._survival import Survival as Survival
    from imvc.insight._survival import SurvivalCurve as SurvivalCurve
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_associate": "associate check_survival",
            "_associations": "Associations ColumnAssociation",
            "_confidence": "Confidence confidence",
            "_describe": "ColumnDifference Description ViewShare describe",
            "_explain": "ClusterSummary Explanation FeatureEffect ViewAgreement "
            "explain",
            "_inspect": "ColumnSummary Inspection PatternCount ViewSummary inspect",
            "_profiles": "FeatureProfile",
            "_structure": "Structure structure",
            "_survival": "Survival SurvivalCurve",
        },
    )
