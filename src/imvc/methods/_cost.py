"""What a fit will take, in seconds and memory, before it is started.

    seconds = F (fixed + start min(n, s)/s + linear (n/1e5)^power
                 + (square n^2 + cube n^3) V/3)
    F       = (D/170)^features (c/5)^clusters (V/3)^views
    bytes   = 8 (squares n^2 + D (wide n + narrow min(n, s)))
              + n V (row + cluster c) + base V^2

    n  samples      V  views      D  features of all views      c  clusters
    s  rows that anchors and k-means starts are sought on

The coefficients were measured on two virtual cores with planted clusters (50 %
incomplete, float64): 300 to 100 000 samples, 170 and 1360 features, 3 and 6 views, 5
and 20 clusters. Those with square and cube were then raised towards the times of
WebKB and Wikipedia in benchmarks/RESULTS.md, which need more iterations. Good to a
factor of about 3; data that are hard to cluster take longer, and machines differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from imvc.methods._free_memory import available_memory
from imvc.methods._registry import METHODS, get_method

__all__ = ["Cost", "check_fits", "estimate_cost"]

_GIB = 2**30
_SWEEP = (0.5, 2.6e-3, 10_000)  # comparing 2 to 15 clusters: seconds, per row, rows
_MOST_CLUSTERS = 15  # what the sweep goes up to


@dataclass(frozen=True)
class Cost:
    """What a fit will take.

    Parameters
    ----------
    seconds : float
        Wall time; good to a factor of about 3.
    bytes : int
        Memory at the peak, beside the data.
    reason : str
        Both in words, with what they grow with.
    method : str
        Registry name.
    n_samples : int
    """

    seconds: float
    bytes: int
    reason: str
    method: str = ""
    n_samples: int = 0


@dataclass(frozen=True)
class _Rates:
    """Coefficients of one method; the module's docstring has the formula."""

    fixed: float
    linear: float = 0.0
    power: float = 1.0
    start: float = 0.0
    square: float = 0.0
    cube: float = 0.0
    features: float = 0.0
    clusters: float = 0.0
    views: float = 0.0
    squares: float = 0.0
    squares_per_view: float = 0.0
    wide: float = 0.0
    narrow: float = 0.0
    row: float = 0.0
    cluster: float = 0.0
    base: float = 0.0
    sought: int = 5000

    def seconds(self, n: int, D: int, V: int, c: int) -> float:
        total = self.fixed + self.start * min(1.0, n / self.sought)
        total += self.linear * (n / 1e5) ** self.power
        total += (self.square * n**2 + self.cube * n**3) * V / 3
        factor = (c / 5) ** self.clusters * (V / 3) ** self.views
        return total * factor * (D / 170) ** self.features

    def bytes(self, n: int, D: int, V: int, c: int) -> float:
        squares = self.squares + self.squares_per_view * V
        wide = D * (self.wide * n + self.narrow * min(n, self.sought))
        return (
            8 * (squares * n**2 + wide)
            + n * V * (self.row + self.cluster * c)
            + self.base * V**2
        )


# fmt: off
_RATES = {
    "bridge": _Rates(0.35, 2.2, 0.9, start=0.15, features=0.3, clusters=0.2, views=1.5,
                     narrow=3, row=400, base=7e6),
    "rise": _Rates(0.05, 0.35, 0.9, start=0.08, features=0.4, clusters=0.3, views=1,
                   narrow=3, row=140, base=1e6),
    "pimvc": _Rates(0.04, 11, 1.2, features=0.7, clusters=0.6, wide=2, base=1e6),
    "daimc": _Rates(0.1, 2.5, features=0.4, clusters=1.2, views=0.4,
                    wide=1, cluster=60, base=2e5),
    "sfsr-imvc": _Rates(0.35, 20, 1.1, features=0.35, clusters=0.4, views=0.2,
                        wide=1.5, cluster=130, base=2e5),
    "psimvc-pg": _Rates(0.05, 3.7, 1.1, features=0.6, clusters=0.75,
                        wide=1.3, cluster=45, base=2e5),
    "imvc-cbg": _Rates(0.04, 2.1, 1.05, features=0.4, clusters=0.7,
                       wide=1.3, cluster=40, base=2e5),
    "simvc-sa": _Rates(0.1, 3.5, features=0.45, clusters=1.2,
                       wide=1.3, cluster=60, base=2e5),
    "impute-kmeans": _Rates(0.05, 1.3, start=1.6, features=0.85, clusters=0.6,
                            wide=1.1, narrow=3, base=2e5, sought=10_000),
    "hcls-cgl": _Rates(0.1, square=8e-7, features=0.2, clusters=0.1,
                       squares=1, squares_per_view=0.7, wide=1, base=2e5),
    "ueaf": _Rates(0.1, cube=3e-9, features=0.3, clusters=0.5,
                   squares=9, wide=3, base=2e5),
    "gsrimc": _Rates(0.1, square=1.2e-5, cube=1.5e-9, features=0.1, clusters=0.1,
                     squares_per_view=8, wide=1, base=2e5),
    "imvtsc-mvi": _Rates(0.1, square=9e-6, cube=1e-9, features=0.75,
                         squares_per_view=7, wide=5, base=2e5),
}
# fmt: on


