"""What the paper varies of RISE: anchors, starts, graphs and completion.

First-order completion is Eq. (4), jointly with Eq. (3) or after it:

    min  sum_v ||F_v - Q_v'Y||^2 - beta sum_v tr(F_v' B_v B_v' F_v),  F_v'F_v = I

Coordinates are matched instead of Gram matrices, so the outcome depends on how each
F_v is rotated. Y_i is the mean of the F_v rows of sample i. As in `rise.py`
everything is a function of pattern statistics: F_v = (Y_v + B_v (beta K_v)) S_v with
K_v = B_v'F_v, and C_p is the mean over the views of p. Full graphs: `full_graph.py`.
"""

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Literal

import numpy as np
import scipy.sparse as sp

from imvc.kernels._anchor_graph import (
    column_moments,
    das_anchors,
    merge_moments,
    scale_rows,
)
from imvc.kernels._patterns import PatternMap, inverse_sqrt, leading_eigh
from imvc.methods import anchor_model
from imvc.scale import map_observed, row_statistics
from imvc.views import name_places

_POWER_STEPS, _POWER_TOL = 50, 1e-6


@dataclass(kw_only=True, eq=False, repr=False)
class Ablations:
    """Parameters whose defaults are the paper's method.

    Parameters
    ----------
    anchors : {"kmeans", "random", "das", "das-cosine"} or list of arrays
        How anchors are chosen, or the anchors themselves (one array per view, in the
        scaled feature space).
    graph : {"bipartite", "full"}
        "full" joins samples to samples: the paper's ablation, O(n^2), no `predict`.
    completion : {"second-order", "first-order", "first-order-two-stage"}
        The first-order ones match coordinates instead of Gram matrices: the paper's
        ablation, jointly or after the views' embeddings are fixed.
    init : {"svd", "identity"}
        Start from the views' singular vectors (paper) or from the first samples of
        each view (the authors' program, unless a view has fewer anchors than
        ``embedding_dim``: then from the singular vectors as well).
    metric : {"sqeuclidean", "euclidean"}
        Distances behind the graph's weights (paper; the authors' program).
    """

    anchors: Literal["kmeans", "random", "das", "das-cosine"] | list | tuple = "kmeans"
    graph: Literal["bipartite", "full"] = "bipartite"
    completion: Literal["second-order", "first-order", "first-order-two-stage"] = (
        "second-order"
    )
    init: Literal["svd", "identity"] = "svd"
    metric: Literal["sqeuclidean", "euclidean"] = "sqeuclidean"


def refuse_unbounded(model, runner):
    """Refuse what would need all rows in memory at once, or has no rule for others."""
    if model._sample_size(runner.n_samples) < runner.n_samples:
        if model.graph == "full":
            raise ValueError(
                f"learn_sample={model.learn_sample} needs graph='bipartite': a full "
                f"graph has no rule for other samples; leave it out."
            )
        return
    if runner.views is not None:
        return
    for name, value, other in (
        ("graph", "full", "'bipartite'"),
        ("anchors", "das", "'kmeans' or 'random'"),
        ("anchors", "das-cosine", "'kmeans' or 'random'"),
        ("anchor_sample", None, "a number of rows"),
    ):
        own = getattr(model, name)
        if own is None if value is None else isinstance(own, str) and own == value:
            raise ValueError(
                f"{name}={value!r} needs all rows in memory, and these views are "
                f"not; use {other}, or pass arrays in memory."
            )


def choose_anchors(model, runner, seed):
    """Anchors chosen in any way, on rows scaled in any way; deviations of columns."""
    deviations = [None] * runner.n_views
    if model.scale == "standard":
        deviations = column_deviations(runner)
    if not isinstance(model.anchors, str):
        found = _given_anchors(model.anchors, runner)
        if model.scale is None and model._range is not None:
            found = [model._range.rows(v, A) for v, A in enumerate(found)]
        return found, deviations
    if model.anchors == "kmeans":
        rule = model._n_anchors(runner), model.anchor_sample, model.scale, deviations
        return anchor_model.choose_anchors(runner, seed, *rule), deviations

    place = name_places(runner.names)

    def choose(v):
        n_v = runner.surveyed.observed[:, v].sum()
        m = max(1, min(model._n_anchors(runner), n_v - 1))
        drawn = model.anchors == "random"
        rng = np.random.RandomState([seed, place[v]])
        X = runner.random_rows(v, m if drawn else n_v, rng)
        X = scale_rows(X, model.scale, deviations[v])
        if drawn:
            return X.toarray() if sp.issparse(X) else X
        return das_anchors(X, m, cosine=model.anchors == "das-cosine")

    return [choose(v) for v in range(runner.n_views)], deviations


