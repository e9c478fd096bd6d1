"""What AnchorBridge learnt about views that shared samples join: enough to place
a new sample of any pattern."""

from dataclasses import dataclass, field

import numpy as np

from imvc.kernels._kmeans import assign
from imvc.methods._bridge_graphs import VARIANTS, BridgeGraphs, ViewGraph
from imvc.methods._bridge_guard import SizeTolerant
from imvc.methods._bridge_joint import Bridge, JointGraph


@dataclass
class Part:
    """One component: its graphs, joint spectrum and clusters.

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
