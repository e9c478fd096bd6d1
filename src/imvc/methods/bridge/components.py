"""Views that no path of shared samples joins: AnchorBridge clusters them apart."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from imvc.methods.anchor_model import Samples, label_rows, total_statistics
from imvc.methods.bridge.graphs import choose_views
from imvc.methods.bridge.rounding import cluster_component
from imvc.scale import BlockSource


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
        return choose_views(views, list(self.views[i])).select(own)


class ComponentSource(BlockSource):
    """The samples and views of one component of another source.

    Parameters
    ----------
    runner : Runner, surveyed
    components : Components
    i : int
    """

    def __init__(self, runner, components, i):
        self.base, self._components, self._i = runner.source, components, i
        chosen = components.views[i]
        self.names = tuple(runner.names[v] for v in chosen)
        self.n_features = tuple(runner.n_features[v] for v in chosen)
        self.feature_names = tuple(runner.source.feature_names[v] for v in chosen)
        self.dtype = runner.dtype
        count = partial(count_owned, components=components, i=i)
        counts = runner.collect(count, runner.masks)
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @property
    def fingerprint(self):
        return {"kind": "component", "number": self._i}

    def mask(self, i):
        mask = self.base.mask(i)
        own = self._components.owned(mask, self._i)
        return mask[np.ix_(own, self._components.views[self._i])]

    def block(self, i):
        return self._components.select(self.base.block(i), self._i)


def count_owned(mask, components, i):
    """Samples of a block that belong to component ``i``."""
    return len(components.owned(mask, i))


def fit_apart(model, runner, seeds):
    """Components one by one; their embeddings then stand side by side."""
    model._start_attributes(runner.n_views)
    components, embedded = Components(model.component_views_), []
    for i in range(len(components.views)):
        own = runner.for_source(ComponentSource(runner, components, i), f"part{i}-")
        own.survey()
        with model._stage("anchors"):
            graphs = model._choose_graphs(own, (seeds[0], i))
        with model._stage("graph"):
            rows = own.keep("graph", graphs[0], own.blocks)
        with model._stage("statistics"):
            statistics = total_statistics(own, rows, graphs[0].sizes)
        samples = Samples(rows, own.source.starts, statistics, seeds)
        share = own.n_samples / runner.n_samples
        found = model._solve_component(own, samples, graphs, share)
        with model._stage("embedding"):
            embed = partial(found.embed, dtype=runner.dtype)
            Y = own.rows(
                "embedding", embed, rows, width=found.width, dtype=runner.dtype
            )
        embedded.append((own, Y))
    model._warn_of_views()
    with model._stage("kmeans"):
        for component, (own, Y) in zip(model._learnt, embedded):
            cluster_component(
                own, component, Y, model.partition, model.n_init, seeds[1]
            )
        model._collect_centers()
        Y = runner.rows(
            "embedding",
            partial(side_by_side, components=components, columns=model._columns),
            runner.masks,
            *(Y.items for _, Y in embedded),
            width=model._columns[-1].stop,
            dtype=runner.dtype,
        )
        label_rows(model, runner, Y)
    model.anchor_distance_ = np.full(runner.n_views, np.nan)
    model.drift_ = np.ones(runner.n_views)


def side_by_side(mask, *found, components, columns):
    """One embedding from those of all components."""
    if len(found) == 1:
        return found[0]
    result = np.zeros((len(mask), columns[-1].stop), found[0].dtype)
    for i, (Y, own) in enumerate(zip(found, columns)):
        result[components.owned(mask, i), own] = Y
    return result
