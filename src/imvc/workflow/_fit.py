"""From a method's name to a fitted model, with its cost told first."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from imvc.methods import Cost, check_fits, estimate_cost
from imvc.methods._registry import METHODS, find_entry
from imvc.scale import BlockSource
from imvc.views import IncompleteViews
from imvc.workflow._stages import Stages

_FOR_PROGRAMMERS = (DeprecationWarning, FutureWarning, ResourceWarning)
# What `cluster` asks for beside the parameters, and where on the command line.
_OWN_OPTIONS = {"n_clusters": "-k", "random_state": "--seed"}


def methods_that(capability: str) -> list[str]:
    """Names of the methods that have a capability, as the registry says."""
    return [name for name, entry in METHODS.items() if getattr(entry, capability)]


def make_model(
    method: str,
    n_clusters: int | Sequence[int] | None,
    parameters: Mapping[str, Any],
    random_state: int | None,
) -> Any:
    """An estimator ready to fit; every mistake in the request raises here."""
    estimator = find_entry(method).estimator
    finders = methods_that("finds_number")
    if method not in finders and not isinstance(n_clusters, int):
        others = " or ".join(map(repr, finders))
        raise ValueError(
            f"method {method!r} needs one number of clusters, got {n_clusters!r}; give "
            f"n_clusters (-k), or take {others}, which suggests one."
        )
    model = estimator(n_clusters=n_clusters)
    known = model.get_params()
    for name in parameters:
        if name not in known or name == "callback":
            shown = ", ".join(sorted(set(known) - {"callback"}))
            raise ValueError(f"{method!r} has no parameter {name!r}; it has: {shown}.")
        if name in _OWN_OPTIONS:
            raise ValueError(
                f"parameter {name!r} has an argument of its own "
                f"({_OWN_OPTIONS[name]}); leave it out of the parameters (--set)."
            )
    if "random_state" in known:
        model.set_params(random_state=random_state)
    model._validate_params()
    for name, value in parameters.items():
        model.set_params(**{name: value})
        try:
            model._validate_params()
        except ValueError as error:
            raise ValueError(
                f"{error} Pass another value in parameters (--set {name}=VALUE)."
            ) from error
    return model


def expected_cost(method: str, views: IncompleteViews, n_clusters: Any) -> Cost:
    """What one fit will take."""
    if not isinstance(n_clusters, int | None):  # candidates to choose from
        n_clusters = max(n_clusters)
    return estimate_cost(method, views.n_samples, views.n_features, n_clusters)


def check_cost(cost: Cost, stages: Stages, *, force: bool) -> None:
    """Refuse what cannot fit into memory, or say so where it is forced."""
    try:
        check_fits(cost)
    except ValueError as error:
        if not force:
            raise ValueError(f"{error} force=True (--force) tries it.") from error
        stages.say(f"{error} Tried all the same.")


def fit_model(
    model: Any,
    views: IncompleteViews | BlockSource,
    stages: Stages,
    expected: float | None = None,
    batch: Any = None,
) -> tuple[str, ...]:
    """Fit, telling iterations; what users are warned of."""
    with (
        stages.run("fit", expected=expected) as step,
        caught_warnings() as warned,
    ):
        model.set_params(callback=lambda iteration, objective: step(iteration))
        try:
            model.fit(views, batch=batch)
        finally:
            model.set_params(callback=None)
    return tuple(warned)


@contextmanager
def caught_warnings() -> Iterator[list[str]]:
    """Yields a list that holds at the end what users are warned of, each text once."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for warning in caught:
        text = " ".join(str(warning.message).split())
        if not issubclass(warning.category, _FOR_PROGRAMMERS) and text not in texts:
            texts.append(text)
