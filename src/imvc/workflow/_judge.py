"""How sure the clusters of a run are, and whether there are any; their cost first."""

from typing import Any

from imvc.insight import Confidence, Structure, confidence, structure
from imvc.methods import Cost
from imvc.methods._registry import METHODS
from imvc.views import IncompleteViews
from imvc.workflow._fit import expected_cost
from imvc.workflow._stages import Stages

# Samples whose halves tell whether there are clusters, by the growth of the method.
_MOST = {"O(n)": 2000, "O(n^2)": 1000, "O(n^3)": 300}
_LEAST_DRAWS = 4


def forecast(method: str, views: IncompleteViews, cost: Cost, n_refits: int) -> str:
    """What fit, refits and the question for structure will take, in words."""
    if n_refits == 0:
        return cost.reason
    n, most = views.n_samples, _most(method)
    fits = 3 * _draws(n_refits) + (12 if n > most // 2 else 0)
    return (
        f"{cost.reason} Refits for the confidence ({n_refits}) take as long each, but "
        f"for the search for a number of clusters; then up to {fits} fits of at most "
        f"{min(n, most) // 2} samples tell whether there are clusters at all."
    )


def judge(
    model: Any, method: str, views: IncompleteViews, n_refits: int, stages: Stages
) -> Confidence:
    """How sure the cluster of every sample is."""
    # Refits do not search for a number of clusters.
    search = expected_cost(method, views, model.n_clusters).seconds
    once = expected_cost(method, views, len(model.cluster_centers_)).seconds
    expected = n_refits * stages.seconds["fit"] * min(1.0, once / search)
    with stages.run("confidence", expected=expected):
        return confidence(model, views, n_refits=n_refits)


def seek_structure(
    model: Any, method: str, views: IncompleteViews, n_refits: int, stages: Stages
) -> Structure | None:
    """Whether there are clusters at all; None without refits."""
    if n_refits == 0:
        return None
    most, draws = _most(method), _draws(n_refits)
    with stages.run("structure", total=draws) as step:
        return structure(model, views, n_draws=draws, max_samples=most, callback=step)


def _most(method: str) -> int:
    return _MOST[METHODS[method].cost]


def _draws(n_refits: int) -> int:
    return max(_LEAST_DRAWS, 2 * n_refits)
