"""Steps 3 and 4 of AnchorBridge: view weights and bridges of one kind of features.

w_v   view weights: agreement with the others times sharpness
P_uv  transition from the anchors of u to the anchors of v
T     steps of a walk from anchor to sample to anchor, over all views
"""

from itertools import pairwise, permutations

import numpy as np

from imvc.kernels._anchor_graph import inverse
from imvc.methods.bridge.agreement import FLOOR, column_sums, reproducibility
from imvc.methods.bridge.joint import Bridge

_EPSILON = 1e-6  # share of the view's mean in a bridge: no row of P_uv is empty
_SHARPNESS = 8  # its power: matters only where a view stands out
_GO_ON = 0.9  # chance of one more step, so that walks reach views some steps away


def view_weights(a, sharpness, quality):
    """w_v: how much the others agree with a view, times how sharp it is; sum one.

    ``quality`` is one more factor per view.
    """
    V = len(a)
    support = np.ones(V) if V <= 2 else a.sum(axis=1) - np.diag(a)
    top = sharpness.max()
    relative = sharpness / top if top > 0 else np.ones(V)
    w = support * relative**_SHARPNESS * quality
    return w / w.sum()


def junk_gate(kinds, a, overlap, c):
    """A factor per view: one where a pair of views agrees, else rep_v^gamma.

    ``kinds`` and ``a`` are of plain and of rooted features.
    """
    V = len(overlap)
    pairs = (overlap > 2 * c + 2) & ~np.eye(V, dtype=bool)
    gamma = 2.0
    if pairs.any():
        surplus = [
            (own - 3 * np.sqrt(2) / np.maximum(overlap - 1, 1))[pairs].max()
            for own in a
        ]
        best = max(surplus) if V == 2 else min(surplus)
        gamma = 2 * float(np.clip((0.03 - best) / 0.02, 0, 1))
    if V == 1 or not gamma:
        return np.ones(V)
    plain, rooted = kinds
    return reproducibility(plain, rooted, c) ** gamma


def build_bridge(graphs, a, weights, n, scattered):
    """Step 4: P_uv from shared samples; pairs that do not agree go by way of others.

    Among views that are ``scattered`` (`scattered_views`) all samples together tell.
    """
    mean = [column_sums(Z) / n for Z in graphs.Z]

    def transition(C, v):
        C = C + _EPSILON * mean[v]
        return C / C.sum(axis=1, keepdims=True)

    pairs = permutations(range(len(a)), 2)
    P = {(u, v): transition(graphs.cross(u, v), v) for u, v in pairs}
    P, routed = route(P, a)
    if len(scattered) > 1:
        visits, pairs = walk(graphs), permutations(scattered, 2)
        P |= {(u, v): transition(visits(u, v), v) for u, v in pairs}
    return Bridge(tuple(Z.shape[1] for Z in graphs.Z), weights, routed, P)


def route(P, a):
    """Replace P_uv at the floor by a mixture with the paths u -> x -> v."""
    V, routed, paths = len(a), a.copy(), dict(P)
    for u, v in P:
        between = [x for x in range(V) if x not in (u, v)]
        if a[u, v] > FLOOR or not between:
            continue
        mixed = a[u, v] * P[u, v]
        mixed += sum(a[u, x] * a[x, v] * (P[u, x] @ P[x, v]) for x in between)
        paths[u, v] = mixed / mixed.sum(axis=1, keepdims=True)
        routed[u, v] = max(a[u, v], *(a[u, x] * a[x, v] for x in between))
    return paths, routed


def walk(graphs):
    """``visits(u, v)``: how often walks from anchors of u come to anchors of v.

    Of all lengths, over the samples of all views: blocks of (I - 0.9 T)^{-1}.
    """
    views = range(len(graphs.Z))
    T = np.block([[graphs.cross(u, v) for v in views] for u in views])
    T *= inverse(T.sum(axis=1))[:, None]
    visits = np.linalg.inv(np.eye(len(T)) - _GO_ON * T)
    ends = np.cumsum([0, *(Z.shape[1] for Z in graphs.Z)])
    at = [slice(*pair) for pair in pairwise(ends)]
    return lambda u, v: np.maximum(visits[at[u], at[v]], 0)
