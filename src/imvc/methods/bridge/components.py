"""Which views AnchorBridge clusters together: those that shared samples join.

Pairs of views that share many samples make groups. Groups that share some are joined as
well, if the samples in question, of all their views together, can match c clusters; how
sure that is, they say themselves: weak links. Groups without are clustered apart.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


def view_components(overlap, c):
    """Groups of views joined by large overlaps: a list of tuples of views.

    Two views are joined when they share more than 2c + 2 samples, or more than half of
    the samples of the smaller one: with many clusters or few samples 2c + 2 may be out
    of reach even for complete views.
    """
    sizes = np.diag(overlap)
    half = np.minimum.outer(sizes, sizes) / 2
    edges = overlap > np.minimum(2 * c + 2, half)
    count, label = connected_components(sp.csr_array(edges), directed=False)
    return [tuple(np.flatnonzero(label == i).tolist()) for i in range(count)]


def scattered_views(mask, c):
    """Views that share few samples with any other, but enough with all together.

    Few is what makes no edge in `view_components`; a quarter of a view is enough here.
    """
    groups = view_components(mask.T.astype(np.int64) @ mask, c)
    alone = np.array([v for group in groups for v in group if len(group) == 1], int)
    shared = mask[mask.sum(axis=1) > 1].sum(axis=0)
    enough = shared > np.minimum(2 * c + 2, mask.sum(axis=0) / 4)
    return alone[enough[alone]]


class Links:
    """How many samples link groups of views.

    Parameters
    ----------
    patterns : dict
        Pattern (tuple of views) -> number of samples.
    """

    def __init__(self, patterns):
        self._mask = pattern_mask(patterns)
        self._count = np.array(list(patterns.values()))

    def samples(self, views):
        """How many samples have any of the views."""
        return int(self._count[self._seen(views)].sum())

    def shared(self, views, others):
        """How many samples have any of the views and any of the others."""
        return int(self._count[self._seen(views) & self._seen(others)].sum())

    def _seen(self, views):
        return self._mask[:, list(views)].any(axis=1)


def pattern_mask(patterns):
    """Which views every pattern has, (n_patterns, n_views)."""
    n_views = 1 + max(v for p in patterns for v in p)
    return np.array([np.isin(np.arange(n_views), p) for p in patterns])


def nested_groups(groups, links):
    """Groups of views, joined two by two along the strongest links: all but the last.

    Groups that hang by few samples are joined late, so that they, and what is joined
    without them, are among those found.
    """
    found, groups = [], sorted(groups)
    shared = {pair: links.shared(*pair) for pair in combinations(groups, 2)}
    while shared and max(shared.values()) > 0:
        one, other = max(shared, key=lambda pair: shared[pair])
        found += [one, other]
        groups = [own for own in groups if own not in (one, other)]
        shared = {pair: k for pair, k in shared.items() if {*pair} <= {*groups}}
        new = tuple(sorted(one + other))
        shared |= {(own, new): links.shared(own, new) for own in groups}
        groups.append(new)
    return found if len(groups) == 1 else found + groups


def weakest_first(groups, links):
    """``(shared, views)``: how many samples link nested groups to all other views.

    Of the two sides of a cut the one with fewer samples is named.
    """
    everything, found = {v for group in groups for v in group}, set()
    for views in nested_groups(groups, links):
        others = tuple(sorted(everything - {*views}))
        least = min(views, others, key=lambda own: (links.samples(own), len(own), own))
        found.add((links.shared(views, others), least))
    return sorted(found)


def join_groups(groups, links, c):
    """Join groups of views where enough samples link them to the others.

    c clusters are matched by c samples at the least, or, in groups of less than 2c
    samples, by half of these. A group with fewer links is left apart.
    """
    for shared, views in weakest_first(groups, links):
        if shared == 0 or shared < min(c, links.samples(views) / 2):
            inside = [own for own in groups if {*own} <= {*views}]
            rest = [own for own in groups if own not in inside]
            return join_groups(inside, links, c) + join_groups(rest, links, c)
    return [tuple(sorted(v for group in groups for v in group))]


def weak_links(groups, components, links, c):
    """``(views, shared)`` where at most 2c + 2 samples link views of one component.

    Parameters
    ----------
    groups : list of tuples of views
        Of `view_components`.
    components : list of tuples of views
        Of `join_groups`.
    """
    found = []
    for component in components:
        inside = [own for own in groups if {*own} <= {*component}]
        found += [w for w in weakest_first(inside, links) if w[0] <= 2 * c + 2]
    return [(views, shared) for shared, views in sorted(found)]


def scattered_links(overlap, components, weak, c):
    """``(n_views, n_groups, most)`` of components that hang by small overlaps only.

    ``most`` samples are shared by two views of different groups, at the most. Those
    of which a weak link is named are left out.
    """
    found = []
    for views in components:
        groups = [own for own in view_components(overlap, c) if {*own} <= {*views}]
        if len(groups) > 1 and not any({*own} <= {*views} for own, _ in weak):
            pairs = [np.ix_(*pair) for pair in combinations(groups, 2)]
            most = max(int(overlap[pair].max()) for pair in pairs)
            found.append((len(views), len(groups), most))
    return found


def owners(mask, components):
    """The component that every sample belongs to: where most of its views are.

    Of equal numbers the earlier component wins.
    """
    seen = np.column_stack([mask[:, list(views)].sum(axis=1) for views in components])
    return seen.argmax(axis=1)


def inhabited(patterns, components):
    """Components, largest first, with those that own no sample joined to the first.

    Parameters
    ----------
    patterns : dict
        Pattern -> number of samples.
    components : list of tuples of views
    """
    mask = pattern_mask(patterns)
    count = np.array(list(patterns.values()))
    size = [count[mask[:, list(views)].any(axis=1)].sum() for views in components]
    components = [components[i] for i in np.argsort(size, kind="stable")[::-1]]
    owned = np.bincount(owners(mask, components), count, minlength=len(components))
    homeless = [v for views, k in zip(components, owned) if k == 0 for v in views]
    kept = [views for views, k in zip(components, owned) if k]
    return [tuple(sorted([*kept[0], *homeless])), *kept[1:]]


@dataclass(frozen=True)
class Components:
    """Which samples and views belong together.

    Parameters
    ----------
    views : list of tuple of int
        Views of every component.
    """

    views: list

    def owned(self, mask, i):
        """Samples of a block that belong to component ``i``, ascending."""
        if len(self.views) == 1:
            return np.arange(len(mask))
        return np.flatnonzero(owners(mask, self.views) == i)

    def select(self, views, i):
        """IncompleteViews of the samples and views of component ``i``."""
        if len(self.views) == 1:
            return views
        own = self.owned(views.mask, i)
        return views.select_views(list(self.views[i])).select(own)


def side_by_side(mask, *found, components, columns):
    """One embedding from those of all components."""
    if len(found) == 1:
        return found[0]
    result = np.zeros((len(mask), columns[-1].stop), found[0].dtype)
    for i, (Y, own) in enumerate(zip(found, columns)):
        result[components.owned(mask, i), own] = Y
    return result
