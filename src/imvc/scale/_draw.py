"""Samples to learn from: some of all, by missing pattern, however cut into blocks.

Every sample has a random number of its own, which its place among all samples and a
seed decide; of each pattern those with the least numbers are drawn. So blocks need not
know of each other, and no other cutting gives another draw.
"""

from collections import defaultdict
from functools import partial

import numpy as np

from imvc.views import group_patterns

_EVENLY = 0.1  # of the draw, so that rare patterns and views are represented


def draw_by_pattern(runner, size, seed):
    """Numbers of ``size`` samples of a surveyed runner, ascending."""
    counts = runner.surveyed.patterns
    quotas = dict(zip(counts, pattern_quotas(list(counts.values()), size)))
    # Candidates: by far enough that each quota is met; a miss costs one sample.
    limits = {p: (q + 6 * np.sqrt(q) + 10) / counts[p] for p, q in quotas.items() if q}
    find = partial(find_candidates, starts=runner.source.starts, limits=limits)
    found = runner.collect(
        partial(find, seed=seed), runner.masks, range(runner.n_blocks)
    )
    drawn: dict = defaultdict(list)
    for block in found:
        for p, candidates in block:
            drawn[p].append(candidates)
    least = []
    for p, parts in drawn.items():
        numbers, order = (np.concatenate(part) for part in zip(*parts))
        least.append(numbers[np.argsort(order, kind="stable")[: quotas[p]]])
    return np.sort(np.concatenate(least))


def pattern_quotas(counts, size):
    """How many samples to draw of every pattern: in all ``size``, at most their sum.

    A tenth is spread evenly over the patterns, as far as these have so many; the rest
    goes by what is left of each. Fractions are carried on to the next pattern.
    """
    counts = np.asarray(counts, np.float64)
    level = np.sort(counts)
    filled = np.cumsum(level) + level * np.arange(len(level))[::-1]
    evenly = np.minimum(
        counts, np.interp(_EVENLY * size, np.append(0, filled), np.append(0, level))
    )
    left = counts - evenly
    share = evenly + left * ((size - evenly.sum()) / max(left.sum(), 1))
    ends = np.floor(np.cumsum(share) + 0.5)
    return np.minimum(np.diff(ends, prepend=0), counts).astype(np.int64)


def find_candidates(mask, i, starts, limits, seed):
    """``(pattern, (samples, their random numbers))`` of block ``i`` below the limits.

    ``limits`` has, for the patterns to draw from, the share of samples to look at.
    """
    stream = np.random.PCG64(seed).advance(int(starts[i]))
    order = np.random.Generator(stream).random(len(mask))
    few = np.flatnonzero(order < max(limits.values()))
    found = []
    for pattern in group_patterns(mask[few]):
        rows = few[pattern.rows]
        rows = rows[order[rows] < limits.get(pattern.views, 0)]
        if len(rows):
            found.append((pattern.views, (starts[i] + rows, order[rows])))
    return found
