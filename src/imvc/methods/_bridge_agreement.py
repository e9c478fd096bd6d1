"""Step 3 of AnchorBridge: what the views' own spectra say about each other.

E_v   the c leading non-constant left singular vectors of view v's graph, Z_v T_v
a_uv  chance-corrected mean squared canonical correlation of E_u and E_v
"""

from collections import Counter
from itertools import combinations

import numpy as np

from imvc.kernels._bipartite import inverse_sqrt_degrees, weights_to_csr
from imvc.kernels._distances import block_slices
from imvc.kernels._gram_svd import RANK_TOL, inverse_sqrt, leading_eigh
from imvc.scale import group_blocks

FLOOR = 0.01  # agreement of views that do not agree, or share too few samples
_CLIP = 2.5  # root mean squares; beyond, two or three samples can fake agreement
_BLOCK_ENTRIES = 1 << 20


def spectrum(gram, degrees, c):
    """The c leading non-constant singular pairs of Z diag(degrees)^{-1/2}.

    Returns
    -------
    values : ndarray of shape (c,)
        Squared singular values, zero past the rank.
    T : ndarray of shape (m, c)
        Left singular vectors as functions of graph rows: E = Z T.
    """
    scale = inverse_sqrt_degrees(degrees)
    values, Q = leading_without_constant(gram, degrees, scale, c)
    return values, scale[:, None] * Q * inverse_sqrt(values)


def leading_without_constant(gram, degrees, scale, d):
    """Leading eigenpairs of the scaled Gram matrix past the constant vector's.

    The constant is a left singular vector of value one exactly, and its right partner
    is known; taking it out beforehand keeps it apart from other vectors of value one
    (a graph in pieces).
    """
    constant = scale * degrees
    S = gram * scale[:, None] * scale
    S -= np.outer(constant, constant) / (constant @ constant)
    values, Q = leading_eigh((S + S.T) / 2, d)
    values[values <= RANK_TOL] = 0
    return values, Q


def pair_correlations(blocks, sizes, T, map):
    """Mean squared canonical correlations r_uv on shared samples, clipped; (V, V).

    Parameters
    ----------
    blocks : callable
        Gives an iterable of (views, graph rows per view): blocks of samples.
    sizes, T : number of anchors and the (m_v, c) spectra of the views
    """
    c, n_views = T[0].shape[1], len(T)

    def embed(item):
        p, parts = item
        return p, [
            weights_to_csr(g[0], g[1], sizes[v]) @ T[v] for v, g in zip(p, parts)
        ]

    def moments(item):
        p, E = embed(item)
        return p, np.array([[len(e), *e.sum(axis=0), *(e * e).sum(axis=0)] for e in E])

    totals = np.zeros((n_views, n_views, 1 + 2 * c))
    for p, found in map(moments, blocks()):
        for u, row in zip(p, found):
            totals[u, list(p)] += row
    count = np.maximum(totals[..., :1], 1)
    mean = totals[..., 1 : c + 1] / count
    square = totals[..., c + 1 :] / count - mean**2
    limit = _CLIP * np.sqrt(np.maximum(square, 0))

    def products(item):
        p, E = embed(item)
        result = {}
        for (i, u), (j, v) in combinations(enumerate(p), 2):
            A = np.clip(E[i] - mean[u, v], -limit[u, v], limit[u, v])
            B = np.clip(E[j] - mean[v, u], -limit[v, u], limit[v, u])
            AB = np.hstack([A, B, np.ones((len(A), 1))])
            result[u, v] = AB.T @ AB
        return result

    grams: Counter = Counter()
    for found in map(products, blocks()):
        for pair, gram in found.items():
            grams[pair] = grams[pair] + gram
    r = np.zeros((n_views, n_views))
    for (u, v), gram in grams.items():
        r[u, v] = r[v, u] = _mean_squared_correlation(gram, c)
    return r


def _mean_squared_correlation(gram, c):
    """||Q_u'Q_v||^2 / c from the Gram matrix of [E_u, E_v, 1]."""
    sums, q = gram[:-1, -1], gram[-1, -1]
    centred = gram[:-1, :-1] - np.outer(sums, sums) / q
    whiten = []
    for own in (centred[:c, :c], centred[c:, c:]):
        values, Q = leading_eigh(own, c)
        whiten.append(Q * inverse_sqrt(values))
    return np.square(whiten[0].T @ centred[:c, c:] @ whiten[1]).sum() / c


def agreement(views, graphs, sizes, T, overlap, map):
    """a_uv of one variant: r_uv beyond chance, at least 0.01; (V, V), diagonal 1."""
    c = T[0].shape[1]

    def blocks():
        return ((p, parts) for p, _, parts in group_blocks(views, graphs))

    r = pair_correlations(blocks, sizes, T, map)
    a = np.maximum(beyond_chance(r, c, overlap), FLOOR)
    a[overlap <= 2 * c + 2] = FLOOR
    np.fill_diagonal(a, 1)
    return a


def reproducibility(graphs, sizes, T, map):
    """rep_v: agreement of the two variants' spectra of one view.

    Parameters
    ----------
    graphs, sizes, T : pairs, of the two variants
    """
    n_v, c = len(graphs[0][0]), T[0].shape[1]

    def blocks():
        width = sum(g[0].shape[1] for g in graphs)
        for rows in block_slices(n_v, width, _BLOCK_ENTRIES):
            yield (
                (0, 1),
                [(indices[rows], weights[rows]) for indices, weights in graphs],
            )

    r = pair_correlations(blocks, sizes, T, map)[0, 1]
    return max(float(beyond_chance(r, c, n_v)), FLOOR)


def beyond_chance(r, c, q):
    """(r - chance) / (1 - chance), chance = c / (q - 1); 0 where q is too small."""
    chance = c / np.maximum(np.asarray(q, float) - 1, 1e-12)
    known = chance < 1
    return np.where(known, (r - chance) / np.where(known, 1 - chance, 1), 0)


def missingness(grams, views, T, first):
    """Adjusted R^2 of "v is observed" on E_u, over the samples of u; (V, V).

    Parameters
    ----------
    grams : PatternGrams
    views : IncompleteViews
    T : list of (m_v, c) spectra
    first : int
        Number of view 0 among the views of ``grams``.
    """
    n_views, c = views.n_views, T[0].shape[1]
    counts = views.mask.T.astype(np.int64) @ views.mask
    result = np.zeros((n_views, n_views))
    for u in range(n_views):
        n_u = counts[u, u]
        for v in range(n_views):
            share = counts[u, v] / n_u
            if not 0 < share < 1 or n_u <= 2 * c + 2:
                continue
            x, y = first + u, first + v
            sums = sum(
                grams.groups[p].column_sums[grams.part(p, x)]
                for p in grams.patterns
                if x in p and y in p
            )
            explained = np.square(sums @ T[u]).sum() / (n_u * share * (1 - share))
            result[u, v] = beyond_chance(explained, c, n_u)
    return result
