"""Figures of results: one function each, ``(result, ..., ax=None) -> ax``.

They draw the numbers that the page draws, in the page's colours, on light and dark
ground. Every function takes matplotlib axes, or makes a figure of a size for print.
Nothing else of matplotlib's state is changed. Needs ``pip install 'imvc[report]'``.
"""

from imvc.plot._flow import flow
from imvc.plot._judgement import confidence, stability_curve, view_agreement
from imvc.plot._meaning import associations, survival
from imvc.plot._patterns import patterns
from imvc.plot._profiles import profiles
from imvc.plot._samples import samples

__all__ = [
    "associations",
    "confidence",
    "flow",
    "patterns",
    "profiles",
    "samples",
    "stability_curve",
    "survival",
    "view_agreement",
]


def __dir__() -> list[str]:
    return __all__
