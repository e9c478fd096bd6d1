"""What AnchorBridge learnt: attributes, the place of new samples, model files."""

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._kmeans import assign
from imvc.kernels._patterns import PatternGrams
from imvc.methods._base import warn_user
from imvc.methods._model_schema import OtherModel
from imvc.methods.anchor_model import Samples, Statistics, fresh_distance, label_rows
from imvc.methods.bridge.components import (
    Components,
    scattered_links,
    side_by_side,
)
from imvc.methods.bridge.graphs import (
    Anchors,
    BridgeGraphs,
    Coordinates,
    LearntMap,
    ViewGraphs,
)
from imvc.methods.bridge.joint import Bridge, JointGraph
from imvc.methods.bridge.number import Candidate, listed
from imvc.methods.bridge.packed import check_component, pack, unpack
from imvc.methods.bridge.rounding import SizeTolerant
from imvc.methods.bridge.spectrum import (
    Spectrum,
    diffusion_factors,
    diffusion_time,
    effective_dimension,
)
from imvc.scale import GraphRows

_VERSION = 2  # of the method; models of another one mean something else
_WARN_MISSINGNESS = 0.1
_NAMED = 3  # weak links in a warning


@dataclass
class ComponentModel:
    """Graphs, joint spectrum and clusters of views that shared samples join.

    Enough to place a sample of any pattern.

    Parameters
    ----------
    graphs : BridgeGraphs
    joint : JointGraph
    spectrum : Spectrum
    c : int
    n_learnt : int
        Learning samples.
    r_squared : ndarray of shape (V,)
        How well every view predicts the consensus of pass 1.
    centers : ndarray of shape (c, 1 + K)
        Of the clusters' unit rows.
    guard : SizeTolerant or None
        The rule that places samples where the partition is guarded.
    """

    graphs: BridgeGraphs
    joint: JointGraph
    spectrum: Spectrum
    c: int
    n_learnt: int
    r_squared: np.ndarray
    centers: np.ndarray
    guard: SizeTolerant | None
    _known: dict = field(default_factory=dict, init=False, repr=False)  # for `embed`

    def __getstate__(self):
        return {**vars(self), "_known": {}}

    @property
    def dim(self):
        return 1 + len(self.spectrum.values)

    def embed(self, rows, dtype):
        """Step 6 on a block: Y = [u_0 / (c - 1), u_j s_j^t], before unit rows."""
        values, n = self.spectrum.values, self.n_learnt
        constant, *decay = diffusion_factors(values, self.c, n)
        W = self.spectrum.W * np.array(decay)
        return self.joint.embed(rows, W, constant / np.sqrt(n), dtype, self._known)

    def embed_views(self, views, dtype):
        return self.embed(self.graphs(views, self.joint.by_pattern), dtype)

    def predict(self, views):
        """Clusters of samples."""
        return self.place(unit_rows(self.embed_views(views, views.dtype)))

    def place(self, X):
        """Cluster of every unit row."""
        if self.guard is not None:
            return self.guard.assign(X[:, 1:])
        return assign(X, self.centers)[0]


@dataclass(frozen=True)
class KeptGraphs:
    """Graph rows as a model keeps them of samples: three kinds, and the last again.

    Samples that were learnt from have two rows of the learnt kind, one from a
    prediction that leaves them out, to solve from, and one as new samples have it.
    """

    graphs: BridgeGraphs

    @property
    def sizes(self):
        sizes = self.graphs.sizes
        return (*sizes, *sizes[-len(self.graphs.views) :])

    def __call__(self, views):
        rows, V = self.graphs(views), views.n_views
        return rows.select([*range(3 * V), *range(2 * V, 3 * V)])


def embed_kept(rows, component, dtype):
    """Y of samples by their kept graph rows."""
    V = len(component.graphs.views)
    return component.embed(rows.select([*range(2 * V), *range(3 * V, 4 * V)]), dtype)


_TYPES = {
    cls.__name__: cls
    for cls in (
        *(Anchors, Bridge, BridgeGraphs, ComponentModel, Coordinates, JointGraph),
        *(LearntMap, SizeTolerant, Spectrum, ViewGraphs),
    )
}


