"""SNF: the similarities of every view, diffused through those of the others.

B. Wang, A. M. Mezlini, F. Demir, M. Fiume, Z. Tu, M. Brudno, B. Haibe-Kains, A.
Goldenberg, "Similarity network fusion for aggregating data types on a genomic scale",
Nature Methods 11, 2014, 333-337, doi 10.1038/nmeth.2810.
Specification: docs/methods/snf.md.

    P_v <- normalise(S_v Q_v S_v'),  Q_v = mean of the other views' P_u      (t steps)

    W_v  local Gaussian similarities of the n_v samples seen in view v
    P_v  full kernel: W_v, rows with 1/2 on the diagonal and 1/2 beside it, symmetric
    S_v  local kernel: the K largest entries of every row of P_v, rows of sum one
    Q_v  (i, j): mean over the other views that have both i and j; P_v where none has

There is no objective; the change of the graphs from step to step is recorded.
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
from imvc.methods._iterations import Iterations
from imvc.methods._parameters import AtLeastTwo, Count, Positive, estimator
from imvc.methods._similarity_graph import (
    SimilarityGraphClusterer,
    add_up,
    scaled_rows,
    shared_views,
)


@estimator
class SNF(SimilarityGraphClusterer):
    """Similarity network fusion (SNF), on the samples that every view has.

    Every view gives similarities of its samples. In every step those of a view are
    replaced by the mean of the other views' similarities, spread along its own nearest
    neighbours, so that the views come to agree; spectral clustering of their mean.
    With nothing missing it is the published algorithm.

    Parameters
    ----------
    n_neighbors : int, default=20
        Neighbours K: those that set the width of the similarities, and, the sample
        itself among them, those that similarities are spread along.
    width : float, default=0.5
        Width mu of the similarities in terms of the local distances.
    n_steps : int, default=20
        Steps t of the diffusion.
    metric : {"sqeuclidean", "euclidean"}, default="sqeuclidean"
        The distances that the Gaussian is of: squared ones, as in the program that came
        with the paper, or plain ones, as the authors' R package has it now.
    callback : callable, optional
        Called as ``callback(step, change)``.

    Attributes
    ----------
    graph_ : ndarray of shape (n_samples, n_samples)
        The fused similarities; 0 for samples that share no view.
    objective_ : ndarray of shape (n_steps,)
        Relative change of the views' graphs in every step.
    n_iter_, converged_ : int, bool
        ``n_steps`` and True: the steps are counted, and no limit is sought.

    References
    ----------
    B. Wang, A. M. Mezlini, F. Demir, M. Fiume, Z. Tu, M. Brudno, B. Haibe-Kains, A.
    Goldenberg, "Similarity network fusion for aggregating data types on a genomic
    scale", Nature Methods 11, 2014, 333-337, doi 10.1038/nmeth.2810.

    Examples
    --------
    >>> from imvc.datasets import make_views
    >>> from imvc import SNF
    >>> data = make_views(n_samples=120, n_clusters=3, incomplete=0.5, random_state=0)
    >>> model = SNF(n_clusters=3, random_state=0).fit(data.Xs, mask=data.mask)
    >>> model.graph_.shape
    (120, 120)
    """

    n_neighbors: AtLeastTwo = 20
    width: Positive = 0.5
    n_steps: Count = 20
    metric: Literal["sqeuclidean", "euclidean"] = "sqeuclidean"

    def _similarity_graph(self, views):
        n = views.n_samples
        check_memory(8 * (views.n_views + 9) * n**2, f"SNF on {n} samples")
        with self._stage("graphs"):
            X = (scaled_rows(views, v, self.scale) for v in range(views.n_views))
            rule = self.n_neighbors, self.width, self.metric
            P = [full_kernel(similarities(X_v, *rule)) for X_v in X]
        steps = Iterations(self.n_steps, 0.0, self._report)
        with self._stage("diffusion"):
            W = solve(P, views.mask, self.n_neighbors, steps)
        self._record(steps.objective, True)
        return W


def similarities(X_v, k, width, metric):
    """W_v (n_v, n_v): normal densities of the distances, of deviation width eps_ij.

    eps_ij = (mean distance of i to its k nearest + that of j + d_ij) / 3. O(n_v^2 p).
    """
    d = pairwise_squares(X_v)
    if metric == "euclidean":
        np.sqrt(d, out=d)
    deviation = local_scale(d, k)
    deviation *= width
    return normal_density(np.square(d), np.square(deviation))


def full_kernel(W):
    """P = W / (2 sum of the others in its row), 1/2 on the diagonal.

    Then its symmetric part, as in the authors' program. A sample that is like no other
    keeps its diagonal alone.
    """
    P = W.copy()
    diagonal = np.diag_indices_from(P)
    P[diagonal] = 0
    sums = P.sum(axis=1)
    sums[sums == 0] = 1
    P /= 2 * sums[:, None]
    P[diagonal] = 0.5
    return (P + P.T) / 2


def local_kernel(P, k):
    """S: the k largest entries of every row, which then sum to one; CSR."""
    return row_shares(P, largest_columns(P, k))


def solve(P, mask, k, steps):
    """Diffuse the P_v through each other, and return the mean graph W (n, n).

    Parameters
    ----------
    P : list of ndarray of shape (n_v, n_v)
        Full kernels of the samples that every view has; overwritten.
    mask : ndarray of bool, shape (n, n_views)
    k : int
    steps : Iterations

    Notes
    -----
    O(k n^2) time for every view and step. In W a pair of samples has the mean over the
    views that have both, and 0 where none has.
    """
    pairs, shared = [np.ix_(seen, seen) for seen in mask.T], shared_views(mask)
    S = [local_kernel(P_v, k) for P_v in P]
    total = add_up(P, mask)
    for _ in steps:
        for v, own in enumerate(pairs):
            P[v] = update_P(P[v], S[v], total[own], shared[own])
        before, total = total, add_up(P, mask)
        before -= total
        steps.add(float(np.linalg.norm(before) / np.linalg.norm(total)))
    np.divide(total, shared, out=total, where=shared > 0)
    return full_kernel(total)


def update_P(P_v, S_v, total, shared):
    """P_v = full_kernel(S_v Q_v S_v'), Q_v = (total - P_v) / (shared - 1).

    ``total`` and ``shared`` are the sum over all views, and their number, for the pairs
    of samples that view v has. Pairs that no other view has keep what P_v says.
    """
    Q_v = total - P_v
    others = shared - 1
    np.divide(Q_v, others, out=Q_v, where=others > 0)
    np.copyto(Q_v, P_v, where=others == 0)
    return full_kernel(S_v @ (S_v @ Q_v).T)
