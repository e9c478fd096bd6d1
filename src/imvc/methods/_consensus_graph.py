"""What IMVC-CBG and PSIMVC-PG share: from views to one graph to its singular vectors.

Both alternate `imvc.methods._graph_factor.consensus_graph` from a graph that ties one
chosen sample, the seed, to every anchor.
"""

from abc import abstractmethod
from typing import Annotated, Any, Literal

import numpy as np

from imvc.kernels._anchor_graph import unit_rows
from imvc.kernels._procrustes import left_singular_vectors
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._parameters import Count, NonNegative, estimator

# Exponent of r_v^2 in the view weights: 1/r_v as published programs, 1/r_v^2 exactly.
POWERS = {"release": 0.5, "exact": 1.0}


@estimator
class ConsensusGraphClusterer(EmbeddingClusterer):
    """Base of the methods with one graph Z over all samples, embedded by its SVD."""

    seeds: Literal["first", "complete", "random"] | Annotated[Any, "array-like"] = (
        "first"
    )
    weight_update: Literal["release", "exact"] = "release"
    max_iter: Count = 51
    tol: NonNegative = 1e-3

    @abstractmethod
    def _n_anchors(self):
        """Columns m of the graph."""

    @abstractmethod
    def _solve(self, X, rows, Z):
        """The `ConsensusGraph` of unit rows ``X`` of the samples ``rows``, from Z."""

    def _check_against(self, views):
        super()._check_against(views)
        if not isinstance(self.seeds, str):
            check_seeds(self.seeds, self._n_anchors(), views.n_samples)

    def _embed(self, views, rng):
        m, k = self._n_anchors(), self.n_clusters
        X = [unit_rows(views.observed(v)) for v in range(views.n_views)]
        rows = [views.rows(v) for v in range(views.n_views)]
        self.seeds_ = choose_seeds(self.seeds, m, views.mask, rng)
        with self._stage("solve"):
            graph = self._solve(X, rows, seed_graph(self.seeds_, views.n_samples))
        self.graph_ = graph.Z.astype(views.dtype)
        self.view_weights_ = graph.alpha
        self._record(graph.objective, graph.converged)
        return left_singular_vectors(graph.Z, k)[0].astype(views.dtype)


def choose_seeds(seeds, m, mask, rng):
    """The m samples that start as anchors: by rule, or as given."""
    if not isinstance(seeds, str):
        return np.asarray(seeds)
    if seeds == "random":
        return rng.choice(len(mask), m, replace=False)
    if seeds == "complete":  # where these are too few, those with the most views
        return np.argsort(-mask.sum(axis=1), kind="stable")[:m]
    return np.arange(m)


def check_seeds(seeds, m, n):
    """Raise unless ``seeds`` are m different samples."""
    seeds = np.asarray(seeds)
    if seeds.shape != (m,) or seeds.dtype.kind not in "iu":
        raise ValueError(
            f"seeds={seeds.tolist()!r} must be {m} sample numbers, one for each anchor."
        )
    if len(np.unique(seeds)) < m or seeds.min() < 0 or seeds.max() >= n:
        raise ValueError(
            f"seeds={seeds.tolist()!r} must be different sample numbers from 0 to "
            f"{n - 1}."
        )


def seed_graph(seeds, n):
    """The start: Z joins seed j to anchor j alone, and nobody else to any."""
    Z = np.zeros((n, len(seeds)))
    Z[seeds, np.arange(len(seeds))] = 1
    return Z