class LearntMixin:
    """Attributes, prediction and files of AnchorBridge, which this is mixed into."""

    component_views_: list
    objective_: np.ndarray
    view_names_: tuple
    n_features_in_: tuple
    n_views_in_: int
    cluster_centers_: np.ndarray
    candidates_: list | None
    cluster_stability_: Any
    stability_: Any
    evidence_: str | None
    evidence_reason_: str | None
    stability: Any
    _learner: Any
    _record: Any
    _round: Any
    _set_samples: Any
    _stage: Any
    _survey_links: Any
    weak_links_: list
    overlap_: np.ndarray
    n_clusters_: int

    def _start_attributes(self, component_views, n_views):
        self.component_views_, self._learnt = component_views, []
        self.view_weights_ = np.zeros(n_views)
        self.view_agreement_ = np.eye(n_views)
        self.missingness_ = np.zeros((n_views, n_views))
        self.anchor_distance_ = np.full(n_views, np.nan)
        self.drift_ = np.ones(n_views)
        self.stability_ = self.cluster_stability_ = None
        self._record(np.zeros(1), True)

    def _collect(self, component, passes, share):
        """Put what one component says about its views into the attributes."""
        evidence = passes.evidence
        chosen = list(self.component_views_[len(self._learnt)])
        self._learnt.append(component)
        shares = component.joint.shares
        weights = [bridge.weights for bridge in evidence.bridges]
        self.view_weights_[chosen] = share * np.average(weights, 0, shares)
        agreement = np.average(evidence.agreement[:2], axis=0)
        self.view_agreement_[np.ix_(chosen, chosen)] = agreement
        self.missingness_[np.ix_(chosen, chosen)] = evidence.missingness
        plain = passes.rows.nearest[: len(chosen)]
        self.anchor_distance_[chosen] = [fresh_distance(nearest) for nearest in plain]
        self.objective_ += component.spectrum.cut(component.c)
        if len(self._learnt) == 1:
            values = component.spectrum.values
            self.singular_values_ = np.sqrt(values)
            target = effective_dimension(component.c, component.n_learnt)
            self.diffusion_time_ = diffusion_time(values, target)

    def _collect_stability(self, J, labels, share):
        """Add how well the clusters of one more component come back."""
        if self.stability_ is None:
            self.stability_, self.cluster_stability_ = 0.0, np.empty(0)
        self.stability_ += share * float(J[labels].mean())
        self.cluster_stability_ = np.append(self.cluster_stability_, J)

    def _collect_centers(self):
        """Centres of all components, numbered one after the other."""
        total = sum(component.c for component in self._learnt)
        centers = np.zeros(
            (total, self._columns[-1].stop), self._learnt[0].centers.dtype
        )
        first = 0
        for component, columns in zip(self._learnt, self._columns):
            centers[first : first + component.c, columns] = component.centers
            first += component.c
        self.cluster_centers_ = centers

    def _warn(self):
        if self.evidence_ == "none":
            warn_user(
                f"there may be no clusters in these data: {self.evidence_reason_}."
            )
        if len(self.component_views_) > 1:
            groups = [[self.view_names_[v] for v in p] for p in self.component_views_]
            warn_user(
                f"the views fall into groups that share too few samples, {groups}; "
                f"each group is clustered apart, its clusters have numbers of their "
                f"own, and nothing tells which of them belong together.",
            )
        if self.weak_links_:
            warn_user(weak_link_text(self.weak_links_, self.view_names_))
        for n_views, n_groups, most in scattered_links(
            self.overlap_, self.component_views_, self.weak_links_, self.n_clusters_
        ):
            warn_user(
                f"{n_views} views fall into {n_groups} groups, and no two views of "
                f"different groups share more than {most} samples: how their clusters "
                f"match rests on all of these together and is uncertain."
            )
        u, v = np.unravel_index(self.missingness_.argmax(), self.missingness_.shape)
        if self.missingness_[u, v] > _WARN_MISSINGNESS:
            warn_user(
                f"views are not missing at random: view {self.view_names_[u]!r} "
                f"predicts where {self.view_names_[v]!r} is observed (missingness_ "
                f"{self.missingness_[u, v]:.2f}); clusters may follow what is missing. "
                f"If that says something about the samples, mask_as_view=True (--set "
                f"mask_as_view=true) lets it count as a view.",
            )

    @property
    def _graphs(self):
        """How `update` makes graph rows of new samples."""
        return KeptGraphs(self._learnt[0].graphs)

    def _keep_samples(self, runner, rows, seeds):
        """Keep the graph rows of the learning samples: `update` solves from them."""
        keys = None
        if runner.keys is not None:  # learnt from in their order
            order = runner.key_order(np.arange(runner.n_samples))
            rows = rows.take(np.argsort(order))
            keys = {0: np.concatenate(runner.collect(np.asarray, runner.keys))}
        nearest = self._nearest_only(rows.nearest)
        starts = np.array([0, runner.n_samples])
        self._samples = Samples({0: rows}, starts, nearest, seeds, keys=keys)

    def _statistics(self, runner, rows):
        return self._nearest_only(runner.total(None, attrgetter("nearest"), rows))

    def _nearest_only(self, nearest):
        # What is solved is solved from the rows themselves.
        return Statistics(PatternGrams(self._graphs.sizes, {}), nearest)

    def _learn_again(self, runner, samples):
        (old,), V = self._learnt, runner.n_views
        rows = GraphRows.stack([samples.rows[i] for i in range(runner.n_blocks)])
        if runner.keys is not None:
            rows = rows.take(runner.key_order(np.arange(runner.n_samples)))
        kept = self.anchor_distance_, self.drift_  # of the fit, and of the new samples
        self._start_attributes(self.component_views_, V)
        self._survey_links(runner, self.component_views_, old.c)
        passes = self._learner(old.c, runner.map).solve(
            rows.select(range(3 * V)), old.graphs.sizes, old.r_squared
        )
        self._round(old.graphs, passes, rows, samples.seeds[1], 1.0, runner.map)
        self._collect_centers()
        self._warn()
        self.anchor_distance_, self.drift_ = kept
        if self.stability:  # other anchors never saw the old samples
            self.stability_, self.cluster_stability_ = np.nan, np.full(old.c, np.nan)
        (new,) = self._learnt
        with self._stage("placing"):
            embed = partial(embed_kept, component=new, dtype=runner.dtype)
            Y = runner.rows(
                "embedding", embed, samples.rows, width=new.dim, dtype=runner.dtype
            )
            label_rows(self, runner, Y)

    @property
    def _columns(self):
        """Columns of the embedding that belong to each component."""
        ends = np.cumsum([0, *(component.dim for component in self._learnt)])
        return [slice(*pair) for pair in pairwise(ends)]

    def _embed_views(self):
        return self._of_components(embed_components), self._columns[-1].stop

    def _place(self):
        return self._of_components(place_components)

    def _of_components(self, function):
        """A block function that knows the components and where their columns are."""
        return partial(
            function,
            learnt=self._learnt,
            components=Components(self.component_views_),
            columns=self._columns,
        )

    def _get_state(self):
        arrays: dict = {}
        return arrays, {"version": _VERSION, "learnt": pack(self._learnt, arrays)}

    def _set_state(self, arrays, values, sizes):
        if values.get("version") != _VERSION:
            raise OtherModel(
                "holds an AnchorBridge of version 1, whose method is another; fit the "
                "samples anew and save that model."
            )
        groups = [tuple(p) for p in self.component_views_]
        if sorted(v for p in groups for v in p) != list(range(self.n_views_in_)):
            raise ValueError("its groups of views are not all views, each once.")
        self.component_views_ = groups
        found = getattr(self, "weak_links_", [])  # older files have none
        self.weak_links_ = [(tuple(views), shared) for views, shared in found]
        if self.candidates_ is not None:
            self.candidates_ = [Candidate(*own) for own in self.candidates_]
        self._learnt = list(unpack(values.get("learnt"), arrays, _TYPES))
        if len(self._learnt) != len(groups):
            raise ValueError("what it learnt is not one part for each group of views.")
        for component, views in zip(self._learnt, groups):
            check_component(component, [self.n_features_in_[v] for v in views])
        total = sum(component.c for component in self._learnt)
        width = self._columns[-1].stop
        sizes.check("centres", self.cluster_centers_, "float k w", k=total, w=width)
        self._set_samples(arrays, values)


