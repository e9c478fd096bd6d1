"""Clustering of samples described by several views when many views are missing.

Start with an estimator and a list of tables, one per view; a row of NaN says that the
sample has no such view:

>>> import imvc
>>> data = imvc.datasets.make_views(60, (5, 6), 3, incomplete=0.3, random_state=0)
>>> model = imvc.AnchorBridge(n_clusters=3, random_state=0)
>>> labels = model.fit_predict(data.Xs, mask=data.mask)

- before: `io.read_views` reads files and joins them by id, `inspect` tells what is
  missing where, `estimate_cost` what a fit will take;
- which method: `AnchorBridge` needs no tuning and finds the number of clusters,
  `list_methods` has all names, `compare` runs several;
- after: `explain`, `confidence`, `structure`, `associate`, `load_model`, and `annotate`
  for AnnData and MuData;
- from files to a page: `workflow.cluster`, or ``imvc cluster`` in a terminal.

``help(imvc.RISE)`` describes a method with its parameters, docs/tutorial.md a study.
"""

from typing import TYPE_CHECKING

from imvc._lazy import lazy_names
from imvc.methods._registry import METHODS

if TYPE_CHECKING:
    from imvc import datasets as datasets
    from imvc import experiments as experiments
    from imvc import io as io
    from imvc import metrics as metrics
    from imvc import plot as plot
    from imvc import report as report
    from imvc import testing as testing
    from imvc import workflow as workflow
    from imvc._version import __version__ as __version__
    from imvc.insight import associate as associate
    from imvc.insight import confidence as confidence
    from imvc.insight import describe as describe
    from imvc.insight import explain as explain
    from imvc.insight import inspect as inspect
    from imvc.insight import structure as structure
    from imvc.io._annotate import annotate as annotate
    from imvc.methods import estimate_cost as estimate_cost
    from imvc.methods import load_model as load_model
    from imvc.methods._registry import *  # noqa: F403 - the classes of all methods
    from imvc.views import IncompleteViews as IncompleteViews
    from imvc.views import as_views as as_views
    from imvc.workflow import compare as compare
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "": "datasets experiments io metrics plot report testing workflow",
            "_version": "__version__",
            "insight": "associate confidence describe explain inspect structure",
            "io._annotate": "annotate",
            "methods": "estimate_cost get_method list_methods load_model "
            + " ".join(entry.class_name for entry in METHODS.values()),
            "views": "IncompleteViews as_views",
            "workflow": "compare",
        },
    )
