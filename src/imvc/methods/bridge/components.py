"""Views that no path of shared samples joins: AnchorBridge clusters them apart."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components


def view_components(overlap, c):
    """Groups of views joined by overlaps: a list of tuples of views.

    Two views are joined when they share more than 2c + 2 samples, or more than half of
    the samples of the smaller one: with many clusters or few samples 2c + 2 may be out
    of reach even for complete views.
    """
    sizes = np.diag(overlap)
    half = np.minimum.outer(sizes, sizes) / 2
    edges = overlap > np.minimum(2 * c + 2, half)
    count, label = connected_components(sp.csr_array(edges), directed=False)
    return [tuple(np.flatnonzero(label == i).tolist()) for i in range(count)]


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
    n_views = 1 + max(v for views in components for v in views)
    mask = np.array([np.isin(np.arange(n_views), p) for p in patterns])
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
