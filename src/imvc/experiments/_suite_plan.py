"""From a suite to its runs."""

import importlib
import itertools
import operator
import os
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from typing import Any

from imvc.datasets import (
    MultiViewDataset,
    get_data_home,
    list_datasets,
    load_dataset,
    load_digits_views,
)
from imvc.datasets._dataset_files import find_dataset
from imvc.experiments._outsiders import Outsider, joined
from imvc.experiments._own_method import OwnMethod
from imvc.experiments._suite import (
    AS_IT_IS,
    MethodSpec,
    PlannedRun,
    RunSpec,
    Suite,
    SuiteError,
    canonical_json,
)
from imvc.methods._registry import METHODS, find_entry

_MULTIPLE = re.compile(r"(\d*)c(\+\d+)?")
_COMPARE = {"<": operator.lt, "<=": operator.le}
Group = tuple[RunSpec, ...]
# What `beta_path` varies for the price of one fit.
PATH_PARAMETERS = ("beta", "embedding_dim")
ALL_DATASETS = "*"  # in a suite: whatever the data folder has, and the digits


@dataclass(frozen=True)
class Shape:
    """What the planning has to know of a dataset."""

    n_samples: int
    n_views: int
    n_clusters: int
    natural: bool  # incomplete as it is
    n_features: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The runs of a suite on the datasets that are there.

    Attributes
    ----------
    suite : Suite
    runs : tuple of PlannedRun
    shapes : mapping of str to Shape
    absent : mapping of str to str
        Datasets that cannot be used, with the reason.
    outsiders : mapping of str to Rival or OwnMethod
        Methods from outside the library, by their names in the runs.
    """

    suite: Suite
    runs: tuple[PlannedRun, ...]
    shapes: Mapping[str, Shape]
    absent: Mapping[str, str]
    outsiders: Mapping[str, Outsider] = field(default_factory=dict)


def load(
    name: str, data_home: str | os.PathLike[str] | None = None
) -> MultiViewDataset:
    """A dataset by name; ``digits`` needs no file."""
    if name == "digits":
        return load_digits_views()
    with warnings.catch_warnings():
        # Suites say themselves which sets have other features (`stands_for`).
        warnings.simplefilter("ignore", UserWarning)
        return load_dataset(name, data_home)


def estimator_class(name: str) -> type:
    """The class behind a registry name or ``module:Class``."""
    if ":" not in name:
        return find_entry(name).estimator
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"method {name!r} cannot be imported ({error}); write module:Class."
        ) from error


def plan_suite(
    suite: Suite,
    *,
    data_home: str | os.PathLike[str] | None = None,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    rates: Sequence[float] | None = None,
    seeds: Sequence[int] | None = None,
    mask_seeds: Sequence[int] | None = None,
    protocols: Sequence[str] | None = None,
    outsiders: Sequence[Outsider] = (),
) -> Plan:
    """List the runs of a suite, on the datasets that are there.

    Parameters
    ----------
    suite : Suite
    data_home : path-like, optional
        The folder of datasets; see `imvc.datasets.get_data_home`.
    methods, datasets : sequence of str, optional
        Only these of the suite: labels or names of methods, names of datasets.
    rates : sequence of float, optional
    seeds, mask_seeds : sequence of int, optional
        Only these of the suite's missing rates, anchor seeds and mask seeds.
    protocols : sequence of str, optional
        Only these of the suite's mask protocols.
    outsiders : sequence of Rival or OwnMethod, optional
        From `find_rivals` and `own_method`; they join the methods of the suite.

    Returns
    -------
    Plan
        Naturally incomplete sets are run once, as they are, whatever the rates.
    """
    suite = replace(suite, methods=joined(suite.methods, outsiders))
    outside = {outsider.name: outsider for outsider in outsiders}
    # A method of one's own is named by its option; an adapter names many.
    own = {name for name, found in outside.items() if isinstance(found, OwnMethod)}
    chosen = _pick_methods(suite, methods, own)
    for method in chosen:
        if method.name not in outside:
            _check_parameters(suite, method)
    home = None if data_home is None else os.fspath(data_home)
    rates = _pick(suite, suite.rates, rates, "rates")
    names = _pick(suite, tuple(suite.protocols), protocols, "protocols")
    suite = replace(
        suite,
        rates=rates,
        seeds=_pick(suite, suite.seeds, seeds, "seeds"),
        mask_seeds=_pick(suite, suite.mask_seeds, mask_seeds, "mask seeds"),
        protocols={
            name: tuple(rate for rate in suite.protocols[name] if rate in rates)
            for name in names
        },
        datasets=_datasets(suite, home),
    )
    shapes: dict[str, Shape] = {}
    absent: dict[str, str] = {}
    for name in _pick(suite, suite.datasets, datasets, "datasets"):
        if not _is_there(name, home):
            absent[name] = "is not there"
            continue
        try:
            shapes[name] = _shape(name, home)
        except ValueError as error:
            absent[name] = f"cannot be used ({error})"
    runs = [
        run
        for name, shape in shapes.items()
        for method in chosen
        for run in _runs(suite, method, name, shape)
    ]
    suite = replace(suite, methods=chosen)
    return Plan(suite, tuple(runs), shapes, absent, outside)


def settings(method: MethodSpec, dataset: str, n_clusters: int) -> list[dict[str, Any]]:
    """The settings of a method's grid on a dataset, without those a constraint bars."""
    grid = {**method.grid, **method.grid_for.get(dataset, {})}
    if not grid:
        return []
    axes = [[_number(value, n_clusters) for value in grid[key]] for key in grid]
    found: dict[str, dict[str, Any]] = {}
    for values in itertools.product(*axes):
        setting = {
            **_resolved(method.parameters, n_clusters),
            **dict(zip(grid, values)),
        }
        if all(_holds(text, setting) for text in method.constraints):
            found.setdefault(canonical_json(setting), setting)
    return list(found.values())


