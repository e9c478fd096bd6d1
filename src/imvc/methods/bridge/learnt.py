"""What AnchorBridge learnt: attributes, the place of new samples, model files."""

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._kmeans import assign
from imvc.methods._base import warn_user
from imvc.methods.bridge.components import Components, side_by_side
from imvc.methods.bridge.graphs import VARIANTS, BridgeGraphs, ViewGraph
from imvc.methods.bridge.joint import Bridge, JointGraph
from imvc.methods.bridge.rounding import SizeTolerant

_WARN_MISSINGNESS = 0.1


@dataclass
class ComponentModel:
    """Graphs, joint spectrum and clusters of views that shared samples join.

    Enough to place a new sample of any pattern.

    Parameters
    ----------
    graphs : BridgeGraphs
    joint : JointGraph
    values : ndarray of shape (K,)
        Squared singular values s_j^2, without the constant's.
    W : ndarray of shape (M, K)
        Singular vectors as functions of rows of R: u_j = R W_j.
    time : float
        Diffusion time t.
    n_samples, c : int
    centers : ndarray of shape (c, 1 + K), after the partition
    guard : SizeTolerant or None
        The rule that places samples when the partition is guarded.
    """

    graphs: BridgeGraphs
    joint: JointGraph
    values: np.ndarray
    W: np.ndarray
    time: float
    n_samples: int
    c: int
    centers: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    guard: SizeTolerant | None = None

    @property
    def dim(self):
        return 1 + len(self.values)

    @property
    def decay(self):
        """s_j^t."""
        return self.values ** (self.time / 2)

    @property
    def cut(self):
        """Relaxed normalised cut: sum of 1 - s_j^2 over c - 1 vectors."""
        return float(self.c - 1 - self.values[: self.c - 1].sum())

    def embed(self, rows, dtype):
        """Step 6 on a block: Y = [u_0 / (c - 1), u_j s_j^t], before unit rows."""
        constant = 1 / np.sqrt(self.n_samples) / max(self.c - 1, 1)
        return self.joint.embed(rows, self.W * self.decay, constant, dtype)

    def place(self, X):
        """Cluster of every unit row."""
        if self.guard is not None:
            return self.guard.assign(X[:, 1:])
        return assign(X, self.centers)[0]

    def state(self, prefix):
        """(arrays, JSON values) for a model file."""
        arrays = {
            f"{prefix}.values": self.values,
            f"{prefix}.W": self.W,
            f"{prefix}.centers": self.centers,
        }
        for g, (variant, bridge) in enumerate(
            zip(self.graphs.variants, self.joint.bridges)
        ):
            at = f"{prefix}.{g}"
            arrays[f"{at}.weights"] = bridge.weights
            arrays[f"{at}.agreement"] = bridge.agreement
            arrays |= {f"{at}.P{u}.{v}": P for (u, v), P in bridge.transfer.items()}
            for v, graph in enumerate(variant):
                arrays[f"{at}.{v}.mean"] = graph.mean
                arrays[f"{at}.{v}.anchors"] = graph.anchors
                if graph.axes is not None:
                    arrays[f"{at}.{v}.axes"] = graph.axes
        if self.guard is not None:
            arrays[f"{prefix}.sums"] = self.guard.sums
            arrays[f"{prefix}.counts"] = self.guard.counts
        return arrays, {
            "time": self.time,
            "n_samples": self.n_samples,
            "c": self.c,
            "mask_share": self.joint.mask_share,
            "neighbors": [
                [graph.n_neighbors for graph in views] for views in self.graphs.variants
            ],
            "exponent": None if self.guard is None else self.guard.exponent,
        }

    @classmethod
    def from_state(cls, prefix, arrays, values):
        """The inverse of `state`."""
        graphs, bridges = [], []
        for g, rooted in enumerate(VARIANTS):
            at, n_neighbors = f"{prefix}.{g}", values["neighbors"][g]
            graphs.append(
                [
                    ViewGraph(
                        rooted,
                        arrays[f"{at}.{v}.mean"],
                        arrays.get(f"{at}.{v}.axes"),
                        arrays[f"{at}.{v}.anchors"],
                        k,
                    )
                    for v, k in enumerate(n_neighbors)
                ]
            )
            pairs = [
                (u, v) for u in range(len(n_neighbors)) for v in range(len(n_neighbors))
            ]
            bridges.append(
                Bridge(
                    tuple(len(graph.anchors) for graph in graphs[-1]),
                    arrays[f"{at}.weights"],
                    arrays[f"{at}.agreement"],
                    {(u, v): arrays[f"{at}.P{u}.{v}"] for u, v in pairs if u != v},
                )
            )
        guard = None
        if values["exponent"] is not None:
            sums, counts = arrays[f"{prefix}.sums"], arrays[f"{prefix}.counts"]
            guard = SizeTolerant(sums, counts, values["exponent"])
        return cls(
            BridgeGraphs(graphs),
            JointGraph(bridges, values["mask_share"]),
            arrays[f"{prefix}.values"],
            arrays[f"{prefix}.W"],
            values["time"],
            values["n_samples"],
            values["c"],
            arrays[f"{prefix}.centers"],
            guard,
        )