def weak_link_text(weak, names):
    """What is uncertain where few samples link views to the others."""
    parts = []
    for views, shared in weak[:_NAMED]:
        own = listed([repr(names[v]) for v in views])
        verb = f"view {own} is" if len(views) == 1 else f"views {own} are"
        samples = "1 sample" if shared == 1 else f"{shared} samples"
        parts.append(f"{verb} linked to the others by {samples} only")
    if len(weak) > _NAMED:
        parts.append(f"{len(weak) - _NAMED} more likewise (weak_links_)")
    return f"{'; '.join(parts)}: how their clusters match is uncertain."


def embed_components(views, learnt, components, columns, dtype):
    """Y of a block of samples, every component in columns of its own."""
    found = []
    for i, component in enumerate(learnt):
        own = components.select(views, i)
        found.append(component.embed_views(own, dtype))
    return side_by_side(views.mask, *found, components=components, columns=columns)


def place_components(Y, mask, learnt, components, columns):
    """``(labels, inertia)`` of rows of Y; components are numbered one by one."""
    labels, inertia, first = np.zeros(len(Y), np.int64), 0.0, 0
    for i, (component, own) in enumerate(zip(learnt, columns)):
        rows = components.owned(mask, i)
        X = unit_rows(Y[rows, own] if len(learnt) > 1 else Y)
        found = component.place(X)
        labels[rows] = first + found
        inertia += float(np.square(X - component.centers[found]).sum(dtype=np.float64))
        first += component.c
    return labels, inertia
