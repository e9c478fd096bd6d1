"""Is one method better than another? Wins, losses, Bayesian signed-rank test.

A Wilcoxon test of all pairs, corrected for their number, cannot be significant with
the ten datasets and twenty methods that there are; posterior probabilities can be read
for any number. The draws come from a generator of a few lines (`_uniform`), which the
page of the leaderboard repeats, so that both show the same probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROPE = 0.01
DRAWS = 8000
SEED = 20170


@dataclass(frozen=True)
class Pair:
    """Two methods over the same datasets.

    Attributes
    ----------
    first, second : str
    wins, ties, losses : int
        Datasets on which ``first`` is better, practically equal (within the rope) and
        worse.
    better, equal, worse : float
        Posterior probabilities that ``first`` is better, practically equal and worse;
        their sum is 1.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    better: float
    equal: float
    worse: float


def compare_pairs(
    scores: ArrayLike, labels: Sequence[str], rope: float = ROPE
) -> list[Pair]:
    """Compare every method with every other over datasets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Higher is better; no gaps.
    labels : sequence of str
    rope : float, default=0.01
        Region of practical equivalence: differences up to it count as none.

    Returns
    -------
    list of Pair
        Each pair in both orders, sorted as ``labels``.

    Examples
    --------
    >>> from imvc.experiments import compare_pairs
    >>> scores = [[0.9, 0.5], [0.8, 0.6], [0.7, 0.7], [0.9, 0.6], [0.8, 0.5]]
    >>> pair = compare_pairs(scores, ["a", "b"])[0]
    >>> pair.first, pair.wins, pair.ties, pair.losses, round(pair.better, 1)
    ('a', 4, 1, 0, 1.0)
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(labels) or not np.isfinite(table).all():
        raise ValueError(
            f"scores of shape {table.shape} must be a full table of datasets x "
            f"{len(labels)} methods without gaps."
        )
    found: dict[tuple[int, int], Pair] = {}
    for i, j in combinations(range(len(labels)), 2):
        # Ten digits: what is said does not hang on the last bit of a mean.
        difference = np.round(table[:, i] - table[:, j], 10)
        wins, losses = int((difference > rope).sum()), int((difference < -rope).sum())
        counts = (wins, len(difference) - wins - losses, losses)
        shares = signed_rank_probabilities(difference, rope)
        found[i, j] = Pair(labels[i], labels[j], *counts, *shares)
        found[j, i] = Pair(labels[j], labels[i], *counts[::-1], *shares[::-1])
    return [found[place] for place in sorted(found)]


def signed_rank_probabilities(
    differences: ArrayLike, rope: float = ROPE, draws: int = DRAWS
) -> tuple[float, float, float]:
    """Posterior of the Bayesian signed-rank test: better, practically equal, worse.

    Datasets get weights from a Dirichlet distribution, together with one pseudo-dataset
    of difference 0 and prior weight 0.5. Under each draw of weights the mean of two
    random differences is above, within or below the rope with some mass; the
    probabilities are the shares of draws in which each mass is the largest.

    Parameters
    ----------
    differences : array-like of shape (n_datasets,)
        First method minus second.
    rope : float, default=0.01
    draws : int, default=8000
        The shares are exact to about 0.006.

    Returns
    -------
    better, equal, worse : float

    References
    ----------
    A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, "Time for a change: a tutorial for
    comparing multiple classifiers through Bayesian analysis", JMLR 18 (2017) 1-36.

    Examples
    --------
    >>> from imvc.experiments import signed_rank_probabilities
    >>> signed_rank_probabilities([0.0, 0.001, -0.002])
    (0.0, 1.0, 0.0)
    """
    z = np.concatenate([[0.0], np.asarray(differences, dtype=float)])
    means = np.round((z[:, None] + z) / 2, 10)
    weights = _weights(len(z), draws)
    above = np.einsum("si,ij,sj->s", weights, means > rope, weights, optimize=True)
    below = np.einsum("si,ij,sj->s", weights, means < -rope, weights, optimize=True)
    within = weights.sum(axis=1) ** 2 - above - below
    better = (above > within) & (above > below)
    worse = (below > within) & (below >= above)
    shares = float(better.mean()), float(worse.mean())
    return shares[0], float((~better & ~worse).mean()), shares[1]


def _weights(size: int, draws: int) -> NDArray[np.float64]:
    """Dirichlet weights up to their sums: gammas, the first of shape one half.

    Row s takes the numbers s (size + 1), ... of the stream: two for the first weight,
    whose gamma is half the square of a normal number, one for each other.
    """
    u = _uniform(draws * (size + 1)).reshape(draws, size + 1)
    exponential = -np.log(u)
    first = exponential[:, 0] * np.cos(2 * np.pi * u[:, 1]) ** 2
    return np.column_stack([first, exponential[:, 2:]])


def _uniform(count: int) -> NDArray[np.float64]:
    """Numbers in (0, 1): a counter whose 32 bits are mixed (mulberry32)."""
    word = np.uint64(0xFFFFFFFF)
    steps = np.arange(1, count + 1, dtype=np.uint64)
    a = (np.uint64(SEED) + steps * np.uint64(0x6D2B79F5)) & word
    t = ((a ^ (a >> np.uint64(15))) * (a | np.uint64(1))) & word
    mixed = ((t ^ (t >> np.uint64(7))) * (t | np.uint64(61))) & word
    t = t ^ ((t + mixed) & word)
    return ((t ^ (t >> np.uint64(14))) + 0.5) / 2.0**32