class LearntMixin:
    """Attributes, prediction and files of AnchorBridge, which this is mixed into."""

    stability: Any
    component_views_: list
    objective_: np.ndarray
    view_names_: tuple
    _record: Any
    _set_samples: Any

    def _start_attributes(self, n_views):
        self._learnt = []
        self.view_weights_ = np.zeros(n_views)
        self.view_agreement_ = np.eye(n_views)
        self.missingness_ = np.zeros((n_views, n_views))
        self.stability_ = 0.0 if self.stability else None
        self._record(np.zeros(1), True)

    def _collect(self, component, evidence, share):
        """Put what one component says about its views into the attributes."""
        chosen = list(self.component_views_[len(self._learnt)])
        self._learnt.append(component)
        weights = [bridge.weights for bridge in evidence.bridges]
        self.view_weights_[chosen] = share * np.mean(weights, axis=0)
        self.view_agreement_[np.ix_(chosen, chosen)] = evidence.agreement.mean(axis=0)
        self.missingness_[np.ix_(chosen, chosen)] = evidence.missingness
        self.objective_ += component.cut
        if self.stability:
            self.stability_ += share * evidence.stability
        if len(self._learnt) == 1:
            self.singular_values_ = np.sqrt(component.values)
            self.diffusion_time_ = component.time

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

    def _warn_of_views(self):
        if len(self.component_views_) > 1:
            groups = [[self.view_names_[v] for v in p] for p in self.component_views_]
            warn_user(
                f"the views fall into groups that share too few samples, {groups}; "
                f"each group is clustered apart, its clusters have numbers of their "
                f"own, and nothing tells which of them belong together.",
            )
        u, v = np.unravel_index(self.missingness_.argmax(), self.missingness_.shape)
        if self.missingness_[u, v] > _WARN_MISSINGNESS:
            warn_user(
                f"views are not missing at random: view {self.view_names_[u]!r} "
                f"predicts where {self.view_names_[v]!r} is observed (missingness_ "
                f"{self.missingness_[u, v]:.2f}); clusters may follow what is missing.",
            )

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
        values = []
        for i, component in enumerate(self._learnt):
            own, plain = component.state(f"part{i}")
            arrays |= own
            values.append(plain)
        return arrays, {"parts": values}

    def _set_state(self, arrays, values):
        self.component_views_ = [tuple(p) for p in self.component_views_]
        self._learnt = [
            ComponentModel.from_state(f"part{i}", arrays, plain)
            for i, plain in enumerate(values["parts"])
        ]
        self._replicates = [self._learnt[0].graphs]
        self._set_samples(arrays, values)


def embed_components(views, learnt, components, columns, dtype):
    """Y of a block of samples, every component in columns of its own."""
    found = []
    for i, component in enumerate(learnt):
        own = components.select(views, i)
        found.append(component.embed(component.graphs(own), dtype))
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