def _given_anchors(anchors, views):
    if len(anchors) != views.n_views:
        raise ValueError(
            f"anchors has {len(anchors)} arrays, but there are {views.n_views} views; "
            f"give one array per view."
        )
    result = []
    for A, name, width in zip(anchors, views.names, views.n_features):
        A = np.asarray(A)
        if A.ndim != 2 or A.shape[1] != width or len(A) == 0:
            raise ValueError(
                f"anchors of view {name!r} have shape {A.shape}; expected "
                f"(n_anchors, {width})."
            )
        if not np.isfinite(A).all():
            raise ValueError(f"anchors of view {name!r} contain NaN or inf.")
        result.append(A)
    return result


def column_deviations(runner):
    """Standard deviation of the columns of every view, 1 where it is 0."""
    moments = runner.collect(block_moments, runner.blocks)
    result = []
    for own in zip(*moments):
        parts = [part for part in own if part is not None]
        count, _, squares = reduce(merge_moments, parts)
        deviation = in_round_numbers(np.sqrt(squares / count))
        deviation[deviation == 0] = 1
        result.append(deviation)
    return result


def in_round_numbers(x):
    """Positive numbers to 24 bits: sums over other blocks then give the same."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(mantissa * 2**24) / 2**24, exponent)


def block_moments(views):
    """Column moments of every view of a block; None where nobody has the view."""
    return [
        reduce(merge_moments, map_observed(column_moments, views, v))
        if len(views.rows(v))
        else None
        for v in range(views.n_views)
    ]


def add_identity_start(model, runner, samples, d):
    """The authors' start: F_v = first d columns of I; its Y as one more view.

    As in their program, nothing is added where a view has fewer than d anchors: the
    solvers then start from the singular vectors of the B_v, padded with zero columns.
    """
    if d > min(model._graphs.sizes):
        return samples
    V = runner.n_views
    first = [runner.observed_samples(v, d) for v in range(V)]
    numbers = np.unique(np.concatenate(first))
    QF = np.zeros((len(numbers), V, d))
    for v, own in enumerate(first):
        QF[np.searchsorted(numbers, own), v, np.arange(len(own))] = 1
    left = np.linalg.svd(QF.reshape(len(numbers), -1), full_matrices=False)[0]
    values = np.zeros((len(numbers), d))
    values[:, : left.shape[1]] = left[:, :d]
    add = partial(
        add_start, numbers=numbers, values=values, starts=runner.source.starts
    )
    with model._stage("statistics"):
        rows = runner.keep("started", add, samples.rows, range(runner.n_blocks))
        sizes = (*samples.statistics.grams.sizes, d)
        grams = runner.total(
            "started-statistics", partial(row_statistics, sizes=sizes), rows
        )
    statistics = samples.statistics._replace(grams=grams)
    return replace(samples, rows=rows, statistics=statistics)


def add_start(rows, i, numbers, values, starts):
    """Graph rows of block ``i`` with the start as one more view."""
    own = slice(*np.searchsorted(numbers, starts[i : i + 2]))
    Y = np.zeros((rows.n_samples, values.shape[1]))
    Y[numbers[own] - starts[i]] = values[own]
    columns = np.broadcast_to(np.arange(Y.shape[1], dtype=np.int32), Y.shape)
    return rows.with_start((columns, Y))


def solve_two_stage(grams, n_views, d, *_):
    """F_v from B_v alone, then Y = mean of the rows: no weight and no iteration."""
    found, gain, rank = mean_of_spectra(grams, n_views, d)
    return found, [-gain], True, rank


def mean_of_spectra(grams, n_views, d):
    """Y = mean of the rows of the views' singular vectors: map, spectral gain, rank."""
    inputs, gains = [], []
    for v in range(n_views):
        values, Q = leading_eigh(grams.cross(v, v), d)
        inputs.append(Q * inverse_sqrt(values))
        gains.append(values.sum())
    feedback = [np.zeros((d, d))] * n_views
    nothing = {p: np.zeros((sum(grams.sizes[v] for v in p), d)) for p in grams.patterns}
    C = average(grams, n_views, nothing, feedback, inputs)
    rank = max(int(np.count_nonzero(J.any(axis=0))) for J in inputs)
    return PatternMap(C, feedback, inputs, averaged=True), sum(gains), rank


