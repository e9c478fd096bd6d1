"""What a fit will take, in seconds and memory, and refusals before memory runs out."""

from collections.abc import Sequence
from dataclasses import dataclass

from imvc._machine import available_memory
from imvc.methods._registry import METHODS, find_entry

_GIB = 2**30
_SWEEP = (3.0, 1.5e-3, 10_000)  # comparing 2 to 20 clusters: seconds, per row, rows
_MOST_CLUSTERS = 20  # what the sweep goes up to


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
    entry = find_entry(method)
    widths = [int(d) for d in n_features]
    for given, value in (("n_samples", n_samples), ("n_features", min(widths or [0]))):
        if value < 1:
            raise ValueError(f"{given} must be at least 1, got {value}.")
    n, D, V = int(n_samples), sum(widths), len(widths)
    c = _MOST_CLUSTERS if n_clusters is None else max(1, int(n_clusters))
    seconds, search = entry.rates.seconds(n, D, V, c), ""
    if n_clusters is None:
        search = f", trying 2 to {_MOST_CLUSTERS} clusters"
        fixed, per_row, most = _SWEEP
        seconds += fixed + per_row * min(n, most)
    need = int(entry.rates.bytes(n, D, V, c))
    growth = (
        "both grow with the samples"
        if entry.cost == "O(n)"
        else "both grow faster than the samples"
    )
    reason = (
        f"{entry.class_name} on {n} samples and {V} views of {D} features{search}: "
        f"about {_duration(seconds)} and {_size(need)} of memory beside the data, good "
        f"to a factor of 3; {growth}."
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
    entry = METHODS.get(cost.method)
    subject = entry.class_name if entry else "the fit"
    power = 1 if entry is None or entry.cost == "O(n)" else 2
    fewer = int(cost.n_samples * (free / cost.bytes) ** (1 / power))
    remedies = [f"use fewer samples (about {fewer} would fit)"] if fewer else []
    if power > 1:
        remedies.append("use a method whose memory grows linearly, such as bridge")
    remedies.append("use a machine with more memory")
    raise ValueError(
        f"{subject} on {cost.n_samples} samples needs about {_size(cost.bytes)} of "
        f"memory beside the data, and {_size(free)} are free; {', or '.join(remedies)}."
    )


def check_memory(n_bytes, what, *, available=None):
    """Raise where ``n_bytes`` exceed the free memory.

    Parameters
    ----------
    n_bytes : number
        The need, e.g. ``6 * V * n**2 * 8``.
    what : str
        What needs it, for the message: ``"UEAF on 50000 samples"``.
    available : int, optional
        Free bytes; by default `available_memory()`. If unknown, nothing is checked.

    Raises
    ------
    MemoryError
        Names the need and what is free in GiB.
    """
    free = available_memory() if available is None else available
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{what} needs about {n_bytes / _GIB:.1f} GiB of memory and "
            f"{free / _GIB:.1f} GiB are free; use fewer samples or a method whose "
            "cost is linear in their number."
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
