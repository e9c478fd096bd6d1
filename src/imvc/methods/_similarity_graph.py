"""What NEMO and SNF share: similarities of every view, one graph, its spectrum.

Every view compares the samples that it has. How the views' similarities become one
graph W of all samples is the method; spectral clustering of W is the rest:

    Y  eigenvectors (n x c) of the largest eigenvalues of D^-1/2 W D^-1/2, D = diag(W 1)
"""

from abc import abstractmethod
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from imvc._warn import warn_user
from imvc.kernels._anchor_graph import column_moments, scale_rows
from imvc.kernels._laplacian import normalized_adjacency
from imvc.kernels._patterns import leading_eigh
from imvc.methods._base import EmbeddingClusterer
from imvc.methods._parameters import estimator


@estimator
class SimilarityGraphClusterer(EmbeddingClusterer):
    """Base of the methods that make one graph of all samples, without learning it.

    Parameters
    ----------
    scale : {"unit", "standard"} or None, default="unit"
        How a view is prepared. "unit": every sample of it to length one, as in most
        other methods here. "standard": every feature to deviation one, as the authors
        prepared theirs. None: features as they are.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph; rows are scaled to length one for
        k-means.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Theirs, descending from 1. As many are 1 as the graph has parts.
    """

    _row_normalize = True
    scale: Literal["unit", "standard"] | None = "unit"

    @abstractmethod
    def _similarity_graph(self, views):
        """W (n, n), symmetric and non-negative."""

    def _embed(self, views, rng):
        warn_of_unlinked(views, type(self).__name__)
        self.graph_ = self._similarity_graph(views)
        with self._stage("spectrum"):
            A = normalized_adjacency(self.graph_)
            self.eigenvalues_, Y = leading_eigh(A, self.n_clusters)
        return Y.astype(views.dtype, copy=False)

    def _give_back_samples(self, order, place):
        super()._give_back_samples(order, place)
        self.graph_ = self.graph_[place][:, place]


def scaled_rows(views, v, scale):
    """Observed rows of view ``v`` in float64, scaled; sparse ones stay sparse."""
    X = views.observed(v).astype(np.float64)
    if scale != "standard":
        return scale_rows(X, scale)
    count, mean, squares = column_moments(X)
    deviation = np.sqrt(squares / count)
    # The rounding of a constant column must not be blown up to deviation one.
    deviation[deviation <= 8 * np.finfo(views.dtype).eps * np.abs(mean)] = 1
    return scale_rows(X, scale, deviation)


def shared_views(mask):
    """Number of views that have both samples of every pair, float32 (n, n)."""
    seen = mask.astype(np.float32)
    return seen @ seen.T


def add_up(graphs, mask):
    """Sum of graphs of the samples that every view has, as a graph of all; (n, n)."""
    total = np.zeros((len(mask), len(mask)))
    for W_v, seen in zip(graphs, mask.T):
        total[np.ix_(seen, seen)] += W_v
    return total


def warn_of_unlinked(views, name):
    """Warn where groups of views have no sample in common: nothing compares these."""
    overlap = views.mask.T.astype(np.int64) @ views.mask
    n_groups, group = connected_components(sp.csr_matrix(overlap), directed=False)
    if n_groups > 1:
        named = [", ".join(np.array(views.names)[group == g]) for g in range(n_groups)]
        warn_user(
            f"no sample is seen both in a view of ({named[0]}) and in one of "
            f"({named[1]}): {name} cannot compare the samples of the {n_groups} groups "
            f"of views, and its clusters may be no more than these; cluster each group "
            f"alone, or add samples that are seen in both."
        )
