"""PSIMVC-PG: a prototype graph of all samples without a parameter to choose.

M. Li, S. Wang, X. Liu, S. Liu, "Parameter-Free and Scalable Incomplete Multiview
Clustering With Prototype Graph", IEEE Trans. Neural Networks and Learning Systems
35(1):300-310, 2024, doi:10.1109/TNNLS.2022.3173742.
Specification: docs/methods/psimvc_pg.md.

    min  sum_v alpha_v^2 ||X_v - W_v A Z_v||^2
    s.t. W_v'W_v = I, A'A = I, Z >= 0, Z'1 = 1, alpha >= 0, alpha'1 = 1

    paper    code (samples in rows)              meaning
    X_v      X[v] (n_v x d_v)                    observed samples of view v, length one
    Z        Z (n x k), `graph_`                 weights of every sample on prototypes
    Z_v      Z[rows[v]]                          those of the samples that view v has
    W_v      W[v] (d_v x k)                      map from the latent space
    A        A (k x k)                           prototypes in the latent space
    alpha    alpha (V,), `view_weights_`         weights of the views
    k        n_clusters                          clusters = prototypes = dimensions

The sweep (W, A, Z, alpha) is `imvc.methods._consensus_graph.solve`, one function for
each update: IMVC-CBG takes the same one with a ridge.
"""

from imvc.methods._consensus_graph import ConsensusGraphClusterer
from imvc.methods._parameters import estimator


@estimator
class PSIMVCPG(ConsensusGraphClusterer):
    """Parameter-free, scalable clustering with a prototype graph (PSIMVC-PG).

    Each view is mapped into a latent space of as many dimensions as clusters; there,
    as many orthogonal prototypes and one graph between them and all samples fit what
    was observed. k-means on the directions of the graph's left singular vectors gives
    the clusters.

    Parameters
    ----------
    seeds : {"first", "complete", "random"} or array-like of int, default="first"
        Samples that the prototypes start at: the first ones (the authors' program),
        the first ones with every view (or, where these are too few, with the most),
        some drawn with `random_state`, or these. The result depends on them. Of samples
        with ids the first ones are those with the least keys, wherever they stand.
    weight_update : {"release", "exact"}, default="release"
        View weights proportional to 1/r_v, r_v the norm of the view's residual (the
        authors' program), or to 1/r_v^2, which minimises the objective.
    tol : float, default=1e-3
        Stop when the relative change of the objective falls below.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Left singular vectors of the graph; k-means sees their rows at length one.
    graph_ : ndarray of shape (n_samples, n_clusters)
        Z; rows are non-negative with sum one.
    view_weights_ : ndarray of shape (n_views,)
    seeds_ : ndarray of int, shape (n_clusters,)
    objective_ : ndarray of shape (n_iter_,)
        After every sweep. With ``weight_update="release"`` it may rise a little.

    References
    ----------
    M. Li, S. Wang, X. Liu, S. Liu, IEEE TNNLS 35(1):300-310, 2024,
    doi:10.1109/TNNLS.2022.3173742.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import PSIMVCPG
    >>> data = make_views(n_samples=200, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = PSIMVCPG(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.embedding_.shape
    (200, 3)
    """

    _row_normalize = True