def solve_joint(grams, n_views, d, beta, max_iter, tol, report):
    """Alternate Y (mean) and F_v (generalised power iteration); parameters as `solve`.

    The first Y is the mean of the views' singular vectors, or the one that ``grams``
    carries behind its ``n_views`` views.
    """
    views = range(n_views)
    first, _, rank = mean_of_spectra(grams, n_views, d)
    C, feedback, inputs = first.coefficients, first.feedback, first.inputs
    K = [grams.cross(v, v) @ inputs[v] for v in views]
    if len(grams.sizes) > n_views:
        for C_p in C.values():
            C_p[:-d], C_p[-d:] = 0, np.eye(d)
    objective, converged = [], False
    for iteration in range(1, max_iter + 1):
        H = {p: grams.apply(p, C[p]) for p in grams.patterns}
        steps = [update_F(C, H, K[v], grams, v, beta) for v in views]
        K, feedback, inputs, costs = map(list, zip(*steps))
        C_old, C = C, average(grams, n_views, C, feedback, inputs)
        objective.append(sum(costs) - mean_gain(C_old, C, grams, n_views))
        report(iteration, objective[-1])
        if iteration > 1:
            step = abs(objective[-2] - objective[-1])
            converged = step <= tol * max(abs(objective[-1]), 1)
        if converged:
            break
    return PatternMap(C, feedback, inputs, averaged=True), objective, converged, rank


def update_F(C, H, K, grams, v, beta):
    """F_v <- polar factor of beta B_v (B_v'F_v) + Y_v, repeated to a fixed point.

    Returns K_v = B_v'F_v, then S_v and J_v with F_v = Y_v S_v + B_v J_v, and the cost
    ||F_v - Y_v||^2 - beta ||K_v||^2.
    """
    groups = [p for p in grams.patterns if v in p]
    YY = sum(C[p].T @ H[p] for p in groups)
    BY = sum(H[p][grams.part(p, v)] for p in groups)
    BB, d = grams.cross(v, v), YY.shape[0]
    for _ in range(_POWER_STEPS):
        KBY = beta * K.T @ BY
        values, Q = leading_eigh(beta**2 * K.T @ BB @ K + KBY + KBY.T + YY, d)
        S = (Q * inverse_sqrt(values)) @ Q.T
        K_old, K = K, (beta * BB @ K + BY) @ S
        if np.linalg.norm(K - K_old) <= _POWER_TOL * np.linalg.norm(K):
            break
    J = beta * K_old @ S
    fit = np.trace(BY.T @ J) + np.trace(YY @ S)
    return K, S, J, d + np.trace(YY) - 2 * fit - beta * np.square(K).sum()


def average(grams, n_views, C, feedback, inputs):
    """Y_p = mean over the views of p of F_v = Y_p S_v + B_v J_v, as coefficients."""
    result = {}
    for p in grams.patterns:
        seen = [v for v in p if v < n_views]
        result[p] = C[p] @ (sum(feedback[v] for v in seen) / len(seen))
        for v in seen:
            result[p][grams.part(p, v)] += inputs[v] / len(seen)
    return result


def mean_gain(C_old, C, grams, n_views):
    """By how much replacing Y by the mean lowers sum_v ||F_v - Y_v||^2."""
    gain = 0.0
    for p in grams.patterns:
        step = C[p] - C_old[p]
        seen = sum(v < n_views for v in p)
        gain += seen * np.sum(step * grams.apply(p, step))
    return gain


SOLVERS = {"first-order": solve_joint, "first-order-two-stage": solve_two_stage}
