"""RISE on full sample-sample graphs: the paper's ablation.

B_v B_v' is replaced by a symmetric normalised nearest-neighbour similarity S_v, and the
steps run on n-row matrices: the F-step takes the leading eigenvectors of
2 Y_v Y_v' + beta S_v, by Lanczos iteration. O(n^2) time for the graphs.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from sklearn.neighbors import NearestNeighbors

from imvc.kernels._anchor_graph import (
    column_moments,
    knn_weights,
    scale_rows,
    weights_to_csr,
)
from imvc.kernels._patterns import dense_eigh, fix_signs, lanczos
from imvc.kernels._procrustes import generalized_power_iteration, left_singular_vectors
from imvc.methods.anchor_model import label_rows
from imvc.scale import KeptRows, RowArray

_DENSE_ROWS = 200  # up to here a dense eigenproblem is quicker than Lanczos


def fit_full_graph(model, runner, seeds):
    """`RISE` with ``graph="full"``, on views in memory."""
    Y = embed_full(model, runner.views, seeds[0], runner.map)
    Y = KeptRows(runner, RowArray(Y, runner.source.starts), runner.source.starts)
    with model._stage("kmeans"):
        model._cluster(runner, Y, seeds[1])
        label_rows(model, runner, Y)


def embed_full(model, views, seed, map):
    """The consensus embedding; sets objective and convergence."""
    rng = np.random.RandomState(seed)
    h = [views.rows(v) for v in range(views.n_views)]
    with model._stage("graph"):

        def graph(v):
            X = views.observed(v)
            count, _, squares = column_moments(X)
            deviation = np.sqrt(squares / count)
            deviation[deviation == 0] = 1
            X = scale_rows(X, model.scale, deviation)
            return similarity(X, model.n_neighbors, model.metric)

        S = list(map(graph, range(views.n_views)))
    with model._stage("solve"):
        v0 = [rng.standard_normal(len(rows)) for rows in h]
        F = [leading_vectors(S_v, None, 1.0, model._dim, s) for S_v, s in zip(S, v0)]
        if model.init == "identity" and model.completion != "first-order-two-stage":
            F = [np.eye(len(rows), model._dim) for rows in h]
        steps = {
            "second-order": second_order_step,
            "first-order": first_order_step,
            "first-order-two-stage": two_stage_step,
        }[model.completion]
        Y, objective, converged = iterate(model, steps, S, h, F, views.n_samples, v0)
    model._record(objective, converged)
    return Y.astype(views.dtype, copy=False)


def similarity(X, k, metric):
    """D^{-1/2} (W + W')/2 D^{-1/2} with the closed-form weights W of k neighbours."""
    n = X.shape[0]
    if n < 3:
        return sp.csr_matrix(np.ones((n, n)) / n)
    k = min(k, n - 2)
    distances, indices = NearestNeighbors(n_neighbors=k + 1).fit(X).kneighbors()
    if metric == "sqeuclidean":
        distances = np.square(distances)
    W = weights_to_csr(indices[:, :k], knn_weights(distances.astype(float), k), n)
    W = (W + W.T) / 2
    scale = 1 / np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    return sp.diags(scale) @ W @ sp.diags(scale)


def iterate(model, step, S, h, F, n, v0):
    """Repeat a step until the objective stands still: ``(Y, objective, converged)``."""
    objective, converged = [], False
    for iteration in range(1, model.max_iter + 1):
        Y, F, value = step(S, h, F, n, model._dim, model.beta, v0)
        objective.append(value)
        model._report(iteration, value)
        if step is two_stage_step:
            return Y, objective, True
        if iteration > 1:
            change = abs(objective[-2] - value)
            converged = bool(change <= model.tol * max(abs(value), 1))
        if converged:
            break
    return Y, objective, converged


def second_order_step(S, h, F, n, d, beta, v0):
    """Eq. (11), then Eq. (7) with S_v for B_v B_v'."""
    Y = left_singular_vectors(scatter(F, h, n), d)[0]
    F = [leading_vectors(S_v, Y[r], beta, d, s) for S_v, r, s in zip(S, h, v0)]
    gain = sum(
        2 * np.square(Y[r].T @ F_v).sum() + beta * np.sum(F_v * (S_v @ F_v))
        for S_v, r, F_v in zip(S, h, F)
    )
    return Y, F, 2 * d * len(S) - gain


def first_order_step(S, h, F, n, d, beta, v0):
    """Y = mean of the rows, then F_v by generalised power iteration.

    The eigenvalues of S_v are at least -1, so beta is shift enough.
    """
    Y = mean_rows(F, h, n)
    F = [
        generalized_power_iteration(
            beta * S_v, Y[r], F_v, shift=beta, max_iter=50, tol=1e-9
        )
        for S_v, F_v, r in zip(S, F, h)
    ]
    value = sum(
        np.square(F_v - Y[r]).sum() - beta * np.sum(F_v * (S_v @ F_v))
        for S_v, r, F_v in zip(S, h, F)
    )
    return Y, F, value


def two_stage_step(S, h, F, n, d, beta, v0):
    """Y = mean of the rows of the views' own embeddings."""
    value = -sum(np.sum(F_v * (S_v @ F_v)) for S_v, F_v in zip(S, F))
    return mean_rows(F, h, n), F, value


def leading_vectors(S, Y, beta, d, v0):
    """d leading eigenvectors of 2 YY' + beta S; zero columns beyond their number."""
    n = S.shape[0]
    top = min(d, n)
    if n <= max(_DENSE_ROWS, 3 * d):
        M = beta * S.toarray() + (0 if Y is None else 2 * Y @ Y.T)
        Q = dense_eigh(M, n - top, n)[1]
    else:

        def product(x):
            return beta * (S @ x) + (0 if Y is None else 2 * Y @ (Y.T @ x))

        Q = lanczos(LinearOperator((n, n), product), top, v0, which="LA")[1]
    return np.hstack([fix_signs(Q[:, ::-1]), np.zeros((n, d - top))])


def scatter(F, h, n):
    """[Q_1 F_1 ... Q_V F_V]: the rows of each view at its samples, zeros elsewhere."""
    d = F[0].shape[1]
    result = np.zeros((n, len(F) * d))
    for v, (F_v, rows) in enumerate(zip(F, h)):
        result[rows, v * d : (v + 1) * d] = F_v
    return result


def mean_rows(F, h, n):
    """Mean over the views that observe a sample of its rows in F_v."""
    total, count = np.zeros((n, F[0].shape[1])), np.zeros(n)
    for F_v, rows in zip(F, h):
        total[rows] += F_v
        count[rows] += 1
    return total / count[:, None]
