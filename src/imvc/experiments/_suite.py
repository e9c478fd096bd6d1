"""What a suite and a run are: frozen dataclasses, and the key of a run."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

TABLES = ("scores", "time", "order", "leaderboard")
FIGURES = (
    "missing-rate",
    "parameter",
    "anchors-dim",
    "convergence",
    "time",
    "critical-difference",
)
# In which order the rows of a set are handed to a method.
ROW_ORDERS = ("shuffled", "by-class")
PAIRED_SHARE = "paired-share"
AS_IT_IS = "as-it-is"  # the protocol of sets that are incomplete by nature
METRICS = ("acc", "nmi", "nmi_arithmetic", "ari", "purity", "inverse_purity", "fscore")


class SuiteError(ValueError):
    """A suite that cannot be run: names the file, the key, the value and a remedy."""


@dataclass(frozen=True)
class MethodSpec:
    """A method of a suite: what is fixed, what is searched.

    Parameters
    ----------
    name : str
        Registry name, or ``module:Class`` for an estimator of one's own.
    label : str
        What tables and figures call it; one method may stand under several labels.
    parameters : mapping
        Fixed in all its runs.
    grid : mapping of str to tuple
        Values per parameter; their product is searched. ``"2c"`` is twice the number
        of clusters, ``"c+1"`` one more than it.
    grid_for : mapping of str to mapping
        Per dataset, what replaces entries of ``grid``.
    constraints : tuple of str
        Such as ``"embedding_dim < n_anchors"``: settings that break one are left out.
    default : bool
        Also run the fixed parameters alone, without any search.
    parameter_free : bool
        The method has nothing to search: its one setting stands in the columns of the
        oracles too.
    """

    name: str
    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    grid_for: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    default: bool = True
    parameter_free: bool = False


@dataclass(frozen=True)
class Suite:
    """A set of experiments in one size.

    Parameters
    ----------
    name, size, title, description : str
    datasets : tuple of str
    rates : tuple of float
        Missing rates.
    mask_seeds, seeds : tuple of int
        Seeds of the masks, and of anchors and starts.
    methods : tuple of MethodSpec
    protocols : mapping of str to tuple of float
        How views are taken away (`imvc.datasets.list_protocols`), and the rates of
        each; the paired share at all rates if there are none.
    row_orders : tuple of {"shuffled", "by-class"}
        In which order the rows are handed over.
    give_up_after : int or None
        Runs of a method on a dataset that may run out of time or memory before the
        others are recorded so without being tried.
    kinds : mapping of str to str
        What the datasets are of, such as "text"; for the filter of the leaderboard.
    tables, figures, metrics : tuple of str
        What the report makes of it.
    parameter : str
        The one that a figure of kind "parameter" varies.
    stands_for : mapping of str to str
        Datasets whose features differ from those of the published set they are
        printed beside.
    search_samples : float or None
        On sets with more samples, methods whose cost grows with n^2 or faster are run
        at their fixed parameters only.
    time_limit : float or None
        Seconds per run.
    memory_limit : float or None
        Gigabytes per run.
    source : str
        The file it was read from.
    """

    name: str
    size: str
    title: str
    datasets: tuple[str, ...]
    rates: tuple[float, ...]
    mask_seeds: tuple[int, ...]
    seeds: tuple[int, ...]
    methods: tuple[MethodSpec, ...]
    description: str = ""
    protocols: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    row_orders: tuple[str, ...] = ("shuffled",)
    give_up_after: int | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("acc", "nmi", "purity", "inverse_purity")
    parameter: str = ""
    stands_for: Mapping[str, str] = field(default_factory=dict)
    search_samples: float | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    source: str = ""

    def masks(self) -> list[tuple[str, float]]:
        """Pairs of protocol and rate."""
        protocols = self.protocols or {PAIRED_SHARE: self.rates}
        return [(name, rate) for name, rates in protocols.items() for rate in rates]


@dataclass(frozen=True)
class RunSpec:
    """One run: everything that decides its result.

    Parameters
    ----------
    dataset, method : str
    parameters : mapping
        Given to the estimator, with multiples of the number of clusters worked out.
    rate : float
        Nominal missing rate.
    mask_seed, seed : int
        Seed of mask and shuffle; seed of the estimator.
    protocol : str
        How views are taken away; what the rate is the rate of.
    row_order : {"shuffled", "by-class"}
        Rows in random order, or sorted by the classes.

    Examples
    --------
    >>> from imvc.experiments import RunSpec
    >>> a = RunSpec("webkb", "rise", {"beta": 10, "n_anchors": 8}, 0.1, 0, 0)
    >>> b = RunSpec("webkb", "rise", {"n_anchors": 8, "beta": 10.0}, 0.1, 0, 0)
    >>> a.key == b.key
    True
    """

    dataset: str
    method: str
    parameters: Mapping[str, Any]
    rate: float
    mask_seed: int
    seed: int
    protocol: str = PAIRED_SHARE
    row_order: str = "shuffled"

    @cached_property
    def key(self) -> str:
        """Hash of the canonical JSON of all fields; the same on every machine."""
        content = asdict(self) | {"rate": round(float(self.rate), 10)}
        # Records of earlier versions, which had no choice of these, keep their keys.
        for name, usual in (("protocol", PAIRED_SHARE), ("row_order", "shuffled")):
            if content[name] == usual:
                del content[name]
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:24]

    @property
    def is_rival(self) -> bool:
        """Whether another program did it, through an adapter."""
        return "/" in self.method

    @cached_property
    def setting(self) -> str:
        """The parameters, as text that is equal for equal ones."""
        return canonical_json(self.parameters)


@dataclass(frozen=True)
class PlannedRun:
    """A run of a suite: under which label it stands, and whether labels may pick it.

    Parameters
    ----------
    label : str
        Of the method.
    role : {"default", "grid"}
    spec : RunSpec
    """

    label: str
    role: str
    spec: RunSpec


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, and 10 and 10.0 written alike."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
