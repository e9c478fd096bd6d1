"""What was observed, and where: the one container every method reads."""

from imvc.views._container import (
    IncompleteViews,
    Pattern,
    ViewSchema,
    group_patterns,
    stack_samples,
)
from imvc.views._frames import JoinReport
from imvc.views._validate import as_views

__all__ = [
    "IncompleteViews",
    "JoinReport",
    "Pattern",
    "ViewSchema",
    "as_views",
    "group_patterns",
    "stack_samples",
]