def estimate_cost(
    method: str, n_samples: int, n_features: Sequence[int], n_clusters: int | None
) -> Cost:
    """Estimate time and memory of a fit with default parameters.

    Parameters
    ----------
    method : str
        One of `imvc.list_methods`.
    n_samples : int
    n_features : sequence of int
        Number of features of each view.
    n_clusters : int or None
        None: the method finds the number itself (AnchorBridge).

    Returns
    -------
    Cost
        Good to a factor of about 3. Memory is that beside the data, for dense
        float64; views with gaps and float32 need less.

    Examples
    --------
    >>> from imvc.methods import estimate_cost
    >>> small = estimate_cost("bridge", 1000, (50, 80, 40), 5)
    >>> small.seconds < 10
    True
    >>> estimate_cost("ueaf", 200_000, (50, 80, 40), 5).bytes > 2**40
    True
    """
    name = get_method(method).__name__
    widths = [int(d) for d in n_features]
    for given, value in (("n_samples", n_samples), ("n_features", min(widths or [0]))):
        if value < 1:
            raise ValueError(f"{given} must be at least 1, got {value}.")
    n, D, V = int(n_samples), sum(widths), len(widths)
    c = _MOST_CLUSTERS if n_clusters is None else max(1, int(n_clusters))
    rates = _RATES[method]
    seconds, search = rates.seconds(n, D, V, c), ""
    if n_clusters is None:
        search = f", trying 2 to {_MOST_CLUSTERS} clusters"
        fixed, per_row, most = _SWEEP
        seconds += fixed + per_row * min(n, most)
    need = int(rates.bytes(n, D, V, c))
    growth = (
        "both grow with the samples"
        if METHODS[method].cost == "O(n)"
        else "both grow faster than the samples"
    )
    reason = (
        f"{name} on {n} samples and {V} views of {D} features{search}: about "
        f"{_duration(seconds)} and {_size(need)} of memory beside the data, good to a "
        f"factor of 3; {growth}."
    )
    return Cost(seconds, need, reason, method, n)


def check_fits(cost: Cost, available: int | None = None) -> None:
    """Refuse a fit that cannot be done in the memory there is.

    Parameters
    ----------
    cost : Cost
    available : int, optional
        Free bytes; by default those of the machine or of its control group. Where
        they are unknown nothing is refused.

    Raises
    ------
    ValueError
        Says what is needed, what there is, and what to do.
    """
    free = available_memory() if available is None else available
    if free is None or cost.bytes <= free:
        return
    line = METHODS.get(cost.method)
    subject = line.estimator.__name__ if line else "the fit"
    power = 1 if line is None or line.cost == "O(n)" else 2
    fewer = int(cost.n_samples * (free / cost.bytes) ** (1 / power))
    remedies = [f"use fewer samples (about {fewer} would fit)"] if fewer else []
    if power > 1:
        remedies.append("use a method whose memory grows linearly, such as bridge")
    remedies.append("use a machine with more memory")
    raise ValueError(
        f"{subject} on {cost.n_samples} samples needs about {_size(cost.bytes)} of "
        f"memory beside the data, and {_size(free)} are free; {', or '.join(remedies)}."
    )


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.1f} seconds"


def _size(n_bytes: float) -> str:
    if n_bytes >= _GIB:
        return f"{n_bytes / _GIB:.1f} GiB"
    return f"{max(1, round(n_bytes / 2**20))} MiB"
