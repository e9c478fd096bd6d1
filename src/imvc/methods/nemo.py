"""NEMO: how similar samples are among their neighbours, averaged over the views.

N. Rappoport, R. Shamir, "NEMO: cancer subtyping by integration of partial multi-omic
data", Bioinformatics 35(18), 2019, 3348-3356, doi 10.1093/bioinformatics/btz058.
Specification: docs/methods/nemo.md.

    RS_v(i, j) = S_v(i, j) / sum_{r in N_v(i)} S_v(i, r)    if j in N_v(i), else 0
               + S_v(i, j) / sum_{r in N_v(j)} S_v(j, r)    if i in N_v(j), else 0
    W(i, j)    = mean of RS_v(i, j) over the views that have both i and j

    S_v     local Gaussian similarities of the samples seen in view v
    N_v(i)  the k neighbours of sample i in view v

Nothing is iterated and nothing imputed.
"""

from typing import Literal

import numpy as np

from imvc.kernels._local_gaussian import (
    largest_columns,
    local_scale,
    normal_density,
    pairwise_squares,
    row_shares,
)
from imvc.methods._cost import check_memory
from imvc.methods._parameters import Count, estimator
from imvc.methods._similarity_graph import (
    SimilarityGraphClusterer,
    add_up,
    scaled_rows,
    shared_views,
)

_RATIO = 6  # samples of a view for each of its neighbours, as in the release


@estimator
class NEMO(SimilarityGraphClusterer):
    """Neighbourhood based multi-omics clustering (NEMO).

    Every view says how similar two of its samples are, in terms of how similar either
    is to its nearest neighbours. These relative similarities are averaged over the
    views that have both samples; spectral clustering of the mean.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbours of a sample in a view; by default a sixth of the view's samples, at
        least two.
    similarity : {"release", "paper"}, default="release"
        S_v as the authors' program computes it, sharper and with every sample among
        its own neighbours, or by the formula of the paper.
    callback : callable, optional
        Called once, as ``callback(1, cut)``.

    Attributes
    ----------
    graph_ : ndarray of shape (n_samples, n_samples)
        Mean relative similarities W; their mean for samples that share no view.
    objective_ : ndarray of shape (1,)
        ``n_clusters`` minus the sum of the eigenvalues: the least normalised cut of
        the graph, relaxed.
    n_iter_, converged_ : int, bool
        1 and True: nothing is iterated.

    References
    ----------
    N. Rappoport, R. Shamir, "NEMO: cancer subtyping by integration of partial
    multi-omic data", Bioinformatics 35(18), 2019, 3348-3356, doi
    10.1093/bioinformatics/btz058.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import NEMO
    >>> data = make_views(n_samples=120, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = NEMO(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.graph_.shape
    (120, 120)
    """

    n_neighbors: Count | None = None
    similarity: Literal["release", "paper"] = "release"

    def _similarity_graph(self, views):
        n = views.n_samples
        check_memory(8 * 7 * n**2, f"NEMO on {n} samples")
        with self._stage("graphs"):
            X = (scaled_rows(views, v, self.scale) for v in range(views.n_views))
            RS = (
                relative_similarity(X_v, self.n_neighbors, self.similarity) for X_v in X
            )
            return average(RS, views.mask)

    def _embed(self, views, rng):
        Y = super()._embed(views, rng)
        cut = self.n_clusters - float(self.eigenvalues_.sum())
        self._record([cut], True)
        self._report(1, cut)
        return Y


def relative_similarity(X_v, k=None, kind="release"):
    """RS_v (n_v, n_v): similarities to the neighbours of either, in shares of one.

    ``k`` neighbours, by default a sixth of the rows. O(n_v^2 p).
    """
    k = k or max(round(X_v.shape[0] / _RATIO), 2)
    similar, columns = SIMILARITIES[kind](pairwise_squares(X_v), k)
    shares = row_shares(similar, columns).toarray()
    return shares + shares.T


def released_similarities(squares, k):
    """S_v as the release has it, and the k most similar samples, itself among them.

    A normal density of the squared distances, of deviation ``scale / 2``.
    """
    S_v = normal_density(np.square(squares), np.square(local_scale(squares, k) / 2))
    return S_v, largest_columns(S_v, k)


def published_similarities(squares, k):
    """S_v as the paper has it, and the k nearest neighbours of every sample.

    A normal density of the distances, of variance ``scale``.
    """
    S_v = normal_density(squares, local_scale(squares, k))
    nearness = -squares
    nearness[np.diag_indices_from(nearness)] = -np.inf
    return S_v, largest_columns(nearness, min(k, len(S_v) - 1))


SIMILARITIES = {"release": released_similarities, "paper": published_similarities}


def average(RS, mask):
    """W (n, n): mean over the views that have both samples of a pair.

    Where none has, the mean of all pairs that a view has, as in the release.
    """
    W, shared = add_up(RS, mask), shared_views(mask)
    np.divide(W, shared, out=W, where=shared > 0)
    known = np.tril(shared > 0, -1)
    if known.any():
        W[shared == 0] = W.mean(where=known)
    return W