def group_runs(specs: Iterable[RunSpec]) -> list[Group]:
    """Runs that share anchors and statistics, together; all others alone.

    Runs of a method with ``beta_path`` that differ in ``beta`` and ``embedding_dim``
    only are one group.
    """
    groups: dict[Hashable, list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault(_group_key(spec), []).append(spec)
    return [tuple(group) for group in groups.values()]


def unique_groups(plan: Plan) -> list[Group]:
    """The groups of a plan, each run once however many labels it stands under."""
    return group_runs({run.spec.key: run.spec for run in plan.runs}.values())


def _group_key(spec: RunSpec) -> Hashable:
    parameters = spec.parameters
    alone = parameters.get("graph", "bipartite") != "bipartite" or not any(
        # The default setting is timed by itself.
        name in parameters
        for name in PATH_PARAMETERS
    )
    if alone or not _has_path(spec.method):
        return spec.key
    rest = {k: v for k, v in parameters.items() if k not in PATH_PARAMETERS}
    return replace(spec, parameters={}).key, canonical_json(rest)


@cache
def _has_path(method: str) -> bool:
    return hasattr(estimator_class(method), "beta_path")


def _runs(
    suite: Suite, method: MethodSpec, dataset: str, shape: Shape
) -> Iterator[PlannedRun]:
    choices = []
    costly = method.name in METHODS and METHODS[method.name].cost != "O(n)"
    if not costly or shape.n_samples <= (suite.search_samples or inf):
        choices = [("grid", s) for s in settings(method, dataset, shape.n_clusters)]
    fixed = _resolved(method.parameters, shape.n_clusters)
    if method.parameter_free or choices:
        # The defaults are in every grid: an oracle is never below them.
        choices.append(("grid", fixed))
    if method.default:
        choices.insert(0, ("default", fixed))
    masks = [(AS_IT_IS, 0.0)] if shape.natural else suite.masks()
    for (protocol, rate), mask_seed, seed, order in itertools.product(
        masks, suite.mask_seeds, suite.seeds, suite.row_orders
    ):
        for role, setting in choices:
            draw = (rate, mask_seed, seed, protocol, order)
            spec = RunSpec(dataset, method.name, setting, *draw)
            yield PlannedRun(method.label, role, spec)


def _datasets(suite: Suite, home: str | None) -> tuple[str, ...]:
    """The datasets of a suite by name, with those found in place of the asterisk."""
    if ALL_DATASETS not in suite.datasets:
        return suite.datasets
    found = [entry.name for entry in list_datasets(home) if entry.path is not None]
    named = [name for name in suite.datasets if name != ALL_DATASETS]
    return tuple(dict.fromkeys([*named, "digits", *found]))


def _is_there(name: str, home: str | None) -> bool:
    if name == "digits":
        return True
    try:
        return find_dataset(name, get_data_home(home))[0].is_file()
    except (FileNotFoundError, ValueError):
        return False


@cache
def _shape(name: str, data_home: str | None) -> Shape:
    data = load(name, data_home)
    if data.n_views == 1:
        raise ValueError("it has one view only, so none can be missing")
    natural = not bool(data.mask.all())
    sizes = (data.n_samples, data.n_views, data.n_clusters)
    return Shape(*sizes, natural, tuple(data.n_features))


def _number(value: Any, n_clusters: int) -> Any:
    match = _MULTIPLE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    return int(match[1] or 1) * n_clusters + int(match[2] or 0)


def _resolved(parameters: Mapping[str, Any], n_clusters: int) -> dict[str, Any]:
    return {key: _number(value, n_clusters) for key, value in parameters.items()}


def _holds(text: str, setting: Mapping[str, Any]) -> bool:
    left, sign, right = text.split()
    if left not in setting or right not in setting:
        return True
    return bool(_COMPARE[sign](setting[left], setting[right]))


def _pick(suite: Suite, known, wanted, key: str) -> tuple[Any, ...]:
    if wanted is None:
        return tuple(known)
    for name in wanted:
        if name not in known:
            raise SuiteError(
                f"suite {suite.name!r} has no {name!r} among its {key}; there are: "
                f"{', '.join(map(str, known))}."
            )
    return tuple(name for name in known if name in wanted)


def _pick_methods(suite: Suite, wanted, always: set[str]) -> tuple[MethodSpec, ...]:
    if wanted is None:
        return suite.methods
    # The digest of a user's file is no part of what one types.
    names = {m.label: m.name.partition("#")[0] for m in suite.methods}
    known = sorted({*names, *names.values()})
    picked = _pick(suite, known, wanted, "methods")
    return tuple(
        m
        for m in suite.methods
        if m.name in always or {m.label, names[m.label]} & {*picked}
    )


def _check_parameters(suite: Suite, method: MethodSpec) -> None:
    where = f"{suite.source or suite.name}: method {method.label!r}"
    try:
        known = estimator_class(method.name)(n_clusters=2).get_params()
    except ValueError as error:
        raise SuiteError(f"{where}: {error}") from error
    searched = [*method.grid, *(k for g in method.grid_for.values() for k in g)]
    for key in [*method.parameters, *searched]:
        if key not in known:
            raise SuiteError(
                f"{where}: {key} is not a parameter of {method.name}; it has: "
                f"{', '.join(known)}."
            )
    for text in method.constraints:
        if text.split()[1] not in _COMPARE:
            raise SuiteError(
                f'{where}: constraint {text!r}: write it as "a < b" or "a <= b".'
            )
