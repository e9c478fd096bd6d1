"""Steps 3 and 4 of AnchorBridge: what the views say about each other, and the bridges.

a_uv   agreement of two views        w_v    view weights
rep_v  agreement of the two kinds of features of one view
P_uv   transition from the anchors of u to the anchors of v
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from imvc.kernels._patterns import PatternGrams
from imvc.methods.bridge.agreement import (
    FLOOR,
    agreement,
    missingness,
    reproducibility,
    spectrum,
)
from imvc.methods.bridge.graphs import VARIANTS
from imvc.methods.bridge.joint import Bridge

_EPSILON = 1e-6  # share of the view's mean in a bridge: no row of P_uv is empty


@dataclass
class Evidence:
    """Steps 2 to 4 for one anchor seed.

    Parameters
    ----------
    rows : kept GraphRows
        Of both variants, one after the other.
    grams : PatternGrams of these graphs
    agreement : ndarray of shape (2, V, V)
    missingness : ndarray of shape (V, V)
    bridges : list of Bridge, one per variant
    cuts : list of float
        Relaxed normalised cut of each variant's views, weighted.
    """

    rows: Any
    grams: PatternGrams
    agreement: np.ndarray
    missingness: np.ndarray
    bridges: list
    cuts: list
    stability: float | None = None


def weigh_evidence(runner, rows, grams, c):
    """Steps 3 and 4: what the views say about each other, and the bridges.

    Parameters
    ----------
    runner : Runner, surveyed
    rows : kept GraphRows of both variants
    grams : PatternGrams of these
    """
    V, overlap = runner.n_views, runner.surveyed.overlap
    spectra = [
        spectrum(grams.cross(i, i), grams.column_sums(i), c) for i in range(2 * V)
    ]
    T = [T_v for _, T_v in spectra]
    parts = [slice(g * V, (g + 1) * V) for g in range(len(VARIANTS))]
    a = np.array(
        [
            agreement(
                runner, rows, range(g.start, g.stop), grams.sizes[g], T[g], overlap
            )
            for g in parts
        ]
    )
    gamma = junk_gate(a, overlap, c)
    rep = np.ones(V)
    if gamma and V > 1:
        rep = np.array(
            [
                reproducibility(
                    runner, rows, (v, V + v), grams.sizes[v::V], T[v::V], overlap[v, v]
                )
                for v in range(V)
            ]
        )
    weights = [view_weights(a_g, rep**gamma) for a_g in a]
    bridges = [build_bridge(grams, g, a_g, w) for g, a_g, w in zip(parts, a, weights)]
    cuts = [
        float(sum(x * (c - 1 - s[: c - 1].sum()) for x, (s, _) in zip(w, spectra[g])))
        for g, w in zip(parts, weights)
    ]
    absent = np.mean(
        [missingness(grams, overlap, T[g], g.start) for g in parts], axis=0
    )
    return Evidence(rows, grams, a, absent, bridges, cuts)


def junk_gate(a, overlap, c):
    """gamma: 0 when a pair of views agrees, up to 2 when none does."""
    V = len(overlap)
    pairs = (overlap > 2 * c + 2) & ~np.eye(V, dtype=bool)
    if not pairs.any():
        return 2.0
    surplus = [
        (a_g - 3 * np.sqrt(2) / np.maximum(overlap - 1, 1))[pairs].max() for a_g in a
    ]
    best = max(surplus) if V == 2 else min(surplus)
    return 2 * float(np.clip((0.03 - best) / 0.02, 0, 1))


def view_weights(a, quality):
    """w_v: how much the others agree with a view, times its own quality; sum one."""
    V = len(a)
    support = np.ones(V) if V <= 2 else a.sum(axis=1) - np.diag(a)
    w = support * quality
    return w / w.sum()


def build_bridge(grams, part, a, weights):
    """Step 4: P_uv from shared samples; pairs that do not agree go by way of others."""
    V = len(a)
    n = sum(grams.count(p) for p in grams.patterns)
    P = {}
    for u in range(V):
        for v in range(V):
            if u != v:
                mean = grams.column_sums(part.start + v) / n
                C = grams.cross(part.start + u, part.start + v) + _EPSILON * mean
                P[u, v] = C / C.sum(axis=1, keepdims=True)
    P, routed = route(P, a)
    return Bridge(grams.sizes[part], weights, routed, P)


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
