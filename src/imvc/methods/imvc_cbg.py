"""IMVC-CBG: one consensus bipartite graph of all samples, linear in their number.

S. Wang, X. Liu, L. Liu, W. Tu, X. Zhu, J. Liu, S. Zhou, E. Zhu, "Highly-efficient
Incomplete Large-scale Multi-view Clustering with Consensus Bipartite Graph", CVPR 2022,
pp. 9776-9785. Specification: docs/methods/imvc_cbg.md.

    min  sum_v alpha_v^2 ||X_v - W_v A Z_v||^2 + lambda ||Z||^2
    s.t. W_v'W_v = I, A'A = I, Z >= 0, Z'1 = 1, alpha >= 0, alpha'1 = 1

    paper    code (samples in rows)              meaning
    X_v      X[v] (n_v x d_v)                    observed samples of view v, length one
    Z        Z (n x m), `graph_`                 weights of every sample on the anchors
    Z_v      Z[rows[v]]                          those of the samples that view v has
    W_v      W[v] (d_v x d)                      map from the latent space, d = k
    A        A (d x m)                           anchors in the latent space
    alpha    alpha (V,), `view_weights_`         weights of the views
    lambda   ridge                               penalty on the graph
    k, m     n_clusters, n_anchors

The sweep (W, A, Z, alpha) is `imvc.methods._consensus_graph.solve`, one function for
each update: PSIMVC-PG takes the same one without the ridge.
"""

from imvc.methods._consensus_graph import ConsensusGraphClusterer
from imvc.methods._parameters import Count, NonNegative, estimator


@estimator
class IMVCCBG(ConsensusGraphClusterer):
    """Incomplete multi-view clustering with a consensus bipartite graph (IMVC-CBG).

    Each view is mapped into a latent space of as many dimensions as clusters; there,
    one set of orthogonal anchors and one graph between anchors and all samples fit
    what was observed. k-means on the graph's left singular vectors gives the clusters.

    Parameters
    ----------
    n_anchors : int, optional
        Anchors m, at least `n_clusters`; by default `n_clusters`.
    ridge : float, default=0.1
        Penalty lambda on the squared graph; larger means more even weights.
    seeds : {"first", "complete", "random"} or array-like of int, default="first"
        Samples that the anchors start at: the first ones (the authors' program), the
        first ones with every view (or, where these are too few, with the most), some
        drawn with `random_state`, or these. The result depends on them. Of samples with
        ids the first ones are those with the least keys, wherever they stand.
    weight_update : {"release", "exact"}, default="release"
        View weights proportional to 1/r_v, r_v the norm of the view's residual (the
        authors' program), or to 1/r_v^2, which minimises the objective.
    tol : float, default=1e-3
        Stop when the relative change of the objective falls below.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading left singular vectors of the graph.
    graph_ : ndarray of shape (n_samples, n_anchors)
        Z; rows are non-negative with sum one.
    view_weights_ : ndarray of shape (n_views,)
    seeds_ : ndarray of int, shape (n_anchors,)
    objective_ : ndarray of shape (n_iter_,)
        After every sweep. With ``weight_update="release"`` it may rise a little.

    References
    ----------
    S. Wang et al., CVPR 2022, pp. 9776-9785.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import IMVCCBG
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = IMVCCBG(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.graph_.shape
    (200, 3)
    """

    _row_normalize = False  # the release clusters the singular vectors as they are
    n_anchors: Count | None = None
    ridge: NonNegative = 0.1
