"""Views that no path of shared samples joins: AnchorBridge clusters them apart."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

__all__ = ["owners", "view_components"]


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


def inhabited(mask, components):
    """Components, largest first, with those that own no sample joined to the first."""
    size = [mask[:, list(views)].any(axis=1).sum() for views in components]
    components = [components[i] for i in np.argsort(size, kind="stable")[::-1]]
    owned = np.bincount(owners(mask, components), minlength=len(components))
    homeless = [v for views, k in zip(components, owned) if k == 0 for v in views]
    kept = [views for views, k in zip(components, owned) if k]
    return [tuple(sorted([*kept[0], *homeless])), *kept[1:]]
