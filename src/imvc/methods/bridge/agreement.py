"""Step 3 of AnchorBridge: what the views' own spectra say about each other.

E_v   the c leading non-constant left singular vectors of view v's graph, Z_v T_v
a_uv  chance-corrected mean squared canonical correlation of E_u and E_v
"""

from functools import partial
from itertools import combinations

import numpy as np

from imvc.kernels._anchor_graph import weights_to_csr
from imvc.kernels._patterns import RANK_TOL, inverse_sqrt, leading_eigh

FLOOR = 0.01  # agreement of views that do not agree, or share too few samples
_CLIP = 2.5  # root mean squares; beyond, two or three samples can fake agreement


def spectrum(gram, degrees, c):
    """The c leading non-constant singular pairs of Z diag(degrees)^{-1/2}.

    Returns
    -------
    values : ndarray of shape (c,)
        Squared singular values, zero past the rank.
    T : ndarray of shape (m, c)
        Left singular vectors as functions of graph rows: E = Z T.
    """
    scale = inverse_sqrt(degrees)
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


def pair_correlations(runner, rows, chosen, sizes, T):
    """Mean squared canonical correlations r_uv on shared samples, clipped; (V, V).

    Parameters
    ----------
    runner : Runner
    rows : kept GraphRows
    chosen : sequence of int
        The views among those of ``rows`` that are compared.
    sizes, T : number of anchors and the (m_v, c) spectra of the chosen views
    """
    c, V = T[0].shape[1], len(T)
    spectra = {"chosen": list(chosen), "sizes": sizes, "T": T}
    totals = runner.total(None, partial(pair_moments, **spectra), rows)
    count = np.maximum(totals[..., :1], 1)
    mean = totals[..., 1 : c + 1] / count
    square = totals[..., c + 1 :] / count - mean**2
    limit = _CLIP * np.sqrt(np.maximum(square, 0))
    grams = runner.total(
        None, partial(pair_products, mean=mean, limit=limit, **spectra), rows
    )
    r = np.zeros((V, V))
    for u, v in combinations(range(V), 2):
        if grams[u, v, -1, -1]:
            r[u, v] = r[v, u] = _mean_squared_correlation(grams[u, v], c)
    return r


def _spectral_rows(rows, chosen, sizes, T):
    """Blocks of samples of one pattern: ``(pattern, E_v per view)``."""
    for p, _, graphs in rows.select(chosen).groups():
        yield (
            p,
            [
                weights_to_csr(indices, weights, sizes[v]) @ T[v]
                for v, (indices, weights) in zip(p, graphs)
            ],
        )


def pair_moments(rows, chosen, sizes, T):
    """Counts, sums, squares of E_u over the samples shared with v; (V, V, 1 + 2c)."""
    totals = np.zeros((len(T), len(T), 1 + 2 * T[0].shape[1]))
    for p, E in _spectral_rows(rows, chosen, sizes, T):
        for u, e in zip(p, E):
            own = np.concatenate([[len(e)], e.sum(axis=0), (e * e).sum(axis=0)])
            totals[u, list(p)] += own
    return totals


def pair_products(rows, chosen, sizes, T, mean, limit):
    """Gram matrices of the clipped [E_u, E_v, 1] of pairs u < v; (V, V, 2c+1, 2c+1)."""
    V, width = len(T), 2 * T[0].shape[1] + 1
    grams = np.zeros((V, V, width, width))
    for p, E in _spectral_rows(rows, chosen, sizes, T):
        for (i, u), (j, v) in combinations(enumerate(p), 2):
            A = np.clip(E[i] - mean[u, v], -limit[u, v], limit[u, v])
            B = np.clip(E[j] - mean[v, u], -limit[v, u], limit[v, u])
            AB = np.hstack([A, B, np.ones((len(A), 1))])
            grams[u, v] += AB.T @ AB
    return grams


def _mean_squared_correlation(gram, c):
    """||Q_u'Q_v||^2 / c from the Gram matrix of [E_u, E_v, 1]."""
    sums, q = gram[:-1, -1], gram[-1, -1]
    centred = gram[:-1, :-1] - np.outer(sums, sums) / q
    whiten = []
    for own in (centred[:c, :c], centred[c:, c:]):
        values, Q = leading_eigh(own, c)
        whiten.append(Q * inverse_sqrt(values))
    return np.square(whiten[0].T @ centred[:c, c:] @ whiten[1]).sum() / c


def agreement(runner, rows, chosen, sizes, T, overlap):
    """a_uv of one variant: r_uv beyond chance, at least 0.01; (V, V), diagonal 1."""
    c = T[0].shape[1]
    r = pair_correlations(runner, rows, chosen, sizes, T)
    a = np.maximum(beyond_chance(r, c, overlap), FLOOR)
    a[overlap <= 2 * c + 2] = FLOOR
    np.fill_diagonal(a, 1)
    return a


def reproducibility(runner, rows, pair, sizes, T, n_v):
    """rep_v: agreement of the two variants' spectra of one view.

    Parameters
    ----------
    pair, sizes, T : of the two variants
    n_v : int
        Samples of the view.
    """
    r = pair_correlations(runner, rows, pair, sizes, T)[0, 1]
    return max(float(beyond_chance(r, T[0].shape[1], n_v)), FLOOR)


def beyond_chance(r, c, q):
    """(r - chance) / (1 - chance), chance = c / (q - 1); 0 where q is too small."""
    chance = c / np.maximum(np.asarray(q, float) - 1, 1e-12)
    known = chance < 1
    return np.where(known, (r - chance) / np.where(known, 1 - chance, 1), 0)


def missingness(grams, counts, T, first):
    """Adjusted R^2 of "v is observed" on E_u, over the samples of u; (V, V).

    Parameters
    ----------
    grams : PatternGrams
    counts : ndarray of shape (V, V)
        Samples seen in both views.
    T : list of (m_v, c) spectra
    first : int
        Number of view 0 among the views of ``grams``.
    """
    n_views, c = len(counts), T[0].shape[1]
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
