"""Samples to learn from: some of all, however cut into blocks.

Every sample has a random number of its own, its *turn*, which a seed decides together
with its key or, where samples have no ids, its place among all samples; those with the
least numbers are drawn. So blocks need not know of each other, no other cutting gives
another draw, and with ids no other order does.
"""

from collections import defaultdict
from functools import partial

import numpy as np

from imvc.views import group_patterns, mixed_bits, name_places

_EVENLY = 0.1  # of the draw, so that rare patterns and views are represented


def draw_by_pattern(runner, size, seed):
    """Numbers of ``size`` samples of a surveyed runner, ascending."""
    place = name_places(runner.names)
    counts = dict(
        sorted(
            runner.surveyed.patterns.items(),
            key=lambda own: sorted(place[v] for v in own[0]),
        )
    )
    quotas = dict(zip(counts, pattern_quotas(list(counts.values()), size)))
    limits = {p: enough(q) / counts[p] for p, q in quotas.items() if q}
    find = partial(find_candidates, starts=runner.source.starts, limits=limits)
    keys = [] if runner.keys is None else [runner.keys]
    found = runner.collect(
        partial(find, seed=seed), runner.masks, range(runner.n_blocks), *keys
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


def enough(size):
    """So many candidates that ``size`` samples are met; a miss costs one sample."""
    return size + 6 * np.sqrt(size) + 10


def find_candidates(mask, i, keys=None, *, starts, limits, seed):
    """``(pattern, (samples, their turns))`` of block ``i`` below the limits.

    ``limits`` has, for the patterns to draw from, the share of samples to look at.
    """
    if keys is None:
        stream = np.random.PCG64(seed).advance(int(starts[i]))
        order = np.random.Generator(stream).random(len(mask))
    else:
        order = turns(keys, seed)
    few = np.flatnonzero(order < max(limits.values()))
    found = []
    for pattern in group_patterns(mask[few]):
        rows = few[pattern.rows]
        rows = rows[order[rows] < limits.get(pattern.views, 0)]
        if len(rows):
            found.append((pattern.views, (starts[i] + rows, order[rows])))
    return found


def turns(keys, seed):
    """A random number from 0 to 1 for every key; of another seed another one."""
    return mixed_bits(keys ^ mixed_bits(np.array([seed], np.uint64))) * 2.0**-64


def draw_by_key(runner, size, seed, v=None):
    """Some samples with keys, of all or of those that have view ``v``.

    Returns
    -------
    at : dict
        Block -> drawn samples by their rank among its samples that count, ascending.
    order : ndarray of int
        Puts what is drawn, block after block, into the order of the keys.
    """
    n = runner.n_samples if v is None else runner.surveyed.observed[:, v].sum()
    limit = 2.0 if size >= n else enough(size) / n
    find = partial(find_turns, seed=seed, limit=limit, v=v)
    found = runner.collect(find, runner.masks, runner.keys)
    ranks, keys, turn = (np.concatenate(part) for part in zip(*found))
    block = np.repeat(np.arange(len(found)), [len(own[0]) for own in found])
    drawn = np.sort(np.argsort(turn, kind="stable")[:size])
    at = {i: ranks[drawn[block[drawn] == i]] for i in np.unique(block[drawn]).tolist()}
    return at, np.argsort(keys[drawn], kind="stable")


def find_turns(mask, keys, seed, limit, v):
    """``(ranks, keys, turns)`` of a block's samples, those of view ``v``, in turn."""
    keys = keys if v is None else keys[mask[:, v]]
    turn = turns(keys, seed)
    ranks = np.flatnonzero(turn < limit)
    return ranks, keys[ranks], turn[ranks]
