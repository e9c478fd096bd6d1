"""What every mask generator shares: argument checks and the draw of patterns."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

RandomStateLike = int | np.random.RandomState | np.random.Generator | None


def as_random_state(random_state: RandomStateLike) -> np.random.RandomState:
    """Return scikit-learn's generator; a NumPy ``Generator`` seeds a new one.

    The stream of ``RandomState`` is frozen: a seed gives the same mask with every
    version of NumPy, which stored results rely on.
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(int(random_state.integers(2**32)))
    return check_random_state(random_state)


def check_count(value: Any, name: str, minimum: int = 1) -> int:
    """Return a whole number of at least `minimum`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise ValueError(
            f"{name}={value!r} must be a whole number of at least {minimum}."
        )
    return int(value)


def check_share(value: Any, name: str) -> float:
    """Return a number between 0 and 1."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ValueError(
            f"{name}={value!r} must be a number from 0 to 1 (a share, not a per cent)."
        )
    return float(value)


def n_incomplete(n_samples: int, n_views: int, ratio: float) -> int:
    """floor(ratio n), the number of incomplete samples; checks that they can exist."""
    # The small term saves products such as 0.29 * 100 = 28.999999999999996.
    count = int(np.floor(check_share(ratio, "ratio") * n_samples + 1e-9))
    if count and n_views == 1:
        raise ValueError(
            f"ratio={ratio!r} with n_views=1 would leave {count} samples without any "
            "view; pass ratio=0 or at least two views."
        )
    return count


def draw_patterns(
    absence: NDArray[np.float64], rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw for every sample its place in the queue of the incomplete, and its pattern.

    View v of sample i is absent with probability ``absence[i, v]``, independently,
    given that the sample keeps at least one view and loses at least one. A sample for
    which such an outcome is likely tends to stand early in the queue (sampling without
    replacement, with that probability as its weight). O(n V), nothing is redrawn.

    Returns
    -------
    queue : (n,) permutation of the samples
    observed : (n, V) patterns, each with at least one True and one False
    """
    n, n_views = absence.shape
    # All views from v on present, or all absent: products over the columns v, v+1, ...
    all_present = _suffix_products(1 - absence)
    all_absent = _suffix_products(absence)
    weight = 1 - all_present[:, 0] - all_absent[:, 0]
    queue = np.argsort(rng.exponential(size=n) / weight, kind="stable")
    uniform = rng.uniform(size=(n, n_views))
    observed = np.empty((n, n_views), dtype=bool)
    none_absent, none_present = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    for v in range(n_views):
        rest_present, rest_absent = all_present[:, v + 1], all_absent[:, v + 1]
        # Either choice, times the chance that the rest can still make a valid pattern.
        absent = absence[:, v] * (1 - np.where(none_present, rest_absent, 0.0))
        present = (1 - absence[:, v]) * (1 - np.where(none_absent, rest_present, 0.0))
        observed[:, v] = uniform[:, v] * (absent + present) >= absent
        none_absent &= observed[:, v]
        none_present &= ~observed[:, v]
    return queue, observed


def _suffix_products(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Column v holds the product of the columns v, v+1, ...; the last one holds 1."""
    products = np.ones((p.shape[0], p.shape[1] + 1))
    products[:, :-1] = np.cumprod(p[:, ::-1], axis=1)[:, ::-1]
    return products
